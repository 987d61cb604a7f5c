//! The registry: which feature runs each step, which function is each guard, and what features contribute at the
//! moments of a task. Every step kind and action has one entry, so a new one without an entry does not compile.

use forge_model::project::WorkMode;
use forge_model::task::AnnotationType;
use forge_model::transition::StepKind;
use forge_model::workflow::{Action, StateKind};
use forge_store::table::steps::StepRow;
use futures::future::BoxFuture;
use tokio_util::sync::CancellationToken;

#[cfg(feature = "knowledge")]
use crate::knowledge;
#[cfg(feature = "race")]
use crate::race::{self, step::accepts};
#[cfg(feature = "validate")]
use crate::validate;
use crate::{
    Engine,
    core::{
        self,
        block_reason::BlockReason,
        features::{Acting, Contributor, Features, Guard, Instant, Run, StepSpec, Steps},
        step::{End, Stepping},
    },
    cost,
    error::Result,
    hook::{self, is_blocking},
    merge, pull_request, review, run, subtask, trust, workspace,
};
#[cfg(feature = "fix")]
use crate::{core::features::Mending, fix};

/// Everything that the core is given. Contributors are asked in this order.
pub(crate) static FEATURES: Features = Features {
    steps: Steps { of_step: spec_of, of_action: spec_of_action },
    guard: guard_of,
    work: |engine, task, cancel| Box::pin(core::panics::work_guarded(engine, task, cancel)),
    after_work: |engine, task| Box::pin(core::watchdog::watch_over(engine, task)),
    launch: run::launch,
    #[cfg(not(feature = "fix"))]
    mending: None,
    #[cfg(feature = "fix")]
    mending: Some(Mending {
        applied_for: |engine, review| Box::pin(fix::step::applied_for(engine, review)),
        in_place: |engine, s, review, workspace, check, cancel| {
            Box::pin(fix::step::fix_in_place(engine, s, review, workspace, check, cancel))
        },
        settle: |engine, s, workspace, fix, check| {
            Box::pin(fix::step::settle_fix(engine, s, workspace, fix, check))
        },
        plan: |engine, s, review, workspace, check| {
            Box::pin(fix::plan_draft(engine, s, review, workspace, check))
        },
        start: fix::start_draft,
        settle_wanted: |engine, s, of, sent_back, cancel| {
            Box::pin(fix::step::settle_wanted(engine, s, of, sent_back, cancel))
        },
    }),
    #[cfg(not(feature = "validate"))]
    validate: None,
    #[cfg(feature = "validate")]
    validate: Some(|engine, s, review, workspace, gate, index, cancel| {
        Box::pin(validate::gate::run_gate(engine, s, review, workspace, gate, index, cancel))
    }),
    contributors: &[
        Contributor {
            attends: Some(run::running::is_running),
            stop: Some(|engine, task| Box::pin(run::running::stop_run(engine, task))),
            on_panic: Some(|engine, tx, task, error| {
                Box::pin(run::panicked::lose_unstarted(engine, tx, task, error))
            }),
            ..Contributor::NONE
        },
        Contributor {
            on_repository: Some(|engine, context, repo| {
                Box::pin(trust::accepted::recall_accepted(engine, context, repo))
            }),
            ..Contributor::NONE
        },
        Contributor {
            on_leave: Some(|engine, tx, task| Box::pin(cost::record_sample(engine, tx, task))),
            obstacle: Some(|engine, conn, context, task| {
                Box::pin(cost::meter::wait_for_day(engine, conn, context, task))
            }),
            export: Some(|engine| Box::pin(cost::export_new_anomalies(engine))),
            ..Contributor::NONE
        },
        Contributor {
            on_skip: Some(|engine, tx, task| Box::pin(hook::tell_cut_short(engine, tx, task))),
            adds_steps: Some(|tx, entering, list| Box::pin(hook::add_hooks(tx, entering, list))),
            ..Contributor::NONE
        },
        Contributor { wake: Some(merge::queue::wake_merges), ..Contributor::NONE },
        Contributor {
            before_move: Some(|tx, context, task, mv| {
                Box::pin(pull_request::let_go_of_pull_request(tx, context, task, mv))
            }),
            learn_secrets: Some(|engine, context| {
                Box::pin(pull_request::hosts::learn_host_token(engine, context))
            }),
            ..Contributor::NONE
        },
        #[cfg(feature = "race")]
        Contributor {
            takes_over: Some(|tx, entering| Box::pin(race::step::race_steps(tx, entering))),
            on_moved: Some(|engine, tx, moved| Box::pin(race::step::end_race_with(engine, tx, moved))),
            on_idle: Some(|engine, tx, task| Box::pin(race::step::race_goes_on(engine, tx, task))),
            on_action: Some(|engine, tx, task, asked| Box::pin(race::act(engine, tx, task, asked))),
            on_work_set_aside: Some(|_, tx, task| Box::pin(race::forget_winner(tx, task))),
            on_delete: Some(|engine, context, task| {
                Box::pin(race::left::remove_races(engine, context, task))
            }),
            resume: Some(|engine| Box::pin(race::left::plan_forgetting(engine))),
            takes_fix: Some(|engine, actor, task, fix| {
                Box::pin(race::fixes::apply_to_entry(engine, actor, task, fix))
            }),
            ..Contributor::NONE
        },
        #[cfg(feature = "fix")]
        Contributor {
            on_acted: Some(|engine, tx, task| {
                Box::pin(fix::superseded::supersede_race_fixes(engine, tx, task))
            }),
            on_work_set_aside: Some(|engine, tx, task| {
                Box::pin(fix::superseded::supersede_all(engine, tx, task, fix::proposal::SET_ASIDE))
            }),
            on_work_changed: Some(|engine, task| Box::pin(fix::superseded::supersede_fixes(engine, task))),
            recover: Some(|engine| Box::pin(fix::recover_fixes(engine))),
            on_moved: Some(|engine, tx, moved| {
                Box::pin(fix::superseded::supersede_of_closed(engine, tx, moved))
            }),
            ..Contributor::NONE
        },
        #[cfg(feature = "knowledge")]
        Contributor {
            on_run: Some(|engine, tx, context, task, row| {
                Box::pin(knowledge::teaching::record_told(engine, tx, context, task, row))
            }),
            on_review_failed: Some(|engine, tx, task, review| {
                Box::pin(knowledge::postmortem::record_gate_failure(engine, tx, task, review))
            }),
            on_given_up: Some(|engine, tx, task, cause, review| {
                Box::pin(async move {
                    knowledge::postmortem::record_postmortem(engine, tx, task, cause, review).await.map(drop)
                })
            }),
            export: Some(|engine| Box::pin(knowledge::teaching::export_new_debriefs(engine))),
            resume: Some(|engine| {
                Box::pin(async move {
                    knowledge::command::recover_lessons(engine);
                    Ok(())
                })
            }),
            ..Contributor::NONE
        },
        #[cfg(feature = "validate")]
        Contributor { owns_process: Some(validate::is_of_validation), ..Contributor::NONE },
        Contributor {
            on_moved: Some(|engine, tx, moved| Box::pin(subtask::put_turn_back(engine, tx, moved))),
            ..Contributor::NONE
        },
    ],
};

