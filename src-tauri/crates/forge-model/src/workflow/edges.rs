//! The moves a definition allows, and the state table drawn from it.

use std::{collections::BTreeSet, fmt::Write as _};

use super::{OnFailure, Phase, StateKind, Workflow};
use crate::{actor::Actor, names};

names! {
    /// Why an edge exists.
    pub enum EdgeKind {
        /// A trigger of the definition.
        Trigger = "trigger",
        /// A gate's rejection.
        Reject = "reject",
        /// An action's failure.
        Cascade = "cascade",
        /// A task that needs a person.
        Block = "block",
        /// A task that is given up.
        Cancel = "cancel",
    }
}

impl EdgeKind {
    /// Whether an edge of this kind may lead into the state it leaves: a gate that sends a draft back is
    /// entered again; a state that blocks or cancels is there already.
    const fn may_lead_back(self) -> bool {
        match self {
            Self::Trigger | Self::Reject => true,
            Self::Cascade | Self::Block | Self::Cancel => false,
        }
    }
}

/// One move that agents and the engine may make.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Edge {
    /// From this state.
    pub from: String,
    /// To this one.
    pub to: String,
    /// Why it exists.
    pub kind: EdgeKind,
    /// The trigger's name, for triggers.
    pub trigger: Option<String>,
}

/// A move that the definition does not allow.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{from}` does not lead to `{to}` for {who}", who = if *.by_user { "a person" } else { "agents and the engine" })]
pub struct IllegalTransition {
    /// Where the task is.
    pub from: String,
    /// Where it was to go.
    pub to: String,
    /// Whether a person asked.
    pub by_user: bool,
    /// Where it could go instead.
    pub allowed: Vec<String>,
}

impl Workflow {
    /// Every move that agents and the engine may make, in table order.
    #[must_use]
    pub fn edges(&self) -> Vec<Edge> {
        let mut edges = BTreeSet::new();
        for state in &self.states {
            let mut add = |to: &str, kind: EdgeKind, trigger: Option<&str>| {
                if to != state.name || kind.may_lead_back() {
                    edges.insert(Edge {
                        from: state.name.clone(),
                        to: to.to_owned(),
                        kind,
                        trigger: trigger.map(str::to_owned),
                    });
                }
            };
            for (name, trigger) in &state.triggers {
                add(&trigger.to, EdgeKind::Trigger, Some(name));
            }
            if let Some(target) = state.gate_config.as_ref().and_then(|gate| gate.reject_target.as_deref()) {
                add(target, EdgeKind::Reject, None);
            }
            for phase in Phase::ALL {
                for hook in state.hooks.phase(*phase) {
                    if let Some(OnFailure::Cascade(target)) = &hook.on_failure {
                        add(target, EdgeKind::Cascade, None);
                    }
                }
            }
            if !state.is_terminal() {
                if let Some(blocked) = self.blocked() {
                    add(&blocked.name, EdgeKind::Block, None);
                }
                add(&self.cancellation_state, EdgeKind::Cancel, None);
            }
        }
        edges.into_iter().collect()
    }

    /// Where a task in `from` may go by this actor's hand.
    #[must_use]
    pub fn allowed_targets(&self, from: &str, actor: &Actor) -> Vec<String> {
        let Some(state) = self.state(from) else { return Vec::new() };
        if actor.is_user() {
            return self
                .states
                .iter()
                .filter(|to| to.name != from)
                .filter(|to| !state.is_terminal() || to.kind == StateKind::Initial)
                .map(|to| to.name.clone())
                .collect();
        }
        let mut targets: Vec<String> =
            self.edges().into_iter().filter(|edge| edge.from == from).map(|edge| edge.to).collect();
        targets.dedup();
        targets
    }

