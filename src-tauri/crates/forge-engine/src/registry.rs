//! The list of features, from which an engine is made: which of their steps does a step kind or an action, which of
//! their functions is each guard, and what they contribute at the moments of a task.
//!
//! Invariant: every step kind and every action has one entry, without a wildcard, so that a new one without an entry
//! does not compile. A function `contribute` that is not called here is dead code, which does not compile either.

use forge_model::transition::StepKind;
use forge_model::workflow::Action;
use forge_store::table::steps::StepRow;

#[cfg(feature = "fix")]
use crate::fix;
#[cfg(feature = "knowledge")]
use crate::knowledge;
#[cfg(feature = "race")]
use crate::race;
#[cfg(feature = "validate")]
use crate::validate;
use crate::{
    core::{
        self, own_steps,
        world::features::{Features, Guard, Moments, StepSpec, Steps},
    },
    cost, hook, issue, machine, merge, pull_request, review, run, service, subtask, terminal, trust,
    workspace,
};

/// Everything that the core is given.
pub(crate) fn features() -> Features {
    Features {
        steps: Steps { of_step: spec_of, of_action: spec_of_action },
        guard: guard_of,
        work: |world, task, cancel| Box::pin(core::panics::work_guarded(world, task, cancel)),
        after_work: |world, task| Box::pin(core::watchdog::watch_over(world, task)),
        launch: run::launch,
        #[cfg(not(feature = "fix"))]
        mending: None,
        #[cfg(feature = "fix")]
        mending: Some(fix::contribution::MENDING),
        #[cfg(not(feature = "validate"))]
        validate: None,
        #[cfg(feature = "validate")]
        validate: Some(validate::contribution::GATE),
        moments: moments(),
    }
}

/// What features contribute at the moments of a task. They are asked in this order.
fn moments() -> Moments {
    let mut moments = Moments::default();
    run::contribution::contribute(&mut moments);
    machine::contribution::contribute(&mut moments);
    trust::contribution::contribute(&mut moments);
    cost::contribution::contribute(&mut moments);
    hook::contribution::contribute(&mut moments);
    service::contribution::contribute(&mut moments);
    terminal::contribution::contribute(&mut moments);
    merge::contribution::contribute(&mut moments);
    pull_request::contribution::contribute(&mut moments);
    issue::contribution::contribute(&mut moments);
    #[cfg(feature = "race")]
    race::contribution::contribute(&mut moments);
    #[cfg(feature = "fix")]
    fix::contribution::contribute(&mut moments);
    #[cfg(feature = "knowledge")]
    knowledge::contribution::contribute(&mut moments);
    #[cfg(feature = "validate")]
    validate::contribution::contribute(&mut moments);
    subtask::contribution::contribute(&mut moments);
    moments
}

/// The guard that an action is.
fn guard_of(action: Action) -> Option<Guard> {
    let guard: Guard = match action {
        Action::DependencyGate => {
            |world, context, task| Box::pin(core::guards::ask_prerequisites(world, context, task))
        }
        Action::SubtaskSequenceComplete => subtask::contribution::SEQUENCE_COMPLETE,
        Action::RequireCleanWorktree => workspace::contribution::CLEAN_WORKTREE,
        Action::RequireNoConflictMarkers => workspace::contribution::NO_CONFLICT_MARKERS,
        Action::RequirePlanComplete => run::contribution::PLAN_COMPLETE,
        Action::RunBeforeWorkHooks
        | Action::RunCiSteps
        | Action::DispatchRoleAgent
        | Action::RunMerge
        | Action::CheckRetryBudget
        | Action::AutoCascadeOnReviewPass
        | Action::AutoCascadeOnUnassignedRole
        | Action::AutoCascadeOnMergeResult
        | Action::CleanupWorkspaceNow
        | Action::ScheduleWorkspaceCleanup
        | Action::SatisfyDependents
        | Action::PropagateDoneToSubtasks
        | Action::CancelPendingSubtasks
        | Action::PublishTaskBlocked
        | Action::KnowledgeInject
        | Action::KnowledgeCapture => return None,
    };
    Some(guard)
}

