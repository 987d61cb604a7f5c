//! Drafted fixes: what is drafted, the record of it, and its export under `.forge/`.
//!
//! A draft is made beside the task: it holds nobody up, takes no place of an agent, and sees a copy of one file of the
//! commit that was judged. It is written down in the transaction that ends the failed check, at most once per review;
//! one that Forge's end cuts short is dropped. What git makes of the patch is known before it is proposed.

pub(crate) mod command;
pub(crate) mod draft;
pub(crate) mod drafter;
pub(crate) mod of_races;
pub(crate) mod step;
pub(crate) mod superseded;

use std::{collections::BTreeSet, path::Path};

use forge_agents::{LogReader, adapter};
use forge_model::agent::Agent;
use forge_model::diagnostic::{changed_file, diagnostics};
use forge_model::event::EventType;
use forge_model::fix::{
    DraftStatus, FixDraft, FixGate, FixProposal, FixStatus, MAX_FAILURE_IDS, PatchRefusal,
};
use forge_model::ids::{ProjectId, TaskId};
use forge_model::log::EntryKind;
use forge_model::review::{Review, ReviewStatus, ReviewStep};
use forge_model::workspace::{Workspace, WorkspaceStatus};
use forge_store::Tx;
use forge_store::table::{agents, fixes, reviews, roles, tasks, tasks::TaskRow, workspaces};
use serde_json::json;

use crate::{
    Engine, EngineError,
    core::{self, context::ProjectContext, lineage::is_entry, step::Stepping},
    error::Result,
    export,
    fix::{
        draft::{draft_fix, lose_drafter},
        superseded::supersede_fixes,
    },
    review::checks::changed_since_target,
};

/// The most of a failing command's output that is read, in bytes of each stream.
const OUTPUT_BYTES: usize = 256 * 1024;
/// Who commits a fix.
pub(crate) const FORGE: (&str, &str) = ("Forge", "forge@localhost");
/// Why a fix does not apply whose task began anew.
pub(crate) const SET_ASIDE: &str = "the work that it was drafted on was set aside";
/// Where the export keeps the patches.
const PATCHES: &str = "proposed-fixes";
/// The export's list.
const PROPOSALS: &str = "fix-proposals.json";

/// Why nothing came of a draft.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Undrafted {
    #[error("{agent} has reached its provider's limit")]
    ProviderLimit { agent: String },
    #[error("a limit of cost is reached")]
    CostLimit,
    #[error("{file} has {size} bytes, {limit} can be shown to an agent")]
    TooLarge { file: String, size: u64, limit: u64 },
    #[error("{file} is no text that can be shown to an agent")]
    NoText { file: String },
    #[error("{agent} did not answer: {why}")]
    NoAnswer { agent: String, why: String },
    #[error(transparent)]
    NoPatch(PatchRefusal),
    #[error("the patch does not apply: {reason}")]
    DoesNotApply { reason: String },
    #[error(transparent)]
    Engine(EngineError),
}

impl<E: Into<EngineError>> From<E> for Undrafted {
    fn from(error: E) -> Self {
        Self::Engine(error.into())
    }
}

/// What is to be drafted after a failed check; nothing when it is no case for a small local patch.
pub(crate) async fn plan_draft(
    engine: &Engine,
    s: &Stepping,
    review: &Review,
    workspace: &Workspace,
    check: &ReviewStep,
) -> Option<FixDraft> {
    // An entry's is drafted when nobody won its race.
    if is_entry(&s.task) {
        return None;
    }
    // A check that fails must go on to fail, whatever becomes of a proposal.
    look_for_draft(engine, (&s.context, &s.task), review, workspace, check).await.unwrap_or_else(|error| {
        tracing::warn!(task = %s.task.id, %error, "failed to see whether a fix can be drafted");
        None
    })
}

