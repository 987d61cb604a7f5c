//! `tasks`. A row is read, changed and written back inside one transaction; `version` rises with each write.

use std::collections::HashMap;

use forge_model::ids::{ProjectId, TaskId};
use forge_model::inner_loop::TaskRace;
use forge_model::review::{ReviewConfig, WorkChanged};
use forge_model::settings::MergeConfig;
use forge_model::task::{
    CommitResult, DiffStat, EntryBarrier, ErrorAnnotation, ExecutionMode, TaskStateConfig, Waiting,
};
use forge_model::time::Timestamp;
use futures::TryStreamExt as _;
use sqlx::{QueryBuilder, Row as _, Sqlite, sqlite::SqliteRow};

use crate::{
    StoreError,
    row::{Columns, json, json_opt, push_list},
};

handles!(tasks() -> Tasks, tasks_mut() -> TasksMut);

/// How many bits of a stored number are the number that people see.
const NUMBER_BITS: u32 = 32;

/// A task as stored.
#[derive(Debug, Clone, PartialEq)]
#[expect(missing_docs, reason = "the fields are those of `forge_model::task::Task`, documented there")]
pub struct TaskRow {
    pub id: TaskId,
    pub project_id: ProjectId,
    pub number: u32,
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

/// What a list of tasks is narrowed by.
#[derive(Debug, Clone, Default)]
pub struct Filter {
    /// Only this project's.
    pub project: Option<ProjectId>,
    /// Only those in one of these states; all when empty.
    pub states: Vec<String>,
    /// Only those whose title, description or number contains this.
    pub text: Option<String>,
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
    /// Tasks whose branch may hold commits that their target lacks: those with a worktree, and those that had such commits
    /// when they were last counted.
    ///
    /// # Errors
    /// When they cannot be read.
    pub async fn with_commits(&mut self) -> Result<Vec<TaskId>, StoreError> {
        let rows = sqlx::query(
            "SELECT id FROM tasks WHERE execution_mode <> 'race_entry' AND (unmerged_commits > 0
               OR id IN (SELECT task_id FROM workspaces WHERE status <> 'cleaned')) ORDER BY id",
        )
        .fetch_all(&mut *self.conn)
        .await?;
        rows.iter().map(|row| Columns(row).text("id")).collect()
    }

