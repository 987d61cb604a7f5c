//! The actions that are offered for a task, such as retry, send back or approve, and messages to its agent. Only an
//! action that is offered is performed.

use forge_model::actor::Actor;
use forge_model::correction::Correction;
use forge_model::event::EventType;
use forge_model::ids::{AttachmentId, ExecutionId, TaskId};
use forge_model::offer::Verb;
use forge_model::task::{AnnotationType, HolderKind};
use forge_model::workflow::StateKind;
use forge_prompt::message::said;
use forge_store::Tx;
use forge_store::table::tasks::TaskRow;
use serde_json::Value;

use crate::{
    ConflictCode, EngineError, World,
    core::{
        self,
        block_reason::BlockReason,
        context::ProjectContext,
        lineage::audits,
        moves::{EntryInput, Move},
        prerequisites::open_prerequisites,
        retry_budget,
        transition::is_reviewed,
        worktree_lock::IfLocked,
        world::{
            cx::Cx,
            features::{Asked, require_idle},
        },
    },
    error::Result,
    hook::{self, SkippedOnce},
    read::view::offers_of,
    retry::{back_to_work, retry},
    review::{self, supersede_review},
    run::{self, there::SaidNow},
    subtask, task, terminal, workspace,
};

/// Something to say to a task's agent.
#[derive(Debug, Clone, Default)]
pub struct SayRequest {
    /// The words; may be empty when something else is sent.
    pub message: String,
    /// Whether the task's draft comments go along.
    pub with_comments: bool,
    /// Files that go along, which wait with the task.
    pub attachments: Vec<AttachmentId>,
    /// What becomes of it when somebody else changes the worktree now.
    pub if_locked: IfLocked,
    /// Whether it is said to the running agent at once, where its program can be told.
    pub at_once: bool,
}

/// An offer that a person takes.
#[derive(Debug, Clone)]
pub struct ActionRequest {
    /// Which.
    pub verb: Verb,
    /// The version that the person saw.
    pub version: Option<u32>,
    /// Why, for those that ask.
    pub reason: Option<String>,
    /// What to tell the agent, for those that ask.
    pub message: Option<String>,
    /// Which entry of the race, for those that ask.
    pub entry: Option<String>,
    /// With an approval: the commit that the person saw.
    pub commit: Option<String>,
    /// Where the task is closed or loses its worktree: whether programs that run in its terminals may end.
    pub end_terminals: bool,
}

