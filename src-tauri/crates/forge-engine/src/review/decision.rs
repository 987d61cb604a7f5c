//! What follows from a review and from a merge. Each decision is made and written in one transaction.

use forge_model::actor::{Actor, Cause};
use forge_model::budget::BudgetKind;
use forge_model::correction::Correction;
use forge_model::event::EventType;
use forge_model::merge::MergeStatus;
use forge_model::notification::NotificationKind;
use forge_model::review::{Review, ReviewStatus, Verdict};
use forge_model::task::{AnnotationType, HolderKind};
use forge_model::transition::StepOutcome;
use forge_model::workflow::{Action, AlwaysWord, State, UserApproval};
use forge_store::Tx;
use forge_store::table::{steps::StepRow, tasks::TaskRow, transitions::TransitionRow};
use serde_json::json;

use crate::{
    World,
    core::{
        self,
        block_reason::BlockReason,
        context::ProjectContext,
        moves::{EntryInput, Move},
        retry_budget,
        world::step::{End, Stepping},
    },
    error::Result,
    review::rejection::Rejection,
};

/// Passes the review, or lets it wait for a person.
pub(crate) async fn decide_review(world: &World, tx: &mut Tx, s: &mut Stepping) -> Result<End> {
    let Some(mut review) = tx.reviews().of_transition(&s.task.id, s.transition.seq).await? else {
        return Ok(End::skipped("this move has no review"));
    };
    if review.status != ReviewStatus::Running {
        return Ok(End::skipped(format!("the review is already {}", review.status)));
    }
    let Some(state) = s.context.workflow.state(&s.task.status).cloned() else {
        return Ok(End::skipped("no such state"));
    };
    // In a conflict-fix cycle the earlier pass stands, whoever gave it.
    let agent_decides = s.task.review_passed_at.is_none() && agent_holds(tx, s, &state).await?;
    if agent_decides {
        if !was_done(tx, s, Action::DispatchRoleAgent).await? {
            // Nobody else will say anything about it.
            await_person(world, tx, s, &state, &mut review).await?;
            return Ok(End::skipped("no agent started; ready for your review"));
        }
        let what = if state.plans() { "the plan is written" } else { "the reviewer gives a verdict" };
        return Ok(End::skipped(format!("waiting until {what}")));
    }
    let accepted = decide_running(world, tx, s, &state, &mut review).await?;
    match (accepted, state.triggers.get("accept")) {
        (false, _) => Ok(End::Ok(Some("ready for your review".to_owned()))),
        (true, Some(accept)) => {
            Ok(End::go(Move::cascade(&accept.to, "accept", Cause::Review, &s.transition)))
        }
        (true, None) => Ok(End::Ok(Some("passed; the state has no accept transition".to_owned()))),
    }
}

async fn agent_holds(tx: &mut Tx, s: &Stepping, state: &State) -> Result<bool> {
    let Some(role) = &state.role else { return Ok(false) };
    let holder = tx.roles().holder(&s.task.id, role).await?;
    Ok(holder.is_some_and(|holder| holder.kind == HolderKind::Agent))
}

/// Passes a running review (true), or lets it wait for a person (false).
pub(crate) async fn decide_running(
    world: &World,
    tx: &mut Tx,
    s: &mut Stepping,
    state: &State,
    review: &mut Review,
) -> Result<bool> {
    if person_must_decide(tx, s, state).await? {
        await_person(world, tx, s, state, review).await?;
        return Ok(false);
    }
    let in_cycle = s.task.review_passed_at.is_some();
    let verdict = if in_cycle { Verdict::PassCiOnly } else { Verdict::Pass };
    let decider = Actor::System { cause: Cause::Review };
    let context = std::sync::Arc::clone(&s.context);
    pass_review(world, tx, &context, &mut s.task, review, verdict, decider, None).await?;
    Ok(true)
}

/// Lets a review wait for a person, and tells them.
pub(crate) async fn await_person(
    world: &World,
    tx: &mut Tx,
    s: &Stepping,
    state: &State,
    review: &mut Review,
) -> Result<()> {
    hand_over(world, tx, &s.task, review).await?;
    let body = format!("{} is ready for your review.", state.display_name);
    let cause = format!("awaiting:{}", review.id);
    core::notices::notify(world, tx, &s.context, &s.task, NotificationKind::AwaitingHuman, &body, &cause)
        .await
}

