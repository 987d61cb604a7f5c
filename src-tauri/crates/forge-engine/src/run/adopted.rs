//! Runs that went on while no engine was there, and are gone on with.

use std::collections::{HashMap, HashSet};

use forge_agents::marker_of;
use forge_model::approval::ApprovalStatus;
use forge_model::ids::{ExecutionId, TaskId};
use forge_model::terminal::process_of;

use crate::{
    Work, World,
    core::{guarded::in_background, sync::locked},
    error::Result,
    run::{
        self,
        kept::{KeptDrafts, Unattended, forget_processes, kept_ids, kept_launch},
        memo::{Found, KeptLaunch},
    },
};

/// Runs that are to be gone on with.
pub(crate) struct Adoptable {
    /// Those that the keeper on this computer has.
    here: HashMap<ExecutionId, KeptLaunch>,
    /// Those on other machines, which are asked when they can be reached.
    there: HashSet<ExecutionId>,
    /// Drafts of fixes, which their feature takes.
    drafts: HashSet<ExecutionId>,
    /// Services and terminals that run, by what the keeper knows them by. Their features go on with them.
    others: HashSet<String>,
}

impl Adoptable {
    /// Looks at what the keeper has. What is of no open run is ended and dropped there.
    pub(crate) async fn find(world: &World) -> Result<Self> {
        let kept = match world.keeper().runs().await {
            Ok(kept) => kept,
            Err(error) => {
                tracing::error!(%error, "failed to ask what went on meanwhile; it is ended");
                Vec::new()
            }
        };
        let (open, drafts, others) = {
            let mut conn = world.store().read().await?;
            let services = conn.services().active().await?.into_iter().map(|row| row.service.log_id);
            let terminals = conn.terminals().active().await?;
            let terminals = terminals.iter().map(|row| process_of(&row.terminal.id));
            let others = services.chain(terminals).collect();
            (conn.executions().open(None).await?, conn.fixes().open_drafts().await?, others)
        };
        let drafts = drafts.into_iter().filter_map(|draft| {
            let id = draft.execution_id?;
            Some((id.clone(), kept_launch(&kept, &id)?))
        });
        let drafts: HashMap<ExecutionId, KeptLaunch> = drafts.collect();
        let (mut found, mut there) = (HashMap::new(), HashSet::new());
        for row in open {
            let id = row.execution.id;
            if row.execution.machine_id.is_some() {
                there.insert(id);
                continue;
            }
            if let Some(launch) = kept_launch(&kept, &id) {
                found.insert(id, launch);
            }
        }
        let adopted = Self { here: found, there, drafts: drafts.keys().cloned().collect(), others };
        *locked(&world.part::<KeptDrafts>().0) = drafts;
        for kept in kept.iter().filter(|kept| !adopted.has_process(&kept.id)) {
            if let Err(error) = world.keeper().forget(&kept.id).await {
                tracing::error!(%error, id = %kept.id, "failed to end what went on meanwhile");
            }
        }
        Ok(adopted)
    }

    /// Whether a process with this marker belongs to one of them.
    pub(crate) fn has_marker(&self, marker: &str) -> bool {
        let mut all = self.here.keys().chain(&self.there).chain(&self.drafts);
        all.any(|id| marker_of(id.as_str()).0 == marker)
    }

    pub(crate) fn has(&self, id: &ExecutionId) -> bool {
        self.here.contains_key(id) || self.there.contains(id)
    }

    fn has_process(&self, kept: &str) -> bool {
        let mut runs = self.here.keys().chain(&self.drafts);
        self.others.contains(kept) || runs.any(|id| kept_ids(id).any(|it| it == kept))
    }

    /// Goes on with them, in an engine that does all work. One that does only what it is told of leaves the others to
    /// go on by themselves.
    pub(crate) async fn adopt(self, world: &World) -> Result<()> {
        let untaken = std::mem::take(&mut *locked(&world.part::<KeptDrafts>().0));
        for id in untaken.keys() {
            forget_processes(world, id).await;
        }
        let here = self.here.into_iter().map(|(id, kept)| (id, Found::Here(Box::new(kept))));
        for (id, found) in here.chain(self.there.into_iter().map(|id| (id, Found::There))) {
            let row = world.store().read().await?.executions().get(&id).await?;
            let Some(row) = row else { continue };
            let task = row.execution.task_id;
            if world.inner.config.work == Work::All {
                adopt_one(world, &task, id, found).await?;
            } else {
                locked(&world.part::<Unattended>().0).insert(task, (id, found));
            }
        }
        Ok(())
    }
}

/// Goes on with the run of a task and of its parts, in an engine that was told of the task.
pub(crate) fn adopt_named_later(world: &World, task: &TaskId) {
    let (world, task) = (world.clone(), task.clone());
    in_background(&world.clone(), async move { adopt_named(&world, &task).await });
}

async fn adopt_named(world: &World, task: &TaskId) {
    let all: Vec<TaskId> = locked(&world.part::<Unattended>().0).keys().cloned().collect();
    for one in all {
        let adopted = async {
            if one != *task && !is_part(world, &one, task).await? {
                return Ok(());
            }
            let found = locked(&world.part::<Unattended>().0).remove(&one);
            match found {
                Some((id, found)) => adopt_one(world, &one, id, found).await,
                None => Ok(()),
            }
        };
        if let Err(error) = adopted.await {
            tracing::error!(task = %one, %error, "failed to go on with a run");
        }
    }
}

async fn is_part(world: &World, task: &TaskId, of: &TaskId) -> Result<bool> {
    let mut conn = world.store().read().await?;
    let mut next = conn.tasks().get(task).await?.and_then(|row| row.parent_id);
    while let Some(id) = next {
        if id == *of {
            return Ok(true);
        }
        next = conn.tasks().get(&id).await?.and_then(|row| row.parent_id);
    }
    Ok(false)
}

async fn adopt_one(world: &World, task: &TaskId, id: ExecutionId, found: Found) -> Result<()> {
    tracing::info!(execution = %id, %task, "a run went on while no engine was there");
    run::launch_again(world, task, id.clone(), found);
    tell_again(world, task, &id).await
}

/// Tells a run the answers that were stored and that it may not have been told; it leaves alone what it was told.
/// A message that it was not told goes to the agent after the run.
pub(crate) async fn tell_again(world: &World, task: &TaskId, id: &ExecutionId) -> Result<()> {
    let mut conn = world.store().read().await?;
    for approval in conn.approvals().list(Some(task), false).await? {
        if approval.execution_id == *id && approval.status == ApprovalStatus::Answered {
            run::events::pass_on(world, &approval);
        }
    }
    Ok(())
}
