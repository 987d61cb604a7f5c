//! `projects`.

use forge_model::ids::ProjectId;
use forge_model::inner_loop::RepositoryConfig;
use forge_model::project::{Project, WorkMode, WorkflowOrigin};
use forge_model::time::Timestamp;
use serde_json::Value;
use sqlx::{Row as _, sqlite::SqliteRow};

use crate::{
    StoreError,
    row::{Columns, json, json_opt},
};

handles!(projects() -> Projects, projects_mut() -> ProjectsMut);

/// A project as stored.
#[derive(Debug, Clone)]
pub struct ProjectRow {
    /// What people see of it.
    pub project: Project,
    /// What differs from the default settings.
    pub settings: Value,
    /// Its workflow definition as JSON text; parsed and cached by the engine.
    pub workflow: String,
    /// Where it was read, when it is kept in the repository.
    pub workflow_origin: Option<WorkflowOrigin>,
    /// What the repository's own configuration says; none before it was looked at.
    pub repository_config: Option<RepositoryConfig>,
}

/// Finished worktrees of a project that wait for the next task, their bytes, and whether all its worktrees were
/// over its cap, as last measured.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Places {
    /// How many wait.
    pub slots: u32,
    /// Their bytes.
    pub slots_bytes: u64,
    /// Whether the cap was exceeded.
    pub over: bool,
}

impl Projects<'_> {
    /// One project.
    ///
    /// # Errors
    /// When it cannot be read.
    pub async fn get(&mut self, id: &ProjectId) -> Result<Option<ProjectRow>, StoreError> {
        let row = sqlx::query("SELECT * FROM projects WHERE id = ?1")
            .bind(id.as_str())
            .fetch_optional(&mut *self.conn)
            .await?;
        row.as_ref().map(read).transpose()
    }

    /// The project of that name.
    ///
    /// # Errors
    /// When it cannot be read.
    pub async fn by_name(&mut self, name: &str) -> Result<Option<ProjectRow>, StoreError> {
        let row = sqlx::query("SELECT * FROM projects WHERE name = ?1")
            .bind(name)
            .fetch_optional(&mut *self.conn)
            .await?;
        row.as_ref().map(read).transpose()
    }

    /// All projects, by name.
    ///
    /// # Errors
    /// When they cannot be read.
    pub async fn list(&mut self) -> Result<Vec<ProjectRow>, StoreError> {
        let rows = sqlx::query("SELECT * FROM projects ORDER BY name").fetch_all(&mut *self.conn).await?;
        rows.iter().map(read).collect()
    }

    /// What was measured last.
    ///
    /// # Errors
    /// When it cannot be read.
    pub async fn places(&mut self, id: &ProjectId) -> Result<Places, StoreError> {
        let row = sqlx::query("SELECT slots, slots_bytes, disk_over FROM projects WHERE id = ?1")
            .bind(id.as_str())
            .fetch_optional(&mut *self.conn)
            .await?;
        let Some(row) = row else { return Ok(Places::default()) };
        let bytes: i64 = row.get(1);
        Ok(Places { slots: row.get(0), slots_bytes: u64::try_from(bytes).unwrap_or(0), over: row.get(2) })
    }
}

impl ProjectsMut<'_> {
    /// Inserts a project.
    ///
    /// # Errors
    /// When its name is taken, or it cannot be written.
    pub async fn insert(&mut self, row: &ProjectRow) -> Result<(), StoreError> {
        let p = &row.project;
        sqlx::query(
            "INSERT INTO projects (id, name, repo_path, default_branch, work_mode, settings, workflow, paused, version, created_at, updated_at, workflow_origin, repository_config)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)",
        )
        .bind(p.id.as_str())
        .bind(&p.name)
        .bind(&p.repo_path)
        .bind(&p.default_branch)
        .bind(p.work_mode.as_str())
        .bind(json(&row.settings)?)
        .bind(&row.workflow)
        .bind(p.paused)
        .bind(p.version)
        .bind(p.created_at.0)
        .bind(p.updated_at.0)
        .bind(json_opt(row.workflow_origin.as_ref())?)
        .bind(json_opt(row.repository_config.as_ref())?)
        .execute(self.tx.sqlite())
        .await?;
        Ok(())
    }

    /// Writes what can change of a project; its version rises.
    ///
    /// # Errors
    /// When it cannot be written.
    pub async fn update(&mut self, row: &mut ProjectRow, now: Timestamp) -> Result<(), StoreError> {
        row.project.version += 1;
        row.project.updated_at = now;
        let p = &row.project;
        sqlx::query(
            "UPDATE projects SET name = ?2, repo_path = ?3, default_branch = ?4, work_mode = ?5, settings = ?6, workflow = ?7,
             paused = ?8, version = ?9, updated_at = ?10, workflow_origin = ?11, repository_config = ?12 WHERE id = ?1",
        )
        .bind(p.id.as_str())
        .bind(&p.name)
        .bind(&p.repo_path)
        .bind(&p.default_branch)
        .bind(p.work_mode.as_str())
        .bind(json(&row.settings)?)
        .bind(&row.workflow)
        .bind(p.paused)
        .bind(p.version)
        .bind(p.updated_at.0)
        .bind(json_opt(row.workflow_origin.as_ref())?)
        .bind(json_opt(row.repository_config.as_ref())?)
        .execute(self.tx.sqlite())
        .await?;
        Ok(())
    }

    /// Removes a project with everything that belongs to it.
    ///
    /// # Errors
    /// When it cannot be removed.
    pub async fn delete(&mut self, id: &ProjectId) -> Result<(), StoreError> {
        sqlx::query("DELETE FROM projects WHERE id = ?1").bind(id.as_str()).execute(self.tx.sqlite()).await?;
        Ok(())
    }

    /// Takes the next task number of a project.
    ///
    /// # Errors
    /// When it cannot be written.
    pub async fn take_task_number(&mut self, id: &ProjectId) -> Result<u32, StoreError> {
        let row = sqlx::query("UPDATE projects SET next_task_number = next_task_number + 1 WHERE id = ?1 RETURNING next_task_number - 1 AS number")
            .bind(id.as_str())
            .fetch_one(self.tx.sqlite())
            .await?;
        Ok(row.get("number"))
    }

    /// Writes what was measured. No change of the project itself: its version stays.
    ///
    /// # Errors
    /// When it cannot be written.
    pub async fn set_places(&mut self, id: &ProjectId, places: Places) -> Result<(), StoreError> {
        sqlx::query("UPDATE projects SET slots = ?2, slots_bytes = ?3, disk_over = ?4 WHERE id = ?1")
            .bind(id.as_str())
            .bind(places.slots)
            .bind(i64::try_from(places.slots_bytes).unwrap_or(i64::MAX))
            .bind(places.over)
            .execute(self.tx.sqlite())
            .await?;
        Ok(())
    }
}

