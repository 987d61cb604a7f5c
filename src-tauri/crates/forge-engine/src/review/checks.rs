//! The checks of a review, in order up to the first that fails: preparing the worktree, reusing earlier passes,
//! trying a drafted fix, and what a failure leads to.

use forge_git::{DiffScope, Repo, Uncommitted, Worktree};
use forge_model::actor::{Actor, Cause};
use forge_model::correction::Correction;
use forge_model::fix::{FixDraft, FixStatus};
use forge_model::review::{Review, ReviewConfig, ReviewStatus, ReviewStep};
use forge_model::task::AnnotationType;
use forge_model::words::counted;
use forge_model::workflow::OnFailure;
use forge_model::workspace::Workspace;
use tokio_util::sync::CancellationToken;

use crate::{
    EngineError, World,
    core::{
        self,
        block_reason::BlockReason,
        entry::failure_policy,
        world::step::{End, Stepping},
    },
    error::Result,
    review::{
        self,
        check::{evidence_of, run_check, write_check, write_ended},
        rejection::Rejection,
    },
    workspace,
};

/// The remark on a review that had nothing to run.
pub(crate) const NO_CHECKS: &str = "no checks configured";
pub(crate) async fn run_checks(world: &World, s: &Stepping, cancel: &CancellationToken) -> Result<End> {
    let (review, was_begun) = {
        let mut conn = world.store().read().await?;
        let review = conn.reviews().of_transition(&s.task.id, s.transition.seq).await?;
        (review, conn.workspaces().last(&s.task.id).await?.is_some())
    };
    let Some(mut review) = review else { return Ok(End::skipped("this move has no review")) };
    s.context.require_checks(&s.task)?;
    // The review of a plan gets its commit here, from the worktree that the planner left.
    if review.reviewed_commit.is_none() && !was_begun {
        return Ok(End::skipped("no work was started"));
    }
    let repo = core::repository::repo(world, &s.context).await?;
    let (workspace, _lock) = match workspace::prepare::workspace_to_judge(world, s, &repo, cancel).await? {
        Ok(found) => found,
        Err(end) => return Ok(end),
    };
    let seen = match super::capture::capture_again(world, s, &repo, &workspace, &mut review).await? {
        Ok(seen) => seen,
        Err(end) => return Ok(end),
    };
    if let Some(end) = workspace::nested::refuse_embedded(world, s, &workspace, &seen, None).await? {
        return Ok(end);
    }
    if let Some(end) = review::unpushed::refuse_unpushed(world, s, &mut review, &workspace, &seen).await? {
        return Ok(end);
    }
    open_review(world, s, &mut review, &repo, &workspace).await?;
    core::world::features::work_changed(world, &s.task.id).await;
    match run_mended(world, s, &mut review, &repo, &workspace, &seen, cancel).await? {
        Checked::Passed(0) => Ok(End::Ok(Some(NO_CHECKS.to_owned()))),
        Checked::Passed(count) => Ok(End::Ok(Some(counted(count as u64, "check passed", "checks passed")))),
        Checked::Failed(check) => failed(world, s, review, &workspace, *check).await,
        Checked::Interrupted => Ok(End::Interrupted),
    }
}

/// Runs the checks of an opened review; where a drafted fix takes the place of the retry, the failing one and the
/// rest run again with it. One that does not help is taken back.
async fn run_mended(
    world: &World,
    s: &Stepping,
    review: &mut Review,
    repo: &Repo,
    workspace: &Workspace,
    seen: &Uncommitted,
    cancel: &CancellationToken,
) -> Result<Checked> {
    // A try that was cut short may have left one applied.
    let mending = world.features().mending.as_ref();
    let mut applied = match mending {
        Some(mending) => (mending.applied_for)(world, review).await?,
        None => None,
    };
    let mut first = None;
    let mut checked = run_all_checks(world, s, review, repo, workspace, Some(seen), cancel).await?;
    if applied.is_none()
        && let Checked::Failed(check) = &checked
        && let Some(mending) = mending
        && let Some(fix) = (mending.in_place)(world, s, review, workspace, check, cancel).await?
    {
        let from = usize::try_from(check.index).unwrap_or(usize::MAX);
        (applied, first) = (Some(fix), Some(check.clone()));
        checked = run_checks_from(world, s, review, repo, workspace, (from, None), cancel).await?;
    }
    if cancel.is_cancelled() {
        return Ok(Checked::Interrupted);
    }
    let Some((fix, mending)) = applied.zip(mending) else { return Ok(checked) };
    let step = match &checked {
        Checked::Interrupted => return Ok(checked),
        Checked::Failed(check) => (**check).clone(),
        Checked::Passed(_) => {
            let steps = world.store().read().await?.reviews().last(&s.task.id).await?;
            let step = steps
                .and_then(|review| review.steps.into_iter().find(|step| step.command == fix.gate.command));
            step.ok_or_else(|| EngineError::not_found("check", &fix.gate.command))?
        }
    };
    (mending.settle)(world, s, workspace, fix, &step).await?;
    let worktree = core::repository::worktree(world, &s.context, workspace).await?;
    super::review_commit(world, repo, review, worktree.head().await?).await?;
    // What failed without it is what is to be mended.
    Ok(match (checked, first) {
        (Checked::Failed(_), Some(first)) => Checked::Failed(first),
        (checked, _) => checked,
    })
}

