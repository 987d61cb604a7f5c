//! Drafting a fix: an agent is asked once, and its answer is read, checked and recorded.

use std::{collections::HashMap, sync::Mutex};

use forge_agents::{LogReader, marker_of};
use forge_git::{GitError, Way};
use forge_model::agent::Agent;
use forge_model::event::EventType;
use forge_model::execution::{Execution, ExecutionStatus};
use forge_model::fix::{DraftStatus, FixAuthor, FixDraft, FixProposal, FixStatus};
use forge_model::ids::ReviewId;
use forge_model::log::EntryKind;
use forge_model::postmortem::PostmortemCause;
use forge_prompt::fix::SHOWN_BYTES;
use forge_reading::patch::{MAX_ANSWER_BYTES, Patch, PatchRefusal, read_patch};
use forge_store::table::tasks::TaskRow;
use serde_json::json;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::{
    EngineError, World,
    core::{
        self,
        context::{ProjectContext, is_closed},
        sync::locked,
        world::cx::Cx,
    },
    error::Result,
    fix::{
        drafter,
        proposal::{FORGE, Undrafted, export_fixes, output_of},
        superseded::supersede_all,
    },
    guarded,
    run::memo::KeptLaunch,
};

/// How far an earlier engine came with a draft.
pub(crate) enum Progress {
    /// Nobody was asked.
    Unasked,
    /// The agent is at work.
    Asked(Box<Execution>, Box<KeptLaunch>),
    /// The agent has answered.
    Answered(Box<Execution>),
}

/// Drafts that this engine is at, by the review. Whoever waits for one waits until its sender is gone.
#[derive(Debug, Default)]
struct AtWork(Mutex<HashMap<ReviewId, watch::Receiver<()>>>);

/// Has a fix drafted, judges it, and writes down what came of it. Nothing when nothing did, or when Forge ends.
pub(crate) async fn draft_fix(
    world: &World,
    draft: FixDraft,
    progress: Progress,
    cancel: &CancellationToken,
) -> Result<Option<FixProposal>> {
    let (ends, over) = watch::channel(());
    let review = draft.review_id.clone();
    locked(&world.part::<AtWork>().0).insert(review.clone(), over);
    let drafted = tokio::select! {
        biased;
        // Dropped, the agent goes on with its keeper.
        () = world.inner.leave.cancelled() => Ok(None),
        drafted = draft_and_record(world, draft, progress, cancel) => drafted,
    };
    locked(&world.part::<AtWork>().0).remove(&review);
    drop(ends);
    drafted
}

/// The proposal for a review whose draft was begun before, once that is over; none when nothing came of it, or when
/// cancelled first.
pub(crate) async fn drafted_before(
    world: &World,
    review: &ReviewId,
    cancel: &CancellationToken,
) -> Result<Option<FixProposal>> {
    let at_work = locked(&world.part::<AtWork>().0).get(review).cloned();
    if let Some(mut over) = at_work {
        tokio::select! {
            () = cancel.cancelled() => return Ok(None),
            () = async { while over.changed().await.is_ok() {} } => {}
        }
    }
    let mut conn = world.store().read().await?;
    let Some(draft) = conn.fixes().draft_of(review).await? else { return Ok(None) };
    let Some(fix_id) = draft.fix_id.filter(|_| draft.status == DraftStatus::Drafted) else { return Ok(None) };
    let fix = conn.fixes().get(&draft.task_id, &fix_id).await?;
    Ok(fix.filter(|fix| fix.status == FixStatus::Drafted))
}

async fn draft_and_record(
    world: &World,
    mut draft: FixDraft,
    progress: Progress,
    cancel: &CancellationToken,
) -> Result<Option<FixProposal>> {
    let tried = guarded(async {
        let drafted = Box::pin(try_draft(world, &mut draft, progress, cancel)).await;
        if world.inner.shutdown.is_cancelled() && drafted.is_err() {
            return None;
        }
        world.point("fix.drafted");
        Some(drafted.map_err(|why| why.to_string()))
    });
    let drafted = match tried.await {
        Ok(Some(drafted)) => drafted,
        Ok(None) => return Ok(None),
        Err(panic) => {
            drafter::end_draft(world, &draft).await;
            Err(panic.to_string())
        }
    };
    core::disk::with_patience(world, || record_draft(world, draft.clone(), drafted.clone())).await
}

