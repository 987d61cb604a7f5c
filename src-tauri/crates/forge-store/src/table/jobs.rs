//! `jobs`: jobs of clusters, each for one task.

use forge_model::ids::{MachineId, TaskId};
use forge_model::time::Timestamp;
use serde_json::Value;
use sqlx::sqlite::SqliteRow;

use crate::{
    StoreError,
    row::{Columns, json_opt},
};

handles!(jobs() -> Jobs, jobs_mut() -> JobsMut);

/// A job.
#[derive(Debug, Clone, PartialEq)]
pub struct JobRow {
    /// What it is submitted as.
    pub id: String,
    /// The cluster.
    pub machine_id: MachineId,
    /// The task, which may be gone.
    pub task_id: TaskId,
    /// What the cluster calls it, once that is known.
    pub job: Option<String>,
    /// The node that it runs or ran on, once it has begun.
    pub node: Option<String>,
    /// The pod that it began in, where the cluster has pods.
    pub pod: Option<String>,
    /// The address of the server that it is created on, where a cluster may be reached by several.
    pub server: Option<String>,
    /// How it ended, once the cluster said so.
    pub over: Option<Value>,
    /// When it was written down, before it was submitted.
    pub created_at: Timestamp,
}

impl Jobs<'_> {
    /// The last job of a task on a machine.
    ///
    /// # Errors
    /// When it cannot be read.
    pub async fn last(&mut self, machine: &MachineId, task: &TaskId) -> Result<Option<JobRow>, StoreError> {
        let sql = "SELECT * FROM jobs WHERE machine_id = ?1 AND task_id = ?2 ORDER BY created_at DESC, rowid DESC LIMIT 1";
        let query = sqlx::query(sql).bind(machine.as_str()).bind(task.as_str());
        query.fetch_optional(&mut *self.conn).await?.as_ref().map(read).transpose()
    }

    /// One job.
    ///
    /// # Errors
    /// When it cannot be read.
    pub async fn get(&mut self, id: &str) -> Result<Option<JobRow>, StoreError> {
        let query = sqlx::query("SELECT * FROM jobs WHERE id = ?1").bind(id);
        query.fetch_optional(&mut *self.conn).await?.as_ref().map(read).transpose()
    }

    /// All jobs of a machine, or of one task there, from the first to the last.
    ///
    /// # Errors
    /// When they cannot be read.
    pub async fn on(
        &mut self,
        machine: &MachineId,
        task: Option<&TaskId>,
    ) -> Result<Vec<JobRow>, StoreError> {
        let sql = "SELECT * FROM jobs WHERE machine_id = ?1 AND (?2 IS NULL OR task_id = ?2) ORDER BY created_at, rowid";
        let query = sqlx::query(sql).bind(machine.as_str()).bind(task.map(TaskId::as_str));
        query.fetch_all(&mut *self.conn).await?.iter().map(read).collect()
    }
}

impl JobsMut<'_> {
    /// Inserts a job, or writes down what became known of it.
    ///
    /// # Errors
    /// When it cannot be written.
    pub async fn put(&mut self, job: &JobRow) -> Result<(), StoreError> {
        sqlx::query(
            "INSERT INTO jobs (id, machine_id, task_id, job, over, created_at, node, pod, server)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)
             ON CONFLICT (id) DO UPDATE SET job = ?4, over = ?5, node = ?7, pod = ?8, server = ?9",
        )
        .bind(&job.id)
        .bind(job.machine_id.as_str())
        .bind(job.task_id.as_str())
        .bind(&job.job)
        .bind(json_opt(job.over.as_ref())?)
        .bind(job.created_at.0)
        .bind(&job.node)
        .bind(&job.pod)
        .bind(&job.server)
        .execute(self.tx.sqlite())
        .await?;
        Ok(())
    }

    /// Removes all jobs of a machine, whatever is left of them.
    ///
    /// # Errors
    /// When they cannot be removed.
    pub async fn delete_on(&mut self, machine: &MachineId) -> Result<(), StoreError> {
        let query = sqlx::query("DELETE FROM jobs WHERE machine_id = ?1").bind(machine.as_str());
        query.execute(self.tx.sqlite()).await?;
        Ok(())
    }

    /// Removes a job of which nothing is left.
    ///
    /// # Errors
    /// When it cannot be removed.
    pub async fn delete(&mut self, id: &str) -> Result<(), StoreError> {
        sqlx::query("DELETE FROM jobs WHERE id = ?1").bind(id).execute(self.tx.sqlite()).await?;
        Ok(())
    }
}

fn read(row: &SqliteRow) -> Result<JobRow, StoreError> {
    let c = Columns(row);
    Ok(JobRow {
        id: c.text("id")?,
        machine_id: c.text("machine_id")?,
        task_id: c.text("task_id")?,
        job: c.text_opt("job")?,
        node: c.text_opt("node")?,
        pod: c.text_opt("pod")?,
        server: c.text_opt("server")?,
        over: c.json_opt("over")?,
        created_at: c.time("created_at")?,
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::testing::seeded;

    #[tokio::test]
    async fn jobs_of_a_task_are_told_in_order_with_what_became_known_of_them() {
        let mut tx = seeded().await;
        let job = |id: &str, task: &str, at: i64| JobRow {
            id: id.to_owned(),
            machine_id: "m".into(),
            task_id: task.into(),
            job: None,
            node: None,
            pod: None,
            server: None,
            over: None,
            created_at: Timestamp(at),
        };
        for made in [job("a", "t", 1), job("b", "t", 1), job("c", "gone", 0)] {
            tx.jobs_mut().put(&made).await.unwrap();
        }
        assert_eq!(tx.jobs().last(&"m".into(), &"t".into()).await.unwrap(), Some(job("b", "t", 1)));
        assert_eq!(tx.jobs().last(&"n".into(), &"t".into()).await.unwrap(), None);
        let known = JobRow {
            job: Some("7".to_owned()),
            node: Some("n1".to_owned()),
            pod: Some("p".to_owned()),
            server: Some("https://a".to_owned()),
            over: Some(json!({ "end": "ended" })),
            ..job("b", "t", 1)
        };
        tx.jobs_mut().put(&known).await.unwrap();
        assert_eq!(tx.jobs().get("b").await.unwrap(), Some(known));
        let ids = |all: Vec<JobRow>| all.into_iter().map(|it| it.id).collect::<Vec<_>>();
        assert_eq!(ids(tx.jobs().on(&"m".into(), None).await.unwrap()), ["c", "a", "b"]);
        tx.jobs_mut().delete("a").await.unwrap();
        assert_eq!(ids(tx.jobs().on(&"m".into(), Some(&"t".into())).await.unwrap()), ["b"]);
        let elsewhere = JobRow { machine_id: "n".into(), ..job("d", "t", 1) };
        tx.jobs_mut().put(&elsewhere).await.unwrap();
        tx.jobs_mut().delete_on(&"m".into()).await.unwrap();
        assert_eq!(ids(tx.jobs().on(&"m".into(), None).await.unwrap()), [""; 0]);
        assert_eq!(ids(tx.jobs().on(&"n".into(), None).await.unwrap()), ["d"]);
    }
}
