//! Preparing a worktree: the worktree itself, the files that git does not keep, the set-up commands. One log shows
//! it as it happens.
//!
//! Invariants: it can be stopped at any moment and repeated after any kill; the worktree's lock is held throughout;
//! a record becomes active only when everything is done, so a half-made one is completed.

use std::path::Path;

use forge_agents::{LogWriter, log::DEFAULT_CAP_BYTES};
use forge_git::Repo;
use forge_model::agent::Agent;
use forge_model::event::EventType;
use forge_model::ids::MachineId;
use forge_model::machine::MachineKind;
use forge_model::merge::MergeStatus;
use forge_model::task::AnnotationType;
use forge_model::transition::StepKind;
use forge_model::workspace::{Workspace, WorkspaceStatus};
use forge_store::Tx;
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::{
    EngineError, World,
    core::{
        self,
        admission::Looked,
        block_reason::BlockReason,
        context::{backup_prefix, task_branch},
        location::Location,
        worktree_lock::WorkspaceHold,
        world::step::{Effect, End, Stepping},
    },
    error::Result,
    program::{self},
    trust,
    workspace::{
        self, Found, is_present,
        reviewed::RESTORABLE,
        set_up::{Preparation, begin_phase, copy, not_made, set_up},
    },
};

/// Makes the worktree, or finds it, and makes it ready when it is new.
pub(crate) async fn prepare_workspace(
    world: &World,
    s: &Stepping,
    cancel: &CancellationToken,
) -> Result<End> {
    if !somebody_works(world, s).await? {
        return Ok(End::skipped("the role is not assigned"));
    }
    workspace::watch::unwatch(world, &s.task.id);
    let repo = core::repository::repo(world, &s.context).await?;
    let Some(restarted) = start_from_target(world, s, &repo, cancel).await? else {
        return Ok(End::Interrupted);
    };
    have_workspace(world, s, &repo, restarted, cancel).await
}

/// The worktree that a captured commit is judged in, made again from its branch where its folder is gone: work is
/// never passed unchecked because there is nothing to check it in. With the right to change a worktree that was made.
pub(crate) async fn workspace_to_judge(
    world: &World,
    s: &Stepping,
    repo: &Repo,
    cancel: &CancellationToken,
) -> Result<std::result::Result<(Workspace, Option<WorkspaceHold>), End>> {
    let present = async || {
        let last = world.store().read().await?.workspaces().last(&s.task.id).await?;
        // As the lock of a step is taken.
        Ok::<_, EngineError>(
            last.filter(|w| w.status == WorkspaceStatus::Active && Path::new(&w.path).is_dir()),
        )
    };
    if let Some(workspace) = present().await? {
        return Ok(Ok((workspace, None)));
    }
    match have_workspace(world, s, repo, None, cancel).await? {
        End::Ok(_) => {}
        end => return Ok(Err(end)),
    }
    let Some(workspace) = present().await? else {
        let message = "Could not check the work: its worktree was removed meanwhile.\nTry again.";
        return Ok(Err(End::Block(BlockReason::new(AnnotationType::EnvironmentNotReady, message))));
    };
    let holder = format!("judge-{}", s.step.id);
    Ok(match core::worktree_lock::lock_workspace(world, &s.task.id, &workspace, &holder, cancel).await? {
        Some(lock) => Ok((workspace, Some(lock))),
        None => Err(End::Interrupted),
    })
}

/// Makes the worktree, or finds it, whoever works in it.
async fn have_workspace(
    world: &World,
    s: &Stepping,
    repo: &Repo,
    restarted: Option<String>,
    cancel: &CancellationToken,
) -> Result<End> {
    let found = super::look(world, &s.context, &s.task).await?;
    let made = match &found {
        Found::Ready(workspace) => Some(workspace),
        Found::Lost(_) | Found::Gone(_) | Found::Absent => None,
    };
    trust::require_trust_of(world, &s.context, &s.task, made).await?;
    let (workspace, recovered) = match found {
        Found::Ready(workspace) => {
            super::keep_workspace(world, workspace).await?;
            return Ok(End::Ok(Some(restarted.unwrap_or_else(|| "already exists".to_owned()))));
        }
        Found::Gone(workspace) => return gone(world, s, repo, workspace).await,
        // From here on it is made to the end, whatever happens in between.
        Found::Lost(workspace) => {
            // What still runs in the folder that was removed does not see the new one.
            drop(core::world::features::leave_worktree(world, &workspace).await?);
            (Workspace { status: WorkspaceStatus::Creating, cleanup_at: None, ..workspace }, true)
        }
        Found::Absent => (super::new_record(world, repo, &s.context, &s.task).await?, false),
    };
    let workspace = match placed(world, s, workspace).await? {
        Ok(workspace) => workspace,
        Err(end) => return Ok(end),
    };
    let log_id = format!("setup-{}", workspace.id);
    let lock = core::worktree_lock::lock_workspace(world, &s.task.id, &workspace, &log_id, cancel).await?;
    let Some(_lock) = lock else { return Ok(End::Interrupted) };
    put_record(world, &workspace).await?;
    let log_dir = world.log_dir(&s.task.project_id, &s.task.id);
    let log = LogWriter::open(
        &log_dir,
        &log_id,
        &log_id,
        DEFAULT_CAP_BYTES,
        core::redaction::redactor_in(world, &s.context),
    )?;
    let growth = program::log::follow_log(world, &s.task.project_id, Some(&s.task.id), &log_id, &log);
    let preparation = Preparation { s, repo, workspace: &workspace, log: &log, log_id: &log_id };
    let unready = make_ready(world, &preparation, cancel).await;
    drop(growth);
    program::log::close_log(world, log).await?;
    if let Some(end) = unready? {
        return Ok(end);
    }
    ready(world, s, workspace, recovered, restarted).await
}

