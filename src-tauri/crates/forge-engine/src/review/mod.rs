//! The reviewed commit: what a review is about, what else a task holds, and what may be merged.
//!
//! The rule: the engine finishes a task only with its reviewed commit in the target. Entering a gate commits what
//! the worktree holds (`review/capture.rs`). From then on the diff, the checks, the reviewing agent, the approval
//! and the merge read the commit from the review's row alone, and [`approved_work`] is the one place that says what
//! is merged.
//!
//! Invariants: a review's row never names a commit that no ref under [`REVIEWED`] holds. A missing repository,
//! branch or commit is reported as such and is never "nothing to merge".

pub(crate) mod audit;
pub(crate) mod capture;
pub(crate) mod check;
pub(crate) mod check_offers;
pub(crate) mod checks;
pub(crate) mod command;
pub(crate) mod comments;
pub(crate) mod contribution;
pub(crate) mod decision;
pub(crate) mod plan_gate;
pub(crate) mod rejection;
pub(crate) mod stagnation;
pub(crate) mod unpushed;

use forge_git::Repo;
use forge_model::event::EventType;
use forge_model::ids::TaskId;
use forge_model::race::RaceStatus;
use forge_model::review::{Review, ReviewStatus, WorkChanged};
use forge_model::task::AnnotationType;
use forge_model::time::Timestamp;
use forge_model::transition::{StepKind, StepOutcome};
use forge_model::workflow::Action;
use forge_store::table::{steps, tasks::TaskRow};
use forge_store::{ReadConnection, Tx};
use serde_json::json;

use crate::{
    ConflictCode, EngineError, World,
    core::{
        self,
        block_reason::BlockReason,
        context::{ProjectContext, task_branch},
        repository::present_repo,
    },
    error::Result,
    workspace::{
        self, is_present,
        reviewed::{RESTORABLE, known_commit, reviewed_prefix},
        unmerged::count_unmerged,
    },
};

/// How much of a commit's name is shown.
const SHORT: usize = 10;

/// The beginning of a commit's name, as people read it.
pub(crate) fn short(commit: &str) -> &str {
    commit.get(..SHORT).unwrap_or(commit)
}

/// What a task that stands at the merge may have merged.
pub(crate) enum Approved {
    /// This commit.
    Commit(String),
    /// Nothing: no work on the task was ever begun.
    NeverStarted,
    /// It cannot be said, since something is missing.
    Missing(Box<BlockReason>),
}

/// Keeps the commit that a review is about reachable; to be called before the review's row names it.
pub(crate) async fn keep_reviewed(repo: &Repo, task: &TaskId, attempt: u32, commit: &str) -> Result<()> {
    let name = format!("{}/{attempt}", reviewed_prefix(task));
    let old = repo.resolve(&name).await?;
    if old.as_deref() == Some(commit) {
        return Ok(());
    }
    let reason = format!("forge: reviewed, attempt {attempt}");
    Ok(repo.update_ref(&name, commit, old.as_deref().unwrap_or_default(), &reason).await?)
}

/// Makes a commit the one that an undecided review is about. Passes on another commit's files do not count for it.
pub(crate) async fn review_commit(
    world: &World,
    repo: &Repo,
    review: &mut Review,
    commit: String,
) -> Result<()> {
    keep_reviewed(repo, &review.task_id, review.attempt_number, &commit).await?;
    review.reviewed_commit = Some(commit);
    let mut tx = world.store().write().await?;
    tx.reviews_mut().update(review).await?;
    tx.reviews_mut().set_tree(&review.id, None).await?;
    tx.commit().await?;
    Ok(())
}

