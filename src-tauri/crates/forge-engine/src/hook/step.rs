//! Running one lifecycle hook: a script of the project's shell, or a built-in action.
//!
//! A script is started at most once; one that was running when its worker went is recorded as interrupted and not
//! run again. A hook's failure changes nothing but its own record, unless the hook is blocking: then the task stays
//! behind the barrier. Every run, also a skipped one, leaves a log whose last entry is its record.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use async_trait::async_trait;
use forge_agents::{LogReader, LogWriter, log::DEFAULT_CAP_BYTES};
use forge_exec::HeadTail;
use forge_model::hook::{HookRun, HookStatus, LifecycleHook, PluginHook, ScriptHook};
use forge_model::ids::TaskId;
use forge_model::log::EntryKind;
use forge_model::redact::Redactor;
use forge_model::task::{AnnotationType, Evidence, HolderKind};
use forge_model::transition::{StepOutcome, StepStatus};
use forge_model::workflow::{Action, LifecycleEvent, State, StateKind};
use forge_model::workspace::{Workspace, WorkspaceStatus};
use forge_store::Tx;
use forge_store::table::steps::StepRow;
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::{
    EngineError, World,
    core::{
        self,
        block_reason::BlockReason,
        context::ProjectContext,
        world::{
            cx::Cx,
            features::Run,
            step::{Effect, End, Finding, Stepping},
        },
    },
    error::Result,
    hook::{
        HookStep, is_blocking,
        script::{HookFacts, ScriptRun},
    },
    program,
};

/// How much of a script's output stands in the annotation; the whole is in its log.
const SUMMARY_BYTES: usize = 4096;
/// How much of a command stands in a sentence.
const COMMAND_CHARS: usize = 80;

/// Gives the run of a hook that is about to begin the name of its log.
pub(crate) async fn name_log(world: &World, tx: &mut Tx, step: &mut StepRow) -> Result<()> {
    if step.log_id.is_some() {
        return Ok(());
    }
    let hook = HookStep::of(step)?;
    let mut at = world.now().0;
    loop {
        let name = format!("hook-{}-{}-{at}", hook.event, hook.index);
        if !tx.steps().has_log(&name).await? {
            step.log_id = Some(name);
            return Ok(());
        }
        at += 1;
    }
}

/// Says which hooks run behind the barrier; they are steps of their own.
pub(crate) async fn announce_hooks(tx: &mut Tx, s: &Stepping) -> Result<End> {
    if s.context.workflow.state(&s.task.status).is_none_or(|state| state.kind != StateKind::Active) {
        return Ok(End::skipped("before_work hooks run in active states"));
    }
    let open = tx.steps().open(&s.task.id).await?;
    let blocking = open.iter().filter(|step| is_blocking(step)).count();
    let hooks = s.context.settings.lifecycle_hooks.before_work.len();
    Ok(match (hooks, blocking) {
        (0, 0) => End::skipped("no before_work hooks are configured"),
        (_, 0) => End::skipped("no before_work hook is blocking"),
        (_, 1) => End::Ok(Some("one hook must pass".to_owned())),
        (_, more) => End::Ok(Some(format!("{more} hooks must pass"))),
    })
}

