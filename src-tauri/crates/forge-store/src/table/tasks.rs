//! `tasks`. A row is read, changed and written back inside one transaction; `version` rises with each write.

use forge_model::ids::{MachineId, ProjectId, TaskId};
use forge_model::inner_loop::TaskRace;
use forge_model::review::{ReviewConfig, WorkChanged};
use forge_model::settings::MergeConfig;
use forge_model::task::{
    CommitResult, DiffStat, EntryBarrier, ErrorAnnotation, ExecutionMode, TaskStateConfig, Waiting,
};
use forge_model::time::Timestamp;
use sqlx::sqlite::SqliteRow;

use crate::{
    StoreError,
    row::{Columns, json, json_opt},
};

mod lists;
mod positions;
mod queued;

pub use queued::QueuedTask;

handles!(tasks() -> Tasks, tasks_mut() -> TasksMut);

/// A task as stored.
#[derive(Debug, Clone, PartialEq)]
#[expect(missing_docs, reason = "the fields are those of `forge_model::task::Task`, documented there")]
pub struct TaskRow {
    pub id: TaskId,
    pub project_id: ProjectId,
    /// Of a race's entry: that of its task.
    pub number: u32,
    /// Of a race's entry: its place among all entries that its task ever had.
    pub race_place: Option<u32>,
    pub title: String,
    pub description: String,
    pub status: String,
    pub priority: i32,
    pub position: f64,
    pub version: u32,
    pub parent_id: Option<TaskId>,
    pub execution_mode: ExecutionMode,
    pub subtask_order: Option<u32>,
    pub commit_result: Option<CommitResult>,
    pub review_config: Option<ReviewConfig>,
    pub merge_config: Option<MergeConfig>,
    pub task_state_config: Option<TaskStateConfig>,
    pub race: Option<TaskRace>,
    pub machines: Option<Vec<String>>,
    pub review_passed_at: Option<Timestamp>,
    pub entry_barrier: Option<EntryBarrier>,
    pub error_annotation: Option<ErrorAnnotation>,
    pub waiting: Option<Waiting>,
    pub held: bool,
    /// Transitions up to this number do not count for the budgets.
    pub budget_boundary: i64,
    /// Conversations of runs behind transitions up to this number are not gone on with.
    pub session_boundary: i64,
    pub diff_stat: Option<DiffStat>,
    pub unmerged_commits: u32,
    pub closed_unmerged: bool,
    pub work_changed: Option<WorkChanged>,
    pub status_since: Timestamp,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
}

impl TaskRow {
    /// A task created at `now` in a state, with defaults for everything else.
    #[must_use]
    pub const fn new(
        id: TaskId,
        project_id: ProjectId,
        number: u32,
        title: String,
        status: String,
        now: Timestamp,
    ) -> Self {
        Self {
            id,
            project_id,
            number,
            race_place: None,
            title,
            description: String::new(),
            status,
            priority: 0,
            position: 0.0,
            version: 1,
            parent_id: None,
            execution_mode: ExecutionMode::Independent,
            subtask_order: None,
            commit_result: None,
            review_config: None,
            merge_config: None,
            task_state_config: None,
            race: None,
            machines: None,
            review_passed_at: None,
            entry_barrier: None,
            error_annotation: None,
            waiting: None,
            held: false,
            budget_boundary: 0,
            session_boundary: 0,
            diff_stat: None,
            unmerged_commits: 0,
            closed_unmerged: false,
            work_changed: None,
            status_since: now,
            created_at: now,
            updated_at: now,
        }
    }
}

/// What a list of tasks is narrowed by.
#[derive(Debug, Clone, Default)]
pub struct Filter {
    /// Only this project's.
    pub project: Option<ProjectId>,
    /// Only those in one of these states; all when empty.
    pub states: Vec<String>,
    /// Only those whose title, description or number contains this.
    pub text: Option<String>,
    /// Only those whose worktree is on this machine; `Some(None)` is this computer.
    pub machine: Option<Option<MachineId>>,
    /// Only those after this `(position, id)`.
    pub after: Option<(f64, String)>,
}

/// A task that is closed, or an entry of a race whose task is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClosedTask {
    /// The task or entry.
    pub id: TaskId,
    /// The raced task, if it is an entry.
    pub raced: Option<TaskId>,
    /// Since when it, or the raced task, is in its state.
    pub since: Timestamp,
}

impl ClosedTask {
    /// The task, and the raced task of an entry.
    pub fn owners(&self) -> impl Iterator<Item = &TaskId> {
        std::iter::once(&self.id).chain(&self.raced)
    }
}

