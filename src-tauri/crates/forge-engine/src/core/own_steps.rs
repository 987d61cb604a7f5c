//! The steps of the core itself, which belong to no feature.

use forge_model::task::AnnotationType;

use crate::core::{
    block_reason::BlockReason,
    world::{features::StepSpec, step::End},
};

/// The time in which a move can be taken back. Waiting is all that it does.
pub(crate) const UNDO_WINDOW: StepSpec = StepSpec::instant(|_, _, _, _| Box::pin(async { Ok(End::ok()) }));

/// What had to come first has passed.
pub(crate) const CLEAR_BARRIER: StepSpec = StepSpec::instant(|world, tx, s, _| {
    Box::pin(async move {
        s.task.entry_barrier = None;
        tx.tasks_mut().update(&mut s.task, world.now()).await?;
        Ok(End::ok())
    })
});

/// A step of an action whose row names none.
pub(crate) const WITHOUT_ACTION: StepSpec = StepSpec::instant(|_, _, _, _| {
    let trouble = BlockReason::new(AnnotationType::RecoveryRequired, "the step has no action");
    Box::pin(async { Ok(End::Block(trouble)) })
});

/// A guard where a workflow lists it among what is done. It was asked when the task left its state.
pub(crate) const ASKED_BEFORE: StepSpec =
    StepSpec::instant(|_, _, _, _| Box::pin(async { Ok(End::skipped("asked before the move")) }));

/// A step of a feature that this build leaves out: it blocks its task, which says so.
#[cfg(not(all(feature = "fix", feature = "knowledge", feature = "race")))]
pub(crate) const LEFT_OUT: StepSpec = StepSpec::instant(|_, _, _, _| {
    let trouble = BlockReason::new(AnnotationType::RecoveryRequired, "no feature runs this step");
    Box::pin(async { Ok(End::Block(trouble)) })
});
