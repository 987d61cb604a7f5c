//! Runs of agents: started after their row is committed, watched, ended whole, and their end written in one
//! transaction with the steps that follow.

pub(crate) mod approval;
pub(crate) mod attachments;
pub(crate) mod dispatch;
pub(crate) mod events;
pub(crate) mod finish;
pub(crate) mod follow_up;
pub(crate) mod growth;
pub(crate) mod list;
pub(crate) mod lost;
pub(crate) mod plan;
pub(crate) mod profiles;
pub(crate) mod programs;
pub(crate) mod sessions;
pub(crate) mod tokens;

use std::{
    collections::HashMap,
    path::{Path, PathBuf},
    sync::{Arc, Mutex},
    time::Duration,
};

use forge_agents::{
    Adapter, AgentError, Control, CostLimit, ForgeMcp, Handle, Launch, Limits, LogWriter, RunCommand,
    RunOutcome, SessionRequest, adapter, marker_of,
};
use forge_exec::{Command, ExecError, Finished, Marker, OutputSink, ProcessIdentity};
use forge_git::{REPOSITORY_VARIABLES, Repo};
use forge_model::agent::{Agent, PermissionMode, Profile};
use forge_model::event::EventType;
use forge_model::execution::{Execution, ExecutionError, ExecutionRole, ExecutionStatus};
use forge_model::ids::{ExecutionId, ProjectId, TaskId};
use forge_model::inner_loop::Strategy;
use forge_model::prompt::{Correction, prompt_of};
use forge_model::redact::Redactor;
use forge_model::task::AnnotationType;
use forge_model::time::Timestamp;
use forge_model::transition::StepKind;
use forge_model::workflow::SessionMode;
use forge_model::workspace::Workspace;
use forge_store::table::executions::ExecutionRow;
use forge_store::table::processes::ProcessRow;
use forge_store::table::steps::StepRow;
use forge_store::table::{
    agents, approvals, executions, limits, processes, slots, steps, tasks, tasks::TaskRow, transitions,
    workspaces,
};
use serde_json::json;
use tokio::sync::watch;
use tokio_util::sync::{CancellationToken, DropGuard};

use crate::{
    Engine, EngineError,
    core::{
        self,
        context::{ProjectContext, task_branch},
        environment::ProgramEnvironment,
        panics::guarded,
        redaction::{Redacting, redacted_command, redacted_outcome},
    },
    cost::{
        self,
        meter::Metered,
        prices::{Cost, Ledger},
    },
    engine::locked,
    error::Result,
    knowledge, race,
    review::{self, audit::audits, traces::leaves_no_trace},
    run::{
        events::Listening,
        growth::LogGrowth,
        plan::{needs_merge_begun, plan_file},
    },
    storage::{self, private_data},
    trust::{self, accepted::trouble_of},
    workspace::{self, lock::WorkspaceHold},
};

/// From the gentle signal to the kill of an agent.
const GRACE: Duration = Duration::from_secs(5);

/// How long a disk that refuses the end of a log is left alone, how often it is tried again though it takes everything
/// else, and with how much free space it is full.
const LOG_PAUSE: Duration = Duration::from_millis(500);
const LOG_TRIES: u32 = 10;
const LOG_NEEDS: u64 = 16 * 1024 * 1024;

/// The runs of this process.
#[derive(Debug, Default)]
pub(crate) struct Running {
    runs: Mutex<HashMap<TaskId, Run>>,
    /// Those that draft fixes, beside the task's own.
    drafts: Mutex<HashMap<ExecutionId, Handle>>,
}

#[derive(Debug, Clone)]
struct Run {
    execution: ExecutionId,
    handle: Handle,
    gone: watch::Receiver<bool>,
}

/// Everything a launch needs, read in one go.
struct Prepared {
    row: ExecutionRow,
    task: TaskRow,
    context: Arc<ProjectContext>,
    agent: Agent,
    workspace: Workspace,
    /// How it goes about the task, as an entry of a race or as what won one.
    strategy: Option<Strategy>,
}

/// What a run needs besides what is stored.
struct Ready {
    lock: WorkspaceHold,
    prompt: String,
    prompt_file: PathBuf,
    identity: Vec<(String, String)>,
    environment: ProgramEnvironment,
    log: LogWriter,
    mcp: Option<ForgeMcp>,
    cost: Option<CostLimit>,
}

