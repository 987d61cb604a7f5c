//! Which feature runs each step: one entry for each kind and action, so that a new one without an entry does not compile.

use forge_model::project::WorkMode;
use forge_model::task::AnnotationType;
use forge_model::transition::StepKind;
use forge_model::workflow::{Action, StateKind};
use forge_store::table::{steps::StepRow, tasks};

use crate::{
    core::{
        self,
        runner::{End, Stepping},
        spec::{Acting, Instant, Run, StepSpec, Steps},
        transition::Trouble,
    },
    fix,
    hook::{self, is_blocking},
    knowledge, merge, pull_request,
    race::{self, step::accepts},
    review, run, subtask, workspace,
};

const NEVER: fn(&Stepping) -> bool = |_| false;
const ALWAYS: fn(&Stepping) -> bool = |_| true;

const fn instant(run: Instant) -> StepSpec {
    StepSpec { run: Run::Instant(run), locks_workspace: NEVER }
}

const fn acting(run: Acting) -> StepSpec {
    StepSpec { run: Run::Acting(run), locks_workspace: NEVER }
}

const fn locking(locks_workspace: fn(&Stepping) -> bool, run: Acting) -> StepSpec {
    StepSpec { run: Run::Acting(run), locks_workspace }
}

/// What the core asks about a step and an action.
pub(crate) const STEPS: Steps = Steps { of_step: spec_of, of_action: spec_of_action };

fn spec_of(step: &StepRow) -> StepSpec {
    match step.kind {
        StepKind::UndoWindow => instant(|_, _, _, _| Box::pin(async { Ok(End::ok()) })),
        StepKind::ClearBarrier => instant(|engine, tx, s, _| {
            Box::pin(async move {
                s.task.entry_barrier = None;
                tasks::update(tx, &mut s.task, engine.now()).await?;
                Ok(End::ok())
            })
        }),
        StepKind::Admit => {
            instant(|engine, tx, s, effects| Box::pin(run::dispatch::admit(engine, tx, s, effects)))
        }
        StepKind::Restart => {
            instant(|engine, tx, s, effects| Box::pin(run::dispatch::restart(engine, tx, s, effects)))
        }
        StepKind::FollowUp => {
            instant(|engine, tx, s, effects| Box::pin(run::follow_up::follow_up_now(engine, tx, s, effects)))
        }
        StepKind::PrepareWorkspace => {
            acting(|engine, s, cancel| Box::pin(workspace::prepare::prepare_workspace(engine, s, cancel)))
        }
        // A hook that nobody waits for runs beside the agent, on purpose.
        StepKind::Hook => locking(
            |s| is_blocking(&s.step),
            |engine, s, cancel| Box::pin(hook::step::run_hook(engine, s, cancel)),
        ),
        StepKind::CommitWork => locking(ALWAYS, |engine, s, _| Box::pin(run::finish::commit_work(engine, s))),
        StepKind::Capture => {
            locking(ALWAYS, |engine, s, cancel| Box::pin(review::capture::capture(engine, s, cancel)))
        }
        StepKind::Advance => {
            locking(is_at_gate, |engine, s, cancel| Box::pin(run::finish::advance(engine, s, cancel)))
        }
        StepKind::BlockDependents => {
            acting(|engine, s, _| Box::pin(subtask::relatives::block_dependents(engine, s)))
        }
        StepKind::Race => acting(|engine, s, _| Box::pin(race::step::run_race(engine, s))),
        StepKind::Promote => acting(|engine, s, _| Box::pin(race::step::promote(engine, s))),
        StepKind::EndRace => locking(
            |s| accepts(&s.step),
            |engine, s, cancel| Box::pin(race::step::end_race(engine, s, cancel)),
        ),
        StepKind::VerifyFix => {
            locking(ALWAYS, |engine, s, cancel| Box::pin(fix::step::verify_fix(engine, s, cancel)))
        }
        StepKind::Debrief => acting(|engine, s, _| {
            Box::pin(async move {
                core::runner::or_not_kept(engine, knowledge::debrief::debrief_task(engine, s).await).await
            })
        }),
        StepKind::Cleanup => acting(|engine, s, _| Box::pin(workspace::cleanup::clean_up_now(engine, s))),
        StepKind::Action => match step.action {
            Some(action) => spec_of_action(action),
            None => instant(|_, _, _, _| {
                let trouble = Trouble::new(AnnotationType::RecoveryRequired, "the step names no action");
                Box::pin(async { Ok(End::Block(trouble)) })
            }),
        },
    }
}