    /// The tasks that a task's races were worked on as, in the order in which they were made.
    ///
    /// # Errors
    /// When they cannot be read.
    pub async fn race_entries(&mut self, task: &TaskId) -> Result<Vec<TaskRow>, StoreError> {
        let rows = sqlx::query(
            "SELECT * FROM tasks WHERE parent_id = ?1 AND execution_mode = 'race_entry' ORDER BY subtask_order",
        )
        .bind(task.as_str())
        .fetch_all(&mut *self.conn)
        .await?;
        rows.iter().map(read).collect()
    }

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
        let row = sqlx::query("SELECT * FROM tasks WHERE project_id = ?1 AND number = ?2")
            .bind(project.as_str())
            .bind(number)
            .fetch_optional(&mut *self.conn)
            .await?;
        row.as_ref().map(read).transpose()
    }

    /// At most `limit` tasks in board order.
    ///
    /// # Errors
    /// When they cannot be read.
    pub async fn list(&mut self, filter: &Filter, limit: u32) -> Result<Vec<TaskRow>, StoreError> {
        let rows = selection(filter, limit).build().fetch_all(&mut *self.conn).await?;
        rows.iter().map(read).collect()
    }

    /// Every task of a project, entries of races included.
    ///
    /// # Errors
    /// When they cannot be read.
    pub async fn of_project(&mut self, project: &ProjectId) -> Result<Vec<TaskRow>, StoreError> {
        let rows = sqlx::query("SELECT * FROM tasks WHERE project_id = ?1 ORDER BY id")
            .bind(project.as_str())
            .fetch_all(&mut *self.conn)
            .await?;
        rows.iter().map(read).collect()
    }

    /// The tasks of a project that are in one of these states, and the entries of races of those tasks.
    ///
    /// # Errors
    /// When they cannot be read.
    pub async fn closed(
        &mut self,
        project: &ProjectId,
        states: &[&str],
    ) -> Result<Vec<ClosedTask>, StoreError> {
        let rows = sqlx::query(
            "SELECT task.id, raced.id AS raced, coalesce(raced.status_since, task.status_since) AS since
             FROM tasks task
             LEFT JOIN tasks raced ON task.execution_mode = 'race_entry' AND raced.id = task.parent_id
             WHERE task.project_id = ?1
               AND coalesce(raced.status, task.status) IN (SELECT value FROM json_each(?2))",
        )
        .bind(project.as_str())
        .bind(json(&states)?)
        .fetch(&mut *self.conn);
        rows.map_ok(|row| ClosedTask {
            id: TaskId(row.get(0)),
            raced: row.get::<Option<String>, _>(1).map(TaskId),
            since: Timestamp(row.get(2)),
        })
        .err_into()
        .try_collect()
        .await
    }

    /// How many tasks of a project are in each state.
    ///
    /// # Errors
    /// When they cannot be counted.
    pub async fn counts(&mut self, project: &ProjectId) -> Result<Vec<(String, u32)>, StoreError> {
        let rows = sqlx::query("SELECT status, count(*) AS n FROM tasks WHERE project_id = ?1 AND execution_mode <> 'race_entry' GROUP BY status")
            .bind(project.as_str())
            .fetch_all(&mut *self.conn)
            .await?;
        rows.iter().map(|row| Ok((row.try_get("status")?, Columns(row).int("n")?))).collect()
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

    /// How many parts of each of many tasks are in each state.
    ///
    /// # Errors
    /// When they cannot be counted.
    pub async fn parts(
        &mut self,
        parents: &[TaskId],
    ) -> Result<HashMap<TaskId, Vec<(String, u32)>>, StoreError> {
        let mut query = QueryBuilder::<Sqlite>::new(
            "SELECT parent_id, status, count(*) AS n FROM tasks WHERE parent_id IN ",
        );
        push_list(&mut query, parents)?;
        query.push(" AND execution_mode <> 'race_entry' GROUP BY parent_id, status");
        let mut found: HashMap<TaskId, Vec<(String, u32)>> = HashMap::new();
        for row in query.build().fetch_all(&mut *self.conn).await? {
            let c = Columns(&row);
            found.entry(c.text("parent_id")?).or_default().push((c.text("status")?, c.int("n")?));
        }
        Ok(found)
    }

    /// Every ordered part of a project's tasks, in its parent's order.
    ///
    /// # Errors
    /// When they cannot be read.
    pub async fn ordered_parts(&mut self, project: &ProjectId) -> Result<Vec<(TaskId, TaskId)>, StoreError> {
        let rows = sqlx::query(
            "SELECT id, parent_id FROM tasks WHERE project_id = ?1 AND parent_id IS NOT NULL
             AND execution_mode = 'ordered_turn' ORDER BY parent_id, subtask_order, number",
        )
        .bind(project.as_str())
        .fetch_all(&mut *self.conn)
        .await?;
        rows.iter().map(|row| Ok((Columns(row).text("id")?, Columns(row).text("parent_id")?))).collect()
    }

    /// Tasks in one state of a project that the scheduler has something to do about: those that an agent in `role` is to
    /// work on, and those that say what they wait for. Highest priority first, then oldest; turns of a parent are left out.
    ///
    /// # Errors
    /// When they cannot be read.
    pub async fn queue(
        &mut self,
        project: &ProjectId,
        state: &str,
        role: Option<&str>,
    ) -> Result<Vec<TaskId>, StoreError> {
        let rows = sqlx::query(
            "SELECT id FROM tasks t WHERE project_id = ?1 AND status = ?2 AND execution_mode <> 'ordered_turn'
               AND (waiting IS NOT NULL
                    OR EXISTS (SELECT 1 FROM task_roles r WHERE r.task_id = t.id AND r.kind = 'agent' AND r.role = ?3))
             ORDER BY priority DESC, created_at, number",
        )
        .bind(project.as_str())
        .bind(state)
        .bind(role)
        .fetch(&mut *self.conn);
        rows.map_ok(|row| TaskId(row.get(0))).err_into().try_collect().await
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

    /// Tasks that stand in one of these states of their project with nothing queued, running, awaited or
    /// annotated for them.
    ///
    /// # Errors
    /// When they cannot be read.
    pub async fn idle(&mut self, project: &ProjectId, states: &[String]) -> Result<Vec<TaskRow>, StoreError> {
        let mut query = QueryBuilder::<Sqlite>::new(
            "SELECT t.* FROM tasks t WHERE t.waiting IS NULL AND t.error_annotation IS NULL
               AND NOT EXISTS (SELECT 1 FROM steps s WHERE s.task_id = t.id AND s.status <> 'done')
               AND t.project_id = ",
        );
        query.push_bind(project.as_str().to_owned()).push(" AND t.status IN ");
        push_list(&mut query, states)?;
        query.push(" ORDER BY t.id");
        let rows = query.build().fetch_all(&mut *self.conn).await?;
        rows.iter().map(read).collect()
    }

    /// Tasks that wait for something that passes by itself, highest priority and oldest first.
    ///
    /// # Errors
    /// When they cannot be read.
    pub async fn waiting(&mut self) -> Result<Vec<TaskRow>, StoreError> {
        let rows = sqlx::query(
            "SELECT * FROM tasks WHERE waiting IS NOT NULL ORDER BY priority DESC, status_since, number",
        )
        .fetch_all(&mut *self.conn)
        .await?;
        rows.iter().map(read).collect()
    }

    /// Tasks that need a person: an annotation, a gate that waits for them, a wait only they can end, or an agent
    /// that asks them; oldest first.
    ///
    /// # Errors
    /// When they cannot be read.
    pub async fn attention(&mut self, limit: u32) -> Result<Vec<TaskRow>, StoreError> {
        let rows = sqlx::query(
            "SELECT t.* FROM tasks t WHERE t.execution_mode <> 'race_entry' AND t.id IN (
               SELECT id FROM tasks WHERE error_annotation IS NOT NULL
               UNION SELECT task_id FROM reviews WHERE status = 'awaiting_human'
               UNION SELECT coalesce(iif(asker.execution_mode = 'race_entry', asker.parent_id, NULL), asker.id)
                     FROM approvals JOIN tasks asker ON asker.id = approvals.task_id WHERE approvals.status = 'pending'
               UNION SELECT id FROM tasks WHERE waiting IS NOT NULL
                     AND json_extract(waiting, '$.reason') IN ('target_checkout_dirty', 'git_locked', 'race_crown'))
             ORDER BY t.status_since, t.number LIMIT ?1",
        )
        .bind(limit)
        .fetch_all(&mut *self.conn)
        .await?;
        rows.iter().map(read).collect()
    }

    /// The position below all others of these states.
    ///
    /// # Errors
    /// When it cannot be read.
    pub async fn bottom(&mut self, project: &ProjectId, states: &[String]) -> Result<f64, StoreError> {
        // One look into the index for each state.
        let row = sqlx::query(
            "SELECT coalesce(max((SELECT max(position) FROM tasks WHERE project_id = ?1 AND status = s.value)), 0.0)
             FROM json_each(?2) s",
        )
        .bind(project.as_str())
        .bind(json(states)?)
        .fetch_one(&mut *self.conn)
        .await?;
        Ok(row.try_get::<f64, _>(0)? + 1024.0)
    }

    /// The position of the nearest task of these states above (or below) a position.
    ///
    /// # Errors
    /// When it cannot be read.
    pub async fn neighbour(
        &mut self,
        project: &ProjectId,
        states: &[String],
        position: f64,
        above: bool,
        except: &TaskId,
    ) -> Result<Option<f64>, StoreError> {
        let nearest = if above {
            "SELECT max((SELECT max(position) FROM tasks WHERE project_id = ?1 AND status = s.value AND position < ?2
               AND id <> ?3)) FROM json_each(?4) s"
        } else {
            "SELECT min((SELECT min(position) FROM tasks WHERE project_id = ?1 AND status = s.value AND position > ?2
               AND id <> ?3)) FROM json_each(?4) s"
        };
        let row = sqlx::query(nearest)
            .bind(project.as_str())
            .bind(position)
            .bind(except.as_str())
            .bind(json(states)?)
            .fetch_one(&mut *self.conn)
            .await?;
        Ok(row.try_get(0)?)
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
             execution_mode, subtask_order, review_config, merge_config, task_state_config, held, status_since, created_at, updated_at, race)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20)",
        )
        .bind(t.id.as_str())
        .bind(t.project_id.as_str())
        .bind(stored_number(t))
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
             session_boundary = ?26, race = ?27, closed_unmerged = ?28, work_changed = ?29 WHERE id = ?1",
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

    /// Spreads the positions of a column out evenly, in their present order.
    ///
    /// # Errors
    /// When it cannot be written.
    pub async fn spread(&mut self, project: &ProjectId, states: &[String]) -> Result<(), StoreError> {
        let mut query = QueryBuilder::<Sqlite>::new(
            "UPDATE tasks SET position = ranked.place * 1024.0 FROM (SELECT id AS task, row_number() OVER (ORDER BY position, id) AS place
             FROM tasks WHERE project_id = ",
        );
        query.push_bind(project.as_str().to_owned()).push(" AND status IN ");
        push_list(&mut query, states)?;
        query.push(") AS ranked WHERE tasks.id = ranked.task");
        query.build().execute(self.tx.sqlite()).await?;
        Ok(())
    }
}

