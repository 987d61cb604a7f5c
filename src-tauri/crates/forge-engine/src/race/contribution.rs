//! What races contribute: their steps, the entry that they take over, and what becomes of a race at the moments of its
//! task.

use super::{fixes, left, step};
use crate::core::{
    engine::{
        cx::Cx,
        features::{Acting, Moments, StepSpec},
    },
    worktree_lock::in_locked_worktree,
};

pub(crate) const RACE: StepSpec = StepSpec::acting(|engine, s, _| Box::pin(step::run_race(engine, s)));

pub(crate) const PROMOTE: StepSpec = StepSpec::acting(|engine, s, _| Box::pin(step::promote(engine, s)));

pub(crate) const END_RACE: StepSpec = StepSpec::acting(|engine, s, cancel| {
    let run: Acting = |engine, s, cancel| Box::pin(step::end_race(engine, s, cancel));
    if step::accepts(&s.step) { in_locked_worktree(engine, s, cancel, run) } else { run(engine, s, cancel) }
});

pub(crate) fn contribute(moments: &mut Moments) {
    moments.takes_over.push(|tx, entering| Box::pin(step::race_steps(tx, entering)));
    moments.on_moved.push(|engine, tx, moved| {
        Box::pin(async move { step::end_race_with(&mut Cx::of(engine, tx), moved).await })
    });
    moments.on_idle.push(|engine, tx, task| Box::pin(step::race_goes_on(engine, tx, task)));
    moments.on_action.push(|cx, task, asked| Box::pin(super::act(cx, task, asked)));
    moments.on_work_set_aside.push(|cx, task| Box::pin(super::forget_winner(cx.tx, task)));
    moments.on_delete.push(|engine, context, task| Box::pin(left::remove_races(engine, context, task)));
    moments.resume.push(|engine| Box::pin(left::plan_forgetting(engine)));
    moments
        .takes_fix
        .push(|engine, actor, task, fix| Box::pin(fixes::apply_to_entry(engine, actor, task, fix)));
}
