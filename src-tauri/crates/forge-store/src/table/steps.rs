//! `steps`: what is still to be done for each task, in order, and the record of what was.

use forge_model::ids::{ExecutionId, TaskId};
use forge_model::time::Timestamp;
use forge_model::transition::{StepKind, StepOutcome, StepStatus};
use forge_model::workflow::{Action, Audience, OnFailure};
use serde_json::Value;
use sqlx::{Row as _, sqlite::SqliteRow};

use crate::{
    StoreError,
    row::{Columns, json_opt},
};

handles!(steps() -> Steps, steps_mut() -> StepsMut);

/// A step as stored.
#[derive(Debug, Clone, PartialEq)]
pub struct StepRow {
    /// Its number; steps of a task run in this order.
    pub id: i64,
    /// The task.
    pub task_id: TaskId,
    /// The move that asked for it.
    pub transition_seq: Option<i64>,
    /// The execution that it is about.
    pub execution_id: Option<ExecutionId>,
    /// The task's state that it belongs to.
    pub state: String,
    /// What it does.
    pub kind: StepKind,
    /// The phase shown to people.
    pub phase: String,
    /// The workflow action, for `StepKind::Action`.
    pub action: Option<Action>,
    /// Its parameters.
    pub params: Option<Value>,
    /// What its failure does.
    pub on_failure: Option<OnFailure>,
    /// Moves that run it.
    pub applies_to: Audience,
    /// Where it is.
    pub status: StepStatus,
    /// How it ended.
    pub outcome: Option<StepOutcome>,
    /// Why.
    pub reason: Option<String>,
    /// Log with its output.
    pub log_id: Option<String>,
    /// Not to be run earlier.
    pub not_before: Option<Timestamp>,
    /// How often it was begun; more than once after a crash or a wait.
    pub runs: u32,
    /// When it was first begun.
    pub started_at: Option<Timestamp>,
    /// When it ended.
    pub finished_at: Option<Timestamp>,
}

impl StepRow {
    /// A step that is still to run.
    #[must_use]
    pub fn pending(task: &TaskId, state: &str, kind: StepKind, phase: &str) -> Self {
        Self {
            id: 0,
            task_id: task.clone(),
            transition_seq: None,
            execution_id: None,
            state: state.to_owned(),
            kind,
            phase: phase.to_owned(),
            action: None,
            params: None,
            on_failure: None,
            applies_to: Audience::All,
            status: StepStatus::Pending,
            outcome: None,
            reason: None,
            log_id: None,
            not_before: None,
            runs: 0,
            started_at: None,
            finished_at: None,
        }
    }
}

