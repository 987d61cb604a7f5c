//! Tasks as people see them: a page of rows with everything derived from other tables, read in a fixed number of
//! queries however many rows the page has.

use std::{
    collections::{BTreeMap, HashMap, hash_map::Entry},
    sync::Arc,
};

use forge_model::execution::Usage;
use forge_model::ids::{ProjectId, TaskId};
use forge_model::offer::{Facts, Offer, offers};
use forge_model::review::ReviewStatus;
use forge_model::task::{HolderKind, LiveExecution, RoleHolder, SubtaskCounts, Task, TaskHealth};
use forge_model::workflow::{State, StateKind};
use forge_store::ReadConnection;
use forge_store::table::tasks::TaskRow;

use crate::{
    EngineError, World,
    core::{
        self, context::ProjectContext, lineage::is_entry, prerequisites::is_done_state, retry_budget,
        worktree_lock::read_lock,
    },
    error::Result,
    run,
    workspace::reviewed::RESTORABLE,
};

/// A page of tasks.
#[derive(Debug, Clone)]
pub struct TaskPage {
    /// The tasks.
    pub items: Vec<Task>,
    /// Where the next page begins; none when this is the last.
    pub next_cursor: Option<String>,
}

/// One task as people see it.
pub(crate) async fn view_one(world: &World, conn: &mut ReadConnection, row: TaskRow) -> Result<Task> {
    let id = row.id.clone();
    let mut views = view(world, conn, vec![row]).await?;
    views.pop().ok_or_else(|| EngineError::not_found("task", id))
}

/// Tasks, of any projects, as people see them; in the order given.
pub(crate) async fn view(world: &World, conn: &mut ReadConnection, rows: Vec<TaskRow>) -> Result<Vec<Task>> {
    let ids: Vec<TaskId> = rows.iter().map(|row| row.id.clone()).collect();
    let mut holders = conn.roles().of_tasks(&ids).await?;
    let mut spaces = conn.workspaces().of_tasks(&ids).await?;
    let mut badges = conn.reviews().badges(&ids).await?;
    let mut raced = conn.races().badges(&ids).await?;
    let mut issues = conn.issue_sources().links(&ids).await?;
    let mut pulls = conn.pull_requests().links(&ids).await?;
    let mut usage = conn.executions().usage(&ids).await?;
    let open = conn.executions().open(Some(&ids)).await?;
    let mut prerequisites = conn.dependencies().of_tasks(&ids).await?;
    let mut parts = conn.tasks().parts(&ids).await?;
    let contexts = contexts_of(world, conn, &rows).await?;
    let mut budgets = HashMap::new();
    for ((project, entries), context) in &contexts {
        let is_own = |row: &&TaskRow| row.project_id == *project && is_entry(row) == *entries;
        let own: Vec<&TaskRow> = rows.iter().filter(is_own).collect();
        budgets.extend(retry_budget::budgets(conn, context, &own).await?);
    }
    let mut views = Vec::with_capacity(rows.len());
    for row in rows {
        let context = contexts
            .get(&(row.project_id.clone(), is_entry(&row)))
            .ok_or_else(|| EngineError::not_found("project", &row.project_id))?;
        let needed = prerequisites.remove(&row.id).unwrap_or_default();
        let is_open = |state: &str| !is_done_state(context, state);
        let held: Vec<(String, RoleHolder)> = holders.remove(&row.id).unwrap_or_default();
        let mut workspace = spaces.remove(&row.id);
        if let Some(workspace) = &mut workspace {
            workspace.lock = read_lock(workspace);
        }
        let live = open.iter().find(|run| run.execution.task_id == row.id).map(|run| LiveExecution {
            execution_id: run.execution.id.clone(),
            agent_id: run.execution.agent_id.clone(),
            role: run.execution.role.to_string(),
            activity: run::running::activity_of(world, &row.id)
                .map(|(_, activity)| activity)
                .unwrap_or_default(),
            started_at: run.execution.started_at,
        });
        let review = badges.remove(&row.id);
        let is_reviewed = review.as_ref().is_some_and(|review| review.status == ReviewStatus::Running);
        views.push(Task {
            health: TaskHealth::of(
                row.error_annotation.is_some(),
                row.waiting.is_some(),
                live.is_some() || is_reviewed,
            ),
            offers: offers_of(context, &row, &held),
            roles: roles_of(context, held),
            blocked_by: needed.iter().filter(|(_, state)| is_open(state)).map(|(id, _)| id.clone()).collect(),
            depends_on: needed.into_iter().map(|(id, _)| id).collect(),
            budgets: budgets
                .remove(&row.id)
                .ok_or_else(|| EngineError::not_found("budgets of task", &row.id))?,
            subtasks: counts_of(context, parts.remove(&row.id).unwrap_or_default()),
            workspace,
            live,
            review,
            raced: raced.remove(&row.id),
            pull_request: pulls.remove(&row.id),
            issue: issues.remove(&row.id),
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
            parent_id: row.parent_id,
            execution_mode: row.execution_mode,
            // Programs read the place of a race's entry here, too.
            subtask_order: row.subtask_order.or(row.race_place),
            review_config: row.review_config,
            merge_config: row.merge_config,
            task_state_config: row.task_state_config,
            race: row.race,
            machines: row.machines,
            review_passed_at: row.review_passed_at,
            entry_barrier: row.entry_barrier,
            error_annotation: row.error_annotation,
            waiting: row.waiting,
            held: row.held,
            diff_stat: row.diff_stat,
            unmerged_commits: row.unmerged_commits,
            closed_unmerged: row.closed_unmerged,
            work_changed: row.work_changed,
            created_at: row.created_at,
            updated_at: row.updated_at,
            status_since: row.status_since,
        });
    }
    Ok(views)
}

/// The projects of some tasks, each read once; those of races' entries as they see them.
async fn contexts_of(
    world: &World,
    conn: &mut ReadConnection,
    rows: &[TaskRow],
) -> Result<HashMap<(ProjectId, bool), Arc<ProjectContext>>> {
    let mut contexts = HashMap::new();
    for row in rows {
        if let Entry::Vacant(place) = contexts.entry((row.project_id.clone(), is_entry(row))) {
            place.insert(core::contexts::context_of(world, conn, row).await?);
        }
    }
    Ok(contexts)
}

fn counts_of(context: &ProjectContext, parts: Vec<(String, u32)>) -> SubtaskCounts {
    parts.into_iter().fold(SubtaskCounts::default(), |counts, (state, n)| {
        let closed = context.workflow.state(&state).is_some_and(State::is_terminal);
        SubtaskCounts { closed: counts.closed + if closed { n } else { 0 }, total: counts.total + n }
    })
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
        waiting: task.waiting.as_ref().map(|waiting| waiting.reason),
        at_gate: context.workflow.state(&task.status).is_some_and(|state| state.kind == StateKind::Gate),
        work_changed: task.work_changed.is_some(),
        restorable: task.error_annotation.as_ref().is_some_and(|annotation| {
            annotation.details.get(RESTORABLE).is_some_and(serde_json::Value::is_string)
        }),
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
