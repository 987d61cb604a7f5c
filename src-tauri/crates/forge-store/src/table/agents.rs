//! `agents`.

use forge_model::agent::Agent;
use forge_model::ids::AgentId;
use sqlx::sqlite::SqliteRow;

use crate::{
    StoreError,
    row::{Columns, json},
};

handles!(agents() -> Agents, agents_mut() -> AgentsMut);

const SELECT: &str = "SELECT a.*, (SELECT count(*) FROM executions e WHERE e.agent_id = a.id AND e.status IN ('starting', 'running', 'waiting')) AS running FROM agents a";

impl Agents<'_> {
    /// One profile.
    ///
    /// # Errors
    /// When it cannot be read.
    pub async fn get(&mut self, id: &AgentId) -> Result<Option<Agent>, StoreError> {
        let sql = const_str(SELECT, " WHERE a.id = ?1");
        let row =
            sqlx::query(sqlx::AssertSqlSafe(sql)).bind(id.as_str()).fetch_optional(&mut *self.conn).await?;
        row.as_ref().map(read).transpose()
    }

    /// The profile of that name.
    ///
    /// # Errors
    /// When it cannot be read.
    pub async fn by_name(&mut self, name: &str) -> Result<Option<Agent>, StoreError> {
        let sql = const_str(SELECT, " WHERE a.name = ?1");
        let row = sqlx::query(sqlx::AssertSqlSafe(sql)).bind(name).fetch_optional(&mut *self.conn).await?;
        row.as_ref().map(read).transpose()
    }

    /// All profiles, by name.
    ///
    /// # Errors
    /// When they cannot be read.
    pub async fn list(&mut self) -> Result<Vec<Agent>, StoreError> {
        let sql = const_str(SELECT, " ORDER BY a.name");
        let rows = sqlx::query(sqlx::AssertSqlSafe(sql)).fetch_all(&mut *self.conn).await?;
        rows.iter().map(read).collect()
    }

    /// How many tasks and executions name a profile.
    ///
    /// # Errors
    /// When it cannot be read.
    pub async fn uses(&mut self, id: &AgentId) -> Result<u32, StoreError> {
        let count: i64 = sqlx::query_scalar(
            "SELECT (SELECT count(*) FROM task_roles WHERE agent_id = ?1) + (SELECT count(*) FROM executions WHERE agent_id = ?1)",
        )
        .bind(id.as_str())
        .fetch_one(&mut *self.conn)
        .await?;
        Ok(u32::try_from(count).unwrap_or(u32::MAX))
    }
}

impl AgentsMut<'_> {
    /// Inserts or replaces a profile.
    ///
    /// # Errors
    /// When its name is taken, or it cannot be written.
    pub async fn put(&mut self, agent: &Agent) -> Result<(), StoreError> {
        sqlx::query(
            "INSERT INTO agents (id, name, adapter, config, model, max_concurrent, paused, created_at, updated_at)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)
             ON CONFLICT (id) DO UPDATE SET name = ?2, adapter = ?3, config = ?4, model = ?5, max_concurrent = ?6, paused = ?7, updated_at = ?9",
        )
        .bind(agent.id.as_str())
        .bind(&agent.name)
        .bind(agent.adapter.as_str())
        .bind(json(&agent.config)?)
        .bind(&agent.model)
        .bind(agent.max_concurrent)
        .bind(agent.paused)
        .bind(agent.created_at.0)
        .bind(agent.updated_at.0)
        .execute(self.tx.sqlite())
        .await?;
        Ok(())
    }

    /// Removes a profile.
    ///
    /// # Errors
    /// When tasks or executions still name it, or it cannot be removed.
    pub async fn delete(&mut self, id: &AgentId) -> Result<(), StoreError> {
        sqlx::query("DELETE FROM agents WHERE id = ?1").bind(id.as_str()).execute(self.tx.sqlite()).await?;
        Ok(())
    }
}

fn const_str(head: &'static str, tail: &'static str) -> String {
    [head, tail].concat()
}

fn read(row: &SqliteRow) -> Result<Agent, StoreError> {
    let c = Columns(row);
    Ok(Agent {
        id: c.text("id")?,
        name: c.text("name")?,
        adapter: c.name("adapter")?,
        config: c.json("config")?,
        model: c.text_opt("model")?,
        max_concurrent: c.int("max_concurrent")?,
        paused: c.flag("paused")?,
        running: c.int("running")?,
        created_at: c.time("created_at")?,
        updated_at: c.time("updated_at")?,
    })
}

#[cfg(test)]
mod tests {
    use forge_model::execution::ExecutionStatus;

    use super::*;
    use crate::testing::{agent, is_refused, run, seeded};

    #[tokio::test]
    async fn profile_is_read_back_and_replaced_as_a_whole() {
        let mut tx = seeded().await;
        assert_eq!(tx.agents().get(&"a".into()).await.unwrap(), Some(agent("a")));
        let changed = Agent { model: Some("m".to_owned()), paused: true, max_concurrent: 4, ..agent("a") };
        tx.agents_mut().put(&changed).await.unwrap();
        assert_eq!(tx.agents().by_name("A").await.unwrap(), Some(changed));
        assert_eq!(tx.agents().get(&"b".into()).await.unwrap(), Some(agent("b")), "another one was written");
    }

    #[tokio::test]
    async fn profiles_come_by_name_and_a_name_is_taken_once() {
        let mut tx = seeded().await;
        tx.agents_mut().put(&Agent { name: "AA".to_owned(), ..agent("z") }).await.unwrap();
        let names: Vec<_> = tx.agents().list().await.unwrap().into_iter().map(|agent| agent.name).collect();
        assert_eq!(names, ["A", "AA", "B"]);
        let twin = Agent { name: "B".to_owned(), ..agent("c") };
        assert!(is_refused(tx.agents_mut().put(&twin).await, "UNIQUE"));
    }

    #[tokio::test]
    async fn open_runs_are_counted_and_a_used_profile_stays() {
        let mut tx = seeded().await;
        tx.executions_mut().insert(&run("x", "t")).await.unwrap();
        let mut over = run("y", "t");
        over.execution.status = ExecutionStatus::Finished;
        tx.executions_mut().insert(&over).await.unwrap();
        assert_eq!(tx.agents().get(&"a".into()).await.unwrap().unwrap().running, 1);
        assert_eq!(tx.agents().uses(&"a".into()).await.unwrap(), 2);
        assert_eq!(tx.agents().uses(&"b".into()).await.unwrap(), 0);
        assert!(is_refused(tx.agents_mut().delete(&"a".into()).await, "FOREIGN KEY"));
        tx.agents_mut().delete(&"b".into()).await.unwrap();
        assert_eq!(tx.agents().get(&"b".into()).await.unwrap(), None);
    }
}
