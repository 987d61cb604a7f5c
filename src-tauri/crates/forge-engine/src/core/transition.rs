//! Moving a task: one transaction that writes the new status, the history, the events and every step that is still
//! to run. It only writes; effects happen in those steps.

use forge_model::actor::{Actor, Cause};
use forge_model::event::EventType;
use forge_model::execution::ExecutionRole;
use forge_model::ids::TransitionId;
use forge_model::notification::NotificationKind;
use forge_model::review::{Review, ReviewStatus};
use forge_model::task::{AnnotationType, EntryBarrier, WaitReason, Waiting, closed_without_merging};
use forge_model::transition::StepKind;
use forge_model::workflow::{Action, Audience, Phase, State, StateKind};
use forge_store::Tx;
use forge_store::table::{steps::StepRow, tasks::TaskRow, transitions::TransitionRow};
use serde_json::{Value, json};

use crate::{
    EngineError, World,
    core::{
        block_reason::BlockReason,
        context::ProjectContext,
        entry::{collect_entry, skip_open},
        lineage::{is_entry, is_ordered},
        moves::Move,
        retry_budget,
        world::features::{Entering, Moved},
    },
    error::Result,
};

/// Cascades that may follow one cause.
pub(crate) const MAX_CASCADES: u32 = 3;

/// Writes a move. The caller has checked that it is allowed and commits the transaction.
pub(crate) async fn apply(
    world: &World,
    tx: &mut Tx,
    context: &ProjectContext,
    task: &mut TaskRow,
    mv: Move,
) -> Result<TransitionRow> {
    let now = world.now();
    let mut mv = mv;
    for change in &world.features().moments.before_move {
        mv = change(tx, context, task, mv).await?;
    }
    let from = task.status.clone();
    let state =
        context.workflow.state(&mv.to).ok_or_else(|| EngineError::not_found("state", &mv.to))?.clone();
    task.closed_unmerged = closes_by_hand(context, task, &state, &mv);
    if task.closed_unmerged {
        let notice = closed_without_merging(task.unmerged_commits, &task.id);
        mv.reason = Some(mv.reason.map_or_else(|| notice.clone(), |reason| format!("{reason} ({notice})")));
    }
    task.work_changed = None;
    let mut row = TransitionRow {
        seq: 0,
        id: world.new_id::<TransitionId>(),
        task_id: task.id.clone(),
        from: from.clone(),
        to: mv.to.clone(),
        trigger: mv.trigger.clone(),
        actor: mv.actor.clone(),
        audience: mv.audience,
        reason: mv.reason.clone(),
        rejection: mv.rejection,
        cascade_depth: mv.depth,
        at: now,
    };
    let was_annotated = task.error_annotation.is_some();
    clear_what_ends_with_the_state(world, tx, context, task, &state, &mv).await?;
    tx.transitions_mut().insert(&mut row).await?;
    set_position(tx, context, task, &state, mv.position).await?;
    let entering = Entering { context, task, left: &from, state: &state, row: &row };
    let (entry, taken_over) = collect_entry(world, tx, entering, &mv).await?;
    task.status.clone_from(&state.name);
    task.status_since = now;
    task.waiting = mv.undo_until.map(|until| Waiting {
        reason: WaitReason::Undo,
        until: Some(until),
        files: Vec::new(),
        message: "starting".to_owned(),
    });
    task.error_annotation.clone_from(&mv.annotation);
    let barrier = entry.iter().any(|step| step.kind == StepKind::ClearBarrier);
    task.entry_barrier = barrier.then(|| EntryBarrier { state: state.name.clone(), since: now });
    for mut step in entry {
        tx.steps_mut().insert(&mut step).await?;
    }
    if state.name == context.workflow.cancellation_state
        && !tx.dependencies().dependents(&task.id).await?.is_empty()
    {
        let mut step =
            StepRow::pending(&task.id, &state.name, StepKind::BlockDependents, Phase::OnEnter.as_str());
        step.transition_seq = Some(row.seq);
        tx.steps_mut().insert(&mut step).await?;
    }
    if state.plans() && !is_ordered(task) {
        begin_review(world, tx, task, &state, &row, mv.input.note.clone()).await?;
    }
    tx.tasks_mut().update(task, now).await?;
    let facts = json!({ "from": from, "to": row.to, "trigger": row.trigger, "actor": row.actor, "number": task.number });
    world.emit(tx, EventType::TaskStatusChanged, task, task.id.as_str(), &facts).await?;
    // What a person just did themselves is no news to them.
    let news = mv.audience != Audience::UserOnly
        && state.name != context.workflow.cancellation_state
        && !is_ordered(task)
        && !is_entry(task);
    if state.is_terminal() && news {
        let body = format!("{}.", state.display_name);
        super::notices::notify(
            world,
            tx,
            context,
            task,
            NotificationKind::Done,
            &body,
            &format!("done:{}", row.id),
        )
        .await?;
    }
    if state.kind == StateKind::Blocked {
        let kind = task.error_annotation.as_ref().map(|annotation| annotation.kind);
        world.emit(tx, EventType::TaskBlocked, task, task.id.as_str(), &json!({ "type": kind })).await?;
    } else if was_annotated && task.error_annotation.is_none() {
        world.emit(tx, EventType::TaskUnblocked, task, task.id.as_str(), &Value::Null).await?;
    }
    let moved = Moved { context, task, state: &state, row: &row, taken_over };
    for follow in &world.features().moments.on_moved {
        follow(world, tx, moved).await?;
    }
    Ok(row)
}

