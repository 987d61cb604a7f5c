//! Slots: finished worktrees that wait for the next task, in `.pool/` beside the folders of the project's tasks.
//! Whether there are any, and how many, is a setting of the project; the git operations are in `forge-git`.

use forge_git::Keep;
use forge_model::ids::ProjectId;
use forge_model::settings::{ProjectSettings, WorkspaceReuse};

use crate::{
    World,
    core::{self, context::ProjectContext},
    error::Result,
    workspace::folders::pool_folder,
};

/// What a project's settings say about finished worktrees.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Slots {
    /// They are deleted.
    None,
    /// At most so many wait for the next task, with these files.
    Kept { keep: Keep, most: usize },
}

pub(crate) fn slots_of(settings: &ProjectSettings) -> Slots {
    let most = usize::try_from(settings.workspace_pool_size).unwrap_or(usize::MAX);
    match settings.workspace_reuse {
        WorkspaceReuse::Off => Slots::None,
        _ if most == 0 => Slots::None,
        WorkspaceReuse::Tracked => Slots::Kept { keep: Keep::Tracked, most },
        WorkspaceReuse::WithIgnored => Slots::Kept { keep: Keep::WithIgnored, most },
    }
}

/// Drops the slots that a project's settings do not want any more, and what kills left among them.
pub(crate) async fn trim_pool(world: &World, context: &ProjectContext) -> Result<()> {
    let most = match slots_of(&context.settings) {
        Slots::None => 0,
        Slots::Kept { most, .. } => most,
    };
    drop_slots(world, context, most).await
}

/// Drops a project's slots but for the `keep` newest ones.
pub(crate) async fn drop_slots(world: &World, context: &ProjectContext, keep: usize) -> Result<()> {
    let pool = pool_folder(world, context);
    if !pool.exists() {
        return Ok(());
    }
    core::repository::repo(world, context).await?.drop_slots(&pool, keep).await?;
    if keep == 0
        && let Err(error) = std::fs::remove_dir(&pool)
    {
        tracing::info!(pool = %pool.display(), %error, "something is left in a folder of finished worktrees");
    }
    Ok(())
}

/// The same in the background: after a change of settings, and at start.
pub(crate) fn trim_pool_later(world: &World, project: &ProjectId) {
    let (world, project) = (world.clone(), project.clone());
    core::guarded::in_background(&world.clone(), async move {
        let trimmed = async {
            let context = {
                let mut conn = world.store().read().await?;
                core::contexts::context(&world, &mut conn, &project).await?
            };
            trim_pool(&world, &context).await
        };
        if let Err(error) = trimmed.await {
            tracing::warn!(%project, %error, "failed to drop finished worktrees; the next start tries again");
        }
        super::disk::measure_slots(&world, &project).await;
    });
}

/// Looks after the slots of every project once, at start.
pub(crate) async fn trim_all_pools(world: &World) -> Result<()> {
    for row in world.store().read().await?.projects().list().await? {
        trim_pool_later(world, &row.project.id);
    }
    Ok(())
}
