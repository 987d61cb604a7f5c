//! What a person does about lifecycle hooks: testing one apart from any move, and continuing after a blocking one
//! failed.

use std::path::{Path, PathBuf};

use forge_agents::LogReader;
use forge_model::hook::{HookRun, HookStatus, HookTest, LifecycleHook, PluginHook, ScriptHook};
use forge_model::ids::{ProjectId, TaskId};
use forge_model::log::{EntryKind, LogPage};
use forge_model::task::{EntryBarrier, HolderKind};
use forge_model::transition::{StepKind, StepOutcome, StepStatus};
use forge_model::workflow::{LifecycleEvent, Phase};
use forge_store::Tx;
use forge_store::table::{steps::StepRow, tasks::TaskRow};
use serde_json::json;

use crate::{
    ConflictCode, EngineError, World,
    core::{
        self, context::ProjectContext, environment::ProgramEnvironment, location::Location,
        world::step::BEHIND_BARRIER,
    },
    error::Result,
    hook::{
        HookStep, SkippedOnce, is_blocking,
        script::{HookFacts, ScriptRun},
        step::{nobody, open_log, record_of, usable, working_dir},
    },
    program::{self, log::page_of},
};

/// The folder of the logs of hooks that were tested without a task, beside those of tasks.
pub(crate) const HOOK_TESTS: &str = "_hooks";
/// What the log of a test is called.
const TEST_LOG_PREFIX: &str = "hook-test-";
const MAX_LOG_ID: usize = 80;

/// A hook to be tried.
#[derive(Debug, Clone)]
pub struct HookTestRequest {
    /// The task whose worktree and facts it gets; none for the repository itself.
    pub task_id: Option<TaskId>,
    /// The event.
    pub event: LifecycleEvent,
    /// Its place in the event's list.
    pub index: u32,
    /// The hook itself, when it is not saved yet; else the one at that place.
    pub hook: Option<LifecycleHook>,
    /// The name of its log, chosen by the caller who wants to follow it; made up when absent.
    pub log_id: Option<String>,
}

/// Everything a test needs, read in one go.
struct Trial {
    context: std::sync::Arc<ProjectContext>,
    task: Option<TaskRow>,
    workspace: Option<forge_model::workspace::Workspace>,
    facts: HookFacts,
    hook: LifecycleHook,
    log_dir: PathBuf,
    log_id: String,
}

/// Runs a hook with the environment, the time limit and the capture of a real run. Nothing is moved and
/// no agent is started; a plugin says what it would do.
pub(crate) async fn test_hook(
    world: &World,
    project: &ProjectId,
    request: HookTestRequest,
) -> Result<HookTest> {
    let index = request.index;
    let trial = prepare_trial(world, project, request).await?;
    let blank = HookRun {
        event: trial.facts.event,
        index,
        kind: trial.hook.kind().to_owned(),
        command: trial.hook.command().to_owned(),
        status: HookStatus::Ok,
        exit_code: None,
        stdout: String::new(),
        stderr: String::new(),
        duration_ms: 0,
        error: None,
        at: world.now(),
    };
    if matches!(trial.hook, LifecycleHook::Script(_)) {
        super::script::require_trust_of_script(
            world,
            &trial.context,
            trial.task.as_ref(),
            trial.workspace.as_ref(),
        )
        .await?;
    }
    let environment = super::script::hook_env(
        world,
        &trial.context,
        trial.task.as_ref(),
        trial.workspace.as_ref(),
        &trial.facts,
    );
    let stop = world.inner.shutdown.child_token();
    let located = core::location::location_of(world, trial.workspace.as_ref(), &stop).await?;
    let location = located.ok_or_else(core::location::stopping)?;
    let cwd = working_dir(&trial.context, trial.workspace.as_ref());
    let cwd = super::script::located(&location, trial.workspace.as_ref(), &cwd);
    let inherited = core::environment::command_environment(world, &trial.context, location.login()).await?;
    let log = open_log(&trial.log_dir, &trial.log_id, std::sync::Arc::clone(inherited.redactor()))?;
    let task = trial.task.as_ref().map(|task| &task.id);
    let follow = program::log::follow_log(world, project, task, &trial.log_id, &log);
    let run = match &trial.hook {
        LifecycleHook::Plugin(plugin) => plugin_trial(plugin, blank),
        LifecycleHook::Script(script) => {
            let env = (inherited, environment.clone());
            try_script(world, &trial, script, (cwd.clone(), location), env, &log, blank).await
        }
    };
    log.append(EntryKind::HookRun, "", record_of(&run)?);
    drop(follow);
    program::log::close_log(world, log).await?;
    Ok(HookTest {
        status: run.status,
        exit_code: run.exit_code,
        stdout: run.stdout,
        stderr: run.stderr,
        duration_ms: run.duration_ms,
        timed_out: run.status == HookStatus::TimedOut,
        working_dir: cwd.to_string_lossy().into_owned(),
        environment,
        log_path: trial.log_dir.join(format!("{}.jsonl", trial.log_id)).to_string_lossy().into_owned(),
        log_id: trial.log_id,
        error: run.error,
    })
}

