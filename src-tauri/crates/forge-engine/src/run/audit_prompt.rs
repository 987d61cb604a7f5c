//! The prompt of a reviewing agent.

use std::path::Path;

use forge_git::DiffScope;
use forge_model::review::{Review, ReviewStatus};
use forge_model::workspace::Workspace;
use forge_prompt::audit::{AuditPrompt, audit_prompt};
use forge_store::table::tasks::TaskRow;

use crate::{
    ConflictCode, EngineError, World,
    core::{
        self,
        context::{ProjectContext, task_branch},
    },
    error::Result,
};

/// How much of the diff an auditor is shown at once, in bytes.
const DIFF_BYTES: usize = 64 * 1024;

/// What the auditor of a task is asked.
pub(crate) async fn audit_prompt_of(
    world: &World,
    context: &ProjectContext,
    task: &TaskRow,
    workspace: Option<&Workspace>,
    again: bool,
) -> Result<String> {
    let all = world.store().read().await?.reviews().list(&task.id).await?;
    let (current, earlier): (Vec<Review>, Vec<Review>) =
        all.into_iter().partition(|review| review.status == ReviewStatus::Running);
    let repo = core::repository::repo(world, context).await?;
    let target = context.target_branch(task);
    let branch = format!("refs/heads/{}", task_branch(task));
    let reviewed = current.last().and_then(|review| review.reviewed_commit.clone());
    let reviewed = match reviewed {
        Some(commit) => repo.resolve(&commit).await?,
        None => None,
    };
    let commit = match workspace.filter(|workspace| Path::new(&workspace.path).is_dir()) {
        _ if reviewed.is_some() => reviewed.unwrap_or_default(),
        Some(workspace) => core::repository::worktree(world, context, workspace).await?.head().await?,
        None => repo.resolve(&branch).await?.ok_or_else(|| {
            EngineError::conflict(ConflictCode::WorkspaceMissing, "work on the task has not started")
        })?,
    };
    let base = repo.merge_base(&format!("refs/heads/{target}"), &commit).await?;
    let base = base.or_else(|| workspace.map(|workspace| workspace.base_commit.clone()));
    let base = base.unwrap_or_else(|| commit.clone());
    let patch = repo.patch(&base, &commit, DIFF_BYTES).await?;
    let files: Vec<(String, u32, u32)> =
        patch.files.iter().map(|file| (file.path.clone(), file.added, file.removed)).collect();
    let last_seen = earlier.iter().rev().find_map(|review| review.reviewed_commit.clone());
    let since = match last_seen {
        Some(seen) if repo.resolve(&seen).await?.is_some() => {
            let scope = DiffScope::Commits { base: seen, head: commit.clone() };
            match repo.diff_files(&scope).await {
                Ok(changed) => changed.files.into_iter().map(|file| file.path).collect(),
                // git may have collected it after it was last looked at; the whole diff is told all the same.
                Err(error) => {
                    tracing::warn!(task = %task.id, %error, "what changed since the last review is not told");
                    Vec::new()
                }
            }
        }
        // After a rebase the earlier commit may be gone.
        Some(_) | None => Vec::new(),
    };
    let source = core::issue_text::source_of_text(world, task).await?;
    let checks = current.last().map(|review| review.steps.clone()).unwrap_or_default();
    Ok(audit_prompt(AuditPrompt {
        number: task.number,
        title: &task.title,
        description: &task.description,
        foreign: source.as_ref().map(core::issue_text::foreign),
        target: &target,
        base: &base,
        commit: &commit,
        files: &files,
        diff: &patch.text,
        left_out: &patch.left_out,
        checks: &checks,
        earlier: &earlier,
        since: &since,
        wishes: context.review_config(task).review_prompt.as_deref(),
        again,
    }))
}
