//! The ordered subtasks of a task: one turn of its coder each, after its own.
//!
//! A turn is a run of the parent's agent in the parent's worktree. Which subtask it is for is decided when the run
//! is recorded; what it did to the branch is recorded on the subtask together with the subtask's end, so a kill at
//! any point leaves a turn that is still to run, or one that is over.

use forge_git::GitError;
use forge_model::actor::{Actor, Cause};
use forge_model::correction::Correction;
use forge_model::event::EventType;
use forge_model::execution::{Execution, ExecutionStatus};
use forge_model::ids::TaskId;
use forge_model::task::{AnnotationType, CommitResult, CommitResultKind, WaitReason};
use forge_model::transition::StepKind;
use forge_model::workflow::StateKind;
use forge_model::workspace::Workspace;
use forge_store::Tx;
use forge_store::table::{executions::ExecutionRow, tasks::TaskRow};
use serde_json::json;

use crate::{
    World,
    core::{
        self,
        block_reason::BlockReason,
        context::{ProjectContext, backup_prefix, is_closed},
        moves::{EntryInput, Move},
        prerequisites::{named, open_prerequisites},
        world::step::{Effect, End, Stepping},
    },
    error::Result,
    subtask::open_parts,
    workspace::{self, unfinished::Settled},
};

/// What a turn is about to commit, written down before it does.
#[derive(Debug, Clone, serde::Serialize, serde::Deserialize)]
struct Intent {
    /// The branch's commit before Forge's own.
    head: String,
}

/// Whether a run that is repeated was a part's turn that did not end well. When that part was closed since, the
/// sequence goes on with the next part: the parent's own turn was over before any part's began.
pub(crate) fn is_failed_turn(last: Option<&ExecutionRow>) -> bool {
    last.is_some_and(|row| {
        row.execution.subtask_id.is_some() && row.execution.status != ExecutionStatus::Finished
    })
}

/// What follows a run when ordered subtasks are open: the turn of the next one. None when there is none.
pub(crate) async fn next_turn(world: &World, s: &Stepping) -> Result<Option<End>> {
    if s.context.workflow.work_state().is_none_or(|work| work.name != s.task.status) {
        return Ok(None);
    }
    let mut conn = world.store().read().await?;
    let Some(next) = open_parts(&mut conn, &s.context, &s.task.id).await?.into_iter().next() else {
        return Ok(None);
    };
    let name = named(std::slice::from_ref(&next));
    if let Some(why) = super::turn_obstacle(&mut conn, &s.context, &s.task).await? {
        let mut trouble =
            BlockReason::new(AnnotationType::SubtaskPaused, format!("{name} could not start: {why}"));
        trouble.details = json!({ "code": "PARENT_WORKSPACE_REQUIRED", "subtask_id": next.id });
        return Ok(Some(End::Block(trouble)));
    }
    if next.held {
        return Ok(Some(End::wait(WaitReason::Held, format!("{name} is on hold"))));
    }
    let open = open_prerequisites(&mut conn, &s.context, &next.id).await?;
    if let Some(gone) = open.iter().find(|task| s.context.is_cancelled(task)) {
        let message = format!("{name} waits for #{}, which was cancelled", gone.number);
        let mut trouble = BlockReason::new(AnnotationType::SubtaskPaused, message);
        trouble.details = json!({ "subtask_id": next.id, "prerequisite": gone.id });
        return Ok(Some(End::Block(trouble)));
    }
    if !open.is_empty() {
        let message = format!("{name} waits for {}", named(&open));
        return Ok(Some(End::wait(WaitReason::DependencyOpen, message)));
    }
    drop(conn);
    let input = EntryInput {
        cause: Some(format!("subtask #{}", next.number)),
        subtask_turn: true,
        ..EntryInput::default()
    };
    core::again::run_once_more(world, s, input).await.map(Some)
}

