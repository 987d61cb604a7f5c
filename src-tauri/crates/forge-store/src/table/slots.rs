//! `slots`: the places that running agents take, each of an agent, of a project and, where the work is elsewhere, on a
//! machine.

use std::collections::HashMap;

use forge_model::ids::{AgentId, MachineId, ProjectId, TaskId};
use forge_model::time::Timestamp;

use crate::{StoreError, row::Columns};

handles!(slots() -> Slots, slots_mut() -> SlotsMut);

/// The place that a task has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Slot {
    /// The agent.
    pub agent_id: AgentId,
    /// The machine; none is this computer.
    pub machine_id: Option<MachineId>,
}

/// How many places tasks of a project have of an agent on a machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SlotCount {
    /// The project.
    pub project_id: ProjectId,
    /// The agent.
    pub agent_id: AgentId,
    /// The machine; none is this computer.
    pub machine_id: Option<MachineId>,
    /// How many.
    pub count: u32,
}

const COUNT: &str = "SELECT project_id, agent_id, machine_id, count(*) AS n FROM slots";
/// Whether no run of the place's task (`s`) lasts.
const WITHOUT_RUN: &str = "NOT EXISTS (SELECT 1 FROM executions x WHERE x.task_id = s.task_id AND x.status IN ('starting', 'running', 'waiting'))";
const GROUPS: &str = " GROUP BY project_id, agent_id, machine_id ORDER BY project_id, agent_id, machine_id";

fn read_count(row: &sqlx::sqlite::SqliteRow) -> Result<SlotCount, StoreError> {
    let c = Columns(row);
    Ok(SlotCount {
        project_id: c.text("project_id")?,
        agent_id: c.text("agent_id")?,
        machine_id: c.text_opt("machine_id")?,
        count: c.int("n")?,
    })
}

impl Slots<'_> {
    /// The place that a task has.
    ///
    /// # Errors
    /// When it cannot be read.
    pub async fn of(&mut self, task: &TaskId) -> Result<Option<Slot>, StoreError> {
        let row = sqlx::query("SELECT agent_id, machine_id FROM slots WHERE task_id = ?1")
            .bind(task.as_str())
            .fetch_optional(&mut *self.conn)
            .await?;
        let read = |row: &sqlx::sqlite::SqliteRow| {
            let c = Columns(row);
            Ok(Slot { agent_id: c.text("agent_id")?, machine_id: c.text_opt("machine_id")? })
        };
        row.as_ref().map(read).transpose()
    }

    /// The places that all tasks have.
    ///
    /// # Errors
    /// When they cannot be read.
    pub async fn counts(&mut self) -> Result<Vec<SlotCount>, StoreError> {
        let sql = [COUNT, GROUPS].concat();
        let rows = sqlx::query(sqlx::AssertSqlSafe(sql)).fetch_all(&mut *self.conn).await?;
        rows.iter().map(read_count).collect()
    }

    /// The places of an agent, of a project and on a machine that tasks other than this one have.
    ///
    /// # Errors
    /// When they cannot be read.
    pub async fn counts_beside(
        &mut self,
        task: &TaskId,
        agent: &AgentId,
        project: &ProjectId,
        machine: Option<&MachineId>,
    ) -> Result<Vec<SlotCount>, StoreError> {
        let beside = " WHERE (agent_id = ?2 OR project_id = ?3 OR machine_id = ?4) AND task_id <> ?1";
        let sql = [COUNT, beside, GROUPS].concat();
        let rows = sqlx::query(sqlx::AssertSqlSafe(sql))
            .bind(task.as_str())
            .bind(agent.as_str())
            .bind(project.as_str())
            .bind(machine.map(MachineId::as_str))
            .fetch_all(&mut *self.conn)
            .await?;
        rows.iter().map(read_count).collect()
    }

    /// The places on machines (or on one) whose run is still to begin, of tasks other than this one.
    ///
    /// # Errors
    /// When they cannot be read.
    pub async fn before_their_run(
        &mut self,
        but: Option<&TaskId>,
        machine: Option<&MachineId>,
    ) -> Result<HashMap<MachineId, u32>, StoreError> {
        let which = if machine.is_some() { "machine_id = ?2" } else { "machine_id IS NOT NULL" };
        let sql = format!(
            "SELECT machine_id, count(*) AS n FROM slots s WHERE {which} AND task_id IS NOT ?1
               AND {WITHOUT_RUN}
             GROUP BY machine_id",
        );
        let rows = sqlx::query(sqlx::AssertSqlSafe(sql))
            .bind(but.map(TaskId::as_str))
            .bind(machine.map(MachineId::as_str))
            .fetch_all(&mut *self.conn)
            .await?;
        rows.iter().map(|row| Ok((Columns(row).text("machine_id")?, Columns(row).int("n")?))).collect()
    }
}

