//! Creating, changing and deleting tasks; their roles and dependencies.

use forge_model::event::EventType;
use forge_model::ids::{ProjectId, TaskId};
use forge_model::inner_loop::TaskRace;
use forge_model::machine::required;
use forge_model::review::ReviewConfig;
use forge_model::settings::MergeConfig;
use forge_model::task::{ExecutionMode, HolderKind, RoleHolder, Task, TaskStateConfig};
use forge_model::workflow::{Finding, State};
use forge_model::workspace::WorkspaceStatus;
use forge_store::Tx;
use forge_store::table::tasks::TaskRow;
use serde_json::{Value, json};

use crate::{
    ConflictCode, EngineError, Work, World,
    core::{
        self,
        context::{ProjectContext, is_closed, task_folder},
        lineage::is_ordered,
        new_task::{self, NewTask},
        prerequisites::{is_done, named},
    },
    error::Result,
    read,
    run::{self, attachments::remove_folder},
    subtask::{self, open_parts},
    workspace::{self, orphans::clear_own_files, removal::Goes},
};

/// The longest title, in characters.
const MAX_TITLE: usize = 500;
/// The longest description, in bytes.
const MAX_DESCRIPTION: usize = 256 * 1024;
/// Why an ordered subtask has no machines of its own.
const OF_PARENT: &str = "ordered subtasks run on their parent's machine";

/// What is to change of a task.
#[derive(Debug, Clone, Default)]
pub struct TaskEdit {
    /// One line.
    pub title: Option<String>,
    /// Markdown.
    pub description: Option<String>,
    /// Higher goes first.
    pub priority: Option<i32>,
    /// Checks; `Some(None)` leaves them to the project.
    pub review_config: Option<Option<ReviewConfig>>,
    /// Merging; `Some(None)` leaves it to the project.
    pub merge_config: Option<Option<MergeConfig>>,
    /// Its own limits; `Some(None)` leaves them to the workflow.
    pub task_state_config: Option<Option<TaskStateConfig>>,
    /// Position among its parent's ordered subtasks.
    pub subtask_order: Option<u32>,
    /// Its race; `Some(None)` takes it back.
    pub race: Option<Option<TaskRace>>,
    /// Labels that its machine must all have; `Some(None)` leaves them to its agent and project.
    pub machines: Option<Option<Vec<String>>>,
}

/// Makes a task in the initial state of its project.
pub(crate) async fn create_task(world: &World, project: &ProjectId, new: NewTask) -> Result<Task> {
    let mut findings = text_findings(Some(&new.title), Some(&new.description));
    findings.extend(new.review_config.iter().flat_map(|config| config.findings("review_config")));
    findings.extend(new.merge_config.iter().flat_map(|config| config.findings("merge_config")));
    findings.extend(new.machines.iter().flat_map(|labels| required::findings(labels, "machines")));
    if new.machines.is_some() && new.execution_mode == Some(ExecutionMode::OrderedTurn) {
        findings.push(finding("machines", OF_PARENT));
    }
    let mut tx = world.store().write().await?;
    let context = core::contexts::context(world, &mut tx, project).await?;
    if let Some(race) = &new.race {
        findings.extend(race_findings(&mut tx, &context, race).await?);
    }
    for (role, holder) in &new.roles {
        findings.extend(role_finding(&mut tx, &context, role, holder.as_ref()).await?);
    }
    for id in &new.depends_on {
        findings.extend(prerequisite_finding(&mut tx, &context, id).await?);
    }
    let part = subtask::new_part(&mut tx, &context, &new, &mut findings).await?;
    if !findings.is_empty() {
        return Err(EngineError::Invalid(findings));
    }
    let initial =
        context.workflow.initial().ok_or_else(|| EngineError::not_found("state", "of kind initial"))?;
    let title = new.title.trim().to_owned();
    let row = TaskRow {
        description: new.description,
        priority: new.priority,
        parent_id: part.parent,
        execution_mode: part.mode.unwrap_or(ExecutionMode::Independent),
        subtask_order: part.order,
        review_config: new.review_config,
        merge_config: new.merge_config.map(MergeConfig::tidied),
        task_state_config: new.task_state_config,
        race: new.race,
        machines: new.machines,
        ..new_task::new_row(world, &mut tx, &context, initial, title).await?
    };
    tx.tasks_mut().insert(&row).await?;
    for (role, holder) in &new.roles {
        tx.roles_mut().put(&row.id, role, holder.as_ref()).await?;
    }
    for id in &new.depends_on {
        tx.dependencies_mut().insert(&row.id, id).await?;
    }
    if row.parent_id.is_some() || !new.depends_on.is_empty() {
        subtask::require_no_cycle(&mut tx, project, &row.id).await?;
    }
    new_task::announce(world, &mut tx, &row).await?;
    touch_parent(world, &mut tx, &row).await?;
    let view = read::view::view_one(world, &mut tx, row).await?;
    tx.commit().await?;
    core::scheduler::look_for_work(world);
    Ok(view)
}