/// The part whose turn a run is to be: the first open one, which is at work from now on. Without one the
/// parent goes on.
pub(crate) async fn begin_turn(world: &World, tx: &mut Tx, s: &Stepping) -> Result<Option<TaskRow>> {
    let Some(mut part) = open_parts(tx, &s.context, &s.task.id).await?.into_iter().next() else {
        let last = tx.executions().last(&s.task.id).await?;
        tx.slots_mut().release(&s.task.id).await?;
        if let Some(last) = last {
            // What a failed turn left belongs to the task's work like what any other run leaves.
            let follow = [StepKind::CommitWork, StepKind::Advance];
            core::entry::append_work_steps(tx, &s.task, &last.execution.id, &follow).await?;
        }
        return Ok(None);
    };
    if part.status != s.task.status {
        let mv = Move::by(&s.task.status, "turn", Actor::System { cause: Cause::Workflow });
        core::transition::apply(world, tx, &s.context, &mut part, mv).await?;
    }
    Ok(Some(part))
}

/// Whether a run that is repeated is a part's turn that is not over.
pub(crate) async fn is_open_turn(
    tx: &mut Tx,
    context: &ProjectContext,
    last: Option<&ExecutionRow>,
) -> Result<bool> {
    let Some(id) = last.and_then(|row| row.execution.subtask_id.as_ref()) else { return Ok(false) };
    Ok(tx.tasks().get(id).await?.is_some_and(|part| !is_closed(context, &part)))
}

/// Commits what a turn left and ends its part. A tree that cannot be committed pauses the sequence.
pub(crate) async fn commit_turn(
    world: &World,
    s: &Stepping,
    mut execution: Execution,
    workspace: &Workspace,
    part: &TaskId,
) -> Result<End> {
    let Some(part) = world.store().read().await?.tasks().get(part).await? else {
        return Ok(End::skipped("the subtask was deleted"));
    };
    if part.commit_result.is_some() && is_closed(&s.context, &part) {
        return Ok(End::Ok(Some("committed before".to_owned())));
    }
    let worktree = core::repository::worktree(world, &s.context, workspace).await?;
    if let Settled::Open(trouble) = workspace::unfinished::finish_git_operation(world, s, workspace).await? {
        return Ok(End::Block(paused(&part, &execution, &trouble.message, &trouble.details)));
    }
    let seen = worktree.uncommitted().await?;
    if let Some(end) =
        workspace::nested::refuse_embedded(world, s, workspace, &seen, Some(&execution)).await?
    {
        return Ok(end);
    }
    let before = before_turn(world, s, &part, &execution).await?;
    let base = before.clone().unwrap_or_else(|| workspace.base_commit.clone());
    let marked = worktree.conflict_markers(&worktree.changed_paths(&base).await?).await?;
    if !marked.is_empty() {
        let message = format!("conflict markers are left in {}", marked.join(", "));
        return Ok(End::Block(paused(&part, &execution, &message, &json!({ "files": marked }))));
    }
    let Some(intent) = intend(world, s, worktree.head().await?).await? else {
        return Ok(End::Interrupted);
    };
    let author = s.context.settings.author.as_ref().map(|a| (a.name.as_str(), a.email.as_str()));
    let message = format!("{}\n\nSubtask #{} of task #{}", part.title, part.number, s.task.number);
    let message = core::redaction::redacted_in(world, &s.context, message);
    let prefix = backup_prefix(&s.task);
    match worktree.commit_all_keeping_staged(&seen, &message, author, &prefix).await {
        Err(GitError::CommitRefused { output }) => {
            let message = "the repository's hooks refused the commit";
            return Ok(End::Block(paused(&part, &execution, message, &json!({ "output": output }))));
        }
        other => drop(other?),
    }
    world.point("turn.committed");
    let after = worktree.head().await?;
    let kind = if after != intent.head {
        CommitResultKind::ForgeCommit
    } else if before.as_ref().is_some_and(|before| *before != after) {
        CommitResultKind::AgentCommitRange
    } else {
        CommitResultKind::NoDiff
    };
    let result = CommitResult { kind, before, after: Some(after.clone()) };
    execution.after_commit = Some(after);
    let stat = workspace::measure::measure(world, s, workspace).await?;
    let mut tx = world.store().write().await?;
    tx.executions_mut().update(&execution).await?;
    if let Some(mut task) = tx.tasks().get(&s.task.id).await? {
        task.diff_stat = Some(stat);
        tx.tasks_mut().update(&mut task, world.now()).await?;
    }
    let closed = end_part(world, &mut tx, &s.context, &part.id, result).await?;
    tx.commit().await?;
    world.point("turn.recorded");
    if closed {
        core::follow::act(world, vec![Effect::Kick(part.id)]);
    }
    Ok(End::Ok(Some(format!("#{}: {kind}", part.number))))
}

