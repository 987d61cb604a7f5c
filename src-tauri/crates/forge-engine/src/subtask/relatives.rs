//! What the end of a task does to others: dependents and ordered subtasks.

use forge_model::actor::Cause;
use forge_model::event::EventType;
use forge_model::task::ExecutionMode;
use forge_model::workflow::StateKind;
use forge_store::Tx;
use forge_store::table::tasks::TaskRow;
use serde_json::Value;

use crate::{
    World,
    core::{
        self,
        context::ProjectContext,
        lineage::is_ordered,
        moves::Move,
        prerequisites::{open_prerequisites, prerequisite_cancelled},
        world::step::{Effect, End, Stepping},
    },
    error::Result,
    subtask::open_parts,
};

/// Tells each dependent whose last prerequisite this was.
pub(crate) async fn satisfy_dependents(
    world: &World,
    tx: &mut Tx,
    s: &Stepping,
    effects: &mut Vec<Effect>,
) -> Result<End> {
    let dependents = tx.dependencies().dependents(&s.task.id).await?;
    if dependents.is_empty() {
        return Ok(End::skipped("nothing depends on it"));
    }
    let mut free = 0;
    for id in &dependents {
        let Some(dependent) = tx.tasks().get(id).await? else { continue };
        if open_prerequisites(tx, &s.context, id).await?.is_empty() {
            free += 1;
            world.emit(tx, EventType::TaskDependencySatisfied, &dependent, id.as_str(), &Value::Null).await?;
            effects.push(Effect::Kick(id.clone()));
            // An ordered part's turn is its parent's.
            effects.extend(
                dependent
                    .parent_id
                    .filter(|_| dependent.execution_mode == ExecutionMode::OrderedTurn)
                    .map(Effect::Kick),
            );
        }
    }
    effects.push(Effect::WakeWaiting);
    Ok(End::Ok(Some(format!("{free} of {} dependents can start", dependents.len()))))
}

/// Closes the open ordered parts of a task: done with it, or cancelled with it.
pub(crate) async fn close_ordered_children(
    world: &World,
    tx: &mut Tx,
    s: &Stepping,
    cancel: bool,
    effects: &mut Vec<Effect>,
) -> Result<End> {
    let open = open_parts(tx, &s.context, &s.task.id).await?;
    if open.is_empty() {
        return Ok(End::skipped("no ordered subtasks are open"));
    }
    let count = open.len();
    for mut child in open {
        let to = if cancel { &s.context.workflow.cancellation_state } else { &s.task.status };
        let mut mv = Move::cascade(to, "parent", Cause::Workflow, &s.transition);
        // A part's end is no further link of its parent's chain.
        mv.depth = 0;
        core::transition::apply(world, tx, &s.context, &mut child, mv).await?;
        effects.push(Effect::Kick(child.id));
    }
    Ok(End::Ok(Some(format!("{count} subtasks closed"))))
}

/// Blocks the open tasks that wait for this cancelled one, and ends their runs.
pub(crate) async fn block_dependents(world: &World, s: &Stepping) -> Result<End> {
    let dependents = world.store().read().await?.dependencies().dependents(&s.task.id).await?;
    let mut count = 0;
    for id in dependents {
        let _hold = core::workers::hold(world, &id).await;
        let concerned = {
            let mut conn = world.store().read().await?;
            let dependent = conn.tasks().get(&id).await?;
            dependent.is_some_and(|dependent| is_concerned(&s.context, &dependent))
        };
        if !concerned {
            continue;
        }
        core::world::features::stop_at_work(world, &id).await;
        let mut tx = world.store().write().await?;
        let Some(mut dependent) = tx.tasks().get(&id).await? else { continue };
        if !is_concerned(&s.context, &dependent) {
            continue;
        }
        let trouble = prerequisite_cancelled(&s.task);
        core::transition::block(world, &mut tx, &s.context, &mut dependent, trouble, Cause::Workflow).await?;
        tx.commit().await?;
        world.point("dependent.blocked");
        count += 1;
    }
    core::scheduler::wake_waiting(world);
    Ok(End::Ok(Some(format!("{count} dependents are blocked"))))
}

/// Whether a cancelled prerequisite blocks a task. An ordered part's own turn finds it out, and a task that a
/// person has in hand already is left to them.
fn is_concerned(context: &ProjectContext, dependent: &TaskRow) -> bool {
    let kind = context.workflow.state(&dependent.status).map(|state| state.kind);
    !is_ordered(dependent) && !matches!(kind, Some(StateKind::Terminal | StateKind::Blocked))
}
