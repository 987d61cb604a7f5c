//! The workflow that a new project starts with, shipped as data.

use std::sync::LazyLock;

use super::{Workflow, parse};

static DEFAULT: LazyLock<Workflow> = LazyLock::new(|| match parse(default_workflow_json()) {
    Ok(parsed) => parsed.workflow,
    // A test in this room parses the same text, so a build with a broken default does not pass.
    Err(findings) => unreachable!("the shipped default workflow is valid: {findings:?}"),
});

/// The default definition.
#[must_use]
pub fn default_workflow() -> &'static Workflow {
    &DEFAULT
}

/// The default definition as it is shipped.
#[must_use]
pub const fn default_workflow_json() -> &'static str {
    include_str!("default.json")
}
