//! Entering a gate: the content of the worktree becomes a commit, and the review begins with that commit.
//!
//! The step is queued by every move into a gate, whoever moves the task and whoever worked on it, after the run that
//! was stopped and before anything that reviews the work. A commit that fails blocks the task with git's own words.

use std::{
    collections::HashMap,
    sync::{Mutex, PoisonError},
    time::{Duration, Instant},
};

use forge_git::{GitError, Repo, Uncommitted};
use forge_model::event::EventType;
use forge_model::ids::TaskId;
use forge_model::offer::Verb;
use forge_model::review::{Review, ReviewStatus, Verdict};
use forge_model::task::{AnnotationType, WaitReason};
use forge_model::workflow::{Action, State, StateKind};
use forge_model::workspace::Workspace;
use forge_store::table::tasks;
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::{
    EngineError, World,
    core::{
        self,
        block_reason::{BlockReason, block_reason_of},
        context::{backup_prefix, task_branch},
        entry::corrupt_step,
        moves::EntryInput,
        transition::is_reviewed,
        world::step::{End, Stepping},
    },
    error::{Result, whole},
    review::{self, lacks_winner, no_winner, short},
    workspace::{self, is_present, reviewed::RESTORABLE, unfinished::Settled},
};

/// The remark on a review that a person's move to the merge stands for.
const SENT_BY_HAND: &str = "merged without a review";

/// For how long nobody's work can be told from work that came right after a look.
const FRESH: Duration = Duration::from_millis(250);

/// What lay in the worktrees whose reviews began a moment ago, besides their commits. Nothing runs between the beginning
/// of a review and its checks, so that the second look at a worktree of many files is spared.
#[derive(Debug, Default)]
pub(crate) struct Looks(Mutex<HashMap<TaskId, (Instant, Uncommitted)>>);

impl Looks {
    fn keep(&self, task: &TaskId, seen: Uncommitted, now: Instant) {
        let mut looks = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        looks.retain(|_, (at, _)| is_fresh(*at, now));
        looks.insert(task.clone(), (now, seen));
    }

    /// Gives each look once: what happens after the checks began is not in it.
    fn take(&self, task: &TaskId, now: Instant) -> Option<Uncommitted> {
        let (at, seen) = self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(task)?;
        is_fresh(at, now).then_some(seen)
    }
}

fn is_fresh(at: Instant, now: Instant) -> bool {
    now.saturating_duration_since(at) < FRESH
}

/// What the worktree came to.
enum Captured {
    /// This commit is all that the task holds; with what was done about it, and what else lay in the worktree when
    /// nothing had to be committed.
    Commit(String, Option<String>, Option<Uncommitted>),
    /// There is no work on the task yet.
    Nothing,
    /// It ends the step.
    Ended(Box<End>),
}

/// Commits the work and begins the review of that commit.
pub(crate) async fn capture(world: &World, s: &Stepping, cancel: &CancellationToken) -> Result<End> {
    let Some(state) = s.context.workflow.state(&s.task.status) else {
        return Ok(End::skipped("no such state"));
    };
    let merges = state.has_action(Action::RunMerge);
    if merges && !is_sent_by_hand(world, s).await? {
        return Ok(End::skipped("the work was reviewed"));
    }
    let (commit, remark, seen) = match capture_work(world, s, state.plans(), cancel).await? {
        Captured::Commit(commit, remark, seen) => (Some(commit), remark, seen),
        Captured::Nothing => (None, None, None),
        Captured::Ended(end) => return Ok(*end),
    };
    // Checks ask for it themselves, and tell the agent.
    let is_asked = state.plans() || state.has_action(Action::RunCiSteps);
    if let Some(commit) = commit.as_ref().filter(|_| !is_asked)
        && let Some(end) = review::unpushed::refuse_dangling(world, s, commit, seen.as_ref(), cancel).await?
    {
        return Ok(end);
    }
    // The review of a plan began with the move: it judges a text.
    let is_empty_merge = merges && commit.is_none();
    if !state.plans() && !is_empty_merge {
        begin_captured_review(world, s, state, commit.clone()).await?;
    }
    workspace::unmerged::count_unmerged(world, &s.task.id).await;
    if let Some(seen) = seen.filter(Uncommitted::is_empty) {
        world.part::<Looks>().keep(&s.task.id, seen, Instant::now());
    }
    let reviewed = commit.map(|commit| format!("the review is about {}", short(&commit)));
    let remarks: Vec<String> = remark.into_iter().chain(reviewed).collect();
    Ok(match remarks.is_empty() {
        true => End::skipped("no work was started"),
        false => End::Ok(Some(remarks.join(", "))),
    })
}