/// The query for a page of tasks.
fn selection(filter: &Filter, limit: u32) -> QueryBuilder<Sqlite> {
    let mut query = QueryBuilder::<Sqlite>::new("");
    let mut states: Vec<&str> = filter.states.iter().map(String::as_str).collect();
    states.sort_unstable();
    states.dedup();
    match states.as_slice() {
        [] => push_selection(&mut query, filter, None),
        // Each state has its tasks in board order, and SQLite merges them: a page costs what it holds, however many
        // tasks there are. `IN` would sort all of them.
        [first, rest @ ..] => {
            push_selection(&mut query, filter, Some(first));
            for state in rest {
                query.push(" UNION ALL ");
                push_selection(&mut query, filter, Some(state));
            }
        }
    }
    query.push(" ORDER BY position, id LIMIT ").push_bind(limit);
    query
}

/// Appends the query for the tasks that pass a filter, of one of its states.
fn push_selection(query: &mut QueryBuilder<Sqlite>, filter: &Filter, state: Option<&str>) {
    query.push("SELECT * FROM tasks WHERE execution_mode <> 'race_entry'");
    if let Some(project) = &filter.project {
        query.push(" AND project_id = ").push_bind(project.as_str().to_owned());
    }
    if let Some(state) = state {
        query.push(" AND status = ").push_bind(state.to_owned());
    }
    if let Some(text) = &filter.text {
        let pattern = format!("%{}%", text.replace('\\', "\\\\").replace('%', "\\%").replace('_', "\\_"));
        query
            .push(" AND (title LIKE ")
            .push_bind(pattern.clone())
            .push(" ESCAPE '\\' OR description LIKE ")
            .push_bind(pattern);
        query
            .push(" ESCAPE '\\' OR number = ")
            .push_bind(text.trim_start_matches('#').parse::<i64>().unwrap_or(-1))
            .push(")");
    }
    if let Some((position, id)) = &filter.after {
        query.push(" AND (position, id) > (").push_bind(*position).push(", ").push_bind(id.clone()).push(")");
    }
}

