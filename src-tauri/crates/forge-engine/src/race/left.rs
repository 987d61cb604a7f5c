//! What is left of a race: uncommitted work, worktrees, branches, logs, and when each of them goes.
//!
//! Nothing that an entry wrote is lost before its time: what it had not committed when it was stopped becomes a
//! commit on top of what it had, and a branch keeps that as long as the project keeps losers. Every part may run
//! again after a kill and finds what is done.

use std::path::Path;

use forge_git::Repo;
use forge_model::execution::ExecutionRole;
use forge_model::ids::{RaceId, TaskId};
use forge_model::race::{Race, RaceEntry, RaceEntryStatus, RaceStatus, kept_branch};
use forge_model::task::DiffStat;
use forge_model::time::Timestamp;
use forge_model::workspace::WorkspaceStatus;
use forge_store::table::tasks::TaskRow;

use crate::{
    ConflictCode, EngineError, World,
    core::{
        self,
        context::{ProjectContext, backup_prefix, backup_prefix_of, task_branch},
    },
    error::Result,
    race,
    run::{self, attachments::remove_folder},
    workspace::{
        self,
        removal::{Goes, RETRY_MS},
    },
};

/// A day in milliseconds.
const DAY_MS: i64 = 24 * 60 * 60 * 1000;

/// What an entry had not committed, as a commit.
pub(crate) struct Saved {
    commit: String,
    stat: DiffStat,
}

impl Saved {
    /// It is the entry's work from now on.
    pub(crate) fn into_entry(self, entry: &mut RaceEntry) {
        entry.commit = Some(self.commit);
        entry.diff_stat = Some(self.stat);
    }
}

/// Commits what an entry left that was stopped or failed before its work was committed; nothing when there is none.
/// The caller has ended its run.
pub(crate) async fn save_entry(
    world: &World,
    context: &ProjectContext,
    task: &TaskRow,
    base: &str,
) -> Option<Saved> {
    // The race goes on without it; the worktree's content is backed up before it goes in any case.
    try_save_entry(world, context, task, base).await.unwrap_or_else(|error| {
        tracing::warn!(entry = %task.id, %error, "failed to commit what an entry of a race left");
        None
    })
}

async fn try_save_entry(
    world: &World,
    context: &ProjectContext,
    task: &TaskRow,
    base: &str,
) -> Result<Option<Saved>> {
    let (run, workspace) = {
        let mut conn = world.store().read().await?;
        let run = conn.executions().last_of(&task.id, ExecutionRole::Coder).await?;
        (run, conn.workspaces().last(&task.id).await?)
    };
    let is_unsaved = run.is_some_and(|row| row.execution.after_commit.is_none());
    let present = workspace.filter(|it| it.status != WorkspaceStatus::Cleaned);
    let Some(workspace) = present.filter(|it| is_unsaved && Path::new(&it.path).is_dir()) else {
        return Ok(None);
    };
    let worktree = core::repository::worktree(world, context, &workspace).await?;
    workspace::nested::mend_worktree(world, context, task, &workspace).await?;
    let author = context.settings.author.as_ref().map(|it| (it.name.as_str(), it.email.as_str()));
    let message = format!("{}\n\nTask #{}, as of its stop", task.title, task.number);
    let message = core::redaction::redacted_in(world, context, message);
    let commit = match worktree.snapshot(&message, author).await? {
        Some(commit) => commit,
        None => worktree.head().await?,
    };
    let counts = worktree.repo().diff_counts(base, &commit).await?;
    let stat = DiffStat { files: counts.files, added: counts.added, removed: counts.removed };
    Ok(Some(Saved { commit, stat }))
}

/// Clears one race that is over: runs, worktrees, branches that only the race needed. Says what could not go yet.
pub(crate) async fn clear_race(
    world: &World,
    project: &ProjectContext,
    mut race: Race,
) -> Result<Vec<String>> {
    let context = project.for_entries()?;
    let repo = core::repository::repo(world, project).await?;
    let mut kept = Vec::new();
    for index in 0..race.entries.len() {
        kept.extend(clear_entry(world, &context, &repo, &mut race, index).await?);
    }
    let days = i64::from(race.keep_losers_days);
    race.losers_until = Some(race.finished_at.unwrap_or_else(|| world.now()).plus_ms(days * DAY_MS));
    let mut tx = world.store().write().await?;
    tx.races_mut().put(&race).await?;
    if kept.is_empty() {
        tx.races_mut().set_cleared(&race.id).await?;
    }
    tx.commit().await?;
    world.point("race.cleared");
    if let Some(at) = race.losers_until {
        forget_losers_at(world, race.id, at);
    }
    Ok(kept)
}