/// The record with the machine that the worktree is made on: the one that the task was given its place on.
pub(crate) async fn placed(
    world: &World,
    s: &Stepping,
    workspace: Workspace,
) -> Result<std::result::Result<Workspace, End>> {
    // Without a place of an agent, nobody else is kept off the machine that is chosen.
    let alone = match agent_of_step(world, s).await? {
        Some(_) => Looked::Nothing,
        None => core::admission::place_without_agent(world, s).await?,
    };
    let mut effects = Vec::new();
    let mut tx = world.store().write().await?;
    let placed = match place(world, &mut tx, s, alone, &mut effects).await? {
        Ok(machine_id) => {
            let placed = Workspace { machine_id, ..workspace };
            tx.workspaces_mut().put(&placed, world.now()).await?;
            Ok(placed)
        }
        // Written here and not later: whoever frees a place from now on finds the task waiting.
        Err(end) => Err(end_at_once(world, &mut tx, s, end, &mut effects).await?),
    };
    tx.commit().await?;
    core::follow::act(world, effects);
    Ok(placed)
}

/// The agent that is to start after this step: none after a race, whose winner has done the work.
async fn agent_of_step(world: &World, s: &Stepping) -> Result<Option<Agent>> {
    if s.step.kind != StepKind::PrepareWorkspace {
        return Ok(None);
    }
    let mut conn = world.store().read().await?;
    match conn.steps().is_for_agent(&s.step).await? {
        true => core::admission::agent_for(&mut conn, &s.context, &s.task).await,
        false => Ok(None),
    }
}

/// The machine of the task's place, none for this computer. A place whose machine cannot run the task any more goes to
/// others, and the task waits for another one. Where no agent starts, it is the machine that was chosen.
async fn place(
    world: &World,
    tx: &mut Tx,
    s: &Stepping,
    alone: Looked,
    effects: &mut Vec<Effect>,
) -> Result<std::result::Result<Option<MachineId>, End>> {
    let agent = core::admission::agent_for(tx, &s.context, &s.task).await?;
    let slot = tx.slots().of(&s.task.id).await?;
    if let (Some(agent), Some(slot)) = (&agent, slot) {
        if core::admission::is_place_good(world, tx, s, &slot).await? {
            return Ok(Ok(slot.machine_id));
        }
        return core::admission::give_back(world, tx, s, (agent, &slot), effects).await.map(Err);
    }
    Ok(match (alone, agent) {
        (Looked::Next(chosen), _) => Ok(chosen.machine),
        (Looked::Waits(waiting, again), _) => {
            effects.extend(again.into_iter().map(Effect::from));
            Err(End::Wait(waiting))
        }
        (Looked::Nothing, Some(agent)) => Err(core::admission::stand_in_line(&agent, effects)),
        // Its agent left meanwhile.
        (Looked::Nothing, None) => {
            effects.push(Effect::Kick(s.task.id.clone()));
            Err(End::Interrupted)
        }
    })
}

/// Writes the end of the step in this transaction, unless the task was moved meanwhile.
async fn end_at_once(
    world: &World,
    tx: &mut Tx,
    s: &Stepping,
    end: End,
    effects: &mut Vec<Effect>,
) -> Result<End> {
    let step = tx.steps().next(&s.task.id).await?.filter(|step| step.id == s.step.id);
    let (Some(mut step), Some(mut task)) = (step, tx.tasks().get(&s.task.id).await?) else {
        return Ok(End::Interrupted);
    };
    let go_on = core::outcome::record(world, tx, &s.context, &mut task, &mut step, end, effects).await?;
    Ok(End::Written(go_on))
}

