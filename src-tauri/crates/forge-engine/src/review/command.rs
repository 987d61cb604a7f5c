//! A person's decision at a gate.

use forge_model::actor::Actor;
use forge_model::comment::NewComment;
use forge_model::correction::Correction;
use forge_model::event::EventType;
use forge_model::ids::TaskId;
use forge_model::review::{Review, ReviewStatus, Verdict};
use forge_model::task::AnnotationType;
use forge_store::table::tasks::TaskRow;
use forge_store::{ReadConnection, Tx};
use serde_json::Value;

use crate::{
    ConflictCode, EngineError, World,
    core::{
        self, block_reason::BlockReason, context::ProjectContext, lineage::audits, moves::Move,
        world::step::End,
    },
    error::Result,
    review::rejection::Rejection,
    run,
};

/// What a person decides.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Decision {
    /// The work is good.
    Approve,
    /// It needs changes.
    Reject,
}

/// A decision that a person makes.
#[derive(Debug, Clone)]
pub struct DecisionRequest {
    /// The gate that it is about; whichever waits when absent.
    pub gate: Option<String>,
    /// Which.
    pub decision: Decision,
    /// The version that the person saw.
    pub version: Option<u32>,
    /// Why, in their words.
    pub reason: Option<String>,
    /// With an approval: the commit that the person saw.
    pub commit: Option<String>,
    /// With a rejection: comments on lines of the diff, besides the drafts.
    pub comments: Vec<NewComment>,
}

/// Decides the review that waits for a person.
pub(crate) async fn decide(world: &World, actor: Actor, id: &TaskId, request: DecisionRequest) -> Result<()> {
    let DecisionRequest { gate, decision, version, reason, commit, comments } = request;
    let gate = gate.as_deref();
    let reason = reason.map(|reason| reason.trim().to_owned()).filter(|reason| !reason.is_empty());
    let notes = match decision {
        Decision::Approve => Vec::new(),
        Decision::Reject => super::comments::notes(world, id, comments).await?,
    };
    let _hold = core::workers::hold(world, id).await;
    let mut redirect = None;
    if decision == Decision::Approve {
        let (task, context, review) = {
            let mut conn = world.store().read().await?;
            let (task, context) = core::load::load_own(world, &mut conn, id, version).await?;
            let review = awaited_review(&mut conn, &task, gate).await?;
            (task, context, review)
        };
        super::require_reviewed_work(world, &context, &task, &review, commit.as_deref()).await?;
        redirect = core::guards::ask_guards(world, &context, &task, actor.audience()).await?;
    }
    let mut tx = world.store().write().await?;
    let (mut task, context) = core::load::load_own(world, &mut tx, id, version).await?;
    let review = awaited_review(&mut tx, &task, gate).await?;
    match (decision, redirect) {
        (Decision::Approve, Some(redirect)) => {
            let mv = redirect.instead_of(&Move::by(&task.status, "accept", actor));
            core::transition::apply(world, &mut tx, &context, &mut task, mv).await?;
        }
        (Decision::Approve, None) => {
            approve(world, &mut tx, &context, &mut task, review, actor, reason).await?;
        }
        (Decision::Reject, _) => {
            let comments = super::comments::send_drafts(world, &mut tx, &task, notes).await?;
            let reason = reason.unwrap_or_else(|| match comments.len() {
                0 => "no reason was given".to_owned(),
                1 => "one comment on the diff".to_owned(),
                count => format!("{count} comments on the diff"),
            });
            let correction = Correction::Rejected { reason: reason.clone(), comments };
            reject_by_hand(world, &mut tx, &context, &mut task, review, actor, reason, correction).await?;
        }
    }
    tx.commit().await?;
    world.point("decision.committed");
    core::scheduler::wake_waiting(world);
    Ok(())
}

