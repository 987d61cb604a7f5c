//! The rebase that Forge makes itself: the target moved since the review, so the merge would not be what was
//! checked. The task's branch and worktree move to the rebased commit, the checks run there, and exactly what passed
//! is merged. It costs no budget. Commits that came to the branch after the review are kept at a ref meanwhile; the
//! branch has them again once the rest is merged.

use std::path::Path;

use forge_git::{GitError, Repo};
use forge_model::actor::{Actor, Cause};
use forge_model::event::EventType;
use forge_model::execution::ExecutionRole;
use forge_model::ids::TaskId;
use forge_model::review::{Review, ReviewStatus, Verdict};
use forge_model::settings::MergeStrategy;
use forge_model::task::AnnotationType;
use forge_model::workspace::{Workspace, WorkspaceStatus};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::{
    World,
    core::{
        self,
        block_reason::BlockReason,
        context::{backup_prefix, task_branch},
        world::step::{End, Stepping},
    },
    error::Result,
    review::{
        self,
        check::evidence_of,
        checks::{Checked, NO_CHECKS, has_no_checks},
    },
    workspace::{self, reviewed::reviewed_prefix},
};

/// Where the commits of a task are that its branch has again after a rebase of Forge's landed.
fn tip_ref(task: &TaskId) -> String {
    format!("{}/tip", reviewed_prefix(task))
}

/// What became of a self-made rebase.
pub(crate) enum Rebased {
    /// This commit may land.
    Passed(String),
    /// The branch is elsewhere meanwhile: to be computed again.
    Moved,
    /// It ends the step.
    Ended(Box<End>),
}

impl Rebased {
    fn ended(end: End) -> Self {
        Self::Ended(Box::new(end))
    }
}