/// What a task holds besides the commit that a review is about; none when that is all, or when its branch or
/// repository is missing, which the merge tells.
pub(crate) async fn work_changed(
    world: &World,
    context: &ProjectContext,
    task: &TaskRow,
    review: &Review,
) -> Result<Option<WorkChanged>> {
    let Some(reviewed) = &review.reviewed_commit else { return Ok(None) };
    let (workspace, by_checks) = {
        let mut conn = world.store().read().await?;
        let workspace = conn.workspaces().last(&task.id).await?;
        (workspace, conn.reviews().check_files(&review.id).await?)
    };
    let Some(repo) = present_repo(world, context).await? else { return Ok(None) };
    let Some(mut tip) = repo.resolve(&format!("refs/heads/{}", task_branch(task))).await? else {
        return Ok(None);
    };
    let mut uncommitted = Vec::new();
    if let Some(workspace) = workspace.filter(is_present) {
        workspace::nested::mend_worktree(world, context, task, &workspace).await?;
        let worktree = core::repository::worktree(world, context, &workspace).await?;
        worktree.reveal_hidden().await?;
        let head = worktree.head().await?;
        if tip == *reviewed {
            // Commits may have been made beside the branch.
            tip = head;
        }
        let changes = worktree.status().await?;
        let paths = changes.into_iter().filter(|it| !it.untracked || !by_checks.contains(&it.path));
        uncommitted = paths.map(|it| it.path).collect();
    }
    if tip == *reviewed && uncommitted.is_empty() {
        return Ok(None);
    }
    let commits = repo.commits_outside(&tip, std::slice::from_ref(reviewed)).await?;
    Ok(Some(WorkChanged { reviewed_commit: reviewed.clone(), tip_commit: tip, commits, uncommitted }))
}

/// Refuses an approval of other work than what was reviewed. What differs is kept with the task, so that the ways on
/// are offered.
pub(crate) async fn require_reviewed_work(
    world: &World,
    context: &ProjectContext,
    task: &TaskRow,
    review: &Review,
    named: Option<&str>,
) -> Result<()> {
    let changed = work_changed(world, context, task, review).await?;
    keep_work_changed(world, task, changed.as_ref()).await?;
    let other = named.filter(|named| !is_named(review.reviewed_commit.as_deref(), named));
    let (message, details) = match (changed, other) {
        (Some(changed), _) => (told(&changed), json!(changed)),
        (None, Some(named)) => {
            let reviewed = review.reviewed_commit.as_deref();
            let message = format!(
                "Could not approve {}: the review is about {}.\nRead the changes again, then approve that commit.",
                short(named),
                reviewed.map_or("no commit", short),
            );
            let details = json!({ "reviewed_commit": reviewed, "tip_commit": reviewed, "uncommitted": [] });
            (message, details)
        }
        (None, None) => return Ok(()),
    };
    Err(EngineError::Conflict { code: ConflictCode::WorkChangedSinceReview, message, details })
}

/// Notes how a task's work differs from the reviewed commit that a person is to approve, after Forge itself changed
/// the work.
pub(crate) async fn look_at_changed_work(world: &World, id: &TaskId) -> Result<()> {
    count_unmerged(world, id).await;
    core::world::features::work_changed(world, id).await;
    let (task, context, review) = {
        let mut conn = world.store().read().await?;
        let (task, context) = core::load::load(world, &mut conn, id, None).await?;
        (task, context, conn.reviews().last(id).await?)
    };
    let kind = task.error_annotation.as_ref().map(|annotation| annotation.kind);
    let approvable = kind.is_some_and(forge_model::offer::may_approve);
    let Some(review) = review.filter(|_| approvable) else { return Ok(()) };
    let changed = work_changed(world, &context, &task, &review).await?;
    keep_work_changed(world, &task, changed.as_ref()).await
}

/// Stores how a task's work differs from the reviewed commit, when that is news.
pub(crate) async fn keep_work_changed(
    world: &World,
    task: &TaskRow,
    changed: Option<&WorkChanged>,
) -> Result<()> {
    if task.work_changed.as_ref() == changed {
        return Ok(());
    }
    let mut tx = world.store().write().await?;
    tx.tasks_mut().set_work_changed(&task.id, changed).await?;
    let facts = json!({ "work_changed": changed.is_some() });
    world.emit(&mut tx, EventType::TaskUpdated, task, task.id.as_str(), &facts).await?;
    tx.commit().await?;
    Ok(())
}

