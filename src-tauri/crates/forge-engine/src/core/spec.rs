//! A step as the core sees it: what runs it, and what it needs for that. Whose steps they are is wired from above
//! (`registry.rs`).

use forge_model::workflow::Action;
use forge_store::{Tx, table::steps::StepRow};
use futures::future::BoxFuture;
use tokio_util::sync::CancellationToken;

use crate::{
    Engine,
    core::runner::{Effect, End, Stepping},
    error::Result,
};

/// Reads and writes the database alone, in the transaction of its task's instant steps.
pub(crate) type Instant =
    for<'a> fn(&'a Engine, &'a mut Tx, &'a mut Stepping, &'a mut Vec<Effect>) -> BoxFuture<'a, Result<End>>;

/// Acts on processes and git. It may be run again after a kill, and looks first at what is there.
pub(crate) type Acting =
    for<'a> fn(&'a Engine, &'a Stepping, &'a CancellationToken) -> BoxFuture<'a, Result<End>>;

/// How a step is run.
pub(crate) enum Run {
    Instant(Instant),
    Acting(Acting),
}

/// A step as the runner needs to know it.
pub(crate) struct StepSpec {
    pub run: Run,
    /// Whether it changes files of the worktree, so that nobody else may meanwhile.
    pub locks_workspace: fn(&Stepping) -> bool,
}

/// The steps that there are.
pub(crate) struct Steps {
    /// The entry of a step.
    pub of_step: fn(&StepRow) -> StepSpec,
    /// The entry of an action of the workflow.
    pub of_action: fn(Action) -> StepSpec,
}

impl Steps {
    /// The code of an action that only reads and writes the database; none of one that acts.
    pub(crate) fn instant_of(&self, action: Action) -> Option<Instant> {
        match (self.of_action)(action).run {
            Run::Instant(run) => Some(run),
            Run::Acting(_) => None,
        }
    }
}