fn spec_of_action(action: Action) -> StepSpec {
    match action {
        Action::RunCiSteps => {
            locking(ALWAYS, |engine, s, cancel| Box::pin(review::checks::run_checks(engine, s, cancel)))
        }
        Action::RunMerge => acting(|engine, s, cancel| match s.context.project.work_mode {
            WorkMode::PullRequest => Box::pin(pull_request::step::run_pull_request(engine, s, cancel)),
            WorkMode::DirectCommit => Box::pin(merge::step::run_merge(engine, s, cancel)),
        }),
        // What is to be learned holds nobody up, unless its hook says so.
        Action::KnowledgeInject => acting(|engine, s, _| {
            Box::pin(async move {
                core::runner::or_not_kept(engine, knowledge::step::inject_knowledge(engine, s).await).await
            })
        }),
        Action::KnowledgeCapture => acting(|engine, s, _| {
            Box::pin(async move {
                core::runner::or_not_kept(engine, knowledge::step::capture_knowledge(engine, s).await).await
            })
        }),
        Action::CleanupWorkspaceNow => {
            acting(|engine, s, _| Box::pin(workspace::cleanup::clean_up_now(engine, s)))
        }
        Action::ScheduleWorkspaceCleanup => {
            acting(|engine, s, _| Box::pin(workspace::cleanup::schedule_cleanup(engine, s)))
        }
        Action::RunBeforeWorkHooks => instant(|_, tx, s, _| Box::pin(hook::step::announce_hooks(tx, s))),
        Action::DispatchRoleAgent => {
            instant(|engine, tx, s, effects| Box::pin(run::dispatch::dispatch(engine, tx, s, effects)))
        }
        Action::CheckRetryBudget => instant(|_, tx, s, _| Box::pin(review::decision::show_budget(tx, s))),
        Action::AutoCascadeOnReviewPass => {
            instant(|engine, tx, s, _| Box::pin(review::decision::decide_review(engine, tx, s)))
        }
        Action::AutoCascadeOnUnassignedRole => {
            instant(|_, tx, s, _| Box::pin(review::decision::pass_unassigned(tx, s)))
        }
        Action::AutoCascadeOnMergeResult => {
            instant(|engine, tx, s, _| Box::pin(review::decision::decide_merge(engine, tx, s)))
        }
        Action::PublishTaskBlocked => {
            instant(|engine, tx, s, _| Box::pin(review::decision::publish_blocked(engine, tx, s)))
        }
        Action::SatisfyDependents => instant(|engine, tx, s, effects| {
            Box::pin(subtask::relatives::satisfy_dependents(engine, tx, s, effects))
        }),
        Action::PropagateDoneToSubtasks => instant(|engine, tx, s, effects| {
            Box::pin(subtask::relatives::close_ordered_children(engine, tx, s, false, effects))
        }),
        Action::CancelPendingSubtasks => instant(|engine, tx, s, effects| {
            Box::pin(subtask::relatives::close_ordered_children(engine, tx, s, true, effects))
        }),
        Action::DependencyGate
        | Action::RequireCleanWorktree
        | Action::RequirePlanComplete
        | Action::RequireNoConflictMarkers
        | Action::SubtaskSequenceComplete => {
            instant(|_, _, _, _| Box::pin(async { Ok(End::skipped("asked before the move")) }))
        }
    }
}

fn is_at_gate(s: &Stepping) -> bool {
    s.context.workflow.state(&s.task.status).is_some_and(|state| state.kind == StateKind::Gate)
}