/// What is merged for a task: the commit of its latest review that passed.
pub(crate) async fn approved_work(
    world: &World,
    context: &ProjectContext,
    task: &TaskRow,
) -> Result<Approved> {
    let (all, started, unchosen) = {
        let mut conn = world.store().read().await?;
        let all = conn.reviews().list(&task.id).await?;
        (all, was_started(&mut conn, task).await?, lacks_winner(&mut conn, task).await?)
    };
    // What a rebase of Forge's own came to, other than a pass, is no judgement of the work.
    let merges =
        |state: &str| context.workflow.state(state).is_some_and(|state| state.has_action(Action::RunMerge));
    let judged = |review: &&Review| review.status == ReviewStatus::Passed || !merges(&review.state);
    let passed = all.iter().rev().find(judged).filter(|review| review.status == ReviewStatus::Passed);
    let reviewed = passed.and_then(|review| review.reviewed_commit.clone());
    let branch = task_branch(task);
    let missing = |what: &str, name: &str, restorable: Option<&str>| {
        let place = &context.project.repo_path;
        let remedy = match what {
            "repository" => "Move the repository back, then try again.",
            "branch" if restorable.is_some() => "Restore the branch, or reset the worktree.",
            _ => "Restore it from a copy of the repository, then try again.",
        };
        let message = match what {
            "repository" => format!("Could not merge: there is no repository at {place}.\n{remedy}"),
            _ => format!("Could not merge: the {what} {name} is missing in {place}.\n{remedy}"),
        };
        let mut trouble = BlockReason::new(AnnotationType::WorkMissing, message);
        trouble.details =
            json!({ "missing": what, "name": name, "repository": place, RESTORABLE: restorable });
        Approved::Missing(Box::new(trouble))
    };
    let Some(repo) = present_repo(world, context).await? else {
        return Ok(missing("repository", &context.project.repo_path, None));
    };
    let target = context.target_branch(task);
    if repo.resolve(&format!("refs/heads/{target}")).await?.is_none() {
        return Ok(missing("target branch", &target, None));
    }
    if repo.resolve(&format!("refs/heads/{branch}")).await?.is_none() {
        if !started && reviewed.is_none() {
            return Ok(match unchosen {
                true => Approved::Missing(Box::new(no_winner("merge"))),
                false => Approved::NeverStarted,
            });
        }
        let known = match &reviewed {
            Some(commit) => repo.resolve(commit).await?,
            None => known_commit(world, &repo, task).await?,
        };
        return Ok(missing("branch", &branch, known.as_deref()));
    }
    match reviewed {
        Some(commit) if repo.resolve(&commit).await?.is_some() => Ok(Approved::Commit(commit)),
        Some(commit) => Ok(missing("reviewed commit", &commit, None)),
        None => Ok(missing("review that passed for the branch", &branch, None)),
    }
}

/// Restores the missing branch of a task at the reviewed commit.
pub(crate) async fn restore_branch(world: &World, task: &TaskRow, context: &ProjectContext) -> Result<()> {
    let details = task.error_annotation.as_ref().map(|annotation| &annotation.details);
    let commit = details.and_then(|details| details.get(RESTORABLE)).and_then(|commit| commit.as_str());
    let commit = commit.ok_or_else(|| EngineError::not_found("reviewed commit of task", &task.id))?;
    let repo = core::repository::repo(world, context).await?;
    let name = format!("refs/heads/{}", task_branch(task));
    if repo.resolve(&name).await?.is_some() {
        return Ok(());
    }
    Ok(repo.update_ref(&name, commit, "", "forge: restored at the reviewed commit").await?)
}

/// Whether a worktree was ever made for a task, or an agent worked on it.
async fn was_started(conn: &mut ReadConnection, task: &TaskRow) -> Result<bool> {
    if conn.workspaces().last(&task.id).await?.is_some() {
        return Ok(true);
    }
    let prepared = |step: &steps::StepRow| {
        step.kind == StepKind::PrepareWorkspace && step.outcome == Some(StepOutcome::Ok)
    };
    Ok(conn.steps().list(&task.id).await?.iter().any(prepared)
        || !conn.executions().list(&task.id).await?.is_empty())
}

