//! `before_exit` guards. They are asked before anything is written, so a refusal changes nothing.

use forge_model::actor::{Actor, Cause};
use forge_model::event::EventType;
use forge_model::workflow::{Action, Audience, OnFailure};
use forge_store::table::tasks::TaskRow;
use serde_json::json;

use crate::{
    EngineError, World,
    core::{
        context::ProjectContext,
        moves::{EntryInput, Move},
        prerequisites::{named, open_prerequisites},
        world::features::Objection,
    },
    error::Result,
};

/// Where a guard sends a task that it does not let go where it was to.
#[derive(Debug, Clone)]
pub(crate) struct GuardRedirect {
    to: String,
    reason: String,
}

impl GuardRedirect {
    /// The state that the task goes to.
    pub(crate) fn to(&self) -> &str {
        &self.to
    }

    /// The move that is made instead: the first cascade of the one that was refused.
    pub(crate) fn instead_of(self, refused: &Move) -> Move {
        let mut mv = refused.clone();
        mv.to = self.to;
        mv.trigger = "cascade".to_owned();
        mv.actor = Actor::System { cause: Cause::Workflow };
        mv.depth = refused.depth + 1;
        mv.reason = Some(self.reason);
        (mv.rejection, mv.position, mv.undo_until) = (false, None, None);
        Move { input: EntryInput::default(), annotation: None, ..mv }
    }
}

/// Checks the guards of the state that the task is about to leave. A guard may redirect the task to another state.
///
/// # Errors
/// `GuardRejected` by the first guard that rejects the move.
pub(crate) async fn ask_guards(
    world: &World,
    context: &ProjectContext,
    task: &TaskRow,
    audience: Audience,
) -> Result<Option<GuardRedirect>> {
    let Some(state) = context.workflow.state(&task.status) else { return Ok(None) };
    for hook in state.hooks.before_exit.iter().filter(|hook| hook.answers_to(audience)) {
        let Some((reason, details)) = objection(world, context, task, hook.action).await? else { continue };
        let policy = hook.on_failure.clone().unwrap_or(OnFailure::Block);
        let facts = json!({ "action": hook.action, "reason": reason, "policy": policy });
        let mut tx = world.store().write().await?;
        world.emit(&mut tx, EventType::TransitionGuardRejected, task, task.id.as_str(), &facts).await?;
        tx.commit().await?;
        match policy {
            OnFailure::Log => {}
            OnFailure::Block => {
                return Err(EngineError::GuardRejected { action: hook.action, reason, details });
            }
            OnFailure::Cascade(to) => {
                return Ok(Some(GuardRedirect { to, reason: format!("{}: {reason}", hook.action) }));
            }
        }
    }
    Ok(None)
}

/// What the guard of an action says.
async fn objection(
    world: &World,
    context: &ProjectContext,
    task: &TaskRow,
    action: Action,
) -> Result<Option<Objection>> {
    // The definition's validation keeps actions that are no guards out of this phase.
    match (world.features().guard)(action) {
        Some(guard) => guard(world, context, task).await,
        None => Ok(None),
    }
}

/// Objects while something is open that must be done first.
pub(crate) async fn ask_prerequisites(
    world: &World,
    context: &ProjectContext,
    task: &TaskRow,
) -> Result<Option<Objection>> {
    let mut conn = world.store().read().await?;
    let open = open_prerequisites(&mut conn, context, &task.id).await?;
    Ok((!open.is_empty()).then(|| {
        let ids: Vec<&str> = open.iter().map(|task| task.id.as_str()).collect();
        (format!("waits for {}", named(&open)), json!({ "open": ids }))
    }))
}