/// What is to be drafted for the work of a task, which may be an entry of a race.
pub(crate) async fn look_for_draft(
    engine: &Engine,
    (context, task): (&ProjectContext, &TaskRow),
    review: &Review,
    workspace: &Workspace,
    check: &ReviewStep,
) -> Result<Option<FixDraft>> {
    let config = &context.settings.inner_loop.auto_fix;
    // What `validate` found is no one command that could be run again.
    let failed = check.finished
        && !check.timed_out
        && check.validate.is_none()
        && check.exit_code.is_some_and(|code| code != 0);
    if !config.enabled || !failed {
        return Ok(None);
    }
    let Some(base) = review.reviewed_commit.clone() else { return Ok(None) };
    let Some(agent) = drafter(engine, context, task).await? else { return Ok(None) };
    let output = output_of(engine, &task.project_id, &task.id, &check.log_id).await?;
    let root = tokio::fs::canonicalize(&workspace.path).await;
    let root = root.map_or_else(|_| workspace.path.clone(), |root| root.to_string_lossy().into_owned());
    let found = diagnostics(&output, &root);
    let repo = core::repository::repo(engine, context).await?;
    let target = format!("refs/heads/{}", context.target_branch(task));
    let changed = changed_since_target(&repo, &target, &base, &workspace.base_commit).await?;
    let named: BTreeSet<&str> =
        found.iter().map(|it| changed_file(&it.path, &changed).unwrap_or(&it.path)).collect();
    let [file] = named.into_iter().collect::<Vec<_>>()[..] else { return Ok(None) };
    if !changed.iter().any(|path| path == file) {
        return Ok(None);
    }
    let mut failure_ids: Vec<String> =
        found.iter().map(|it| format!("{}:{}:{}", it.tool, it.path, it.message)).collect();
    failure_ids.sort();
    failure_ids.truncate(MAX_FAILURE_IDS);
    Ok(Some(FixDraft {
        review_id: review.id.clone(),
        task_id: task.id.clone(),
        execution_id: None,
        agent_id: agent.id,
        strategy: None,
        file: file.to_owned(),
        base_commit: base,
        gate: FixGate {
            step: check.index,
            command: check.command.clone(),
            exit_code: check.exit_code,
            failure_ids,
        },
        status: DraftStatus::Drafting,
        reason: None,
        fix_id: None,
        started_at: engine.now(),
        finished_at: None,
    }))
}

/// Who drafts for a task: the project's choice, else who holds the role of the work; only agents that can.
async fn drafter(engine: &Engine, context: &ProjectContext, task: &TaskRow) -> Result<Option<Agent>> {
    let mut conn = engine.store().read().await?;
    let id = match &context.settings.inner_loop.auto_fix.agent_id {
        Some(id) => Some(id.clone()),
        None => match context.work_role() {
            Some(role) => roles::holder(&mut conn, &task.id, role).await?.and_then(|holder| holder.id),
            None => None,
        },
    };
    let agent = match id {
        Some(id) => agents::get(&mut conn, &id).await?,
        None => None,
    };
    Ok(agent.filter(|agent| !agent.paused && adapter(agent.adapter).capabilities().draft))
}

/// The end of what a command printed, from its log.
pub(crate) async fn output_of(
    engine: &Engine,
    project: &ProjectId,
    task: &TaskId,
    log_id: &str,
) -> Result<String> {
    let (dir, log_id) = (engine.log_dir(project, task), log_id.to_owned());
    let read = tokio::task::spawn_blocking(move || {
        let mut streams = [String::new(), String::new()];
        LogReader::each(&dir, &log_id, |entry| {
            let stream = match entry.kind {
                EntryKind::Stdout => &mut streams[0],
                EntryKind::Stderr => &mut streams[1],
                _ => return,
            };
            stream.push_str(entry.body.get("text").and_then(|text| text.as_str()).unwrap_or_default());
            if stream.len() > 2 * OUTPUT_BYTES {
                keep_end(stream);
            }
        })?;
        streams.iter_mut().for_each(keep_end);
        Ok::<_, forge_agents::LogError>(streams.join("\n"))
    });
    Ok(read.await.map_err(|error| EngineError::io("read a log")(std::io::Error::other(error)))??)
}

/// Drafts beside the task. Called after the commit that wrote the draft down.
pub(crate) fn start_draft(engine: &Engine, draft: FixDraft) {
    let engine = engine.clone();
    engine.clone().in_background(async move {
        let cancel = engine.inner.shutdown.child_token();
        let (review, task) = (draft.review_id.clone(), draft.task_id.clone());
        match draft_fix(&engine, draft, &cancel).await {
            Ok(Some(fix)) => supersede_fixes(&engine, &fix.task_id).await,
            Ok(None) => {}
            Err(error) => {
                tracing::error!(%task, %review, %error, "failed to record a draft; the next start drops it");
            }
        }
        engine.made_progress();
    });
}

/// Writes where a proposal is now.
pub(crate) async fn write_fix(
    engine: &Engine,
    tx: &mut Tx,
    task: &TaskRow,
    fix: &mut FixProposal,
    status: FixStatus,
) -> Result<()> {
    fix.status = status;
    fix.updated_at = engine.now();
    fixes::update(tx, fix).await?;
    let facts = json!({ "fix_id": fix.fix_id, "status": status });
    let event = match status {
        FixStatus::Drafted => EventType::FixDrafted,
        FixStatus::Applied => EventType::FixApplied,
        FixStatus::Verified => EventType::FixVerified,
        FixStatus::RolledBack => EventType::FixRolledBack,
        FixStatus::Rejected => EventType::FixRejected,
        FixStatus::Superseded => EventType::FixSuperseded,
    };
    engine.emit(tx, event, task, &fix.fix_id, &facts).await
}

