//! What races contribute: their steps, the entry that they take over, and what becomes of a race at the moments of its
//! task.

use super::{fixes, left, step};
use crate::core::{
    worktree_lock::in_locked_worktree,
    world::{
        cx::Cx,
        features::{Acting, Moments, StepSpec},
    },
};

pub(crate) const RACE: StepSpec = StepSpec::acting(|world, s, _| Box::pin(step::run_race(world, s)));

pub(crate) const PROMOTE: StepSpec = StepSpec::acting(|world, s, _| Box::pin(step::promote(world, s)));

pub(crate) const END_RACE: StepSpec = StepSpec::acting(|world, s, cancel| {
    let run: Acting = |world, s, cancel| Box::pin(step::end_race(world, s, cancel));
    if step::accepts(&s.step) { in_locked_worktree(world, s, cancel, run) } else { run(world, s, cancel) }
});

pub(crate) fn contribute(moments: &mut Moments) {
    moments.takes_over.push(|tx, entering| Box::pin(step::race_steps(tx, entering)));
    moments.races.push(super::is_raced);
    moments.on_moved.push(|world, tx, moved| {
        Box::pin(async move { step::end_race_with(&mut Cx::of(world, tx), moved).await })
    });
    moments.on_idle.push(|world, tx, task| Box::pin(step::race_goes_on(world, tx, task)));
    moments.on_action.push(|cx, task, asked| Box::pin(super::act(cx, task, asked)));
    moments.on_work_set_aside.push(|cx, task| Box::pin(super::forget_winner(cx.tx, task)));
    moments.on_delete.push(|world, context, task| Box::pin(left::remove_races(world, context, task)));
    moments.resume.push(|world| Box::pin(left::plan_forgetting(world)));
    moments
        .takes_fix
        .push(|world, actor, task, fix| Box::pin(fixes::apply_to_entry(world, actor, task, fix)));
}
