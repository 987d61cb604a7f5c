//! Backups are kept for a while: older ones are forgotten at start and once a day, with a line in the log.

use std::{collections::BTreeMap, time::Duration};

use forge_model::ids::{ProjectId, TaskId};
use forge_model::time::Timestamp;
use forge_model::workspace::WorkspaceBackup;
use forge_store::table::{projects, tasks, tasks::Filter};

use crate::{Engine, EngineError, error::Result};

/// Where all backups are kept.
pub(crate) const BACKUPS: &str = "refs/forge/backup";
/// How long.
const KEPT_MS: i64 = 30 * 24 * 60 * 60 * 1000;
const ONE_DAY: Duration = Duration::from_secs(24 * 60 * 60);

impl Engine {
    /// Forgets old backups now, and from then on once a day while the engine runs.
    pub(crate) fn keep_backups_tidy(&self) {
        let engine = self.clone();
        self.inner.tracker.spawn(async move {
            loop {
                if let Err(error) = engine.prune_backups().await {
                    tracing::warn!(%error, "failed to look for old backups; tomorrow again");
                }
                tokio::select! {
                    () = engine.inner.shutdown.cancelled() => return,
                    () = tokio::time::sleep(ONE_DAY) => {}
                }
            }
        });
    }

    async fn prune_backups(&self) -> Result<()> {
        let projects = projects::list(&mut *self.store().read().await?).await?;
        // Several projects may share a repository.
        let by_repository: BTreeMap<_, _> =
            projects.into_iter().map(|row| (row.project.repo_path.clone(), row.project.id)).collect();
        let before = self.now().0.saturating_sub(KEPT_MS);
        for id in by_repository.values() {
            let context = {
                let mut conn = self.store().read().await?;
                self.context(&mut conn, id).await
            };
            let pruned = async { Ok(self.repo(&*context?).await?.prune_backups(BACKUPS, before).await?) };
            match pruned.await {
                Ok(gone) => {
                    for backup in gone {
                        tracing::info!(project = %id, name = %backup.ref_name, commit = %backup.commit, "forgot a backup that is 30 days old");
                    }
                }
                // A repository that was moved keeps nobody else from being tidied.
                Err::<_, EngineError>(error) => {
                    tracing::warn!(project = %id, %error, "failed to look for old backups");
                }
            }
        }
        Ok(())
    }

    /// The backups of all tasks of a project, and of folders that belonged to none, newest first.
    ///
    /// # Errors
    /// `NotFound`, git's errors.
    pub async fn project_backups(&self, project: &ProjectId) -> Result<Vec<WorkspaceBackup>> {
        let (context, all) = {
            let mut conn = self.store().read().await?;
            let context = self.context(&mut conn, project).await?;
            let filter = Filter { project: Some(project.clone()), ..Filter::default() };
            (context, tasks::list(&mut conn, &filter, u32::MAX).await?)
        };
        let mut backups: Vec<WorkspaceBackup> = Vec::new();
        for backup in self.repo(&context).await?.backups(BACKUPS).await? {
            let owner = backup.ref_name.strip_prefix(BACKUPS).and_then(|rest| rest.split('/').nth(1));
            let Some(owner) = owner else { continue };
            if owner.starts_with("orphan-") || all.iter().any(|task| task.id.as_str() == owner) {
                backups.push(WorkspaceBackup {
                    task_id: TaskId(owner.to_owned()),
                    ref_name: backup.ref_name,
                    commit: backup.commit,
                    files: backup.files,
                    at: Timestamp(backup.at_ms),
                });
            }
        }
        backups.sort_by(|a, b| b.at.cmp(&a.at).then_with(|| b.ref_name.cmp(&a.ref_name)));
        Ok(backups)
    }
}