/// A stretch of the log of a hook that is tested, or was, in the repository itself; empty while it has none.
pub(crate) async fn hook_test_log(
    world: &World,
    project: &ProjectId,
    log_id: String,
    after: Option<u64>,
    before: Option<u64>,
    limit: usize,
) -> Result<LogPage> {
    let log_id = checked_log_id(log_id)?;
    core::contexts::context(world, &mut *world.store().read().await?, project).await?;
    page_of(hook_test_dir(world, project), log_id, after, before, limit).await
}

/// The folder with the log of a test of a hook, of whichever task or project: the latest, where several were
/// given one name.
pub(crate) async fn dir_of_test_log(world: &World, log_id: &str) -> Result<Option<PathBuf>> {
    let Ok(log_id) = checked_log_id(log_id.to_owned()) else { return Ok(None) };
    let logs = world.inner.config.data_dir.join("logs");
    let found = tokio::task::spawn_blocking(move || latest_dir_with(&logs, &log_id)).await;
    found.map_err(std::io::Error::other).flatten().map_err(EngineError::io("look for a log"))
}

fn hook_test_dir(world: &World, project: &ProjectId) -> PathBuf {
    world.inner.config.data_dir.join("logs").join(project.as_str()).join(HOOK_TESTS)
}

async fn try_script(
    world: &World,
    trial: &Trial,
    script: &ScriptHook,
    (cwd, location): (PathBuf, Location),
    (environment, env): (ProgramEnvironment, std::collections::BTreeMap<String, String>),
    log: &forge_agents::LogWriter,
    blank: HookRun,
) -> HookRun {
    let owner = trial.task.as_ref().map_or_else(nobody, |task| task.id.clone());
    let run = ScriptRun {
        owner: &owner,
        script,
        context: &trial.context,
        workspace: trial.workspace.as_ref(),
        environment,
        cwd,
        location,
        env,
        log,
        log_id: &trial.log_id,
    };
    super::script::run_script(world, run, blank, &world.inner.shutdown.child_token()).await
}