impl Engine {
    /// What a program is told about the project that it is run for.
    pub(crate) fn project_env(context: &ProjectContext) -> Vec<(String, String)> {
        vec![
            ("FORGE_PROJECT_ID".to_owned(), context.project.id.0.clone()),
            ("FORGE_PROJECT_NAME".to_owned(), context.project.name.clone()),
            ("FORGE_REPO_PATH".to_owned(), context.project.repo_path.clone()),
        ]
    }
}

/// What the agent of a task is doing now.
pub(crate) fn activity_of(engine: &Engine, task: &TaskId) -> Option<(ExecutionId, String)> {
    let runs = locked(&engine.inner.running.runs);
    let redacted = |activity: &str| engine.redactor().text(activity).into_owned();
    runs.get(task).map(|run| (run.execution.clone(), redacted(&run.handle.activity.borrow())))
}

/// Whether an agent runs for a task in this process.
pub(crate) fn is_running(engine: &Engine, task: &TaskId) -> bool {
    locked(&engine.inner.running.runs).contains_key(task)
}

/// Starts the process of a recorded execution. It can be stopped from this moment on, before there is a
/// process, too: whoever moves the task next must find it.
pub(crate) fn launch(engine: &Engine, task: &TaskId, id: ExecutionId) {
    let (control, handle, told) = Control::new(engine.inner.shutdown.child_token());
    let (sender, gone) = watch::channel(false);
    let run = Run { execution: id.clone(), handle: handle.clone(), gone };
    locked(&engine.inner.running.runs).insert(task.clone(), run);
    let (engine, task) = (engine.clone(), task.clone());
    engine.clone().inner.tracker.spawn(async move {
        let listening = events::listen_to_run(&engine, task.clone(), id.clone(), handle, told);
        let run = guarded(run_execution(&engine, &id, control, listening)).await;
        let settled = guarded(async {
            match &run {
                Ok(Ok(())) => Ok(()),
                Err(panic) | Ok(Err(EngineError::Panicked(panic))) => {
                    storage::with_patience(&engine, || core::panics::run_panicked(&engine, &id, panic)).await
                }
                Ok(Err(error)) => settle_failure(&engine, &id, error).await,
            }
        });
        if let Ok(Err(error)) = settled.await {
            tracing::error!(execution = %id, %error, "failed to record how a run ended; the next start settles it");
        }
        locked(&engine.inner.running.runs).remove(&task);
        sender.send_replace(true);
        engine.kick(&task);
        core::runner::wake_waiting(&engine);
        engine.made_progress();
    });
}

/// Records that a run could not be brought to its end.
async fn settle_failure(engine: &Engine, id: &ExecutionId, error: &EngineError) -> Result<()> {
    tracing::error!(execution = %id, %error, "failed to run an execution");
    // A run that the disk kept from its end, up to Forge's own, is settled by the next start.
    if storage::passes_with_storage(engine, error).await {
        return Ok(());
    }
    storage::with_patience(engine, || fail_to_start(engine, id, error)).await
}

/// Ends the run of a task, if there is one, and waits until nothing of it is left.
pub(crate) async fn stop_run(engine: &Engine, task: &TaskId) -> bool {
    let run = locked(&engine.inner.running.runs).get(task).cloned();
    let Some(mut run) = run else { return false };
    run.handle.cancel.cancel();
    // An error means the run's sender is dropped: it is gone too.
    let _ = run.gone.wait_for(|gone| *gone).await;
    true
}

async fn run_execution(
    engine: &Engine,
    id: &ExecutionId,
    control: Control,
    listening: Listening,
) -> Result<()> {
    let prepared = storage::with_patience(engine, || prepare_run(engine, id)).await?;
    run_prepared(engine, &prepared, control, listening).await
}

/// Tells the run of a task something; false when none runs, or it is over.
pub(crate) fn tell_run(engine: &Engine, task: &TaskId, execution: &ExecutionId, command: RunCommand) -> bool {
    let command = redacted_command(&engine.redactor(), command);
    if let Some(draft) = locked(&engine.inner.running.drafts).get(execution) {
        return draft.tell(command);
    }
    let run = locked(&engine.inner.running.runs).get(task).cloned();
    run.is_some_and(|run| run.execution == *execution && run.handle.tell(command))
}