pub(crate) async fn run_hook(world: &World, s: &Stepping, cancel: &CancellationToken) -> Result<End> {
    let step = HookStep::of(&s.step)?;
    let log_id = s.step.log_id.clone().unwrap_or_default();
    let dir = world.log_dir(&s.task.project_id, &s.task.id);
    let blank = blank_run(world, &step, s.step.started_at);
    match step.hook.clone() {
        LifecycleHook::Script(_) if s.step.runs > 1 => {
            let run = HookRun {
                status: HookStatus::Interrupted,
                error: Some("interrupted: Forge stopped or the task moved while it ran".to_owned()),
                ..blank
            };
            close_with_record(&dir, &log_id, &run, core::redaction::redactor_in(world, &s.context)).await?;
            Ok(ran(run, None))
        }
        LifecycleHook::Script(script) => {
            let run = match run_hook_script(world, s, &step, &script, blank.clone(), cancel).await {
                // The script has not been begun: that waits for the disk.
                Err(error) if core::disk::passes_with_storage(world, &error).await => return Err(error),
                // The task waits for a person's word, and its hook with it.
                Err(error @ EngineError::TrustRequired(_)) if is_blocking(&s.step) => return Err(error),
                Ok(run) => run,
                // A hook's trouble is the hook's own, whatever it is.
                Err(error) => HookRun {
                    status: HookStatus::Failed,
                    error: Some(format!("could not be run: {error}")),
                    ..blank
                },
            };
            world.point("hook.ran");
            if run.status == HookStatus::Interrupted && is_blocking(&s.step) {
                return Ok(End::Interrupted);
            }
            Ok(ran(run, None))
        }
        LifecycleHook::Plugin(plugin) => {
            let (run, found) = run_hook_plugin(world, s, &step, &plugin, blank, cancel).await?;
            close_with_record(&dir, &log_id, &run, core::redaction::redactor_in(world, &s.context)).await?;
            Ok(ran(run, found))
        }
    }
}

/// The end of a hook's step: its run, and what its plugin found.
struct Ran {
    run: HookRun,
    found: Option<Arc<dyn Finding>>,
}

fn ran(run: HookRun, found: Option<Arc<dyn Finding>>) -> End {
    End::Found(Arc::new(Ran { run, found }))
}

#[async_trait]
impl Finding for Ran {
    async fn decide(
        &self,
        world: &World,
        tx: &mut Tx,
        s: &mut Stepping,
        effects: &mut Vec<Effect>,
    ) -> Result<End> {
        if let Some(found) = &self.found {
            found.decide(world, tx, s, effects).await?;
        }
        record_hook(world, tx, s, &self.run, effects).await.map(End::Written)
    }
}

fn blank_run(world: &World, step: &HookStep, at: Option<forge_model::time::Timestamp>) -> HookRun {
    HookRun {
        event: step.event,
        index: step.index,
        kind: step.hook.kind().to_owned(),
        command: step.hook.command().to_owned(),
        status: HookStatus::Ok,
        exit_code: None,
        stdout: String::new(),
        stderr: String::new(),
        duration_ms: 0,
        error: None,
        at: at.unwrap_or_else(|| world.now()),
    }
}

async fn run_hook_script(
    world: &World,
    s: &Stepping,
    step: &HookStep,
    script: &ScriptHook,
    blank: HookRun,
    cancel: &CancellationToken,
) -> Result<HookRun> {
    let (workspace, facts) = facts_of_hook(world, s, step).await?;
    super::script::require_trust_of_script(world, &s.context, Some(&s.task), workspace.as_ref()).await?;
    let Some(location) = core::location::location_of(world, workspace.as_ref(), cancel).await? else {
        return Ok(super::script::interrupted(blank));
    };
    let environment = core::environment::command_environment(world, &s.context, location.login()).await?;
    let log_id = s.step.log_id.clone().unwrap_or_default();
    let dir = world.log_dir(&s.task.project_id, &s.task.id);
    // From here on nothing fails for want of space: a script is begun at most once.
    let open = || async { open_log(&dir, &log_id, Arc::clone(environment.redactor())) };
    let log = core::disk::with_patience_until(world, cancel, open).await?;
    let follow = program::log::follow_log(world, &s.task.project_id, Some(&s.task.id), &log_id, &log);
    let run = super::script::run_script(
        world,
        ScriptRun {
            owner: &s.task.id,
            script,
            context: &s.context,
            workspace: workspace.as_ref(),
            environment,
            cwd: super::script::located(
                &location,
                workspace.as_ref(),
                &working_dir(&s.context, workspace.as_ref()),
            ),
            location,
            env: super::script::hook_env(world, &s.context, Some(&s.task), workspace.as_ref(), &facts),
            log: &log,
            log_id: &log_id,
        },
        blank,
        cancel,
    )
    .await;
    log.append(EntryKind::HookRun, "", record_of(&run)?);
    drop(follow);
    program::log::close_log(world, log).await?;
    Ok(run)
}

