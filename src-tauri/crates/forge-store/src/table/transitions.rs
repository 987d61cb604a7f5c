//! `transitions`: every move of every task. Rows are never changed.

use std::{borrow::Cow, collections::HashMap};

use forge_model::actor::Actor;
use forge_model::ids::{TaskId, TransitionId};
use forge_model::time::Timestamp;
use forge_model::workflow::Audience;
use sqlx::{QueryBuilder, Row as _, Sqlite, sqlite::SqliteRow};

use crate::{
    StoreError,
    row::{Columns, push_list},
};

handles!(transitions() -> Transitions, transitions_mut() -> TransitionsMut);

/// A move as stored.
#[derive(Debug, Clone, PartialEq)]
pub struct TransitionRow {
    /// Its number among all moves of all tasks.
    pub seq: i64,
    /// Identity.
    pub id: TransitionId,
    /// The task.
    pub task_id: TaskId,
    /// The state it left.
    pub from: String,
    /// The state it entered.
    pub to: String,
    /// What caused it.
    pub trigger: String,
    /// Who.
    pub actor: Actor,
    /// The audience of what started the chain: `user_only` or `agent_only`.
    pub audience: Audience,
    /// Why.
    pub reason: Option<String>,
    /// Whether the review budget counts it.
    pub rejection: bool,
    /// How many cascades lie between it and its cause.
    pub cascade_depth: u32,
    /// When.
    pub at: Timestamp,
}

impl Transitions<'_> {
    /// The latest move of a task.
    ///
    /// # Errors
    /// When it cannot be read.
    pub async fn last(&mut self, task: &TaskId) -> Result<Option<TransitionRow>, StoreError> {
        let row = sqlx::query("SELECT * FROM transitions WHERE task_id = ?1 ORDER BY seq DESC LIMIT 1")
            .bind(task.as_str())
            .fetch_optional(&mut *self.conn)
            .await?;
        row.as_ref().map(read).transpose()
    }

    /// One move by its number.
    ///
    /// # Errors
    /// When it cannot be read.
    pub async fn get(&mut self, seq: i64) -> Result<Option<TransitionRow>, StoreError> {
        let row = sqlx::query("SELECT * FROM transitions WHERE seq = ?1")
            .bind(seq)
            .fetch_optional(&mut *self.conn)
            .await?;
        row.as_ref().map(read).transpose()
    }

    /// All moves of a task, oldest first.
    ///
    /// # Errors
    /// When they cannot be read.
    pub async fn list(&mut self, task: &TaskId) -> Result<Vec<TransitionRow>, StoreError> {
        let rows = sqlx::query("SELECT * FROM transitions WHERE task_id = ?1 ORDER BY seq")
            .bind(task.as_str())
            .fetch_all(&mut *self.conn)
            .await?;
        rows.iter().map(read).collect()
    }

    /// The number of the newest move of any task.
    ///
    /// # Errors
    /// When it cannot be read.
    pub async fn max_seq(&mut self) -> Result<i64, StoreError> {
        Ok(sqlx::query("SELECT coalesce(max(seq), 0) FROM transitions")
            .fetch_one(&mut *self.conn)
            .await?
            .get(0))
    }

    /// What counts against the budgets of many tasks: rejections, and entries into a state, each after the
    /// task's own boundary.
    ///
    /// # Errors
    /// When it cannot be read.
    pub async fn spent(
        &mut self,
        tasks: &[TaskId],
        merge_failed: Option<&str>,
    ) -> Result<HashMap<TaskId, (u32, u32)>, StoreError> {
        let mut query = QueryBuilder::<Sqlite>::new(
            "SELECT x.task_id, sum(x.rejection) AS rejections, sum(x.to_state = ",
        );
        query.push_bind(merge_failed.unwrap_or("").to_owned());
        query.push(
            ") AS failed_merges FROM transitions x JOIN tasks t ON t.id = x.task_id AND x.seq > t.budget_boundary WHERE x.task_id IN ",
        );
        push_list(&mut query, tasks)?;
        query.push(" GROUP BY x.task_id");
        let rows = query.build().fetch_all(&mut *self.conn).await?;
        rows.iter()
            .map(|row| {
                let c = Columns(row);
                Ok((c.text("task_id")?, (c.int("rejections")?, c.int("failed_merges")?)))
            })
            .collect()
    }
}

