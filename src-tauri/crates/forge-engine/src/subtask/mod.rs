//! Subtasks and dependencies.
//!
//! An independent subtask is an ordinary task that its parent only groups. An ordered subtask has no run, worktree
//! or check of its own: its parent's coder works on it in a turn of the parent's sequence (`subtask/turns.rs`), and
//! its states only show its progress. Subtasks are one level deep, and the dependencies of a project have no cycle.

pub(crate) mod contribution;
pub(crate) mod relatives;
pub(crate) mod turns;

use std::collections::{HashMap, VecDeque};

use forge_model::actor::{Actor, Cause};
use forge_model::ids::{ExecutionId, ProjectId, TaskId};
use forge_model::task::{ExecutionMode, HolderKind};
use forge_model::transition::StepKind;
use forge_model::workflow::{Finding, StateKind};
use forge_model::workspace::WorkspaceStatus;
use forge_store::table::tasks::TaskRow;
use forge_store::{ReadConnection, Tx};
use serde_json::json;

use crate::{
    ConflictCode, EngineError, NewTask, World,
    core::{
        self,
        context::{ProjectContext, is_closed},
        lineage::is_ordered,
        moves::Move,
        prerequisites::named,
        workers::Hold,
        world::features::{Moved, Objection},
    },
    error::Result,
};

/// Whose part a new task is, and how it is worked on.
#[derive(Debug, Default)]
pub(crate) struct Part {
    pub parent: Option<TaskId>,
    pub mode: Option<ExecutionMode>,
    pub order: Option<u32>,
}

/// A parent whose turn was stopped because its part was moved by hand.
pub(crate) struct StoppedTurn {
    parent: TaskId,
    execution: Option<ExecutionId>,
    _hold: Hold,
}

/// The open ordered parts of a task, in their order.
pub(crate) async fn open_parts(
    conn: &mut ReadConnection,
    context: &ProjectContext,
    parent: &TaskId,
) -> Result<Vec<TaskRow>> {
    let mut parts = conn.tasks().children(parent).await?;
    parts.retain(|part| is_ordered(part) && !is_closed(context, part));
    Ok(parts)
}

/// Looks at what a new task says about its parent; what is wrong is added to the findings.
pub(crate) async fn new_part(
    tx: &mut Tx,
    context: &ProjectContext,
    new: &NewTask,
    findings: &mut Vec<Finding>,
) -> Result<Part> {
    let mut wrong = |path: &str, message: String| findings.push(Finding { path: path.to_owned(), message });
    let Some(id) = &new.parent_id else {
        if new.execution_mode == Some(ExecutionMode::OrderedTurn) {
            wrong("execution_mode", "only a subtask can be ordered: set its parent".to_owned());
        }
        if new.subtask_order.is_some() {
            wrong("subtask_order", "only ordered subtasks have an order".to_owned());
        }
        return Ok(Part::default());
    };
    let parent = tx.tasks().get(id).await?.filter(|parent| parent.project_id == context.project.id);
    let Some(parent) = parent else {
        wrong("parent_id", format!("no task `{id}` in this project"));
        return Ok(Part::default());
    };
    if parent.parent_id.is_some() {
        wrong("parent_id", format!("#{} is a subtask, and subtasks cannot have subtasks", parent.number));
    }
    if is_closed(context, &parent) {
        wrong("parent_id", format!("#{} is closed", parent.number));
    }
    let mode = new.execution_mode.unwrap_or(ExecutionMode::Independent);
    let mut order = None;
    match mode {
        ExecutionMode::Independent => {
            if new.subtask_order.is_some() {
                wrong("subtask_order", "only ordered subtasks have an order".to_owned());
            }
        }
        ExecutionMode::RaceEntry => {
            wrong("execution_mode", "only a race can create its entries".to_owned());
        }
        ExecutionMode::OrderedTurn => {
            let kind = context.workflow.state(&parent.status).map(|state| state.kind);
            let before_review =
                matches!(kind, Some(StateKind::Backlog | StateKind::Initial | StateKind::Active));
            if context.workflow.work_state().is_none() {
                wrong("execution_mode", "the workflow has no working state".to_owned());
            } else if !before_review && !is_closed(context, &parent) {
                wrong(
                    "execution_mode",
                    format!(
                        "#{} is in {}: it no longer takes ordered subtasks",
                        parent.number, parent.status
                    ),
                );
            }
            let last = tx.tasks().children(id).await?.iter().filter_map(|part| part.subtask_order).max();
            order = Some(new.subtask_order.unwrap_or(last.map_or(1, |last| last.saturating_add(1))));
        }
    }
    Ok(Part { parent: Some(id.clone()), mode: Some(mode), order })
}

