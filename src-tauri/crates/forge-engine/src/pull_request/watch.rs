//! Looking at pull requests when they are due.

use std::sync::Arc;

use forge_model::ids::TaskId;
use forge_model::time::Timestamp;
use forge_model::workflow::Action;

use crate::{
    World, core,
    error::Result,
    pull_request::hosts::{ASK_AGAIN_MS, Hosts},
};

/// Asks for every look when it is due, from now on.
pub(crate) fn watch_pull_requests(world: &World) {
    let changed = Arc::clone(&world.part::<Hosts>().due_changed);
    core::due::keep_up(world, changed, "see which pull requests are due", async |world| {
        ask_for_looks(&world).await
    });
}

/// Whether looking is a step of the task.
async fn waits_for_host(world: &World, task: &TaskId) -> Result<bool> {
    let next = world.store().read().await?.steps().open(task).await?;
    Ok(next.first().is_some_and(|step| step.action == Some(Action::RunMerge)))
}

/// Has every pull request looked at that is due; each due time once. Says when the next one is.
async fn ask_for_looks(world: &World) -> Result<Option<Timestamp>> {
    let hosts = world.part::<Hosts>();
    let mut asked = hosts.asked.lock().await;
    let rows = world.store().read().await?.pull_requests().watched().await?;
    asked.retain(|task, _| rows.iter().any(|row| row.task_id == *task));
    let now = world.now();
    let mut next: Option<Timestamp> = None;
    for row in rows {
        let Some(due) = row.next_check_at else { continue };
        let again = match asked.get(&row.task_id) {
            Some((for_due, at)) if *for_due == due => at.plus_ms(ASK_AGAIN_MS),
            _ => due,
        };
        let wake = if again <= now {
            asked.insert(row.task_id.clone(), (due, now));
            if waits_for_host(world, &row.task_id).await? {
                core::workers::kick(world, &row.task_id);
            } else {
                super::look_aside_later(world, row.clone());
            }
            now.plus_ms(ASK_AGAIN_MS)
        } else {
            again
        };
        next = Some(next.map_or(wake, |next| next.min(wake)));
    }
    Ok(next)
}
