//! The queue of a target: one task at a time merges into a branch of a repository, in the order in which the merges
//! began. A waiting task says which task it is behind, and is asked again when its turn may have come.
//!
//! The order is that of the durable steps, so it outlives this process. Who has the turn is known in memory alone: a
//! turn ends with its process. A task registers before it looks, so no end of a turn is missed.

use std::{
    collections::{BTreeSet, HashMap},
    path::PathBuf,
    sync::Mutex,
};

use forge_git::Repo;
use forge_model::ids::TaskId;
use forge_model::project::WorkMode;
use forge_model::task::{WaitReason, Waiting};
use forge_model::transition::StepStatus;

use crate::{
    World,
    core::{
        self,
        sync::locked,
        world::step::{End, Stepping},
    },
    error::Result,
};

/// A branch of a repository.
type Target = (PathBuf, String);

/// The queues of this process.
#[derive(Debug, Default)]
pub(crate) struct MergeQueues {
    queues: Mutex<HashMap<Target, MergeQueue>>,
}

#[derive(Debug, Default)]
struct MergeQueue {
    /// Who merges now.
    holder: Option<(TaskId, u32)>,
    waiting: BTreeSet<TaskId>,
}

/// The turn of one task; given back when dropped.
pub(crate) struct Turn {
    world: World,
    target: Target,
}

impl Drop for Turn {
    fn drop(&mut self) {
        if let Some(queue) = locked(&self.world.part::<MergeQueues>().queues).get_mut(&self.target) {
            queue.holder = None;
        }
        // Its end may not be written yet: then they wait for that and are asked again.
        wake_merges(&self.world);
    }
}

/// The turn to merge into a target, or the end of a step that has to wait for it.
pub(crate) async fn merge_turn(
    world: &World,
    s: &Stepping,
    repo: &Repo,
    target: &str,
) -> Result<std::result::Result<Turn, End>> {
    let key = (repo.common_dir().to_owned(), target.to_owned());
    locked(&world.part::<MergeQueues>().queues)
        .entry(key.clone())
        .or_default()
        .waiting
        .insert(s.task.id.clone());
    let ahead = ahead(world, s, &key).await?;
    let behind = {
        let merging = world.part::<MergeQueues>();
        let mut queues = locked(&merging.queues);
        let queue = queues.entry(key.clone()).or_default();
        let behind = ahead.or_else(|| queue.holder.as_ref().map(|(_, number)| *number));
        if behind.is_none() {
            queue.holder = Some((s.task.id.clone(), s.task.number));
            queue.waiting.remove(&s.task.id);
        }
        behind
    };
    if let Some(number) = behind {
        return Ok(Err(End::wait(WaitReason::MergeQueue, format!("queued behind #{number}"))));
    }
    let turn = Turn { world: world.clone(), target: key };
    stop_standing(world, &s.task.id).await?;
    Ok(Ok(turn))
}

/// The task right before this one among those that came earlier; those that wait for something else, or
/// are on hold, let others pass.
async fn ahead(world: &World, s: &Stepping, (common_dir, target): &Target) -> Result<Option<u32>> {
    let mut conn = world.store().read().await?;
    let mut ahead = None;
    for step in conn.steps().merging().await? {
        if step.id == s.step.id {
            break;
        }
        let Some(task) = conn.tasks().get(&step.task_id).await? else { continue };
        let stands = match step.status {
            StepStatus::Running => core::workers::is_attended(world, &task.id),
            StepStatus::Pending => is_standing(task.waiting.as_ref()),
            StepStatus::Done => false,
        };
        if task.held || !stands {
            continue;
        }
        let context = core::contexts::context_of(world, &mut conn, &task).await?;
        // By way of a code host nothing is merged here, and nobody is told when a look there ends.
        let merges_here = context.project.work_mode == WorkMode::DirectCommit;
        if merges_here
            && context.target_branch(&task) == *target
            && core::repository::repo(world, &context).await?.common_dir() == common_dir
        {
            ahead = Some(task.number);
        }
    }
    Ok(ahead)
}

/// A task whose turn has come does not stand in line any more, however long the turn takes.
async fn stop_standing(world: &World, id: &TaskId) -> Result<()> {
    let mut tx = world.store().write().await?;
    if let Some(mut task) = tx.tasks().get(id).await?
        && is_standing(task.waiting.as_ref())
    {
        task.waiting = None;
        tx.tasks_mut().update(&mut task, world.now()).await?;
        let facts = serde_json::json!({ "merging": true });
        world.emit(&mut tx, forge_model::event::EventType::TaskUpdated, &task, id.as_str(), &facts).await?;
        tx.commit().await?;
    }
    Ok(())
}

/// Asks those again that stand in line while nobody has the turn.
pub(crate) fn wake_merges(world: &World) {
    let waiting: Vec<TaskId> = {
        let merging = world.part::<MergeQueues>();
        let mut queues = locked(&merging.queues);
        queues.retain(|_, queue| queue.holder.is_some() || !queue.waiting.is_empty());
        let free = queues.values_mut().filter(|queue| queue.holder.is_none());
        free.flat_map(|queue| std::mem::take(&mut queue.waiting)).collect()
    };
    for task in waiting {
        core::workers::kick(world, &task);
    }
}

fn is_standing(waiting: Option<&Waiting>) -> bool {
    waiting.is_some_and(|waiting| waiting.reason == WaitReason::MergeQueue)
}