/// Whether a task came to the merge without a review that passed: by a person's move, or along a workflow that has
/// no review.
async fn is_sent_by_hand(world: &World, s: &Stepping) -> Result<bool> {
    let mut conn = world.store().read().await?;
    // A retry repeats the move that was held up.
    let all = conn.transitions().list(&s.task.id).await?;
    let came = all
        .iter()
        .rev()
        .filter(|it| it.seq <= s.transition.seq && it.to == s.transition.to)
        .find(|it| it.trigger != Verb::Retry.as_str())
        .unwrap_or(&s.transition);
    if conn.reviews().of_transition(&s.task.id, came.seq).await?.is_some() {
        return Ok(false);
    }
    let from = s.context.workflow.state(&came.from).map(|state| state.kind);
    let decided = matches!(from, Some(StateKind::Gate | StateKind::Blocked));
    Ok(matches!(came.trigger.as_str(), "move" | "override") || !decided)
}

/// Brings the worktree to a commit on the task's branch. What a planner finds is committed, too, since it discards
/// what it leaves behind.
async fn capture_work(
    world: &World,
    s: &Stepping,
    plans: bool,
    cancel: &CancellationToken,
) -> Result<Captured> {
    let Some(repo) = core::repository::present_repo(world, &s.context).await? else {
        let place = &s.context.project.repo_path;
        let message = format!(
            "Could not start the review: there is no repository at {place}.\nMove it back, then try again."
        );
        return Ok(Captured::blocked(missing("repository", place, None, message)));
    };
    let workspace = world.store().read().await?.workspaces().last(&s.task.id).await?;
    let present = workspace.as_ref().filter(|workspace| is_present(workspace));
    let branch = task_branch(&s.task);
    let Some(restarted) = workspace::prepare::review_from_target(world, s, &repo, present, cancel).await?
    else {
        return Ok(Captured::Ended(Box::new(End::Interrupted)));
    };
    let tip = repo.resolve(&format!("refs/heads/{branch}")).await?;
    let Some(workspace) = present else {
        return Ok(match tip {
            Some(tip) => Captured::Commit(tip, restarted, None),
            None if plans => Captured::Nothing,
            None if workspace.is_none() => {
                match lacks_winner(&mut *world.store().read().await?, &s.task).await? {
                    true => Captured::blocked(no_winner("start the review")),
                    false => Captured::Nothing,
                }
            }
            None => no_branch(world, s, &repo, &branch).await?,
        });
    };
    workspace::nested::mend_dot_git(world, &s.context, &s.task, workspace).await?;
    let worktree = core::repository::worktree(world, &s.context, workspace).await?;
    if tip.is_none() && worktree.head().await.is_err() {
        return no_branch(world, s, &repo, &branch).await;
    }
    commit_worktree(world, s, workspace, None).await
}

/// Makes a review that is about to check the work be about all of it: work may have gone on by hand since the review
/// began, and a check that was cut short may have committed. Gives what else lies in the worktree, or an end when that
/// fails.
pub(crate) async fn capture_again(
    world: &World,
    s: &Stepping,
    repo: &Repo,
    workspace: &Workspace,
    review: &mut Review,
) -> Result<std::result::Result<Uncommitted, End>> {
    let known = world.part::<Looks>().take(&s.task.id, Instant::now());
    let seen = match commit_worktree(world, s, workspace, known).await? {
        Captured::Ended(end) => return Ok(Err(*end)),
        Captured::Commit(commit, _, seen) => {
            if review.reviewed_commit.as_ref() != Some(&commit) {
                super::review_commit(world, repo, review, commit).await?;
            }
            seen
        }
        Captured::Nothing => None,
    };
    Ok(Ok(match seen {
        Some(seen) => seen,
        // The hooks of a commit may have written something.
        None => core::repository::worktree(world, &s.context, workspace).await?.uncommitted().await?,
    }))
}