impl Steps<'_> {
    /// Whether a step is part of an agent's start: of its move, a step that gives a place goes before it, and no race comes
    /// between.
    ///
    /// # Errors
    /// When it cannot be read.
    pub async fn is_for_agent(&mut self, step: &StepRow) -> Result<bool, StoreError> {
        let row = sqlx::query(
            "SELECT kind FROM steps WHERE transition_seq IS ?2 AND task_id = ?1 AND id <= ?3 AND kind IN ('admit', 'race')
             ORDER BY id DESC LIMIT 1",
        )
        .bind(step.task_id.as_str())
        .bind(step.transition_seq)
        .bind(step.id)
        .fetch_optional(&mut *self.conn)
        .await?;
        Ok(row.is_some_and(|row| row.get::<String, _>("kind") == StepKind::Admit.as_str()))
    }

    /// The next step of a task that is not over.
    ///
    /// # Errors
    /// When it cannot be read.
    pub async fn next(&mut self, task: &TaskId) -> Result<Option<StepRow>, StoreError> {
        let row =
            sqlx::query("SELECT * FROM steps WHERE task_id = ?1 AND status <> 'done' ORDER BY id LIMIT 1")
                .bind(task.as_str())
                .fetch_optional(&mut *self.conn)
                .await?;
        row.as_ref().map(read).transpose()
    }

    /// Whether anything is still to be done for a task.
    ///
    /// # Errors
    /// When it cannot be read.
    pub async fn any_open(&mut self, task: &TaskId) -> Result<bool, StoreError> {
        Ok(self.next(task).await?.is_some())
    }

    /// The tasks for which something is still to be done: first those that were at it, then by age.
    ///
    /// # Errors
    /// When they cannot be read.
    pub async fn tasks_with_open(&mut self) -> Result<Vec<TaskId>, StoreError> {
        let rows = sqlx::query("SELECT task_id FROM steps WHERE status <> 'done' GROUP BY task_id ORDER BY max(status = 'running') DESC, min(id)")
            .fetch_all(&mut *self.conn)
            .await?;
        Ok(rows.iter().map(|row| TaskId(row.get(0))).collect())
    }

    /// The steps of a task that are not over, in order.
    ///
    /// # Errors
    /// When they cannot be read.
    pub async fn open(&mut self, task: &TaskId) -> Result<Vec<StepRow>, StoreError> {
        let rows = sqlx::query("SELECT * FROM steps WHERE task_id = ?1 AND status <> 'done' ORDER BY id")
            .bind(task.as_str())
            .fetch_all(&mut *self.conn)
            .await?;
        rows.iter().map(read).collect()
    }

    /// Whether the hooks that hear of stopped work were queued since the state's barrier was last set up. Never
    /// so for a state without a barrier.
    ///
    /// # Errors
    /// When it cannot be read.
    pub async fn is_work_stopped(&mut self, task: &TaskId, state: &str) -> Result<bool, StoreError> {
        let row = sqlx::query(
            "SELECT coalesce(max(CASE WHEN kind = 'hook' AND phase = 'on_work_stop' THEN id END)
             > max(CASE WHEN kind = 'clear_barrier' THEN id END), 0) FROM steps WHERE task_id = ?1 AND state = ?2",
        )
        .bind(task.as_str())
        .bind(state)
        .fetch_one(&mut *self.conn)
        .await?;
        Ok(row.get::<i64, _>(0) != 0)
    }

    /// The steps of a task, oldest first.
    ///
    /// # Errors
    /// When they cannot be read.
    pub async fn list(&mut self, task: &TaskId) -> Result<Vec<StepRow>, StoreError> {
        let rows = sqlx::query("SELECT * FROM steps WHERE task_id = ?1 ORDER BY id")
            .bind(task.as_str())
            .fetch_all(&mut *self.conn)
            .await?;
        rows.iter().map(read).collect()
    }

    /// Whether a step of any task has a log of that name.
    ///
    /// # Errors
    /// When it cannot be read.
    pub async fn has_log(&mut self, log_id: &str) -> Result<bool, StoreError> {
        let row = sqlx::query("SELECT 1 FROM steps WHERE log_id = ?1 LIMIT 1")
            .bind(log_id)
            .fetch_optional(&mut *self.conn)
            .await?;
        Ok(row.is_some())
    }

    /// The begun merges that are not over, in the order in which they were begun.
    ///
    /// # Errors
    /// When they cannot be read.
    pub async fn merging(&mut self) -> Result<Vec<StepRow>, StoreError> {
        let rows = sqlx::query(
            "SELECT * FROM steps WHERE status <> 'done' AND action = 'run_merge' AND started_at IS NOT NULL ORDER BY started_at, id",
        )
        .fetch_all(&mut *self.conn)
        .await?;
        rows.iter().map(read).collect()
    }

    /// The task that a log belongs to: that of a step, a check or a set-up. A check's log is named for its review:
    /// others may show it, too.
    ///
    /// # Errors
    /// When it cannot be read.
    pub async fn task_of_log(&mut self, log_id: &str) -> Result<Option<TaskId>, StoreError> {
        let row = sqlx::query(
            "SELECT task_id FROM steps WHERE log_id = ?1
             UNION ALL SELECT task_id FROM reviews WHERE id = ?2
             UNION ALL SELECT task_id FROM workspaces WHERE ?1 LIKE 'setup-' || id || '-%' LIMIT 1",
        )
        .bind(log_id)
        .bind(log_id.strip_prefix("check-").and_then(|rest| rest.rsplit_once('-')).map(|(review, _)| review))
        .fetch_optional(&mut *self.conn)
        .await?;
        Ok(row.map(|row| TaskId(row.get(0))))
    }

    /// How the steps of one move ended, by action.
    ///
    /// # Errors
    /// When they cannot be read.
    pub async fn of_transition(&mut self, seq: i64) -> Result<Vec<StepRow>, StoreError> {
        let rows = sqlx::query("SELECT * FROM steps WHERE transition_seq = ?1 ORDER BY id")
            .bind(seq)
            .fetch_all(&mut *self.conn)
            .await?;
        rows.iter().map(read).collect()
    }
}