impl TransitionsMut<'_> {
    /// Inserts a move; its `seq` is set.
    ///
    /// # Errors
    /// When it cannot be written.
    pub async fn insert(&mut self, t: &mut TransitionRow) -> Result<(), StoreError> {
        // What a person typed is the person's.
        let reason = match t.actor {
            Actor::User { .. } => t.reason.as_deref().map(Cow::Borrowed),
            Actor::Agent { .. } | Actor::System { .. } => self.tx.text_opt(t.reason.as_ref()),
        };
        let row = sqlx::query(
            "INSERT INTO transitions (id, task_id, from_state, to_state, trigger, actor, audience, reason, rejection, cascade_depth, at)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11) RETURNING seq",
        )
        .bind(t.id.as_str())
        .bind(t.task_id.as_str())
        .bind(&t.from)
        .bind(&t.to)
        .bind(&t.trigger)
        .bind(t.actor.to_string())
        .bind(t.audience.as_str())
        .bind(reason)
        .bind(t.rejection)
        .bind(t.cascade_depth)
        .bind(t.at.0)
        .fetch_one(self.tx.sqlite())
        .await?;
        t.seq = row.get(0);
        Ok(())
    }
}

fn read(row: &SqliteRow) -> Result<TransitionRow, StoreError> {
    let c = Columns(row);
    Ok(TransitionRow {
        seq: c.int("seq")?,
        id: c.text("id")?,
        task_id: c.text("task_id")?,
        from: c.text("from_state")?,
        to: c.text("to_state")?,
        trigger: c.text("trigger")?,
        actor: c.name("actor")?,
        audience: c.name("audience")?,
        reason: c.text_opt("reason")?,
        rejection: c.flag("rejection")?,
        cascade_depth: c.int("cascade_depth")?,
        at: c.time("at")?,
    })
}

#[cfg(test)]
mod tests {
    use forge_model::actor::Cause;

    use super::*;
    use crate::testing::{seeded, task};

    async fn moved(tx: &mut crate::Tx, task: &str, to: &str, rejection: bool) -> TransitionRow {
        let mut row = TransitionRow {
            seq: 0,
            id: format!("{task}-{to}-{rejection}").into(),
            task_id: task.into(),
            from: "todo".to_owned(),
            to: to.to_owned(),
            trigger: "walk".to_owned(),
            actor: Actor::System { cause: Cause::Workflow },
            audience: Audience::All,
            reason: Some("because".to_owned()),
            rejection,
            cascade_depth: 2,
            at: Timestamp(5),
        };
        tx.transitions_mut().insert(&mut row).await.unwrap();
        row
    }

    #[tokio::test]
    async fn moves_are_numbered_across_tasks_and_read_back_in_order() {
        let mut tx = seeded().await;
        tx.tasks_mut().insert(&task("u", 2)).await.unwrap();
        let first = moved(&mut tx, "t", "doing", false).await;
        let other = moved(&mut tx, "u", "doing", false).await;
        let last = moved(&mut tx, "t", "done", true).await;
        assert!(first.seq < other.seq && other.seq < last.seq);
        assert_eq!(tx.transitions().max_seq().await.unwrap(), last.seq);
        assert_eq!(tx.transitions().last(&"t".into()).await.unwrap().as_ref(), Some(&last));
        assert_eq!(tx.transitions().get(other.seq).await.unwrap(), Some(other));
        assert_eq!(tx.transitions().list(&"t".into()).await.unwrap(), [first, last]);
    }

    #[tokio::test]
    async fn budgets_count_only_moves_after_their_start() {
        let mut tx = seeded().await;
        let before = moved(&mut tx, "t", "failed", true).await;
        let mut row = tx.tasks().get(&"t".into()).await.unwrap().unwrap();
        row.budget_boundary = before.seq;
        tx.tasks_mut().update(&mut row, Timestamp(6)).await.unwrap();
        for (to, rejection) in [("todo", true), ("failed", false), ("doing", false)] {
            moved(&mut tx, "t", to, rejection).await;
        }
        let spent = tx.transitions().spent(&["t".into()], Some("failed")).await.unwrap();
        assert_eq!(spent, HashMap::from([("t".into(), (1, 1))]));
    }
}
