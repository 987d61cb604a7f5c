//! What reviews contribute: the steps of a gate.

use forge_model::workflow::StateKind;

use super::{capture, checks, decision, plan_gate};
use crate::core::{
    engine::{
        features::{Acting, StepSpec},
        step::Stepping,
    },
    worktree_lock::in_locked_worktree,
};

pub(crate) const CAPTURE: StepSpec = StepSpec::acting(|engine, s, cancel| {
    in_locked_worktree(engine, s, cancel, |engine, s, cancel| Box::pin(capture::capture(engine, s, cancel)))
});

pub(crate) const ADVANCE: StepSpec = StepSpec::acting(|engine, s, cancel| {
    let run: Acting = |engine, s, cancel| Box::pin(plan_gate::advance(engine, s, cancel));
    if is_at_gate(s) { in_locked_worktree(engine, s, cancel, run) } else { run(engine, s, cancel) }
});

pub(crate) const RUN_CHECKS: StepSpec = StepSpec::acting(|engine, s, cancel| {
    in_locked_worktree(engine, s, cancel, |engine, s, cancel| Box::pin(checks::run_checks(engine, s, cancel)))
});

pub(crate) const SHOW_BUDGET: StepSpec =
    StepSpec::instant(|_, tx, s, _| Box::pin(decision::show_budget(tx, s)));

pub(crate) const DECIDE: StepSpec =
    StepSpec::instant(|engine, tx, s, _| Box::pin(decision::decide_review(engine, tx, s)));

pub(crate) const PASS_UNASSIGNED: StepSpec =
    StepSpec::instant(|_, tx, s, _| Box::pin(decision::pass_unassigned(tx, s)));

pub(crate) const DECIDE_MERGE: StepSpec =
    StepSpec::instant(|engine, tx, s, _| Box::pin(decision::decide_merge(engine, tx, s)));

pub(crate) const PUBLISH_BLOCKED: StepSpec =
    StepSpec::instant(|engine, tx, s, _| Box::pin(decision::publish_blocked(engine, tx, s)));

fn is_at_gate(s: &Stepping) -> bool {
    s.context.workflow.state(&s.task.status).is_some_and(|state| state.kind == StateKind::Gate)
}