impl StepsMut<'_> {
    /// Appends a step; its `id` is set.
    ///
    /// # Errors
    /// When it cannot be written.
    pub async fn insert(&mut self, s: &mut StepRow) -> Result<(), StoreError> {
        let row = sqlx::query(
            "INSERT INTO steps (task_id, transition_seq, execution_id, state, kind, phase, action, params, on_failure, applies_to,
             status, outcome, reason, log_id, not_before, runs, started_at, finished_at)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18) RETURNING id",
        )
        .bind(s.task_id.as_str())
        .bind(s.transition_seq)
        .bind(s.execution_id.as_ref().map(ExecutionId::as_str))
        .bind(&s.state)
        .bind(s.kind.as_str())
        .bind(&s.phase)
        .bind(s.action.map(Action::as_str))
        .bind(json_opt(s.params.as_ref())?)
        .bind(json_opt(s.on_failure.as_ref())?)
        .bind(s.applies_to.as_str())
        .bind(s.status.as_str())
        .bind(s.outcome.map(StepOutcome::as_str))
        .bind(self.tx.text_opt(s.reason.as_ref()))
        .bind(&s.log_id)
        .bind(s.not_before.map(|time| time.0))
        .bind(s.runs)
        .bind(s.started_at.map(|time| time.0))
        .bind(s.finished_at.map(|time| time.0))
        .fetch_one(self.tx.sqlite())
        .await?;
        s.id = row.get(0);
        Ok(())
    }

    /// Writes how far a step has come.
    ///
    /// # Errors
    /// When it cannot be written.
    pub async fn update(&mut self, s: &StepRow) -> Result<(), StoreError> {
        sqlx::query(
            "UPDATE steps SET status = ?2, outcome = ?3, reason = ?4, log_id = ?5, not_before = ?6, runs = ?7, started_at = ?8,
             finished_at = ?9, params = ?10, execution_id = ?11 WHERE id = ?1",
        )
        .bind(s.id)
        .bind(s.status.as_str())
        .bind(s.outcome.map(StepOutcome::as_str))
        .bind(self.tx.text_opt(s.reason.as_ref()))
        .bind(&s.log_id)
        .bind(s.not_before.map(|time| time.0))
        .bind(s.runs)
        .bind(s.started_at.map(|time| time.0))
        .bind(s.finished_at.map(|time| time.0))
        .bind(json_opt(s.params.as_ref())?)
        .bind(s.execution_id.as_ref().map(ExecutionId::as_str))
        .execute(self.tx.sqlite())
        .await?;
        Ok(())
    }

    /// Ends every open step of a task without running it. Not among them: the cleanup of worktrees, hooks of
    /// events that have happened, and hooks that run beside everything else. A blocking hook that was running
    /// was cut short.
    ///
    /// # Errors
    /// When it cannot be written.
    pub async fn skip_open(&mut self, task: &TaskId, reason: &str, now: Timestamp) -> Result<(), StoreError> {
        sqlx::query(
            "UPDATE steps SET status = 'done', finished_at = ?3,
             outcome = CASE WHEN kind = 'hook' AND status = 'running' THEN 'failed' ELSE 'skipped' END,
             reason = CASE WHEN kind = 'hook' AND status = 'running' THEN 'interrupted' ELSE ?2 END
             WHERE task_id = ?1 AND status <> 'done' AND kind <> 'cleanup' AND NOT (kind = 'hook' AND (
               (status = 'pending' AND phase <> 'before_work') OR (status = 'running' AND on_failure IS NULL)))",
        )
        .bind(task.as_str())
        .bind(reason)
        .bind(now.0)
        .execute(self.tx.sqlite())
        .await?;
        Ok(())
    }
}