/// Does what is offered.
pub(crate) async fn act_on(world: &World, actor: Actor, id: &TaskId, request: ActionRequest) -> Result<()> {
    let text = require_offered(world, id, &request).await?;
    match request.verb {
        Verb::Hold => return task::moves::set_held(world, id, request.version, true).await,
        Verb::Release => return task::moves::set_held(world, id, request.version, false).await,
        Verb::ResetWorkspace => {
            let reset = task::reset::reset_workspace(world, actor, id, request.end_terminals);
            return reset.await.map(drop);
        }
        Verb::AcceptRepository | Verb::UndoRepository => {
            return task::repositories::answer_repository_change_of(world, actor, id, request.verb).await;
        }
        Verb::GiveUpMachine => return task::machine::give_up_machine(world, id).await,
        Verb::TrustFiles => return task::trusting::trust_files_of(world, actor, id).await,
        Verb::AddEmbedded | Verb::IgnoreEmbedded => {
            return task::repositories::resolve_embedded(world, actor, id, request.verb).await;
        }
        _ => {}
    }
    let closes = actor.is_user() && request.verb == Verb::Cancel;
    // A restart removes the worktree.
    let ends = closes || (actor.is_user() && request.verb == Verb::Restart);
    let ended = if ends { std::slice::from_ref(id) } else { &[] };
    require_idle(world, ended, request.end_terminals).await?;
    let notes = match request.verb {
        Verb::SendBack | Verb::ResumeSession => review::comments::notes(world, id, Vec::new()).await?,
        _ => Vec::new(),
    };
    core::location::require_machine_of(world, id).await?;
    let _hold = core::workers::hold(world, id).await;
    // Whoever held the task before may have taken the same offer.
    require_offered(world, id, &ActionRequest { version: None, ..request.clone() }).await?;
    require_idle(world, ended, request.end_terminals).await?;
    let turn = {
        let (task, _) = core::load::load(world, &mut *world.store().read().await?, id, None).await?;
        subtask::stop_turn_of(world, &task).await?
    };
    run::running::stop_run(world, id).await;
    prepare_action(world, id, &request, &actor).await?;
    let mut tx = world.store().write().await?;
    let (mut task, context) = core::load::load(world, &mut tx, id, None).await?;
    let annotation = task.error_annotation.clone();
    match request.verb {
        Verb::Retry if annotation.is_none() => stop_waiting(world, &mut tx, &context, &mut task).await?,
        Verb::Cancel => {
            let mv = Move { reason: text, ..Move::by(&context.workflow.cancellation_state, "cancel", actor) };
            core::transition::apply(world, &mut tx, &context, &mut task, mv).await?;
        }
        Verb::Restart | Verb::RestartWithChanges => {
            if request.verb == Verb::Restart {
                task::reset::forget_work(world, &mut tx, &context, &mut task).await?;
            }
            start_over(world, &mut tx, &context, &mut task, actor, request.verb).await?;
        }
        Verb::ReviewAgain => review_again(world, &mut tx, &context, &mut task, actor).await?,
        Verb::RestoreBranch => {
            retry(world, &mut tx, &context, &mut task, actor, annotation, None).await?;
        }
        Verb::Approve | Verb::MergeReviewed => {
            approve_blocked(world, &mut tx, &context, &mut task, actor, text).await?;
        }
        Verb::ResetBudget => {
            retry_budget::reset(&mut tx, &mut task).await?;
            retry(world, &mut tx, &context, &mut task, actor, annotation, None).await?;
        }
        Verb::Retry => retry(world, &mut tx, &context, &mut task, actor, annotation, None).await?,
        Verb::ResumeSession | Verb::SendBack => {
            let comments = review::comments::send_drafts(world, &mut tx, &task, notes).await?;
            let words = text.clone().unwrap_or_default();
            let correction = match request.verb {
                Verb::SendBack => Correction::Rejected { reason: words, comments },
                _ => Correction::Message { text: words, comments, files: Vec::new() },
            };
            back_to_work(world, &mut tx, &context, &mut task, actor, request.verb, correction, text).await?;
        }
        Verb::Crown => {
            let asked = Asked { verb: request.verb, actor: &actor, text: text.as_deref() };
            act_in_features(world, &mut tx, &mut task, asked).await?;
            // One that waits for the crown goes on by itself.
            if annotation.is_some() {
                retry(world, &mut tx, &context, &mut task, actor, annotation, None).await?;
            }
        }
        Verb::RaceAgain | Verb::SingleAgent => {
            let asked = Asked { verb: request.verb, actor: &actor, text: None };
            act_in_features(world, &mut tx, &mut task, asked).await?;
            retry(world, &mut tx, &context, &mut task, actor, annotation, None).await?;
        }
        Verb::RetryHook => {
            hook::command::go_on_behind_barrier(world, &mut tx, &context, &mut task, None).await?;
        }
        Verb::SkipHookOnce => {
            let reason = text.unwrap_or_default();
            let skipped = SkippedOnce { actor, at: world.now(), reason };
            hook::command::go_on_behind_barrier(world, &mut tx, &context, &mut task, Some(skipped)).await?;
        }
        Verb::Hold
        | Verb::Release
        | Verb::ResetWorkspace
        | Verb::GiveUpMachine
        | Verb::AcceptRepository
        | Verb::UndoRepository
        | Verb::TrustFiles
        | Verb::AddEmbedded
        | Verb::IgnoreEmbedded => {}
    }
    if let Some(turn) = &turn {
        subtask::go_on_after(&mut tx, turn).await?;
    }
    for tell in &world.features().moments.on_acted {
        tell(&mut Cx::of(world, &mut tx), &task).await?;
    }
    tx.commit().await?;
    if closes {
        terminal::closing::end_all(world, id).await;
    }
    world.point("action.committed");
    core::scheduler::wake_waiting(world);
    Ok(())
}

async fn act_in_features(world: &World, tx: &mut Tx, task: &mut TaskRow, asked: Asked<'_>) -> Result<()> {
    for act in &world.features().moments.on_action {
        act(&mut Cx::of(world, tx), task, asked).await?;
    }
    Ok(())
}

/// Ends an agent's run. The task stays where it is and says so; nothing is started by itself.
pub(crate) async fn stop_execution(world: &World, id: &ExecutionId) -> Result<TaskId> {
    let row = {
        let mut conn = world.store().read().await?;
        conn.executions().get(id).await?.ok_or_else(|| EngineError::not_found("execution", id))?
    };
    let task_id = row.execution.task_id.clone();
    if row.execution.status.is_over() {
        return Err(EngineError::conflict(ConflictCode::NothingRunning, "the run has ended"));
    }
    core::location::require_machine_of(world, &task_id).await?;
    let _hold = core::workers::hold(world, &task_id).await;
    run::running::stop_run(world, &task_id).await;
    let mut tx = world.store().write().await?;
    let (mut task, context) = core::load::load(world, &mut tx, &task_id, None).await?;
    if let Some(last) = tx.transitions().last(&task_id).await? {
        hook::queue_work_stop(&mut tx, &context, &task, &last).await?;
    }
    // What follows a stopped auditor is queued with its end: the review waits for the person.
    if task.error_annotation.is_none() && !audits(row.execution.role) {
        let mut trouble = BlockReason::new(AnnotationType::ExecutorFailed, "You stopped the agent.");
        trouble.execution = Some(id.clone());
        task.error_annotation = Some(trouble.annotation(&task.status, world.now()));
        tx.tasks_mut().update(&mut task, world.now()).await?;
        world.emit(&mut tx, EventType::TaskUpdated, &task, id.as_str(), &Value::Null).await?;
    }
    tx.commit().await?;
    Ok(task_id)
}