/// Writes how a part's turn was committed, and that it is done unless a person closed it. Says whether.
async fn end_part(
    world: &World,
    tx: &mut Tx,
    context: &ProjectContext,
    id: &TaskId,
    result: CommitResult,
) -> Result<bool> {
    let Some(mut part) = tx.tasks().get(id).await? else { return Ok(false) };
    part.commit_result = Some(result);
    if is_closed(context, &part) {
        tx.tasks_mut().update(&mut part, world.now()).await?;
        let facts = json!({ "commit_result": part.commit_result });
        world.emit(tx, EventType::TaskUpdated, &part, id.as_str(), &facts).await?;
        return Ok(false);
    }
    let Some(done) = done_state(context) else { return Ok(false) };
    let mv = Move::by(&done, "turn", Actor::System { cause: Cause::Workflow });
    core::transition::apply(world, tx, context, &mut part, mv).await?;
    Ok(true)
}

/// The branch's commit before the part's first run, counted from when it was last opened.
async fn before_turn(
    world: &World,
    s: &Stepping,
    part: &TaskRow,
    execution: &Execution,
) -> Result<Option<String>> {
    let mut conn = world.store().read().await?;
    let is_terminal =
        |name: &str| s.context.workflow.state(name).is_some_and(|state| state.kind == StateKind::Terminal);
    let moves = conn.transitions().list(&part.id).await?;
    let opened = moves.iter().rev().find(|row| is_terminal(&row.from)).map_or(0, |row| row.seq);
    let first = conn
        .executions()
        .list(&s.task.id)
        .await?
        .into_iter()
        .find(|row| row.execution.subtask_id.as_ref() == Some(&part.id) && row.after_transition > opened);
    Ok(first.and_then(|row| row.execution.before_commit).or_else(|| execution.before_commit.clone()))
}

/// Writes down where the branch is before Forge commits; after a kill, what was written then. None when
/// the step is no longer wanted.
async fn intend(world: &World, s: &Stepping, head: String) -> Result<Option<Intent>> {
    let mut tx = world.store().write().await?;
    let current = tx.steps().next(&s.task.id).await?.filter(|step| step.id == s.step.id);
    let Some(mut step) = current else { return Ok(None) };
    if let Some(written) = step.params.clone() {
        return Ok(Some(serde_json::from_value(written).map_err(core::entry::corrupt_step)?));
    }
    let intent = Intent { head };
    step.params = Some(serde_json::to_value(&intent).map_err(core::entry::corrupt_step)?);
    tx.steps_mut().update(&step).await?;
    tx.commit().await?;
    world.point("turn.intended");
    Ok(Some(intent))
}

/// Where a part goes when its turn is over: where merged tasks go, else the first state of closed tasks.
fn done_state(context: &ProjectContext) -> Option<String> {
    let workflow = &context.workflow;
    let closed = |name: &str| name != workflow.cancellation_state;
    let merged = workflow.merged().filter(|state| state.is_terminal() && closed(&state.name));
    merged
        .or_else(|| workflow.states.iter().find(|state| state.is_terminal() && closed(&state.name)))
        .map(|state| state.name.clone())
}

fn paused(part: &TaskRow, execution: &Execution, why: &str, details: &serde_json::Value) -> BlockReason {
    let mut trouble = BlockReason::new(
        AnnotationType::SubtaskPaused,
        format!("could not commit the work of #{} {}: {why}", part.number, part.title),
    );
    trouble.details =
        json!({ "subtask_id": part.id, "number": part.number, "title": part.title, "why": details });
    trouble.execution = Some(execution.id.clone());
    trouble
}

/// What the run at hand is told about the parts.
pub(crate) fn frame(corrections: &mut Vec<Correction>, turn: Option<&TaskRow>, follow: &[TaskRow]) {
    corrections.retain(|correction| !correction.is_of_one_turn());
    if let Some(part) = turn {
        corrections.push(Correction::Subtask {
            number: part.number,
            title: part.title.clone(),
            description: part.description.clone(),
        });
    } else if !follow.is_empty() {
        let parts = follow.iter().map(|part| format!("#{} {}", part.number, part.title)).collect();
        corrections.push(Correction::PartsFollow { parts });
    }
}