/// Runs the checks of an opened review in the worktree, up to the first that fails. `seen` is given by a caller who
/// looked at the worktree just now.
pub(crate) async fn run_all_checks(
    world: &World,
    s: &Stepping,
    review: &mut Review,
    repo: &Repo,
    workspace: &Workspace,
    seen: Option<&Uncommitted>,
    cancel: &CancellationToken,
) -> Result<Checked> {
    run_checks_from(world, s, review, repo, workspace, (0, seen), cancel).await
}

/// The same from one of them on; those before it passed. The worktree held no untracked files when they began, so
/// nobody's work is in those that lie there after a check.
async fn run_checks_from(
    world: &World,
    s: &Stepping,
    review: &mut Review,
    repo: &Repo,
    workspace: &Workspace,
    (from, seen): (usize, Option<&Uncommitted>),
    cancel: &CancellationToken,
) -> Result<Checked> {
    let config = s.context.review_config(&s.task);
    let commands = config.ci_steps.clone().unwrap_or_default();
    let worktree = core::repository::worktree(world, &s.context, workspace).await?;
    let looked;
    let seen = match seen {
        Some(seen) => seen,
        None => {
            looked = worktree.uncommitted().await?;
            &looked
        }
    };
    let mut known = match from {
        0 => earlier_passes(world, s, review, repo, seen, &config).await?,
        _ => Vec::new(),
    };
    for index in from..config.check_count() {
        let command = commands.get(index);
        if let Some(pass) = known.iter().find(|pass| Some(&pass.command) == command) {
            let index = u32::try_from(index).unwrap_or(u32::MAX);
            let check = ReviewStep { index, cached: true, ..pass.clone() };
            write_check(world, s, review, &check).await?;
            continue;
        }
        let check = match (command, config.gate()) {
            (Some(command), _) => {
                run_check(world, s, review, workspace, &config, index, command, cancel).await?
            }
            (None, Some(gate)) => {
                let run = world.features().validate;
                let run = run.ok_or_else(|| EngineError::not_found("feature", "validate"))?;
                run(world, s, review, workspace, gate, index, cancel).await?
            }
            (None, None) => break,
        };
        let Some(mut check) = check else { return Ok(Checked::Interrupted) };
        let (made, changed): (Vec<_>, Vec<_>) =
            worktree.status().await?.into_iter().partition(|entry| entry.untracked);
        let mut made: Vec<String> = made.into_iter().map(|entry| entry.path).collect();
        // What was uncommitted in a submodule before is no change by the check.
        let is_new = |path: &String| !seen.dirty_submodules().any(|dirty| dirty == path);
        check.changed_files = changed.into_iter().map(|entry| entry.path).filter(is_new).collect();
        if !check.changed_files.is_empty() && config.allow_changes == Some(true) {
            commit_changes(world, s, review, &worktree, &mut check).await?;
            // What passed on the files as they were says nothing about these.
            known.clear();
            made.clear();
        }
        // What a check came to is not found out twice because it cannot be written now.
        core::disk::with_patience_until(world, cancel, || write_ended(world, s, review, &check, &made))
            .await?;
        if !check.has_passed() {
            return Ok(Checked::Failed(Box::new(check)));
        }
    }
    Ok(Checked::Passed(config.check_count()))
}