/// Refuses what was just written when a task would have to be done before itself. A parent is done after
/// its ordered parts, each of them after the one before it and after what its parent waits for.
pub(crate) async fn require_no_cycle(tx: &mut Tx, project: &ProjectId, changed: &TaskId) -> Result<()> {
    let needs = Needs::read(tx, project).await?;
    let starts = std::iter::once(changed).chain(needs.parts_of(changed));
    let Some(cycle) = starts.into_iter().find_map(|start| needs.cycle(start)) else { return Ok(()) };
    let mut names = Vec::with_capacity(cycle.len());
    for id in &cycle {
        let task = tx.tasks().get(id).await?;
        names.push(task.map_or_else(|| id.to_string(), |task| format!("#{}", task.number)));
    }
    let first = names.last().cloned().unwrap_or_default();
    Err(EngineError::Conflict {
        code: ConflictCode::DependencyCycle,
        message: format!(
            "the dependency would form a cycle: {first} waits for {}",
            names.join(", which waits for ")
        ),
        details: json!({ "cycle": cycle }),
    })
}

/// Refuses moves that an ordered part cannot make.
pub(crate) async fn check_part_move(
    conn: &mut ReadConnection,
    context: &ProjectContext,
    task: &TaskRow,
    to: &str,
) -> Result<()> {
    let Some(parent) = task.parent_id.as_ref().filter(|_| is_ordered(task)) else { return Ok(()) };
    let managed = |message: String| EngineError::conflict(ConflictCode::SubtaskManagedByParent, message);
    let target = context.workflow.state(to);
    let works = context.workflow.work_state().is_some_and(|work| work.name == to);
    if !works && !target.is_some_and(|state| state.is_terminal() || state.kind == StateKind::Initial) {
        return Err(managed(format!(
            "an ordered subtask is open, in progress or closed; {to} applies to its parent"
        )));
    }
    let Some(parent) = conn.tasks().get(parent).await? else { return Ok(()) };
    if is_closed(context, task) && is_closed(context, &parent) {
        return Err(managed(format!("its parent #{} is closed: reopen the parent first", parent.number)));
    }
    if works && let Some(why) = turn_obstacle(conn, context, &parent).await? {
        return Err(EngineError::conflict(ConflictCode::ParentWorkspaceRequired, why));
    }
    Ok(())
}

/// Why no turn can be run on a parent: it has no coder agent, or no worktree. A workflow without roles has
/// neither, and needs neither.
pub(crate) async fn turn_obstacle(
    conn: &mut ReadConnection,
    context: &ProjectContext,
    parent: &TaskRow,
) -> Result<Option<String>> {
    let Some(role) = context.work_role() else { return Ok(None) };
    let holder = conn.roles().holder(&parent.id, role).await?;
    if holder.is_none_or(|holder| holder.kind != HolderKind::Agent) {
        return Ok(Some(format!("the role {role} of its parent #{} has no agent", parent.number)));
    }
    let workspace = conn.workspaces().last(&parent.id).await?;
    let present = workspace.is_some_and(|w| w.status == WorkspaceStatus::Active);
    Ok((!present).then(|| format!("its parent #{} has no worktree: start the parent first", parent.number)))
}

/// Before an ordered part is moved by hand: keeps its parent still, and ends the turn that is the part's.
pub(crate) async fn stop_turn_of(world: &World, task: &TaskRow) -> Result<Option<StoppedTurn>> {
    let Some(parent) = task.parent_id.clone().filter(|_| is_ordered(task)) else { return Ok(None) };
    let hold = core::workers::hold(world, &parent).await;
    let running = {
        let mut conn = world.store().read().await?;
        conn.executions().open(Some(std::slice::from_ref(&parent))).await?
    };
    let turn = running.into_iter().find(|row| row.execution.subtask_id.as_ref() == Some(&task.id));
    if turn.is_some() {
        core::world::features::stop_at_work(world, &parent).await;
    }
    Ok(Some(StoppedTurn { parent, execution: turn.map(|row| row.execution.id), _hold: hold }))
}

/// After the part was moved: what the stopped turn left is committed, and the sequence goes on.
pub(crate) async fn go_on_after(tx: &mut Tx, stopped: &StoppedTurn) -> Result<()> {
    let Some(execution) = &stopped.execution else { return Ok(()) };
    let Some(parent) = tx.tasks().get(&stopped.parent).await? else { return Ok(()) };
    core::entry::append_work_steps(tx, &parent, execution, &[StepKind::CommitWork, StepKind::Advance]).await
}

/// A parent that leaves its work takes the turn that was on with it: the part is open again.
pub(crate) async fn put_turn_back(world: &World, tx: &mut Tx, moved: Moved<'_>) -> Result<()> {
    let Moved { context, task: parent, row, .. } = moved;
    let left = row.from.as_str();
    if left == row.to {
        return Ok(());
    }
    let work = context.workflow.work_state().map(|state| state.name.as_str());
    let Some(initial) = context.workflow.initial().filter(|_| work == Some(left) && !is_ordered(parent))
    else {
        return Ok(());
    };
    for mut part in open_parts(tx, context, &parent.id).await? {
        if part.status == left {
            let mv = Move::by(&initial.name, "parent", Actor::System { cause: Cause::Workflow });
            Box::pin(core::transition::apply(world, tx, context, &mut part, mv)).await?;
        }
    }
    Ok(())
}

