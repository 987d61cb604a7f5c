//! The merge: computed without a checkout, written as an intent, landed by compare and swap, verified.
//!
//! The user's checkout is never forced, stashed or reset. When local changes are in the way, nothing moves and the
//! task waits. After a kill between intent and outcome, git tells what became of it.

use std::{
    collections::HashMap,
    path::{Path, PathBuf},
    sync::{Arc, LazyLock, Mutex},
};

use forge_git::{GitError, LandedChange, Landing, MergeComputation, MergeRequest, Repo, lines_in};
use forge_model::event::EventType;
use forge_model::execution::ExecutionRole;
use forge_model::merge::{
    Conflict, ConflictPath, ConflictPlace, ConflictSide, Merge, MergeStatus, conflict_hunks, conflict_sides,
};
use forge_model::settings::MergeStrategy;
use forge_model::task::{AnnotationType, WaitReason, Waiting};
use forge_model::words::counted;
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::{
    EngineError, World,
    core::{
        self,
        block_reason::BlockReason,
        context::task_branch,
        sync::locked,
        world::step::{End, Stepping},
    },
    error::Result,
    merge::rebase::Rebased,
    review::{self, Approved, parts, short},
    workspace,
};

/// How often a merge is computed anew because its target moved meanwhile.
pub(crate) const ATTEMPTS: u32 = 5;

/// Why nothing is merged.
pub(crate) const NOTHING: &str = "nothing to merge";
/// Why nothing is merged for a task that went past its work.
pub(crate) const NEVER_STARTED: &str = "nothing to merge: no work was started";

/// How much of the places in conflict is recorded, in bytes over all files.
const MAX_HUNK_BYTES: usize = 32 * 1024;
/// The largest file that is looked at for them.
const MAX_MARKED_BYTES: u64 = 4 * 1024 * 1024;

type Queues = Mutex<HashMap<(PathBuf, String), Arc<tokio::sync::Mutex<()>>>>;

/// One writer per repository and target: merges, and what people decide about lessons.
static QUEUES: LazyLock<Queues> = LazyLock::new(Queues::default);

/// Waits until nobody else computes what a branch is moved to.
pub(crate) async fn turn_at(repo: &Repo, target: &str) -> tokio::sync::OwnedMutexGuard<()> {
    let queue = {
        let mut queues = locked(&QUEUES);
        Arc::clone(queues.entry((repo.common_dir().to_owned(), target.to_owned())).or_default())
    };
    queue.lock_owned().await
}

pub(crate) async fn run_merge(world: &World, s: &Stepping, cancel: &CancellationToken) -> Result<End> {
    let target = s.context.target_branch(&s.task);
    let source = match review::approved_work(world, &s.context, &s.task).await? {
        Approved::Commit(source) => source,
        Approved::NeverStarted => {
            return end_with_nothing(world, s, intent(world, s, &target, "").await?, NEVER_STARTED).await;
        }
        Approved::Missing(trouble) => return Ok(End::Block(*trouble)),
    };
    let repo = core::repository::repo(world, &s.context).await?;
    workspace::watch::unwatch(world, &s.task.id);
    let _turn = match super::queue::merge_turn(world, s, &repo, &target).await? {
        Ok(turn) => turn,
        Err(end) => return Ok(end),
    };
    match merge_in_turn(world, s, &repo, &target, source.clone(), cancel).await {
        Err(EngineError::Git(error)) => incomplete(s, &repo, (&target, &source), error).await,
        end => end,
    }
}

