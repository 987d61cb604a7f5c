//! The definitions that a project can start from, shipped as data.

use std::sync::LazyLock;

use super::{Workflow, parse};
use crate::contract;

/// A definition that comes with Forge.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Preset {
    /// What it is asked for by.
    pub name: &'static str,
    /// What people read.
    pub title: &'static str,
    /// What it is for, in a sentence or two.
    pub about: &'static str,
    /// The definition as it is shipped.
    pub json: &'static str,
}

contract! {
    /// A definition that a project can start from.
    pub struct PresetInfo {
        /// What it is asked for by.
        pub name: String,
        /// What people read.
        pub title: String,
        /// What it is for, in a sentence or two.
        pub about: String,
        /// The definition itself.
        pub workflow: Workflow,
    }
}

static DEFAULT_PRESET: Preset = Preset {
    name: "default",
    title: "Code, review, merge",
    about: "An agent works, checks run, a reviewer or a person decides, and Forge merges. Needs one agent.",
    json: include_str!("default.json"),
};

static PRESETS: &[Preset] = &[
    DEFAULT_PRESET,
    Preset {
        name: "planned",
        title: "Plan first",
        about: "Like the default, but a planner writes a plan that a person approves before work starts. \
                Tasks without a planner start work directly.",
        json: include_str!("planned.json"),
    },
    Preset {
        name: "manual",
        title: "Plain board",
        about: "Columns and cards that people move. No agents, checks or merges.",
        json: include_str!("manual.json"),
    },
];

static DEFAULT: LazyLock<Workflow> = LazyLock::new(|| DEFAULT_PRESET.workflow());

/// Every shipped definition; the first is the default one.
#[must_use]
pub const fn presets() -> &'static [Preset] {
    PRESETS
}

/// The shipped definition of that name.
#[must_use]
pub fn preset(name: &str) -> Option<&'static Preset> {
    PRESETS.iter().find(|preset| preset.name == name)
}

/// The default definition.
#[must_use]
pub fn default_workflow() -> &'static Workflow {
    &DEFAULT
}

/// The default definition as it is shipped.
#[must_use]
pub const fn default_workflow_json() -> &'static str {
    DEFAULT_PRESET.json
}

impl Preset {
    /// The definition.
    #[must_use]
    pub fn workflow(&self) -> Workflow {
        match parse(self.json) {
            Ok(parsed) => parsed.workflow,
            // A test in this crate parses every preset, so a build with a broken one does not pass.
            Err(findings) => unreachable!("the shipped workflow {} is valid: {findings:?}", self.name),
        }
    }

    /// What the contract says of it.
    #[must_use]
    pub fn info(&self) -> PresetInfo {
        PresetInfo {
            name: self.name.to_owned(),
            title: self.title.to_owned(),
            about: self.about.to_owned(),
            workflow: self.workflow(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        actor::{Actor, Cause},
        workflow::{Action, Phase, State, StateKind, render_table},
    };

    #[test]
    fn every_preset_is_valid_and_complete() {
        for preset in presets() {
            let parsed = parse(preset.json).unwrap();
            assert_eq!(parsed.notes, Vec::<String>::new(), "{}", preset.name);
            assert_eq!(parsed.workflow.name, preset.name);
            assert_eq!(super::preset(preset.name).map(|found| found.json), Some(preset.json));
        }
        assert_eq!(presets()[0].json, default_workflow_json());
        assert_eq!(preset("nothing"), None);
    }

    /// What an editor proposes is what the shipped definitions do.
    #[test]
    fn hooks_answer_to_their_usual_audience() {
        for preset in presets() {
            for state in &preset.workflow().states {
                for hook in Phase::ALL.iter().flat_map(|phase| state.hooks.phase(*phase)) {
                    assert_eq!(
                        hook.applies_to,
                        hook.action.usual_audience(),
                        "{} in {}",
                        hook.action,
                        state.name
                    );
                }
            }
        }
    }

    #[test]
    fn planning_precedes_work_and_is_neither_review_nor_work() {
        let workflow = preset("planned").unwrap().workflow();
        let name = |state: Option<&State>| state.map(|state| state.name.clone());
        assert_eq!(name(workflow.review_gate()).as_deref(), Some("review"));
        assert_eq!(name(workflow.work_state()).as_deref(), Some("in_progress"));
        for from in ["todo", "blocked"] {
            assert_eq!(name(workflow.claim_target(from)).as_deref(), Some("planning"), "from {from}");
        }
        assert_eq!(workflow.claim_target("backlog"), None, "a task in the backlog is not ready");
        assert_eq!(workflow.claim_role(), Some("planner"));
        let planning = workflow.state("planning").unwrap();
        assert!(planning.dispatches() && planning.kind == StateKind::Gate);
        assert!(planning.has_action(Action::RequirePlanComplete));
        // A rejected plan is written again: the gate leads back into itself.
        let engine = Actor::System { cause: Cause::Review };
        workflow.check_edge("planning", "planning", &engine).unwrap();
        workflow.check_edge("planning", "in_progress", &engine).unwrap();
        insta::assert_snapshot!(render_table(&workflow), @r"
        backlog [backlog]
          --(block)--> blocked
          --(reject)--> cancelled
          --(cancel)--> cancelled
          --(accept)--> todo
        todo [initial]
          --(reject)--> backlog
          --(block)--> blocked
          --(cancel)--> cancelled
          --(accept)--> planning
        planning [gate, planner]
          --(block)--> blocked
          --(cancel)--> cancelled
          --(accept)--> in_progress
          --(reject)--> planning
        in_progress [active, coder]
          --(block)--> blocked
          --(cancel)--> cancelled
          --(accept)--> review
        review [gate, reviewer]
          --(block)--> blocked
          --(cancel)--> cancelled
          --(reject)--> in_progress
          --(cascade)--> in_progress
          --(accept)--> merging
        merging [gate]
          --(block)--> blocked
          --(cancel)--> cancelled
          --(accept)--> done
          --(fail)--> merge_failed
        merge_failed [custom, coder]
          --(block)--> blocked
          --(cancel)--> cancelled
          --(retry)--> in_progress
        blocked [blocked]
          --(cancel)--> cancelled
        done [terminal]
        cancelled [terminal]
        ");
    }

    #[test]
    fn the_plain_board_asks_for_nobody() {
        let workflow = preset("manual").unwrap().workflow();
        assert!(workflow.roles.is_empty());
        assert!(workflow.states.iter().all(|state| state.role.is_none() && !state.dispatches()));
        assert!(workflow.states.iter().all(|state| state.kind != StateKind::Gate));
        assert_eq!(workflow.claim_target("todo"), None);
        insta::assert_snapshot!(render_table(&workflow), @r"
        backlog [backlog]
          --(block)--> blocked
          --(reject)--> cancelled
          --(cancel)--> cancelled
          --(accept)--> todo
        todo [initial]
          --(reject)--> backlog
          --(block)--> blocked
          --(cancel)--> cancelled
          --(accept)--> in_progress
        in_progress [active]
          --(block)--> blocked
          --(cancel)--> cancelled
          --(accept)--> review
          --(reject)--> todo
        review [custom]
          --(block)--> blocked
          --(cancel)--> cancelled
          --(accept)--> done
          --(reject)--> in_progress
        blocked [blocked]
          --(cancel)--> cancelled
        done [terminal]
        cancelled [terminal]
        ");
    }
}
