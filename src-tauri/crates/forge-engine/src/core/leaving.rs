//! Guards of a state that the engine, or an agent that has ended, is about to move a task out of. They look at the
//! worktree, so they are asked before the transaction that decides, and only when it would move the task.

use std::sync::Arc;

use forge_model::actor::Cause;
use forge_model::budget::BudgetKind;
use forge_model::correction::Correction;
use forge_model::task::{AnnotationType, HolderKind};
use forge_model::transition::StepStatus;
use forge_model::workflow::{Action, Audience};
use serde_json::json;

use crate::{
    EngineError, World,
    core::{
        self,
        block_reason::BlockReason,
        guards::GuardRedirect,
        moves::{EntryInput, Move},
        retry_budget,
        world::step::{AtGate, Effect, End, HeldBack, Stepping},
    },
    error::Result,
};

/// What a step keeps once its guards let the task go.
const ASKED: &str = "guards_asked";

/// What the guards say to a task that is about to leave.
pub(crate) enum Leave {
    /// It may.
    Freely,
    /// It goes somewhere else.
    Redirected(GuardRedirect),
    /// It stays, and why.
    Refused(BlockReason),
}

/// Whether a step may send its task out of a state that has guards, which were not asked yet.
pub(crate) fn must_be_asked(s: &Stepping) -> bool {
    let sends_on = matches!(
        s.step.action,
        Some(
            Action::AutoCascadeOnReviewPass
                | Action::AutoCascadeOnUnassignedRole
                | Action::AutoCascadeOnMergeResult
        )
    );
    let asked = s.step.params.as_ref().is_some_and(|params| params.get(ASKED).is_some());
    sends_on
        && !asked
        && s.context.workflow.state(&s.task.status).is_some_and(|state| {
            state.hooks.before_exit.iter().any(|hook| hook.answers_to(s.transition.audience))
        })
}

/// Asks the guards on behalf of a step. None when the step is to be run now.
pub(crate) async fn ask_to_leave(world: &World, s: &Stepping) -> Result<Option<End>> {
    let Some(mv) = would_leave(world, s).await? else {
        mark_asked(world, s).await?;
        return Ok(None);
    };
    match may_leave(world, s, s.transition.audience).await? {
        Leave::Freely => {
            mark_asked(world, s).await?;
            Ok(None)
        }
        Leave::Redirected(redirect) => Ok(Some(End::go(redirect.instead_of(&mv)))),
        Leave::Refused(trouble) => refused(world, s, trouble).await.map(Some),
    }
}

/// Asks the guards where what a step found would send the task on; where a person decides first, that person asks
/// them. What was found is kept whatever they say.
pub(crate) async fn ask_to_pass(world: &World, s: &Stepping, found: Arc<dyn AtGate>) -> Result<End> {
    let Some(mv) = would_pass(world, s, found.as_ref()).await? else { return Ok(End::Found(found)) };
    let by = match may_leave(world, s, Audience::AgentOnly).await? {
        Leave::Freely => return Ok(End::Found(found)),
        Leave::Redirected(redirect) => HeldBack::Redirected(Box::new(redirect.instead_of(&mv))),
        Leave::Refused(trouble) => HeldBack::Refused(Box::new(trouble)),
    };
    found.held_back(world, s, by).await
}

/// The move along `accept` that what was found would make, tried and taken back.
async fn would_pass(world: &World, s: &Stepping, found: &dyn AtGate) -> Result<Option<Box<Move>>> {
    let guarded =
        s.context.workflow.state(&s.task.status).is_some_and(|state| {
            state.hooks.before_exit.iter().any(|hook| hook.answers_to(Audience::AgentOnly))
        });
    if !guarded {
        return Ok(None);
    }
    let mut effects: Vec<Effect> = Vec::new();
    let mut tx = world.store().write().await?;
    let end = found.decide(world, &mut tx, &mut s.again(), &mut effects).await?;
    drop(tx);
    Ok(goes(end).filter(|mv| mv.trigger == "accept"))
}

/// What the guards of the task's state say to moves of this audience.
pub(crate) async fn may_leave(world: &World, s: &Stepping, audience: Audience) -> Result<Leave> {
    match super::guards::ask_guards(world, &s.context, &s.task, audience).await {
        Ok(None) => Ok(Leave::Freely),
        Ok(Some(redirect)) => Ok(Leave::Redirected(redirect)),
        Err(EngineError::GuardRejected { action, reason, details }) => {
            let mut trouble = BlockReason::new(AnnotationType::GuardRejected, reason);
            trouble.details = json!({ "action": action, "details": details });
            Ok(Leave::Refused(trouble))
        }
        Err(other) => Err(other),
    }
}

/// The move that the step would make, tried and taken back.
async fn would_leave(world: &World, s: &Stepping) -> Result<Option<Box<Move>>> {
    let Some(action) = s.step.action else { return Ok(None) };
    let mut effects: Vec<Effect> = Vec::new();
    let mut tx = world.store().write().await?;
    let mut tried = s.again();
    let end = core::instant::run_instant_action(world, &mut tx, &mut tried, action, &mut effects).await?;
    drop(tx);
    Ok(goes(end))
}

/// Has the step run with the next instant ones.
async fn mark_asked(world: &World, s: &Stepping) -> Result<()> {
    let mut tx = world.store().write().await?;
    let current = tx.steps().next(&s.task.id).await?.filter(|step| step.id == s.step.id);
    if let Some(mut step) = current {
        step.params = Some(json!({ ASKED: true }));
        step.status = StepStatus::Pending;
        tx.steps_mut().update(&step).await?;
        tx.commit().await?;
    }
    Ok(())
}

/// The agent gets the reason as another turn, paid from the execution budget; a person without either.
pub(crate) async fn refused(world: &World, s: &Stepping, trouble: BlockReason) -> Result<End> {
    let mut conn = world.store().read().await?;
    let budget = retry_budget::budget(&mut conn, &s.context, &s.task).await?.get(BudgetKind::Execution);
    let role = s.context.work_role().unwrap_or_default();
    let holder = conn.roles().holder(&s.task.id, role).await?;
    let has_agent = holder.is_some_and(|holder| holder.kind == HolderKind::Agent);
    match s.context.workflow.work_state().filter(|work| work.name != s.task.status) {
        Some(work) if has_agent && budget.allows() => {
            let mut mv = Move::cascade(&work.name, "guard", Cause::Workflow, &s.transition);
            mv.reason = Some(trouble.message.clone());
            mv.input = EntryInput {
                corrections: vec![Correction::GuardRefused { reason: trouble.message }],
                cause: Some("a guard refused".to_owned()),
                spends: Some(BudgetKind::Execution),
                ..EntryInput::default()
            };
            Ok(End::go(mv))
        }
        _ => Ok(End::Block(trouble)),
    }
}

/// Where an end sends the task.
fn goes(end: End) -> Option<Box<Move>> {
    match end {
        End::Go(mv) => Some(mv),
        End::Ok(_)
        | End::Skipped(_)
        | End::Failed(_)
        | End::Block(_)
        | End::Wait(_)
        | End::Interrupted
        | End::Found(_)
        | End::Written(_) => None,
    }
}
