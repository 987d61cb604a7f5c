//! What drafted fixes contribute: the step that verifies one, how failed checks are mended, and what becomes of fixes at
//! the moments of their task.

use super::{proposal, step, superseded};
use crate::core::{
    worktree_lock::in_locked_worktree,
    world::{
        cx::Cx,
        features::{Mending, Moments, StepSpec},
    },
};

pub(crate) const VERIFY_FIX: StepSpec = StepSpec::acting(|world, s, cancel| {
    in_locked_worktree(world, s, cancel, |world, s, cancel| Box::pin(step::verify_fix(world, s, cancel)))
});

pub(crate) const MENDING: Mending = Mending {
    applied_for: |world, review| Box::pin(step::applied_for(world, review)),
    in_place: |world, s, review, workspace, check, cancel| {
        Box::pin(step::fix_in_place(world, s, review, workspace, check, cancel))
    },
    settle: |world, s, workspace, fix, check| {
        Box::pin(step::record_fix_result(world, s, workspace, fix, check))
    },
    plan: |world, s, review, workspace, check| {
        Box::pin(super::plan_draft(world, s, review, workspace, check))
    },
    start: super::start_draft,
    apply_requested_fix: |world, s, of, sent_back, cancel| {
        Box::pin(step::apply_requested_fix(world, s, of, sent_back, cancel))
    },
};

pub(crate) fn contribute(moments: &mut Moments) {
    moments.on_acted.push(|cx, task| Box::pin(superseded::supersede_race_fixes(cx, task)));
    moments
        .on_work_set_aside
        .push(|cx, task| Box::pin(superseded::supersede_all(cx, task, proposal::SET_ASIDE)));
    moments.on_work_changed.push(|world, task| Box::pin(superseded::supersede_fixes(world, task)));
    moments.recover.push(|world| Box::pin(super::recover_fixes(world)));
    moments.on_moved.push(|world, tx, moved| {
        Box::pin(async move { superseded::supersede_of_closed(&mut Cx::of(world, tx), moved).await })
    });
}