fn read(row: &SqliteRow) -> Result<StepRow, StoreError> {
    let c = Columns(row);
    Ok(StepRow {
        id: c.int("id")?,
        task_id: c.text("task_id")?,
        transition_seq: c.int_opt("transition_seq")?,
        execution_id: c.text_opt("execution_id")?,
        state: c.text("state")?,
        kind: c.name("kind")?,
        phase: c.text("phase")?,
        action: c.name_opt("action")?,
        params: c.json_opt("params")?,
        on_failure: c.json_opt("on_failure")?,
        applies_to: c.name("applies_to")?,
        status: c.name("status")?,
        outcome: c.name_opt("outcome")?,
        reason: c.text_opt("reason")?,
        log_id: c.text_opt("log_id")?,
        not_before: c.time_opt("not_before")?,
        runs: c.int("runs")?,
        started_at: c.time_opt("started_at")?,
        finished_at: c.time_opt("finished_at")?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{seeded, task};

    async fn added(tx: &mut crate::Tx, task: &str, kind: StepKind) -> StepRow {
        let mut step = StepRow::pending(&task.into(), "todo", kind, "phase");
        tx.steps_mut().insert(&mut step).await.unwrap();
        step
    }

    #[tokio::test]
    async fn steps_run_in_the_order_in_which_they_were_added() {
        let mut tx = seeded().await;
        let first = added(&mut tx, "t", StepKind::UndoWindow).await;
        let second = added(&mut tx, "t", StepKind::Admit).await;
        assert!(second.id > first.id);
        assert_eq!(tx.steps().next(&"t".into()).await.unwrap().as_ref(), Some(&first));
        assert_eq!(tx.steps().open(&"t".into()).await.unwrap(), [first.clone(), second.clone()]);
        let done = StepRow {
            status: StepStatus::Done,
            outcome: Some(StepOutcome::Ok),
            reason: Some("so".to_owned()),
            log_id: Some("log".to_owned()),
            runs: 2,
            started_at: Some(Timestamp(3)),
            finished_at: Some(Timestamp(4)),
            ..first
        };
        tx.steps_mut().update(&done).await.unwrap();
        assert_eq!(tx.steps().next(&"t".into()).await.unwrap().as_ref(), Some(&second));
        assert_eq!(tx.steps().list(&"t".into()).await.unwrap(), [done, second]);
        assert!(tx.steps().has_log("log").await.unwrap());
        assert_eq!(tx.steps().task_of_log("log").await.unwrap(), Some("t".into()));
        assert_eq!(tx.steps().task_of_log("other").await.unwrap(), None);
    }

    #[tokio::test]
    async fn open_steps_are_skipped_for_one_task_and_no_other() {
        let mut tx = seeded().await;
        tx.tasks_mut().insert(&task("u", 2)).await.unwrap();
        for task in ["t", "u"] {
            added(&mut tx, task, StepKind::Admit).await;
        }
        let running =
            StepRow { status: StepStatus::Running, ..added(&mut tx, "u", StepKind::UndoWindow).await };
        tx.steps_mut().update(&running).await.unwrap();
        let at_it_first = tx.steps().tasks_with_open().await.unwrap();
        assert_eq!(at_it_first, ["u", "t"].map(TaskId::from));
        tx.steps_mut().skip_open(&"t".into(), "moved", Timestamp(5)).await.unwrap();
        assert!(!tx.steps().any_open(&"t".into()).await.unwrap());
        assert!(tx.steps().any_open(&"u".into()).await.unwrap());
        let skipped = tx.steps().list(&"t".into()).await.unwrap().remove(0);
        assert_eq!((skipped.status, skipped.finished_at), (StepStatus::Done, Some(Timestamp(5))));
    }
}