/// What became of a merge that git could not make: work of which something is missing is told as such.
async fn incomplete(
    s: &Stepping,
    repo: &Repo,
    (target, source): (&str, &str),
    error: GitError,
) -> Result<End> {
    if matches!(error, GitError::RepositoryChanged { .. }) {
        return Err(error.into());
    }
    let target = format!("refs/heads/{target}");
    let Ok(Some(missing)) = repo.missing_object(&target, source).await else { return Err(error.into()) };
    let place = &s.context.project.repo_path;
    let message = format!(
        "Could not merge: the object {missing} of the reviewed commit {} is missing in {place}.\nRestore it from a \
         copy of the repository, then try again.",
        short(source)
    );
    let mut trouble = BlockReason::new(AnnotationType::WorkMissing, message);
    trouble.details = json!({ "missing": "object", "name": missing, "repository": place });
    Ok(End::Block(trouble))
}

/// Computes, checks where that is needed, and lands; again when the target moved meanwhile.
async fn merge_in_turn(
    world: &World,
    s: &Stepping,
    repo: &Repo,
    target: &str,
    mut source: String,
    cancel: &CancellationToken,
) -> Result<End> {
    let mut merge = intent(world, s, target, &source).await?;
    if already_landed(repo, &merge).await? {
        return landed(world, s, repo, merge, cancel).await;
    }
    let (mut moved, mut rebased) = (0, 0);
    while moved < ATTEMPTS && rebased <= ATTEMPTS {
        let landing = turn_at(repo, target).await;
        merge.source_commit.clone_from(&source);
        let request = merge_request(world, s, target, &source);
        let (commit, before) = match repo.compute_merge(&request).await? {
            MergeComputation::NothingToMerge => return nothing_new(world, s, repo, merge).await,
            MergeComputation::Conflict { target_before, tree, paths, .. } => {
                let paths = described(repo, &tree, paths).await?;
                return end_in_conflict(world, s, merge, target_before, paths).await;
            }
            MergeComputation::Ready { commit, target_before, .. } => (commit, target_before),
        };
        if super::rebase::is_unchecked(world, s, repo, &source, &commit).await? {
            // Others may move the target while the checks run; then it is rebased once more.
            drop(landing);
            rebased += 1;
            if rebased > ATTEMPTS {
                break;
            }
            match super::rebase::check_rebased(world, s, repo, (&source, &commit), cancel).await? {
                Rebased::Passed(checked) => source = checked,
                Rebased::Moved => moved += 1,
                Rebased::Ended(end) => return Ok(*end),
            }
            continue;
        }
        merge.merge_commit = Some(commit.clone());
        merge.target_before = Some(before.clone());
        write_merge(world, s, &merge, EventType::MergeStarted).await?;
        world.point("merge.intended");
        match repo.land(target, &commit, &before, &format!("forge: merge task #{}", s.task.number)).await? {
            Landing::Landed => {
                world.point("merge.landed");
                return landed(world, s, repo, merge, cancel).await;
            }
            Landing::Moved { .. } => moved += 1,
            Landing::CheckoutInTheWay { worktree, files } => {
                return wait_for_checkout(world, s, repo, &worktree, files);
            }
            Landing::IndexLocked { path, .. } => {
                let folder = path.parent().unwrap_or(&path).to_owned();
                workspace::watch::watch_checkout(world, &s.task.id, repo.root(), &folder, &[]);
                let message = format!("another program holds {}", path.display());
                return Ok(End::wait(WaitReason::GitLocked, message));
            }
        }
    }
    let message = format!("{target} changed {ATTEMPTS} times during the merge");
    Ok(End::Block(BlockReason::new(AnnotationType::TargetUnstable, message)))
}

