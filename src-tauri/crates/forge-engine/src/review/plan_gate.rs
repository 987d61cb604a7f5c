//! What follows an agent's end at a gate, and the gate of a plan: the plan is passed on, or waits for a person.

use async_trait::async_trait;
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

use forge_model::actor::Actor;
use forge_model::correction::Correction;
use forge_model::execution::Execution;
use forge_model::ids::AgentId;
use forge_model::task::AnnotationType;
use forge_model::workflow::State;
use forge_store::Tx;

use crate::{
    World,
    core::{
        again::send_back_in_place,
        block_reason::BlockReason,
        lineage::audits,
        moves::Move,
        world::step::{AtGate, Effect, End, Finding, HeldBack, Stepping},
    },
    error::Result,
    review::{self, decision::running_review},
    run::{
        self,
        plan::{read_plan, write_plan},
    },
    workspace,
};

/// Goes on after a run that ended: with what an auditor or a planner came to, or with the work of the task.
pub(crate) async fn advance(world: &World, s: &Stepping, cancel: &CancellationToken) -> Result<End> {
    let Some((execution, _)) = run::finish::finished_execution(world, s).await? else {
        return Ok(End::skipped("no execution"));
    };
    if audits(execution.role) {
        return review::audit::finish_audit(world, s, execution, cancel).await;
    }
    if s.context.workflow.state(&s.task.status).is_some_and(State::plans) {
        return advance_plan(world, s, &execution).await;
    }
    run::finish::advance_work(world, s, execution).await
}

/// The plan is what the planner wrote to its file, else what it said last.
async fn advance_plan(world: &World, s: &Stepping, execution: &Execution) -> Result<End> {
    let workspace = {
        let mut conn = world.store().read().await?;
        conn.workspaces().last(&s.task.id).await?
    };
    let Some(workspace) = workspace else { return Ok(End::skipped("no workspace")) };
    workspace::traces::remove_traces(world, &s.context, &s.task, &workspace).await?;
    // One from before the task came here is none of this planner's.
    if run::plan::missing_plan(world, &s.task).await?.is_some() {
        match execution.summary.as_deref().filter(|said| !said.trim().is_empty()) {
            Some(said) => write_plan(&workspace, said).await?,
            None if read_plan(&workspace).await?.is_some() => {}
            None => {
                let reason = "there is no plan".to_owned();
                let correction = Correction::GuardRefused { reason: reason.clone() };
                let trouble = BlockReason::new(AnnotationType::GuardRejected, reason);
                return send_back_in_place(world, s, correction, "asked the agent for the plan", trouble)
                    .await;
            }
        }
    }
    Ok(End::Found(Arc::new(PlanWritten { planner: execution.agent_id.clone() })))
}

/// A plan is written, by this agent.
#[derive(Clone)]
struct PlanWritten {
    planner: AgentId,
}

#[async_trait]
impl Finding for PlanWritten {
    async fn decide(&self, world: &World, tx: &mut Tx, s: &mut Stepping, _: &mut Vec<Effect>) -> Result<End> {
        decide_plan(world, tx, s, self.planner.clone()).await
    }

    fn at_gate(self: Arc<Self>) -> Option<Arc<dyn AtGate>> {
        Some(self)
    }
}

#[async_trait]
impl AtGate for PlanWritten {
    async fn held_back(self: Arc<Self>, world: &World, s: &Stepping, by: HeldBack) -> Result<End> {
        match by {
            HeldBack::Redirected(mv) => Ok(End::Go(mv)),
            HeldBack::Refused(trouble) => {
                let correction = Correction::GuardRefused { reason: trouble.message.clone() };
                send_back_in_place(world, s, correction, "a guard refused", *trouble).await
            }
        }
    }
}

/// Passes a plan that is written, or lets it wait for a person.
async fn decide_plan(world: &World, tx: &mut Tx, s: &mut Stepping, planner: AgentId) -> Result<End> {
    let Some((state, mut review)) = running_review(tx, s).await? else {
        return Ok(End::skipped("no review waits for the plan"));
    };
    let accepted = review::decision::decide_running(world, tx, s, &state, &mut review).await?;
    Ok(match (accepted, state.triggers.get("accept")) {
        (true, Some(accept)) => End::go(Move::by(&accept.to, "accept", Actor::Agent { id: planner })),
        (true, None) => End::Ok(Some("passed; the state has no accept transition".to_owned())),
        (false, _) => End::Ok(Some("the plan is ready for your review".to_owned())),
    })
}