/// Whether entries of a task's race worked and none of them became the task's work.
pub(crate) async fn lacks_winner(conn: &mut ReadConnection, task: &TaskRow) -> Result<bool> {
    let last = conn.races().last(&task.id).await?;
    if last.is_none_or(|race| race.status == RaceStatus::Promoted) {
        return Ok(false);
    }
    for entry in conn.tasks().race_entries(&task.id).await? {
        if !conn.executions().list(&entry.id).await?.is_empty() {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Why a task whose race has no winner cannot go on.
pub(crate) fn no_winner(what: &str) -> BlockReason {
    let message = format!(
        "Could not {what}: the task was raced, and no entry is the winner.\nMove the task back to \
         work to race again or to choose a winner."
    );
    let mut trouble = BlockReason::new(AnnotationType::WorkMissing, message);
    trouble.details = json!({ "missing": "winner" });
    trouble
}

/// Whether a commit is the one that somebody names, in full or by its beginning.
fn is_named(commit: Option<&str>, named: &str) -> bool {
    const SHORTEST: usize = 7;
    commit.is_some_and(|commit| commit == named || (named.len() >= SHORTEST && commit.starts_with(named)))
}

fn told(changed: &WorkChanged) -> String {
    format!(
        "Could not approve {}: {} came after the review.\nReview again, or merge the reviewed commit alone.",
        short(&changed.reviewed_commit),
        parts(changed),
    )
}

/// What came after a review, in words: `1 commit and 2 uncommitted files`.
pub(crate) fn parts(changed: &WorkChanged) -> String {
    use forge_model::words::counted;
    let files = changed.uncommitted.len() as u64;
    let commits = counted(u64::from(changed.commits), "commit", "commits");
    let files = (files > 0).then(|| counted(files, "uncommitted file", "uncommitted files"));
    match (changed.commits, files) {
        (0, Some(files)) => files,
        // The branch was moved back, or its commits were replaced.
        (0, None) => format!("a move of the branch to {}", short(&changed.tip_commit)),
        (_, None) => commits,
        (_, Some(files)) => format!("{commits} and {files}"),
    }
}

/// Ends the review that waits for a person, because a newer one takes its place.
pub(crate) async fn supersede_review(tx: &mut Tx, task: &TaskId, at: Timestamp) -> Result<()> {
    if let Some(mut review) = tx.reviews().last(task).await?
        && matches!(review.status, ReviewStatus::Running | ReviewStatus::AwaitingHuman)
    {
        review.status = ReviewStatus::Cancelled;
        review.finished_at = Some(at);
        tx.reviews_mut().update(&review).await?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn changed(commits: u32, uncommitted: &[&str]) -> WorkChanged {
        WorkChanged {
            reviewed_commit: "1111111111aaaaaaaaaa".into(),
            tip_commit: "2222222222bbbbbbbbbb".into(),
            commits,
            uncommitted: uncommitted.iter().map(|path| (*path).to_owned()).collect(),
        }
    }

    #[test]
    fn changed_work_is_told_by_commits_and_files() {
        assert_eq!(parts(&changed(1, &[])), "1 commit");
        assert_eq!(parts(&changed(0, &["a", "b"])), "2 uncommitted files");
        assert_eq!(parts(&changed(2, &["a"])), "2 commits and 1 uncommitted file");
        assert_eq!(parts(&changed(0, &[])), "a move of the branch to 2222222222");
    }

    #[test]
    fn a_commit_is_named_in_full_or_by_seven_digits() {
        let commit = Some("1234567890abcdef");
        assert!(is_named(commit, "1234567890abcdef") && is_named(commit, "1234567"));
        assert!(!is_named(commit, "123456") && !is_named(commit, "7654321") && !is_named(None, "1234567"));
    }
}
