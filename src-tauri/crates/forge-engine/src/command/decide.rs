//! A person's decision at a gate.

use forge_model::actor::Actor;
use forge_model::ids::TaskId;
use forge_model::prompt::Correction;
use forge_model::review::{Review, ReviewStatus, Verdict};
use forge_model::workflow::Audience;
use forge_store::Tx;
use forge_store::table::{reviews, tasks::TaskRow, transitions};
use sqlx::SqliteConnection;

use crate::{
    ConflictCode, Engine, EngineError,
    context::ProjectContext,
    error::Result,
    steps::{End, decide::Rejection},
    transition::Move,
};

/// What a person decides.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Decision {
    /// The work is good.
    Approve,
    /// It needs changes.
    Reject,
}

impl Engine {
    /// Decides the review that waits for a person. `gate` narrows it to one gate.
    ///
    /// # Errors
    /// `NotFound`, `NotAwaiting`, `Invalid` for a rejection without a reason.
    pub async fn decide(
        &self,
        actor: Actor,
        id: &TaskId,
        gate: Option<&str>,
        decision: Decision,
        reason: Option<String>,
    ) -> Result<()> {
        let reason = reason.map(|reason| reason.trim().to_owned()).filter(|reason| !reason.is_empty());
        if decision == Decision::Reject && reason.is_none() {
            return Err(EngineError::invalid("reason", "say what should change; it goes to the agent"));
        }
        let _hold = self.hold(id).await;
        let mut aside = None;
        if decision == Decision::Approve {
            let (task, context) = {
                let mut conn = self.store().read().await?;
                let (task, context) = self.load(&mut conn, id, None).await?;
                self.awaited_review(&mut conn, &task, gate).await?;
                (task, context)
            };
            aside = self.ask_guards(&context, &task, Audience::UserOnly).await?;
        }
        let mut tx = self.store().write().await?;
        let (mut task, context) = self.load(&mut tx, id, None).await?;
        let review = self.awaited_review(&mut tx, &task, gate).await?;
        match (decision, aside) {
            (Decision::Approve, Some(aside)) => {
                let mv = aside.instead_of(&Move::by_user(&task.status, "accept", actor));
                self.apply(&mut tx, &context, &mut task, mv).await?;
            }
            (Decision::Approve, None) => {
                self.approve(&mut tx, &context, &mut task, review, actor, reason).await?;
            }
            (Decision::Reject, _) => {
                self.reject_by_hand(&mut tx, &context, &mut task, review, actor, reason.unwrap_or_default())
                    .await?;
            }
        }
        tx.commit().await?;
        self.point("decision.committed");
        self.wake_waiting();
        Ok(())
    }

    async fn awaited_review(
        &self,
        tx: &mut SqliteConnection,
        task: &TaskRow,
        gate: Option<&str>,
    ) -> Result<Review> {
        let last = reviews::last(tx, &task.id).await?;
        let here =
            last.filter(|review| review.status == ReviewStatus::AwaitingHuman && review.state == task.status);
        here.filter(|review| gate.is_none_or(|gate| gate == review.state)).ok_or_else(|| {
            EngineError::conflict(
                ConflictCode::NotAwaiting,
                format!("nothing waits for your decision while the task is in {}", task.status),
            )
        })
    }

    /// Passes the gate on a person's word.
    pub(crate) async fn approve(
        &self,
        tx: &mut Tx,
        context: &ProjectContext,
        task: &mut TaskRow,
        mut review: Review,
        actor: Actor,
        reason: Option<String>,
    ) -> Result<()> {
        let accept =
            context.workflow.state(&review.state).and_then(|state| state.triggers.get("accept").cloned());
        self.pass_review(tx, context, task, &mut review, Verdict::Pass, actor.clone(), reason.clone())
            .await?;
        if let Some(accept) = accept {
            let mut mv = Move::by_user(&accept.to, "accept", actor);
            mv.reason = reason;
            self.apply(tx, context, task, mv).await?;
        }
        Ok(())
    }

    async fn reject_by_hand(
        &self,
        tx: &mut Tx,
        context: &ProjectContext,
        task: &mut TaskRow,
        mut review: Review,
        actor: Actor,
        reason: String,
    ) -> Result<()> {
        let gate = context.workflow.state(&review.state).and_then(|state| state.gate_config.clone());
        let target = gate
            .and_then(|gate| gate.reject_target)
            .or_else(|| context.workflow.work_state().map(|state| state.name.clone()));
        let to = target.ok_or_else(|| {
            EngineError::conflict(ConflictCode::NotAwaiting, "the gate declares nowhere to send a rejection")
        })?;
        let last = transitions::last(tx, &task.id)
            .await?
            .ok_or_else(|| EngineError::not_found("transition of task", &task.id))?;
        self.fail_review(tx, task, &mut review, actor.clone(), &reason).await?;
        let correction = Correction::Rejected { reason: reason.clone() };
        let rejection = Rejection { to, actor, reason, correction, evidence: None };
        match self.reject(tx, context, task, &last, rejection).await? {
            End::Go(mv) => self.apply(tx, context, task, *mv).await.map(drop),
            End::Block(trouble) => {
                self.block(tx, context, task, trouble, forge_model::actor::Cause::Review).await.map(drop)
            }
            End::Ok(_)
            | End::Skipped(_)
            | End::Failed(_)
            | End::Wait(_)
            | End::Interrupted
            | End::Hook(_)
            | End::Taught(..) => Ok(()),
        }
    }
}
