//! The run of an agent that drafts a fix: one turn in a folder of its own that holds a copy of one file. It is
//! recorded like any run, so that its cost counts and a kill leaves nothing behind, but it is not work on the task:
//! no state waits for it and no step follows from it.

use std::{
    io::ErrorKind,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use forge_agents::log::DEFAULT_CAP_BYTES;
use forge_agents::{
    AgentError, Control, CostLimit, Launch, Limits, LogWriter, RunOutcome, SessionRequest, adapter, marker_of,
};
use forge_exec::sweep;
use forge_git::Repo;
use forge_model::agent::{Agent, PermissionMode};
use forge_model::event::EventType;
use forge_model::execution::{Execution, ExecutionRole, ExecutionStatus};
use forge_model::fix::FixDraft;
use forge_model::ids::ExecutionId;
use forge_model::time::Timestamp;
use forge_store::table::{executions::ExecutionRow, processes::ProcessRow, tasks::TaskRow};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::{
    EngineError, World,
    core::{
        self, confinement::Subject, context::ProjectContext, location::Location, private_data,
        redaction::redacted_outcome,
    },
    cost::{
        self,
        meter::Metered,
        prices::{Cost, Ledger},
    },
    error::Result,
    fix::proposal::Undrafted,
    program,
    run::{
        self,
        end::write_end,
        given::limits_of,
        memo::{KeptLaunch, LaunchMemo},
    },
    trust::{self, Start, branch_tip},
};

/// The longest that a draft may take.
const MOST_TIME: Duration = Duration::from_secs(600);
/// From the gentle signal to the kill.
const GRACE: Duration = Duration::from_secs(2);

/// What a draft is begun with.
enum Begun<'a> {
    /// Its program is started.
    Anew { prompt: &'a str, cost: Option<CostLimit> },
    /// Its program was started by an earlier engine, and went on.
    Earlier(Box<KeptLaunch>),
}

/// Asks the drafter and runs it to its end.
pub(crate) async fn run_drafter(
    world: &World,
    (task, context, agent): (&TaskRow, &ProjectContext, &Agent),
    draft: &mut FixDraft,
    prompt: &str,
    cancel: &CancellationToken,
) -> std::result::Result<Execution, Undrafted> {
    let id: ExecutionId = world.new_id();
    let of = Metered { context, task, agent, execution: &id };
    let left = {
        let mut conn = world.store().read().await?;
        if conn.limits().of(&agent.id).await?.is_some_and(|until| until > world.now()) {
            return Err(Undrafted::ProviderLimit { agent: agent.name.clone() });
        }
        cost::meter::limits_of_cost(world, &mut conn, context, task, Some(&of)).await?
    };
    let left = left.into_iter().map(|(of, limit_micro_usd, spent)| CostLimit {
        left_micro_usd: limit_micro_usd.saturating_sub(spent),
        limit_micro_usd,
        of,
    });
    let cost = left.min_by_key(|limit| limit.left_micro_usd);
    if cost.as_ref().is_some_and(|limit| limit.left_micro_usd == 0) {
        return Err(Undrafted::CostLimit);
    }
    let execution = record_drafter(world, task, agent, draft, id).await?;
    run_to_end(world, (task, context, agent), draft, execution, Begun::Anew { prompt, cost }, cancel).await
}

/// Goes on with a drafter that went on while no engine was there.
pub(crate) async fn go_on(
    world: &World,
    of: (&TaskRow, &ProjectContext, &Agent),
    draft: &FixDraft,
    (execution, kept): (Execution, Box<KeptLaunch>),
    cancel: &CancellationToken,
) -> std::result::Result<Execution, Undrafted> {
    run_to_end(world, of, draft, execution, Begun::Earlier(kept), cancel).await
}

async fn run_to_end(
    world: &World,
    (task, context, agent): (&TaskRow, &ProjectContext, &Agent),
    draft: &FixDraft,
    mut execution: Execution,
    begun: Begun<'_>,
    cancel: &CancellationToken,
) -> std::result::Result<Execution, Undrafted> {
    let folder = draft_folder(world, &execution.id);
    let ran = run_in_folder(world, (task, context, agent), draft, &execution, &folder, begun, cancel).await;
    if let Err(error) = tokio::fs::remove_dir_all(&folder).await {
        tracing::warn!(%error, folder = %folder.display(), "failed to remove the folder of a draft");
    }
    match ran {
        Ok((outcome, cost)) => {
            let end = || end_drafter(world, task, &execution, &outcome, cost.clone(), cancel);
            execution = core::disk::with_patience(world, end).await?;
            run::kept::forget_processes(world, &execution.id).await;
            Ok(execution)
        }
        Err(error) => {
            let failed = RunOutcome::failed(AgentError::Cancelled);
            let end = || end_drafter(world, task, &execution, &failed, Ledger::default().cost(), cancel);
            core::disk::with_patience(world, end).await?;
            run::kept::forget_processes(world, &execution.id).await;
            Err(error.into())
        }
    }
}

/// Ends what a draft left behind that panicked.
pub(crate) async fn end_draft(world: &World, draft: &FixDraft) {
    let Some(id) = &draft.execution_id else { return };
    run::running::forget_draft(world, id);
    sweep(&marker_of(id.as_str()), GRACE).await;
    run::kept::forget_processes(world, id).await;
    let folder = draft_folder(world, id);
    if let Err(error) = tokio::fs::remove_dir_all(&folder).await
        && error.kind() != ErrorKind::NotFound
    {
        tracing::warn!(%error, folder = %folder.display(), "failed to remove the folder of a draft");
    }
}

fn draft_folder(world: &World, id: &ExecutionId) -> PathBuf {
    world.data_dir().join("drafts").join(id.as_str())
}

async fn record_drafter(
    world: &World,
    task: &TaskRow,
    agent: &Agent,
    draft: &mut FixDraft,
    id: ExecutionId,
) -> Result<Execution> {
    let mut tx = world.store().write().await?;
    let role = ExecutionRole::Drafter;
    let coder = tx.executions().last_of(&task.id, ExecutionRole::Coder).await?;
    let attempt = tx.executions().count(&task.id, role.as_str()).await? + 1;
    let begun = Execution::begun(id, task.id.clone(), agent.id.clone(), role, world.now());
    let execution = Execution {
        attempt,
        status: ExecutionStatus::Running,
        parent_execution_id: coder.map(|row| row.execution.id),
        cause: format!("a check failed in {}", draft.file),
        before_commit: Some(draft.base_commit.clone()),
        ..begun
    };
    let row = ExecutionRow {
        carry: None,
        goes_on: false,
        effort: core::lineage::effort_of(agent),
        corrections: Vec::new(),
        spends: None,
        after_transition: tx.transitions().max_seq().await?,
        execution: execution.clone(),
    };
    tx.executions_mut().insert(&row).await?;
    draft.execution_id = Some(execution.id.clone());
    tx.fixes_mut().update_draft(draft).await?;
    // Recorded before there is a process: its marker finds it even if this is all that was written.
    let process = ProcessRow {
        marker: marker_of(execution.id.as_str()).0,
        task_id: task.id.clone(),
        pid: 0,
        start_time: 0,
        boot_id: String::new(),
        started_at: world.now(),
        machine_id: None,
    };
    tx.processes_mut().insert(&process).await?;
    let facts = json!({ "agent_id": agent.id, "attempt": execution.attempt, "role": role });
    world.emit(&mut tx, EventType::ExecutionStarted, task, execution.id.as_str(), &facts).await?;
    tx.commit().await?;
    world.point("draft.recorded");
    Ok(execution)
}

async fn run_in_folder(
    world: &World,
    (task, context, agent): (&TaskRow, &ProjectContext, &Agent),
    draft: &FixDraft,
    execution: &Execution,
    folder: &Path,
    begun: Begun<'_>,
    cancel: &CancellationToken,
) -> Result<(RunOutcome, Cost)> {
    let tree = folder.join("tree");
    let prompt_file = folder.join("prompt.md");
    let (memo, kept) = match begun {
        Begun::Anew { prompt, cost } => {
            let prompt = core::redaction::redactor_in(world, context).text(prompt).into_owned();
            make_folder(world, context, draft, &tree, (&prompt_file, &prompt)).await?;
            (memo_of(agent, prompt, cost), 0)
        }
        Begun::Earlier(kept) => (kept.memo, kept.processes),
    };
    let (id, log_dir) = (execution.id.as_str(), world.log_dir(&task.project_id, &task.id));
    let environment = core::environment::agent_environment(world, Some(context), agent, None).await?;
    let redactor = environment.redactor();
    let log = LogWriter::open(&log_dir, id, id, DEFAULT_CAP_BYTES, Arc::clone(redactor))?;
    if kept > 0 {
        log.tell_again();
    }
    let here = Subject::command_in(None, &Location::Here, cancel);
    let subject = Subject { agent: Some(agent), folders: vec![folder.to_owned()], ..here };
    let confined = core::confinement::confine(world, context, &environment, subject).await?;
    // Nothing on this computer is waited for.
    let mut confinement = confined.unwrap_or_default();
    confinement.begin_log(&log);
    let growth = program::log::follow_log(world, &task.project_id, Some(&task.id), id, &log);
    let mut env = program::given::task_env(world, context, task, None);
    env.push(("FORGE_AGENT_ID".to_owned(), agent.id.0.clone()));
    env.push(("FORGE_EXECUTION_ID".to_owned(), execution.id.0.clone()));
    env.push(("FORGE_ROLE".to_owned(), execution.role.to_string()));
    env.push(("FORGE_PROMPT_FILE".to_owned(), prompt_file.to_string_lossy().into_owned()));
    let mut tx = world.store().write().await?;
    tx.executions_mut().set_withheld(&execution.id, &environment.withheld_names()).await?;
    tx.commit().await?;
    let launch = Launch {
        execution_id: id.to_owned(),
        task_id: task.id.0.clone(),
        keeper: world.keeper().clone(),
        process: 1,
        kept,
        memo: memo.to_bytes(),
        log: log.clone(),
        config: memo.config,
        model: memo.model,
        prompt: memo.prompt,
        prompt_file,
        worktree: tree,
        given: None,
        base: environment.base(),
        env,
        shell: environment.shell().to_vec(),
        sandbox: confinement.sandbox(),
        limits: memo.limits,
        grace: GRACE,
        session: memo.session,
        carry: memo.carry,
        role: memo.role,
        permissions: memo.permissions,
        mcp: memo.mcp,
        started: Box::new(|_| {}),
    };
    let (control, handle, told) = Control::new(cancel.child_token());
    run::running::keep_draft(world, &execution.id, handle.clone());
    let listening = run::events::listen_to_run(world, task.id.clone(), execution.id.clone(), handle, told);
    world.point("draft.starting");
    if kept > 0 {
        run::adopted::tell_again(world, &task.id, &execution.id).await?;
    }
    let outcome = redacted_outcome(log.redactor(), adapter(memo.adapter).run(launch, &control).await);
    drop(control);
    run::running::forget_draft(world, &execution.id);
    world.point("draft.ended");
    let cost = listening.over().await?.cost();
    drop(growth);
    confinement.note_refusals(&log);
    if let Some(report) = confinement.end(world, &log).await? {
        run::write_sandbox(world, &execution.id, &report).await?;
    }
    program::log::close_log(world, log).await?;
    Ok((outcome, cost))
}

/// Makes the folder that a drafter works in, with a copy of the file.
async fn make_folder(
    world: &World,
    context: &ProjectContext,
    draft: &FixDraft,
    tree: &Path,
    (prompt_file, prompt): (&Path, &str),
) -> Result<()> {
    let copy = tree.join(&draft.file);
    let repo = core::repository::repo(world, context).await?;
    require_trust_of_draft(world, context, &repo, draft).await?;
    let content = repo.file_at(&draft.base_commit, &draft.file, u64::MAX).await?.unwrap_or_default();
    let make = async {
        tokio::fs::create_dir_all(copy.parent().unwrap_or(tree)).await?;
        private_data::write(&copy, content).await?;
        private_data::write(prompt_file, prompt).await
    };
    make.await.map_err(EngineError::io("create the folder of a draft"))
}

fn memo_of(agent: &Agent, prompt: String, cost: Option<CostLimit>) -> LaunchMemo {
    let limits = limits_of(agent);
    let wall_clock = Some(limits.wall_clock.map_or(MOST_TIME, |own| own.min(MOST_TIME)));
    LaunchMemo {
        adapter: agent.adapter,
        config: agent.config.clone(),
        model: agent.model.clone(),
        prompt,
        session: SessionRequest::New,
        carry: None,
        role: ExecutionRole::Drafter,
        permissions: PermissionMode::ReadOnly,
        limits: Limits { wall_clock, cost, ..limits },
        mcp: None,
    }
}

/// The folder of a draft holds one file of the commit, which may be one that programs start with. The project's own
/// settings, which Forge's files make, say which agent runs there.
async fn require_trust_of_draft(
    world: &World,
    context: &ProjectContext,
    repo: &Repo,
    draft: &FixDraft,
) -> Result<()> {
    let commits = vec![draft.base_commit.clone()];
    let default_commit = branch_tip(repo, &context.project.default_branch).await?;
    trust::require_trust(world, context, repo, &Start { commits, default_commit, ..Start::default() }).await
}

async fn end_drafter(
    world: &World,
    task: &TaskRow,
    execution: &Execution,
    outcome: &RunOutcome,
    cost: Cost,
    cancel: &CancellationToken,
) -> Result<Execution> {
    let mut execution = execution.clone();
    let mut tx = world.store().write().await?;
    tx.processes_mut().delete(&marker_of(execution.id.as_str()).0).await?;
    if world.inner.shutdown.is_cancelled() && outcome.result.is_err() {
        // The next start sees that it was cut short.
        tx.commit().await?;
        execution.status = ExecutionStatus::Lost;
        return Ok(execution);
    }
    if let Some(row) = tx.executions().get(&execution.id).await? {
        execution = row.execution;
    }
    let stopped = cancel.is_cancelled() && outcome.result == Err(AgentError::Cancelled);
    write_end(&mut execution, outcome, cost, stopped, world.now());
    tx.executions_mut().update(&execution).await?;
    tx.approvals_mut().expire(&execution.id, None, world.now()).await?;
    if let Err(AgentError::RateLimited { until_ms }) = &outcome.result {
        tx.limits_mut().put(&execution.agent_id, Timestamp(*until_ms)).await?;
    }
    let facts = json!({ "status": execution.status, "role": execution.role });
    world.emit(&mut tx, EventType::ExecutionFinished, task, execution.id.as_str(), &facts).await?;
    tx.commit().await?;
    Ok(execution)
}