/// Lets a draft that runs be told something.
pub(crate) fn keep_draft(engine: &Engine, execution: &ExecutionId, handle: Handle) {
    locked(&engine.inner.running.drafts).insert(execution.clone(), handle);
}

/// The draft is over.
pub(crate) fn forget_draft(engine: &Engine, execution: &ExecutionId) {
    locked(&engine.inner.running.drafts).remove(execution);
}

async fn prepare_run(engine: &Engine, id: &ExecutionId) -> Result<Prepared> {
    let mut conn = engine.store().read().await?;
    let row = executions::get(&mut conn, id).await?.ok_or_else(|| EngineError::not_found("execution", id))?;
    let task_id = &row.execution.task_id;
    let task =
        tasks::get(&mut conn, task_id).await?.ok_or_else(|| EngineError::not_found("task", task_id))?;
    let context = core::context::context_of(engine, &mut conn, &task).await?;
    let agent_id = &row.execution.agent_id;
    let mut agent =
        agents::get(&mut conn, agent_id).await?.ok_or_else(|| EngineError::not_found("agent", agent_id))?;
    let strategy = race::as_strategy(&mut conn, &task, row.execution.role, &mut agent).await?;
    let workspace = workspaces::last(&mut conn, task_id)
        .await?
        .ok_or_else(|| EngineError::not_found("workspace of task", task_id))?;
    Ok(Prepared { row, task, context, agent, workspace, strategy })
}

async fn run_prepared(engine: &Engine, p: &Prepared, control: Control, listening: Listening) -> Result<()> {
    let id = &p.row.execution.id;
    let ready =
        storage::with_patience_until(engine, &control.cancel, || make_run_ready(engine, p, &control.cancel))
            .await;
    let ready = match ready {
        Err(error)
            if !(control.cancel.is_cancelled() && storage::passes_with_storage(engine, &error).await) =>
        {
            return Err(error);
        }
        ready => ready.ok().flatten(),
    };
    let Some(Ready { lock, prompt, prompt_file, identity, environment, log, mcp, cost }) = ready else {
        let never_began = RunOutcome::failed(AgentError::Cancelled);
        let no_cost = Ledger::default().cost();
        let end = || {
            end_run(engine, &p.row.execution, &p.task.id, (&never_began, no_cost.clone()), &control.cancel)
        };
        return storage::with_patience(engine, end).await;
    };
    engine.point("execution.starting");
    let adapter = adapter(p.agent.adapter);
    let growth = follow_log(engine, &p.task.project_id, Some(&p.task.id), id.as_str(), &log);
    let (starting, task_id) = (engine.clone(), p.task.id.clone());
    let launch = Launch {
        execution_id: id.0.clone(),
        log: log.clone(),
        config: p.agent.config.clone(),
        model: p.agent.model.clone(),
        prompt,
        prompt_file: prompt_file.clone(),
        worktree: PathBuf::from(&p.workspace.path),
        given: Some(attachments::attachment_dir(engine, &p.task.project_id, &p.task.id)),
        base: environment.base(),
        env: run_env(engine, p, &prompt_file, identity, mcp.as_ref()),
        shell: environment.shell().to_vec(),
        limits: Limits { cost, ..limits_of(&p.agent) },
        grace: GRACE,
        session: session_of(&p.row.execution, adapter),
        carry: p.row.carry.clone(),
        role: p.row.execution.role,
        permissions: permissions_of(&p.agent, p.row.execution.role),
        mcp,
        started: Box::new(move |identity: ProcessIdentity| {
            starting.point("execution.started");
            workspace::lock::name_holder(&starting, &task_id, &identity);
        }),
    };
    let outcome = redacted_outcome(log.redactor(), adapter.run(launch, &control).await);
    let cancel = control.cancel.clone();
    drop(control);
    // Nothing that the run told may be written after its end.
    let cost = listening.over().await?.cost();
    if leaves_no_trace(p.row.execution.role) {
        storage::with_patience(engine, || {
            review::traces::remove_traces(engine, &p.context, &p.task, &p.workspace)
        })
        .await?;
    }
    drop(growth);
    close_log(engine, log).await?;
    drop(lock);
    workspace::disk::measure_later(engine, &p.task.id);
    let end = || end_run(engine, &p.row.execution, &p.task.id, (&outcome, cost.clone()), &cancel);
    storage::with_patience(engine, end).await
}