/// Writes that a review waits for a person.
pub(crate) async fn hand_over(world: &World, tx: &mut Tx, task: &TaskRow, review: &mut Review) -> Result<()> {
    review.status = ReviewStatus::AwaitingHuman;
    tx.reviews_mut().update(review).await?;
    let facts = json!({ "attempt_number": review.attempt_number });
    world.emit(tx, EventType::ReviewAwaitingHuman, task, review.id.as_str(), &facts).await?;
    for tell in &world.features().moments.on_review_waits {
        tell(world, tx, task).await?;
    }
    world.emit(tx, EventType::TaskAwaitingHuman, task, task.id.as_str(), &facts).await
}

async fn person_must_decide(tx: &mut Tx, s: &Stepping, state: &State) -> Result<bool> {
    let approval =
        state.gate_config.as_ref().map(|gate| gate.requires_user_approval.clone()).unwrap_or_default();
    if approval == UserApproval::Always(AlwaysWord::Always) {
        return Ok(true);
    }
    if s.task.review_passed_at.is_some() {
        return Ok(false);
    }
    let holder = match &state.role {
        Some(role) => tx.roles().holder(&s.task.id, role).await?,
        None => None,
    };
    let optional = state.gate_config.as_ref().is_some_and(|gate| gate.optional_when_unassigned);
    Ok(approval.required()
        || match holder.map(|holder| holder.kind) {
            Some(HolderKind::User) => true,
            Some(HolderKind::Agent) => false,
            None => !optional && !s.context.settings.auto_approve,
        })
}

/// Writes that a review passed. Where the work was judged, outside a conflict-fix cycle, that is a
/// boundary for the budgets.
#[expect(clippy::too_many_arguments, reason = "the facts of one decision; a struct would only rename them")]
pub(crate) async fn pass_review(
    world: &World,
    tx: &mut Tx,
    context: &ProjectContext,
    task: &mut TaskRow,
    review: &mut Review,
    verdict: Verdict,
    decider: Actor,
    reason: Option<String>,
) -> Result<()> {
    let now = world.now();
    review.status = ReviewStatus::Passed;
    review.verdict = Some(verdict);
    review.decided_by = Some(decider);
    review.reason = reason;
    review.finished_at = Some(now);
    review.measures = super::stagnation::measures_of(tx, task, review).await?;
    tx.reviews_mut().update(review).await?;
    if task.review_passed_at.is_none() && judges(context, &review.state) {
        task.review_passed_at = Some(now);
        retry_budget::reset(tx, task).await?;
        tx.tasks_mut().update(task, now).await?;
    }
    let facts = json!({ "attempt_number": review.attempt_number, "verdict": verdict });
    world.emit(tx, EventType::ReviewPassed, task, review.id.as_str(), &facts).await
}

/// Writes that a review failed.
pub(crate) async fn fail_review(
    world: &World,
    tx: &mut Tx,
    task: &TaskRow,
    review: &mut Review,
    decider: Actor,
    reason: &str,
) -> Result<()> {
    review.status = ReviewStatus::Failed;
    review.verdict = Some(Verdict::Fail);
    review.decided_by = Some(decider);
    review.reason = Some(reason.to_owned());
    review.finished_at = Some(world.now());
    review.measures = super::stagnation::measures_of(tx, task, review).await?;
    tx.reviews_mut().update(review).await?;
    for tell in &world.features().moments.on_review_failed {
        tell(world, tx, task, review).await?;
    }
    let facts = json!({ "attempt_number": review.attempt_number });
    world.emit(tx, EventType::ReviewFailed, task, review.id.as_str(), &facts).await
}

