//! What lifecycle hooks contribute: their step, and the steps of an entry that they add.

use super::{is_blocking, step};
use crate::core::{
    engine::features::{Acting, Moments, StepSpec},
    worktree_lock::in_locked_worktree,
};

/// A hook that nobody waits for runs beside the agent, on purpose.
pub(crate) const HOOK: StepSpec = StepSpec::acting(|engine, s, cancel| {
    let run: Acting = |engine, s, cancel| Box::pin(step::run_hook(engine, s, cancel));
    if is_blocking(&s.step) { in_locked_worktree(engine, s, cancel, run) } else { run(engine, s, cancel) }
})
.begun_by(|engine, tx, step| Box::pin(step::name_log(engine, tx, step)));

pub(crate) const ANNOUNCE: StepSpec = StepSpec::instant(|_, tx, s, _| Box::pin(step::announce_hooks(tx, s)));

pub(crate) fn contribute(moments: &mut Moments) {
    moments.on_skip.push(|cx, task| Box::pin(super::tell_cut_short(cx, task)));
    moments.adds_steps.push(|tx, entering, list| Box::pin(super::add_hooks(tx, entering, list)));
}