/// Ends a merge that would change nothing. That there is nothing to merge is said only when it is true: the source is
/// reachable from the target, or changes nothing, and the task holds nothing that nobody reviewed.
pub(crate) async fn nothing_new(world: &World, s: &Stepping, repo: &Repo, mut merge: Merge) -> Result<End> {
    let (source, target) = (merge.source_commit.clone(), format!("refs/heads/{}", merge.target));
    let base = repo.merge_base(&target, &source).await?;
    let unchanged = match &base {
        Some(base) => repo.tree_of(base).await? == repo.tree_of(&source).await?,
        None => false,
    };
    if !unchanged {
        // The same change reached the target in other commits.
        merge.status = MergeStatus::Landed;
        merge.merge_commit = repo.resolve(&target).await?;
        merge.target_before.clone_from(&merge.merge_commit);
        let why = format!("{} already has these changes", merge.target);
        merge.reason = Some(why.clone());
        write_merge(world, s, &merge, EventType::MergeSucceeded).await?;
        return Ok(End::Ok(Some(why)));
    }
    let review = world.store().read().await?.reviews().last(&s.task.id).await?;
    // A person who approved it was told of what stays behind.
    if let Some(review) = review.filter(|_| !s.transition.actor.is_user())
        && let Some(changed) = review::work_changed(world, &s.context, &s.task, &review).await?
    {
        let what = parts(&changed);
        let message = format!(
            "Could not merge: the reviewed commit has no changes, and {what} came after the review.\nReview again."
        );
        let mut trouble = BlockReason::new(AnnotationType::WorkChanged, message);
        trouble.details = json!(changed);
        return Ok(End::Block(trouble));
    }
    end_with_nothing(world, s, merge, NOTHING).await
}

/// Records that there is nothing to merge; the task goes on as after a merge.
pub(crate) async fn end_with_nothing(
    world: &World,
    s: &Stepping,
    mut merge: Merge,
    why: &str,
) -> Result<End> {
    merge.status = MergeStatus::Nothing;
    merge.reason = Some(why.to_owned());
    write_merge(world, s, &merge, EventType::MergeSucceeded).await?;
    Ok(End::Ok(Some(why.to_owned())))
}

/// The merge row of this task's present move: the one left by a kill, or a new one. An intent for another commit or
/// target ends as failed: what became of that commit says nothing about this one.
pub(crate) async fn intent(world: &World, s: &Stepping, target: &str, source: &str) -> Result<Merge> {
    let last = world.store().read().await?.merges().last(&s.task.id).await?;
    if let Some(mut last) = last.filter(|last| last.status == MergeStatus::Intended) {
        if last.target == target && last.source_commit == source {
            return Ok(last);
        }
        last.status = MergeStatus::Failed;
        last.reason = Some("newer work took its place".to_owned());
        let mut tx = world.store().write().await?;
        tx.merges_mut().put(&last, world.now()).await?;
        tx.commit().await?;
    }
    Ok(new_intent(world, s, target, source))
}

/// A merge that is about to be tried.
fn new_intent(world: &World, s: &Stepping, target: &str, source: &str) -> Merge {
    Merge {
        id: world.new_id(),
        task_id: s.task.id.clone(),
        target: target.to_owned(),
        strategy: s.context.merge_config(&s.task).strategy.unwrap_or(MergeStrategy::Merge),
        source_commit: source.to_owned(),
        merge_commit: None,
        target_before: None,
        status: MergeStatus::Intended,
        reason: None,
        created_at: world.now(),
    }
}

/// Whether an intent that was written before a kill has reached the target.
async fn already_landed(repo: &Repo, merge: &Merge) -> Result<bool> {
    match &merge.merge_commit {
        Some(commit) if repo.resolve(commit).await?.is_some() => {
            Ok(repo.is_ancestor(commit, &format!("refs/heads/{}", merge.target)).await?)
        }
        _ => Ok(false),
    }
}

fn merge_request(world: &World, s: &Stepping, target: &str, source: &str) -> MergeRequest {
    let config = s.context.merge_config(&s.task);
    let strategy = way_of(config.strategy.unwrap_or(MergeStrategy::Merge));
    let template = config.message_template.unwrap_or_else(|| "{title} (#{number})".to_owned());
    let message = template
        .replace("{number}", &s.task.number.to_string())
        .replace("{branch}", &task_branch(&s.task))
        .replace("{target}", target)
        .replace("{title}", &s.task.title);
    let message = core::redaction::redacted_in(world, &s.context, message);
    MergeRequest {
        target_branch: target.to_owned(),
        source: source.to_owned(),
        strategy,
        message,
        author: s.context.settings.author.as_ref().map(|author| (author.name.clone(), author.email.clone())),
    }
}

