//! Moving tasks by hand: drags, transitions, claims, holds and undo.

use forge_model::actor::{Actor, Via};
use forge_model::agent::Agent;
use forge_model::event::EventType;
use forge_model::ids::{AgentId, TaskId};
use forge_model::review::{Review, ReviewStatus};
use forge_model::task::{AnnotationType, HolderKind, RoleHolder, Task, WaitReason};
use forge_model::transition::StepKind;
use forge_model::workflow::{Action, State, StateKind};
use forge_store::Tx;
use forge_store::table::{slots::SlotCount, tasks::TaskRow};
use serde_json::{Value, json};

use crate::{
    ConflictCode, EngineError, World,
    core::{
        self,
        block_reason::BlockReason,
        context::ProjectContext,
        fleet::waiting,
        lineage::is_ordered,
        moves::Move,
        prerequisites::{named, open_prerequisites},
        transition::column_states,
        worktree_lock::IfLocked,
        world::features::require_idle,
    },
    error::Result,
    read, review, run, subtask,
    task::claim::{
        ask_guards_of_claim, fill_claimed_roles, not_claimable, require_free_role, require_same_agent,
    },
    terminal, workspace,
};

/// Where in its column a card is put.
#[derive(Debug, Clone, Default)]
pub struct Place {
    /// Above this task.
    pub before: Option<TaskId>,
    /// Below this task.
    pub after: Option<TaskId>,
}

/// A move that a person asks for.
#[derive(Debug, Clone)]
pub struct MoveRequest {
    /// The state to go to.
    pub to: String,
    /// The version that the person saw.
    pub version: Option<u32>,
    /// Why, in their words.
    pub reason: Option<String>,
    /// Where in the column.
    pub place: Option<Place>,
    /// What becomes of it when somebody changes the worktree now.
    pub if_locked: IfLocked,
    /// Whether programs that run in the task's terminals may end, when it is closed.
    pub end_terminals: bool,
}

/// Who takes a task, and how.
#[derive(Debug, Clone)]
pub struct ClaimRequest {
    /// The version that the person saw.
    pub version: Option<u32>,
    /// Who will work.
    pub holder: RoleHolder,
    /// Whether to wait for a busy agent.
    pub queue: bool,
    /// What becomes of it when somebody changes the worktree now.
    pub if_locked: IfLocked,
}

/// Whether an answer waits for what follows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Settle {
    /// Until an agent or a person acts next, or the task waits.
    #[default]
    Settled,
    /// Not at all.
    None,
}