/// Writes what came of a draft: a proposal, or why there is none.
async fn record_draft(
    world: &World,
    mut draft: FixDraft,
    drafted: std::result::Result<FixProposal, String>,
) -> Result<Option<FixProposal>> {
    let mut tx = world.store().write().await?;
    let Some(task) = tx.tasks().get(&draft.task_id).await? else { return Ok(None) };
    let context = core::contexts::context_of(world, &mut tx, &task).await?;
    let mut proposal = None;
    draft.finished_at = Some(world.now());
    match drafted {
        Ok(fix) if tx.fixes_mut().insert(&fix).await? => {
            draft.status = DraftStatus::Drafted;
            draft.fix_id = Some(fix.fix_id.clone());
            proposal = Some(fix);
        }
        Ok(fix) => {
            draft.status = DraftStatus::Dropped;
            draft.fix_id = Some(fix.fix_id);
            draft.reason = Some("the same patch was proposed before".to_owned());
        }
        Err(why) => {
            lose_drafter(&mut Cx::of(world, &mut tx), &draft).await?;
            draft.status = DraftStatus::Dropped;
            draft.reason = Some(why);
        }
    }
    tx.fixes_mut().update_draft(&draft).await?;
    if is_closed(&context, &task) {
        supersede_all(&mut Cx::of(world, &mut tx), &task, "the task is closed").await?;
    }
    if draft.status == DraftStatus::Dropped {
        let (cause, review) = (PostmortemCause::GateFailed, Some(&draft.review_id));
        core::world::features::given_up(world, &mut tx, &task, cause, review).await?;
    }
    let facts = json!({ "review_id": draft.review_id, "status": draft.status, "fix_id": draft.fix_id });
    world.emit(&mut tx, EventType::FixDrafted, &task, draft.review_id.as_str(), &facts).await?;
    tx.commit().await?;
    if proposal.is_some() {
        export_fixes(world, &context, proposal.as_ref()).await;
    }
    world.made_progress();
    Ok(proposal)
}

async fn try_draft(
    world: &World,
    draft: &mut FixDraft,
    progress: Progress,
    cancel: &CancellationToken,
) -> std::result::Result<FixProposal, Undrafted> {
    let (task, context, agent) = {
        let mut conn = world.store().read().await?;
        let (task, context) = core::load::load(world, &mut conn, &draft.task_id, None).await?;
        let agent = conn.agents().get(&draft.agent_id).await?;
        let agent = agent.ok_or_else(|| EngineError::not_found("agent", &draft.agent_id))?;
        (task, context, agent)
    };
    let of = (&task, &*context, &agent);
    let execution = match progress {
        Progress::Unasked => ask(world, of, draft, cancel).await?,
        Progress::Asked(execution, kept) => {
            drafter::go_on(world, of, draft, (*execution, kept), cancel).await?
        }
        Progress::Answered(execution) => *execution,
    };
    if execution.status != ExecutionStatus::Finished {
        let why = execution.error.map_or_else(|| "stopped".to_owned(), |error| error.message);
        return Err(Undrafted::NoAnswer { agent: agent.name, why });
    }
    judge(world, (&task, &context, agent), draft, execution).await
}

/// Asks the drafter for a patch of the file.
async fn ask(
    world: &World,
    (task, context, agent): (&TaskRow, &ProjectContext, &Agent),
    draft: &mut FixDraft,
    cancel: &CancellationToken,
) -> std::result::Result<Execution, Undrafted> {
    // In a race that is the entry, which has the check's log.
    let judged = world.store().read().await?.reviews().task_of(&draft.review_id).await?;
    let judged = judged.unwrap_or_else(|| task.id.clone());
    let repo = core::repository::repo(world, context).await?;
    let limit = u64::try_from(SHOWN_BYTES).unwrap_or(u64::MAX);
    let content = match repo.file_at(&draft.base_commit, &draft.file, limit).await {
        Err(GitError::TooLarge { size, .. }) => {
            return Err(Undrafted::TooLarge { file: draft.file.clone(), size, limit });
        }
        other => other?,
    };
    let Some(content) = content.and_then(|content| String::from_utf8(content).ok()) else {
        return Err(Undrafted::NoText { file: draft.file.clone() });
    };
    let log_id = format!("check-{}-{}", draft.review_id, draft.gate.step);
    let output = output_of(world, &task.project_id, &judged, &log_id).await?;
    let asked = forge_prompt::fix::FixPrompt {
        title: &task.title,
        gate: &draft.gate,
        output: &output,
        path: &draft.file,
        content: &content,
        max_lines: context.settings.inner_loop.auto_fix.max_changed_lines,
    };
    let prompt = forge_prompt::fix::fix_prompt(&asked);
    drafter::run_drafter(world, (task, context, agent), draft, &prompt, cancel).await
}