async fn landed(
    world: &World,
    s: &Stepping,
    repo: &Repo,
    mut merge: Merge,
    cancel: &CancellationToken,
) -> Result<End> {
    if !holds_change(repo, &merge).await? {
        let message = format!(
            "Could not finish: {} does not contain the reviewed commit {}.\nFind out what moved it, then try again.",
            merge.target,
            short(&merge.source_commit),
        );
        return Ok(End::Block(BlockReason::new(AnnotationType::MergeError, message)));
    }
    if !super::rebase::put_tip_back(world, s, repo, &merge.source_commit, cancel).await? {
        return Ok(End::Interrupted);
    }
    merge.status = MergeStatus::Landed;
    let mut remark = format!("on {}", merge.target);
    merge.reason = super::left_behind::left_behind(world, s, repo, &merge.source_commit).await?;
    if let Some(left) = &merge.reason {
        remark.push_str(&format!("; {left}"));
    }
    write_merge(world, s, &merge, EventType::MergeSucceeded).await?;
    workspace::unmerged::count_unmerged(world, &s.task.id).await;
    Ok(End::Ok(Some(remark)))
}

/// Whether the target holds what was merged: git is asked, not the record.
async fn holds_change(repo: &Repo, merge: &Merge) -> Result<bool> {
    let (Some(commit), Some(target_before)) = (&merge.merge_commit, &merge.target_before) else {
        return Ok(false);
    };
    let landed = LandedChange {
        target_branch: &merge.target,
        source: &merge.source_commit,
        target_before,
        commit,
        strategy: way_of(merge.strategy),
    };
    Ok(repo.holds_change(landed).await?)
}

async fn end_in_conflict(
    world: &World,
    s: &Stepping,
    mut merge: Merge,
    target_before: String,
    paths: Vec<ConflictPath>,
) -> Result<End> {
    merge.status = MergeStatus::Conflict;
    merge.target_before = Some(target_before.clone());
    let conflict = Conflict {
        target: merge.target.clone(),
        target_commit: target_before,
        source_commit: merge.source_commit.clone(),
        paths,
    };
    let count = conflict.paths.len();
    let mut tx = world.store().write().await?;
    if let Some(mut last) = tx.executions().last_of(&s.task.id, ExecutionRole::Coder).await? {
        last.execution.conflict = Some(conflict.clone());
        tx.executions_mut().update(&last.execution).await?;
    }
    tx.merges_mut().put(&merge, world.now()).await?;
    world
        .emit(
            &mut tx,
            EventType::MergeConflict,
            &s.task,
            merge.id.as_str(),
            &json!({ "target": merge.target, "paths": count }),
        )
        .await?;
    tx.commit().await?;
    Ok(End::Ok(Some(counted(count as u64, "file conflicts", "files conflict"))))
}

fn wait_for_checkout(
    world: &World,
    s: &Stepping,
    repo: &Repo,
    worktree: &Path,
    files: Vec<String>,
) -> Result<End> {
    let git_dir = if worktree == repo.root() { repo.common_dir().to_owned() } else { worktree.to_owned() };
    workspace::watch::watch_checkout(world, &s.task.id, worktree, &git_dir, &files);
    let what = if files.is_empty() {
        format!("a merge or rebase is in progress in the checkout {}", worktree.display())
    } else {
        format!("local changes in {} are in the way", worktree.display())
    };
    Ok(End::Wait(Waiting { reason: WaitReason::TargetCheckoutDirty, until: None, files, message: what }))
}

