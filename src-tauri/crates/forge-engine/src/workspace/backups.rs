//! Listing backups, and deleting backups and reviewed commits of closed tasks when they are old.

use std::collections::BTreeMap;

use forge_model::ids::{ProjectId, TaskId};
use forge_model::retention::Counts;
use forge_model::time::Timestamp;
use forge_model::workspace::WorkspaceBackup;
use forge_store::table::tasks::Filter;

use crate::{EngineError, World, core, error::Result, workspace};

/// Where all backups are kept.
pub(crate) const BACKUPS: &str = "refs/forge/backup";
/// Begins the name of a folder that belonged to no task, in place of a task's id.
pub(crate) const ORPHAN: &str = "orphan-";
/// How long both are kept: backups since they were made, reviewed commits since their task was closed.
const KEPT_DAYS: u32 = 30;

/// The backups of all tasks of a project, and of folders that belonged to none, newest first.
pub(crate) async fn project_backups(world: &World, project: &ProjectId) -> Result<Vec<WorkspaceBackup>> {
    let (context, all) = {
        let mut conn = world.store().read().await?;
        let context = core::contexts::context(world, &mut conn, project).await?;
        let filter = Filter { project: Some(project.clone()), ..Filter::default() };
        (context, conn.tasks().list(&filter, u32::MAX).await?)
    };
    let mut backups: Vec<WorkspaceBackup> = Vec::new();
    for backup in core::repository::repo(world, &context).await?.backups(BACKUPS).await? {
        let owner = backup.ref_name.strip_prefix(BACKUPS).and_then(|rest| rest.split('/').nth(1));
        let Some(owner) = owner else { continue };
        if owner.starts_with(ORPHAN) || all.iter().any(|task| task.id.as_str() == owner) {
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

/// The backups of folders that belonged to no task.
pub(crate) async fn folder_backups(world: &World, project: &ProjectId) -> Result<Vec<WorkspaceBackup>> {
    let mut backups = project_backups(world, project).await?;
    backups.retain(|backup| backup.task_id.as_str().starts_with(ORPHAN));
    Ok(backups)
}

/// Forgets backups that are older than their days.
pub(crate) async fn prune_backups(world: &World) -> Result<()> {
    let projects = world.store().read().await?.projects().list().await?;
    // Several projects may share a repository.
    let by_repository: BTreeMap<_, _> =
        projects.into_iter().map(|row| (row.project.repo_path.clone(), row.project.id)).collect();
    let Some(until) = core::observed_time::older_than(world, KEPT_DAYS).await? else { return Ok(()) };
    for id in by_repository.values() {
        let context = {
            let mut conn = world.store().read().await?;
            core::contexts::context(world, &mut conn, id).await
        };
        let pruned = async {
            let repo = core::repository::repo(world, &*context?).await?;
            let asked = core::deletion::question_of(world, &format!("backups:{id}"), until).await?;
            let mut counts = Counts::default();
            let mut old = Vec::new();
            for made in repo.backups_made(BACKUPS, until.0).await? {
                match made.at_ms {
                    None => counts.add_young(1),
                    Some(at) if counts.add(asked.bounds, Timestamp(at)) => old.push(made),
                    Some(_) => {}
                }
            }
            let reviewed = workspace::reviewed::old_reviewed(world, &repo, asked.bounds, &mut counts).await?;
            if !core::deletion::may_delete(world, &asked, counts).await? {
                return Ok(Vec::new());
            }
            workspace::reviewed::forget_reviewed(&repo, reviewed).await?;
            Ok(repo.forget_backups(old).await?)
        };
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
