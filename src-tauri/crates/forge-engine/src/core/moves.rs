//! A move that is about to be written, and what it passes to the steps of the entered state.

use forge_model::actor::{Actor, Cause};
use forge_model::budget::BudgetKind;
use forge_model::correction::Correction;
use forge_model::knowledge::Lesson;
use forge_model::task::ErrorAnnotation;
use forge_model::time::Timestamp;
use forge_model::workflow::Audience;
use forge_store::table::transitions::TransitionRow;
use serde::{Deserialize, Serialize};

/// What the steps of the entered state need to know about how it came to be entered.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct EntryInput {
    /// What the agent that is started is told besides the task.
    #[serde(default)]
    pub corrections: Vec<Correction>,
    /// Why it is started, in words.
    #[serde(default)]
    pub cause: Option<String>,
    /// The budget that this run is paid from.
    #[serde(default)]
    pub spends: Option<BudgetKind>,
    /// Whether a conflict is sent to the coder by itself.
    #[serde(default)]
    pub fix_conflict: bool,
    /// What the project has learned that fits the task.
    #[serde(default)]
    pub lessons: Vec<Lesson>,
    /// A remark for the review that begins.
    #[serde(default)]
    pub note: Option<String>,
    /// Whether the run is the turn of the next ordered subtask.
    #[serde(default)]
    pub subtask_turn: bool,
    /// Whether the run goes on by itself with what the one before it was cut short in.
    #[serde(default)]
    pub goes_on: bool,
    /// Whether the review that begins takes passes of checks that hold for its tree.
    #[serde(default)]
    pub reuse_passes: bool,
}

/// A move to be written.
#[derive(Debug, Clone)]
pub(crate) struct Move {
    pub to: String,
    pub trigger: String,
    pub actor: Actor,
    pub audience: Audience,
    pub reason: Option<String>,
    pub rejection: bool,
    pub depth: u32,
    pub input: EntryInput,
    pub annotation: Option<ErrorAnnotation>,
    pub position: Option<f64>,
    pub undo_until: Option<Timestamp>,
    /// Whether the earlier pass stands although a person moves the task (they only repeat what failed).
    pub keeps_pass: bool,
}

impl Move {
    /// A move that starts a chain. Its audience is the actor's, whichever interface the actor used.
    pub(crate) fn by(to: &str, trigger: &str, actor: Actor) -> Self {
        let audience = actor.audience();
        Self::new(to, trigger, actor, audience, 0)
    }

    /// A cascade: it inherits the audience of its chain and is counted.
    pub(crate) fn cascade(to: &str, trigger: &str, cause: Cause, from: &TransitionRow) -> Self {
        Self::new(to, trigger, Actor::System { cause }, from.audience, from.cascade_depth + 1)
    }

    fn new(to: &str, trigger: &str, actor: Actor, audience: Audience, depth: u32) -> Self {
        Self {
            to: to.to_owned(),
            trigger: trigger.to_owned(),
            actor,
            audience,
            reason: None,
            rejection: false,
            depth,
            input: EntryInput::default(),
            annotation: None,
            position: None,
            undo_until: None,
            keeps_pass: false,
        }
    }
}
