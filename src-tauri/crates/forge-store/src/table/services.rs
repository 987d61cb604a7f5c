//! `services`: starts of services, the ended ones included.

use forge_model::ids::{ServiceId, TaskId};
use forge_model::service::{Service, ServiceDefinition, ServiceState, log_of, url_of};
use forge_model::time::Timestamp;
use sqlx::sqlite::SqliteRow;

use crate::{
    StoreError,
    row::{Columns, json},
};

handles!(services() -> Services, services_mut() -> ServicesMut);

/// One start of a service as stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServiceRow {
    /// What people see of it.
    pub service: Service,
    /// What was started. The values of its variables are not kept.
    pub definition: ServiceDefinition,
    /// Whether a keeper was given it: whoever finds it nowhere afterwards knows that it ended.
    pub spawned: bool,
}

/// How a start ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServiceEnd {
    /// Failed or stopped.
    pub state: ServiceState,
    /// Why.
    pub reason: String,
    /// The exit code, if it exited with one.
    pub exit_code: Option<i32>,
}

const SELECT: &str = "SELECT s.*, t.project_id AS project_id, t.number AS task_number, t.title AS task_title
    FROM services s JOIN tasks t ON t.id = s.task_id";

const ACTIVE: &str = "s.state IN ('starting', 'ready')";

impl Services<'_> {
    /// One start.
    ///
    /// # Errors
    /// When it cannot be read.
    pub async fn get(&mut self, id: &ServiceId) -> Result<Option<ServiceRow>, StoreError> {
        let sql = [SELECT, " WHERE s.id = ?1"].concat();
        let query = sqlx::query(sqlx::AssertSqlSafe(sql)).bind(id.as_str());
        query.fetch_optional(&mut *self.conn).await?.as_ref().map(read).transpose()
    }

    /// Those that run or are about to, oldest first.
    ///
    /// # Errors
    /// When they cannot be read.
    pub async fn active(&mut self) -> Result<Vec<ServiceRow>, StoreError> {
        let sql = [SELECT, " WHERE ", ACTIVE, " ORDER BY s.started_at, s.rowid"].concat();
        let rows = sqlx::query(sqlx::AssertSqlSafe(sql)).fetch_all(&mut *self.conn).await?;
        rows.iter().map(read).collect()
    }

    /// The latest start of each service of a task, by name.
    ///
    /// # Errors
    /// When they cannot be read.
    pub async fn latest(&mut self, task: &TaskId) -> Result<Vec<ServiceRow>, StoreError> {
        let newest = " WHERE s.task_id = ?1 AND s.rowid = (SELECT n.rowid FROM services n
            WHERE n.task_id = s.task_id AND n.name = s.name ORDER BY n.started_at DESC, n.rowid DESC LIMIT 1)
            ORDER BY s.name";
        let sql = [SELECT, newest].concat();
        let query = sqlx::query(sqlx::AssertSqlSafe(sql)).bind(task.as_str());
        query.fetch_all(&mut *self.conn).await?.iter().map(read).collect()
    }
}

impl ServicesMut<'_> {
    /// Writes a start down.
    ///
    /// # Errors
    /// When one of that name runs in the task, or it cannot be written.
    pub async fn insert(&mut self, row: &ServiceRow) -> Result<(), StoreError> {
        let mut definition = row.definition.clone();
        definition.env.values_mut().for_each(String::clear);
        let (definition, service) = (json(&definition)?, &row.service);
        let reason = self.tx.text_opt(service.reason.as_ref()).map(|text| text.into_owned());
        sqlx::query(
            "INSERT INTO services (id, task_id, name, definition, state, reason, port, spawned, started_by, started_at, ready_at, ended_at, exit_code)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)",
        )
        .bind(service.id.as_str())
        .bind(service.task_id.as_str())
        .bind(&service.name)
        .bind(definition)
        .bind(service.state.as_str())
        .bind(reason)
        .bind(service.port)
        .bind(row.spawned)
        .bind(&service.started_by)
        .bind(service.started_at.0)
        .bind(service.ready_at.map(|at| at.0))
        .bind(service.ended_at.map(|at| at.0))
        .bind(service.exit_code)
        .execute(self.tx.sqlite())
        .await?;
        Ok(())
    }

    /// Notes that a keeper was given it.
    ///
    /// # Errors
    /// When it cannot be written.
    pub async fn set_spawned(&mut self, id: &ServiceId) -> Result<(), StoreError> {
        let query = sqlx::query("UPDATE services SET spawned = 1 WHERE id = ?1").bind(id.as_str());
        query.execute(self.tx.sqlite()).await?;
        Ok(())
    }

    /// Notes that it is ready. Whether it was about to be.
    ///
    /// # Errors
    /// When it cannot be written.
    pub async fn set_ready(&mut self, id: &ServiceId, now: Timestamp) -> Result<bool, StoreError> {
        let sql = "UPDATE services SET state = 'ready', ready_at = ?2 WHERE id = ?1 AND state = 'starting'";
        let done = sqlx::query(sql).bind(id.as_str()).bind(now.0).execute(self.tx.sqlite()).await?;
        Ok(done.rows_affected() > 0)
    }

    /// Writes its end. Whether it had none: the first end counts.
    ///
    /// # Errors
    /// When it cannot be written.
    pub async fn end(
        &mut self,
        id: &ServiceId,
        end: &ServiceEnd,
        now: Timestamp,
    ) -> Result<bool, StoreError> {
        let reason = self.tx.text(&end.reason).into_owned();
        let done = sqlx::query(
            "UPDATE services SET state = ?2, reason = ?3, exit_code = ?4, ended_at = ?5
             WHERE id = ?1 AND state IN ('starting', 'ready')",
        )
        .bind(id.as_str())
        .bind(end.state.as_str())
        .bind(reason)
        .bind(end.exit_code)
        .bind(now.0)
        .execute(self.tx.sqlite())
        .await?;
        Ok(done.rows_affected() > 0)
    }
}

