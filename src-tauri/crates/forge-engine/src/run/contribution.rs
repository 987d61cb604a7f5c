//! What runs of agents contribute: their steps, a guard, and what happens to a run at the moments of its task.

use super::{dispatch, finish, follow_up, panicked, plan, running};
use crate::core::{
    engine::features::{Guard, Moments, StepSpec},
    worktree_lock::in_locked_worktree,
};

pub(crate) const ADMIT: StepSpec =
    StepSpec::instant(|engine, tx, s, effects| Box::pin(dispatch::admit(engine, tx, s, effects)));

pub(crate) const RESTART: StepSpec =
    StepSpec::instant(|engine, tx, s, effects| Box::pin(dispatch::restart(engine, tx, s, effects)));

pub(crate) const FOLLOW_UP: StepSpec =
    StepSpec::instant(|engine, tx, s, effects| Box::pin(follow_up::follow_up_now(engine, tx, s, effects)));

pub(crate) const DISPATCH: StepSpec =
    StepSpec::instant(|engine, tx, s, effects| Box::pin(dispatch::dispatch(engine, tx, s, effects)));

pub(crate) const COMMIT_WORK: StepSpec = StepSpec::acting(|engine, s, cancel| {
    in_locked_worktree(engine, s, cancel, |engine, s, _| Box::pin(finish::commit_work(engine, s)))
});

pub(crate) const PLAN_COMPLETE: Guard = |engine, _, task| Box::pin(plan::missing_plan(engine, task));

pub(crate) fn contribute(moments: &mut Moments) {
    moments.attends.push(running::is_running);
    moments.stop.push(|engine, task| Box::pin(running::stop_run(engine, task)));
    moments
        .on_panic
        .push(|engine, tx, task, error| Box::pin(panicked::lose_unstarted(engine, tx, task, error)));
}
