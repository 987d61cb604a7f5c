//! The merge through a code host: the reviewed commit is pushed to a branch of Forge's, a pull request is made or
//! brought up to date, and the task waits until somebody decides it there.
//!
//! Nothing is merged here and no local branch moves. What is about to be pushed is recorded before, its result
//! after; a pull request that was made but not recorded is found at the host. So the step may run again after any
//! kill, and running it again is also how it looks whether something happened.

use forge_git::{GitError, Push, PushError, RemoteWork, Repo};
use forge_hosts::{Fetched, Host, HostError, NewPullRequest, pull_request_body, pull_request_title};
use forge_model::actor::{Actor, Cause};
use forge_model::event::EventType;
use forge_model::merge::{Merge, MergeStatus};
use forge_model::pull_request::{HostConfig, PullRequest, PullRequestLink, PullRequestState};
use forge_model::task::AnnotationType;
use forge_store::table::pull_requests::PullRequestRow;
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::{
    EngineError, World,
    core::{
        self,
        block_reason::BlockReason,
        context::task_branch,
        moves::Move,
        world::step::{End, Stepping},
    },
    error::Result,
    merge::{self, step::NEVER_STARTED},
    pull_request::{
        ends::{blank, blocked, push_remedy, waiting, without_work},
        hosts::{NoHost, remedy},
    },
    review::{self, Approved},
    workspace,
};

/// Why a pull request could not be brought about or looked at.
pub(crate) enum Failed {
    Host(HostError),
    Push(PushError),
    Engine(EngineError),
}

impl From<HostError> for Failed {
    fn from(error: HostError) -> Self {
        Self::Host(error)
    }
}

impl From<PushError> for Failed {
    fn from(error: PushError) -> Self {
        match error {
            // Not the host's affair: no git command runs before a person has looked at it.
            PushError::Git(changed @ GitError::RepositoryChanged { .. }) => Self::Engine(changed.into()),
            error => Self::Push(error),
        }
    }
}

impl From<EngineError> for Failed {
    fn from(error: EngineError) -> Self {
        Self::Engine(error)
    }
}

/// Brings the task's work to the code host, or looks what became of it there.
pub(crate) async fn run_pull_request(world: &World, s: &Stepping, cancel: &CancellationToken) -> Result<End> {
    tokio::select! {
        biased;
        () = cancel.cancelled() => Ok(End::Interrupted),
        end = go_by_host(world, s) => end,
    }
}

async fn go_by_host(world: &World, s: &Stepping) -> Result<End> {
    let target = s.context.target_branch(&s.task);
    let source = match review::approved_work(world, &s.context, &s.task).await? {
        Approved::Commit(source) => source,
        Approved::NeverStarted => {
            let merge = host_intent(world, s, &target, "").await?;
            return merge::step::end_with_nothing(world, s, merge, NEVER_STARTED).await;
        }
        Approved::Missing(trouble) => return Ok(End::Block(*trouble)),
    };
    let repo = core::repository::repo(world, &s.context).await?;
    let config = match super::hosts::code_host(&s.context, &repo).await? {
        Ok(config) => config,
        Err(NoHost { problem, remedy }) => return Ok(blocked(problem, &remedy, None)),
    };
    let mut row = pull_request_row(world, s, config, &target).await?;
    let merge = host_intent(world, s, &target, &source).await?;
    if row.pushed_commit.is_none() && repo.is_ancestor(&source, &format!("refs/heads/{target}")).await? {
        return merge::step::nothing_new(world, s, &repo, merge).await;
    }
    // Work that the host does not have yet is brought there at once.
    let early = row.next_check_at.is_some_and(|at| at > world.now())
        && row.told_by.as_ref() == Some(&s.transition.id);
    if early && super::hosts::has_read(world, &s.task.id) {
        // Somebody else's news woke the task; the host is asked when it is due.
        return Ok(End::Wait(waiting(&row)));
    }
    let done = async {
        bring(world, s, &repo, &mut row, &source).await?;
        let seen = look_at_host(world, s, &mut row).await?;
        let work = RemoteWork {
            remote: &row.host.remote,
            branch: &row.base,
            // Somebody may have merged it into another branch.
            merged: seen.merge_commit.as_deref().filter(|_| seen.base == row.base),
            head: Some(&seen.head_commit),
        };
        let has_landed = seen.state == PullRequestState::Merged;
        let lacks_work = has_landed && !repo.is_contained_at(&work, &source).await?;
        Ok((seen, lacks_work))
    };
    match done.await {
        Ok((seen, true)) => Ok(End::Block(without_work(&seen, &row.base, &source))),
        Ok((seen, false)) => decide_by_host(world, s, &repo, row, merge, seen, &source).await,
        Err(failed) => failed_at_host(world, s, row, failed).await,
    }
}

