//! `machines`: where tasks may run besides the computer that the engine is on.

use forge_model::ids::MachineId;
use forge_model::machine::{Machine, MachineContact, MachineKind};
use sqlx::sqlite::SqliteRow;

use crate::{
    StoreError,
    row::{Columns, json},
};

handles!(machines() -> Machines, machines_mut() -> MachinesMut);

/// Machines with what is on them now.
const SELECT: &str = "SELECT m.*,
    (SELECT count(*) FROM executions x WHERE x.machine_id = m.id AND x.status IN ('starting', 'running', 'waiting')) AS runs,
    (SELECT count(DISTINCT w.task_id) FROM workspaces w WHERE w.machine_id = m.id AND w.status <> 'cleaned') AS tasks
    FROM machines m";

impl Machines<'_> {
    /// One machine. Of the contact with it the database knows nothing.
    ///
    /// # Errors
    /// When it cannot be read.
    pub async fn get(&mut self, id: &MachineId) -> Result<Option<Machine>, StoreError> {
        let sql = [SELECT, " WHERE m.id = ?1"].concat();
        let query = sqlx::query(sqlx::AssertSqlSafe(sql)).bind(id.as_str());
        query.fetch_optional(&mut *self.conn).await?.as_ref().map(read).transpose()
    }

    /// The machine of that name.
    ///
    /// # Errors
    /// When it cannot be read.
    pub async fn by_name(&mut self, name: &str) -> Result<Option<Machine>, StoreError> {
        let sql = [SELECT, " WHERE m.name = ?1"].concat();
        let query = sqlx::query(sqlx::AssertSqlSafe(sql)).bind(name);
        query.fetch_optional(&mut *self.conn).await?.as_ref().map(read).transpose()
    }

    /// All machines, by name.
    ///
    /// # Errors
    /// When they cannot be read.
    pub async fn list(&mut self) -> Result<Vec<Machine>, StoreError> {
        let sql = [SELECT, " ORDER BY m.name"].concat();
        let rows = sqlx::query(sqlx::AssertSqlSafe(sql)).fetch_all(&mut *self.conn).await?;
        rows.iter().map(read).collect()
    }
}

impl MachinesMut<'_> {
    /// Inserts or replaces a machine. What is on it follows from other tables.
    ///
    /// # Errors
    /// When its name is taken, or it cannot be written.
    pub async fn put(&mut self, machine: &Machine) -> Result<(), StoreError> {
        sqlx::query(
            "INSERT INTO machines (id, name, kind, config, root, labels, caps, draining, created_at, updated_at, quota)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)
             ON CONFLICT (id) DO UPDATE SET name = ?2, kind = ?3, config = ?4, root = ?5, labels = ?6, caps = ?7, draining = ?8, updated_at = ?10, quota = ?11",
        )
        .bind(machine.id.as_str())
        .bind(&machine.name)
        .bind(machine.kind.as_str())
        .bind(config(machine)?)
        .bind(&machine.root)
        .bind(json(&machine.labels)?)
        .bind(json(&machine.caps)?)
        .bind(machine.draining)
        .bind(machine.created_at.0)
        .bind(machine.updated_at.0)
        .bind(json(&machine.quota)?)
        .execute(self.tx.sqlite())
        .await?;
        Ok(())
    }

    /// Removes a machine.
    ///
    /// # Errors
    /// When it cannot be removed.
    pub async fn delete(&mut self, id: &MachineId) -> Result<(), StoreError> {
        sqlx::query("DELETE FROM machines WHERE id = ?1").bind(id.as_str()).execute(self.tx.sqlite()).await?;
        Ok(())
    }
}

/// What the kind of a machine needs, as it is stored.
fn config(machine: &Machine) -> Result<String, StoreError> {
    match machine.kind {
        MachineKind::Ssh => json(&machine.ssh),
        MachineKind::Container => json(&machine.container),
        MachineKind::Slurm => json(&machine.slurm),
        MachineKind::Kubernetes => json(&machine.kubernetes),
    }
}

fn read(row: &SqliteRow) -> Result<Machine, StoreError> {
    let c = Columns(row);
    let kind = c.name("kind")?;
    let (mut ssh, mut container, mut slurm, mut kubernetes) = (None, None, None, None);
    match kind {
        MachineKind::Ssh => ssh = c.json("config")?,
        MachineKind::Container => container = c.json("config")?,
        MachineKind::Slurm => slurm = c.json("config")?,
        MachineKind::Kubernetes => kubernetes = c.json("config")?,
    }
    Ok(Machine {
        id: c.text("id")?,
        name: c.text("name")?,
        kind,
        ssh,
        container,
        slurm,
        kubernetes,
        root: c.text("root")?,
        labels: c.json("labels")?,
        caps: c.json("caps")?,
        quota: c.json("quota")?,
        draining: c.flag("draining")?,
        created_at: c.time("created_at")?,
        updated_at: c.time("updated_at")?,
        contact: MachineContact::Unknown,
        contact_since: None,
        contact_error: None,
        runs: c.int("runs")?,
        tasks: c.int("tasks")?,
    })
}

#[cfg(test)]
mod tests {
    use forge_model::execution::ExecutionStatus;
    use forge_model::machine::{MachineCaps, MachineQuota, SshConfig};
    use forge_model::time::Timestamp;
    use forge_model::workspace::{Workspace, WorkspaceStatus};