impl SlotsMut<'_> {
    /// Takes back the places whose run is still to begin.
    ///
    /// # Errors
    /// When it cannot be written.
    pub async fn release_before_their_run(&mut self) -> Result<(), StoreError> {
        let sql = format!("DELETE FROM slots AS s WHERE {WITHOUT_RUN}");
        sqlx::query(sqlx::AssertSqlSafe(sql)).execute(self.tx.sqlite()).await?;
        Ok(())
    }

    /// Gives a task a place of an agent, on a machine or on this computer.
    ///
    /// # Errors
    /// When it cannot be written.
    pub async fn take(
        &mut self,
        task: &TaskId,
        project: &ProjectId,
        slot: &Slot,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        sqlx::query(
            "INSERT INTO slots (task_id, project_id, agent_id, machine_id, acquired_at) VALUES (?1, ?2, ?3, ?4, ?5)
             ON CONFLICT (task_id) DO UPDATE SET agent_id = ?3, machine_id = ?4",
        )
        .bind(task.as_str())
        .bind(project.as_str())
        .bind(slot.agent_id.as_str())
        .bind(slot.machine_id.as_ref().map(MachineId::as_str))
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
    use crate::testing::{run, seeded, task};

    fn slot(agent: &str, machine: Option<&str>) -> Slot {
        Slot { agent_id: agent.into(), machine_id: machine.map(Into::into) }
    }

    async fn with_tasks(ids: &[&str]) -> crate::Tx {
        let mut tx = seeded().await;
        for (id, number) in ids.iter().zip(2..) {
            tx.tasks_mut().insert(&task(id, number)).await.unwrap();
        }
        tx
    }

    #[tokio::test]
    async fn place_is_of_one_task_and_counted_by_project_agent_and_machine() {
        let mut tx = with_tasks(&["u", "v"]).await;
        let (p, now) = (ProjectId::from("p"), Timestamp(1));
        for (task, at) in [
            ("t", slot("a", None)),
            ("u", slot("b", None)),
            ("v", slot("a", Some("m"))),
            ("u", slot("a", Some("m"))),
        ] {
            tx.slots_mut().take(&task.into(), &p, &at, now).await.unwrap();
        }
        assert_eq!(tx.slots().of(&"u".into()).await.unwrap(), Some(slot("a", Some("m"))), "it was changed");
        let counts = async |tx: &mut crate::Tx, but: Option<TaskId>| {
            let all = match but {
                None => tx.slots().counts().await,
                Some(task) => tx.slots().counts_beside(&task, &"b".into(), &p, Some(&"n".into())).await,
            };
            let all = all.unwrap();
            all.into_iter()
                .map(|it| (it.agent_id.0, it.machine_id.map(|id| id.0), it.count))
                .collect::<Vec<_>>()
        };
        let (here, there) =
            (("a".to_owned(), None, 1), |count| ("a".to_owned(), Some("m".to_owned()), count));
        assert_eq!(counts(&mut tx, None).await, [here.clone(), there(2)]);
        assert_eq!(counts(&mut tx, Some("u".into())).await, [here, there(1)]);
        assert!(tx.slots_mut().release(&"u".into()).await.unwrap());
        assert!(!tx.slots_mut().release(&"u".into()).await.unwrap());
        assert_eq!(tx.slots().of(&"u".into()).await.unwrap(), None);
    }

    #[tokio::test]
    async fn place_whose_run_has_begun_is_counted_with_the_runs() {
        let mut tx = with_tasks(&["u"]).await;
        for id in ["t", "u"] {
            tx.slots_mut().take(&id.into(), &"p".into(), &slot("a", Some("m")), Timestamp(1)).await.unwrap();
        }
        let before = async |tx: &mut crate::Tx, but: Option<TaskId>| {
            let (all, one) = (
                tx.slots().before_their_run(but.as_ref(), None).await.unwrap(),
                tx.slots().before_their_run(but.as_ref(), Some(&"m".into())).await.unwrap(),
            );
            assert_eq!(all, one);
            all.get(&MachineId::from("m")).copied()
        };
        assert_eq!(before(&mut tx, None).await, Some(2));
        assert_eq!(before(&mut tx, Some("t".into())).await, Some(1));
        tx.executions_mut().insert(&run("x", "u")).await.unwrap();
        assert_eq!(before(&mut tx, None).await, Some(1));
        tx.slots_mut().release_before_their_run().await.unwrap();
        assert_eq!(tx.slots().of(&"t".into()).await.unwrap(), None);
        assert!(tx.slots().of(&"u".into()).await.unwrap().is_some(), "its run lasts");
    }
}