/// Where a rejection leads: back to work while the review budget lasts, else to a person. Asked before
/// the rejection at hand is written, so the budget shown is the budget enforced.
pub(crate) async fn reject(
    world: &World,
    tx: &mut Tx,
    context: &ProjectContext,
    task: &mut TaskRow,
    from: &TransitionRow,
    rejection: Rejection,
) -> Result<End> {
    // Whatever follows: an earlier pass does not outlive a rejection.
    task.review_passed_at = None;
    tx.tasks_mut().update(task, world.now()).await?;
    // A plan that is sent back is no failed attempt at the work.
    let counted = judges(context, &task.status);
    let budget = retry_budget::budget(tx, context, task).await?.get(BudgetKind::Review);
    if counted && !budget.allows() {
        let message = match budget.limit {
            0 => rejection.reason.clone(),
            limit => format!("{} ({} of {limit} retries used)", rejection.reason, budget.used),
        };
        let mut trouble = BlockReason::new(AnnotationType::ReviewBudgetExhausted, message);
        trouble.details = json!({ "budget": budget });
        trouble.evidence = rejection.evidence;
        return Ok(End::Block(trouble));
    }
    if counted && let Some(why) = super::stagnation::stagnation(world, tx, context, task, &rejection).await? {
        let mut trouble =
            BlockReason::new(AnnotationType::ReviewStagnant, format!("{} ({why})", rejection.reason));
        trouble.details = json!({ "budget": budget });
        trouble.evidence = rejection.evidence;
        return Ok(End::Block(trouble));
    }
    let mut mv = match &rejection.actor {
        Actor::User { .. } => Move::by(&rejection.to, "reject", rejection.actor.clone()),
        // An agent's run starts a chain of its own.
        Actor::Agent { .. } => Move::by(&rejection.to, "reject", rejection.actor.clone()),
        Actor::System { .. } => Move::cascade(&rejection.to, "reject", Cause::Review, from),
    };
    mv.reason = Some(rejection.reason);
    mv.rejection = counted;
    let cause = if counted {
        format!("review retry {} of {}", budget.used + 1, budget.limit)
    } else {
        "sent back".to_owned()
    };
    mv.input =
        EntryInput { corrections: vec![rejection.correction], cause: Some(cause), ..EntryInput::default() };
    Ok(End::go(mv))
}

/// Moves the task according to the merge result.
pub(crate) async fn decide_merge(world: &World, tx: &mut Tx, s: &mut Stepping) -> Result<End> {
    let merged = tx.steps().of_transition(s.transition.seq).await?;
    // The entry may have been made more than once.
    let before = |step: &&StepRow| step.id < s.step.id && step.action == Some(Action::RunMerge);
    let ran = merged.iter().rfind(before).and_then(|step| step.outcome);
    if ran != Some(StepOutcome::Ok) {
        return Ok(End::skipped("the merge did not run"));
    }
    let Some(merge) = tx.merges().last(&s.task.id).await? else {
        return Ok(End::skipped("nothing merged"));
    };
    let Some(state) = s.context.workflow.state(&s.task.status).cloned() else {
        return Ok(End::skipped("no such state"));
    };
    match merge.status {
        MergeStatus::Landed | MergeStatus::Nothing => match state.triggers.get("accept") {
            Some(accept) => Ok(End::go(Move::cascade(&accept.to, "accept", Cause::Merge, &s.transition))),
            None => Ok(End::Ok(Some("merged; the state has no accept transition".to_owned()))),
        },
        MergeStatus::Conflict => conflicted(world, tx, s, &state).await,
        MergeStatus::Intended | MergeStatus::Failed => Ok(End::skipped("the merge has no outcome")),
    }
}