impl Tasks<'_> {
    /// One task.
    ///
    /// # Errors
    /// When it cannot be read.
    pub async fn get(&mut self, id: &TaskId) -> Result<Option<TaskRow>, StoreError> {
        let row = sqlx::query("SELECT * FROM tasks WHERE id = ?1")
            .bind(id.as_str())
            .fetch_optional(&mut *self.conn)
            .await?;
        row.as_ref().map(read).transpose()
    }

    /// A task by its number in a project.
    ///
    /// # Errors
    /// When it cannot be read.
    pub async fn by_number(
        &mut self,
        project: &ProjectId,
        number: u32,
    ) -> Result<Option<TaskRow>, StoreError> {
        let row = sqlx::query(
            "SELECT * FROM tasks WHERE project_id = ?1 AND number = ?2 AND execution_mode <> 'race_entry'",
        )
        .bind(project.as_str())
        .bind(number)
        .fetch_optional(&mut *self.conn)
        .await?;
        row.as_ref().map(read).transpose()
    }

    /// Some tasks, in the order of their ids in the list; those that are gone are left out.
    ///
    /// # Errors
    /// When they cannot be read.
    pub async fn of_ids(&mut self, ids: &[TaskId]) -> Result<Vec<TaskRow>, StoreError> {
        let rows = sqlx::query(
            "SELECT t.* FROM json_each(?1) wanted JOIN tasks t ON t.id = wanted.value ORDER BY wanted.key",
        )
        .bind(json(ids)?)
        .fetch_all(&mut *self.conn)
        .await?;
        rows.iter().map(read).collect()
    }

    /// The tasks that a task's races were worked on as, in the order in which they were made.
    ///
    /// # Errors
    /// When they cannot be read.
    pub async fn race_entries(&mut self, task: &TaskId) -> Result<Vec<TaskRow>, StoreError> {
        let rows = sqlx::query(
            "SELECT * FROM tasks WHERE parent_id = ?1 AND execution_mode = 'race_entry' ORDER BY race_place",
        )
        .bind(task.as_str())
        .fetch_all(&mut *self.conn)
        .await?;
        rows.iter().map(read).collect()
    }

    /// The parts of a task, in order.
    ///
    /// # Errors
    /// When they cannot be read.
    pub async fn children(&mut self, parent: &TaskId) -> Result<Vec<TaskRow>, StoreError> {
        let rows = sqlx::query("SELECT * FROM tasks WHERE parent_id = ?1 AND execution_mode <> 'race_entry' ORDER BY subtask_order, number")
            .bind(parent.as_str())
            .fetch_all(&mut *self.conn)
            .await?;
        rows.iter().map(read).collect()
    }
}