/// Writes the export: the list, and the patch of a new proposal. The database is the source; what cannot be
/// written holds nobody up.
pub(crate) async fn export_fixes(engine: &Engine, context: &ProjectContext, new: Option<&FixProposal>) {
    let turn = export::export_turn(engine, &context.project.id, PROPOSALS);
    let _turn = turn.lock().await;
    let exported = async {
        if let Some(fix) = new {
            let path = format!("{PATCHES}/{}.patch", fix.fix_id);
            export::export(engine, context, &path, fix.patch.clone()).await?;
        }
        let all = fixes::of_project(&mut *engine.store().read().await?, &context.project.id).await?;
        let mut list = json!(all);
        // The patch has a file of its own.
        for fix in list.as_array_mut().into_iter().flatten() {
            fix.as_object_mut().map(|fix| fix.remove("patch"));
        }
        export::export(engine, context, PROPOSALS, format!("{list:#}\n")).await
    };
    if let Err(error) = exported.await {
        tracing::warn!(project = %context.project.id, %error, "failed to export the drafted fixes");
    }
}

/// Settles what an earlier process left: drafts are dropped, what was about to be applied is or is not.
pub(crate) async fn settle_fixes(engine: &Engine) -> Result<()> {
    let open = fixes::open_drafts(&mut *engine.store().read().await?).await?;
    for mut draft in open {
        let mut tx = engine.store().write().await?;
        lose_drafter(engine, &mut tx, &draft).await?;
        draft.status = DraftStatus::Dropped;
        draft.reason = Some("Forge ended while it was drafted".to_owned());
        draft.finished_at = Some(engine.now());
        fixes::update_draft(&mut tx, &draft).await?;
        if let Some(task) = tasks::get(&mut tx, &draft.task_id).await? {
            let facts = json!({ "review_id": draft.review_id, "status": draft.status });
            engine.emit(&mut tx, EventType::FixDrafted, &task, draft.review_id.as_str(), &facts).await?;
        }
        tx.commit().await?;
    }
    let half = fixes::half_applied(&mut *engine.store().read().await?).await?;
    for fix in half {
        if let Err(error) = settle_half_applied(engine, &fix).await {
            tracing::warn!(task = %fix.task_id, fix = %fix.fix_id, %error, "failed to see whether a fix was applied");
        }
    }
    Ok(())
}

/// Sees whether a fix that was about to be applied is, and writes it down.
pub(crate) async fn settle_half_applied(engine: &Engine, fix: &FixProposal) -> Result<()> {
    let (task, context, workspace, reviewing) = {
        let mut conn = engine.store().read().await?;
        let (task, context) = core::load::load(engine, &mut conn, &fix.task_id, None).await?;
        let workspace = workspaces::last(&mut conn, &task.id).await?;
        let review = reviews::last(&mut conn, &task.id).await?;
        let of_it = |it: &Review| it.id == fix.review_id && it.status == ReviewStatus::Running;
        (task, context, workspace, review.is_some_and(|review| of_it(&review)))
    };
    let repo = core::repository::repo(engine, &context).await?;
    let present = workspace.filter(|it| it.status == WorkspaceStatus::Active && Path::new(&it.path).is_dir());
    let landed = match (&present, &fix.applied_commit) {
        (Some(workspace), Some(commit)) => {
            let head = repo.head(Path::new(&workspace.path)).await?;
            repo.is_ancestor(commit, &head).await?
        }
        _ => false,
    };
    let mut tx = engine.store().write().await?;
    let Some(mut fix) = fixes::get(&mut tx, &fix.task_id, &fix.fix_id).await? else { return Ok(()) };
    if landed {
        // The review that applied it, or has it applied for its reviewer, runs the check again by itself.
        if !reviewing && fix.wanted_by.is_none() {
            command::queue_verification(&mut tx, &task, &fix).await?;
        }
        write_fix(engine, &mut tx, &task, &mut fix, FixStatus::Applied).await?;
    } else {
        fix.applied_commit = None;
        fixes::update(&mut tx, &fix).await?;
    }
    tx.commit().await?;
    export_fixes(engine, &context, None).await;
    Ok(())
}

/// Whether it still waits for somebody's word.
pub(crate) fn is_waiting(fix: &FixProposal) -> bool {
    fix.status == FixStatus::Drafted && fix.applied_commit.is_none()
}

/// Whether it was about to be applied when something cut that short.
pub(crate) fn is_half_applied(fix: &FixProposal) -> bool {
    fix.status == FixStatus::Drafted && fix.applied_commit.is_some()
}

fn keep_end(text: &mut String) {
    let cut = text.len().saturating_sub(OUTPUT_BYTES);
    let cut = (cut..text.len()).find(|at| text.is_char_boundary(*at)).unwrap_or(0);
    text.drain(..cut);
}