/// Says something to a task's agent: another run with the message, in the same worktree. While the agent
/// runs it waits for the end of that run, or is refused, as asked; `at_once` says it to the running agent, where
/// its program can be told.
pub(crate) async fn follow_up(
    world: &World,
    actor: Actor,
    id: &ExecutionId,
    request: SayRequest,
) -> Result<TaskId> {
    let message = request.message.trim().to_owned();
    let task_id = {
        let mut conn = world.store().read().await?;
        let row = conn.executions().get(id).await?;
        let row = row.ok_or_else(|| EngineError::not_found("execution", id))?;
        core::lineage::task_of_work(&mut conn, &row.execution.task_id).await?
    };
    core::worktree_lock::refuse_locked(world, &task_id, request.if_locked).await?;
    let notes = if request.with_comments {
        review::comments::notes(world, &task_id, Vec::new()).await?
    } else {
        Vec::new()
    };
    if message.is_empty() && notes.is_empty() && request.attachments.is_empty() {
        return Err(EngineError::invalid("message", "must not be empty, because nothing else is sent"));
    }
    let _hold = core::workers::hold(world, &task_id).await;
    let running = run::running::is_running(world, &task_id);
    let mut tx = world.store().write().await?;
    let (mut task, context) = core::load::load_own(world, &mut tx, &task_id, None).await?;
    require_agent_to_tell(&mut tx, &context, &task).await?;
    let comments = review::comments::send_drafts(world, &mut tx, &task, notes).await?;
    let files = run::attachments::send_files(world, &mut tx, &task, &request.attachments).await?;
    let correction = Correction::Message { text: message.clone(), comments, files };
    if running {
        let step = run::follow_up::queue_follow_up(world, &mut tx, &task, correction.clone()).await?;
        let workspace = tx.workspaces().last(&task_id).await?;
        tx.commit().await?;
        if request.at_once
            && let Correction::Message { text, comments, files } = correction
        {
            let text = said(&text, &comments, &files);
            let say = SaidNow { id: step.to_string(), text, files };
            // Not told: it goes to the agent once its run is over.
            run::there::say_now(world, &task, id, workspace, say);
        }
        return Ok(task_id);
    }
    back_to_work(world, &mut tx, &context, &mut task, actor, Verb::ResumeSession, correction, Some(message))
        .await?;
    tx.commit().await?;
    Ok(task_id)
}

/// What an offer needs of git before it is taken, while nothing else runs for the task.
async fn prepare_action(world: &World, id: &TaskId, request: &ActionRequest, actor: &Actor) -> Result<()> {
    let (task, context, review) = {
        let mut conn = world.store().read().await?;
        let (task, context) = core::load::load(world, &mut conn, id, None).await?;
        (task, context, conn.reviews().last(id).await?)
    };
    match (request.verb, review) {
        (Verb::Approve, Some(review)) => {
            review::require_reviewed_work(world, &context, &task, &review, request.commit.as_deref()).await
        }
        (Verb::MergeReviewed, Some(_)) => {
            core::guards::ask_guards(world, &context, &task, actor.audience()).await?;
            review::capture::keep_the_rest(world, &context, &task).await
        }
        (Verb::RestoreBranch, _) => review::restore_branch(world, &task, &context).await,
        (Verb::Restart, _) => {
            let repo = core::repository::repo(world, &context).await?;
            task::reset::set_work_aside(world, &repo, &context, &task).await
        }
        (Verb::Cancel, _) => {
            workspace::unmerged::count_unmerged(world, id).await;
            Ok(())
        }
        _ => Ok(()),
    }
}

