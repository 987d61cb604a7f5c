//! Slots: finished worktrees that wait for the next task, in `.pool/` beside the folders of the project's tasks.
//! Whether there are any, and how many, is a setting of the project; the git operations are in `forge-git`.

use forge_git::Keep;
use forge_model::ids::ProjectId;
use forge_model::settings::{ProjectSettings, WorkspaceReuse};

use crate::{
    Engine,
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
pub(crate) async fn trim_pool(engine: &Engine, context: &ProjectContext) -> Result<()> {
    let most = match slots_of(&context.settings) {
        Slots::None => 0,
        Slots::Kept { most, .. } => most,
    };
    drop_slots(engine, context, most).await
}

/// Drops a project's slots but for the `keep` newest ones.
pub(crate) async fn drop_slots(engine: &Engine, context: &ProjectContext, keep: usize) -> Result<()> {
    let pool = pool_folder(engine, context);
    if !pool.exists() {
        return Ok(());
    }
    core::repository::repo(engine, context).await?.drop_slots(&pool, keep).await?;
    if keep == 0
        && let Err(error) = std::fs::remove_dir(&pool)
    {
        tracing::info!(pool = %pool.display(), %error, "something is left in a folder of finished worktrees");
    }
    Ok(())
}

/// The same in the background: after a change of settings, and at start.
pub(crate) fn trim_pool_later(engine: &Engine, project: &ProjectId) {
    let (engine, project) = (engine.clone(), project.clone());
    core::guarded::in_background(&engine.clone(), async move {
        let trimmed = async {
            let context = {
                let mut conn = engine.store().read().await?;
                core::contexts::context(&engine, &mut conn, &project).await?
            };
            trim_pool(&engine, &context).await
        };
        if let Err(error) = trimmed.await {
            tracing::warn!(%project, %error, "failed to drop finished worktrees; the next start tries again");
        }
        super::disk::measure_slots(&engine, &project).await;
    });
}

/// Looks after the slots of every project once, at start.
pub(crate) async fn trim_all_pools(engine: &Engine) -> Result<()> {
    for row in engine.store().read().await?.projects().list().await? {
        trim_pool_later(engine, &row.project.id);
    }
    Ok(())
}