const fn instant(run: Instant) -> StepSpec {
    StepSpec { run: Run::Instant(run), begin: None }
}

const fn acting(run: Acting) -> StepSpec {
    StepSpec { run: Run::Acting(run), begin: None }
}

/// The guard that an action is.
fn guard_of(action: Action) -> Option<Guard> {
    let guard: Guard = match action {
        Action::DependencyGate => {
            |engine, context, task| Box::pin(core::guards::ask_prerequisites(engine, context, task))
        }
        Action::SubtaskSequenceComplete => {
            |engine, context, task| Box::pin(subtask::open_ordered_children(engine, context, task))
        }
        Action::RequireCleanWorktree => {
            |engine, context, task| Box::pin(workspace::guards::uncommitted(engine, context, task))
        }
        Action::RequireNoConflictMarkers => {
            |engine, context, task| Box::pin(workspace::guards::markers(engine, context, task))
        }
        Action::RequirePlanComplete => |engine, _, task| Box::pin(run::plan::missing_plan(engine, task)),
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
        StepKind::UndoWindow => instant(|_, _, _, _| Box::pin(async { Ok(End::ok()) })),
        StepKind::ClearBarrier => instant(|engine, tx, s, _| {
            Box::pin(async move {
                s.task.entry_barrier = None;
                tx.tasks_mut().update(&mut s.task, engine.now()).await?;
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
        StepKind::Hook => StepSpec {
            run: Run::Acting(|engine, s, cancel| {
                let run: Acting = |engine, s, cancel| Box::pin(hook::step::run_hook(engine, s, cancel));
                if is_blocking(&s.step) { locked(engine, s, cancel, run) } else { run(engine, s, cancel) }
            }),
            begin: Some(|engine, tx, step| Box::pin(hook::step::name_log(engine, tx, step))),
        },
        StepKind::CommitWork => acting(|engine, s, cancel| {
            locked(engine, s, cancel, |engine, s, _| Box::pin(run::finish::commit_work(engine, s)))
        }),
        StepKind::Capture => acting(|engine, s, cancel| {
            locked(engine, s, cancel, |engine, s, cancel| {
                Box::pin(review::capture::capture(engine, s, cancel))
            })
        }),
        StepKind::Advance => acting(|engine, s, cancel| {
            let run: Acting = |engine, s, cancel| Box::pin(review::plan_gate::advance(engine, s, cancel));
            if is_at_gate(s) { locked(engine, s, cancel, run) } else { run(engine, s, cancel) }
        }),
        StepKind::BlockDependents => {
            acting(|engine, s, _| Box::pin(subtask::relatives::block_dependents(engine, s)))
        }
        #[cfg(feature = "race")]
        StepKind::Race => acting(|engine, s, _| Box::pin(race::step::run_race(engine, s))),
        #[cfg(feature = "race")]
        StepKind::Promote => acting(|engine, s, _| Box::pin(race::step::promote(engine, s))),
        #[cfg(feature = "race")]
        StepKind::EndRace => acting(|engine, s, cancel| {
            let run: Acting = |engine, s, cancel| Box::pin(race::step::end_race(engine, s, cancel));
            if accepts(&s.step) { locked(engine, s, cancel, run) } else { run(engine, s, cancel) }
        }),
        #[cfg(feature = "fix")]
        StepKind::VerifyFix => acting(|engine, s, cancel| {
            locked(engine, s, cancel, |engine, s, cancel| Box::pin(fix::step::verify_fix(engine, s, cancel)))
        }),
        #[cfg(feature = "knowledge")]
        StepKind::Debrief => acting(|engine, s, _| {
            Box::pin(async move {
                core::runner::or_not_kept(engine, knowledge::debrief::debrief_task(engine, s).await).await
            })
        }),
        #[cfg(not(feature = "race"))]
        StepKind::Race | StepKind::Promote | StepKind::EndRace => core::features::NOTHING,
        #[cfg(not(feature = "fix"))]
        StepKind::VerifyFix => core::features::NOTHING,
        #[cfg(not(feature = "knowledge"))]
        StepKind::Debrief => core::features::NOTHING,
        StepKind::Cleanup => acting(|engine, s, _| Box::pin(workspace::cleanup::clean_up_now(engine, s))),
        StepKind::Action => match step.action {
            Some(action) => spec_of_action(action),
            None => instant(|_, _, _, _| {
                let trouble = BlockReason::new(AnnotationType::RecoveryRequired, "the step has no action");
                Box::pin(async { Ok(End::Block(trouble)) })
            }),
        },
    }
}

fn spec_of_action(action: Action) -> StepSpec {
    match action {
        Action::RunCiSteps => acting(|engine, s, cancel| {
            locked(engine, s, cancel, |engine, s, cancel| {
                Box::pin(review::checks::run_checks(engine, s, cancel))
            })
        }),
        Action::RunMerge => acting(|engine, s, cancel| match s.context.project.work_mode {
            WorkMode::PullRequest => Box::pin(pull_request::step::run_pull_request(engine, s, cancel)),
            WorkMode::DirectCommit => Box::pin(merge::step::run_merge(engine, s, cancel)),
        }),
        // What is to be learned holds nobody up, unless its hook says so.
        #[cfg(feature = "knowledge")]
        Action::KnowledgeInject => acting(|engine, s, _| {
            Box::pin(async move {
                core::runner::or_not_kept(engine, knowledge::step::inject_knowledge(engine, s).await).await
            })
        }),
        #[cfg(feature = "knowledge")]
        Action::KnowledgeCapture => acting(|engine, s, _| {
            Box::pin(async move {
                core::runner::or_not_kept(engine, knowledge::step::capture_knowledge(engine, s).await).await
            })
        }),
        #[cfg(not(feature = "knowledge"))]
        Action::KnowledgeInject | Action::KnowledgeCapture => core::features::NOTHING,
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

/// A step that changes files of the worktree, so that nobody else may meanwhile.
fn locked<'a>(
    engine: &'a Engine,
    s: &'a Stepping,
    cancel: &'a CancellationToken,
    run: Acting,
) -> BoxFuture<'a, Result<End>> {
    Box::pin(core::worktree_lock::run_locked(engine, s, cancel, run))
}

fn is_at_gate(s: &Stepping) -> bool {
    s.context.workflow.state(&s.task.status).is_some_and(|state| state.kind == StateKind::Gate)
}
