//! Queries about a task's merges: the queue of each target, conflicts, and what was delivered. Nothing here writes.

use forge_git::Repo;
use forge_model::delivery::{DeliveredCommit, Delivery};
use forge_model::execution::{ExecutionRole, Usage};
use forge_model::ids::{ProjectId, TaskId};
use forge_model::merge::{
    Conflict, ConflictFile, ConflictPath, ConflictSide, ConflictStanding, ConflictText, Merge,
    MergeQueueEntry, MergeStatus,
};
use forge_model::pull_request::PullRequestLink;
use forge_model::review::ReviewStatus;
use forge_model::task::WaitReason;
use forge_model::time::Timestamp;
use forge_store::table::tasks::Filter;

use crate::{ConflictCode, EngineError, World, core, error::Result};

/// The largest file whose sides are shown.
const MAX_SIDE_BYTES: u64 = 1024 * 1024;
/// How many commits a delivery lists.
const MAX_COMMITS: u32 = 200;
/// How many tasks of a queue are listed.
const MAX_QUEUE: u32 = 500;

/// A task's merges, oldest first.
pub(crate) async fn merges(world: &World, id: &TaskId) -> Result<Vec<Merge>> {
    let mut conn = world.store().read().await?;
    core::load::load(world, &mut conn, id, None).await?;
    Ok(conn.merges().list(id).await?)
}

/// The tasks of a project that are being merged or stand in line, per target in their order.
pub(crate) async fn merge_queue(world: &World, id: &ProjectId) -> Result<Vec<MergeQueueEntry>> {
    let mut conn = world.store().read().await?;
    let context = core::contexts::context(world, &mut conn, id).await?;
    let Some(state) = context.workflow.merge_state() else { return Ok(Vec::new()) };
    let states = vec![state.name.clone()];
    let filter = Filter { project: Some(id.clone()), states, ..Filter::default() };
    let mut rows = conn.tasks().list(&filter, MAX_QUEUE).await?;
    // Who waits for a turn stands behind who has it; the rest is the order of their coming.
    let stands = |reason: Option<WaitReason>| u8::from(reason == Some(WaitReason::MergeQueue));
    rows.sort_by_key(|task| {
        let waiting = task.waiting.as_ref().map(|waiting| waiting.reason);
        (context.target_branch(task), stands(waiting), task.status_since)
    });
    let mut queue: Vec<MergeQueueEntry> = Vec::with_capacity(rows.len());
    for task in rows {
        let target = context.target_branch(&task);
        let place = queue.last().filter(|last| last.target == target).map_or(0, |last| last.place + 1);
        queue.push(MergeQueueEntry {
            task_id: task.id,
            number: task.number,
            title: task.title,
            target,
            place,
            waiting: task.waiting,
            since: task.status_since,
        });
    }
    Ok(queue)
}

/// What a task's last merge conflicts in; `None` when none did.
async fn conflict(world: &World, id: &TaskId) -> Result<Option<Conflict>> {
    let mut conn = world.store().read().await?;
    core::load::load(world, &mut conn, id, None).await?;
    let runs = conn.executions().list(id).await?;
    Ok(runs.into_iter().rev().find_map(|row| row.execution.conflict))
}

/// What a task's last merge conflicts in, and what became of that; `None` when none did.
pub(crate) async fn conflict_with_standing(
    world: &World,
    id: &TaskId,
) -> Result<Option<(Conflict, ConflictStanding)>> {
    let Some(conflict) = conflict(world, id).await? else { return Ok(None) };
    let standing = standing_of(world, id, &conflict).await?;
    Ok(Some((conflict, standing)))
}

async fn standing_of(world: &World, id: &TaskId, conflict: &Conflict) -> Result<ConflictStanding> {
    let mut conn = world.store().read().await?;
    let (_, context) = core::load::load(world, &mut conn, id, None).await?;
    let last = conn.merges().last(id).await?;
    let workspace = conn.workspaces().last(id).await?;
    drop(conn);
    if last.is_some_and(|merge| matches!(merge.status, MergeStatus::Landed | MergeStatus::Nothing)) {
        return Ok(ConflictStanding::Merged);
    }
    let Some(workspace) = workspace else { return Ok(ConflictStanding::Open) };
    let repo = core::repository::repo(world, &context).await?;
    // The branch moves when the rebase, or the merge of the target, is finished.
    let tip = repo.resolve(&format!("refs/heads/{}", workspace.branch)).await?;
    let resolved = match tip {
        Some(tip) => repo.is_ancestor(&conflict.target_commit, &tip).await?,
        None => false,
    };
    Ok(if resolved { ConflictStanding::Resolved } else { ConflictStanding::Open })
}