/// The worktree that a hook runs in, and what it is told besides the task.
async fn facts_of_hook(
    world: &World,
    s: &Stepping,
    step: &HookStep,
) -> Result<(Option<Workspace>, HookFacts)> {
    let mut conn = world.store().read().await?;
    let workspace = usable(conn.workspaces().last(&s.task.id).await?);
    let agent = match &step.agent {
        Some(agent) => Some(agent.clone()),
        None => {
            let state = s.context.workflow.state(&step.status);
            let role = state.and_then(|state| state.role.as_deref()).or(s.context.work_role());
            let holder = conn.roles().holder(&s.task.id, role.unwrap_or_default()).await?;
            holder.filter(|holder| holder.kind == HolderKind::Agent).and_then(|holder| holder.id)
        }
    };
    let execution = match &step.execution {
        Some(execution) => Some(execution.clone()),
        None if step.event == LifecycleEvent::BeforeWork => {
            let open = conn.executions().open(Some(std::slice::from_ref(&s.task.id))).await?;
            open.first().map(|run| run.execution.id.clone())
        }
        None => None,
    };
    let facts = HookFacts {
        event: step.event,
        status: step.status.clone(),
        previous: step.previous.clone(),
        agent,
        execution,
    };
    Ok((workspace, facts))
}

async fn run_hook_plugin(
    world: &World,
    s: &Stepping,
    step: &HookStep,
    plugin: &PluginHook,
    blank: HookRun,
    cancel: &CancellationToken,
) -> Result<(HookRun, Option<Arc<dyn Finding>>)> {
    let begun = world.now();
    let end = match reason_to_skip(s, step, plugin) {
        Some(reason) => End::skipped(reason),
        None => match act_as_plugin(world, s, plugin.name, cancel).await {
            Ok(end) => end,
            Err(error) if core::disk::passes_with_storage(world, &error).await => return Err(error),
            Err(error) => End::Failed(BlockReason::new(AnnotationType::RecoveryRequired, error.to_string())),
        },
    };
    let (found, end) = match end {
        End::Found(found) => match found.end().cloned() {
            Some(end) => (Some(found), end),
            None => (None, End::Found(found)),
        },
        end => (None, end),
    };
    let (status, error, said) = match end {
        End::Ok(remark) => (HookStatus::Ok, None, remark.unwrap_or_default()),
        End::Skipped(reason) => (HookStatus::Skipped, Some(reason), String::new()),
        End::Failed(trouble) | End::Block(trouble) => {
            (HookStatus::Failed, Some(trouble.message), String::new())
        }
        End::Go(_) | End::Wait(_) | End::Interrupted | End::Found(_) | End::Written(_) => {
            let reason = format!("{} has nothing to do at {}", plugin.name, step.event);
            (HookStatus::Skipped, Some(reason), String::new())
        }
    };
    let duration_ms = u64::try_from(world.now().since(begun)).unwrap_or_default();
    Ok((HookRun { status, error, stdout: said, duration_ms, ..blank }, found))
}

