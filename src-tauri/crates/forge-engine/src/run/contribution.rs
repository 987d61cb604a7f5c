//! What runs of agents contribute: their steps, a guard, and what happens to a run at the moments of its task.

use super::{dispatch, finish, follow_up, panicked, plan, running};
use crate::core::{
    worktree_lock::in_locked_worktree,
    world::features::{Guard, Moments, StepSpec},
};

pub(crate) const ADMIT: StepSpec = StepSpec::acting(|world, s, _| Box::pin(dispatch::admit(world, s)));

pub(crate) const RESTART: StepSpec =
    StepSpec::instant(|world, tx, s, effects| Box::pin(dispatch::restart(world, tx, s, effects)));

pub(crate) const FOLLOW_UP: StepSpec =
    StepSpec::instant(|world, tx, s, effects| Box::pin(follow_up::follow_up_now(world, tx, s, effects)));

pub(crate) const DISPATCH: StepSpec =
    StepSpec::instant(|world, tx, s, effects| Box::pin(dispatch::dispatch(world, tx, s, effects)));

pub(crate) const COMMIT_WORK: StepSpec = StepSpec::acting(|world, s, cancel| {
    in_locked_worktree(world, s, cancel, |world, s, _| Box::pin(finish::commit_work(world, s)))
});

pub(crate) const PLAN_COMPLETE: Guard = |world, _, task| Box::pin(plan::missing_plan(world, task));

pub(crate) fn contribute(moments: &mut Moments) {
    moments.attends.push(running::is_running);
    moments.stop.push(|world, task| Box::pin(running::stop_run(world, task)));
    moments
        .on_panic
        .push(|world, tx, task, error| Box::pin(panicked::lose_unstarted(world, tx, task, error)));
}
