//! Which task some work belongs to: ordered subtasks and entries of a race are tasks that are worked on for another
//! task.

use forge_model::agent::Agent;
use forge_model::execution::ExecutionRole;
use forge_model::ids::TaskId;
use forge_model::inner_loop::Strategy;
use forge_model::race::RaceEntry;
use forge_model::race::RaceStatus;
use forge_model::task::ExecutionMode;
use forge_store::ReadConnection;
use forge_store::table::{executions::ExecutionRow, tasks::TaskRow};
use serde_json::{Value, json};

use crate::{ConflictCode, EngineError, error::Result};

/// Whether a task is an entry of a race.
pub(crate) fn is_entry(task: &TaskRow) -> bool {
    task.execution_mode == ExecutionMode::RaceEntry
}

/// Refuses what people do to tasks when it is an entry: its race alone moves it.
pub(crate) fn require_no_entry(task: &TaskRow) -> Result<()> {
    if !is_entry(task) {
        return Ok(());
    }
    Err(EngineError::conflict(
        ConflictCode::RaceEntry,
        format!("it is an entry of the race of #{}, and only its race moves it", task.number),
    ))
}

/// Whether a task is worked on in turns of its parent. One whose parent was deleted is a task like others.
pub(crate) fn is_ordered(task: &TaskRow) -> bool {
    task.execution_mode == ExecutionMode::OrderedTurn && task.parent_id.is_some()
}

/// What of an agent's profile is replaced: an entry's by its strategy, and afterwards that of the winner's agent
/// by the strategy that won.
pub(crate) async fn as_strategy(
    conn: &mut ReadConnection,
    task: &TaskRow,
    role: ExecutionRole,
    agent: &mut Agent,
) -> Result<Option<Strategy>> {
    if role != ExecutionRole::Coder {
        return Ok(None);
    }
    let entry = if is_entry(task) {
        let race = conn.races().of_entry(&task.id).await?;
        race.and_then(|race| race.entry_of(&task.id).cloned())
    } else {
        winner_of(conn, &task.id).await?.filter(|entry| entry.agent_id == agent.id)
    };
    let Some(strategy) = entry.map(|entry| entry.how()) else { return Ok(None) };
    if let Some(model) = &strategy.model {
        agent.model = Some(model.clone());
    }
    if let Some(effort) = &strategy.effort
        && let Some(config) = agent.config.as_object_mut()
    {
        config.insert("effort".to_owned(), json!(effort));
    }
    Ok(Some(strategy))
}

/// How hard an agent is asked to think.
pub(crate) fn effort_of(agent: &Agent) -> Option<String> {
    agent.config.get("effort").and_then(Value::as_str).map(str::to_owned)
}

/// The entry whose work is a task's since it won the task's race.
pub(crate) async fn winner_of(conn: &mut ReadConnection, task: &TaskId) -> Result<Option<RaceEntry>> {
    let race = conn.races().last(task).await?.filter(|race| race.status == RaceStatus::Promoted);
    Ok(race.and_then(|race| race.winner.as_deref().and_then(|name| race.entry(name)).cloned()))
}

/// The task that a run's work belongs to now: the raced task, for a run of the entry that won its race.
pub(crate) async fn task_of_work(conn: &mut ReadConnection, task: &TaskId) -> Result<TaskId> {
    let race = conn.races().of_entry(task).await?.filter(|race| race.status == RaceStatus::Promoted);
    Ok(match race {
        Some(race) if race.entry_of(task).map(|entry| &entry.strategy) == race.winner.as_ref() => {
            race.task_id
        }
        _ => task.clone(),
    })
}

/// The last run that worked on what a task is now: its own, or that of the entry that won its race.
pub(crate) async fn last_work(conn: &mut ReadConnection, task: &TaskId) -> Result<Option<ExecutionRow>> {
    let own = conn.executions().last_of(task, ExecutionRole::Coder).await?;
    let of_winner = match winner_of(conn, task).await? {
        Some(entry) => conn.executions().last_of(&entry.task_id, ExecutionRole::Coder).await?,
        None => None,
    };
    Ok(own.into_iter().chain(of_winner).max_by_key(|row| row.after_transition))
}

/// The commit that a task's worktree begins at, where a race says so.
pub(crate) async fn race_base(conn: &mut ReadConnection, task: &TaskRow) -> Result<Option<String>> {
    let race = if is_entry(task) {
        conn.races().of_entry(&task.id).await?
    } else {
        conn.races()
            .last(&task.id)
            .await?
            .filter(|race| matches!(race.status, RaceStatus::Decided | RaceStatus::Promoted))
    };
    Ok(race.map(|race| race.base_commit))
}

/// Whether the work of a task is that of a race's winner, whose checks ran on the same files.
pub(crate) async fn is_from_race(conn: &mut ReadConnection, task: &TaskId) -> Result<bool> {
    Ok(conn.races().last(task).await?.is_some_and(|race| race.status == RaceStatus::Promoted))
}

/// Whether a run judges work.
pub(crate) const fn audits(role: ExecutionRole) -> bool {
    matches!(role, ExecutionRole::Reviewer)
}