/// Runs the code of a workflow action. Each may be run again after a kill.
async fn act_as_plugin(
    world: &World,
    s: &Stepping,
    action: Action,
    cancel: &CancellationToken,
) -> Result<End> {
    match action {
        Action::CleanupWorkspaceNow
        | Action::ScheduleWorkspaceCleanup
        | Action::KnowledgeInject
        | Action::KnowledgeCapture => {
            if let Run::Acting(run) = (world.features().steps.of_action)(action).run {
                return run(world, s, cancel).await;
            }
        }
        Action::CheckRetryBudget
        | Action::SatisfyDependents
        | Action::PropagateDoneToSubtasks
        | Action::CancelPendingSubtasks
        | Action::PublishTaskBlocked
        | Action::DependencyGate
        | Action::RequireCleanWorktree
        | Action::RequirePlanComplete
        | Action::RequireNoConflictMarkers
        | Action::SubtaskSequenceComplete
        | Action::RunBeforeWorkHooks
        | Action::RunCiSteps
        | Action::DispatchRoleAgent
        | Action::RunMerge
        | Action::AutoCascadeOnReviewPass
        | Action::AutoCascadeOnUnassignedRole
        | Action::AutoCascadeOnMergeResult => {}
    }
    let mut effects = Vec::new();
    let mut tx = world.store().write().await?;
    let task = tx.tasks().get(&s.task.id).await?;
    let Some(task) = task else { return Ok(End::skipped("the task was deleted")) };
    let mut fresh = Stepping {
        step: s.step.clone(),
        task,
        context: Arc::clone(&s.context),
        transition: s.transition.clone(),
    };
    let end = core::instant::run_instant_action(world, &mut tx, &mut fresh, action, &mut effects).await?;
    tx.commit().await?;
    core::follow::act(world, effects);
    Ok(end)
}

/// Writes how a hook's run ended. Says whether to go on with the task's next step.
async fn record_hook(
    world: &World,
    tx: &mut Tx,
    s: &mut Stepping,
    run: &HookRun,
    effects: &mut Vec<Effect>,
) -> Result<bool> {
    let Stepping { step, task, context, .. } = s;
    let failed = match run.status {
        HookStatus::Ok | HookStatus::Skipped => false,
        HookStatus::Failed | HookStatus::TimedOut | HookStatus::Interrupted => true,
    };
    step.status = StepStatus::Done;
    step.outcome = Some(match run.status {
        HookStatus::Ok => StepOutcome::Ok,
        HookStatus::Skipped => StepOutcome::Skipped,
        HookStatus::Failed | HookStatus::TimedOut | HookStatus::Interrupted => StepOutcome::Failed,
    });
    let remark = Some(run.stdout.clone()).filter(|said| run.kind == "plugin" && !said.is_empty());
    step.reason = run.error.clone().or(remark);
    step.finished_at = Some(world.now());
    tx.steps_mut().update(step).await?;
    if run.status != HookStatus::Skipped {
        super::emit_hook_run(&mut Cx::of(world, tx), task, step, run.status).await?;
    }
    if failed && is_blocking(step) {
        let trouble = block_reason_of(step, run)?;
        return core::outcome::stay_behind_barrier(world, tx, context, task, step, trouble, effects).await;
    }
    let facts = json!({ "step": core::world::step::name_of(step), "outcome": step.outcome });
    world.emit(tx, forge_model::event::EventType::TaskUpdated, task, task.id.as_str(), &facts).await?;
    Ok(true)
}

/// Why a plugin has nothing to do, by its configuration and by what became of the task.
fn reason_to_skip(s: &Stepping, step: &HookStep, plugin: &PluginHook) -> Option<String> {
    if !plugin.name.lifecycle_events().contains(&step.event) {
        return Some("unsupported_event".to_owned());
    }
    if !plugin.enabled {
        return Some("it is off".to_owned());
    }
    let state = s.context.workflow.state(&s.task.status);
    match step.event {
        LifecycleEvent::OnTaskDone | LifecycleEvent::OnTaskCancel => {
            let open = !state.is_some_and(State::is_terminal);
            open.then(|| "the task was reopened".to_owned())
        }
        LifecycleEvent::OnWorkStop => {
            let blocked = state.is_some_and(|state| state.kind == StateKind::Blocked)
                || s.task.error_annotation.is_some();
            (plugin.name == Action::PublishTaskBlocked && !blocked)
                .then(|| "the task is not blocked".to_owned())
        }
        LifecycleEvent::BeforeWork | LifecycleEvent::OnWorkStart => None,
    }
}