/// Clears one of its entries; says why its worktree cannot go yet.
async fn clear_entry(
    world: &World,
    context: &ProjectContext,
    repo: &Repo,
    race: &mut Race,
    index: usize,
) -> Result<Option<String>> {
    let (base, race_id, number) = (race.base_commit.clone(), race.id.clone(), race.number);
    let promoted = race.winner.clone().filter(|_| race.status == RaceStatus::Promoted);
    let raced = race.task_id.clone();
    let Some(entry) = race.entries.get_mut(index) else { return Ok(None) };
    let _hold = core::workers::hold(world, &entry.task_id).await;
    run::running::stop_run(world, &entry.task_id).await;
    let Some(task) = world.store().read().await?.tasks().get(&entry.task_id).await? else {
        return Ok(None);
    };
    let cut_short = !entry.status.is_over();
    let unsaved = if cut_short { save_entry(world, context, &task, &base).await } else { None };
    let mut tx = world.store().write().await?;
    if cut_short {
        super::look_at_entry(&mut tx, context, &base, entry).await?;
        if let Some(saved) = unsaved {
            saved.into_entry(entry);
        }
        entry.status = RaceEntryStatus::Cancelled;
        entry.finished_at = Some(world.now());
        tx.races_mut().put_entry(&race_id, entry).await?;
    }
    race::put_out(world, &mut tx, context, &entry.task_id).await?;
    let workspace = tx.workspaces().last(&entry.task_id).await?;
    tx.commit().await?;
    if let Some(workspace) = workspace.filter(|w| w.status != WorkspaceStatus::Cleaned)
        && let Err(reason) =
            workspace::removal::remove_workspace(world, context, &task, workspace, Goes::ForReuse).await?
    {
        return Ok(Some(format!("{}: {reason}", entry.strategy)));
    }
    world.point("race.entry_cleared");
    let own = task_branch(&task);
    let wins = promoted.as_ref() == Some(&entry.strategy);
    let name = kept_branch(&raced, number, &entry.strategy);
    if let Some(tip) = repo.resolve(&format!("refs/heads/{own}")).await? {
        if !wins {
            let work = with_what_was_saved(repo, &tip, entry.commit.as_ref()).await?;
            // Of an entry that did nothing there is nothing to keep.
            if work != base {
                keep_branch(repo, &name, &work).await?;
            }
            entry.commit = Some(work);
        } else if !is_part_of(repo, &tip, entry.commit.as_ref()).await? {
            // Committed on the entry's branch after its run ended: not promoted.
            repo.next_number(&backup_prefix_of(&raced), &tip).await?;
        }
        repo.delete_branch(&own, &tip).await?;
    }
    let is_kept = !wins && repo.resolve(&format!("refs/heads/{name}")).await?.is_some();
    entry.branch = is_kept.then_some(name);
    Ok(None)
}

/// Removes everything of a task's races before the task itself goes. What its losers did goes to the backups of
/// the task, as nobody else knows of it any more.
pub(crate) async fn remove_races(world: &World, context: &ProjectContext, task: &TaskRow) -> Result<()> {
    let ids = |races: Vec<Race>| races.into_iter().map(|race| race.id).collect::<Vec<_>>();
    for id in ids(world.store().read().await?.races().list(&task.id).await?) {
        let Some(race) = race_by_id(world, &task.id, &id).await? else { continue };
        if let Some(reason) = clear_race(world, context, race).await?.first() {
            let message = format!("could not remove a worktree of its race: {reason}");
            return Err(EngineError::conflict(ConflictCode::InUse, message));
        }
        let Some(race) = race_by_id(world, &task.id, &id).await? else { continue };
        let repo = core::repository::repo(world, context).await?;
        for entry in &race.entries {
            if let Some(branch) = &entry.branch
                && let Some(tip) = repo.resolve(&format!("refs/heads/{branch}")).await?
                && !repo.is_checked_out(branch).await?
            {
                repo.next_number(&backup_prefix(task), &tip).await?;
                repo.delete_branch(branch, &tip).await?;
            }
            let mut tx = world.store().write().await?;
            tx.tasks_mut().delete(&entry.task_id).await?;
            tx.commit().await?;
            remove_folder(&world.log_dir(&context.project.id, &entry.task_id)).await?;
        }
    }
    Ok(())
}