/// Checks that passed on the very same files, when the configuration lets them count; from now on those of
/// this review are among them.
async fn earlier_passes(
    world: &World,
    s: &Stepping,
    review: &Review,
    repo: &Repo,
    seen: &Uncommitted,
    config: &ReviewConfig,
) -> Result<Vec<ReviewStep>> {
    // Checks see the whole worktree: only one that holds nothing but its commit is told by it.
    let tree = match &review.reviewed_commit {
        Some(commit) if seen.is_empty() => Some(repo.tree_of(commit).await?),
        Some(_) | None => None,
    };
    let verified = match &tree {
        Some(tree) => verified_on(world, s, repo, tree).await?,
        None => Vec::new(),
    };
    let mut tx = world.store().write().await?;
    let again = tx.reviews().reuses_passes(&review.id).await?;
    let known = match &tree {
        // What passed in the race passed on these very files.
        Some(tree)
            if again
                || config.reuse_passes == Some(true)
                || core::lineage::is_from_race(&mut tx, &s.task.id).await? =>
        {
            let mut known = tx.reviews().steps_on_tree(&s.task.project_id, tree).await?;
            known.extend(verified.into_iter().filter(|_| again));
            known
        }
        Some(_) | None => Vec::new(),
    };
    tx.reviews_mut().set_tree(&review.id, tree.as_deref()).await?;
    tx.commit().await?;
    // What `validate` found is an attempt of its own each time.
    let counts = |check: &ReviewStep| check.finished && check.has_passed() && check.validate.is_none();
    Ok(known.into_iter().filter(counts).collect())
}

/// Checks that passed when a fix was verified on the very same files.
async fn verified_on(world: &World, s: &Stepping, repo: &Repo, tree: &str) -> Result<Vec<ReviewStep>> {
    let all = world.store().read().await?.fixes().of_task(&s.task.id).await?;
    let mut passed = Vec::new();
    for fix in all.into_iter().filter(|fix| fix.status == FixStatus::Verified) {
        let (Some(commit), Some(verified)) = (&fix.applied_commit, &fix.verification) else { continue };
        if repo.resolve(commit).await?.is_some() && repo.tree_of(commit).await? == tree {
            let begun = ReviewStep::begun(fix.gate.step, &fix.gate.command, &verified.log_id);
            passed.push(ReviewStep {
                exit_code: verified.exit_code,
                timed_out: verified.timed_out,
                finished: true,
                duration_ms: verified.duration_ms,
                ..begun
            });
        }
    }
    Ok(passed)
}

/// Marks the review as running; an earlier, interrupted try is forgotten.
async fn open_review(
    world: &World,
    s: &Stepping,
    review: &mut Review,
    repo: &Repo,
    workspace: &Workspace,
) -> Result<()> {
    let commit = match &review.reviewed_commit {
        Some(commit) => commit.clone(),
        None => core::repository::worktree(world, &s.context, workspace).await?.head().await?,
    };
    let strayed = paths_outside_the_pass(world, s, repo, workspace, &commit).await?;
    let no_checks = has_no_checks(s);
    let target = format!("refs/heads/{}", s.context.target_branch(&s.task));
    review.status = ReviewStatus::Running;
    review.base_commit = repo.merge_base(&target, &commit).await?;
    review.reviewed_commit = Some(commit);
    if !strayed.is_empty() {
        review.note = Some(format!("the fix also changed: {}", strayed.join(", ")));
    } else if no_checks && review.note.is_none() {
        review.note = Some(NO_CHECKS.to_owned());
    }
    let mut tx = world.store().write().await?;
    tx.reviews_mut().clear_steps(&review.id).await?;
    tx.reviews_mut().set_check_files(&review.id, &[]).await?;
    tx.reviews_mut().update(review).await?;
    if !strayed.is_empty()
        && let Some(mut task) = tx.tasks().get(&s.task.id).await?
    {
        task.review_passed_at = None;
        tx.tasks_mut().update(&mut task, world.now()).await?;
    }
    tx.commit().await?;
    Ok(())
}

/// In a conflict-fix cycle the earlier pass stands for the paths it saw; others are judged again.
async fn paths_outside_the_pass(
    world: &World,
    s: &Stepping,
    repo: &Repo,
    workspace: &Workspace,
    commit: &str,
) -> Result<Vec<String>> {
    if s.task.review_passed_at.is_none() {
        return Ok(Vec::new());
    }
    let passed = {
        let mut conn = world.store().read().await?;
        let all = conn.reviews().list(&s.task.id).await?;
        all.into_iter()
            .rev()
            .find(|review| review.status == ReviewStatus::Passed)
            .and_then(|review| review.reviewed_commit)
    };
    let Some(passed) = passed else { return Ok(Vec::new()) };
    let target = format!("refs/heads/{}", s.context.target_branch(&s.task));
    let seen = changed_since_target(repo, &target, &passed, &workspace.base_commit).await?;
    let now = changed_since_target(repo, &target, commit, &workspace.base_commit).await?;
    Ok(now.into_iter().filter(|path| !seen.contains(path)).collect())
}