async fn commit_worktree(
    world: &World,
    s: &Stepping,
    workspace: &Workspace,
    known: Option<Uncommitted>,
) -> Result<Captured> {
    let settled = match workspace::unfinished::finish_git_operation(world, s, workspace).await? {
        Settled::Ready(done) => done,
        Settled::Open(trouble) => return Ok(Captured::blocked(*trouble)),
    };
    let worktree = core::repository::worktree(world, &s.context, workspace).await?;
    let author = s.context.settings.author.as_ref().map(|it| (it.name.as_str(), it.email.as_str()));
    let message = format!("{}\n\nTask #{}", s.task.title, s.task.number);
    let message = core::redaction::redacted_in(world, &s.context, message);
    let commit = async {
        let seen = match known.filter(|_| settled.is_none()) {
            Some(seen) => seen,
            None => worktree.uncommitted().await?,
        };
        let prefix = backup_prefix(&s.task);
        let made = worktree.commit_all_keeping_staged(&seen, &message, author, &prefix).await?;
        Ok((made, seen))
    };
    let (committed, seen) = match commit.await {
        Ok(done) => done,
        Err(GitError::IndexLocked { path, holder }) => {
            workspace::watch::watch_lock_file(world, &s.task.id, &path);
            let message = whole(&GitError::IndexLocked { path, holder });
            let wait = End::wait(WaitReason::GitLocked, format!("Could not commit the work: {message}"));
            return Ok(Captured::Ended(Box::new(wait)));
        }
        Err(error) => return Ok(Captured::blocked(not_committed(error))),
    };
    world.point("work.captured");
    let commit = worktree.head().await?;
    if committed.is_some() {
        let stat = workspace::measure::measure(world, s, workspace).await?;
        let mut tx = world.store().write().await?;
        if let Some(mut task) = tx.tasks().get(&s.task.id).await? {
            task.diff_stat = Some(stat);
            tx.tasks_mut().update(&mut task, world.now()).await?;
        }
        tx.commit().await?;
        core::world::features::work_changed(world, &s.task.id).await;
    }
    let seen = committed.is_none().then_some(seen);
    let committed = committed.map(|commit| format!("committed {}", short(&commit)));
    let remarks: Vec<String> = settled.into_iter().chain(committed).collect();
    Ok(Captured::Commit(commit, (!remarks.is_empty()).then(|| remarks.join(", ")), seen))
}

async fn no_branch(world: &World, s: &Stepping, repo: &Repo, branch: &str) -> Result<Captured> {
    let place = &s.context.project.repo_path;
    let restorable = workspace::reviewed::known_commit(world, repo, &s.task).await?;
    let message = format!(
        "Could not start the review: the branch {branch} is missing in {place}.\nRestore the branch, or reset \
         the worktree."
    );
    Ok(Captured::blocked(missing("branch", branch, restorable.as_deref(), message)))
}

/// Writes the row of the review that this move begins, with its commit; one that a kill left is used again.
async fn begin_captured_review(
    world: &World,
    s: &Stepping,
    state: &State,
    commit: Option<String>,
) -> Result<()> {
    let input: EntryInput = match s.step.params.clone() {
        Some(params) => serde_json::from_value(params).map_err(corrupt_step)?,
        None => EntryInput::default(),
    };
    let last = world.store().read().await?.reviews().last(&s.task.id).await?;
    let is_open = |review: &Review| {
        matches!(review.status, ReviewStatus::Running | ReviewStatus::AwaitingHuman)
            && review.state == state.name
    };
    let begun = last.as_ref().filter(|review| is_open(review)).cloned();
    let attempt = match (&begun, &last) {
        (Some(begun), _) => begun.attempt_number,
        (None, last) => last.as_ref().map_or(1, |last| last.attempt_number + 1),
    };
    let mut base = None;
    if let Some(commit) = &commit {
        let repo = core::repository::repo(world, &s.context).await?;
        super::keep_reviewed(&repo, &s.task.id, attempt, commit).await?;
        world.point("review.kept");
        let target = format!("refs/heads/{}", s.context.target_branch(&s.task));
        base = match repo.resolve(&target).await? {
            Some(target) => repo.merge_base(&target, commit).await?,
            None => None,
        };
    }
    let mut tx = world.store().write().await?;
    let Some(mut task) = tx.tasks().get(&s.task.id).await? else { return Ok(()) };
    if task.status != s.task.status {
        return Ok(());
    }
    let review = match begun {
        Some(begun) => {
            let review =
                Review { status: ReviewStatus::Running, base_commit: base, reviewed_commit: commit, ..begun };
            tx.reviews_mut().update(&review).await?;
            review
        }
        None => {
            let mut review =
                core::transition::new_review(world, &mut tx, &task, state, &s.transition, input.note).await?;
            review.attempt_number = attempt;
            (review.base_commit, review.reviewed_commit) = (base, commit);
            if !is_reviewed(state) {
                review.status = ReviewStatus::Passed;
                review.verdict = Some(Verdict::Pass);
                review.decided_by = Some(s.transition.actor.clone());
                review.finished_at = Some(world.now());
                review.note = Some(SENT_BY_HAND.to_owned());
            }
            tx.reviews_mut().insert(&review, s.transition.seq).await?;
            let facts = json!({ "attempt_number": review.attempt_number });
            world.emit(&mut tx, EventType::ReviewStarted, &task, review.id.as_str(), &facts).await?;
            review
        }
    };
    if input.reuse_passes {
        tx.reviews_mut().reuse_passes(&review.id).await?;
    }
    if task.work_changed.take().is_some() {
        tx.tasks_mut().update(&mut task, world.now()).await?;
    }
    tx.commit().await?;
    world.point("review.begun");
    Ok(())
}