/// Makes everything that a run needs before there is a process; none when it is cancelled first. Done again, it
/// finds what is there.
async fn make_run_ready(engine: &Engine, p: &Prepared, cancel: &CancellationToken) -> Result<Option<Ready>> {
    let id = &p.row.execution.id;
    let repo = core::context::repo(engine, &p.context).await?;
    let lock = workspace::lock::lock_workspace(engine, &p.task.id, &p.workspace, id.as_str(), cancel).await?;
    let Some(lock) = lock else { return Ok(None) };
    trust::accepted::require_accepted(engine, &p.context, &repo).await?;
    workspace::nested::mend_worktree(engine, &repo, &p.task, &p.workspace).await?;
    // One that an earlier engine left may have changed something.
    review::traces::remove_traces(engine, &p.context, &p.task, &p.workspace).await?;
    begin_merge_for(p, &repo).await?;
    trust::require_trust_of(engine, &p.context, &p.task, Some(&p.workspace)).await?;
    let who = (p.row.execution.role, Some(&p.agent));
    let mut corrections = p.row.corrections.clone();
    let suffix = p.strategy.as_ref().and_then(|strategy| strategy.prompt_suffix.clone());
    corrections.extend(suffix.map(|text| Correction::Workflow { text }));
    let prompt = prompt_of(&plan::layers_of(engine, &p.context, &p.task, who, &corrections).await?);
    let prompt_file = task_folder(&p.workspace).join(format!("prompt-{id}.md"));
    private_data::write(&prompt_file, &prompt).await.map_err(EngineError::io("write the prompt"))?;
    let before = repo.head(Path::new(&p.workspace.path)).await?;
    let author = p.context.settings.author.as_ref().map(|it| (it.name.as_str(), it.email.as_str()));
    let identity = repo.missing_identity(Path::new(&p.workspace.path), author).await?;
    let untracked = if leaves_no_trace(p.row.execution.role) {
        let status = repo.status(Path::new(&p.workspace.path)).await?;
        Some(status.into_iter().filter(|entry| entry.untracked).map(|entry| entry.path).collect())
    } else {
        None
    };
    let log_dir = engine.log_dir(&p.task.project_id, &p.task.id);
    let environment = core::environment::agent_environment(engine, Some(&p.context), &p.agent).await?;
    let log = LogWriter::open(
        &log_dir,
        id.as_str(),
        id.as_str(),
        forge_agents::log::DEFAULT_CAP_BYTES,
        Arc::clone(environment.redactor()),
    )?;
    let marker = marker_of(id.as_str());
    record_running(engine, p, &before, untracked, &marker, &environment.withheld_names()).await?;
    let mcp = mcp_of(engine, p).await?;
    let cost = left_to_spend(engine, p).await?;
    Ok(Some(Ready { lock, prompt, prompt_file, identity, environment, log, mcp, cost }))
}

/// Begins the merge whose conflicts the run is to resolve, where its program cannot. Done again after a kill, it
/// finds it begun.
async fn begin_merge_for(p: &Prepared, repo: &Repo) -> Result<()> {
    let is_conflict = |it: &Correction| matches!(it, Correction::Conflict { .. });
    if p.row.execution.role != ExecutionRole::Coder
        || !needs_merge_begun(p.agent.adapter)
        || !p.row.corrections.iter().any(is_conflict)
    {
        return Ok(());
    }
    let author = p.context.settings.author.as_ref().map(|it| (it.name.as_str(), it.email.as_str()));
    let target = p.context.target_branch(&p.task);
    if !repo.begin_merge(Path::new(&p.workspace.path), &target, author).await? {
        tracing::info!(task = %p.task.id, %target, "there is nothing to merge before the run");
    }
    Ok(())
}

