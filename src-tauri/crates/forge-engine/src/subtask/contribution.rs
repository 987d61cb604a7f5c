//! What subtasks contribute: what the end of a task means for those that depend on it and for its parts, a guard, and
//! the turns that a move puts back.

use super::relatives;
use crate::core::world::features::{Guard, Moments, StepSpec};

pub(crate) const BLOCK_DEPENDENTS: StepSpec =
    StepSpec::acting(|world, s, _| Box::pin(relatives::block_dependents(world, s)));

pub(crate) const SATISFY_DEPENDENTS: StepSpec =
    StepSpec::instant(|world, tx, s, effects| Box::pin(relatives::satisfy_dependents(world, tx, s, effects)));

pub(crate) const CLOSE_PARTS: StepSpec = StepSpec::instant(|world, tx, s, effects| {
    Box::pin(relatives::close_ordered_children(world, tx, s, false, effects))
});

pub(crate) const CANCEL_PARTS: StepSpec = StepSpec::instant(|world, tx, s, effects| {
    Box::pin(relatives::close_ordered_children(world, tx, s, true, effects))
});

pub(crate) const SEQUENCE_COMPLETE: Guard =
    |world, context, task| Box::pin(super::open_ordered_children(world, context, task));

pub(crate) fn contribute(moments: &mut Moments) {
    moments.on_moved.push(|world, tx, moved| Box::pin(super::put_turn_back(world, tx, moved)));
}
