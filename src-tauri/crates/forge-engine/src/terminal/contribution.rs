//! What terminals contribute: they end before their worktree goes, and are gone on with at start.

use std::any::Any;

use forge_model::terminal::process_of;
use forge_model::workspace::Workspace;

use super::{
    closing::{require_idle, write_ends},
    ends::drop_ended,
    follow::begin,
    opened::{Found, terminals},
};
use crate::{EngineError, World, core::world::features::Moments, error::Result};

pub(crate) fn contribute(moments: &mut Moments) {
    moments.before_end.push(|world, tasks| Box::pin(require_idle(world, tasks)));
    moments.on_worktree_goes.push(|world, workspace| Box::pin(make_way(world, workspace)));
    moments.resume.push(|world| Box::pin(resume(world)));
}

/// Ends the terminals in a worktree that is about to go; none is opened there while what is returned lives.
async fn make_way(world: &World, workspace: &Workspace) -> Result<Box<dyn Any + Send>> {
    let going = terminals(world).goes(&workspace.id);
    let ended = write_ends(world, &workspace.task_id, "Ended since its worktree was removed").await?;
    drop_ended(world, &ended).await?;
    for opened in terminals(world).of_task(&workspace.task_id) {
        opened.stop.cancel();
        opened.over.cancelled().await;
    }
    Ok(Box::new(going))
}

/// Goes on with the terminals that the keeper has, and with those that it never got. A keeper that does not answer keeps
/// no engine from its start.
async fn resume(world: &World) -> Result<()> {
    let rows = world.store().read().await?.terminals().active().await?;
    if rows.is_empty() {
        return Ok(());
    }
    let kept = match world.keeper().runs().await.map_err(EngineError::io("ask which terminals went on")) {
        Ok(kept) => kept,
        Err(error) => {
            tracing::warn!(%error, "does not know which terminals went on");
            return Ok(());
        }
    };
    for row in rows {
        let id = process_of(&row.terminal.id);
        let found = match (kept.iter().any(|kept| kept.id == id), row.spawned) {
            (true, _) => Found::Kept,
            (false, true) => Found::Lost,
            (false, false) => Found::New,
        };
        begin(world, row, found);
    }
    Ok(())
}