/// One file in conflict with its three sides.
pub(crate) async fn conflict_file(world: &World, id: &TaskId, path: &str) -> Result<ConflictFile> {
    let conflict = conflict(world, id).await?;
    let found = conflict.and_then(|conflict| conflict.paths.into_iter().find(|known| known.path == path));
    let conflict: ConflictPath = found.ok_or_else(|| EngineError::not_found("file in conflict", path))?;
    let context = {
        let mut conn = world.store().read().await?;
        core::load::load(world, &mut conn, id, None).await?.1
    };
    let repo = core::repository::repo(world, &context).await?;
    Ok(ConflictFile {
        base: side_text(&repo, conflict.base.as_ref()).await?,
        ours: side_text(&repo, conflict.ours.as_ref()).await?,
        theirs: side_text(&repo, conflict.theirs.as_ref()).await?,
        conflict,
    })
}

/// Delivery of a closed task.
pub(crate) async fn delivery(world: &World, id: &TaskId) -> Result<Delivery> {
    let mut conn = world.store().read().await?;
    let (task, context) = core::load::load(world, &mut conn, id, None).await?;
    if !context.workflow.state(&task.status).is_some_and(forge_model::workflow::State::is_terminal) {
        let message = "the task is open: its delivery is known after it is closed";
        return Err(EngineError::conflict(ConflictCode::TaskOpen, message));
    }
    let merge = conn.merges().last(id).await?;
    let merge = merge.filter(|merge| matches!(merge.status, MergeStatus::Landed | MergeStatus::Nothing));
    let reviews = conn.reviews().list(id).await?;
    let runs = conn.executions().list(id).await?;
    let workspace = conn.workspaces().last(id).await?;
    let pull_request = conn.pull_requests().get(id).await?.and_then(|row| row.pull_request);
    drop(conn);
    let commits = match (&merge, &workspace) {
        (Some(merge), Some(workspace)) if !merge.source_commit.is_empty() => {
            let repo = core::repository::repo(world, &context).await?;
            let base = merge.target_before.clone().unwrap_or_else(|| workspace.base_commit.clone());
            delivered(&repo, &base, &merge.source_commit).await?
        }
        _ => Vec::new(),
    };
    let mut usage = Usage::default();
    let mut agent_ms = 0;
    for row in &runs {
        usage.add(&row.execution.usage);
        agent_ms += row.execution.finished_at.map_or(0, |end| end.since(row.execution.started_at));
    }
    // The checks that count are those of the work itself, not of a plan or a gate that had none.
    let passed = reviews.iter().rev().find(|review| review.status == ReviewStatus::Passed);
    let judged = reviews.iter().rev().find(|review| {
        review.status == ReviewStatus::Passed
            && context.workflow.state(&review.state).is_some_and(|state| context.workflow.judges_work(state))
    });
    let passed = judged.or(passed);
    let last_work = runs.iter().rev().find(|row| row.execution.role == ExecutionRole::Coder);
    Ok(Delivery {
        summary: last_work.and_then(|row| row.execution.summary.clone()),
        pull_request: pull_request.map(|pull| PullRequestLink {
            number: pull.number,
            url: pull.url,
            state: pull.state,
        }),
        commits,
        diff_stat: task.diff_stat,
        checks: passed.map(|review| review.steps.clone()).unwrap_or_default(),
        audit: reviews.iter().rev().find_map(|review| {
            review.audits.iter().rev().find(|report| report.audit.verdict.is_some()).cloned()
        }),
        decided_by: passed.and_then(|review| review.decided_by.clone()),
        attempts: u32::try_from(reviews.len()).unwrap_or(u32::MAX),
        runs: u32::try_from(runs.len()).unwrap_or(u32::MAX),
        usage,
        started_at: runs.first().map(|row| row.execution.started_at),
        finished_at: task.status_since,
        agent_ms,
        merge,
    })
}

async fn delivered(repo: &Repo, base: &str, source: &str) -> Result<Vec<DeliveredCommit>> {
    // After garbage collection the commits of a squashed branch may be gone; the delivery stands without them.
    if repo.resolve(base).await?.is_none() || repo.resolve(source).await?.is_none() {
        return Ok(Vec::new());
    }
    let mut log = repo.log(base, source, MAX_COMMITS).await?;
    log.reverse();
    let told = log.into_iter().map(|commit| DeliveredCommit {
        id: commit.oid,
        subject: commit.subject,
        author: commit.author,
        at: Timestamp(commit.at_ms),
    });
    Ok(told.collect())
}

async fn side_text(repo: &Repo, side: Option<&ConflictSide>) -> Result<Option<ConflictText>> {
    let Some(side) = side else { return Ok(None) };
    match repo.blob(&side.oid, MAX_SIDE_BYTES).await {
        Ok(content) => {
            let binary = content.contains(&0);
            let size = content.len() as u64;
            let text = if binary { String::new() } else { String::from_utf8_lossy(&content).into_owned() };
            Ok(Some(ConflictText { text, binary, too_large: false, size }))
        }
        Err(forge_git::GitError::TooLarge { size, .. }) => {
            Ok(Some(ConflictText { text: String::new(), binary: false, too_large: true, size }))
        }
        Err(error) => Err(error.into()),
    }
}