    use super::*;
    use crate::testing::{is_refused, record, run, seeded, task};

    fn machine(id: &str, name: &str) -> Machine {
        let ssh = SshConfig {
            host: "box".to_owned(),
            user: None,
            port: Some(22),
            identity_file: None,
            options: vec![],
        };
        Machine {
            id: id.into(),
            name: name.to_owned(),
            kind: MachineKind::Ssh,
            ssh: Some(ssh),
            container: None,
            slurm: None,
            kubernetes: None,
            root: "~/.forge".to_owned(),
            labels: vec!["gpu".to_owned()],
            caps: MachineCaps { runs: Some(2) },
            quota: MachineQuota { runs_per_day: Some(9), micro_usd_per_day: None },
            draining: false,
            created_at: Timestamp(1),
            updated_at: Timestamp(1),
            contact: MachineContact::Unknown,
            contact_since: None,
            contact_error: None,
            runs: 0,
            tasks: 0,
        }
    }

    #[tokio::test]
    async fn machine_is_read_back_replaced_and_removed_and_a_name_is_taken_once() {
        let mut tx = seeded().await;
        tx.machines_mut().put(&machine("m", "box")).await.unwrap();
        assert_eq!(tx.machines().get(&"m".into()).await.unwrap(), Some(machine("m", "box")));
        let changed = Machine { draining: true, updated_at: Timestamp(2), ..machine("m", "crate") };
        tx.machines_mut().put(&changed).await.unwrap();
        assert_eq!(tx.machines().by_name("crate").await.unwrap(), Some(changed));
        assert!(is_refused(tx.machines_mut().put(&machine("n", "crate")).await, "UNIQUE"));
        tx.machines_mut().put(&machine("n", "attic")).await.unwrap();
        let names: Vec<_> = tx.machines().list().await.unwrap().into_iter().map(|it| it.name).collect();
        assert_eq!(names, ["attic", "crate"]);
        tx.machines_mut().delete(&"m".into()).await.unwrap();
        assert_eq!(tx.machines().get(&"m".into()).await.unwrap(), None);
    }

    #[tokio::test]
    async fn machine_of_any_kind_is_read_back_as_it_was_put() {
        let mut tx = seeded().await;
        let container = serde_json::json!({ "image": "debian:12", "network": "none", "memory_mb": 512 });
        let containers = Machine {
            kind: MachineKind::Container,
            ssh: None,
            container: Some(serde_json::from_value(container).unwrap()),
            ..machine("m", "box")
        };
        let slurm = serde_json::json!({ "partition": "gpu", "via": "login" });
        let cluster = Machine {
            kind: MachineKind::Slurm,
            ssh: None,
            slurm: Some(serde_json::from_value(slurm).unwrap()),
            ..machine("n", "cluster")
        };
        let kubernetes =
            serde_json::json!({ "namespace": "agents", "image": "a:1", "resources": { "cpu": "1" } });
        let namespace = Machine {
            kind: MachineKind::Kubernetes,
            ssh: None,
            kubernetes: Some(serde_json::from_value(kubernetes).unwrap()),
            ..machine("o", "pods")
        };
        for made in [containers, cluster, namespace] {
            tx.machines_mut().put(&made).await.unwrap();
            assert_eq!(tx.machines().get(&made.id).await.unwrap(), Some(made));
        }
    }

    #[tokio::test]
    async fn open_runs_and_present_worktrees_on_a_machine_are_counted() {
        let mut tx = seeded().await;
        tx.tasks_mut().insert(&task("u", 2)).await.unwrap();
        for (id, name) in [("m", "box"), ("n", "attic")] {
            tx.machines_mut().put(&machine(id, name)).await.unwrap();
        }
        for (id, of, on, status) in [
            ("v", "t", Some("m"), WorkspaceStatus::Active),
            ("w", "t", Some("m"), WorkspaceStatus::Error),
            ("x", "u", Some("m"), WorkspaceStatus::Cleaned),
            ("y", "u", None, WorkspaceStatus::Active),
        ] {
            let record = Workspace { machine_id: on.map(Into::into), status, ..record(id, of, 1) };
            tx.workspaces_mut().put(&record, Timestamp(1)).await.unwrap();
        }
        for (id, on, status) in [
            ("a", Some("m"), ExecutionStatus::Running),
            ("b", Some("m"), ExecutionStatus::Waiting),
            ("c", Some("m"), ExecutionStatus::Finished),
            ("d", None, ExecutionStatus::Running),
        ] {
            let mut row = run(id, "t");
            row.execution.status = status;
            row.execution.machine_id = on.map(Into::into);
            tx.executions_mut().insert(&row).await.unwrap();
        }
        let counts: Vec<_> =
            tx.machines().list().await.unwrap().iter().map(|it| (it.runs, it.tasks)).collect();
        assert_eq!(counts, [(0, 0), (2, 1)], "by name: attic, box");
        let tasks = tx.workspaces().tasks_on(&"m".into()).await.unwrap();
        assert_eq!(tasks.into_iter().map(|task| task.id.0).collect::<Vec<_>>(), ["t"]);
    }
}