/// Moves a task to another state, or to another place in its column.
pub(crate) async fn move_task(world: &World, actor: Actor, id: &TaskId, request: MoveRequest) -> Result<()> {
    let (task, context) = {
        let mut conn = world.store().read().await?;
        core::load::load_own(world, &mut conn, id, request.version).await?
    };
    if request.to == task.status {
        return reorder(world, id, request).await;
    }
    context.workflow.check_edge(&task.status, &request.to, &actor)?;
    core::worktree_lock::refuse_locked(world, id, request.if_locked).await?;
    let closed_in = |state: &str| {
        let closes = actor.is_user() && context.workflow.state(state).is_some_and(State::is_terminal);
        if closes { std::slice::from_ref(id) } else { &[] }
    };
    require_idle(world, closed_in(&request.to), request.end_terminals).await?;
    refuse_unreviewed(world, &context, &task, &request.to).await?;
    let redirect = core::guards::ask_guards(world, &context, &task, actor.audience()).await?;
    core::location::require_machine_of(world, id).await?;
    let _hold = core::workers::hold(world, id).await;
    // Something may have been started while the task was waited for, and a guard may have it closed.
    let to = redirect.as_ref().map_or(request.to.as_str(), core::guards::GuardRedirect::to);
    require_idle(world, closed_in(to), request.end_terminals).await?;
    let turn = subtask::stop_turn_of(world, &task).await?;
    run::running::stop_run(world, id).await;
    if context.workflow.state(&request.to).is_some_and(State::is_terminal) {
        // Whoever closes it is told what stays behind.
        workspace::unmerged::count_unmerged(world, id).await;
    }
    let mut tx = world.store().write().await?;
    let (mut task, context) = core::load::load_own(world, &mut tx, id, request.version).await?;
    context.workflow.check_edge(&task.status, &request.to, &actor)?;
    subtask::check_part_move(&mut tx, &context, &task, &request.to).await?;
    let mut mv = Move::by(&request.to, trigger_of(&context, &task, &request.to), actor.clone());
    mv.reason = request.reason;
    if let Some(place) = &request.place {
        mv.position = position(&mut tx, &context, &task, &request.to, place).await?;
    }
    let target = context.workflow.state(&request.to);
    if target.is_some_and(|state| state.kind == StateKind::Blocked) {
        let message = mv.reason.clone().unwrap_or_else(|| "blocked by hand".to_owned());
        mv.annotation =
            Some(BlockReason::new(AnnotationType::Manual, message).annotation(&task.status, world.now()));
    }
    let starts_agent = match target {
        Some(state) if state.dispatches() && (state.kind == StateKind::Active || state.plans()) => {
            has_agent(&mut tx, state.role.as_deref(), &task).await?
        }
        _ => false,
    };
    if actor == (Actor::User { via: Via::Board }) && starts_agent {
        let window = i64::try_from(world.inner.config.undo_window.as_millis()).unwrap_or(0);
        mv.undo_until = Some(world.now().plus_ms(window));
    }
    if let Some(reason) = mv.reason.clone().filter(|_| starts_agent) {
        mv.input.corrections.push(forge_model::correction::Correction::Message {
            text: reason,
            comments: Vec::new(),
            files: Vec::new(),
        });
    }
    let mv = redirect.map_or_else(|| mv.clone(), |redirect| redirect.instead_of(&mv));
    core::transition::apply(world, &mut tx, &context, &mut task, mv).await?;
    if let Some(turn) = &turn {
        subtask::go_on_after(&mut tx, turn).await?;
    }
    // A guard may have sent it elsewhere, where it is open.
    let is_closed = context.workflow.state(&task.status).is_some_and(State::is_terminal);
    tx.commit().await?;
    if actor.is_user() && is_closed {
        terminal::closing::end_all(world, id).await;
    }
    world.point("move.committed");
    core::scheduler::wake_waiting(world);
    Ok(())
}

/// Takes a drag back while its agent has not been started.
pub(crate) async fn undo_move(world: &World, actor: Actor, id: &TaskId) -> Result<()> {
    let _hold = core::workers::hold(world, id).await;
    let mut tx = world.store().write().await?;
    let (mut task, context) = core::load::load_own(world, &mut tx, id, None).await?;
    // Hooks of what has happened run whatever becomes of the move.
    let next = tx.steps().open(id).await?.into_iter().find(|step| step.kind != StepKind::Hook);
    let last = tx.transitions().last(id).await?;
    let (Some(step), Some(last)) = (next, last) else {
        return Err(EngineError::conflict(ConflictCode::NothingToUndo, "there is no move to undo"));
    };
    if step.kind != StepKind::UndoWindow {
        return Err(EngineError::conflict(
            ConflictCode::NothingToUndo,
            "its agent has already started: move the card back instead",
        ));
    }
    let mut mv = Move::by(&last.from, "undo", actor);
    mv.keeps_pass = true;
    core::transition::apply(world, &mut tx, &context, &mut task, mv).await?;
    tx.commit().await?;
    core::scheduler::wake_waiting(world);
    Ok(())
}

