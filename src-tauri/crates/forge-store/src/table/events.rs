//! `events`: the numbered change log. Numbers rise with the commits, because there is one writer.

use forge_model::event::{Event, EventType};
use forge_model::ids::{ProjectId, TaskId};
use forge_model::retention::{Bounds, Counts};
use forge_model::time::Timestamp;
use sqlx::{Row as _, sqlite::SqliteRow};

use crate::{StoreError, Tx, row::Columns};

handles!(events() -> Events, events_mut() -> EventsMut);

impl Tx {
    /// Records an event in this transaction; it is announced when the transaction commits.
    ///
    /// # Errors
    /// When it cannot be written.
    pub async fn emit(
        &mut self,
        kind: EventType,
        at: Timestamp,
        project: Option<&ProjectId>,
        task: Option<&TaskId>,
        entity: &str,
        data: &serde_json::Value,
    ) -> Result<i64, StoreError> {
        let text = self.json(data)?;
        let seq = self.events_mut().insert(kind, at, project, task, entity, &text).await?;
        self.announce(seq);
        Ok(seq)
    }
}

impl Events<'_> {
    /// The number of the newest event; 0 when there is none.
    ///
    /// # Errors
    /// When it cannot be read.
    pub async fn last_seq(&mut self) -> Result<i64, StoreError> {
        // The sequence table remembers the highest number even when all rows have been pruned.
        let row = sqlx::query("SELECT seq FROM sqlite_sequence WHERE name = 'events'")
            .fetch_optional(&mut *self.conn)
            .await?;
        Ok(row.map_or(0, |row| row.get(0)))
    }

    /// The number of the oldest event that is kept, if any is.
    ///
    /// # Errors
    /// When it cannot be read.
    pub async fn first_seq(&mut self) -> Result<Option<i64>, StoreError> {
        Ok(sqlx::query("SELECT min(seq) FROM events").fetch_one(&mut *self.conn).await?.get(0))
    }

    /// At most `limit` events after `after`, oldest first.
    ///
    /// # Errors
    /// When they cannot be read.
    pub async fn after(&mut self, after: i64, limit: u32) -> Result<Vec<Event>, StoreError> {
        let rows = sqlx::query("SELECT * FROM events WHERE seq > ?1 ORDER BY seq LIMIT ?2")
            .bind(after)
            .bind(limit)
            .fetch_all(&mut *self.conn)
            .await?;
        rows.iter().map(read).collect()
    }

    /// The time of the newest event that is not among the newest `keep`; none while there are not more.
    ///
    /// # Errors
    /// When it cannot be read.
    pub async fn beyond(&mut self, keep: u32) -> Result<Option<Timestamp>, StoreError> {
        let row = sqlx::query("SELECT at FROM events ORDER BY seq DESC LIMIT 1 OFFSET ?1")
            .bind(keep)
            .fetch_optional(&mut *self.conn)
            .await?;
        Ok(row.map(|row| Timestamp(row.get(0))))
    }

    /// How many events may go within bounds.
    ///
    /// # Errors
    /// When they cannot be counted.
    pub async fn count(&mut self, bounds: Bounds) -> Result<Counts, StoreError> {
        let row = sqlx::query(
            "SELECT coalesce(sum(at <= ?1), 0), coalesce(sum(at > ?1 AND at <= ?2), 0), count(*) FROM events",
        )
        .bind(bounds.kept.0)
        .bind(bounds.until.0)
        .fetch_one(&mut *self.conn)
        .await?;
        Ok(Counts { kept: row.get(0), doomed: row.get(1), total: row.get(2) })
    }
}

