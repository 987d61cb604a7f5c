//! Starting the agent of a task's present state once more, without a move.

use forge_model::budget::BudgetKind;
use forge_model::correction::Correction;
use forge_store::Tx;

use crate::{
    Engine,
    core::{
        self,
        block_reason::BlockReason,
        engine::step::{Effect, End, Stepping},
        moves::EntryInput,
        retry_budget,
    },
    error::Result,
};

/// Asks for a place, the worktree and the agent again, in the state the task is in.
pub(crate) async fn re_enter(
    engine: &Engine,
    tx: &mut Tx,
    s: &mut Stepping,
    input: EntryInput,
    effects: &mut Vec<Effect>,
) -> Result<()> {
    tx.slots_mut().release(&s.task.id).await?;
    effects.push(Effect::WakeWaiting);
    let (context, transition) = (std::sync::Arc::clone(&s.context), s.transition.clone());
    core::entry::insert_entry(engine, tx, &context, &mut s.task, &transition, input).await
}

/// Another turn with the reason, paid from the execution budget; blocked when that is spent.
pub(crate) async fn send_back_in_place(
    engine: &Engine,
    s: &Stepping,
    correction: Correction,
    cause: &str,
    trouble: BlockReason,
) -> Result<End> {
    let budget = {
        let mut conn = engine.store().read().await?;
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
    run_once_more(engine, s, input).await
}

/// Replaces the rest of this turn's steps by another run of the agent.
pub(crate) async fn run_once_more(engine: &Engine, s: &Stepping, input: EntryInput) -> Result<End> {
    let mut effects: Vec<Effect> = Vec::new();
    let mut tx = engine.store().write().await?;
    let Some(task) = tx.tasks().get(&s.task.id).await? else { return Ok(End::Interrupted) };
    let still_current = tx.steps().next(&s.task.id).await?.is_some_and(|step| step.id == s.step.id);
    if !still_current || task.status != s.task.status {
        return Ok(End::Interrupted);
    }
    let reason = input.cause.clone();
    tx.steps_mut().skip_open(&s.task.id, "the agent gets another turn", engine.now()).await?;
    let mut again = Stepping { task, ..s.again() };
    re_enter(engine, &mut tx, &mut again, input, &mut effects).await?;
    tx.commit().await?;
    core::follow::act(engine, effects);
    Ok(End::Ok(reason))
}