/// Reviews the work as it is now, as a new attempt at the gate. Checks that passed on the same files are not run
/// again.
async fn review_again(
    world: &World,
    tx: &mut Tx,
    context: &ProjectContext,
    task: &mut TaskRow,
    actor: Actor,
) -> Result<()> {
    let last = tx.reviews().last(&task.id).await?;
    let gate = last.as_ref().and_then(|review| context.workflow.state(&review.state));
    let gate = gate.filter(|state| is_reviewed(state)).or_else(|| context.workflow.review_gate());
    let gate = gate.ok_or_else(|| EngineError::not_found("state", "of kind gate"))?.name.clone();
    let input = EntryInput {
        cause: Some("reviewed again by hand".to_owned()),
        reuse_passes: true,
        ..EntryInput::default()
    };
    task.review_passed_at = None;
    if gate == task.status {
        supersede_review(tx, &task.id, world.now()).await?;
        task.work_changed = None;
        let last = tx
            .transitions()
            .last(&task.id)
            .await?
            .ok_or_else(|| EngineError::not_found("transition of task", &task.id))?;
        return core::entry::insert_entry(world, tx, context, task, &last, input).await;
    }
    let mut mv = Move::by(&gate, Verb::ReviewAgain.as_str(), actor);
    mv.input = input;
    core::transition::apply(world, tx, context, task, mv).await.map(drop)
}

/// Refuses what is not offered and what lacks a field; gives the text that came with it.
async fn require_offered(world: &World, id: &TaskId, request: &ActionRequest) -> Result<Option<String>> {
    let mut conn = world.store().read().await?;
    let (task, context) = core::load::load_own(world, &mut conn, id, request.version).await?;
    let mut held = conn.roles().of_tasks(std::slice::from_ref(id)).await?;
    let offers = offers_of(&context, &task, &held.remove(id).unwrap_or_default());
    let Some(offer) = offers.iter().find(|offer| offer.verb == request.verb) else {
        return Err(EngineError::NotOffered { verb: request.verb.to_string(), offers });
    };
    let text = request
        .reason
        .clone()
        .or_else(|| request.message.clone())
        .or_else(|| request.entry.clone())
        .map(|text| text.trim().to_owned());
    let text = text.filter(|text| !text.is_empty());
    match offer.fields.first() {
        Some(field) if text.is_none() => {
            Err(EngineError::invalid(field, format!("{} needs it", offer.label)))
        }
        _ => Ok(text),
    }
}

async fn start_over(
    world: &World,
    tx: &mut Tx,
    context: &ProjectContext,
    task: &mut TaskRow,
    actor: Actor,
    verb: Verb,
) -> Result<()> {
    let initial = context
        .workflow
        .initial()
        .ok_or_else(|| EngineError::not_found("state", "of kind initial"))?
        .name
        .clone();
    if task.error_annotation.as_ref().is_some_and(|a| a.kind == AnnotationType::DependencyCancelled) {
        // They know that it was cancelled and want to start all the same.
        for open in open_prerequisites(tx, context, &task.id).await? {
            if context.is_cancelled(&open) {
                tx.dependencies_mut().delete(&task.id, &open.id).await?;
            }
        }
    }
    task.review_passed_at = None;
    retry_budget::start_over(tx, task).await?;
    core::transition::apply(world, tx, context, task, Move::by(&initial, verb.as_str(), actor))
        .await
        .map(drop)
}

/// Asks an agent's provider at once instead of waiting.
async fn stop_waiting(
    world: &World,
    tx: &mut Tx,
    context: &ProjectContext,
    task: &mut TaskRow,
) -> Result<()> {
    let agent = match core::admission::agent_for(tx, context, task).await? {
        Some(agent) => Some(agent.id),
        None => {
            let role = context.work_role().unwrap_or_default();
            tx.roles().holder(&task.id, role).await?.and_then(|holder| holder.id)
        }
    };
    if let Some(agent) = agent {
        tx.limits_mut().clear(&agent).await?;
    }
    task.waiting = None;
    tx.tasks_mut().update(task, world.now()).await?;
    world.emit(tx, EventType::TaskUpdated, task, task.id.as_str(), &Value::Null).await
}

async fn approve_blocked(
    world: &World,
    tx: &mut Tx,
    context: &ProjectContext,
    task: &mut TaskRow,
    actor: Actor,
    reason: Option<String>,
) -> Result<()> {
    let review = tx.reviews().last(&task.id).await?;
    let review = review
        .ok_or_else(|| EngineError::conflict(ConflictCode::NotAwaiting, "the task was never reviewed"))?;
    review::command::approve(world, tx, context, task, review, actor, reason).await
}

/// Refuses a task whose work no agent holds, or that is closed.
async fn require_agent_to_tell(tx: &mut Tx, context: &ProjectContext, task: &TaskRow) -> Result<()> {
    let holder = tx.roles().holder(&task.id, context.work_role().unwrap_or_default()).await?;
    let has_agent = holder.is_some_and(|holder| holder.kind == HolderKind::Agent);
    let terminal =
        context.workflow.state(&task.status).is_some_and(|state| state.kind == StateKind::Terminal);
    if has_agent && !terminal {
        return Ok(());
    }
    Err(EngineError::conflict(ConflictCode::NothingToContinue, "no agent is working on this task"))
}