async fn race_by_id(world: &World, task: &TaskId, id: &RaceId) -> Result<Option<Race>> {
    let all = world.store().read().await?.races().list(task).await?;
    Ok(all.into_iter().find(|race| race.id == *id))
}

/// Plans when the losers of every race go that are kept still. Called once at start.
pub(crate) async fn plan_forgetting(world: &World) -> Result<()> {
    for race in world.store().read().await?.races().kept().await? {
        if let Some(at) = race.losers_until {
            forget_losers_at(world, race.id, at);
        }
    }
    Ok(())
}

/// Has the losers of a race go when their time has come.
fn forget_losers_at(world: &World, id: RaceId, at: Timestamp) {
    core::guarded::keep_going(world, move |world: World| {
        let id = id.clone();
        async move {
            if core::sleep::sleep_until(&world, at).await
                && let Err(error) = forget_losers(&world, &id).await
            {
                tracing::error!(%error, "failed to remove what is kept of a lost race; trying again");
                let again = world.now().plus_ms(RETRY_MS);
                forget_losers_at(&world, id, again);
            }
        }
    });
}

/// Removes branches and logs of a race's losers. What is known of them stays, and so does what the winner did.
async fn forget_losers(world: &World, id: &RaceId) -> Result<()> {
    let found = world.store().read().await?.races().kept().await?.into_iter().find(|race| race.id == *id);
    let Some(found) = found.filter(|race| race.losers_until.is_some_and(|at| at <= world.now())) else {
        return Ok(());
    };
    // By the wall clock their days are over; by the time that was observed, perhaps not.
    let days = found.keep_losers_days;
    let made = found.losers_until.map(|until| until.plus_ms(-i64::from(days) * DAY_MS));
    if days > 0 && core::observed_time::older_than(world, days).await?.is_none_or(|until| made > Some(until))
    {
        forget_losers_at(world, id.clone(), world.now().plus_ms(DAY_MS));
        return Ok(());
    }
    let (context, is_cleared) = {
        let mut conn = world.store().read().await?;
        let left = conn.races().uncleared(&found.task_id).await?;
        let (_, context) = core::load::load(world, &mut conn, &found.task_id, None).await?;
        (context, !left.iter().any(|race| race.id == *id))
    };
    if !is_cleared && !clear_race(world, &context, found.clone()).await?.is_empty() {
        forget_losers_at(world, id.clone(), world.now().plus_ms(DAY_MS));
        return Ok(());
    }
    let Some(mut race) = race_by_id(world, &found.task_id, id).await? else { return Ok(()) };
    let repo = core::repository::repo(world, &context).await?;
    let promoted = race.winner.clone().filter(|_| race.status == RaceStatus::Promoted);
    for entry in race.entries.iter_mut().filter(|entry| promoted.as_ref() != Some(&entry.strategy)) {
        // A branch that somebody went on with is theirs.
        if let Some((branch, commit)) = entry.branch.take().zip(entry.commit.take())
            && repo.resolve(&format!("refs/heads/{branch}")).await?.as_ref() == Some(&commit)
            && !repo.is_checked_out(&branch).await?
        {
            repo.delete_branch(&branch, &commit).await?;
        }
        remove_folder(&world.log_dir(&context.project.id, &entry.task_id)).await?;
    }
    race.losers_until = None;
    let mut tx = world.store().write().await?;
    tx.races_mut().put(&race).await?;
    tx.commit().await?;
    world.point("race.forgotten");
    world.made_progress();
    Ok(())
}

/// The work of an entry: its branch, or what was saved on top of it.
async fn with_what_was_saved(repo: &Repo, tip: &str, saved: Option<&String>) -> Result<String> {
    match saved {
        Some(saved) if repo.is_ancestor(tip, saved).await? => Ok(saved.clone()),
        _ => Ok(tip.to_owned()),
    }
}

/// Whether a commit is in the history of what was promoted.
async fn is_part_of(repo: &Repo, tip: &str, promoted: Option<&String>) -> Result<bool> {
    match promoted {
        Some(promoted) => Ok(repo.is_ancestor(tip, promoted).await?),
        None => Ok(false),
    }
}

async fn keep_branch(repo: &Repo, name: &str, tip: &str) -> Result<()> {
    let full = format!("refs/heads/{name}");
    let before = match repo.resolve(&full).await? {
        Some(there) if there == tip => return Ok(()),
        there => there.unwrap_or_default(),
    };
    Ok(repo.update_ref(&full, tip, &before, "forge: an entry of a race").await?)
}
