//! Starting the agent of a task's present state once more, without a move.

use forge_model::budget::BudgetKind;
use forge_model::correction::Correction;
use forge_store::Tx;

use crate::{
    World,
    core::{
        self,
        block_reason::BlockReason,
        moves::EntryInput,
        retry_budget,
        world::step::{Effect, End, Stepping},
    },
    error::Result,
};

/// Asks for a place, the worktree and the agent again, in the state the task is in.
pub(crate) async fn re_enter(
    world: &World,
    tx: &mut Tx,
    s: &mut Stepping,
    input: EntryInput,
    effects: &mut Vec<Effect>,
) -> Result<()> {
    tx.slots_mut().release(&s.task.id).await?;
    effects.push(Effect::WakeWaiting);
    let (context, transition) = (std::sync::Arc::clone(&s.context), s.transition.clone());
    core::entry::insert_entry(world, tx, &context, &mut s.task, &transition, input).await
}

/// Another turn with the reason, paid from the execution budget; blocked when that is spent.
pub(crate) async fn send_back_in_place(
    world: &World,
    s: &Stepping,
    correction: Correction,
    cause: &str,
    trouble: BlockReason,
) -> Result<End> {
    let budget = {
        let mut conn = world.store().read().await?;
        retry_budget::budget(&mut conn, &s.context, &s.task).await?.get(BudgetKind::Execution)
    };
    if !budget.allows() {
        return Ok(End::Block(trouble));
    }
    let input = EntryInput {
        corrections: vec![correction],
        cause: Some(cause.to_owned()),
        spends: Some(BudgetKind::Execution),
        ..EntryInput::default()
    };
    run_once_more(world, s, input).await
}

/// Replaces the rest of this turn's steps by another run of the agent.
pub(crate) async fn run_once_more(world: &World, s: &Stepping, input: EntryInput) -> Result<End> {
    let mut effects: Vec<Effect> = Vec::new();
    let mut tx = world.store().write().await?;
    let Some(task) = tx.tasks().get(&s.task.id).await? else { return Ok(End::Interrupted) };
    let still_current = tx.steps().next(&s.task.id).await?.is_some_and(|step| step.id == s.step.id);
    if !still_current || task.status != s.task.status {
        return Ok(End::Interrupted);
    }
    let reason = input.cause.clone();
    tx.steps_mut().skip_open(&s.task.id, "the agent gets another turn", world.now()).await?;
    let mut again = Stepping { task, ..s.again() };
    re_enter(world, &mut tx, &mut again, input, &mut effects).await?;
    tx.commit().await?;
    core::follow::act(world, effects);
    Ok(End::Ok(reason))
}