impl TasksMut<'_> {
    /// Inserts a task.
    ///
    /// # Errors
    /// When it cannot be written.
    pub async fn insert(&mut self, t: &TaskRow) -> Result<(), StoreError> {
        sqlx::query(
            "INSERT INTO tasks (id, project_id, number, title, description, status, priority, position, version, parent_id,
             execution_mode, subtask_order, review_config, merge_config, task_state_config, held, status_since, created_at, updated_at, race, race_place, machines)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20, ?21, ?22)",
        )
        .bind(t.id.as_str())
        .bind(t.project_id.as_str())
        .bind(t.number)
        .bind(&t.title)
        .bind(&t.description)
        .bind(&t.status)
        .bind(t.priority)
        .bind(t.position)
        .bind(t.version)
        .bind(t.parent_id.as_ref().map(TaskId::as_str))
        .bind(t.execution_mode.as_str())
        .bind(t.subtask_order)
        .bind(json_opt(t.review_config.as_ref())?)
        .bind(json_opt(t.merge_config.as_ref())?)
        .bind(json_opt(t.task_state_config.as_ref())?)
        .bind(t.held)
        .bind(t.status_since.0)
        .bind(t.created_at.0)
        .bind(t.updated_at.0)
        .bind(json_opt(t.race.as_ref())?)
        .bind(t.race_place)
        .bind(json_opt(t.machines.as_ref())?)
        .execute(self.tx.sqlite())
        .await?;
        Ok(())
    }

    /// Writes a task back; its version rises.
    ///
    /// # Errors
    /// When it cannot be written.
    pub async fn update(&mut self, t: &mut TaskRow, now: Timestamp) -> Result<(), StoreError> {
        t.version += 1;
        t.updated_at = now;
        sqlx::query(
            "UPDATE tasks SET title = ?2, description = ?3, status = ?4, priority = ?5, position = ?6, version = ?7, parent_id = ?8,
             execution_mode = ?9, subtask_order = ?10, review_config = ?11, merge_config = ?12, task_state_config = ?13,
             review_passed_at = ?14, entry_barrier = ?15, error_annotation = ?16, waiting = ?17, held = ?18, budget_boundary = ?19,
             diff_files = ?20, diff_added = ?21, diff_removed = ?22, status_since = ?23, updated_at = ?24, commit_result = ?25,
             session_boundary = ?26, race = ?27, closed_unmerged = ?28, work_changed = ?29, machines = ?30 WHERE id = ?1",
        )
        .bind(t.id.as_str())
        .bind(&t.title)
        .bind(&t.description)
        .bind(&t.status)
        .bind(t.priority)
        .bind(t.position)
        .bind(t.version)
        .bind(t.parent_id.as_ref().map(TaskId::as_str))
        .bind(t.execution_mode.as_str())
        .bind(t.subtask_order)
        .bind(json_opt(t.review_config.as_ref())?)
        .bind(json_opt(t.merge_config.as_ref())?)
        .bind(json_opt(t.task_state_config.as_ref())?)
        .bind(t.review_passed_at.map(|time| time.0))
        .bind(json_opt(t.entry_barrier.as_ref())?)
        .bind(self.tx.json_opt(t.error_annotation.as_ref())?)
        .bind(self.tx.json_opt(t.waiting.as_ref())?)
        .bind(t.held)
        .bind(t.budget_boundary)
        .bind(t.diff_stat.map(|stat| stat.files))
        .bind(t.diff_stat.map(|stat| stat.added))
        .bind(t.diff_stat.map(|stat| stat.removed))
        .bind(t.status_since.0)
        .bind(now.0)
        .bind(json_opt(t.commit_result.as_ref())?)
        .bind(t.session_boundary)
        .bind(json_opt(t.race.as_ref())?)
        .bind(t.closed_unmerged)
        .bind(json_opt(t.work_changed.as_ref())?)
        .bind(json_opt(t.machines.as_ref())?)
        .execute(self.tx.sqlite())
        .await?;
        Ok(())
    }

    /// Writes how many commits of a task's branch its target lacks. The count follows from git, so the version stays.
    ///
    /// # Errors
    /// When it cannot be written.
    pub async fn set_unmerged(&mut self, id: &TaskId, commits: u32) -> Result<(), StoreError> {
        sqlx::query("UPDATE tasks SET unmerged_commits = ?2 WHERE id = ?1")
            .bind(id.as_str())
            .bind(commits)
            .execute(self.tx.sqlite())
            .await?;
        Ok(())
    }

    /// Writes how the work of a task differs from the reviewed commit. The version stays, so that whoever was refused for it
    /// can take one of the offers that follow from it at once.
    ///
    /// # Errors
    /// When it cannot be written.
    pub async fn set_work_changed(
        &mut self,
        id: &TaskId,
        changed: Option<&WorkChanged>,
    ) -> Result<(), StoreError> {
        sqlx::query("UPDATE tasks SET work_changed = ?2 WHERE id = ?1")
            .bind(id.as_str())
            .bind(json_opt(changed)?)
            .execute(self.tx.sqlite())
            .await?;
        Ok(())
    }

    /// Removes a task with its history.
    ///
    /// # Errors
    /// When it cannot be removed.
    pub async fn delete(&mut self, id: &TaskId) -> Result<(), StoreError> {
        sqlx::query("DELETE FROM tasks WHERE id = ?1").bind(id.as_str()).execute(self.tx.sqlite()).await?;
        Ok(())
    }
}

pub(super) fn read(row: &SqliteRow) -> Result<TaskRow, StoreError> {
    let c = Columns(row);
    let diff_stat = match (c.int_opt("diff_files")?, c.int_opt("diff_added")?, c.int_opt("diff_removed")?) {
        (Some(files), Some(added), Some(removed)) => Some(DiffStat { files, added, removed }),
        _ => None,
    };
    Ok(TaskRow {
        id: c.text("id")?,
        project_id: c.text("project_id")?,
        number: c.int("number")?,
        race_place: c.int_opt("race_place")?,
        title: c.text("title")?,
        description: c.text("description")?,
        status: c.text("status")?,
        priority: c.int("priority")?,
        position: c.real("position")?,
        version: c.int("version")?,
        parent_id: c.text_opt("parent_id")?,
        execution_mode: c.name("execution_mode")?,
        subtask_order: c.int_opt("subtask_order")?,
        commit_result: c.json_opt("commit_result")?,
        review_config: c.json_opt("review_config")?,
        merge_config: c.json_opt("merge_config")?,
        task_state_config: c.json_opt("task_state_config")?,
        race: c.json_opt("race")?,
        machines: c.json_opt("machines")?,
        review_passed_at: c.time_opt("review_passed_at")?,
        entry_barrier: c.json_opt("entry_barrier")?,
        error_annotation: c.json_opt("error_annotation")?,
        waiting: c.json_opt("waiting")?,
        held: c.flag("held")?,
        budget_boundary: c.int("budget_boundary")?,
        session_boundary: c.int("session_boundary")?,
        diff_stat,
        unmerged_commits: c.int("unmerged_commits")?,
        closed_unmerged: c.flag("closed_unmerged")?,
        work_changed: c.json_opt("work_changed")?,
        status_since: c.time("status_since")?,
        created_at: c.time("created_at")?,
        updated_at: c.time("updated_at")?,
    })
}

#[cfg(test)]
mod places_tests;
#[cfg(test)]
mod tests;