/// A task that is opened again after its commits were merged as other ones begins at its target: on its old branch
/// it would conflict with its own work. What the branch held is kept as a backup. Says so when it did; none when
/// cancelled first.
async fn start_from_target(
    world: &World,
    s: &Stepping,
    repo: &Repo,
    cancel: &CancellationToken,
) -> Result<Option<Option<String>>> {
    let Some(start) = later_start(world, s, repo).await? else { return Ok(Some(None)) };
    let workspace = world.store().read().await?.workspaces().last(&s.task.id).await?;
    let present = workspace.filter(is_present);
    let _lock = match &present {
        Some(workspace) => {
            match core::worktree_lock::lock_workspace(
                world,
                &s.task.id,
                workspace,
                &format!("reopen-{}", s.step.id),
                cancel,
            )
            .await?
            {
                Some(lock) => Some(lock),
                None => return Ok(None),
            }
        }
        None => None,
    };
    start_later(world, s, repo, present, start).await.map(|done| Some(Some(done)))
}

/// The same for a task that goes to a gate at once: work that was merged as other commits is none of the work that is
/// reviewed now. Whatever came to it since stays. The step has the lock of a worktree that is active.
pub(crate) async fn review_from_target(
    world: &World,
    s: &Stepping,
    repo: &Repo,
    present: Option<&Workspace>,
    cancel: &CancellationToken,
) -> Result<Option<Option<String>>> {
    let start = later_start(world, s, repo).await?.filter(|start| start.merged == start.tip);
    let Some(start) = start else { return Ok(Some(None)) };
    let _lock = match present.filter(|workspace| workspace.status != WorkspaceStatus::Active) {
        Some(workspace) => {
            let holder = format!("reopen-{}", s.step.id);
            match core::worktree_lock::lock_workspace(world, &s.task.id, workspace, &holder, cancel).await? {
                Some(lock) => Some(lock),
                None => return Ok(None),
            }
        }
        None => None,
    };
    if let Some(workspace) = present {
        let worktree = core::repository::worktree(world, &s.context, workspace).await?;
        if !worktree.path().join(".git").exists() {
            return Ok(Some(None));
        }
        if worktree.head().await? != start.tip || !worktree.uncommitted().await?.is_empty() {
            return Ok(Some(None));
        }
    }
    start_later(world, s, repo, present.cloned(), start).await.map(|done| Some(Some(done)))
}

/// Where a task begins whose branch has commits that its target has as other ones; none when it goes on where it is.
async fn later_start(world: &World, s: &Stepping, repo: &Repo) -> Result<Option<LaterStart>> {
    let last = world.store().read().await?.merges().last(&s.task.id).await?;
    let Some(merged) = last.filter(|merged| merged.status == MergeStatus::Landed) else {
        return Ok(None);
    };
    let tip = repo.resolve(&format!("refs/heads/{}", task_branch(&s.task))).await?;
    let onto = repo.resolve(&format!("refs/heads/{}", s.context.target_branch(&s.task))).await?;
    let (Some(tip), Some(onto), Some(commit)) = (tip, onto, merged.merge_commit) else {
        return Ok(None);
    };
    let holds_old = repo.resolve(&merged.source_commit).await?.is_some()
        && repo.is_ancestor(&merged.source_commit, &tip).await?
        && !repo.is_ancestor(&merged.source_commit, &onto).await?;
    let is_merged = repo.resolve(&commit).await?.is_some() && repo.is_ancestor(&commit, &onto).await?;
    Ok((holds_old && is_merged).then_some(LaterStart { tip, onto, merged: merged.source_commit }))
}

/// Moves a task's branch to its target; says so.
async fn start_later(
    world: &World,
    s: &Stepping,
    repo: &Repo,
    present: Option<Workspace>,
    start: LaterStart,
) -> Result<String> {
    let LaterStart { tip, onto, .. } = start;
    let mut worktree = None;
    if let Some(workspace) = &present {
        super::nested::mend_worktree(world, &s.context, &s.task, workspace).await?;
        worktree = Some(core::repository::worktree(world, &s.context, workspace).await?);
    }
    repo.move_branch(worktree.as_ref(), &task_branch(&s.task), &tip, &onto, &backup_prefix(&s.task)).await?;
    world.point("workspace.restarted");
    if let Some(workspace) = present {
        let moved = Workspace { base_commit: onto, ..workspace };
        let mut tx = world.store().write().await?;
        tx.workspaces_mut().put(&moved, world.now()).await?;
        tx.commit().await?;
    }
    workspace::unmerged::count_unmerged(world, &s.task.id).await;
    let target = s.context.target_branch(&s.task);
    Ok(format!("started from {target}; the earlier commits are kept as a backup"))
}

async fn somebody_works(world: &World, s: &Stepping) -> Result<bool> {
    let Some(role) = s.context.workflow.state(&s.task.status).and_then(|state| state.role.as_deref()) else {
        return Ok(false);
    };
    let mut conn = world.store().read().await?;
    Ok(conn.roles().holder(&s.task.id, role).await?.is_some())
}

