//! Removing a worktree whose task is closed: what is uncommitted is kept in a backup ref first, and a
//! failure never undoes the merge.

use std::path::Path;

use forge_model::event::EventType;
use forge_model::workflow::CleanupPolicy;
use forge_model::workspace::{Workspace, WorkspaceStatus};
use forge_store::table::{tasks::TaskRow, workspaces};
use serde_json::{Value, json};

use super::{End, Stepping};
use crate::{
    ConflictCode, Engine, EngineError,
    context::{ProjectContext, backup_prefix},
    error::Result,
};

/// When a failed removal is tried again, in milliseconds.
const RETRY_MS: i64 = 5 * 60 * 1000;

impl Engine {
    /// Removes the worktree now, or as the state's own policy says.
    pub(super) async fn clean_up_now(&self, s: &Stepping) -> Result<End> {
        match s.context.workflow.state(&s.task.status).and_then(|state| state.cleanup.clone()) {
            Some(CleanupPolicy::Keep) => Ok(End::skipped("the state keeps its worktree")),
            Some(CleanupPolicy::Delayed(delay)) => self.schedule(s, i64::from(delay.seconds) * 1000).await,
            Some(CleanupPolicy::Immediate) | None => {
                let Some(workspace) = self.present_workspace(&s.task).await? else {
                    return Ok(End::skipped("no workspace"));
                };
                match self.remove_workspace(&s.context, &s.task, workspace).await? {
                    Ok(()) => Ok(End::ok()),
                    Err(reason) => Ok(End::Ok(Some(format!("kept for now: {reason}")))),
                }
            }
        }
    }

    /// Has the worktree removed later: by the state's own policy, else after the engine's delay.
    pub(super) async fn schedule_cleanup(&self, s: &Stepping) -> Result<End> {
        let delay = match s.context.workflow.state(&s.task.status).and_then(|state| state.cleanup.clone()) {
            Some(CleanupPolicy::Keep) => return Ok(End::skipped("the state keeps its worktree")),
            Some(CleanupPolicy::Immediate) => return self.clean_up_now(s).await,
            Some(CleanupPolicy::Delayed(delay)) => i64::from(delay.seconds) * 1000,
            None => i64::try_from(self.inner.config.cleanup_delay.as_millis()).unwrap_or(i64::MAX),
        };
        self.schedule(s, delay).await
    }

    async fn schedule(&self, s: &Stepping, delay_ms: i64) -> Result<End> {
        let Some(mut workspace) = self.present_workspace(&s.task).await? else {
            return Ok(End::skipped("no workspace"));
        };
        let at = self.now().plus_ms(delay_ms);
        workspace.status = WorkspaceStatus::Scheduled;
        workspace.cleanup_at = Some(at);
        let mut tx = self.store().write().await?;
        workspaces::put(&mut tx, &workspace, self.now()).await?;
        self.emit(
            &mut tx,
            EventType::TaskUpdated,
            &s.task,
            workspace.id.as_str(),
            &json!({ "cleanup_at": at }),
        )
        .await?;
        tx.commit().await?;
        self.plan_cleanup(at);
        Ok(End::Ok(Some(format!("at {at}"))))
    }

    async fn present_workspace(&self, task: &TaskRow) -> Result<Option<Workspace>> {
        let mut conn = self.store().read().await?;
        Ok(workspaces::last(&mut conn, &task.id).await?.filter(|w| w.status != WorkspaceStatus::Cleaned))
    }

    /// Removes a worktree after keeping what is uncommitted. The inner error is a reason to keep it, which
    /// is recorded on the workspace and tried again later.
    pub(crate) async fn remove_workspace(
        &self,
        context: &ProjectContext,
        task: &TaskRow,
        mut workspace: Workspace,
    ) -> Result<std::result::Result<(), String>> {
        let removed = self.back_up_and_remove(context, task, &workspace).await;
        let mut tx = self.store().write().await?;
        let now = self.now();
        let outcome = match removed {
            Ok(()) => {
                workspace.status = WorkspaceStatus::Cleaned;
                (workspace.cleanup_at, workspace.error, workspace.disk_bytes) = (None, None, None);
                workspaces::put(&mut tx, &workspace, now).await?;
                self.emit(&mut tx, EventType::WorkspaceCleaned, task, workspace.id.as_str(), &Value::Null)
                    .await?;
                Ok(())
            }
            Err(error) => {
                let reason = error.to_string();
                tracing::warn!(task = %task.id, path = %workspace.path, %reason, "worktree is kept for now");
                workspace.status = WorkspaceStatus::Error;
                workspace.error = Some(reason.clone());
                workspace.cleanup_at = Some(now.plus_ms(RETRY_MS));
                workspaces::put(&mut tx, &workspace, now).await?;
                self.emit(
                    &mut tx,
                    EventType::WorkspaceError,
                    task,
                    workspace.id.as_str(),
                    &json!({ "reason": reason }),
                )
                .await?;
                Err(reason)
            }
        };
        tx.commit().await?;
        if outcome.is_err() {
            self.plan_cleanup(now.plus_ms(RETRY_MS));
        }
        Ok(outcome)
    }

    async fn back_up_and_remove(
        &self,
        context: &ProjectContext,
        task: &TaskRow,
        workspace: &Workspace,
    ) -> Result<()> {
        let path = Path::new(&workspace.path);
        let repo = self.repo(context).await?;
        if !path.exists() {
            repo.prune_worktrees().await?;
            return Ok(());
        }
        self.require_unlocked(workspace)?;
        let message = format!("Backup of task #{} before its worktree went", task.number);
        let backup = repo.backup_worktree(path, &backup_prefix(task), &message).await?;
        let unsaved = backup.map(|backup| backup.skipped).unwrap_or_default();
        if !unsaved.is_empty() {
            let message =
                format!("these could not be backed up, move them away first: {}", unsaved.join(", "));
            return Err(EngineError::conflict(ConflictCode::InUse, message));
        }
        self.point("cleanup.backed_up");
        let trash = repo.remove_worktree(path).await?;
        self.point("cleanup.removed");
        self.inner.tracker.spawn(async move {
            if let Err(error) = trash.delete().await {
                tracing::warn!(%error, "failed to delete a removed worktree; the next start tries again");
            }
        });
        Ok(())
    }
}