/// A task's parts, in their order.
pub(crate) async fn subtasks(world: &World, id: &TaskId) -> Result<Vec<Task>> {
    let mut conn = world.store().read().await?;
    core::load::load(world, &mut conn, id, None).await?;
    let rows = conn.tasks().children(id).await?;
    read::view::view(world, &mut conn, rows).await
}

/// Changes what a task says.
pub(crate) async fn update_task(world: &World, id: &TaskId, version: u32, edit: TaskEdit) -> Result<Task> {
    let mut findings = text_findings(edit.title.as_deref(), edit.description.as_deref());
    findings.extend(edit.review_config.iter().flatten().flat_map(|config| config.findings("review_config")));
    findings.extend(edit.merge_config.iter().flatten().flat_map(|config| config.findings("merge_config")));
    findings.extend(edit.machines.iter().flatten().flat_map(|labels| required::findings(labels, "machines")));
    if !findings.is_empty() {
        return Err(EngineError::Invalid(findings));
    }
    let mut tx = world.store().write().await?;
    let (mut row, context) = core::load::load_own(world, &mut tx, id, Some(version)).await?;
    if let Some(Some(race)) = &edit.race {
        let findings = race_findings(&mut tx, &context, race).await?;
        if !findings.is_empty() {
            return Err(EngineError::Invalid(findings));
        }
    }
    if let Some(title) = edit.title {
        row.title = title.trim().to_owned();
    }
    row.description = edit.description.unwrap_or(row.description);
    row.priority = edit.priority.unwrap_or(row.priority);
    row.review_config = edit.review_config.unwrap_or(row.review_config);
    row.merge_config = match edit.merge_config {
        Some(config) => config.map(MergeConfig::tidied),
        None => row.merge_config,
    };
    row.task_state_config = edit.task_state_config.unwrap_or(row.task_state_config);
    row.race = edit.race.unwrap_or(row.race);
    if let Some(machines) = edit.machines {
        if machines.is_some() && is_ordered(&row) {
            return Err(EngineError::invalid("machines", OF_PARENT));
        }
        row.machines = machines;
    }
    if let Some(order) = edit.subtask_order {
        if !is_ordered(&row) {
            return Err(EngineError::invalid("subtask_order", "only ordered subtasks have an order"));
        }
        row.subtask_order = Some(order);
    }
    tx.tasks_mut().update(&mut row, world.now()).await?;
    if edit.subtask_order.is_some() {
        subtask::require_no_cycle(&mut tx, &row.project_id, id).await?;
    }
    world.emit(&mut tx, EventType::TaskUpdated, &row, id.as_str(), &Value::Null).await?;
    let view = read::view::view_one(world, &mut tx, row).await?;
    tx.commit().await?;
    // Another priority is another place in the queue.
    core::scheduler::wake_waiting(world);
    Ok(view)
}