/// Commits what a worktree holds besides the reviewed commit, so that it stays on the task's branch when only the
/// reviewed commit is merged. What a hook or a signing program refuses becomes a backup, which the merge names: nobody
/// asks for it to be merged.
pub(crate) async fn keep_the_rest(
    world: &World,
    context: &core::context::ProjectContext,
    task: &tasks::TaskRow,
) -> Result<()> {
    let workspace = world.store().read().await?.workspaces().last(&task.id).await?;
    let Some(workspace) = workspace.filter(is_present) else { return Ok(()) };
    let worktree = core::repository::worktree(world, context, &workspace).await?;
    let _lock = core::worktree_lock::lock_workspace_now(
        world,
        &task.id,
        &workspace,
        &format!("rest-{}", workspace.id),
    )?;
    if let Settled::Open(trouble) =
        workspace::unfinished::finish_git_operation_of(world, context, task, &workspace).await?
    {
        return Err(EngineError::Conflict {
            code: crate::ConflictCode::CommitRefused,
            message: format!("Could not keep the changes left out of the review: {}.", trouble.message),
            details: trouble.details,
        });
    }
    let author = context.settings.author.as_ref().map(|it| (it.name.as_str(), it.email.as_str()));
    let message = format!("{}: left out of the review\n\nTask #{}", task.title, task.number);
    let message = core::redaction::redacted_in(world, context, message);
    let commit = async {
        let seen = worktree.uncommitted().await?;
        worktree.commit_all_keeping_staged(&seen, &message, author, &backup_prefix(task)).await
    };
    match commit.await {
        Ok(_) => Ok(()),
        Err(
            error @ (GitError::CommitRefused { .. }
            | GitError::HooksTimedOut { .. }
            | GitError::SigningFailed { .. }
            | GitError::SigningTimedOut { .. }),
        ) => {
            let message = format!("{}: left out of the review, not committed", task.title);
            let kept = worktree.back_up(&backup_prefix(task), &message).await?;
            let at = kept.map(|kept| kept.ref_name);
            tracing::warn!(task = %task.id, %error, ?at, "kept what the review left out as a backup");
            Ok(())
        }
        Err(error) => {
            let trouble = not_committed(error);
            Err(EngineError::Conflict {
                code: crate::ConflictCode::CommitRefused,
                message: trouble.message,
                details: trouble.details,
            })
        }
    }
}

impl Captured {
    fn blocked(trouble: BlockReason) -> Self {
        Self::Ended(Box::new(End::Block(trouble)))
    }
}

fn missing(what: &str, name: &str, restorable: Option<&str>, message: String) -> BlockReason {
    let mut trouble = BlockReason::new(AnnotationType::WorkMissing, message);
    trouble.details = json!({ "missing": what, "name": name, RESTORABLE: restorable });
    trouble
}

/// Why a commit failed, in git's own words, with what to do about it.
fn not_committed(error: GitError) -> BlockReason {
    let (reason, output, remedy) = match error {
        GitError::CommitRefused { output } => (
            "the repository's hooks refused the commit".to_owned(),
            output,
            "Fix what the hook reports, then try again.",
        ),
        // A signing program, a hook that never ends and a changed repository are told apart.
        told if told.remedy().is_some() => {
            return block_reason_of(&EngineError::Git(told), AnnotationType::CommitRefused);
        }
        other => (whole(&other), whole(&other), "Follow git's message, then try again."),
    };
    let mut trouble = BlockReason::new(
        AnnotationType::CommitRefused,
        format!("Could not commit the work: {reason}.\n{remedy}"),
    );
    trouble.details = json!({ "output": output });
    trouble
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_look_is_given_once_and_while_it_is_fresh() {
        let (looks, task, now) = (Looks::default(), TaskId("t".into()), Instant::now());
        let keep = || looks.keep(&task, Uncommitted::default(), now);
        keep();
        assert!(looks.take(&TaskId("other".into()), now).is_none());
        assert!(looks.take(&task, now).is_some_and(|seen| seen.is_empty()));
        assert!(looks.take(&task, now).is_none(), "what came after the first use is not in it");
        keep();
        assert!(looks.take(&task, now + FRESH).is_none());
    }
}
