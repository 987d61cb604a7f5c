//! What reviews contribute: the steps of a gate.

use forge_model::workflow::StateKind;

use super::{capture, checks, decision, plan_gate};
use crate::core::{
    worktree_lock::in_locked_worktree,
    world::{
        features::{Acting, StepSpec},
        step::Stepping,
    },
};

pub(crate) const CAPTURE: StepSpec = StepSpec::acting(|world, s, cancel| {
    in_locked_worktree(world, s, cancel, |world, s, cancel| Box::pin(capture::capture(world, s, cancel)))
});

pub(crate) const ADVANCE: StepSpec = StepSpec::acting(|world, s, cancel| {
    let run: Acting = |world, s, cancel| Box::pin(plan_gate::advance(world, s, cancel));
    if is_at_gate(s) { in_locked_worktree(world, s, cancel, run) } else { run(world, s, cancel) }
});

pub(crate) const RUN_CHECKS: StepSpec = StepSpec::acting(|world, s, cancel| {
    in_locked_worktree(world, s, cancel, |world, s, cancel| Box::pin(checks::run_checks(world, s, cancel)))
});

pub(crate) const SHOW_BUDGET: StepSpec =
    StepSpec::instant(|_, tx, s, _| Box::pin(decision::show_budget(tx, s)));

pub(crate) const DECIDE: StepSpec =
    StepSpec::instant(|world, tx, s, _| Box::pin(decision::decide_review(world, tx, s)));

pub(crate) const PASS_UNASSIGNED: StepSpec =
    StepSpec::instant(|_, tx, s, _| Box::pin(decision::pass_unassigned(tx, s)));

pub(crate) const DECIDE_MERGE: StepSpec =
    StepSpec::instant(|world, tx, s, _| Box::pin(decision::decide_merge(world, tx, s)));

pub(crate) const PUBLISH_BLOCKED: StepSpec =
    StepSpec::instant(|world, tx, s, _| Box::pin(decision::publish_blocked(world, tx, s)));

fn is_at_gate(s: &Stepping) -> bool {
    s.context.workflow.state(&s.task.status).is_some_and(|state| state.kind == StateKind::Gate)
}