/// Gives a task to an agent (or to the person) and starts work.
pub(crate) async fn claim(world: &World, actor: Actor, id: &TaskId, request: ClaimRequest) -> Result<()> {
    let ClaimRequest { version, holder, queue, if_locked } = request;
    let conflict = EngineError::conflict;
    core::worktree_lock::refuse_locked(world, id, if_locked).await?;
    let redirect = ask_guards_of_claim(world, &actor, id, version).await?;
    let asked = match (&holder.id, queue) {
        (Some(agent), false) => asked_by_others(world, agent, id).await?,
        _ => (0, 0),
    };
    let _hold = core::workers::hold(world, id).await;
    let mut tx = world.store().write().await?;
    let (mut task, context) = core::load::load_own(world, &mut tx, id, version).await?;
    if is_ordered(&task) {
        return Err(conflict(
            ConflictCode::SubtaskManagedByParent,
            "its parent's agent works on it in order: start the parent".to_owned(),
        ));
    }
    require_same_agent(&mut tx, &context, &task, &holder).await?;
    let Some(target) = context.workflow.claim_target(&task.status).cloned() else {
        return Err(conflict(ConflictCode::NotClaimable, not_claimable(&context, &task)));
    };
    let Some(role) = target.role.clone() else {
        return Err(conflict(
            ConflictCode::NotClaimable,
            format!("{} has no role to claim", target.display_name),
        ));
    };
    let present = tx.roles().holder(id, &role).await?;
    require_free_role(&role, present.as_ref(), &holder)?;
    require_prerequisites(&mut tx, &context, &task).await?;
    if let Some(agent_id) = &holder.id {
        let agent = tx
            .agents()
            .get(agent_id)
            .await?
            .ok_or_else(|| EngineError::invalid("agent_id", "no such agent"))?;
        if agent.paused || context.project.paused {
            let who = if agent.paused { agent.name.as_str() } else { "the project" };
            return Err(conflict(ConflictCode::Paused, format!("{who} is paused: resume it first")));
        }
        if !queue && is_busy(world, &mut tx, &context, &task, (&agent, asked)).await? {
            return Err(conflict(ConflictCode::AgentBusy, format!("{} is busy", agent.name)));
        }
    }
    fill_claimed_roles(world, &mut tx, &context, &task, (&target, &role), &holder).await?;
    let mv = Move::by(&target.name, "claim", actor);
    let mv = redirect.map_or_else(|| mv.clone(), |redirect| redirect.instead_of(&mv));
    core::transition::apply(world, &mut tx, &context, &mut task, mv).await?;
    tx.commit().await?;
    world.point("claim.committed");
    Ok(())
}

/// Whether an agent has no place for a task, beside those that others have or ask for.
async fn is_busy(
    world: &World,
    tx: &mut Tx,
    context: &ProjectContext,
    task: &TaskRow,
    (agent, asked): (&Agent, (u32, u32)),
) -> Result<bool> {
    let taken = tx.slots().counts_beside(&task.id, &agent.id, &task.project_id, None).await?;
    let count = |is_meant: &dyn Fn(&SlotCount) -> bool| {
        taken.iter().filter(|slot| is_meant(slot)).map(|slot| slot.count).sum::<u32>()
    };
    let of_agent = asked.0 + count(&|slot| slot.agent_id == agent.id);
    let of_project = asked.1 + count(&|slot| slot.project_id == task.project_id);
    let is_limited = tx.limits().of(&agent.id).await?.is_some_and(|until| until > world.now());
    Ok(is_limited || of_agent >= agent.max_concurrent || of_project >= context.settings.max_concurrent)
}

/// How many places of an agent and of the task's project others ask for. Read before anything is written: how many tasks
/// ask does not matter to the transaction.
async fn asked_by_others(world: &World, agent: &AgentId, id: &TaskId) -> Result<(u32, u32)> {
    let mut conn = world.store().read().await?;
    let (task, _) = core::load::load(world, &mut conn, id, None).await?;
    waiting::asked_by_others(world, &mut conn, (agent, &task.project_id), id).await
}

/// One task as people see it.
pub(crate) async fn task(world: &World, id: &TaskId) -> Result<Task> {
    let mut conn = world.store().read().await?;
    let (row, _) = core::load::load(world, &mut conn, id, None).await?;
    read::view::view_one(world, &mut conn, row).await
}

/// A move from a gate to where an approval leads is one: it is refused when other work lies there than was reviewed.
async fn refuse_unreviewed(world: &World, context: &ProjectContext, task: &TaskRow, to: &str) -> Result<()> {
    let accept = context.workflow.state(&task.status).and_then(|state| state.triggers.get("accept"));
    if accept.is_none_or(|accept| accept.to != to) {
        return Ok(());
    }
    let last = world.store().read().await?.reviews().last(&task.id).await?;
    let awaits =
        |review: &Review| review.status == ReviewStatus::AwaitingHuman && review.state == task.status;
    match last.filter(awaits) {
        Some(review) => review::require_reviewed_work(world, context, task, &review, None).await,
        None => Ok(()),
    }
}

async fn has_agent(tx: &mut Tx, role: Option<&str>, task: &TaskRow) -> Result<bool> {
    let Some(role) = role else { return Ok(false) };
    Ok(tx.roles().holder(&task.id, role).await?.is_some_and(|holder| holder.kind == HolderKind::Agent))
}

