//! Runs of agents: started after their row is committed, watched, ended with all their processes, and their end
//! written in one transaction with the steps that follow.
//!
//! Absent: the protocols of agent programs, which are in `forge-agents`.

pub(crate) mod adopted;
pub(crate) mod approval;
pub(crate) mod attachments;
pub(crate) mod audit_prompt;
pub(crate) mod contribution;
pub(crate) mod dispatch;
pub(crate) mod end;
pub(crate) mod events;
pub(crate) mod finish;
pub(crate) mod follow_up;
pub(crate) mod given;
pub(crate) mod given_up;
pub(crate) mod idle;
pub(crate) mod kept;
pub(crate) mod list;
pub(crate) mod lost;
pub(crate) mod memo;
mod memory;
pub(crate) mod panicked;
pub(crate) mod plan;
pub(crate) mod prepared;
pub(crate) mod profiles;
pub(crate) mod programs;
#[cfg(test)]
mod prompt_tests;
pub(crate) mod running;
pub(crate) mod sessions;
pub(crate) mod there;
pub(crate) mod tokens;
pub(crate) mod tools;

use std::{path::PathBuf, sync::Arc, time::Duration};

use forge_agents::{
    AgentError, Control, CostLimit, Launch, Limits, LogWriter, RunOutcome, adapter, marker_of,
};
use forge_exec::{Marker, ProcessIdentity};
use forge_git::Worktree;
use forge_model::correction::Correction;
use forge_model::event::EventType;
use forge_model::execution::{ExecutionRole, ExecutionStatus};
use forge_model::ids::{ExecutionId, TaskId};
use forge_model::layer::prompt_of;
use forge_model::sandbox::SandboxReport;
use forge_store::table::processes::ProcessRow;
use serde_json::json;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::{
    EngineError, World,
    core::{
        self,
        confinement::{Confinement, Subject, confine, confine_again},
        environment::ProgramEnvironment,
        guarded::guarded,
        location::Location,
        redaction::redacted_outcome,
        sync::locked,
        worktree_lock::WorkspaceHold,
    },
    cost::{self, meter::Metered, prices::Ledger},
    error::Result,
    program::log::{close_log, follow_log},
    run::{
        end::{end_run, record_failure},
        events::Listening,
        given::{limits_of, permissions_of, run_env, session_of},
        memo::{Found, KeptLaunch, LaunchMemo},
        memory::memory_before,
        plan::needs_merge_begun,
        prepared::Prepared,
        running::{Run, Running},
        there::{
            as_found, end_lost, fetch_plan, find_there, give_files, given_folder, machine_left,
            prompt_file_of, take_back,
        },
    },
    trust,
    workspace::{self, traces::leaves_no_trace},
};

/// From the gentle signal to the kill of an agent.
const GRACE: Duration = Duration::from_secs(5);

/// What a run needs besides what is stored.
struct Ready {
    lock: WorkspaceHold,
    location: Location,
    /// As the program finds it.
    prompt_file: PathBuf,
    identity: Vec<(String, String)>,
    environment: ProgramEnvironment,
    log: LogWriter,
    memo: LaunchMemo,
    confinement: Confinement,
}

/// Starts the process of a recorded execution. It can be stopped from this moment on, before there is a
/// process, too: whoever moves the task next must find it.
pub(crate) fn launch(world: &World, task: &TaskId, id: ExecutionId) {
    begin(world, task, id, None);
}

/// Goes on with a run whose process another engine started.
pub(crate) fn launch_again(world: &World, task: &TaskId, id: ExecutionId, found: Found) {
    begin(world, task, id, Some(found));
}

