//! What drafted fixes contribute: the step that verifies one, how failed checks are mended, and what becomes of fixes at
//! the moments of their task.

use super::{proposal, step, superseded};
use crate::core::{
    engine::{
        cx::Cx,
        features::{Mending, Moments, StepSpec},
    },
    worktree_lock::in_locked_worktree,
};

pub(crate) const VERIFY_FIX: StepSpec = StepSpec::acting(|engine, s, cancel| {
    in_locked_worktree(engine, s, cancel, |engine, s, cancel| Box::pin(step::verify_fix(engine, s, cancel)))
});

pub(crate) const MENDING: Mending = Mending {
    applied_for: |engine, review| Box::pin(step::applied_for(engine, review)),
    in_place: |engine, s, review, workspace, check, cancel| {
        Box::pin(step::fix_in_place(engine, s, review, workspace, check, cancel))
    },
    settle: |engine, s, workspace, fix, check| {
        Box::pin(step::record_fix_result(engine, s, workspace, fix, check))
    },
    plan: |engine, s, review, workspace, check| {
        Box::pin(super::plan_draft(engine, s, review, workspace, check))
    },
    start: super::start_draft,
    apply_requested_fix: |engine, s, of, sent_back, cancel| {
        Box::pin(step::apply_requested_fix(engine, s, of, sent_back, cancel))
    },
};

pub(crate) fn contribute(moments: &mut Moments) {
    moments.on_acted.push(|cx, task| Box::pin(superseded::supersede_race_fixes(cx, task)));
    moments
        .on_work_set_aside
        .push(|cx, task| Box::pin(superseded::supersede_all(cx, task, proposal::SET_ASIDE)));
    moments.on_work_changed.push(|engine, task| Box::pin(superseded::supersede_fixes(engine, task)));
    moments.recover.push(|engine| Box::pin(super::recover_fixes(engine)));
    moments.on_moved.push(|engine, tx, moved| {
        Box::pin(async move { superseded::supersede_of_closed(&mut Cx::of(engine, tx), moved).await })
    });
}