/// Reads and checks what the drafter answered.
async fn judge(
    world: &World,
    (task, context, agent): (&TaskRow, &ProjectContext, Agent),
    draft: &FixDraft,
    execution: Execution,
) -> std::result::Result<FixProposal, Undrafted> {
    let max_lines = context.settings.inner_loop.auto_fix.max_changed_lines;
    let repo = core::repository::repo(world, context).await?;
    let answer = read_answer(world, task, &execution.log_id, &draft.file, max_lines).await?;
    let patch = answer.map_err(Undrafted::NoPatch)?;
    let applied = (patch.text.as_str(), Way::Forward);
    match repo.patched(&draft.base_commit, &draft.file, applied, "a drafted fix", FORGE).await {
        Ok(_) => {}
        Err(GitError::PatchRefused { reason }) => {
            return Err(Undrafted::DoesNotApply { reason });
        }
        Err(error) => return Err(error.into()),
    }
    let tree = repo.tree_of(&draft.base_commit).await?;
    let fix_id = repo.name_of(&format!("{tree}\n{}", patch.text)).await?;
    let model = execution.models.iter().map(|sample| sample.model.clone()).find(|name| !name.is_empty());
    let now = world.now();
    Ok(FixProposal {
        fix_id,
        task_id: task.id.clone(),
        execution_id: execution.id,
        review_id: draft.review_id.clone(),
        base_commit: draft.base_commit.clone(),
        strategy: draft.strategy.clone(),
        files: vec![patch.path],
        added_lines: patch.added,
        removed_lines: patch.removed,
        gate: draft.gate.clone(),
        author: FixAuthor { agent: agent.id, model: model.or(agent.model) },
        cost_micro_usd: execution.cost_micro_usd,
        status: FixStatus::Drafted,
        created_at: now,
        applied_commit: None,
        verification: None,
        reason: None,
        decided_by: None,
        wanted_by: None,
        updated_at: now,
        patch: patch.text,
    })
}

/// The patch in what a drafter said: in the last of its texts that holds one.
async fn read_answer(
    world: &World,
    task: &TaskRow,
    log_id: &str,
    file: &str,
    max_lines: u32,
) -> Result<std::result::Result<Patch, PatchRefusal>> {
    let (dir, log_id) = (world.log_dir(&task.project_id, &task.id), log_id.to_owned());
    let read = tokio::task::spawn_blocking(move || {
        let (mut texts, mut bytes) = (Vec::new(), 0);
        LogReader::each(&dir, &log_id, |entry| {
            let text = entry.body.get("text").and_then(|text| text.as_str()).unwrap_or_default();
            if entry.kind == EntryKind::AssistantText && bytes + text.len() <= MAX_ANSWER_BYTES {
                bytes += text.len();
                texts.push(text.to_owned());
            }
        })?;
        Ok::<_, forge_agents::LogError>(texts)
    });
    let texts = read.await.map_err(|error| EngineError::io("read a log")(std::io::Error::other(error)))??;
    let mut answers = texts.iter().rev().map(|text| read_patch(text, file, max_lines));
    let found = answers.find(|read| !matches!(read, Err(PatchRefusal::NoPatch)));
    // What was said in pieces is one answer.
    Ok(found.unwrap_or_else(|| read_patch(&texts.concat(), file, max_lines)))
}

/// Ends the run of a draft, if it is still open: what it did is lost.
pub(crate) async fn lose_drafter(cx: &mut Cx<'_>, draft: &FixDraft) -> Result<()> {
    let Some(id) = &draft.execution_id else { return Ok(()) };
    let open = cx.tx.executions().get(id).await?.filter(|row| !row.execution.status.is_over());
    let Some(mut execution) = open.map(|row| row.execution) else { return Ok(()) };
    execution.status = ExecutionStatus::Lost;
    execution.finished_at = Some(cx.now);
    cx.tx.executions_mut().update(&execution).await?;
    cx.tx.processes_mut().delete(&marker_of(execution.id.as_str()).0).await?;
    Ok(())
}