/// Gives a role to an agent, to the person, or to nobody. A new coder's work is judged anew.
pub(crate) async fn assign(
    world: &World,
    id: &TaskId,
    version: Option<u32>,
    role: &str,
    holder: Option<RoleHolder>,
) -> Result<Task> {
    let mut tx = world.store().write().await?;
    let (mut row, context) = core::load::load_own(world, &mut tx, id, version).await?;
    if let Some(finding) = role_finding(&mut tx, &context, role, holder.as_ref()).await? {
        return Err(EngineError::Invalid(vec![finding]));
    }
    let before = tx.roles().holder(id, role).await?;
    if before != holder {
        // A run that was recorded is started whoever holds the role by then. An engine that does no work has no such runs:
        // what a kill left is settled by the next one that works.
        let runs = run::running::is_running(world, id)
            || (world.inner.config.work != Work::Nothing
                && !tx.executions().open(Some(std::slice::from_ref(id))).await?.is_empty());
        if runs && context.work_role() == Some(role) {
            return Err(EngineError::conflict(
                ConflictCode::TaskOpen,
                "its agent is running: stop it before you reassign the role",
            ));
        }
        tx.roles_mut().put(id, role, holder.as_ref()).await?;
        if context.work_role() == Some(role) {
            row.review_passed_at = None;
        }
        tx.tasks_mut().update(&mut row, world.now()).await?;
        world.emit(&mut tx, EventType::TaskAssigned, &row, id.as_str(), &json!({ "role": role })).await?;
    }
    let view = read::view::view_one(world, &mut tx, row).await?;
    tx.commit().await?;
    core::workers::kick(world, id);
    core::scheduler::wake_waiting(world);
    Ok(view)
}

/// Lets a task wait for another.
pub(crate) async fn add_dependency(world: &World, id: &TaskId, prerequisite: &TaskId) -> Result<Task> {
    let mut tx = world.store().write().await?;
    let (mut row, context) = core::load::load_own(world, &mut tx, id, None).await?;
    if id == prerequisite {
        return Err(EngineError::invalid("depends_on", "a task cannot depend on itself"));
    }
    if let Some(finding) = prerequisite_finding(&mut tx, &context, prerequisite).await? {
        return Err(EngineError::Invalid(vec![finding]));
    }
    tx.dependencies_mut().insert(id, prerequisite).await?;
    subtask::require_no_cycle(&mut tx, &row.project_id, id).await?;
    touch(world, &mut tx, &mut row).await?;
    let view = read::view::view_one(world, &mut tx, row).await?;
    tx.commit().await?;
    core::scheduler::look_for_work(world);
    Ok(view)
}

/// Takes a dependency away.
pub(crate) async fn remove_dependency(world: &World, id: &TaskId, prerequisite: &TaskId) -> Result<Task> {
    let mut tx = world.store().write().await?;
    let (mut row, _) = core::load::load_own(world, &mut tx, id, None).await?;
    if !tx.dependencies_mut().delete(id, prerequisite).await? {
        return Err(EngineError::not_found("dependency", prerequisite));
    }
    touch(world, &mut tx, &mut row).await?;
    let parent = row.parent_id.clone();
    let view = read::view::view_one(world, &mut tx, row).await?;
    tx.commit().await?;
    core::workers::kick(world, id);
    if let Some(parent) = parent {
        core::workers::kick(world, &parent);
    }
    core::scheduler::look_for_work(world);
    Ok(view)
}