/// Whether `commit` is the outcome of a rebase that nothing was run on.
pub(crate) async fn is_unchecked(
    world: &World,
    s: &Stepping,
    repo: &Repo,
    source: &str,
    commit: &str,
) -> Result<bool> {
    if s.context.merge_config(&s.task).strategy != Some(MergeStrategy::Rebase) {
        return Ok(false);
    }
    let all = world.store().read().await?.reviews().list(&s.task.id).await?;
    // One that was cut short or failed may have moved the branch: what is there was not checked either.
    let unfinished =
        all.last().is_some_and(|last| last.state == s.task.status && last.status != ReviewStatus::Passed);
    let passed = all.into_iter().rev().find(|review| review.status == ReviewStatus::Passed);
    let tree = repo.tree_of(commit).await?;
    let known = passed.and_then(|review| review.reviewed_commit);
    for known in known.as_deref().into_iter().chain((!unfinished).then_some(source)) {
        if repo.resolve(known).await?.is_some() && repo.tree_of(known).await? == tree {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Puts the branch and its worktree on the commit that `source` was rebased to and runs the checks there, as a review
/// of its own.
pub(crate) async fn check_rebased(
    world: &World,
    s: &Stepping,
    repo: &Repo,
    (source, commit): (&str, &str),
    cancel: &CancellationToken,
) -> Result<Rebased> {
    s.context.require_checks(&s.task)?;
    let workspace = world.store().read().await?.workspaces().last(&s.task.id).await?;
    let workspace = workspace.filter(|w| w.status == WorkspaceStatus::Active && Path::new(&w.path).is_dir());
    if workspace.is_none() && !has_no_checks(s) {
        let message = "could not check the rebased work: the task has no worktree";
        return Ok(Rebased::ended(End::Block(BlockReason::new(AnnotationType::MergeError, message))));
    }
    let mut review = open_recheck(world, s, repo, commit).await?;
    world.point("rebase.opened");
    let lock = match &workspace {
        Some(workspace) => {
            let holder = format!("rebase-{}", s.step.id);
            match core::worktree_lock::lock_workspace(world, &s.task.id, workspace, &holder, cancel).await? {
                Some(lock) => Some(lock),
                None => return Ok(Rebased::ended(End::Interrupted)),
            }
        }
        None => None,
    };
    let branch = task_branch(&s.task);
    let Some(tip) = repo.resolve(&format!("refs/heads/{branch}")).await? else {
        return Ok(Rebased::Moved);
    };
    let mut worktree = None;
    if let Some(workspace) = &workspace {
        workspace::nested::mend_worktree(world, &s.context, &s.task, workspace).await?;
        worktree = Some(core::repository::worktree(world, &s.context, workspace).await?);
    }
    remember_tip(world, s, repo, source, &tip).await?;
    match repo.move_branch(worktree.as_ref(), &branch, &tip, commit, &backup_prefix(&s.task)).await {
        Err(GitError::RefMoved { .. }) => return Ok(Rebased::Moved),
        moved => moved?,
    }
    world.point("rebase.moved");
    let checked = match &workspace {
        Some(workspace) => {
            review::checks::run_all_checks(world, s, &mut review, repo, workspace, None, cancel).await?
        }
        None => Checked::Passed(0),
    };
    drop(lock);
    world.point("rebase.checked");
    close_recheck(world, s, review, workspace.as_ref(), checked).await
}

/// Remembers where a branch stands before it is rebased, when commits there came after the work that is merged.
async fn remember_tip(world: &World, s: &Stepping, repo: &Repo, source: &str, tip: &str) -> Result<()> {
    let name = tip_ref(&s.task.id);
    let old = repo.resolve(&name).await?;
    if tip == source {
        // It is what was reviewed, so what an earlier merge remembered is none of its commits.
        let is_reviewed = super::left_behind::judged_commit(world, s).await?.as_deref() == Some(tip);
        if let Some(old) = old.filter(|_| is_reviewed) {
            repo.delete_ref(&name, &old).await?;
        }
        return Ok(());
    }
    // What is not built on it is a rebase that was cut short.
    if old.as_deref() == Some(tip) || !repo.is_ancestor(source, tip).await? {
        return Ok(());
    }
    let reason = "forge: before its branch is rebased";
    Ok(repo.update_ref(&name, tip, old.as_deref().unwrap_or_default(), reason).await?)
}

/// Gives a branch the commits again that came to it after the work that has landed. False when cancelled first.
pub(crate) async fn put_tip_back(
    world: &World,
    s: &Stepping,
    repo: &Repo,
    landed: &str,
    cancel: &CancellationToken,
) -> Result<bool> {
    let name = tip_ref(&s.task.id);
    let Some(tip) = repo.resolve(&name).await? else { return Ok(true) };
    let branch = task_branch(&s.task);
    let now = repo.resolve(&format!("refs/heads/{branch}")).await?;
    let judged = super::left_behind::judged_commit(world, s).await?;
    let was_rebased = judged.as_deref().is_some_and(|judged| judged != landed);
    if was_rebased && now.as_deref() == Some(landed) {
        let workspace = world.store().read().await?.workspaces().last(&s.task.id).await?;
        let workspace =
            workspace.filter(|w| w.status == WorkspaceStatus::Active && Path::new(&w.path).is_dir());
        let _lock = match &workspace {
            Some(workspace) => {
                let holder = format!("tip-{}", s.step.id);
                match core::worktree_lock::lock_workspace(world, &s.task.id, workspace, &holder, cancel)
                    .await?
                {
                    Some(lock) => Some(lock),
                    None => return Ok(false),
                }
            }
            None => None,
        };
        let worktree = match &workspace {
            Some(workspace) => Some(core::repository::worktree(world, &s.context, workspace).await?),
            None => None,
        };
        match repo.move_branch(worktree.as_ref(), &branch, landed, &tip, &backup_prefix(&s.task)).await {
            // Somebody works on it already; the commits are kept as a backup.
            Err(GitError::RefMoved { .. }) => {}
            moved => moved?,
        }
        world.point("rebase.put_back");
    }
    repo.delete_ref(&name, &tip).await?;
    Ok(true)
}

/// The row of this rebase: the one that a kill left, or a new one.
async fn open_recheck(world: &World, s: &Stepping, repo: &Repo, commit: &str) -> Result<Review> {
    let target = format!("refs/heads/{}", s.context.target_branch(&s.task));
    let base = repo.merge_base(&target, commit).await?;
    let last = world.store().read().await?.reviews().last(&s.task.id).await?;
    let is_open = |last: &Review| last.state == s.task.status && last.status == ReviewStatus::Running;
    let attempt = match &last {
        Some(last) if is_open(last) => last.attempt_number,
        last => last.as_ref().map_or(1, |last| last.attempt_number + 1),
    };
    review::keep_reviewed(repo, &s.task.id, attempt, commit).await?;
    let mut tx = world.store().write().await?;
    let note = has_no_checks(s).then(|| NO_CHECKS.to_owned());
    let review = match last {
        Some(last) if is_open(&last) => {
            let review = Review {
                base_commit: base,
                reviewed_commit: Some(commit.to_owned()),
                note,
                steps: Vec::new(),
                ..last
            };
            tx.reviews_mut().clear_steps(&review.id).await?;
            tx.reviews_mut().update(&review).await?;
            review
        }
        _ => {
            let review = Review {
                id: world.new_id(),
                task_id: s.task.id.clone(),
                attempt_number: attempt,
                state: s.task.status.clone(),
                status: ReviewStatus::Running,
                verdict: None,
                steps: Vec::new(),
                audits: Vec::new(),
                report: None,
                score: None,
                findings: Vec::new(),
                work_execution_id: tx
                    .executions()
                    .last_of(&s.task.id, ExecutionRole::Coder)
                    .await?
                    .map(|last| last.execution.id),
                note,
                reason: None,
                decided_by: None,
                measures: None,
                base_commit: base,
                reviewed_commit: Some(commit.to_owned()),
                started_at: world.now(),
                finished_at: None,
            };
            tx.reviews_mut().insert(&review, s.transition.seq).await?;
            let facts = json!({ "attempt_number": review.attempt_number });
            world.emit(&mut tx, EventType::ReviewStarted, &s.task, review.id.as_str(), &facts).await?;
            review
        }
    };
    tx.commit().await?;
    Ok(review)
}

async fn close_recheck(
    world: &World,
    s: &Stepping,
    mut review: Review,
    workspace: Option<&Workspace>,
    checked: Checked,
) -> Result<Rebased> {
    let decider = Actor::System { cause: Cause::Merge };
    let mut tx = world.store().write().await?;
    let Some(mut task) = tx.tasks().get(&s.task.id).await? else {
        return Ok(Rebased::ended(End::Interrupted));
    };
    let rebased = match checked {
        _ if task.status != s.task.status => Rebased::ended(End::Interrupted),
        Checked::Interrupted => Rebased::ended(End::Interrupted),
        Checked::Passed(_) => {
            review.status = ReviewStatus::Passed;
            review.verdict = Some(Verdict::PassCiOnly);
            review.decided_by = Some(decider);
            review.finished_at = Some(world.now());
            review.measures = review::stagnation::measures_of(&mut tx, &task, &review).await?;
            tx.reviews_mut().update(&review).await?;
            let facts = json!({ "attempt_number": review.attempt_number, "verdict": review.verdict });
            world.emit(&mut tx, EventType::ReviewPassed, &task, review.id.as_str(), &facts).await?;
            Rebased::Passed(review.reviewed_commit.unwrap_or_default())
        }
        Checked::Failed(check) => {
            let reason = check.failure();
            review::decision::fail_review(world, &mut tx, &task, &mut review, decider, &reason).await?;
            task.review_passed_at = None;
            tx.tasks_mut().update(&mut task, world.now()).await?;
            let mut trouble = BlockReason::new(AnnotationType::CiFailedAfterMergeFix, reason);
            trouble.evidence = Some(evidence_of(&check));
            Rebased::ended(End::Block(trouble))
        }
    };
    tx.commit().await?;
    if workspace.is_some() {
        workspace::disk::measure_later(world, &s.task.id);
    }
    Ok(rebased)
}