async fn prepare_trial(world: &World, project: &ProjectId, request: HookTestRequest) -> Result<Trial> {
    let HookTestRequest { task_id, event, index, hook, log_id } = request;
    let mut conn = world.store().read().await?;
    let context = core::contexts::context(world, &mut conn, project).await?;
    let hook = match hook {
        Some(hook) => hook,
        None => {
            let saved = context.settings.lifecycle_hooks.of(event);
            let place = usize::try_from(index).unwrap_or(usize::MAX);
            saved.get(place).cloned().ok_or_else(|| {
                let count = forge_model::words::counted(saved.len() as u64, "hook", "hooks");
                let message = match saved.len() {
                    0 => format!("`{event}` has no hooks"),
                    _ => format!("`{event}` has {count}, counted from 0"),
                };
                EngineError::invalid("hook_index", message)
            })?
        }
    };
    check_hook(event, &hook)?;
    let log_id = match log_id {
        Some(log_id) => checked_log_id(log_id)?,
        None => format!("{TEST_LOG_PREFIX}{event}-{index}-{}", world.now().0),
    };
    let mut facts =
        HookFacts { event, status: String::new(), previous: String::new(), agent: None, execution: None };
    let (mut task, mut workspace) = (None, None);
    let mut log_dir = hook_test_dir(world, project);
    if let Some(id) = task_id {
        let (row, _) = core::load::load(world, &mut conn, &id, None).await?;
        if row.project_id != *project {
            return Err(EngineError::invalid("task_id", "belongs to another project"));
        }
        log_dir = world.log_dir(project, &id);
        workspace = usable(conn.workspaces().last(&id).await?);
        let role = context.work_role().unwrap_or_default();
        let holder = conn.roles().holder(&id, role).await?;
        facts.agent = holder.filter(|holder| holder.kind == HolderKind::Agent).and_then(|holder| holder.id);
        facts.status.clone_from(&row.status);
        facts.previous = conn.transitions().last(&id).await?.map(|last| last.from).unwrap_or_default();
        if event != LifecycleEvent::BeforeWork {
            facts.execution = conn.executions().last(&id).await?.map(|row| row.execution.id);
        }
        task = Some(row);
    }
    Ok(Trial { context, task, workspace, facts, hook, log_dir, log_id })
}

/// Goes on behind a barrier that a blocking hook kept shut: that hook again, or not this once, then what
/// was still to come. What passed before it is not run again.
pub(crate) async fn go_on_behind_barrier(
    world: &World,
    tx: &mut Tx,
    context: &ProjectContext,
    task: &mut TaskRow,
    skipped: Option<SkippedOnce>,
) -> Result<()> {
    let all = tx.steps().list(&task.id).await?;
    let failed = all
        .iter()
        .rposition(|step| is_blocking(step) && step.outcome == Some(StepOutcome::Failed))
        .ok_or_else(|| EngineError::conflict(ConflictCode::NothingToContinue, "no hook blocks the task"))?;
    let (before, after) = all.split_at(failed + 1);
    let failed = before.last().ok_or_else(|| EngineError::not_found("step of task", &task.id))?;
    let mut list: Vec<StepRow> = Vec::new();
    for kind in [StepKind::Admit, StepKind::PrepareWorkspace] {
        let first =
            before.iter().rfind(|step| step.kind == kind && step.transition_seq == failed.transition_seq);
        list.extend(first.map(again));
    }
    list.push(hook_again(world, context, failed, skipped)?);
    list.extend(
        after
            .iter()
            .filter(|step| {
                step.outcome == Some(StepOutcome::Skipped) && step.reason.as_deref() == Some(BEHIND_BARRIER)
            })
            .map(again),
    );
    if !list.iter().any(|step| step.kind == StepKind::ClearBarrier) {
        // The barrier itself is among what was still to come, whatever else is.
        let mut clear =
            StepRow::pending(&task.id, &task.status, StepKind::ClearBarrier, Phase::BeforeEnter.as_str());
        clear.transition_seq = failed.transition_seq;
        list.push(clear);
    }
    for mut step in list {
        tx.steps_mut().insert(&mut step).await?;
    }
    let now = world.now();
    task.entry_barrier = Some(EntryBarrier { state: task.status.clone(), since: now });
    task.error_annotation = None;
    task.waiting = None;
    tx.tasks_mut().update(task, now).await?;
    let facts = json!({ "hook": HookStep::of(failed)?.reference() });
    world.emit(tx, forge_model::event::EventType::TaskUnblocked, task, task.id.as_str(), &facts).await
}