/// Removes a closed task with its history and its worktree (after a backup). Its branch stays.
pub(crate) async fn delete_task(
    world: &World,
    id: &TaskId,
    version: Option<u32>,
    end_terminals: bool,
) -> Result<()> {
    let (row, context, workspace) = {
        let mut conn = world.store().read().await?;
        let (row, context) = core::load::load_own(world, &mut conn, id, version).await?;
        let workspace = conn.workspaces().last(id).await?;
        (row, context, workspace)
    };
    let at_work = context.workflow.work_state().is_some_and(|work| work.name == row.status);
    let never_started = workspace.is_none() && !(is_ordered(&row) && at_work);
    let folder = workspace.as_ref().map(task_folder);
    if !context.workflow.state(&row.status).is_some_and(State::is_terminal) && !never_started {
        return Err(EngineError::conflict(ConflictCode::TaskOpen, "the task is open: cancel it first"));
    }
    require_unneeded(world, &context, &row).await?;
    let _hold = core::workers::hold(world, id).await;
    core::world::features::require_idle(world, std::slice::from_ref(id), end_terminals).await?;
    if !core::confinement::recover(world, &context, id, &world.inner.shutdown.child_token()).await? {
        return Err(core::location::stopping());
    }
    for prepare in &world.features().moments.on_delete {
        prepare(world, &context, &row).await?;
    }
    if let Some(workspace) = workspace.filter(|w| w.status != WorkspaceStatus::Cleaned)
        && let Err(reason) =
            workspace::removal::remove_workspace(world, &context, &row, workspace, Goes::Away).await?
    {
        return Err(EngineError::conflict(
            ConflictCode::InUse,
            format!("could not remove its worktree: {reason}"),
        ));
    }
    if let Err(error) = workspace::reviewed::turn_reviewed_into_backups(world, &context, &row).await {
        tracing::warn!(task = %id, %error, "the reviewed commits of a deleted task stay where they are");
    }
    if let Err(error) = core::confinement::forget_kept(world, &context, id).await {
        tracing::warn!(task = %id, %error, "what a deleted task's sandbox kept stays where it is");
    }
    let mut tx = world.store().write().await?;
    // It is the host's: whoever reads the event learns where it is.
    let left = tx.pull_requests().get(id).await?.and_then(|row| row.pull_request).map(|pull| pull.url);
    tx.tasks_mut().delete(id).await?;
    let facts = json!({ "number": row.number, "pull_request": left });
    world.emit(&mut tx, EventType::TaskDeleted, &row, id.as_str(), &facts).await?;
    touch_parent(world, &mut tx, &row).await?;
    tx.commit().await?;
    if let Some(parent) = &row.parent_id {
        core::workers::kick(world, parent);
    }
    core::scheduler::look_for_work(world);
    if let Some(folder) = folder {
        clear_own_files(&folder);
    }
    remove_folder(&run::attachments::attachment_dir(world, &row.project_id, id)).await?;
    remove_folder(&world.log_dir(&row.project_id, id)).await
}

/// What is wrong with a task's race.
async fn race_findings(tx: &mut Tx, context: &ProjectContext, race: &TaskRace) -> Result<Vec<Finding>> {
    if race.enabled && !context.settings.inner_loop.competitive.enabled {
        return Err(EngineError::RaceDisabled);
    }
    let mut findings = race.findings("race");
    for (index, strategy) in race.strategies.iter().flatten().enumerate() {
        if tx.agents().get(&strategy.agent_id).await?.is_none() {
            findings.push(finding(&format!("race.strategies[{index}].agent_id"), "no such agent"));
        }
    }
    Ok(findings)
}

/// Why a holder cannot have a role, if so.
async fn role_finding(
    tx: &mut Tx,
    context: &ProjectContext,
    role: &str,
    holder: Option<&RoleHolder>,
) -> Result<Option<Finding>> {
    let path = format!("roles.{role}");
    if !context.workflow.roles.iter().any(|known| known.name == role) {
        let known: Vec<&str> = context.workflow.roles.iter().map(|role| role.name.as_str()).collect();
        return Ok(Some(finding(
            &path,
            format!("the workflow has no such role; its roles are {}", known.join(", ")),
        )));
    }
    let Some(RoleHolder { kind: HolderKind::Agent, id }) = holder else { return Ok(None) };
    let started = context.workflow.states.iter().any(|s| s.role.as_deref() == Some(role) && s.dispatches());
    if !started {
        return Ok(Some(finding(
            &path,
            "the workflow starts no agent in this role: assign it to \"user\", or add dispatch_role_agent to a state of the role",
        )));
    }
    let known = match id {
        Some(id) => tx.agents().get(id).await?.is_some(),
        None => false,
    };
    Ok((!known).then(|| finding(&path, "no such agent")))
}