/// Forge's own tools, when the project lets its agents use them and they are served.
async fn mcp_of(engine: &Engine, p: &Prepared) -> Result<Option<ForgeMcp>> {
    let Some(url) = tokens::mcp_url(engine).filter(|_| p.context.settings.mcp.inject) else {
        return Ok(None);
    };
    Ok(Some(ForgeMcp { url, token: tokens::give_token(engine, &p.row.execution.id).await? }))
}

/// What the run may cost by the limit that leaves the least.
async fn left_to_spend(engine: &Engine, p: &Prepared) -> Result<Option<CostLimit>> {
    let (context, task, agent, execution) = (&*p.context, &p.task, &p.agent, &p.row.execution.id);
    let of = Metered { context, task, agent, execution };
    let limits =
        cost::meter::limits_of_cost(engine, &mut *engine.store().read().await?, context, task, Some(&of))
            .await?;
    let left = limits.into_iter().map(|(of, limit_micro_usd, spent)| {
        let left_micro_usd = limit_micro_usd.saturating_sub(spent);
        CostLimit { left_micro_usd, limit_micro_usd, of }
    });
    Ok(left.min_by_key(|limit| limit.left_micro_usd))
}

async fn record_running(
    engine: &Engine,
    p: &Prepared,
    before: &str,
    untracked: Option<Vec<String>>,
    marker: &Marker,
    withheld: &[String],
) -> Result<()> {
    let mut execution = p.row.execution.clone();
    execution.status = ExecutionStatus::Running;
    execution.before_commit = Some(before.to_owned());
    let mut tx = engine.store().write().await?;
    executions::update(&mut tx, &execution).await?;
    executions::set_withheld(&mut tx, &execution.id, withheld).await?;
    knowledge::teaching::record_told(engine, &mut tx, &p.context, &p.task, &p.row).await?;
    if untracked.is_some() {
        executions::set_traces(&mut tx, &execution.id, untracked.as_deref()).await?;
    }
    // Recorded before there is a process: its marker finds it even if this is all that was written.
    let process = ProcessRow {
        marker: marker.0.clone(),
        task_id: p.task.id.clone(),
        pid: 0,
        start_time: 0,
        boot_id: String::new(),
        started_at: engine.now(),
    };
    processes::insert(&mut tx, &process).await?;
    engine
        .emit(&mut tx, EventType::TaskUpdated, &p.task, execution.id.as_str(), &json!({ "running": true }))
        .await?;
    tx.commit().await?;
    Ok(())
}

/// Writes how a run ended and what follows. A run that Forge's own end cut short stays recorded as
/// running: the next start sees that and goes on.
async fn end_run(
    engine: &Engine,
    execution: &Execution,
    task_id: &TaskId,
    (outcome, cost): (&RunOutcome, Cost),
    cancel: &CancellationToken,
) -> Result<()> {
    engine.point("execution.ended");
    let marker = marker_of(execution.id.as_str());
    let mut tx = engine.store().write().await?;
    processes::delete(&mut tx, &marker.0).await?;
    if engine.inner.shutdown.is_cancelled() && outcome.result.is_err() {
        tx.commit().await?;
        return Ok(());
    }
    let Some(task) = tasks::get(&mut tx, task_id).await? else { return Ok(()) };
    let Some(row) = executions::get(&mut tx, &execution.id).await? else { return Ok(()) };
    let mut execution = row.execution;
    let stopped = cancel.is_cancelled() && outcome.result == Err(AgentError::Cancelled);
    write_end(&mut execution, outcome, cost, stopped, engine.now());
    executions::update(&mut tx, &execution).await?;
    if outcome.carry.is_some() {
        executions::set_carry(&mut tx, &execution.id, outcome.carry.as_ref()).await?;
    }
    approvals::expire(&mut tx, &execution.id, None, engine.now()).await?;
    slots::release(&mut tx, task_id).await?;
    if execution.status == ExecutionStatus::Finished {
        cost::record_sample(engine, &mut tx, &task).await?;
    }
    let limited = match &outcome.result {
        Err(AgentError::RateLimited { until_ms }) if !stopped => Some(Timestamp(*until_ms)),
        _ => None,
    };
    if let Some(until) = limited {
        limits::put(&mut tx, &execution.agent_id, until).await?;
    }
    // What an auditor leaves is settled however it ended.
    if !stopped || audits(execution.role) {
        let kinds: &[StepKind] = match (&outcome.result, execution.role) {
            (Ok(()), ExecutionRole::Planner) | (_, ExecutionRole::Reviewer) => &[StepKind::Advance],
            (Ok(()), _) => &[StepKind::CommitWork, StepKind::Advance],
            (Err(_), _) => &[StepKind::Restart],
        };
        append_work_steps(&mut tx, &task, &execution.id, kinds).await?;
    }
    let facts = json!({
        "status": execution.status, "error": execution.error.as_ref().map(|error| &error.code), "until": limited,
    });
    let event = if limited.is_some() { EventType::ExecutionWaiting } else { EventType::ExecutionFinished };
    engine.emit(&mut tx, event, &task, execution.id.as_str(), &facts).await?;
    tx.commit().await?;
    if let Some(until) = limited {
        core::scheduler::wake_at(engine, until);
    }
    engine.point("execution.finished");
    Ok(())
}