fn begin(world: &World, task: &TaskId, id: ExecutionId, found: Option<Found>) {
    let (control, handle, told) = Control::new(world.inner.shutdown.child_token());
    let (sender, gone) = watch::channel(false);
    let run = Run { execution: id.clone(), handle: handle.clone(), gone };
    locked(&world.part::<Running>().runs).insert(task.clone(), run);
    let (world, task) = (world.clone(), task.clone());
    let given_up = core::location::given_up::token(&world, &task);
    world.clone().inner.tracker.spawn(async move {
        let listening = events::listen_to_run(&world, task.clone(), id.clone(), handle, told);
        let run = tokio::select! {
            biased;
            // Dropped, a run goes on with its keeper.
            () = world.inner.leave.cancelled() => return,
            () = machine_left(&world, &id) => return,
            () = given_up.cancelled() => Ok(Err(EngineError::MachineGivenUp)),
            run = guarded(run_execution(&world, &id, control, listening, found)) => run,
        };
        let settled = guarded(async {
            match &run {
                Ok(Ok(())) => Ok(()),
                Ok(Err(EngineError::MachineGivenUp)) => {
                    core::disk::with_patience(&world, || given_up::abandon(&world, &id)).await
                }
                Err(panic) | Ok(Err(EngineError::Panicked(panic))) => {
                    core::disk::with_patience(&world, || panicked::run_panicked(&world, &id, panic)).await
                }
                Ok(Err(error)) => record_failure(&world, &id, error).await,
            }
        });
        match settled.await {
            Ok(Ok(())) => kept::forget_processes(&world, &id).await,
            Ok(Err(error)) => {
                tracing::error!(execution = %id, %error, "failed to record how a run ended; the next start settles it");
            }
            Err(_) => {}
        }
        locked(&world.part::<Running>().runs).remove(&task);
        sender.send_replace(true);
        core::workers::kick(&world, &task);
        core::scheduler::wake_waiting(&world);
        world.made_progress();
    });
}

async fn run_execution(
    world: &World,
    id: &ExecutionId,
    control: Control,
    listening: Listening,
    found: Option<Found>,
) -> Result<()> {
    let prepared = core::disk::with_patience(world, || prepare_run(world, id)).await?;
    let kept = match found {
        None => None,
        Some(Found::Here(kept)) => Some(*kept),
        Some(Found::There) => match find_there(world, &prepared).await? {
            Some(kept) => Some(kept),
            None => {
                let cancel = control.cancel.clone();
                // Whoever listens does so for as long as something may be told.
                drop(control);
                return end_lost(world, &prepared, listening, &cancel).await;
            }
        },
    };
    run_prepared(world, &prepared, control, listening, kept).await
}

async fn prepare_run(world: &World, id: &ExecutionId) -> Result<Prepared> {
    let mut conn = world.store().read().await?;
    let row = conn.executions().get(id).await?.ok_or_else(|| EngineError::not_found("execution", id))?;
    let task_id = &row.execution.task_id;
    let task = conn.tasks().get(task_id).await?.ok_or_else(|| EngineError::not_found("task", task_id))?;
    let context = core::contexts::context_of(world, &mut conn, &task).await?;
    let agent_id = &row.execution.agent_id;
    let mut agent =
        conn.agents().get(agent_id).await?.ok_or_else(|| EngineError::not_found("agent", agent_id))?;
    let strategy = core::lineage::as_strategy(&mut conn, &task, row.execution.role, &mut agent).await?;
    let workspace = conn
        .workspaces()
        .last(task_id)
        .await?
        .ok_or_else(|| EngineError::not_found("workspace of task", task_id))?;
    Ok(Prepared { row, task, context, agent, workspace, strategy })
}