pub(crate) async fn write_merge(world: &World, s: &Stepping, merge: &Merge, event: EventType) -> Result<()> {
    let mut tx = world.store().write().await?;
    tx.merges_mut().put(merge, world.now()).await?;
    let facts = json!({ "target": merge.target, "commit": merge.merge_commit });
    world.emit(&mut tx, event, &s.task, merge.id.as_str(), &facts).await?;
    tx.commit().await?;
    Ok(())
}

/// A strategy as git's crate calls it.
const fn way_of(strategy: MergeStrategy) -> forge_git::MergeStrategy {
    match strategy {
        MergeStrategy::Merge => forge_git::MergeStrategy::Merge,
        MergeStrategy::Squash => forge_git::MergeStrategy::Squash,
        MergeStrategy::Rebase => forge_git::MergeStrategy::Rebase,
    }
}

/// What is in conflict, with the places where the two sides disagree.
async fn described(
    repo: &Repo,
    tree: &str,
    paths: Vec<forge_git::ConflictPath>,
) -> Result<Vec<ConflictPath>> {
    let mut left = MAX_HUNK_BYTES;
    let mut described = Vec::with_capacity(paths.len());
    for path in paths {
        let text = if left == 0 { None } else { marked_text(repo, tree, &path.path).await? };
        let hunks = text.as_deref().map(|text| conflict_hunks(text, left)).unwrap_or_default();
        left -= hunks.iter().map(String::len).sum::<usize>().min(left);
        let places = match (&text, &path.ours, &path.theirs) {
            (Some(text), Some(ours), Some(theirs)) if !hunks.is_empty() => {
                places_of(repo, text, [&ours.oid, &theirs.oid], hunks.len()).await?
            }
            _ => Vec::new(),
        };
        described.push(ConflictPath {
            path: path.path,
            kind: kind_text(path.kind).to_owned(),
            base: path.base.map(side),
            ours: path.ours.map(side),
            theirs: path.theirs.map(side),
            hunks,
            places,
        });
    }
    Ok(described)
}

/// Where the first places in conflict begin in the files of both sides, which lack what was merged cleanly; none
/// when a side cannot be read.
async fn places_of(repo: &Repo, text: &str, sides: [&str; 2], count: usize) -> Result<Vec<ConflictPlace>> {
    let mut found = Vec::with_capacity(sides.len());
    for (view, oid) in conflict_sides(text).into_iter().zip(sides) {
        let whole = match repo.blob(oid, MAX_MARKED_BYTES).await {
            Ok(content) => String::from_utf8(content).ok(),
            Err(GitError::TooLarge { .. }) => None,
            Err(error) => return Err(error.into()),
        };
        let Some(whole) = whole else { return Ok(Vec::new()) };
        found.push(lines_in(&view.text, &whole, &view.starts)?);
    }
    let [ours, theirs] = &found[..] else { return Ok(Vec::new()) };
    let both = ours.iter().zip(theirs).take(count);
    Ok(both.map(|(ours, theirs)| ConflictPlace { ours: *ours, theirs: *theirs }).collect())
}

async fn marked_text(repo: &Repo, tree: &str, path: &str) -> Result<Option<String>> {
    match repo.file_at(tree, path, MAX_MARKED_BYTES).await {
        Ok(content) => Ok(content.and_then(|content| String::from_utf8(content).ok())),
        Err(GitError::TooLarge { .. }) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

fn side(side: forge_git::ConflictSide) -> ConflictSide {
    ConflictSide { oid: side.oid, mode: side.mode }
}

/// The kind of a conflict as people know it from git.
const fn kind_text(kind: forge_git::ConflictKind) -> &'static str {
    use forge_git::ConflictKind as K;
    match kind {
        K::Content => "content",
        K::Binary => "binary",
        K::AddAdd => "add/add",
        K::ModifyDelete => "modify/delete",
        K::RenameDelete => "rename/delete",
        K::RenameRename => "rename/rename",
        K::FileDirectory => "file/directory",
        K::Type => "type",
        K::Submodule => "submodule",
        K::Other => "other",
    }
}
