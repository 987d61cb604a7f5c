//! `agent_limits`: until when an agent's provider asks to wait.

use forge_model::ids::AgentId;
use forge_model::time::Timestamp;
use sqlx::Row as _;

use crate::StoreError;

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

impl LimitsMut<'_> {
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