/// The record of the task's pull request. One at another host, or for another target, is left behind.
async fn pull_request_row(
    world: &World,
    s: &Stepping,
    host: HostConfig,
    base: &str,
) -> Result<PullRequestRow> {
    let known = world.store().read().await?.pull_requests().get(&s.task.id).await?;
    let head = task_branch(&s.task);
    let known = match known {
        Some(row) if row.host == host && row.base == base => return Ok(row),
        other => other.filter(|row| row.host.remote == host.remote),
    };
    let now = world.now();
    Ok(PullRequestRow {
        task_id: s.task.id.clone(),
        host,
        head,
        base: base.to_owned(),
        // What lies at the remote is still ours.
        intended_commit: known.as_ref().and_then(|row| row.intended_commit.clone()),
        pushed_commit: known.as_ref().and_then(|row| row.pushed_commit.clone()),
        told_by: None,
        pull_request: None,
        over: None,
        told: known.map(|row| row.told).unwrap_or_default(),
        checked_at: None,
        changed_at: None,
        next_check_at: None,
        failures: 0,
        trouble: None,
        remedy: None,
        created_at: now,
    })
}

/// The merge that a pull request stands for; one for each commit that was brought to the host.
async fn host_intent(world: &World, s: &Stepping, target: &str, source: &str) -> Result<Merge> {
    let last = world.store().read().await?.merges().last(&s.task.id).await?;
    let landed = last.filter(|last| {
        last.status == MergeStatus::Landed
            && last.target == target
            && last.source_commit == source
            && last.created_at >= s.transition.at
    });
    match landed {
        Some(landed) => Ok(landed),
        None => merge::step::intent(world, s, target, source).await,
    }
}

/// Pushes what is new, and makes the pull request or brings it up to date.
async fn bring(
    world: &World,
    s: &Stepping,
    repo: &Repo,
    row: &mut PullRequestRow,
    source: &str,
) -> std::result::Result<(), Failed> {
    let told = row.told_by.as_ref() == Some(&s.transition.id) && row.pull_request.is_some();
    if told && row.pushed_commit.as_deref() == Some(source) {
        return Ok(());
    }
    if let Some(known) = row.pull_request.as_ref().filter(|_| !told) {
        let (number, ours) = (known.number, known.head_commit == source);
        match known.state {
            PullRequestState::Open => {}
            // It was merged after the last look that was recorded whole.
            PullRequestState::Merged if ours => return Ok(()),
            // It was closed while the task was elsewhere: a person decides before another one is made.
            PullRequestState::Closed if row.told_by.is_none() => {
                row.told_by = Some(s.transition.id.clone());
                return Ok(());
            }
            // A person knows that it was closed and wants to go on, or there is newer work: with another one.
            PullRequestState::Merged | PullRequestState::Closed => {
                (row.over, row.pull_request) = (Some(number), None);
            }
        }
    }
    push_for(world, s, repo, row, source).await?;
    let host = super::hosts::host(world, &s.context, &row.host).await?;
    let summary = super::pull_request_summary(world, &s.context, &s.task).await?;
    let redactor = core::redaction::redactor_in(world, &s.context);
    let title = redactor.string(pull_request_title(&s.task.title));
    let body = redactor.string(pull_request_body(&summary));
    let link = make_or_update(host.as_ref(), row, title.clone(), body, source).await?;
    world.point("pr.created");
    let now = world.now();
    let known = row.pull_request.take().filter(|pull| pull.number == link.number);
    row.pull_request = Some(PullRequest {
        url: link.url,
        title,
        state: link.state,
        ..known.unwrap_or_else(|| blank(row, link.number, source, now))
    });
    row.told_by = Some(s.transition.id.clone());
    row.changed_at = Some(now);
    // What is looked at next is another version: it is read as a whole.
    drop(super::hosts::take_read(world, &s.task.id));
    save_pull_request(world, s, row, true).await?;
    Ok(())
}