async fn conflicted(world: &World, tx: &mut Tx, s: &Stepping, state: &State) -> Result<End> {
    let last = tx.executions().list(&s.task.id).await?;
    let conflict = last.iter().rev().find_map(|row| row.execution.conflict.clone());
    let names =
        conflict.as_ref().map(|c| c.paths.iter().map(|p| p.path.clone()).collect::<Vec<_>>().join(", "));
    let message = format!("merging conflicts in {}", names.as_deref().unwrap_or("some files"));
    let mut trouble = BlockReason::new(AnnotationType::MergeConflict, message);
    trouble.details = json!({ "conflict": conflict });
    let Some(fail) = state.triggers.get("fail") else { return Ok(End::Block(trouble)) };
    let mut mv = Move::cascade(&fail.to, "fail", Cause::Merge, &s.transition);
    mv.reason = Some(trouble.message.clone());
    let budget = retry_budget::budget(tx, &s.context, &s.task).await?.get(BudgetKind::MergeFix);
    let role = s.context.work_role().unwrap_or_default();
    let has_agent =
        tx.roles().holder(&s.task.id, role).await?.is_some_and(|holder| holder.kind == HolderKind::Agent);
    if budget.allows()
        && has_agent
        && let Some(conflict) = conflict
    {
        let correction =
            Correction::Conflict { target: conflict.target, paths: conflict.paths, begun: false };
        mv.input = EntryInput { corrections: vec![correction], fix_conflict: true, ..EntryInput::default() };
    } else {
        let cause = format!("conflict:{}", s.transition.id);
        core::notices::notify(
            world,
            tx,
            &s.context,
            &s.task,
            NotificationKind::Blocked,
            &trouble.message,
            &cause,
        )
        .await?;
        mv.annotation = Some(trouble.annotation(&s.task.status, world.now()));
    }
    Ok(End::go(mv))
}

/// Shows what is left of the budget that the state owns.
pub(crate) async fn show_budget(tx: &mut Tx, s: &Stepping) -> Result<End> {
    let is_merge_failed =
        s.context.workflow.merge_failed().is_some_and(|failed| failed.name == s.task.status);
    let kind = if is_merge_failed { BudgetKind::MergeFix } else { BudgetKind::Review };
    let budget = retry_budget::budget(tx, &s.context, &s.task).await?.get(kind);
    Ok(End::Ok(Some(format!("{} of {} used", budget.used, budget.limit))))
}

/// Sends the task along `accept` when nobody holds the state's role.
pub(crate) async fn pass_unassigned(tx: &mut Tx, s: &Stepping) -> Result<End> {
    let Some(state) = s.context.workflow.state(&s.task.status) else {
        return Ok(End::skipped("no such state"));
    };
    let Some(role) = &state.role else { return Ok(End::skipped("the state has no role")) };
    if tx.roles().holder(&s.task.id, role).await?.is_some() {
        return Ok(End::skipped("the role is assigned"));
    }
    match state.triggers.get("accept") {
        Some(accept) => Ok(End::go(Move::cascade(&accept.to, "accept", Cause::Workflow, &s.transition))),
        None => Ok(End::skipped("the state has no accept transition")),
    }
}

/// Tells the person why the task needs them, unless they just blocked it themselves.
pub(crate) async fn publish_blocked(world: &World, tx: &mut Tx, s: &Stepping) -> Result<End> {
    if s.transition.actor.is_user() {
        return Ok(End::skipped("notified before"));
    }
    let body = s
        .task
        .error_annotation
        .as_ref()
        .map_or("needs you", |annotation| annotation.message.as_str())
        .to_owned();
    let cause = format!("blocked:{}", s.transition.id);
    core::notices::notify(world, tx, &s.context, &s.task, NotificationKind::Blocked, &body, &cause).await?;
    Ok(End::ok())
}

/// Whether an action of the same move did what it is for, the latest time before this step.
async fn was_done(tx: &mut Tx, s: &Stepping, action: Action) -> Result<bool> {
    let all = tx.steps().of_transition(s.transition.seq).await?;
    let before = all.iter().rfind(|step| step.id < s.step.id && step.action == Some(action));
    Ok(before.is_some_and(|step| step.outcome == Some(StepOutcome::Ok)))
}

/// Whether passing or failing a gate is a judgement of the work.
fn judges(context: &ProjectContext, state: &str) -> bool {
    context.workflow.state(state).is_some_and(|state| context.workflow.judges_work(state))
}

/// The task's gate and its review, while that runs.
pub(crate) async fn running_review(tx: &mut Tx, s: &Stepping) -> Result<Option<(State, Review)>> {
    let state = s.context.workflow.state(&s.task.status).cloned();
    let review = tx.reviews().last(&s.task.id).await?;
    Ok(state.zip(review).filter(|(_, review)| review.status == ReviewStatus::Running))
}
