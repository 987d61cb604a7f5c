//! What terminals contribute: they end before their worktree goes, and are gone on with at start.

use forge_model::workspace::Workspace;

use super::{
    closing::{require_idle, write_ends},
    ends::{drop_ended, end_followed},
    follow::go_on,
    opened::terminals,
};
use crate::{World, core::world::features::Moments, error::Result};

pub(crate) fn contribute(moments: &mut Moments) {
    moments.before_end.push(|world, tasks| Box::pin(require_idle(world, tasks)));
    moments.on_worktree_goes.push(|world, workspace| Box::pin(make_way(world, workspace)));
    moments.resume.push(|world| Box::pin(resume(world)));
}

/// Ends the terminals in a worktree that is about to go.
async fn make_way(world: &World, workspace: &Workspace) -> Result<()> {
    let ended = write_ends(world, &workspace.task_id, "Ended since its worktree was removed").await?;
    drop_ended(world, &ended).await?;
    for opened in terminals(world).of_task(&workspace.task_id) {
        end_followed(&opened).await?;
    }
    Ok(())
}

/// At start. A keeper that does not answer keeps no engine from its start: what it has is looked for again when somebody
/// reads a terminal, or types to it.
async fn resume(world: &World) -> Result<()> {
    if let Err(error) = go_on(world).await {
        tracing::warn!(%error, "does not know which terminals went on");
    }
    Ok(())
}