async fn run_prepared(
    world: &World,
    p: &Prepared,
    control: Control,
    listening: Listening,
    kept: Option<KeptLaunch>,
) -> Result<()> {
    let id = &p.row.execution.id;
    let make = || async {
        match &kept {
            Some(kept) => make_ready_again(world, p, &kept.memo, &control.cancel).await,
            None => make_run_ready(world, p, &control.cancel).await,
        }
    };
    let ready = core::disk::with_patience_until(world, &control.cancel, make).await;
    let ready = match ready {
        Err(error)
            if !(control.cancel.is_cancelled() && core::disk::passes_with_storage(world, &error).await) =>
        {
            return Err(error);
        }
        ready => ready.ok().flatten(),
    };
    let Some(Ready { lock, location, prompt_file, identity, environment, log, memo, mut confinement }) =
        ready
    else {
        let never_began = RunOutcome::failed(AgentError::Cancelled);
        let no_cost = Ledger::default().cost();
        let end =
            || end_run(world, &p.row.execution, &p.task.id, (&never_began, no_cost.clone()), &control.cancel);
        return core::disk::with_patience(world, end).await;
    };
    if let Some(name) = location.machine_name() {
        log.set_machine(name);
    }
    world.point("execution.starting");
    let adapter = adapter(memo.adapter);
    let growth = follow_log(world, &p.task.project_id, Some(&p.task.id), id.as_str(), &log);
    let (starting, task_id) = (world.clone(), p.task.id.clone());
    let is_here = matches!(location, Location::Here);
    let env = run_env(world, p, &prompt_file, identity, memo.mcp.as_ref());
    let mcp = memo.mcp.clone();
    let answers = tools::answer_calls(world, p, &location, mcp.as_ref());
    let launch = Launch {
        execution_id: id.0.clone(),
        task_id: p.task.id.0.clone(),
        keeper: location.keeper(world),
        process: 1,
        kept: kept.as_ref().map_or(0, |kept| kept.processes),
        memo: memo.to_bytes(),
        log: log.clone(),
        config: memo.config,
        model: memo.model,
        prompt: memo.prompt,
        prompt_file: prompt_file.clone(),
        worktree: location.worktree(&p.workspace),
        given: Some(given_folder(world, p, &location)),
        base: environment.base(),
        env: location.variables(Some(&p.workspace), env),
        shell: environment.shell().to_vec(),
        sandbox: confinement.sandbox(),
        limits: memo.limits,
        grace: GRACE,
        session: memo.session,
        carry: memo.carry,
        role: memo.role,
        permissions: memo.permissions,
        mcp: memo.mcp,
        started: Box::new(move |identity: ProcessIdentity| {
            starting.point("execution.started");
            if is_here {
                core::worktree_lock::name_holder(&starting, &task_id, &identity);
            }
        }),
    };
    let memory = memory_before(&location).await;
    let outcome = tokio::select! {
        outcome = adapter.run(launch, &control) => outcome,
        never = answers => match never {},
    };
    let outcome = match memory {
        Some(memory) => memory.told(outcome).await,
        None => outcome,
    };
    let outcome = redacted_outcome(log.redactor(), outcome);
    let cancel = control.cancel.clone();
    drop(control);
    confinement.note_refusals(&log);
    fetch_plan(world, p, &location).await?;
    if let Some(report) = take_back(world, p, &mut confinement, &log, &cancel).await? {
        core::disk::with_patience(world, || write_sandbox(world, id, &report)).await?;
    }
    // Nothing that the run told may be written after its end.
    let cost = listening.over().await?.cost();
    if leaves_no_trace(p.row.execution.role) {
        core::disk::with_patience(world, || {
            workspace::traces::remove_traces(world, &p.context, &p.task, &p.workspace)
        })
        .await?;
    }
    drop(growth);
    close_log(world, log).await?;
    drop(lock);
    workspace::disk::measure_later(world, &p.task.id);
    let end = || end_run(world, &p.row.execution, &p.task.id, (&outcome, cost.clone()), &cancel);
    core::disk::with_patience(world, end).await
}

