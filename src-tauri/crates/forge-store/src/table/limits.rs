//! `agent_limits`: until when an agent's provider asks to wait. `agent_windows`: how full its limits are.

use std::collections::HashMap;

use forge_model::agent::LimitWindow;
use forge_model::ids::AgentId;
use forge_model::time::Timestamp;
use sqlx::Row as _;
use sqlx::sqlite::SqliteRow;

use crate::{StoreError, row::Columns};

handles!(limits() -> Limits, limits_mut() -> LimitsMut);

impl Limits<'_> {
    /// Until when an agent is not to be started.
    ///
    /// # Errors
    /// When it cannot be read.
    pub async fn of(&mut self, agent: &AgentId) -> Result<Option<Timestamp>, StoreError> {
        let row = sqlx::query("SELECT until FROM agent_limits WHERE agent_id = ?1")
            .bind(agent.as_str())
            .fetch_optional(&mut *self.conn)
            .await?;
        Ok(row.map(|row| Timestamp(row.get(0))))
    }

    /// All limits.
    ///
    /// # Errors
    /// When they cannot be read.
    pub async fn list(&mut self) -> Result<Vec<(AgentId, Timestamp)>, StoreError> {
        let rows = sqlx::query("SELECT agent_id, until FROM agent_limits ORDER BY agent_id")
            .fetch_all(&mut *self.conn)
            .await?;
        Ok(rows.iter().map(|row| (AgentId(row.get(0)), Timestamp(row.get(1)))).collect())
    }
}

impl Limits<'_> {
    /// The windows of all agents, by agent, the shortest one first.
    ///
    /// # Errors
    /// When they cannot be read.
    pub async fn windows(&mut self) -> Result<HashMap<AgentId, Vec<LimitWindow>>, StoreError> {
        let rows = sqlx::query("SELECT * FROM agent_windows ORDER BY minutes IS NULL, minutes, name")
            .fetch_all(&mut *self.conn)
            .await?;
        let mut all: HashMap<AgentId, Vec<LimitWindow>> = HashMap::new();
        for row in &rows {
            all.entry(Columns(row).text("agent_id")?).or_default().push(window(row)?);
        }
        Ok(all)
    }

    /// The windows of one agent, the shortest one first.
    ///
    /// # Errors
    /// When they cannot be read.
    pub async fn windows_of(&mut self, agent: &AgentId) -> Result<Vec<LimitWindow>, StoreError> {
        let rows = sqlx::query(
            "SELECT * FROM agent_windows WHERE agent_id = ?1 ORDER BY minutes IS NULL, minutes, name",
        )
        .bind(agent.as_str())
        .fetch_all(&mut *self.conn)
        .await?;
        rows.iter().map(window).collect()
    }
}

fn window(row: &SqliteRow) -> Result<LimitWindow, StoreError> {
    let c = Columns(row);
    Ok(LimitWindow {
        name: c.text("name")?,
        minutes: c.int_opt("minutes")?,
        used_percent: c.int("used_percent")?,
        resets_at: c.time_opt("resets_at")?,
        seen_at: c.time("seen_at")?,
    })
}

impl LimitsMut<'_> {
    /// Replaces the windows of an agent.
    ///
    /// # Errors
    /// When they cannot be written.
    pub async fn put_windows(&mut self, agent: &AgentId, windows: &[LimitWindow]) -> Result<(), StoreError> {
        sqlx::query("DELETE FROM agent_windows WHERE agent_id = ?1")
            .bind(agent.as_str())
            .execute(self.tx.sqlite())
            .await?;
        for window in windows {
            sqlx::query(
                "INSERT INTO agent_windows (agent_id, name, minutes, used_percent, resets_at, seen_at)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6)
                 ON CONFLICT (agent_id, name) DO UPDATE SET minutes = ?3, used_percent = ?4, resets_at = ?5, seen_at = ?6",
            )
            .bind(agent.as_str())
            .bind(&window.name)
            .bind(window.minutes)
            .bind(window.used_percent)
            .bind(window.resets_at.map(|time| time.0))
            .bind(window.seen_at.0)
            .execute(self.tx.sqlite())
            .await?;
        }
        Ok(())
    }

    /// Records that an agent is not to be started before `until`; a later time that is known already stands.
    ///
    /// # Errors
    /// When it cannot be written.
    pub async fn put(&mut self, agent: &AgentId, until: Timestamp) -> Result<(), StoreError> {
        sqlx::query(
            "INSERT INTO agent_limits (agent_id, until) VALUES (?1, ?2)
             ON CONFLICT (agent_id) DO UPDATE SET until = max(until, ?2)",
        )
        .bind(agent.as_str())
        .bind(until.0)
        .execute(self.tx.sqlite())
        .await?;
        Ok(())
    }

    /// Forgets a limit: a person wants to try at once.
    ///
    /// # Errors
    /// When it cannot be written.
    pub async fn clear(&mut self, agent: &AgentId) -> Result<(), StoreError> {
        sqlx::query("DELETE FROM agent_limits WHERE agent_id = ?1")
            .bind(agent.as_str())
            .execute(self.tx.sqlite())
            .await?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{is_refused, seeded};

    #[tokio::test]
    async fn windows_of_an_agent_are_replaced() {
        let mut tx = seeded().await;
        let window = |name: &str, minutes: Option<u32>, used_percent| LimitWindow {
            name: name.to_owned(),
            minutes,
            used_percent,
            resets_at: Some(Timestamp(9)),
            seen_at: Timestamp(1),
        };
        let agent = AgentId::from("a");
        let first =
            [window("x", None, 1), window("secondary", Some(10_080), 5), window("primary", Some(300), 50)];
        tx.limits_mut().put_windows(&agent, &first).await.unwrap();
        let mut expected = first.to_vec();
        expected.reverse();
        assert_eq!(tx.limits().windows_of(&agent).await.unwrap(), expected);
        let now = [window("primary", Some(300), 60)];
        tx.limits_mut().put_windows(&agent, &now).await.unwrap();
        assert_eq!(tx.limits().windows().await.unwrap(), HashMap::from([(agent, now.to_vec())]));
    }

    #[tokio::test]
    async fn later_time_stands_until_it_is_cleared() {
        let mut tx = seeded().await;
        for (agent, until) in [("b", 5), ("a", 30), ("a", 20)] {
            tx.limits_mut().put(&agent.into(), Timestamp(until)).await.unwrap();
        }
        assert_eq!(tx.limits().of(&"a".into()).await.unwrap(), Some(Timestamp(30)));
        let all = [(AgentId::from("a"), Timestamp(30)), (AgentId::from("b"), Timestamp(5))];
        assert_eq!(tx.limits().list().await.unwrap(), all);
        tx.limits_mut().clear(&"a".into()).await.unwrap();
        assert_eq!(tx.limits().of(&"a".into()).await.unwrap(), None);
        assert_eq!(tx.limits().of(&"b".into()).await.unwrap(), Some(Timestamp(5)));
        tx.agents_mut().delete(&"b".into()).await.unwrap();
        assert_eq!(tx.limits().list().await.unwrap(), []);
        assert!(is_refused(tx.limits_mut().put(&"b".into(), Timestamp(1)).await, "FOREIGN KEY"));
    }
}