    /// Whether a move that a person makes goes against the definition: no edge leads there. Out of the blocked state a
    /// person's move is the declared way: to the initial state, to work, and to the review.
    #[must_use]
    pub fn is_override(&self, from: &str, to: &str) -> bool {
        let Some(state) = self.state(from).filter(|state| !state.is_terminal()) else { return false };
        let clears = [self.initial(), self.work_state(), self.review_gate()];
        if state.kind == StateKind::Blocked && clears.into_iter().flatten().any(|clear| clear.name == to) {
            return false;
        }
        !self.edges().iter().any(|edge| edge.from == from && edge.to == to)
    }

    /// Whether `actor` may move a task from `from` to `to`.
    ///
    /// # Errors
    /// The states it could go to instead.
    pub fn check_edge(&self, from: &str, to: &str, actor: &Actor) -> Result<(), IllegalTransition> {
        let allowed = self.allowed_targets(from, actor);
        if allowed.iter().any(|target| target == to) {
            return Ok(());
        }
        Err(IllegalTransition { from: from.to_owned(), to: to.to_owned(), by_user: actor.is_user(), allowed })
    }
}

/// The state table of a definition as text, one move a line.
#[must_use]
pub fn render_table(workflow: &Workflow) -> String {
    let mut text = String::new();
    for state in &workflow.states {
        let role = state.role.as_deref().map(|role| format!(", {role}")).unwrap_or_default();
        let _ = writeln!(text, "{} [{}{role}]", state.name, state.kind);
        let mut lines: Vec<String> = Vec::new();
        for edge in workflow.edges().into_iter().filter(|edge| edge.from == state.name) {
            let why = edge.trigger.unwrap_or_else(|| edge.kind.to_string());
            let line = format!("  --({why})--> {}", edge.to);
            // A gate's rejection and a trigger called `reject` are one move to whoever reads.
            if !lines.contains(&line) {
                lines.push(line);
            }
        }
        for line in lines {
            let _ = writeln!(text, "{line}");
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        actor::{Cause, Via},
        workflow::default_workflow,
    };

    #[test]
    fn people_go_anywhere_but_out_of_a_closed_task() {
        let workflow = default_workflow();
        let person = Actor::User { via: Via::Board };
        assert!(workflow.check_edge("in_progress", "done", &person).is_ok());
        assert!(workflow.check_edge("done", "todo", &person).is_ok());
        assert_eq!(workflow.check_edge("done", "review", &person).unwrap_err().allowed, ["todo"]);
    }

    #[test]
    fn moves_without_an_edge_are_overrides() {
        let workflow = default_workflow();
        for (from, to) in
            [("todo", "review"), ("in_progress", "done"), ("review", "done"), ("blocked", "done")]
        {
            assert!(workflow.is_override(from, to), "{from} to {to}");
        }
        for (from, to) in [
            ("backlog", "todo"),
            ("in_progress", "review"),
            ("review", "blocked"),
            ("review", "cancelled"),
            ("blocked", "todo"),
            ("blocked", "in_progress"),
            ("done", "todo"),
        ] {
            assert!(!workflow.is_override(from, to), "{from} to {to}");
        }
    }

    #[test]
    fn the_engine_goes_along_declared_moves() {
        let workflow = default_workflow();
        let engine = Actor::System { cause: Cause::Workflow };
        assert!(workflow.check_edge("in_progress", "review", &engine).is_ok());
        assert!(workflow.check_edge("review", "blocked", &engine).is_ok());
        let refused = workflow.check_edge("in_progress", "done", &engine).unwrap_err();
        assert_eq!(refused.allowed, ["blocked", "cancelled", "review"]);
    }

    /// The drawing in the architecture notes is the table itself.
    #[test]
    fn the_drawn_table_is_true() {
        let notes = include_str!("../../../../ARCHITECTURE.md");
        let drawn =
            notes.split("<!-- state-table -->\n```\n").nth(1).and_then(|rest| rest.split("```").next());
        assert_eq!(
            drawn,
            Some(render_table(default_workflow()).as_str()),
            "copy render_table's text to ARCHITECTURE.md"
        );
    }
}