fn read(row: &SqliteRow) -> Result<ServiceRow, StoreError> {
    let c = Columns(row);
    let id: ServiceId = c.text("id")?;
    let definition: ServiceDefinition = c.json("definition")?;
    let port = c.int("port")?;
    let service = Service {
        task_id: c.text("task_id")?,
        project_id: c.text("project_id")?,
        task_number: c.int("task_number")?,
        task_title: c.text("task_title")?,
        name: c.text("name")?,
        command: definition.command.clone(),
        state: c.name("state")?,
        reason: c.text_opt("reason")?,
        port,
        url: url_of(port, definition.open.as_deref()),
        log_id: log_of(&id),
        started_by: c.text("started_by")?,
        started_at: c.time("started_at")?,
        ready_at: c.time_opt("ready_at")?,
        ended_at: c.time_opt("ended_at")?,
        exit_code: c.int_opt("exit_code")?,
        stop_after_minutes: definition.idle_minutes(),
        id,
    };
    Ok(ServiceRow { service, definition, spawned: c.flag("spawned")? })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{is_refused, seeded, task};

    fn row(id: &str, of: &str, name: &str, at: i64) -> ServiceRow {
        let definition = serde_json::json!({ "name": name, "command": "serve", "env": { "A": "secret" } });
        let definition: ServiceDefinition = serde_json::from_value(definition).unwrap();
        let service = Service {
            id: id.into(),
            task_id: of.into(),
            project_id: "p".into(),
            task_number: 1,
            task_title: "Title".to_owned(),
            name: name.to_owned(),
            command: "serve".to_owned(),
            state: ServiceState::Starting,
            reason: None,
            port: 4000,
            url: "http://localhost:4000/".to_owned(),
            log_id: format!("service-{id}"),
            started_by: "user:cli".to_owned(),
            started_at: Timestamp(at),
            ready_at: None,
            ended_at: None,
            exit_code: None,
            stop_after_minutes: 60,
        };
        ServiceRow { service, definition, spawned: false }
    }

    fn stopped(reason: &str) -> ServiceEnd {
        ServiceEnd { state: ServiceState::Stopped, reason: reason.to_owned(), exit_code: Some(0) }
    }

    #[tokio::test]
    async fn start_is_read_back_without_values_of_its_variables_and_follows_its_states() {
        let mut tx = seeded().await;
        tx.services_mut().insert(&row("s", "t", "web", 1)).await.unwrap();
        let read = tx.services().get(&"s".into()).await.unwrap().unwrap();
        assert_eq!(read.definition.env["A"], "");
        assert!(!read.spawned && read.service.state == ServiceState::Starting);
        tx.services_mut().set_spawned(&"s".into()).await.unwrap();
        assert!(tx.services_mut().set_ready(&"s".into(), Timestamp(5)).await.unwrap());
        assert!(!tx.services_mut().set_ready(&"s".into(), Timestamp(6)).await.unwrap());
        assert!(tx.services_mut().end(&"s".into(), &stopped("first"), Timestamp(7)).await.unwrap());
        assert!(!tx.services_mut().end(&"s".into(), &stopped("second"), Timestamp(8)).await.unwrap());
        let read = tx.services().get(&"s".into()).await.unwrap().unwrap();
        assert!(read.spawned);
        assert_eq!(read.service.reason.as_deref(), Some("first"));
        assert_eq!((read.service.ready_at, read.service.ended_at), (Some(Timestamp(5)), Some(Timestamp(7))));
    }

    #[tokio::test]
    async fn one_of_a_name_runs_in_a_task_and_the_latest_start_is_told() {
        let mut tx = seeded().await;
        tx.tasks_mut().insert(&task("u", 2)).await.unwrap();
        tx.services_mut().insert(&row("a", "t", "web", 1)).await.unwrap();
        assert!(is_refused(tx.services_mut().insert(&row("b", "t", "web", 2)).await, "UNIQUE"));
        tx.services_mut().insert(&row("c", "u", "web", 3)).await.unwrap();
        tx.services_mut().insert(&row("d", "t", "db", 4)).await.unwrap();
        tx.services_mut().end(&"a".into(), &stopped("x"), Timestamp(5)).await.unwrap();
        tx.services_mut().insert(&row("e", "t", "web", 6)).await.unwrap();
        let ids = |rows: Vec<ServiceRow>| rows.into_iter().map(|it| it.service.id.0).collect::<Vec<_>>();
        assert_eq!(ids(tx.services().active().await.unwrap()), ["c", "d", "e"]);
        assert_eq!(ids(tx.services().latest(&"t".into()).await.unwrap()), ["d", "e"]);
        tx.tasks_mut().delete(&"t".into()).await.unwrap();
        assert_eq!(ids(tx.services().active().await.unwrap()), ["c"]);
    }
}
