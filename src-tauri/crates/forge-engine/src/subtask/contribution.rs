//! What subtasks contribute: what the end of a task means for those that depend on it and for its parts, a guard, and
//! the turns that a move puts back.

use super::relatives;
use crate::core::engine::features::{Guard, Moments, StepSpec};

pub(crate) const BLOCK_DEPENDENTS: StepSpec =
    StepSpec::acting(|engine, s, _| Box::pin(relatives::block_dependents(engine, s)));

pub(crate) const SATISFY_DEPENDENTS: StepSpec = StepSpec::instant(|engine, tx, s, effects| {
    Box::pin(relatives::satisfy_dependents(engine, tx, s, effects))
});

pub(crate) const CLOSE_PARTS: StepSpec = StepSpec::instant(|engine, tx, s, effects| {
    Box::pin(relatives::close_ordered_children(engine, tx, s, false, effects))
});

pub(crate) const CANCEL_PARTS: StepSpec = StepSpec::instant(|engine, tx, s, effects| {
    Box::pin(relatives::close_ordered_children(engine, tx, s, true, effects))
});

pub(crate) const SEQUENCE_COMPLETE: Guard =
    |engine, context, task| Box::pin(super::open_ordered_children(engine, context, task));

pub(crate) fn contribute(moments: &mut Moments) {
    moments.on_moved.push(|engine, tx, moved| Box::pin(super::put_turn_back(engine, tx, moved)));
}