/// Whatever belonged to the state that is left: its open steps, its undecided review, its agent's place,
/// and what a person's move takes back.
async fn clear_what_ends_with_the_state(
    world: &World,
    tx: &mut Tx,
    context: &ProjectContext,
    task: &mut TaskRow,
    to: &State,
    mv: &Move,
) -> Result<()> {
    let now = world.now();
    skip_open(world, tx, task, &format!("the task left {}", task.status)).await?;
    // No restart of a run that failed follows any more.
    for leave in &world.features().moments.on_leave {
        leave(world, tx, task).await?;
    }
    tx.slots_mut().release(&task.id).await?;
    if let Some(mut review) = tx.reviews().last(&task.id).await?
        && matches!(review.status, ReviewStatus::Running | ReviewStatus::AwaitingHuman)
    {
        review.status = ReviewStatus::Cancelled;
        review.finished_at = Some(now);
        tx.reviews_mut().update(&review).await?;
    }
    let Actor::User { .. } = mv.actor else { return Ok(()) };
    // A person's hand on the work takes the earlier pass back; passing the gate themselves does not.
    let back_to_work =
        matches!(to.kind, StateKind::Initial | StateKind::Backlog | StateKind::Active) || is_reviewed(to);
    if back_to_work && !mv.keeps_pass {
        task.review_passed_at = None;
    }
    let from_kind = context.workflow.state(&task.status).map(|state| state.kind);
    // A merge that failed holds a task up like the blocked state does.
    let held_up = from_kind == Some(StateKind::Blocked) || task.error_annotation.is_some();
    let cleared = held_up && (to.kind == StateKind::Initial || mv.trigger == "claim");
    if cleared || from_kind == Some(StateKind::Terminal) {
        retry_budget::start_over(tx, task).await?;
    }
    Ok(())
}

async fn set_position(
    tx: &mut Tx,
    context: &ProjectContext,
    task: &mut TaskRow,
    to: &State,
    asked: Option<f64>,
) -> Result<()> {
    let column = |name: &str| context.workflow.state(name).map(|state| state.column.clone());
    if let Some(position) = asked {
        task.position = position;
    } else if column(&task.status).as_deref() != Some(to.column.as_str()) {
        let states = column_states(context, &to.column);
        task.position = tx.tasks().bottom(&task.project_id, &states).await?;
    }
    Ok(())
}

