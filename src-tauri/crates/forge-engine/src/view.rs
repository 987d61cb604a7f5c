//! Tasks as people see them: a page of rows with everything derived from other tables, read in a fixed
//! number of queries however many rows the page has.

use std::collections::BTreeMap;

use forge_model::execution::Usage;
use forge_model::ids::TaskId;
use forge_model::offer::{Facts, Offer, offers};
use forge_model::task::{HolderKind, LiveExecution, RoleHolder, SubtaskCounts, Task};
use forge_model::workflow::State;
use forge_store::table::{dependencies, executions, reviews, roles, tasks::TaskRow, workspaces};
use sqlx::SqliteConnection;

use crate::{Engine, EngineError, boundary, context::ProjectContext, error::Result, workspace::read_lock};

/// A page of tasks.
#[derive(Debug, Clone)]
pub struct TaskPage {
    /// The tasks.
    pub items: Vec<Task>,
    /// Where the next page begins; none when this is the last.
    pub next_cursor: Option<String>,
}

impl Engine {
    /// One task as people see it.
    pub(crate) async fn view_one(&self, conn: &mut SqliteConnection, row: TaskRow) -> Result<Task> {
        let id = row.id.clone();
        let mut views = self.view(conn, vec![row]).await?;
        views.pop().ok_or_else(|| EngineError::not_found("task", id))
    }

    /// Tasks, of any projects, as people see them; in the order given.
    pub(crate) async fn view(&self, conn: &mut SqliteConnection, rows: Vec<TaskRow>) -> Result<Vec<Task>> {
        let ids: Vec<TaskId> = rows.iter().map(|row| row.id.clone()).collect();
        let mut holders = roles::of_tasks(conn, &ids).await?;
        let mut spaces = workspaces::of_tasks(conn, &ids).await?;
        let mut badges = reviews::badges(conn, &ids).await?;
        let mut usage = executions::usage(conn, &ids).await?;
        let open = executions::open(conn, Some(&ids)).await?;
        let mut views = Vec::with_capacity(rows.len());
        for row in rows {
            let context = self.context(conn, &row.project_id).await?;
            let held: Vec<(String, RoleHolder)> = holders.remove(&row.id).unwrap_or_default();
            let mut workspace = spaces.remove(&row.id);
            if let Some(workspace) = &mut workspace {
                workspace.lock = read_lock(workspace);
            }
            let live = open.iter().find(|run| run.execution.task_id == row.id).map(|run| LiveExecution {
                execution_id: run.execution.id.clone(),
                agent_id: run.execution.agent_id.clone(),
                role: run.execution.role.to_string(),
                activity: self.activity_of(&row.id).map(|(_, activity)| activity).unwrap_or_default(),
                started_at: run.execution.started_at,
            });
            views.push(Task {
                offers: offers_of(&context, &row, &held),
                roles: roles_of(&context, held),
                depends_on: dependencies::of(conn, &row.id).await?,
                budgets: boundary::budget(conn, &context, &row).await?,
                workspace,
                live,
                review: badges.remove(&row.id),
                usage: usage.remove(&row.id).unwrap_or_else(Usage::default),
                id: row.id,
                number: row.number,
                project_id: row.project_id,
                title: row.title,
                description: row.description,
                status: row.status,
                priority: row.priority,
                position: row.position,
                version: row.version,
                commit_result: row.commit_result,
                subtasks: SubtaskCounts::default(),
                blocked_by: Vec::new(),
                parent_id: row.parent_id,
                execution_mode: row.execution_mode,
                subtask_order: row.subtask_order,
                review_config: row.review_config,
                merge_config: row.merge_config,
                task_state_config: row.task_state_config,
                review_passed_at: row.review_passed_at,
                entry_barrier: row.entry_barrier,
                error_annotation: row.error_annotation,
                waiting: row.waiting,
                held: row.held,
                diff_stat: row.diff_stat,
                created_at: row.created_at,
                updated_at: row.updated_at,
                status_since: row.status_since,
            });
        }
        Ok(views)
    }
}

/// What a person can do about a task now.
pub(crate) fn offers_of(
    context: &ProjectContext,
    task: &TaskRow,
    held: &[(String, RoleHolder)],
) -> Vec<Offer> {
    let work_role = context.work_role();
    offers(Facts {
        terminal: context.workflow.state(&task.status).is_some_and(State::is_terminal),
        held: task.held,
        annotation: task.error_annotation.as_ref().map(|annotation| annotation.kind),
        has_agent: held
            .iter()
            .any(|(role, holder)| Some(role.as_str()) == work_role && holder.kind == HolderKind::Agent),
    })
}

/// Every role of the workflow with its holder, so that a role nobody holds shows as such.
fn roles_of(
    context: &ProjectContext,
    held: Vec<(String, RoleHolder)>,
) -> BTreeMap<String, Option<RoleHolder>> {
    let mut roles: BTreeMap<String, Option<RoleHolder>> =
        context.workflow.roles.iter().map(|role| (role.name.clone(), None)).collect();
    roles.extend(held.into_iter().map(|(role, holder)| (role, Some(holder))));
    roles
}