async fn gone(world: &World, s: &Stepping, repo: &Repo, workspace: Workspace) -> Result<End> {
    let restorable = workspace::reviewed::known_commit(world, repo, &s.task).await?;
    let _left = core::world::features::leave_worktree(world, &workspace).await?;
    let mut tx = world.store().write().await?;
    tx.workspaces_mut().delete(&workspace.id).await?;
    tx.commit().await?;
    let message = format!("the worktree {} and its branch {} are missing", workspace.path, workspace.branch);
    let mut trouble = BlockReason::new(AnnotationType::WorkspaceResetRequired, message);
    trouble.details = json!({ RESTORABLE: restorable });
    Ok(End::Block(trouble))
}

async fn put_record(world: &World, workspace: &Workspace) -> Result<()> {
    let mut tx = world.store().write().await?;
    let begun = Workspace { error: None, cleanup_at: None, ..workspace.clone() };
    tx.workspaces_mut().put(&begun, world.now()).await?;
    tx.commit().await?;
    Ok(())
}

async fn ready(
    world: &World,
    s: &Stepping,
    workspace: Workspace,
    recovered: bool,
    restarted: Option<String>,
) -> Result<End> {
    let mut tx = world.store().write().await?;
    let ready = Workspace { status: WorkspaceStatus::Active, error: None, cleanup_at: None, ..workspace };
    tx.workspaces_mut().put(&ready, world.now()).await?;
    let event = if recovered { EventType::WorkspaceRecovered } else { EventType::WorkspaceCreated };
    world.emit(&mut tx, event, &s.task, ready.id.as_str(), &json!({ "path": ready.path })).await?;
    tx.commit().await?;
    super::disk::measure_later(world, &s.task.id);
    Ok(End::Ok(restarted.or_else(|| recovered.then(|| "recreated from its branch".to_owned()))))
}

/// The three phases. An end is given when one of them fails, waits or is stopped.
async fn make_ready(world: &World, p: &Preparation<'_>, cancel: &CancellationToken) -> Result<Option<End>> {
    begin_phase(world, p, "worktree").await?;
    let made = tokio::select! {
        // What is dropped half-way is made anew by the next try.
        () = cancel.cancelled() => return Ok(Some(End::Interrupted)),
        made = super::make(world, p.repo, &p.s.context, p.workspace) => made,
    };
    if let Err(error) = made {
        return Ok(Some(not_made(world, p, error).await?));
    }
    world.point("workspace.made");
    // No file of the user's checkout goes to another machine.
    if p.workspace.machine_id.is_none()
        && let Some(end) = copy(world, p, cancel).await?
    {
        return Ok(Some(end));
    }
    world.point("workspace.copied");
    let Some(mut commands) = set_up_of_image(world, p, cancel).await? else {
        return Ok(Some(End::Interrupted));
    };
    commands.extend(p.s.context.settings.setup.iter().cloned());
    if !commands.is_empty() {
        // The user's own files that were copied count as well.
        trust::require_trust_of(world, &p.s.context, &p.s.task, Some(p.workspace)).await?;
    }
    for (index, command) in commands.iter().enumerate() {
        begin_phase(world, p, &format!("setup {} of {}: {command}", index + 1, commands.len())).await?;
        if let Some(end) = set_up(world, p, index, command, cancel).await? {
            return Ok(Some(end));
        }
    }
    Ok(None)
}

/// What the image of the task's container has done in a new worktree; none when that was stopped. The container is made
/// here, image included, which may take minutes, and so is the job, which may wait for hours.
async fn set_up_of_image(
    world: &World,
    p: &Preparation<'_>,
    cancel: &CancellationToken,
) -> Result<Option<Vec<String>>> {
    let Some(id) = &p.workspace.machine_id else { return Ok(Some(Vec::new())) };
    let machine = world.store().read().await?.machines().get(id).await?;
    let phase = match machine.map(|machine| machine.kind) {
        None | Some(MachineKind::Ssh) => return Ok(Some(Vec::new())),
        Some(MachineKind::Container) => "container",
        Some(MachineKind::Slurm | MachineKind::Kubernetes) => "job",
    };
    begin_phase(world, p, phase).await?;
    match core::location::location_of(world, Some(p.workspace), cancel).await? {
        Some(Location::There(there)) => there.after_create(world, cancel).await,
        Some(Location::Here) => Ok(Some(Vec::new())),
        None => Ok(None),
    }
}

/// Where a task that is opened again begins.
struct LaterStart {
    /// Where its branch is.
    tip: String,
    /// Where its target is.
    onto: String,
    /// What of the branch was merged.
    merged: String,
}