/// Queues what follows the end of an execution.
pub(crate) async fn append_work_steps(
    tx: &mut forge_store::Tx,
    task: &TaskRow,
    execution: &ExecutionId,
    kinds: &[StepKind],
) -> Result<()> {
    let last = transitions::last(tx, &task.id).await?;
    for kind in kinds {
        let mut step = StepRow::pending(&task.id, &task.status, *kind, "work_end");
        step.execution_id = Some(execution.clone());
        step.transition_seq = last.as_ref().map(|last| last.seq);
        steps::insert(tx, &mut step).await?;
    }
    Ok(())
}

/// A run that could not even be started, for a reason other than the agent's program.
async fn fail_to_start(engine: &Engine, id: &ExecutionId, error: &EngineError) -> Result<()> {
    let mut tx = engine.store().write().await?;
    let Some(row) = executions::get(&mut tx, id).await? else { return Ok(()) };
    let mut execution = row.execution;
    let Some(mut task) = tasks::get(&mut tx, &execution.task_id).await? else { return Ok(()) };
    let context = core::context::context_of(engine, &mut tx, &task).await?;
    execution.status = ExecutionStatus::Failed;
    execution.finished_at = Some(engine.now());
    execution.error = Some(ExecutionError {
        code: "environment".to_owned(),
        message: error.to_string(),
        remedy: "Mend what the message names, then try again.".to_owned(),
    });
    executions::update(&mut tx, &execution).await?;
    processes::delete(&mut tx, &marker_of(id.as_str()).0).await?;
    let mut trouble = trouble_of(error, AnnotationType::EnvironmentNotReady);
    trouble.execution = Some(id.clone());
    core::transition::block(
        engine,
        &mut tx,
        &context,
        &mut task,
        trouble,
        forge_model::actor::Cause::Workflow,
    )
    .await?;
    tx.commit().await?;
    engine.kick(&task.id);
    Ok(())
}

/// The environment of everything that runs on a task's behalf, on top of the user's own.
pub(crate) fn task_env(
    engine: &Engine,
    context: &ProjectContext,
    task: &TaskRow,
    workspace: Option<&Workspace>,
) -> Vec<(String, String)> {
    let mut env = Engine::project_env(context);
    env.extend([
        ("FORGE_TASK_ID".to_owned(), task.id.0.clone()),
        ("FORGE_TASK_NUMBER".to_owned(), task.number.to_string()),
        ("FORGE_TASK_TITLE".to_owned(), core::redaction::redacted_in(engine, context, task.title.clone())),
        ("FORGE_TASK_STATUS".to_owned(), task.status.clone()),
        ("FORGE_TASK_BRANCH".to_owned(), task_branch(task)),
    ]);
    if let Some(workspace) = workspace {
        env.push(("FORGE_WORKTREE_PATH".to_owned(), workspace.path.clone()));
        env.push(("FORGE_PORT_BASE".to_owned(), workspace.port_base.to_string()));
    }
    env
}