async fn push_for(
    world: &World,
    s: &Stepping,
    repo: &Repo,
    row: &mut PullRequestRow,
    source: &str,
) -> std::result::Result<(), Failed> {
    if row.pushed_commit.as_deref() == Some(source) {
        return Ok(());
    }
    let left_at: Vec<String> =
        row.intended_commit.replace(source.to_owned()).into_iter().chain(row.pushed_commit.clone()).collect();
    save_pull_request(world, s, row, false).await?;
    world.point("pr.intended");
    let push = Push { remote: &row.host.remote, branch: &row.head, commit: source, left_at: &left_at };
    repo.push(&push).await?;
    world.point("pr.pushed");
    row.pushed_commit = Some(source.to_owned());
    save_pull_request(world, s, row, false).await?;
    Ok(())
}

/// The pull request of this work: the known one, one that was made but not recorded, or a new one.
async fn make_or_update(
    host: &dyn Host,
    row: &mut PullRequestRow,
    title: String,
    body: String,
    source: &str,
) -> std::result::Result<PullRequestLink, Failed> {
    let over = row.over.unwrap_or_default();
    let found = host.find(&row.head, &row.base).await?.filter(|found| found.number > over);
    match found {
        Some(link) if link.state == PullRequestState::Open => {
            return Ok(host.update(link.number, &title, &body).await?);
        }
        Some(link) => {
            let known = row.pull_request.as_ref().filter(|known| known.number == link.number);
            let earlier = known.is_some_and(|known| known.head_commit != source);
            if link.state != PullRequestState::Merged || !earlier {
                return Ok(link);
            }
            // It was merged before this work was there: what came later needs one of its own.
            (row.over, row.pull_request) = (Some(link.number), None);
        }
        None => {}
    }
    let new = NewPullRequest { title, body, head: row.head.clone(), base: row.base.clone(), draft: false };
    Ok(host.create(&new).await?)
}

/// Looks at the pull request and records what is new. Gives how it is.
async fn look_at_host(
    world: &World,
    s: &Stepping,
    row: &mut PullRequestRow,
) -> std::result::Result<PullRequest, Failed> {
    let Some(known) = row.pull_request.clone() else {
        let what = "a pull request was not recorded".to_owned();
        return Err(HostError::Protocol { what }.into());
    };
    let host = super::hosts::host(world, &s.context, &row.host).await?;
    let mut read = super::hosts::take_read(world, &s.task.id).unwrap_or_default();
    let fetched = host.state(known.number, &mut read).await;
    super::hosts::keep_read(world, &s.task.id, read);
    let seen = match fetched? {
        Fetched::NotModified => known.clone(),
        Fetched::Changed(pull) => *pull,
    };
    world.point("pr.seen");
    let changed = seen != known;
    row.checked_at = Some(world.now());
    if changed {
        row.changed_at = row.checked_at;
        row.pull_request = Some(seen.clone());
    }
    (row.failures, row.trouble, row.remedy) = (0, None, None);
    row.next_check_at = Some(super::hosts::next_look(world, row, None, Some(host.as_ref())));
    if changed {
        super::keep_host_comments(world, &s.task, &seen).await?;
    }
    save_pull_request(world, s, row, changed).await?;
    Ok(seen)
}

