//! How the step of a pull request ends: what it waits for, and what blocks it.

use forge_git::PushError;
use forge_model::pull_request::{HostCheckStatus, Mergeable, PullRequest, PullRequestState};
use forge_model::task::{AnnotationType, WaitReason, Waiting};
use forge_store::table::pull_requests::PullRequestRow;
use serde_json::{Value, json};

use crate::{
    core::{block_reason::BlockReason, world::step::End},
    review::short,
};

pub(crate) fn without_work(seen: &PullRequest, base: &str, source: &str) -> BlockReason {
    let (number, merged, source) = (seen.number, &seen.base, short(source));
    let message = if merged == base {
        format!(
            "Could not finish: pull request {number} was merged without the reviewed commit {source}.\nReview what was \
             merged, then try again or send the task back."
        )
    } else {
        format!(
            "Could not finish: pull request {number} was merged into {merged}, and {base} does not have the reviewed \
             commit {source}.\nMerge {merged} into {base} at the host, then try again."
        )
    };
    let details = json!({ "number": seen.number, "url": seen.url });
    BlockReason { details, ..BlockReason::new(AnnotationType::MergeError, message) }
}

pub(crate) fn push_remedy(error: &PushError) -> &'static str {
    match error {
        PushError::NoRemote { .. } => {
            "set the git remote in the project's settings, or add it with `git remote add`"
        }
        PushError::Moved { .. } => {
            "fetch that branch and merge it into the task's branch, or delete it there; then try again"
        }
        PushError::Refused { .. } => "follow the message of the remote or the hook, then try again",
        PushError::Auth { .. } => "sign in with git (`git push` must work without a prompt), then try again",
        PushError::Network { .. } => "Forge retries automatically",
        PushError::Git(_) => "follow git's message, then try again",
    }
}

pub(crate) fn blocked(message: String, remedy: &str, status: Option<u16>) -> End {
    let details: Value = json!({ "remedy": remedy, "status": status });
    End::Block(BlockReason { details, ..BlockReason::new(AnnotationType::PrFailed, message) })
}

/// What the task waits for, as its card says it.
pub(crate) fn waiting(row: &PullRequestRow) -> Waiting {
    if let Some(trouble) = &row.trouble {
        return Waiting {
            reason: WaitReason::HostUnreachable,
            until: row.next_check_at,
            files: Vec::new(),
            message: trouble.clone(),
        };
    }
    let mut message = "waiting for the pull request to be merged".to_owned();
    if let Some(pull) = &row.pull_request {
        message = format!("waiting for pull request {} to be merged", pull.number);
        if pull.mergeable == Mergeable::No {
            message.push_str(&format!("; it conflicts with {}", pull.base));
        }
        match pull.checks.iter().filter(|check| check.status == HostCheckStatus::Failed).count() {
            0 => {}
            1 => message.push_str("; a check failed there"),
            count => message.push_str(&format!("; {count} checks failed there")),
        }
    }
    Waiting { reason: WaitReason::AwaitingMerge, until: None, files: Vec::new(), message }
}

/// A pull request of which only its number is known yet.
pub(crate) fn blank(
    row: &PullRequestRow,
    number: u32,
    source: &str,
    at: forge_model::time::Timestamp,
) -> PullRequest {
    PullRequest {
        number,
        url: String::new(),
        title: String::new(),
        state: PullRequestState::Open,
        draft: false,
        head: row.head.clone(),
        base: row.base.clone(),
        head_commit: source.to_owned(),
        merge_commit: None,
        mergeable: Mergeable::Unknown,
        checks: Vec::new(),
        comments: Vec::new(),
        unread: Vec::new(),
        updated_at: at,
    }
}