/// Begins the review of a plan, for the move into its gate. A review of work begins with the work's commit
/// (`review/capture.rs`).
pub(crate) async fn begin_review(
    world: &World,
    tx: &mut Tx,
    task: &TaskRow,
    state: &State,
    row: &TransitionRow,
    note: Option<String>,
) -> Result<()> {
    let review = new_review(world, tx, task, state, row, note).await?;
    tx.reviews_mut().insert(&review, row.seq).await?;
    world
        .emit(
            tx,
            EventType::ReviewStarted,
            task,
            review.id.as_str(),
            &json!({ "attempt_number": review.attempt_number }),
        )
        .await
}

/// A review that the move `row` begins; not stored yet.
pub(crate) async fn new_review(
    world: &World,
    tx: &mut Tx,
    task: &TaskRow,
    state: &State,
    row: &TransitionRow,
    note: Option<String>,
) -> Result<Review> {
    let attempt = tx.reviews().last(&task.id).await?.map_or(1, |last| last.attempt_number + 1);
    Ok(Review {
        id: world.new_id(),
        task_id: task.id.clone(),
        attempt_number: attempt,
        state: state.name.clone(),
        status: ReviewStatus::Running,
        verdict: None,
        steps: Vec::new(),
        audits: Vec::new(),
        report: None,
        score: None,
        findings: Vec::new(),
        work_execution_id: tx
            .executions()
            .last_of(&task.id, ExecutionRole::Coder)
            .await?
            .map(|last| last.execution.id),
        note,
        reason: None,
        decided_by: None,
        measures: None,
        base_commit: None,
        reviewed_commit: None,
        started_at: row.at,
        finished_at: None,
    })
}

/// Writes a cascade, or blocks the task when there have been too many in a row.
pub(crate) async fn cascade(
    world: &World,
    tx: &mut Tx,
    context: &ProjectContext,
    task: &mut TaskRow,
    mv: Move,
) -> Result<TransitionRow> {
    if context.workflow.state(&mv.to).is_none() {
        // The definition was changed while a step of the old one was pending.
        let message = format!("the workflow no longer has the state `{}`", mv.to);
        let trouble = BlockReason::new(AnnotationType::RecoveryRequired, message);
        return block(world, tx, context, task, trouble, Cause::Workflow).await;
    }
    if mv.depth <= MAX_CASCADES {
        return apply(world, tx, context, task, mv).await;
    }
    let message = format!(
        "the move to {} would be cascade {} in a row; at most {MAX_CASCADES} are allowed",
        mv.to, mv.depth
    );
    let trouble = BlockReason::new(AnnotationType::CascadeLimit, message);
    block(world, tx, context, task, trouble, Cause::Workflow).await
}

/// Writes the move to the blocked state with the reason for it.
pub(crate) async fn block(
    world: &World,
    tx: &mut Tx,
    context: &ProjectContext,
    task: &mut TaskRow,
    trouble: BlockReason,
    cause: Cause,
) -> Result<TransitionRow> {
    let to = context
        .workflow
        .blocked()
        .ok_or_else(|| EngineError::not_found("state", "of kind blocked"))?
        .name
        .clone();
    let mut mv = Move::by(&to, "block", Actor::System { cause });
    mv.reason = Some(trouble.message.clone());
    mv.annotation = Some(trouble.annotation(&task.status, world.now()));
    apply(world, tx, context, task, mv).await
}

/// Whether a move closes a task by a person's hand, past the merge.
fn closes_by_hand(context: &ProjectContext, task: &TaskRow, to: &State, mv: &Move) -> bool {
    to.is_terminal()
        && mv.actor.is_user()
        && mv.trigger != "accept"
        && !is_ordered(task)
        && !is_entry(task)
        && (task.unmerged_commits > 0 || to.name != context.workflow.cancellation_state)
}

/// Whether entering a state begins a review: a gate that somebody or something decides, not the merge.
pub(crate) fn is_reviewed(state: &State) -> bool {
    state.kind == StateKind::Gate && !state.has_action(Action::RunMerge)
}

/// The states shown in a column.
pub(crate) fn column_states(context: &ProjectContext, column: &str) -> Vec<String> {
    context
        .workflow
        .states
        .iter()
        .filter(|state| state.column == column)
        .map(|state| state.name.clone())
        .collect()
}