/// Makes everything that a run needs before there is a process; none when it is cancelled first. Done again, it
/// finds what is there.
async fn make_run_ready(world: &World, p: &Prepared, cancel: &CancellationToken) -> Result<Option<Ready>> {
    let id = &p.row.execution.id;
    let repo = core::repository::repo(world, &p.context).await?;
    let lock =
        core::worktree_lock::lock_workspace(world, &p.task.id, &p.workspace, id.as_str(), cancel).await?;
    let Some(lock) = lock else { return Ok(None) };
    trust::accepted::require_accepted(world, &p.context, &repo).await?;
    workspace::nested::mend_worktree(world, &p.context, &p.task, &p.workspace).await?;
    // One that an earlier engine left may have changed something.
    workspace::traces::remove_traces(world, &p.context, &p.task, &p.workspace).await?;
    let worktree = core::repository::worktree(world, &p.context, &p.workspace).await?;
    begin_merge_for(p, &worktree).await?;
    trust::require_trust_of(world, &p.context, &p.task, Some(&p.workspace)).await?;
    let who = (p.row.execution.role, Some(&p.agent));
    let mut corrections = p.row.corrections.clone();
    let suffix = p.strategy.as_ref().and_then(|strategy| strategy.prompt_suffix.clone());
    corrections.extend(suffix.map(|text| Correction::Workflow { text }));
    let prompt = prompt_of(&plan::layers_of(world, &p.context, &p.task, who, &corrections).await?);
    let Some(location) = core::location::location_of(world, Some(&p.workspace), cancel).await? else {
        return Ok(None);
    };
    let prompt = as_found(world, p, &location, prompt);
    let Some(prompt_file) = give_files(world, p, &location, &prompt, cancel).await? else { return Ok(None) };
    let before = worktree.head().await?;
    let author = p.context.settings.author.as_ref().map(|it| (it.name.as_str(), it.email.as_str()));
    let identity = match location {
        Location::Here => worktree.missing_identity(author).await?,
        Location::There(_) => worktree.identity_elsewhere(author).await?,
    };
    let untracked = if leaves_no_trace(p.row.execution.role) {
        let status = worktree.status().await?;
        Some(status.into_iter().filter(|entry| entry.untracked).map(|entry| entry.path).collect())
    } else {
        None
    };
    let environment =
        core::environment::agent_environment(world, Some(&p.context), &p.agent, location.login()).await?;
    let log = open_log(world, p, &environment)?;
    let marker = marker_of(id.as_str());
    record_running(world, p, &before, untracked, &marker, &environment.withheld_names()).await?;
    let memo = LaunchMemo {
        adapter: p.agent.adapter,
        config: p.agent.config.clone(),
        model: p.agent.model.clone(),
        prompt,
        session: session_of(&p.row.execution, adapter(p.agent.adapter)),
        carry: p.row.carry.clone(),
        role: p.row.execution.role,
        permissions: permissions_of(&p.agent, p.row.execution.role),
        mcp: tools::mcp_of(world, p, &location, cancel).await?,
        limits: Limits { cost: left_to_spend(world, p).await?, ..limits_of(&p.agent) },
    };
    // Last, since what is lent must be taken back.
    let subject = subject_of(world, p, &location, cancel);
    let Some(confinement) = confine(world, &p.context, &environment, subject).await? else {
        return Ok(None);
    };
    if let Some(report) = confinement.report() {
        write_sandbox(world, id, report).await?;
    }
    confinement.begin_log(&log);
    Ok(Some(Ready { lock, location, prompt_file, identity, environment, log, memo, confinement }))
}

/// Makes ready what a run needs whose process goes on.
async fn make_ready_again(
    world: &World,
    p: &Prepared,
    memo: &LaunchMemo,
    cancel: &CancellationToken,
) -> Result<Option<Ready>> {
    let holder = p.row.execution.id.as_str();
    let lock = core::worktree_lock::lock_workspace(world, &p.task.id, &p.workspace, holder, cancel).await?;
    let Some(lock) = lock else { return Ok(None) };
    let Some(location) = core::location::location_of(world, Some(&p.workspace), cancel).await? else {
        return Ok(None);
    };
    let environment =
        core::environment::agent_environment(world, Some(&p.context), &p.agent, location.login()).await?;
    let log = open_log(world, p, &environment)?;
    log.tell_again();
    let (prompt_file, memo) = (location.path(&p.workspace, &prompt_file_of(p)), memo.clone());
    let subject = subject_of(world, p, &location, cancel);
    let Some(confinement) = confine_again(world, &p.context, &environment, subject).await? else {
        return Ok(None);
    };
    confinement.begin_log(&log);
    let identity = Vec::new();
    Ok(Some(Ready { lock, location, prompt_file, identity, environment, log, memo, confinement }))
}