/// Commits what a check changed, where the configuration allows it: left as it is it would be merged
/// without anybody having looked at it. From then on that commit is what is judged.
async fn commit_changes(
    world: &World,
    s: &Stepping,
    review: &mut Review,
    worktree: &Worktree,
    check: &mut ReviewStep,
) -> Result<()> {
    let message = format!("Changes made by check: {}", check.command);
    worktree.commit_all(&core::redaction::redacted_in(world, &s.context, message), None).await?;
    check.changed_files = Vec::new();
    super::review_commit(world, worktree.repo(), review, worktree.head().await?).await
}

fn start_draft(world: &World, draft: Option<FixDraft>) {
    if let Some((draft, mending)) = draft.zip(world.features().mending.as_ref()) {
        (mending.start)(world, draft);
    }
}

async fn failed(
    world: &World,
    s: &Stepping,
    mut review: Review,
    workspace: &Workspace,
    check: ReviewStep,
) -> Result<End> {
    let (reason, evidence) = (check.failure(), evidence_of(&check));
    let mending = world.features().mending.as_ref();
    let draft = match mending {
        Some(mending) => (mending.plan)(world, s, &review, workspace, &check).await,
        None => None,
    };
    let mut tx = world.store().write().await?;
    let Some(mut task) = tx.tasks().get(&s.task.id).await? else { return Ok(End::Interrupted) };
    if task.status != s.task.status {
        return Ok(End::Interrupted);
    }
    // It is drafted beside what follows, which waits for nothing.
    let draft = match draft {
        Some(draft) if tx.fixes_mut().begin_draft(&draft).await? => Some(draft),
        Some(_) | None => None,
    };
    let policy = failure_policy(&s.step);
    if policy == OnFailure::Log {
        // Recorded, and the review goes on: whoever decides sees it.
        review.note = Some(reason.clone());
        tx.reviews_mut().update(&review).await?;
        tx.commit().await?;
        start_draft(world, draft);
        let mut trouble = BlockReason::new(AnnotationType::GuardRejected, reason);
        trouble.evidence = Some(evidence);
        return Ok(End::Failed(trouble));
    }
    super::decision::fail_review(
        world,
        &mut tx,
        &task,
        &mut review,
        Actor::System { cause: Cause::Review },
        &reason,
    )
    .await?;
    let end = match policy {
        _ if task.review_passed_at.take().is_some() => {
            tx.tasks_mut().update(&mut task, world.now()).await?;
            let mut trouble = BlockReason::new(AnnotationType::CiFailedAfterMergeFix, reason);
            trouble.evidence = Some(evidence);
            End::Block(trouble)
        }
        OnFailure::Cascade(to) => {
            let of = core::retry_budget::budget(&mut tx, &s.context, &task).await?.review.limit + 1;
            let attempt = review.attempt_number;
            // Its output says what is to be mended.
            let step = ReviewStep { validate: None, ..check };
            let correction = Correction::CheckFailed { step, attempt, of: of.max(attempt) };
            let actor = Actor::System { cause: Cause::Review };
            let rejection = Rejection { to, actor, reason, correction, evidence: Some(evidence) };
            super::decision::reject(world, &mut tx, &s.context, &mut task, &s.transition, rejection).await?
        }
        OnFailure::Block | OnFailure::Log => {
            let mut trouble = BlockReason::new(AnnotationType::GuardRejected, reason);
            trouble.evidence = Some(evidence);
            End::Failed(trouble)
        }
    };
    tx.commit().await?;
    start_draft(world, draft);
    Ok(end)
}

/// What checks came to.
pub(crate) enum Checked {
    /// All of so many passed.
    Passed(usize),
    /// This one did not.
    Failed(Box<ReviewStep>),
    /// They were stopped.
    Interrupted,
}

/// Whether nothing is to be run for a review.
pub(crate) fn has_no_checks(s: &Stepping) -> bool {
    s.context.review_config(&s.task).check_count() == 0
}

/// Paths that differ between a commit and where it left the target, or its recorded base without one.
pub(crate) async fn changed_since_target(
    repo: &Repo,
    target: &str,
    commit: &str,
    base: &str,
) -> Result<Vec<String>> {
    let base = repo.merge_base(target, commit).await?.unwrap_or_else(|| base.to_owned());
    let summary = repo.diff_files(&DiffScope::Commits { base, head: commit.to_owned() }).await?;
    Ok(summary.files.into_iter().flat_map(|file| [Some(file.path), file.old_path]).flatten().collect())
}