/// `identity` is what its own git needs to commit where the user has none.
fn run_env(
    engine: &Engine,
    p: &Prepared,
    prompt_file: &Path,
    identity: Vec<(String, String)>,
    mcp: Option<&ForgeMcp>,
) -> Vec<(String, String)> {
    let execution = &p.row.execution;
    let mut env = task_env(engine, &p.context, &p.task, Some(&p.workspace));
    env.push(("FORGE_AGENT_ID".to_owned(), execution.agent_id.0.clone()));
    env.push(("FORGE_EXECUTION_ID".to_owned(), execution.id.0.clone()));
    env.push(("FORGE_ATTEMPT".to_owned(), execution.attempt.to_string()));
    env.push(("FORGE_ROLE".to_owned(), execution.role.to_string()));
    if let Some(strategy) = &p.strategy {
        env.push(("FORGE_STRATEGY".to_owned(), strategy.name.clone()));
    }
    env.push(("FORGE_PLAN_FILE".to_owned(), plan_file(&p.workspace).to_string_lossy().into_owned()));
    env.push(("FORGE_PROMPT_FILE".to_owned(), prompt_file.to_string_lossy().into_owned()));
    env.extend(identity);
    env.extend(mcp.into_iter().flat_map(ForgeMcp::variables));
    env
}

/// Tells the growth of a log while the guard lives.
pub(crate) fn follow_log(
    engine: &Engine,
    project: &ProjectId,
    task: Option<&TaskId>,
    log_id: &str,
    log: &LogWriter,
) -> DropGuard {
    let ended = CancellationToken::new();
    let guard = ended.clone().drop_guard();
    let mut last = log.follow();
    let sender = engine.inner.log_growth.clone();
    let (project_id, task_id, log_id) = (project.clone(), task.cloned(), log_id.to_owned());
    engine.inner.tracker.spawn(async move {
        loop {
            let over = tokio::select! {
                () = ended.cancelled() => true,
                changed = last.changed() => changed.is_err(),
            };
            let seq = *last.borrow_and_update();
            // Nobody listening is fine: growth is news, not history.
            let _ = sender.send(LogGrowth {
                project_id: project_id.clone(),
                task_id: task_id.clone(),
                log_id: log_id.clone(),
                seq,
            });
            if over {
                return;
            }
        }
    });
    guard
}

/// Ends a log once the disk has taken all of it, or the engine stops.
pub(crate) async fn close_log(engine: &Engine, log: LogWriter) -> Result<()> {
    let mut tries = 0;
    while !engine.inner.shutdown.is_cancelled() {
        let flushed = log.clone();
        let written = tokio::task::spawn_blocking(move || flushed.flush()).await;
        if written.map_err(|error| EngineError::io("write a log")(std::io::Error::other(error)))? {
            break;
        }
        // A disk that takes everything else refuses this log for a reason that does not pass.
        let full = engine.disk_space().is_some_and(|space| space.free < LOG_NEEDS);
        tries = if full || engine.probe_storage().await.failure.is_some() { 0 } else { tries + 1 };
        if tries > LOG_TRIES {
            break;
        }
        tokio::select! {
            () = engine.inner.shutdown.cancelled() => {}
            () = tokio::time::sleep(LOG_PAUSE) => {}
        }
    }
    tokio::task::spawn_blocking(move || log.close())
        .await
        .map(drop)
        .map_err(|error| EngineError::io("close a log")(std::io::Error::other(error)))
}

/// Runs a process on a task's behalf, recorded before it starts so that a later engine can end it. Its git
/// commands work where it runs, wherever Forge itself was started from. The sink gets its output without secrets.
pub(crate) async fn run_recorded(
    engine: &Engine,
    task: &TaskRow,
    command: Command,
    cancel: &CancellationToken,
    (output, redactor): (&mut (dyn OutputSink + Send), &Arc<Redactor>),
) -> Result<Finished, RunError> {
    run_recorded_for(engine, &task.id, command, cancel, (output, redactor)).await
}