fn subject_of<'a>(
    world: &World,
    p: &'a Prepared,
    location: &'a Location,
    cancel: &'a CancellationToken,
) -> Subject<'a> {
    let given = vec![given_folder(world, p, location)];
    Subject { agent: Some(&p.agent), given, ..Subject::command_in(Some(&p.workspace), location, cancel) }
}

/// Writes what a run's sandbox came to.
pub(crate) async fn write_sandbox(world: &World, id: &ExecutionId, report: &SandboxReport) -> Result<()> {
    let mut tx = world.store().write().await?;
    tx.executions_mut().set_sandbox(id, report).await?;
    Ok(tx.commit().await?)
}

fn open_log(world: &World, p: &Prepared, environment: &ProgramEnvironment) -> Result<LogWriter> {
    let log_dir = world.log_dir(&p.task.project_id, &p.task.id);
    let id = p.row.execution.id.as_str();
    let redactor = Arc::clone(environment.redactor());
    Ok(LogWriter::open(&log_dir, id, id, forge_agents::log::DEFAULT_CAP_BYTES, redactor)?)
}

/// Begins the merge whose conflicts the run is to resolve, where its program cannot. Done again after a kill, it
/// finds it begun.
async fn begin_merge_for(p: &Prepared, worktree: &Worktree) -> Result<()> {
    let is_conflict = |it: &Correction| matches!(it, Correction::Conflict { .. });
    if p.row.execution.role != ExecutionRole::Coder
        || !needs_merge_begun(p.agent.adapter)
        || !p.row.corrections.iter().any(is_conflict)
    {
        return Ok(());
    }
    let author = p.context.settings.author.as_ref().map(|it| (it.name.as_str(), it.email.as_str()));
    let target = p.context.target_branch(&p.task);
    if !worktree.begin_merge(&target, author).await? {
        tracing::info!(task = %p.task.id, %target, "there is nothing to merge before the run");
    }
    Ok(())
}

/// What the run may cost by the limit that leaves the least.
async fn left_to_spend(world: &World, p: &Prepared) -> Result<Option<CostLimit>> {
    let (context, task, agent, execution) = (&*p.context, &p.task, &p.agent, &p.row.execution.id);
    let of = Metered { context, task, agent, execution };
    let limits =
        cost::meter::limits_of_cost(world, &mut *world.store().read().await?, context, task, Some(&of))
            .await?;
    let left = limits.into_iter().map(|(of, limit_micro_usd, spent)| {
        let left_micro_usd = limit_micro_usd.saturating_sub(spent);
        CostLimit { left_micro_usd, limit_micro_usd, of }
    });
    Ok(left.min_by_key(|limit| limit.left_micro_usd))
}

async fn record_running(
    world: &World,
    p: &Prepared,
    before: &str,
    untracked: Option<Vec<String>>,
    marker: &Marker,
    withheld: &[String],
) -> Result<()> {
    let mut execution = p.row.execution.clone();
    execution.status = ExecutionStatus::Running;
    execution.before_commit = Some(before.to_owned());
    let mut tx = world.store().write().await?;
    tx.executions_mut().update(&execution).await?;
    tx.executions_mut().set_withheld(&execution.id, withheld).await?;
    for tell in &world.features().moments.on_run {
        tell(world, &mut tx, &p.context, &p.task, &p.row).await?;
    }
    if untracked.is_some() {
        tx.executions_mut().set_traces(&execution.id, untracked.as_deref()).await?;
    }
    // Recorded before there is a process: its marker finds it even if this is all that was written.
    let process = ProcessRow {
        marker: marker.0.clone(),
        task_id: p.task.id.clone(),
        pid: 0,
        start_time: 0,
        boot_id: String::new(),
        started_at: world.now(),
        machine_id: p.workspace.machine_id.clone(),
    };
    tx.processes_mut().insert(&process).await?;
    world
        .emit(&mut tx, EventType::TaskUpdated, &p.task, execution.id.as_str(), &json!({ "running": true }))
        .await?;
    tx.commit().await?;
    Ok(())
}
