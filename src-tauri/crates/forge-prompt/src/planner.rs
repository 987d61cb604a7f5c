//! The prompt of a planner.

use std::fmt::Write as _;

use forge_model::{
    correction::Correction,
    layer::{Layer, LayerKind},
};

use crate::layers::{Foreign, Layers, task_text};

/// Everything a planner's prompt is made of.
#[derive(Debug, Clone, Copy)]
pub struct PlannerPrompt<'a> {
    /// The task's number.
    pub number: u32,
    /// Its title.
    pub title: &'a str,
    /// Its description, Markdown.
    pub description: &'a str,
    /// Who wrote title and description, when others did.
    pub foreign: Option<Foreign<'a>>,
    /// The file that the plan is written to.
    pub plan_file: &'a str,
    /// The plan as it stands, when it is to be revised.
    pub plan: Option<&'a str>,
    /// What led to this run, oldest first.
    pub corrections: &'a [Correction],
}

/// The prompt of a planner, without its profile's layer.
#[must_use]
pub fn planner_layers(input: PlannerPrompt<'_>) -> Vec<Layer> {
    let mut rules = String::from(PLANNER_RULES);
    let _ = writeln!(rules, "Write the plan to `{}` (also in `$FORGE_PLAN_FILE`).", input.plan_file);
    let mut layers = Layers::default();
    layers.add(LayerKind::Rules, rules);
    layers.add(LayerKind::Task, task_text(input.number, input.title, input.description, input.foreign));
    if let Some(plan) = input.plan {
        layers.add(LayerKind::Plan, format!("\n# The plan so far\n\n{}\n", plan.trim()));
    }
    layers.corrections(input.corrections);
    layers.into_layers()
}

const PLANNER_RULES: &str = "\
# How you work here

You plan, you do not build: look around in this git worktree and change nothing in it. Say what will be
changed where, in which order, how it will be checked, and what is still open. A person reads the plan and
approves it or sends it back; then somebody else does the work by it.
";
