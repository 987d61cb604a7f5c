//! Running an instant action apart from its step, to find out what it would do.

use forge_model::transition::StepOutcome;
use forge_model::workflow::Action;
use forge_store::Tx;

use crate::{
    World,
    core::world::step::{Effect, End, Stepping},
    error::Result,
};

/// The end of an action that makes no sense without another one that was skipped.
pub(crate) async fn skip_with_needed(
    tx: &mut Tx,
    s: &Stepping,
    action: Option<Action>,
) -> Result<Option<End>> {
    match action.and_then(Action::depends_on) {
        Some(needed) if was_skipped(tx, s, needed).await? => {
            Ok(Some(End::skipped(format!("{needed} was skipped"))))
        }
        _ => Ok(None),
    }
}

/// Runs the code of an action that only reads and writes the database, apart from its step.
pub(crate) async fn run_instant_action(
    world: &World,
    tx: &mut Tx,
    s: &mut Stepping,
    action: Action,
    effects: &mut Vec<Effect>,
) -> Result<End> {
    if let Some(end) = skip_with_needed(tx, s, Some(action)).await? {
        return Ok(end);
    }
    match world.features().steps.instant_of(action) {
        Some(run) => run(world, tx, s, effects).await,
        None => Ok(End::skipped(format!("{action} runs as a step of its own"))),
    }
}

/// Whether an action of the same move was skipped: what depends on it has nothing to say.
pub(crate) async fn was_skipped(tx: &mut Tx, s: &Stepping, action: Action) -> Result<bool> {
    let all = tx.steps().of_transition(s.transition.seq).await?;
    // The entry may have been made more than once; the latest before this step is meant.
    let before = all.iter().rfind(|step| step.id < s.step.id && step.action == Some(action));
    Ok(before.is_some_and(|step| step.outcome == Some(StepOutcome::Skipped)))
}
