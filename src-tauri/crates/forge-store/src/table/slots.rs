//! `slots`: the places that running agents take. Admission is decided here and nowhere else.

use forge_model::ids::{AgentId, MachineId, ProjectId, TaskId};
use forge_model::time::Timestamp;
use sqlx::Row as _;

use crate::StoreError;

handles!(slots() -> Slots, slots_mut() -> SlotsMut);

impl Slots<'_> {
    /// The agent whose place a task has.
    ///
    /// # Errors
    /// When it cannot be read.
    pub async fn holder(&mut self, task: &TaskId) -> Result<Option<AgentId>, StoreError> {
        let row = sqlx::query("SELECT agent_id FROM slots WHERE task_id = ?1")
            .bind(task.as_str())
            .fetch_optional(&mut *self.conn)
            .await?;
        Ok(row.map(|row| AgentId(row.get(0))))
    }

    /// How many places of an agent, and of a project, are taken by other tasks.
    ///
    /// # Errors
    /// When it cannot be read.
    pub async fn taken(
        &mut self,
        agent: &AgentId,
        project: &ProjectId,
        except: &TaskId,
    ) -> Result<(u32, u32), StoreError> {
        let row = sqlx::query(
            "SELECT (SELECT count(*) FROM slots WHERE agent_id = ?1 AND task_id <> ?3) AS agent,
                    (SELECT count(*) FROM slots WHERE project_id = ?2 AND task_id <> ?3) AS project",
        )
        .bind(agent.as_str())
        .bind(project.as_str())
        .bind(except.as_str())
        .fetch_one(&mut *self.conn)
        .await?;
        Ok((row.try_get("agent")?, row.try_get("project")?))
    }

    /// How many places of an agent, and of a project, are taken or asked for by other tasks.
    ///
    /// # Errors
    /// When it cannot be read.
    pub async fn spoken_for(
        &mut self,
        agent: &AgentId,
        project: &ProjectId,
        except: &TaskId,
    ) -> Result<(u32, u32), StoreError> {
        let row = sqlx::query(
            "WITH asked AS (
               SELECT s.task_id AS task, t.project_id AS project, r.agent_id AS agent FROM steps s
               JOIN tasks t ON t.id = s.task_id JOIN task_roles r ON r.task_id = s.task_id AND r.agent_id IS NOT NULL
               WHERE s.kind = 'admit' AND s.status <> 'done'
               UNION SELECT task_id, project_id, agent_id FROM slots
             ) SELECT (SELECT count(DISTINCT task) FROM asked WHERE agent = ?1 AND task <> ?3) AS agent,
                      (SELECT count(DISTINCT task) FROM asked WHERE project = ?2 AND task <> ?3) AS project",
        )
        .bind(agent.as_str())
        .bind(project.as_str())
        .bind(except.as_str())
        .fetch_one(&mut *self.conn)
        .await?;
        Ok((row.try_get("agent")?, row.try_get("project")?))
    }
}

impl Slots<'_> {
    /// How many tasks other than this one have a place and their worktree on a machine.
    ///
    /// # Errors
    /// When they cannot be read.
    pub async fn taken_on(&mut self, machine: &MachineId, but: &TaskId) -> Result<u32, StoreError> {
        let count: i64 = sqlx::query_scalar(
            "SELECT count(DISTINCT s.task_id) FROM slots s JOIN workspaces w ON w.task_id = s.task_id
             WHERE w.machine_id = ?1 AND w.status <> 'cleaned' AND s.task_id <> ?2",
        )
        .bind(machine.as_str())
        .bind(but.as_str())
        .fetch_one(&mut *self.conn)
        .await?;
        Ok(u32::try_from(count).unwrap_or(u32::MAX))
    }
}

impl SlotsMut<'_> {
    /// Gives a task a place of an agent; a task that has one keeps it.
    ///
    /// # Errors
    /// When it cannot be written.
    pub async fn take(
        &mut self,
        task: &TaskId,
        project: &ProjectId,
        agent: &AgentId,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        sqlx::query(
            "INSERT INTO slots (task_id, project_id, agent_id, acquired_at) VALUES (?1, ?2, ?3, ?4)
             ON CONFLICT (task_id) DO UPDATE SET agent_id = ?3",
        )
        .bind(task.as_str())
        .bind(project.as_str())
        .bind(agent.as_str())
        .bind(now.0)
        .execute(self.tx.sqlite())
        .await?;
        Ok(())
    }

    /// Takes a task's place back; says whether it had one.
    ///
    /// # Errors
    /// When it cannot be written.
    pub async fn release(&mut self, task: &TaskId) -> Result<bool, StoreError> {
        let done = sqlx::query("DELETE FROM slots WHERE task_id = ?1")
            .bind(task.as_str())
            .execute(self.tx.sqlite())
            .await?;
        Ok(done.rows_affected() > 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use forge_model::workspace::Workspace;

    use crate::testing::{record, seeded, task};

    #[tokio::test]
    async fn place_is_of_one_task_and_counted_for_agent_and_project() {
        let mut tx = seeded().await;
        let (p, now) = (ProjectId::from("p"), Timestamp(1));
        for (id, number) in [("u", 2), ("v", 3)] {
            tx.tasks_mut().insert(&task(id, number)).await.unwrap();
        }
        for (task, agent) in [("t", "a"), ("u", "b"), ("v", "a"), ("u", "a")] {
            tx.slots_mut().take(&task.into(), &p, &agent.into(), now).await.unwrap();
        }
        assert_eq!(tx.slots().holder(&"u".into()).await.unwrap(), Some("a".into()), "the agent was changed");
        assert_eq!(tx.slots().taken(&"a".into(), &p, &"t".into()).await.unwrap(), (2, 2));
        assert_eq!(tx.slots().taken(&"b".into(), &"q".into(), &"t".into()).await.unwrap(), (0, 0));
        assert!(tx.slots_mut().release(&"u".into()).await.unwrap());
        assert!(!tx.slots_mut().release(&"u".into()).await.unwrap());
        assert_eq!(tx.slots().holder(&"u".into()).await.unwrap(), None);
        assert_eq!(tx.slots().spoken_for(&"a".into(), &p, &"gone".into()).await.unwrap(), (2, 2));
    }

    #[tokio::test]
    async fn places_of_tasks_whose_worktree_is_on_a_machine_are_counted() {
        let mut tx = seeded().await;
        let (project, now) = ("p".into(), Timestamp(1));
        for (id, number) in [("u", 2), ("v", 3), ("w", 4)] {
            tx.tasks_mut().insert(&task(id, number)).await.unwrap();
        }
        for (id, of, on) in
            [("1", "t", Some("m")), ("2", "u", Some("m")), ("3", "v", None), ("4", "w", Some("m"))]
        {
            let workspace = Workspace { machine_id: on.map(Into::into), ..record(id, of, 1) };
            tx.workspaces_mut().put(&workspace, now).await.unwrap();
        }
        for of in ["t", "u", "v"] {
            tx.slots_mut().take(&of.into(), &project, &"a".into(), now).await.unwrap();
        }
        assert_eq!(
            tx.slots().taken_on(&"m".into(), &"w".into()).await.unwrap(),
            2,
            "with a place, and there"
        );
        assert_eq!(tx.slots().taken_on(&"m".into(), &"t".into()).await.unwrap(), 1, "its own does not count");
    }
}
