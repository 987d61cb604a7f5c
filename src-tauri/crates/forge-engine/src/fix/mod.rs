//! Drafted fixes: what is drafted, its record, and its export under `.forge/`.
//!
//! A draft is made beside the task: it holds up nothing, takes no place of an agent, and sees a copy of one file of
//! the reviewed commit. It is recorded in the transaction that ends the failed check, at most once per review. One whose
//! agent went on while no engine was there is gone on with; one that had no agent yet is dropped. Git has accepted the patch before it is proposed.

pub(crate) mod command;
pub(crate) mod contribution;
pub(crate) mod draft;
pub(crate) mod drafter;
pub(crate) mod of_races;
pub(crate) mod proposal;
pub(crate) mod step;
pub(crate) mod superseded;

use std::collections::BTreeSet;

use forge_agents::adapter;
use forge_model::agent::Agent;
use forge_model::event::EventType;
use forge_model::execution::ExecutionStatus;
use forge_model::fix::{DraftStatus, FixDraft, FixGate, MAX_FAILURE_IDS};
use forge_model::review::{Review, ReviewStep};
use forge_model::workspace::Workspace;
use forge_reading::diagnostic::{changed_file, diagnostics};
use forge_store::table::tasks::TaskRow;
use serde_json::json;

use crate::{
    EngineError, World,
    core::{
        self,
        context::ProjectContext,
        lineage::is_entry,
        world::{cx::Cx, step::Stepping},
    },
    error::Result,
    fix::{
        command::recover_half_applied,
        draft::{Progress, draft_fix, lose_drafter},
        proposal::{Undrafted, output_of},
        superseded::supersede_fixes,
    },
    review::checks::changed_since_target,
    run,
};

impl<E: Into<EngineError>> From<E> for Undrafted {
    fn from(error: E) -> Self {
        Self::Engine(error.into())
    }
}

/// What is to be drafted after a failed check; nothing when it is no case for a small local patch.
pub(crate) async fn plan_draft(
    world: &World,
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
    look_for_draft(world, (&s.context, &s.task), review, workspace, check).await.unwrap_or_else(|error| {
        tracing::warn!(task = %s.task.id, %error, "failed to see whether a fix can be drafted");
        None
    })
}

/// What is to be drafted for the work of a task, which may be an entry of a race.
pub(crate) async fn look_for_draft(
    world: &World,
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
    let Some(agent) = drafter(world, context, task).await? else { return Ok(None) };
    let output = output_of(world, &task.project_id, &task.id, &check.log_id).await?;
    let root = tokio::fs::canonicalize(&workspace.path).await;
    let root = root.map_or_else(|_| workspace.path.clone(), |root| root.to_string_lossy().into_owned());
    let found = diagnostics(&output, &root);
    let repo = core::repository::repo(world, context).await?;
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
        started_at: world.now(),
        finished_at: None,
    }))
}

/// Who drafts for a task: the project's choice, else who holds the role of the work; only agents that can.
async fn drafter(world: &World, context: &ProjectContext, task: &TaskRow) -> Result<Option<Agent>> {
    let mut conn = world.store().read().await?;
    let id = match &context.settings.inner_loop.auto_fix.agent_id {
        Some(id) => Some(id.clone()),
        None => match context.work_role() {
            Some(role) => conn.roles().holder(&task.id, role).await?.and_then(|holder| holder.id),
            None => None,
        },
    };
    let agent = match id {
        Some(id) => conn.agents().get(&id).await?,
        None => None,
    };
    Ok(agent.filter(|agent| !agent.paused && adapter(agent.adapter).capabilities().draft))
}

/// Drafts beside the task. Called after the commit that wrote the draft down.
pub(crate) fn start_draft(world: &World, draft: FixDraft) {
    go_on_with_draft(world, draft, Progress::Unasked);
}

fn go_on_with_draft(world: &World, draft: FixDraft, progress: Progress) {
    let world = world.clone();
    core::guarded::in_background(&world.clone(), async move {
        let cancel = world.inner.shutdown.child_token();
        let (review, task) = (draft.review_id.clone(), draft.task_id.clone());
        match draft_fix(&world, draft, progress, &cancel).await {
            Ok(Some(fix)) => supersede_fixes(&world, &fix.task_id).await,
            Ok(None) => {}
            Err(error) => {
                tracing::error!(%task, %review, %error, "failed to record a draft; the next start drops it");
            }
        }
        world.made_progress();
    });
}

/// What an earlier engine left of a draft.
async fn progress_of(world: &World, draft: &FixDraft) -> Result<Progress> {
    let Some(id) = &draft.execution_id else { return Ok(Progress::Unasked) };
    let kept = run::kept::take_draft(world, id);
    let row = world.store().read().await?.executions().get(id).await?;
    let Some(execution) = row.map(|row| row.execution) else { return Ok(Progress::Unasked) };
    if execution.status.is_over() && kept.is_some() {
        run::kept::forget_processes(world, id).await;
    }
    Ok(match (execution.status, kept) {
        (ExecutionStatus::Finished, _) => Progress::Answered(Box::new(execution)),
        (status, Some(kept)) if !status.is_over() => Progress::Asked(Box::new(execution), Box::new(kept)),
        _ => Progress::Unasked,
    })
}

/// Settles what an earlier process left: a draft whose agent is at work or has answered is gone on with, another is
/// dropped, since what it was begun with is not known; what was about to be applied is or is not.
pub(crate) async fn recover_fixes(world: &World) -> Result<()> {
    let open = world.store().read().await?.fixes().open_drafts().await?;
    for mut draft in open {
        let progress = progress_of(world, &draft).await?;
        if !matches!(progress, Progress::Unasked) {
            tracing::info!(task = %draft.task_id, review = %draft.review_id, "a draft went on while no engine was there");
            go_on_with_draft(world, draft, progress);
            continue;
        }
        let mut tx = world.store().write().await?;
        lose_drafter(&mut Cx::of(world, &mut tx), &draft).await?;
        draft.status = DraftStatus::Dropped;
        draft.reason = Some("Forge ended while it was drafted".to_owned());
        draft.finished_at = Some(world.now());
        tx.fixes_mut().update_draft(&draft).await?;
        if let Some(task) = tx.tasks().get(&draft.task_id).await? {
            let facts = json!({ "review_id": draft.review_id, "status": draft.status });
            world.emit(&mut tx, EventType::FixDrafted, &task, draft.review_id.as_str(), &facts).await?;
        }
        tx.commit().await?;
    }
    let half = world.store().read().await?.fixes().half_applied().await?;
    for fix in half {
        if let Err(error) = recover_half_applied(world, &fix).await {
            tracing::warn!(task = %fix.task_id, fix = %fix.fix_id, %error, "failed to see whether a fix was applied");
        }
    }
    Ok(())
}