fn read(row: &SqliteRow) -> Result<ProjectRow, StoreError> {
    let c = Columns(row);
    Ok(ProjectRow {
        project: Project {
            id: c.text("id")?,
            name: c.text("name")?,
            repo_path: c.text("repo_path")?,
            default_branch: c.text("default_branch")?,
            work_mode: c.name::<WorkMode>("work_mode")?,
            paused: c.flag("paused")?,
            version: c.int("version")?,
            created_at: c.time("created_at")?,
            updated_at: c.time("updated_at")?,
        },
        settings: c.json("settings")?,
        workflow: c.text("workflow")?,
        workflow_origin: c.json_opt("workflow_origin")?,
        repository_config: c.json_opt("repository_config")?,
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::testing::{is_refused, migrated, project, seeded};

    #[tokio::test]
    async fn project_is_read_back_and_its_version_rises_with_each_change() {
        let mut tx = seeded().await;
        let mut row = tx.projects().get(&"p".into()).await.unwrap().unwrap();
        assert_eq!(row.project, project("p").project);
        row.settings = json!({ "a": 1 });
        row.project.paused = true;
        tx.projects_mut().update(&mut row, Timestamp(7)).await.unwrap();
        assert_eq!((row.project.version, row.project.updated_at), (2, Timestamp(7)));
        let stored = tx.projects().by_name("P").await.unwrap().unwrap();
        assert_eq!((stored.project, stored.settings), (row.project, json!({ "a": 1 })));
        let other = tx.projects().get(&"q".into()).await.unwrap().unwrap();
        assert_eq!(other.project, project("q").project, "another project was written");
    }

    #[tokio::test]
    async fn name_is_taken_once_and_projects_come_by_name() {
        let mut tx = seeded().await;
        let mut twin = project("r");
        twin.project.name = "Q".to_owned();
        assert!(is_refused(tx.projects_mut().insert(&twin).await, "UNIQUE"));
        twin.project.name = "O".to_owned();
        tx.projects_mut().insert(&twin).await.unwrap();
        let names: Vec<_> =
            tx.projects().list().await.unwrap().into_iter().map(|row| row.project.name).collect();
        assert_eq!(names, ["O", "P", "Q"]);
    }

    #[tokio::test]
    async fn project_of_before_sandboxes_has_none_and_one_that_says_so_keeps_it() {
        const THIS: i64 = 20_261_126_000_020;
        let mut conn = migrated(None, ..THIS).await;
        for (id, settings) in [("silent", "{}"), ("says", r#"{"sandbox":{"mode":"files"}}"#)] {
            let sql = "INSERT INTO projects (id, name, repo_path, default_branch, work_mode, settings, workflow, next_task_number,
                         created_at, updated_at) VALUES (?1, ?1, '/p', 'main', 'direct_commit', ?2, '{}', 1, 0, 0)";
            sqlx::query(sql).bind(id).bind(settings).execute(&mut conn).await.unwrap();
        }
        let mut conn = migrated(Some(conn), THIS..=THIS).await;
        let select = "SELECT json_extract(settings, '$.sandbox.mode') FROM projects ORDER BY id";
        let modes: Vec<String> = sqlx::query_scalar(select).fetch_all(&mut conn).await.unwrap();
        assert_eq!(modes, ["files", "off"]);
    }

    #[tokio::test]
    async fn task_numbers_are_given_once_each() {
        let mut tx = seeded().await;
        let mut given = Vec::new();
        for id in ["p", "q", "p"] {
            given.push(tx.projects_mut().take_task_number(&id.into()).await.unwrap());
        }
        assert_eq!(given, [1, 1, 2]);
    }
}