impl EventsMut<'_> {
    async fn insert(
        &mut self,
        kind: EventType,
        at: Timestamp,
        project: Option<&ProjectId>,
        task: Option<&TaskId>,
        entity: &str,
        data: &str,
    ) -> Result<i64, StoreError> {
        let row = sqlx::query(
            "INSERT INTO events (type, at, project_id, task_id, entity_id, data) VALUES (?1, ?2, ?3, ?4, ?5, ?6) RETURNING seq",
        )
        .bind(kind.as_str())
        .bind(at.0)
        .bind(project.map(ProjectId::as_str))
        .bind(task.map(TaskId::as_str))
        .bind(entity)
        .bind(data)
        .fetch_one(self.tx.sqlite())
        .await?;
        Ok(row.get(0))
    }

    /// Removes all but the newest `keep` events; returns how many went.
    ///
    /// # Errors
    /// When they cannot be removed.
    pub async fn prune(&mut self, keep: u32) -> Result<u64, StoreError> {
        let done = sqlx::query("DELETE FROM events WHERE seq <= (SELECT max(seq) FROM events) - ?1")
            .bind(keep)
            .execute(self.tx.sqlite())
            .await?;
        Ok(done.rows_affected())
    }

    /// Removes the events that may go within bounds.
    ///
    /// # Errors
    /// When they cannot be removed.
    pub async fn remove(&mut self, bounds: Bounds) -> Result<u64, StoreError> {
        let removed = sqlx::query("DELETE FROM events WHERE at > ?1 AND at <= ?2")
            .bind(bounds.kept.0)
            .bind(bounds.until.0)
            .execute(self.tx.sqlite())
            .await?;
        Ok(removed.rows_affected())
    }
}

fn read(row: &SqliteRow) -> Result<Event, StoreError> {
    let columns = Columns(row);
    Ok(Event {
        seq: columns.int("seq")?,
        kind: columns.name("type")?,
        at: columns.time("at")?,
        project_id: columns.text_opt("project_id")?,
        task_id: columns.text_opt("task_id")?,
        entity_id: columns.text("entity_id")?,
        data: columns.json("data")?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Store, testing::empty};

    #[tokio::test]
    async fn events_beyond_a_number_are_bounded_by_their_time() {
        let mut tx = empty().await;
        for at in [10, 20, 30, 40] {
            let kind = EventType::ProjectChanged;
            tx.emit(kind, Timestamp(at), None, None, "id", &serde_json::json!({})).await.unwrap();
        }
        assert_eq!(tx.events().beyond(4).await.unwrap(), None);
        let until = tx.events().beyond(1).await.unwrap().unwrap();
        assert_eq!(until, Timestamp(30));
        let bounds = Bounds { kept: Timestamp(10), until };
        let counts = tx.events().count(bounds).await.unwrap();
        assert_eq!(counts, Counts { kept: 1, doomed: 2, total: 4 });
        assert_eq!(tx.events_mut().remove(bounds).await.unwrap(), 2);
        assert_eq!(tx.events().count(bounds).await.unwrap(), Counts { kept: 1, doomed: 0, total: 2 });
    }
    #[tokio::test]
    async fn numbers_rise_and_the_last_one_is_known_after_all_are_pruned() {
        let mut tx = empty().await;
        assert_eq!(
            (tx.events().last_seq().await.unwrap(), tx.events().first_seq().await.unwrap()),
            (0, None)
        );
        let (project, task, data) = ("p".into(), "t".into(), serde_json::json!({ "a": 1 }));
        let kind = EventType::TaskUpdated;
        for at in 1..=3 {
            let seq = tx.emit(kind, Timestamp(at), Some(&project), Some(&task), "t", &data).await.unwrap();
            assert_eq!(seq, at);
        }
        let third = Event {
            seq: 3,
            kind,
            at: Timestamp(3),
            project_id: Some(project),
            task_id: Some(task),
            entity_id: "t".to_owned(),
            data,
        };
        assert_eq!(tx.events().after(2, 9).await.unwrap(), [third]);
        let page = tx.events().after(0, 2).await.unwrap();
        assert_eq!(page.iter().map(|event| event.seq).collect::<Vec<_>>(), [1, 2]);
        assert_eq!(tx.events_mut().prune(1).await.unwrap(), 2);
        assert_eq!(tx.events().first_seq().await.unwrap(), Some(3));
        assert_eq!(tx.events_mut().prune(0).await.unwrap(), 1);
        assert_eq!(
            (tx.events().last_seq().await.unwrap(), tx.events().first_seq().await.unwrap()),
            (3, None)
        );
    }

    #[tokio::test]
    async fn commit_announces_the_last_event_and_a_dropped_transaction_none() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(folder.path()).await.unwrap();
        let announced = store.events();
        let data = serde_json::json!({});
        for commits in [false, true] {
            let mut tx = store.write().await.unwrap();
            for at in 1..=2 {
                let kind = EventType::ProjectChanged;
                tx.emit(kind, Timestamp(at), None, None, "id", &data).await.unwrap();
            }
            assert_eq!(*announced.borrow(), 0, "announced before the commit");
            if commits {
                tx.commit().await.unwrap();
            }
        }
        assert_eq!(*announced.borrow(), 2);
    }
}