/// The same for whatever has no task's row.
pub(crate) async fn run_recorded_for(
    engine: &Engine,
    owner: &TaskId,
    command: Command,
    cancel: &CancellationToken,
    (output, redactor): (&mut (dyn OutputSink + Send), &Arc<Redactor>),
) -> Result<Finished, RunError> {
    let command = REPOSITORY_VARIABLES.iter().fold(command, |command, name| command.env_remove(name));
    let marker = command.marker.0.clone();
    let row = ProcessRow {
        marker: marker.clone(),
        task_id: owner.clone(),
        pid: 0,
        start_time: 0,
        boot_id: String::new(),
        started_at: engine.now(),
    };
    let record = || async {
        let mut tx = engine.store().write().await?;
        processes::insert(&mut tx, &row).await?;
        Ok(tx.commit().await?)
    };
    storage::with_patience_until(engine, cancel, record).await.map_err(Box::new)?;
    let started = |identity: ProcessIdentity| {
        workspace::lock::name_script(engine, owner, &identity);
        engine.point("process.started");
    };
    let program = command.program.clone();
    let mut output = Redacting::new(output, redactor);
    let finished = forge_exec::run(command, cancel, started, &mut output).await;
    let written = output.finish().await.map_err(|source| ExecError::Output { program, source });
    let finished = finished.and_then(|finished| written.map(|()| finished));
    let forget = || async {
        let mut tx = engine.store().write().await?;
        processes::delete(&mut tx, &marker).await?;
        Ok(tx.commit().await?)
    };
    // What the process came to is worth the wait; a record that stays is settled by the next start.
    if let Err(error) = storage::with_patience_until(engine, cancel, forget).await {
        tracing::warn!(%error, "failed to forget a process that ended");
    }
    Ok(finished?)
}

/// Why a process on a task's behalf could not be run.
#[derive(Debug, thiserror::Error)]
pub(crate) enum RunError {
    #[error(transparent)]
    Record(#[from] Box<EngineError>),
    #[error(transparent)]
    Exec(#[from] ExecError),
}

/// The task's folder: what holds the worktree, the lock and the prompts.
pub(crate) fn task_folder(workspace: &Workspace) -> PathBuf {
    let tree = Path::new(&workspace.path);
    tree.parent().unwrap_or(tree).to_owned()
}

pub(crate) fn limits_of(agent: &Agent) -> Limits {
    let profile = Profile::of(agent);
    let default = Limits::default();
    let seconds = |value: Option<u32>| value.map(|seconds| Duration::from_secs(u64::from(seconds)));
    Limits {
        wall_clock: seconds(profile.wall_clock_seconds).or(default.wall_clock),
        silence: seconds(profile.silence_seconds).or(default.silence),
        turns: profile.turns,
        cost: None,
    }
}

/// Writes how a run ended into its record; one that was stopped failed in nothing.
pub(crate) fn write_end(
    execution: &mut Execution,
    outcome: &RunOutcome,
    cost: Cost,
    stopped: bool,
    at: Timestamp,
) {
    execution.status = match &outcome.result {
        Ok(()) => ExecutionStatus::Finished,
        Err(_) if stopped => ExecutionStatus::Cancelled,
        Err(_) => ExecutionStatus::Failed,
    };
    execution.error = outcome.result.as_ref().err().filter(|_| !stopped).map(describe);
    cost.write_into(execution);
    execution.activity.clone_from(&outcome.activity);
    if outcome.session_id.is_some() {
        execution.session_id.clone_from(&outcome.session_id);
    }
    execution.summary.clone_from(&outcome.summary);
    execution.finished_at = Some(at);
}

fn describe(error: &AgentError) -> ExecutionError {
    ExecutionError {
        code: error.code().to_owned(),
        message: error.to_string(),
        remedy: error.remedy().to_owned(),
    }
}

/// The conversation of a run: the one it goes on with, where the program can.
fn session_of(execution: &Execution, adapter: &dyn Adapter) -> SessionRequest {
    let can = adapter.capabilities();
    match (&execution.from_session, execution.session_mode) {
        (Some(session), SessionMode::Fork) if can.fork => SessionRequest::Fork(session.clone()),
        (Some(session), SessionMode::Fork | SessionMode::Resume) if can.resume => {
            SessionRequest::Resume(session.clone())
        }
        _ => SessionRequest::New,
    }
}

/// What a run may do without being asked: who judges or plans writes nothing.
fn permissions_of(agent: &Agent, role: ExecutionRole) -> PermissionMode {
    match role {
        ExecutionRole::Coder => Profile::of(agent).permissions,
        ExecutionRole::Reviewer | ExecutionRole::Planner | ExecutionRole::Drafter => PermissionMode::ReadOnly,
    }
}
