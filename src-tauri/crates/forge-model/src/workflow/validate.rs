//! Reading a definition: every finding at once, each with the path of its field. A definition that does
//! not parse is refused with line and column; nothing falls back silently.

use std::collections::BTreeMap;

use serde_json::Value;

use super::shape::{Finding, shape_findings};
use super::text::parse_json;
use super::{Action, Audience, Hook, Hooks, State, StateConfig, StateKind, Workflow, rules};

/// A definition that may be used, with what was added to it.
#[derive(Debug, Clone, PartialEq)]
pub struct Parsed {
    /// The definition.
    pub workflow: Workflow,
    /// Remarks that do not refuse it.
    pub notes: Vec<String>,
}

/// Reads a definition from JSON text.
///
/// # Errors
/// All findings; a syntax error is one finding that names line and column.
pub fn parse(json: &str) -> Result<Parsed, Vec<Finding>> {
    parse_value(parse_json(json)?)
}

/// Reads a definition that was stored, by this version or an earlier one that refused less.
///
/// # Errors
/// All findings.
pub fn parse_stored(json: &str) -> Result<Parsed, Vec<Finding>> {
    read(parse_json(json)?, false)
}

/// Reads a definition from a JSON value. Keys that were written twice are gone by then; [`parse`] sees them.
///
/// # Errors
/// All findings, those of the shape first.
pub fn parse_value(value: Value) -> Result<Parsed, Vec<Finding>> {
    read(value, true)
}

fn read(mut value: Value, is_new: bool) -> Result<Parsed, Vec<Finding>> {
    let mut notes = Vec::new();
    let adds_blocked = rules::lacks_blocked(&value);
    if adds_blocked
        && let (Some(Value::Array(states)), Ok(state)) =
            (value.get_mut("states"), serde_json::to_value(blocked_state()))
    {
        notes.push("no state of kind `blocked`: added `blocked` in column Blocked".to_owned());
        states.push(state);
    }
    let mut findings = shape_findings::<Workflow>(&value, "");
    findings.extend(rules::findings(&value));
    if is_new {
        findings.extend(rules::gate_findings(&value));
    }
    if !findings.is_empty() {
        return Err(findings);
    }
    let workflow = serde_path_to_error::deserialize(value).map_err(|error| {
        let path = error.path().to_string();
        let path = if path == "." { String::new() } else { path };
        vec![Finding::new(path, error.inner().to_string())]
    })?;
    Ok(Parsed { workflow, notes })
}

fn blocked_state() -> State {
    State {
        name: "blocked".to_owned(),
        display_name: "Blocked".to_owned(),
        kind: StateKind::Blocked,
        column: "Blocked".to_owned(),
        role: None,
        gate_config: None,
        cleanup: None,
        hooks: Hooks {
            on_enter: vec![Hook {
                action: Action::PublishTaskBlocked,
                params: None,
                applies_to: Audience::All,
                on_failure: None,
            }],
            ..Default::default()
        },
        triggers: BTreeMap::new(),
        config: StateConfig::default(),
    }
}

#[cfg(test)]
mod properties;
#[cfg(test)]
mod tests;