/// What a person reads about a blocking hook that did not pass.
fn block_reason_of(step: &StepRow, run: &HookRun) -> Result<BlockReason> {
    let hook = HookStep::of(step)?;
    let kind = match run.status {
        HookStatus::TimedOut => AnnotationType::BeforeWorkHookTimeout,
        HookStatus::Ok | HookStatus::Failed | HookStatus::Skipped | HookStatus::Interrupted => {
            AnnotationType::BeforeWorkHookFailed
        }
    };
    let why = run.error.as_deref().unwrap_or("failed");
    let command: String =
        run.command.lines().next().unwrap_or_default().chars().take(COMMAND_CHARS).collect();
    let mut trouble =
        BlockReason::new(kind, format!("before_work hook {} `{command}`: {why}", run.index + 1));
    let mut output = HeadTail::new(SUMMARY_BYTES);
    output.push(forge_exec::Stream::Stdout, run.stdout.as_bytes());
    output.push(forge_exec::Stream::Stderr, run.stderr.as_bytes());
    let output = output.into_strings();
    trouble.details = json!({
        "status": run.status, "duration_ms": run.duration_ms, "stdout": output.stdout, "stderr": output.stderr,
    });
    trouble.evidence = Some(Evidence {
        command: Some(run.command.clone()),
        exit_code: run.exit_code,
        output: [output.stdout.trim_end(), output.stderr.trim_end()].join("\n").trim().to_owned(),
        log_id: step.log_id.clone(),
    });
    trouble.hook = Some(hook.reference());
    Ok(trouble)
}

/// A worktree that a script can run in.
pub(crate) fn usable(workspace: Option<Workspace>) -> Option<Workspace> {
    workspace.filter(|workspace| {
        let made = match workspace.status {
            WorkspaceStatus::Active | WorkspaceStatus::Scheduled | WorkspaceStatus::Error => true,
            WorkspaceStatus::Creating | WorkspaceStatus::Cleaned => false,
        };
        made && Path::new(&workspace.path).is_dir()
    })
}

/// The worktree, or the repository when there is none.
pub(crate) fn working_dir(context: &ProjectContext, workspace: Option<&Workspace>) -> PathBuf {
    workspace
        .map_or_else(|| PathBuf::from(&context.project.repo_path), |workspace| PathBuf::from(&workspace.path))
}

pub(crate) fn open_log(dir: &Path, log_id: &str, redactor: Arc<Redactor>) -> Result<LogWriter> {
    Ok(LogWriter::open(dir, log_id, log_id, DEFAULT_CAP_BYTES, redactor)?)
}

pub(crate) fn record_of(run: &HookRun) -> Result<serde_json::Value> {
    serde_json::to_value(run).map_err(|error| EngineError::io("write a hook's record")(error.into()))
}

/// Ends a log with the record of its run, unless it is there already.
async fn close_with_record(dir: &Path, log_id: &str, run: &HookRun, redactor: Arc<Redactor>) -> Result<()> {
    let (dir, log_id, record) = (dir.to_owned(), log_id.to_owned(), record_of(run)?);
    let written = tokio::task::spawn_blocking(move || -> Result<()> {
        let log = open_log(&dir, &log_id, redactor)?;
        let last = LogReader::page(&dir, &log_id, None, None, 1).map(|page| page.entries);
        let has_record = last.is_ok_and(|last| last.iter().any(|entry| entry.kind == EntryKind::HookRun));
        if !has_record {
            log.append(EntryKind::HookRun, "", record);
        }
        log.close();
        Ok(())
    });
    written.await.map_err(|error| EngineError::io("write a log")(std::io::Error::other(error)))?
}

/// Who a test of a hook without a task runs for.
pub(crate) fn nobody() -> TaskId {
    TaskId(String::new())
}
