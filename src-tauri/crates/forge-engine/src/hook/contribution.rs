//! What lifecycle hooks contribute: their step, and the steps of an entry that they add.

use super::{is_blocking, step};
use crate::core::{
    worktree_lock::in_locked_worktree,
    world::features::{Acting, Moments, StepSpec},
};

/// A hook that nobody waits for runs beside the agent, on purpose.
pub(crate) const HOOK: StepSpec = StepSpec::acting(|world, s, cancel| {
    let run: Acting = |world, s, cancel| Box::pin(step::run_hook(world, s, cancel));
    if is_blocking(&s.step) { in_locked_worktree(world, s, cancel, run) } else { run(world, s, cancel) }
})
.begun_by(|world, tx, step| Box::pin(step::name_log(world, tx, step)));

pub(crate) const ANNOUNCE: StepSpec = StepSpec::instant(|_, tx, s, _| Box::pin(step::announce_hooks(tx, s)));

pub(crate) fn contribute(moments: &mut Moments) {
    moments.on_skip.push(|cx, task| Box::pin(super::tell_cut_short(cx, task)));
    moments.adds_steps.push(|tx, entering, list| Box::pin(super::add_hooks(tx, entering, list)));
}