fn spec_of(step: &StepRow) -> StepSpec {
    match step.kind {
        StepKind::UndoWindow => own_steps::UNDO_WINDOW,
        StepKind::ClearBarrier => own_steps::CLEAR_BARRIER,
        StepKind::Admit => run::contribution::ADMIT,
        StepKind::Restart => run::contribution::RESTART,
        StepKind::FollowUp => run::contribution::FOLLOW_UP,
        StepKind::CommitWork => run::contribution::COMMIT_WORK,
        StepKind::PrepareWorkspace => workspace::contribution::PREPARE,
        StepKind::Cleanup => workspace::contribution::CLEAN_UP_NOW,
        StepKind::Hook => hook::contribution::HOOK,
        StepKind::Capture => review::contribution::CAPTURE,
        StepKind::Advance => review::contribution::ADVANCE,
        StepKind::BlockDependents => subtask::contribution::BLOCK_DEPENDENTS,
        #[cfg(feature = "race")]
        StepKind::Race => race::contribution::RACE,
        #[cfg(feature = "race")]
        StepKind::Promote => race::contribution::PROMOTE,
        #[cfg(feature = "race")]
        StepKind::EndRace => race::contribution::END_RACE,
        #[cfg(not(feature = "race"))]
        StepKind::Race | StepKind::Promote | StepKind::EndRace => own_steps::LEFT_OUT,
        #[cfg(feature = "fix")]
        StepKind::VerifyFix => fix::contribution::VERIFY_FIX,
        #[cfg(not(feature = "fix"))]
        StepKind::VerifyFix => own_steps::LEFT_OUT,
        #[cfg(feature = "knowledge")]
        StepKind::Debrief => knowledge::contribution::DEBRIEF,
        #[cfg(not(feature = "knowledge"))]
        StepKind::Debrief => own_steps::LEFT_OUT,
        StepKind::Action => step.action.map_or(own_steps::WITHOUT_ACTION, spec_of_action),
    }
}

fn spec_of_action(action: Action) -> StepSpec {
    match action {
        Action::RunCiSteps => review::contribution::RUN_CHECKS,
        Action::RunMerge => pull_request::contribution::MERGE,
        #[cfg(feature = "knowledge")]
        Action::KnowledgeInject => knowledge::contribution::INJECT,
        #[cfg(feature = "knowledge")]
        Action::KnowledgeCapture => knowledge::contribution::CAPTURE,
        #[cfg(not(feature = "knowledge"))]
        Action::KnowledgeInject | Action::KnowledgeCapture => own_steps::LEFT_OUT,
        Action::CleanupWorkspaceNow => workspace::contribution::CLEAN_UP_NOW,
        Action::ScheduleWorkspaceCleanup => workspace::contribution::SCHEDULE_CLEANUP,
        Action::RunBeforeWorkHooks => hook::contribution::ANNOUNCE,
        Action::DispatchRoleAgent => run::contribution::DISPATCH,
        Action::CheckRetryBudget => review::contribution::SHOW_BUDGET,
        Action::AutoCascadeOnReviewPass => review::contribution::DECIDE,
        Action::AutoCascadeOnUnassignedRole => review::contribution::PASS_UNASSIGNED,
        Action::AutoCascadeOnMergeResult => review::contribution::DECIDE_MERGE,
        Action::PublishTaskBlocked => review::contribution::PUBLISH_BLOCKED,
        Action::SatisfyDependents => subtask::contribution::SATISFY_DEPENDENTS,
        Action::PropagateDoneToSubtasks => subtask::contribution::CLOSE_PARTS,
        Action::CancelPendingSubtasks => subtask::contribution::CANCEL_PARTS,
        Action::DependencyGate
        | Action::RequireCleanWorktree
        | Action::RequirePlanComplete
        | Action::RequireNoConflictMarkers
        | Action::SubtaskSequenceComplete => own_steps::ASKED_BEFORE,
    }
}