/// A parent shows how far its parts are: it changed, too.
async fn touch_parent(world: &World, tx: &mut Tx, row: &TaskRow) -> Result<()> {
    let Some(parent) = &row.parent_id else { return Ok(()) };
    let Some(parent) = tx.tasks().get(parent).await? else { return Ok(()) };
    world.emit(tx, EventType::TaskUpdated, &parent, parent.id.as_str(), &json!({ "part": row.id })).await
}

/// Refuses to remove a task that others still need.
async fn require_unneeded(world: &World, context: &ProjectContext, row: &TaskRow) -> Result<()> {
    let mut conn = world.store().read().await?;
    let mut needed_by = Vec::new();
    for id in conn.dependencies().dependents(&row.id).await? {
        needed_by.extend(conn.tasks().get(&id).await?);
    }
    needed_by.retain(|other| !is_done(context, row) && !is_closed(context, other));
    let subtasks = open_parts(&mut conn, context, &row.id).await?;
    let mut reasons = Vec::new();
    if !needed_by.is_empty() {
        reasons.push(format!("{} depends on it: remove the dependency first", named(&needed_by)));
    }
    if !subtasks.is_empty() {
        reasons.push(format!("its subtask {} is open: finish or cancel it first", named(&subtasks)));
    }
    needed_by.extend(subtasks);
    if needed_by.is_empty() {
        return Ok(());
    }
    let message = format!("Could not delete the task: {}.", reasons.join("; "));
    Err(EngineError::Conflict {
        code: ConflictCode::InUse,
        message,
        details: json!({ "needed_by": needed_by.iter().map(|task| &task.id).collect::<Vec<_>>() }),
    })
}

async fn touch(world: &World, tx: &mut Tx, row: &mut TaskRow) -> Result<()> {
    tx.tasks_mut().update(row, world.now()).await?;
    world.emit(tx, EventType::TaskUpdated, row, row.id.as_str(), &Value::Null).await
}

fn finding(path: &str, message: impl Into<String>) -> Finding {
    Finding { path: path.to_owned(), message: message.into() }
}

/// What is wrong with a prerequisite of a task in this project. A cancelled one would never be done, and blocks what
/// depends on it already.
async fn prerequisite_finding(
    tx: &mut Tx,
    context: &ProjectContext,
    prerequisite: &TaskId,
) -> Result<Option<Finding>> {
    let other = tx.tasks().get(prerequisite).await?.filter(|other| other.project_id == context.project.id);
    let Some(other) = other else {
        return Ok(Some(finding("depends_on", format!("no task `{prerequisite}` in this project"))));
    };
    let is_cancelled = context.is_cancelled(&other);
    let message =
        || format!("#{} {} is cancelled: reopen it, or choose another task", other.number, other.title);
    Ok(is_cancelled.then(|| finding("depends_on", message())))
}

fn text_findings(title: Option<&str>, description: Option<&str>) -> Vec<Finding> {
    let mut findings = Vec::new();
    if let Some(title) = title {
        let length = title.trim().chars().count();
        if length == 0 || length > MAX_TITLE || title.chars().any(char::is_control) {
            findings.push(finding("title", format!("must be 1 to {MAX_TITLE} characters on one line")));
        }
    }
    if description.is_some_and(|text| text.len() > MAX_DESCRIPTION) {
        findings.push(finding("description", format!("must be at most {MAX_DESCRIPTION} bytes")));
    }
    findings
}
