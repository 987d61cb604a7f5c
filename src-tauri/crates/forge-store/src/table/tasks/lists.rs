//! Lists of tasks: pages of a board, and the tasks that the scheduler, people or a clean-up have to look at.

use std::collections::HashMap;

use forge_model::ids::{ProjectId, TaskId};
use forge_model::time::Timestamp;
use futures::TryStreamExt as _;
use sqlx::{QueryBuilder, Row as _, Sqlite};

use super::{ClosedTask, Filter, TaskRow, Tasks, read};
use crate::{
    StoreError,
    row::{Columns, json, push_list},
};

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
             ORDER BY priority DESC, created_at, race_place, number",
        )
        .bind(project.as_str())
        .bind(state)
        .bind(role)
        .fetch(&mut *self.conn);
        rows.map_ok(|row| TaskId(row.get(0))).err_into().try_collect().await
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
            "SELECT * FROM tasks WHERE waiting IS NOT NULL ORDER BY priority DESC, status_since, race_place, number",
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

    /// Tasks that were begun and stand in one of these states of their project with nothing wrong and nothing at work,
    /// longest first. What can still be undone stands there already; what is held a person has put aside.
    ///
    /// # Errors
    /// When they cannot be read.
    pub async fn at_rest(
        &mut self,
        project: &ProjectId,
        states: &[&str],
        limit: u32,
    ) -> Result<Vec<TaskRow>, StoreError> {
        let mut query = QueryBuilder::<Sqlite>::new(
            "SELECT t.* FROM tasks t WHERE t.error_annotation IS NULL AND t.held = 0
               AND t.execution_mode <> 'race_entry'
               AND (t.waiting IS NULL OR json_extract(t.waiting, '$.reason') = 'undo')
               AND NOT EXISTS (SELECT 1 FROM executions e WHERE e.task_id = t.id AND e.finished_at IS NULL)
               AND (t.waiting IS NOT NULL
                    OR NOT EXISTS (SELECT 1 FROM steps s WHERE s.task_id = t.id AND s.status <> 'done'))
               AND (EXISTS (SELECT 1 FROM workspaces w WHERE w.task_id = t.id)
                    OR EXISTS (SELECT 1 FROM executions e WHERE e.task_id = t.id))
               AND t.project_id = ",
        );
        query.push_bind(project.as_str().to_owned()).push(" AND t.status IN ");
        push_list(&mut query, states)?;
        query.push(" ORDER BY t.status_since, t.number LIMIT ").push_bind(limit);
        let rows = query.build().fetch_all(&mut *self.conn).await?;
        rows.iter().map(read).collect()
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
    if let Some(machine) = &filter.machine {
        query.push(" AND id IN (SELECT task_id FROM workspaces WHERE status <> 'cleaned' AND machine_id IS ");
        query.push_bind(machine.as_ref().map(|id| id.as_str().to_owned())).push(")");
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

#[cfg(test)]
mod tests {
    use forge_model::task::{AnnotationType, ErrorAnnotation, WaitReason, Waiting};
    use forge_model::transition::StepKind;
    use forge_model::workspace::{Workspace, WorkspaceStatus};

    use super::*;
    use crate::table::steps::StepRow;
    use crate::testing::{entry, record, run, seeded, task};
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

    fn ids(rows: &[TaskRow]) -> Vec<&str> {
        rows.iter().map(|row| row.id.as_str()).collect()
    }

    #[tokio::test]
    async fn page_goes_on_after_the_last_task_of_the_one_before() {
        let mut tx = seeded().await;
        for (id, number) in [("c", 2), ("b", 3), ("a", 4)] {
            tx.tasks_mut().insert(&TaskRow { position: 2048.0, ..task(id, number) }).await.unwrap();
        }
        tx.tasks_mut().insert(&entry("e", 1)).await.unwrap();
        let all = Filter { project: Some("p".into()), ..Filter::default() };
        let first = tx.tasks().list(&all, 2).await.unwrap();
        assert_eq!(ids(&first), ["t", "a"]);
        let after = Filter { after: Some((first[1].position, first[1].id.0.clone())), ..all };
        assert_eq!(ids(&tx.tasks().list(&after, 9).await.unwrap()), ["b", "c"]);
    }

    #[tokio::test]
    async fn list_is_narrowed_by_state_and_text() {
        let mut tx = seeded().await;
        let done = TaskRow { status: "done".to_owned(), title: "100% _sure_".to_owned(), ..task("d", 12) };
        tx.tasks_mut().insert(&done).await.unwrap();
        tx.tasks_mut().insert(&TaskRow { project_id: "q".into(), ..task("q", 1) }).await.unwrap();
        for (states, text, found) in [
            (vec!["done", "todo"], None, vec!["t", "d", "q"]),
            (vec!["done"], None, vec!["d"]),
            (vec![], Some("#12"), vec!["d"]),
            (vec![], Some("0%"), vec!["d"]),
            (vec![], Some("_s"), vec!["d"]),
            (vec![], Some("1"), vec!["t", "d", "q"]),
            (vec![], Some("task T"), vec!["t"]),
        ] {
            let states = states.into_iter().map(str::to_owned).collect();
            let filter = Filter { states, text: text.map(str::to_owned), ..Filter::default() };
            let mut rows = tx.tasks().list(&filter, 9).await.unwrap();
            rows.sort_by_key(|row| (row.project_id.0.clone(), row.number));
            assert_eq!(ids(&rows), found, "{filter:?}");
        }
        let counts = tx.tasks().counts(&"p".into()).await.unwrap();
        assert_eq!(counts, [("done".to_owned(), 1), ("todo".to_owned(), 1)]);
    }

    #[tokio::test]
    async fn list_is_narrowed_by_the_machine_that_the_worktree_is_on() {
        let mut tx = seeded().await;
        for (id, number) in [("u", 2), ("v", 3), ("w", 4)] {
            tx.tasks_mut().insert(&task(id, number)).await.unwrap();
        }
        for (id, of, on, status) in [
            ("1", "t", Some("m"), WorkspaceStatus::Active),
            ("2", "u", None, WorkspaceStatus::Active),
            ("3", "v", Some("m"), WorkspaceStatus::Cleaned),
        ] {
            let record = Workspace { machine_id: on.map(Into::into), status, ..record(id, of, 1) };
            tx.workspaces_mut().put(&record, Timestamp(1)).await.unwrap();
        }
        for (machine, found) in
            [(Some(Some("m".into())), vec!["t"]), (Some(None), vec!["u"]), (None, vec!["t", "u", "v", "w"])]
        {
            let filter = Filter { machine, ..Filter::default() };
            assert_eq!(ids(&tx.tasks().list(&filter, 9).await.unwrap()), found, "{filter:?}");
        }
    }

    #[tokio::test]
    async fn entries_of_a_closed_task_are_closed_with_it() {
        let mut tx = seeded().await;
        tx.tasks_mut().insert(&entry("e", 1)).await.unwrap();
        tx.tasks_mut().insert(&TaskRow { status: "done".to_owned(), ..task("d", 2) }).await.unwrap();
        let mut closed = tx.tasks().closed(&"p".into(), &["todo"]).await.unwrap();
        closed.sort_by_key(|task| task.id.0.clone());
        let since = Timestamp(0);
        let raced = |id: &str, raced: Option<&str>| ClosedTask {
            id: id.into(),
            raced: raced.map(TaskId::from),
            since,
        };
        assert_eq!(closed, [raced("e", Some("t")), raced("t", None)]);
        assert_eq!(tx.tasks().counts(&"p".into()).await.unwrap().len(), 2, "an entry is counted nowhere");
    }

    #[tokio::test]
    async fn waiting_tasks_come_by_rank_and_entries_behind_tasks() {
        let mut tx = seeded().await;
        tx.tasks_mut().insert(&task("u", 2)).await.unwrap();
        tx.tasks_mut().insert(&TaskRow { priority: 5, ..task("urgent", 3) }).await.unwrap();
        for (id, place) in [("e2", 2), ("e1", 1)] {
            tx.tasks_mut().insert(&entry(id, place)).await.unwrap();
        }
        for id in ["u", "e1", "e2", "t", "urgent"] {
            let mut row = tx.tasks().get(&id.into()).await.unwrap().unwrap();
            row.waiting = Some(Waiting {
                reason: WaitReason::TargetCheckoutDirty,
                until: None,
                files: Vec::new(),
                message: String::new(),
            });
            tx.tasks_mut().update(&mut row, Timestamp(1)).await.unwrap();
        }
        let waiting = tx.tasks().waiting().await.unwrap();
        assert_eq!(ids(&waiting), ["urgent", "t", "u", "e1", "e2"]);
        assert_eq!(ids(&tx.tasks().attention(9).await.unwrap()), ["t", "u", "urgent"]);
        let queue = tx.tasks().queue(&"p".into(), "todo", Some("coder")).await.unwrap();
        assert_eq!(queue, ["urgent", "t", "u", "e1", "e2"].map(TaskId::from));
        assert_eq!(tx.tasks().idle(&"p".into(), &["todo".to_owned()]).await.unwrap(), []);
    }

    #[tokio::test]
    async fn task_at_rest_was_begun_and_has_nothing_wrong_and_nothing_at_work() {
        let mut tx = seeded().await;
        for (number, id) in (2..).zip(["undo", "held", "busy", "new", "wrong", "begins"]) {
            tx.tasks_mut().insert(&task(id, number)).await.unwrap();
        }
        tx.tasks_mut().insert(&TaskRow { status: "done".to_owned(), ..task("elsewhere", 9) }).await.unwrap();
        tx.tasks_mut().insert(&entry("e", 1)).await.unwrap();
        for id in ["t", "undo", "held", "busy", "wrong", "begins", "elsewhere", "e"] {
            tx.workspaces_mut().put(&record(&format!("of {id}"), id, 1), Timestamp(1)).await.unwrap();
        }
        for (id, reason) in [("undo", WaitReason::Undo), ("busy", WaitReason::AgentBusy)] {
            let mut row = tx.tasks().get(&id.into()).await.unwrap().unwrap();
            row.waiting = Some(Waiting { reason, until: None, files: Vec::new(), message: String::new() });
            tx.tasks_mut().update(&mut row, Timestamp(1)).await.unwrap();
        }
        let mut held = tx.tasks().get(&"held".into()).await.unwrap().unwrap();
        held.held = true;
        tx.tasks_mut().update(&mut held, Timestamp(1)).await.unwrap();
        let mut wrong = tx.tasks().get(&"wrong".into()).await.unwrap().unwrap();
        wrong.error_annotation = Some(ErrorAnnotation {
            kind: AnnotationType::ExecutorFailed,
            from_state: "todo".to_owned(),
            message: String::new(),
            details: serde_json::Value::Null,
            execution_id: None,
            hook: None,
            evidence: None,
            at: Timestamp(1),
        });
        tx.tasks_mut().update(&mut wrong, Timestamp(1)).await.unwrap();
        for (id, kind) in [("begins", StepKind::Admit), ("undo", StepKind::UndoWindow)] {
            tx.steps_mut().insert(&mut StepRow::pending(&id.into(), "todo", kind, "phase")).await.unwrap();
        }
        let states = ["todo", "qa"];
        assert_eq!(ids(&tx.tasks().at_rest(&"p".into(), &states, 9).await.unwrap()), ["t", "undo"]);
        assert_eq!(ids(&tx.tasks().at_rest(&"p".into(), &states, 1).await.unwrap()), ["t"]);
        tx.executions_mut().insert(&run("x", "t")).await.unwrap();
        let at_rest = tx.tasks().at_rest(&"p".into(), &states, 9).await.unwrap();
        assert_eq!(ids(&at_rest), ["undo"], "a run is at work on the other one");
        let mut ran = run("y", "new");
        tx.executions_mut().insert(&ran).await.unwrap();
        ran.execution.finished_at = Some(Timestamp(2));
        tx.executions_mut().update(&ran.execution).await.unwrap();
        let at_rest = tx.tasks().at_rest(&"p".into(), &states, 9).await.unwrap();
        assert_eq!(ids(&at_rest), ["undo", "new"], "begun, without a worktree by now");
    }
}