/// The hook that failed as it is to run now, or the record that it does not.
fn hook_again(
    world: &World,
    context: &ProjectContext,
    failed: &StepRow,
    skipped: Option<SkippedOnce>,
) -> Result<StepRow> {
    let mut hook = HookStep::of(failed)?;
    let mut step = again(failed);
    let now = world.now();
    let mut done = |reason: String| {
        step.status = StepStatus::Done;
        step.outcome = Some(StepOutcome::Skipped);
        step.reason = Some(reason);
        (step.started_at, step.finished_at) = (Some(now), Some(now));
    };
    if let Some(skipped) = skipped {
        done(format!("skipped once by {}: {}", skipped.actor, skipped.reason));
        hook.skipped_once = Some(skipped);
    } else {
        match as_configured_now(context, &hook) {
            // A person who mended the hook's command means the mended one.
            Some(now) => hook.hook = now,
            None => done("no longer among the blocking hooks".to_owned()),
        }
    }
    step.params = Some(hook.params()?);
    Ok(step)
}

/// The same step, still to be run.
fn again(step: &StepRow) -> StepRow {
    StepRow {
        id: 0,
        status: StepStatus::Pending,
        outcome: None,
        reason: None,
        log_id: None,
        not_before: None,
        runs: 0,
        started_at: None,
        finished_at: None,
        ..step.clone()
    }
}

/// The blocking hook that stands for one that failed: that of the same command, else the one in its place.
fn as_configured_now(context: &ProjectContext, failed: &HookStep) -> Option<LifecycleHook> {
    let hooks = context.settings.lifecycle_hooks.of(failed.event);
    let blocking = |hook: &&LifecycleHook| hook.is_blocking();
    let same = hooks.iter().filter(blocking).find(|hook| hook.command() == failed.hook.command());
    let place = usize::try_from(failed.index).unwrap_or(usize::MAX);
    same.or_else(|| hooks.get(place).filter(blocking)).cloned()
}

/// What a test of a plugin says; it acts on tasks, and a test does not.
fn plugin_trial(plugin: &PluginHook, blank: HookRun) -> HookRun {
    let reason = if !plugin.name.lifecycle_events().contains(&blank.event) {
        "unsupported_event".to_owned()
    } else if plugin.enabled {
        format!("not run in a test. Its effect would be: {}", plugin.name.about())
    } else {
        "it is off".to_owned()
    };
    HookRun { status: HookStatus::Skipped, error: Some(reason), ..blank }
}

/// A hook that is not saved is held to the same rules as one that is.
fn check_hook(event: LifecycleEvent, hook: &LifecycleHook) -> Result<()> {
    let findings = forge_model::hook::findings_of(event, hook, "hook");
    if findings.is_empty() { Ok(()) } else { Err(EngineError::Invalid(findings)) }
}

/// The folder of a task, or of a project's tests, whose log of this id was written last.
fn latest_dir_with(logs: &Path, log_id: &str) -> std::io::Result<Option<PathBuf>> {
    let mut latest = None;
    for project in folders(logs)? {
        for dir in folders(&project)? {
            let written = LogReader::written_at(&dir, log_id).map_err(std::io::Error::other)?;
            let Some(written) = written else { continue };
            if latest.as_ref().is_none_or(|(last, _)| written > *last) {
                latest = Some((written, dir));
            }
        }
    }
    Ok(latest.map(|(_, dir)| dir))
}

/// The folders in a folder; none when that is not there, or gone meanwhile.
fn folders(dir: &Path) -> std::io::Result<Vec<PathBuf>> {
    let entries = match std::fs::read_dir(dir) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        other => other?,
    };
    let mut folders = Vec::new();
    for entry in entries {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            folders.push(entry.path());
        }
    }
    Ok(folders)
}

fn checked_log_id(log_id: String) -> Result<String> {
    let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"-_".contains(&byte);
    let fits = log_id.starts_with(TEST_LOG_PREFIX) && log_id.len() <= MAX_LOG_ID;
    if fits && log_id.bytes().all(plain) {
        return Ok(log_id);
    }
    let message = format!(
        "must begin with `{TEST_LOG_PREFIX}` and have at most {MAX_LOG_ID} characters of a-z, 0-9, - and _"
    );
    Err(EngineError::invalid("log_id", message))
}