async fn decide_by_host(
    world: &World,
    s: &Stepping,
    repo: &Repo,
    mut row: PullRequestRow,
    mut merge: Merge,
    seen: PullRequest,
    source: &str,
) -> Result<End> {
    match seen.state {
        PullRequestState::Open => {
            if merge.status == MergeStatus::Intended {
                record_host_merge(world, s, &merge).await?;
            }
            Ok(End::Wait(waiting(&row)))
        }
        PullRequestState::Closed => {
            let message = format!("pull request {} was closed without a merge", seen.number);
            let trouble = BlockReason {
                details: json!({ "number": seen.number, "url": seen.url }),
                ..BlockReason::new(AnnotationType::PrClosedWithoutMerge, message)
            };
            Ok(End::Block(trouble))
        }
        PullRequestState::Merged => {
            let target = format!("refs/heads/{}", merge.target);
            let here = match &seen.merge_commit {
                Some(commit) if repo.resolve(commit).await?.is_some() => {
                    repo.is_ancestor(commit, &target).await?
                }
                _ => false,
            };
            let mut note = format!("merged at the host as pull request {}", seen.number);
            if !here {
                note.push_str(&format!("; the local {} is unchanged, fetch it when needed", merge.target));
            }
            if seen.head_commit != source {
                note.push_str("; others had added commits");
            }
            if let Some(left) = merge::left_behind::left_behind(world, s, repo, source).await? {
                note.push_str(&format!("; {left}"));
            }
            merge.status = MergeStatus::Landed;
            merge.merge_commit = seen.merge_commit;
            merge.reason = Some(note.clone());
            row.next_check_at = None;
            save_pull_request(world, s, &row, false).await?;
            merge::step::write_merge(world, s, &merge, EventType::MergeSucceeded).await?;
            workspace::unmerged::count_unmerged(world, &s.task.id).await;
            let accept = s.context.workflow.state(&s.task.status);
            let Some(accept) = accept.and_then(|state| state.triggers.get("accept")) else {
                return Ok(End::Ok(Some(format!("{note}; the state has no accept transition"))));
            };
            let mut mv = Move::by(&accept.to, "accept", Actor::System { cause: Cause::Host });
            mv.reason = Some(note);
            Ok(End::go(mv))
        }
    }
}

/// The first time that the work is at the host, that is told as the beginning of its merge.
async fn record_host_merge(world: &World, s: &Stepping, merge: &Merge) -> Result<()> {
    let known = world.store().read().await?.merges().last(&s.task.id).await?;
    if known.is_some_and(|known| known.id == merge.id) {
        return Ok(());
    }
    merge::step::write_merge(world, s, merge, EventType::MergeStarted).await
}

/// What passes is waited for; the rest is a person's.
async fn failed_at_host(world: &World, s: &Stepping, mut row: PullRequestRow, failed: Failed) -> Result<End> {
    let (passing, until, message, help, status) = match &failed {
        Failed::Engine(_) => (false, None, String::new(), String::new(), None),
        Failed::Host(error) => {
            let until = match error {
                HostError::RateLimited { until } => Some(*until),
                _ => None,
            };
            let status = match error {
                HostError::NotSignedIn { .. } => Some(401),
                HostError::Forbidden { .. } => Some(403),
                HostError::NotFound { .. } => Some(404),
                HostError::Refused { status, .. } => Some(*status),
                HostError::RateLimited { .. } | HostError::Offline { .. } | HostError::Protocol { .. } => {
                    None
                }
            };
            (error.is_passing(), until, error.to_string(), remedy(error), status)
        }
        Failed::Push(error) => {
            let passing = matches!(error, PushError::Network { .. });
            (passing, None, format!("Could not {error}"), push_remedy(error).to_owned(), None)
        }
    };
    if let Failed::Engine(error) = failed {
        return Err(error);
    }
    (row.trouble, row.remedy) = (Some(message.clone()), Some(help.clone()));
    if passing {
        row.failures = row.failures.saturating_add(1);
        row.next_check_at = Some(super::hosts::next_look(world, &row, until, None));
        if !super::hosts::has_read(world, &s.task.id) {
            super::hosts::keep_read(world, &s.task.id, forge_hosts::Etags::default());
        }
        save_pull_request(world, s, &row, true).await?;
        return Ok(End::Wait(waiting(&row)));
    }
    // Another token may be there when it is tried again.
    super::hosts::forget_host(world, &row.host);
    row.next_check_at = None;
    save_pull_request(world, s, &row, true).await?;
    Ok(blocked(message, &help, status))
}

async fn save_pull_request(world: &World, s: &Stepping, row: &PullRequestRow, told: bool) -> Result<()> {
    let mut tx = world.store().write().await?;
    tx.pull_requests_mut().put(row, world.now()).await?;
    if told {
        super::tell_of_pull_request(world, &mut tx, &s.task, row).await?;
    }
    tx.commit().await?;
    super::hosts::due_changed(world);
    Ok(())
}