/// What must be done before what.
#[derive(Debug, Default)]
struct Needs {
    edges: HashMap<TaskId, Vec<TaskId>>,
    parts: HashMap<TaskId, Vec<TaskId>>,
}

impl Needs {
    async fn read(conn: &mut ReadConnection, project: &ProjectId) -> Result<Self> {
        let prerequisites = conn.dependencies().of_project(project).await?;
        Ok(Self::of(prerequisites, conn.tasks().ordered_parts(project).await?))
    }

    /// From (task, prerequisite) and (part, parent), the latter in the order of their turns.
    fn of(prerequisites: Vec<(TaskId, TaskId)>, ordered: Vec<(TaskId, TaskId)>) -> Self {
        let mut needs = Self::default();
        for (task, prerequisite) in prerequisites {
            needs.edges.entry(task).or_default().push(prerequisite);
        }
        for (part, parent) in ordered {
            let before = needs.edges.get(&parent).cloned().unwrap_or_default();
            let siblings = needs.parts.entry(parent).or_default();
            let own = needs.edges.entry(part.clone()).or_default();
            own.extend(before);
            own.extend(siblings.last().cloned());
            siblings.push(part);
        }
        for (parent, parts) in &needs.parts {
            needs.edges.entry(parent.clone()).or_default().extend(parts.iter().cloned());
        }
        needs
    }

    fn parts_of(&self, task: &TaskId) -> impl Iterator<Item = &TaskId> {
        self.parts.get(task).into_iter().flatten()
    }

    /// The shortest way from what `start` needs back to itself.
    fn cycle(&self, start: &TaskId) -> Option<Vec<TaskId>> {
        let mut came_from: HashMap<&TaskId, &TaskId> = HashMap::new();
        let mut queue = VecDeque::from([start]);
        while let Some(at) = queue.pop_front() {
            for next in self.edges.get(at).into_iter().flatten() {
                if next == start {
                    let back = std::iter::successors(Some(at), |at| came_from.get(at).copied());
                    let mut path: Vec<TaskId> = back.take_while(|at| *at != start).cloned().collect();
                    path.reverse();
                    path.push(start.clone());
                    return Some(path);
                }
                if !came_from.contains_key(next) {
                    came_from.insert(next, at);
                    queue.push_back(next);
                }
            }
        }
        None
    }
}

/// Objects while an ordered part is open.
pub(crate) async fn open_ordered_children(
    world: &World,
    context: &ProjectContext,
    task: &TaskRow,
) -> Result<Option<Objection>> {
    let mut conn = world.store().read().await?;
    let open = open_parts(&mut conn, context, &task.id).await?;
    Ok((!open.is_empty()).then(|| {
        let ids: Vec<&str> = open.iter().map(|task| task.id.as_str()).collect();
        (
            format!("ordered subtasks are still open: {}", named(&open)),
            json!({ "code": "SUBTASK_SEQUENCE_NOT_COMPLETE", "open": ids }),
        )
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cycle(prerequisites: &[(&str, &str)], ordered: &[(&str, &str)], start: &str) -> Option<String> {
        let pairs = |list: &[(&str, &str)]| {
            list.iter().map(|(a, b)| (TaskId::from(*a), TaskId::from(*b))).collect::<Vec<_>>()
        };
        let path = Needs::of(pairs(prerequisites), pairs(ordered)).cycle(&TaskId::from(start))?;
        Some(path.iter().map(TaskId::as_str).collect::<Vec<_>>().join(" "))
    }

    #[test]
    fn cycles_through_parts_count() {
        let parts = [("c1", "p"), ("c2", "p")];
        assert_eq!(cycle(&[("a", "b"), ("b", "c")], &parts, "a"), None);
        assert_eq!(cycle(&[("a", "b"), ("b", "c"), ("c", "a")], &[], "a").as_deref(), Some("b c a"));
        assert_eq!(cycle(&[("p", "c1")], &parts, "c1").as_deref(), Some("c1"), "its turn is its parent's");
        assert_eq!(cycle(&[("c1", "p")], &parts, "c1").as_deref(), Some("p c1"));
        assert_eq!(cycle(&[("c1", "c2")], &parts, "c1").as_deref(), Some("c2 c1"), "the second comes later");
        assert_eq!(cycle(&[("c2", "c1")], &parts, "c2"), None, "as they come anyway");
        assert_eq!(cycle(&[("x", "c1"), ("p", "x")], &parts, "x").as_deref(), Some("c1 x"));
        assert_eq!(cycle(&[("x", "p"), ("c2", "x")], &parts, "x").as_deref(), Some("p c2 x"));
    }
}
