//! What runs each step, and what it needs for that: one entry for each kind and action, so that a new one without an
//! entry does not compile.

use forge_model::project::WorkMode;
use forge_model::task::AnnotationType;
use forge_model::transition::StepKind;
use forge_model::workflow::{Action, StateKind};
use forge_store::Tx;
use forge_store::table::{steps::StepRow, tasks};
use futures::future::BoxFuture;
use tokio_util::sync::CancellationToken;

use super::{Effect, End, Stepping};
use crate::{Engine, error::Result, hook::is_blocking, race::step::accepts, transition::Trouble};

/// Reads and writes the database alone, in the transaction of its task's instant steps.
pub(crate) type Instant =
    for<'a> fn(&'a Engine, &'a mut Tx, &'a mut Stepping, &'a mut Vec<Effect>) -> BoxFuture<'a, Result<End>>;

/// Acts on processes and git. It may be run again after a kill, and looks first at what is there.
pub(crate) type Acting =
    for<'a> fn(&'a Engine, &'a Stepping, &'a CancellationToken) -> BoxFuture<'a, Result<End>>;

/// How a step is run.
pub(crate) enum Run {
    Instant(Instant),
    Acting(Acting),
}

/// A step as the runner needs to know it.
pub(crate) struct StepSpec {
    pub run: Run,
    /// Whether it changes files of the worktree, so that nobody else may meanwhile.
    pub locks_workspace: fn(&Stepping) -> bool,
}

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

/// The entry of a step.
pub(crate) fn spec_of(step: &StepRow) -> StepSpec {
    match step.kind {
        StepKind::UndoWindow => instant(|_, _, _, _| Box::pin(async { Ok(End::ok()) })),
        StepKind::ClearBarrier => instant(|engine, tx, s, _| {
            Box::pin(async move {
                s.task.entry_barrier = None;
                tasks::update(tx, &mut s.task, engine.now()).await?;
                Ok(End::ok())
            })
        }),
        StepKind::Admit => instant(|engine, tx, s, effects| Box::pin(engine.admit(tx, s, effects))),
        StepKind::Restart => instant(|engine, tx, s, effects| Box::pin(engine.restart(tx, s, effects))),
        StepKind::FollowUp => {
            instant(|engine, tx, s, effects| Box::pin(engine.follow_up_now(tx, s, effects)))
        }
        StepKind::PrepareWorkspace => {
            acting(|engine, s, cancel| Box::pin(engine.prepare_workspace(s, cancel)))
        }
        // A hook that nobody waits for runs beside the agent, on purpose.
        StepKind::Hook => {
            locking(|s| is_blocking(&s.step), |engine, s, cancel| Box::pin(engine.run_hook(s, cancel)))
        }
        StepKind::CommitWork => locking(ALWAYS, |engine, s, _| Box::pin(engine.commit_work(s))),
        StepKind::Capture => locking(ALWAYS, |engine, s, cancel| Box::pin(engine.capture(s, cancel))),
        StepKind::Advance => locking(is_at_gate, |engine, s, cancel| Box::pin(engine.advance(s, cancel))),
        StepKind::BlockDependents => acting(|engine, s, _| Box::pin(engine.block_dependents(s))),
        StepKind::Race => acting(|engine, s, _| Box::pin(engine.run_race(s))),
        StepKind::Promote => acting(|engine, s, _| Box::pin(engine.promote(s))),
        StepKind::EndRace => {
            locking(|s| accepts(&s.step), |engine, s, cancel| Box::pin(engine.end_race(s, cancel)))
        }
        StepKind::VerifyFix => locking(ALWAYS, |engine, s, cancel| Box::pin(engine.verify_fix(s, cancel))),
        StepKind::Debrief => acting(|engine, s, _| {
            Box::pin(async move { engine.or_not_kept(engine.debrief_task(s).await).await })
        }),
        StepKind::Cleanup => acting(|engine, s, _| Box::pin(engine.clean_up_now(s))),
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
        Action::RunCiSteps => locking(ALWAYS, |engine, s, cancel| Box::pin(engine.run_checks(s, cancel))),
        Action::RunMerge => acting(|engine, s, cancel| match s.context.project.work_mode {
            WorkMode::PullRequest => Box::pin(engine.run_pull_request(s, cancel)),
            WorkMode::DirectCommit => Box::pin(engine.run_merge(s, cancel)),
        }),
        // What is to be learned holds nobody up, unless its hook says so.
        Action::KnowledgeInject => acting(|engine, s, _| {
            Box::pin(async move { engine.or_not_kept(engine.inject_knowledge(s).await).await })
        }),
        Action::KnowledgeCapture => acting(|engine, s, _| {
            Box::pin(async move { engine.or_not_kept(engine.capture_knowledge(s).await).await })
        }),
        Action::CleanupWorkspaceNow => acting(|engine, s, _| Box::pin(engine.clean_up_now(s))),
        Action::ScheduleWorkspaceCleanup => acting(|engine, s, _| Box::pin(engine.schedule_cleanup(s))),
        Action::RunBeforeWorkHooks => instant(|engine, tx, s, _| Box::pin(engine.announce_hooks(tx, s))),
        Action::DispatchRoleAgent => {
            instant(|engine, tx, s, effects| Box::pin(engine.dispatch(tx, s, effects)))
        }
        Action::CheckRetryBudget => instant(|engine, tx, s, _| Box::pin(engine.show_budget(tx, s))),
        Action::AutoCascadeOnReviewPass => instant(|engine, tx, s, _| Box::pin(engine.decide_review(tx, s))),
        Action::AutoCascadeOnUnassignedRole => {
            instant(|engine, tx, s, _| Box::pin(engine.pass_unassigned(tx, s)))
        }
        Action::AutoCascadeOnMergeResult => instant(|engine, tx, s, _| Box::pin(engine.decide_merge(tx, s))),
        Action::PublishTaskBlocked => instant(|engine, tx, s, _| Box::pin(engine.publish_blocked(tx, s))),
        Action::SatisfyDependents => {
            instant(|engine, tx, s, effects| Box::pin(engine.satisfy_dependents(tx, s, effects)))
        }
        Action::PropagateDoneToSubtasks => {
            instant(|engine, tx, s, effects| Box::pin(engine.close_ordered_children(tx, s, false, effects)))
        }
        Action::CancelPendingSubtasks => {
            instant(|engine, tx, s, effects| Box::pin(engine.close_ordered_children(tx, s, true, effects)))
        }
        Action::DependencyGate
        | Action::RequireCleanWorktree
        | Action::RequirePlanComplete
        | Action::RequireNoConflictMarkers
        | Action::SubtaskSequenceComplete => {
            instant(|_, _, _, _| Box::pin(async { Ok(End::skipped("asked before the move")) }))
        }
    }
}

/// The code of an action that only reads and writes the database; none of one that acts.
pub(crate) fn instant_of(action: Action) -> Option<Instant> {
    match spec_of_action(action).run {
        Run::Instant(run) => Some(run),
        Run::Acting(_) => None,
    }
}

fn is_at_gate(s: &Stepping) -> bool {
    s.context.workflow.state(&s.task.status).is_some_and(|state| state.kind == StateKind::Gate)
}