/// An entry of a race has its task's number; its place among the task's entries stands above the 32nd bit, so that
/// numbers stay unique in a project and nobody finds an entry by one.
fn stored_number(t: &TaskRow) -> i64 {
    let place = if t.execution_mode == ExecutionMode::RaceEntry { t.subtask_order.unwrap_or(0) } else { 0 };
    (i64::from(place) << NUMBER_BITS) | i64::from(t.number)
}

/// The number that people see, of a stored one.
pub(crate) fn shown_number(stored: i64) -> u32 {
    u32::try_from(stored & i64::from(u32::MAX)).unwrap_or(u32::MAX)
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
        number: shown_number(c.int("number")?),
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
mod tests {
    use super::*;
    use crate::{ReadConnection, Store};

    async fn plan(conn: &mut ReadConnection, filter: &Filter) -> String {
        let query = selection(filter, 50);
        let text = sqlx::AssertSqlSafe(format!("EXPLAIN QUERY PLAN {}", query.sql().as_str()));
        let rows = sqlx::query(text).fetch_all(conn.sqlite()).await.unwrap();
        rows.iter().map(|row| format!("{}\n", row.get::<String, _>("detail"))).collect()
    }

    #[tokio::test]
    async fn page_of_tasks_is_read_in_order_without_a_sort() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(folder.path()).await.unwrap();
        let mut conn = store.read().await.unwrap();
        let all = Filter { project: Some("p".to_owned().into()), ..Filter::default() };
        let after = Filter { after: Some((1024.0, "id".to_owned())), ..all.clone() };
        let states = ["backlog", "todo", "todo"].map(str::to_owned).to_vec();
        let column = Filter { states, ..all.clone() };
        for filter in [all, after, column] {
            let plan = plan(&mut conn, &filter).await;
            assert!(!plan.contains("TEMP B-TREE") && !plan.contains("SCAN"), "{filter:?} is read by\n{plan}");
        }
    }
}
