//! GitLab's dialect.

use anyhow::Result;
use forge_model::pull_request::{HostCheckStatus, Mergeable, PullRequestState};
use serde_json::{Value, json};

use super::state::{ACCOUNT, Answer, Asked, Comment, NotOpened, OWNER, Pull, REPO, State};

const DRAFT: &str = "Draft: ";

pub(super) fn answer(state: &mut State, asked: &Asked) -> Result<Answer> {
    let segments: Vec<&str> = asked.segments.iter().map(String::as_str).collect();
    let project = format!("{OWNER}/{REPO}");
    let rest = match segments.as_slice() {
        ["api", "v4", "projects", id, rest @ ..] if **id == *project => rest,
        _ => return Ok(Answer::refused(404, "404 Project Not Found")),
    };
    match (asked.method.as_str(), rest) {
        ("GET", ["merge_requests"]) => list(state, asked),
        ("POST", ["merge_requests"]) => open(state, asked),
        ("GET", ["repository", "commits", commit, "statuses"]) => {
            Ok(Answer::List(state.checks_of(commit).into_iter().map(status).collect()))
        }
        (method, ["merge_requests", number, more @ ..])
            if number.parse().is_ok_and(|number| state.pull(number).is_ok()) =>
        {
            of_one(state, asked, number.parse()?, method, more)
        }
        _ => Ok(Answer::refused(404, "404 Not found")),
    }
}

fn of_one(state: &mut State, asked: &Asked, number: u32, method: &str, more: &[&str]) -> Result<Answer> {
    match (method, more) {
        ("GET", []) => Ok(Answer::One(200, shown(state, state.pull(number)?)?)),
        ("PUT", []) => {
            let (title, draft) = without_mark(&asked.text("title"));
            let pull = state.changed(number)?;
            (pull.title, pull.draft) = (title, draft);
            pull.body = asked.text("description");
            Ok(Answer::One(200, shown(state, state.pull(number)?)?))
        }
        ("POST", ["notes"]) => {
            state.say(number, Comment::spoken(ACCOUNT, &asked.text("body")))?;
            Ok(Answer::One(201, json!({ "body": asked.text("body") })))
        }
        ("GET", ["notes"]) => {
            let pull = state.pull(number)?;
            Ok(Answer::List(pull.comments.iter().map(note).collect()))
        }
        _ => Ok(Answer::refused(404, "404 Not found")),
    }
}

fn list(state: &State, asked: &Asked) -> Result<Answer> {
    let fits = |key: &str, value: &str| asked.query.get(key).is_none_or(|wanted| wanted == value);
    let mut pulls: Vec<&Pull> = state
        .pulls
        .iter()
        .filter(|pull| fits("source_branch", &pull.head) && fits("target_branch", &pull.base))
        .collect();
    pulls.sort_by_key(|pull| std::cmp::Reverse(pull.updated));
    Ok(Answer::List(pulls.into_iter().map(|pull| shown(state, pull)).collect::<Result<_>>()?))
}

/// The words for nothing to merge are made up; GitLab documents none.
fn open(state: &mut State, asked: &Asked) -> Result<Answer> {
    let (title, draft) = without_mark(&asked.text("title"));
    let branches = (asked.text("source_branch"), asked.text("target_branch"));
    let source = branches.0.clone();
    let refused = |status, message: String| Answer::One(status, json!({ "message": [message] }));
    Ok(match state.open(title, asked.text("description"), branches, draft)? {
        Ok(number) => Answer::One(201, shown(state, state.pull(number)?)?),
        Err(NotOpened::Exists(number)) => refused(
            409,
            format!("Another open merge request already exists for this source branch: !{number}"),
        ),
        Err(NotOpened::NoBranch(branch)) => {
            let side = if branch == source { "Source" } else { "Target" };
            refused(400, format!("{side} branch \"{branch}\" does not exist"))
        }
        Err(NotOpened::Nothing) => refused(422, format!("Source branch \"{source}\" has no changes")),
    })
}

fn without_mark(title: &str) -> (String, bool) {
    match title.strip_prefix(DRAFT) {
        Some(title) => (title.to_owned(), true),
        None => (title.to_owned(), false),
    }
}

fn shown(state: &State, pull: &Pull) -> Result<Value> {
    let conflicts = state.mergeable(pull)? == Mergeable::No;
    let pipeline = pipeline(&state.checks_of(&pull.head_commit)).map(|status| {
        json!({ "id": 1, "sha": pull.head_commit, "status": status, "web_url": format!("{}/-/pipelines/1", state.address) })
    });
    Ok(json!({
        "iid": pull.number,
        "web_url": format!("{}/{OWNER}/{REPO}/-/merge_requests/{}", state.address, pull.number),
        "title": if pull.draft { format!("{DRAFT}{}", pull.title) } else { pull.title.clone() },
        "description": pull.body,
        "state": match pull.state {
            PullRequestState::Open => "opened",
            PullRequestState::Merged => "merged",
            PullRequestState::Closed => "closed",
        },
        "draft": pull.draft,
        "source_branch": pull.head,
        "target_branch": pull.base,
        "source_project_id": 1,
        "target_project_id": 1,
        "sha": pull.head_commit,
        "merge_commit_sha": pull.merge_commit,
        "squash_commit_sha": null,
        "detailed_merge_status": if conflicts { "conflict" } else { "mergeable" },
        "has_conflicts": conflicts,
        "head_pipeline": pipeline,
        "updated_at": pull.updated,
    }))
}

/// The checks are the jobs of one pipeline.
fn pipeline(checks: &[(&str, HostCheckStatus, &str)]) -> Option<&'static str> {
    let any = |wanted| checks.iter().any(|(_, status, _)| *status == wanted);
    if checks.is_empty() {
        None
    } else if any(HostCheckStatus::Pending) {
        Some("running")
    } else if any(HostCheckStatus::Failed) {
        Some("failed")
    } else {
        Some("success")
    }
}

fn note(comment: &Comment) -> Value {
    let position = comment.place.as_ref().map(
        |(path, line)| json!({ "new_path": path, "new_line": line, "old_path": path, "old_line": null }),
    );
    json!({
        "id": comment.id,
        "author": { "username": comment.author },
        "body": comment.body,
        "created_at": comment.at,
        "system": false,
        "position": position,
    })
}

fn status((name, status, summary): (&str, HostCheckStatus, &str)) -> Value {
    let word = match status {
        HostCheckStatus::Pending => "running",
        HostCheckStatus::Passed => "success",
        HostCheckStatus::Failed => "failed",
        HostCheckStatus::Skipped => "skipped",
    };
    json!({ "name": name, "status": word, "allow_failure": false, "description": summary, "target_url": null })
}