async fn reorder(world: &World, id: &TaskId, request: MoveRequest) -> Result<()> {
    let Some(place) = request.place else {
        return Err(EngineError::invalid("to", format!("the task is already in {}", request.to)));
    };
    let mut tx = world.store().write().await?;
    let (mut task, context) = core::load::load_own(world, &mut tx, id, request.version).await?;
    if let Some(position) = position(&mut tx, &context, &task, &request.to, &place).await? {
        task.position = position;
        tx.tasks_mut().update(&mut task, world.now()).await?;
        world
            .emit(&mut tx, EventType::TaskMoved, &task, id.as_str(), &json!({ "position": position }))
            .await?;
    }
    tx.commit().await?;
    Ok(())
}

/// The position between two neighbours. Halving a gap works some fifty times; then the column is spread
/// out anew.
async fn position(
    tx: &mut Tx,
    context: &ProjectContext,
    task: &TaskRow,
    to: &str,
    place: &Place,
) -> Result<Option<f64>> {
    let Some(state) = context.workflow.state(to) else { return Ok(None) };
    let states = column_states(context, &state.column);
    let (anchor, above) = match (&place.before, &place.after) {
        (Some(before), _) => (before, true),
        (None, Some(after)) => (after, false),
        (None, None) => return Ok(None),
    };
    for _ in 0..2 {
        let field = if above { "before_id" } else { "after_id" };
        let neighbour = tx
            .tasks()
            .get(anchor)
            .await?
            .filter(|other| states.contains(&other.status) && other.id != task.id);
        let neighbour = neighbour
            .ok_or_else(|| EngineError::invalid(field, format!("no task `{anchor}` in that column")))?;
        let other =
            tx.tasks().neighbour(&task.project_id, &states, neighbour.position, above, &task.id).await?;
        let far =
            other.unwrap_or(if above { neighbour.position - 2048.0 } else { neighbour.position + 2048.0 });
        let middle = f64::midpoint(neighbour.position, far);
        if middle != neighbour.position && middle != far {
            return Ok(Some(middle));
        }
        tx.tasks_mut().spread(&task.project_id, &states).await?;
    }
    Ok(None)
}

async fn require_prerequisites(tx: &mut Tx, context: &ProjectContext, task: &TaskRow) -> Result<()> {
    let open = open_prerequisites(tx, context, &task.id).await?;
    if open.is_empty() {
        return Ok(());
    }
    let message = match open.iter().find(|task| context.is_cancelled(task)) {
        Some(gone) => format!(
            "it depends on #{} {}, which was cancelled: remove the dependency, or move the card by hand to start anyway",
            gone.number, gone.title,
        ),
        None => format!("it waits for {}: move the card by hand to start anyway", named(&open)),
    };
    Err(EngineError::Conflict {
        code: ConflictCode::DependencyOpen,
        message,
        details: json!({ "open": open.iter().map(|task| &task.id).collect::<Vec<_>>() }),
    })
}

/// Sets or clears a person's wish that nothing be started for a task.
pub(crate) async fn set_held(world: &World, id: &TaskId, version: Option<u32>, held: bool) -> Result<()> {
    let mut tx = world.store().write().await?;
    let (mut task, _) = core::load::load_own(world, &mut tx, id, version).await?;
    task.held = held;
    if !held && task.waiting.as_ref().is_some_and(|waiting| waiting.reason == WaitReason::Held) {
        task.waiting = None;
    }
    tx.tasks_mut().update(&mut task, world.now()).await?;
    world.emit(&mut tx, EventType::TaskUpdated, &task, id.as_str(), &Value::Null).await?;
    tx.commit().await?;
    core::workers::kick(world, id);
    if let Some(parent) = &task.parent_id {
        core::workers::kick(world, parent);
    }
    core::scheduler::wake_waiting(world);
    Ok(())
}

/// Whether a person closes a task that is being merged: the merge's own edge leads there, but nothing is merged by hand.
fn passes_merge(context: &ProjectContext, task: &TaskRow, to: &str) -> bool {
    let is_merging =
        context.workflow.state(&task.status).is_some_and(|state| state.has_action(Action::RunMerge));
    is_merging && context.workflow.state(to).is_some_and(State::is_terminal)
}

fn trigger_of(context: &ProjectContext, task: &TaskRow, to: &str) -> &'static str {
    let from_terminal = context.workflow.state(&task.status).is_some_and(State::is_terminal);
    if from_terminal {
        "reopen"
    } else if to == context.workflow.cancellation_state {
        "cancel"
    } else if context.workflow.is_override(&task.status, to) || passes_merge(context, task, to) {
        "override"
    } else {
        "move"
    }
}