/// Stops the checks or the auditor of the review that runs. The review ends undecided; the task stays
/// where it is and says so.
pub(crate) async fn cancel_review(world: &World, actor: Actor, id: &TaskId) -> Result<()> {
    core::location::require_machine_of(world, id).await?;
    let _hold = core::workers::hold(world, id).await;
    run::running::stop_run(world, id).await;
    let mut tx = world.store().write().await?;
    let (mut task, _) = core::load::load_own(world, &mut tx, id, None).await?;
    let running = tx.reviews().last(id).await?;
    let running =
        running.filter(|review| review.status == ReviewStatus::Running && review.state == task.status);
    let Some(mut review) = running else {
        return Err(EngineError::conflict(
            ConflictCode::NothingRunning,
            "no review is running for this task",
        ));
    };
    let now = world.now();
    review.status = ReviewStatus::Cancelled;
    review.decided_by = Some(actor);
    review.finished_at = Some(now);
    tx.reviews_mut().update(&review).await?;
    core::entry::skip_open(world, &mut tx, &task, "the review was stopped").await?;
    tx.slots_mut().release(id).await?;
    let trouble = BlockReason::new(AnnotationType::Manual, "You stopped the review.");
    task.error_annotation = Some(trouble.annotation(&task.status, now));
    task.entry_barrier = None;
    task.waiting = None;
    tx.tasks_mut().update(&mut task, now).await?;
    world.emit(&mut tx, EventType::TaskUpdated, &task, review.id.as_str(), &Value::Null).await?;
    tx.commit().await?;
    core::scheduler::wake_waiting(world);
    Ok(())
}

async fn awaited_review(tx: &mut ReadConnection, task: &TaskRow, gate: Option<&str>) -> Result<Review> {
    let running = tx.executions().open(Some(std::slice::from_ref(&task.id))).await?;
    if running.iter().any(|row| audits(row.execution.role)) {
        return Err(EngineError::conflict(
            ConflictCode::ReviewerRunning,
            "the reviewer is running: wait for its verdict, or stop it first",
        ));
    }
    let last = tx.reviews().last(&task.id).await?;
    let here =
        last.filter(|review| review.status == ReviewStatus::AwaitingHuman && review.state == task.status);
    here.filter(|review| gate.is_none_or(|gate| gate == review.state)).ok_or_else(|| {
        EngineError::conflict(
            ConflictCode::NotAwaiting,
            format!("no review is ready for you while the task is in {}", task.status),
        )
    })
}

/// Passes the gate on a person's word.
pub(crate) async fn approve(
    world: &World,
    tx: &mut Tx,
    context: &ProjectContext,
    task: &mut TaskRow,
    mut review: Review,
    actor: Actor,
    reason: Option<String>,
) -> Result<()> {
    let accept =
        context.workflow.state(&review.state).and_then(|state| state.triggers.get("accept").cloned());
    super::decision::pass_review(
        world,
        tx,
        context,
        task,
        &mut review,
        Verdict::Pass,
        actor.clone(),
        reason.clone(),
    )
    .await?;
    if let Some(accept) = accept {
        let mut mv = Move::by(&accept.to, "accept", actor);
        mv.reason = reason;
        core::transition::apply(world, tx, context, task, mv).await?;
    }
    Ok(())
}

#[expect(clippy::too_many_arguments, reason = "the facts of one decision; a struct would only rename them")]
async fn reject_by_hand(
    world: &World,
    tx: &mut Tx,
    context: &ProjectContext,
    task: &mut TaskRow,
    mut review: Review,
    actor: Actor,
    reason: String,
    correction: Correction,
) -> Result<()> {
    let gate = context.workflow.state(&review.state).and_then(|state| state.gate_config.clone());
    let target = gate
        .and_then(|gate| gate.reject_target)
        .or_else(|| context.workflow.work_state().map(|state| state.name.clone()));
    let to = target.ok_or_else(|| {
        EngineError::conflict(ConflictCode::NotAwaiting, "the gate has no reject transition")
    })?;
    let last = tx
        .transitions()
        .last(&task.id)
        .await?
        .ok_or_else(|| EngineError::not_found("transition of task", &task.id))?;
    super::decision::fail_review(world, tx, task, &mut review, actor.clone(), &reason).await?;
    let rejection = Rejection { to, actor, reason, correction, evidence: None };
    match super::decision::reject(world, tx, context, task, &last, rejection).await? {
        End::Go(mv) => core::transition::apply(world, tx, context, task, *mv).await.map(drop),
        End::Block(trouble) => {
            core::transition::block(world, tx, context, task, trouble, forge_model::actor::Cause::Review)
                .await
                .map(drop)
        }
        End::Ok(_)
        | End::Skipped(_)
        | End::Failed(_)
        | End::Wait(_)
        | End::Interrupted
        | End::Found(_)
        | End::Written(_) => Ok(()),
    }
}
