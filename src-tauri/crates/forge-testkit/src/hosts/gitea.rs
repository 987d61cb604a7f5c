//! Gitea's and Forgejo's dialect.

use anyhow::Result;
use forge_model::pull_request::{HostCheckStatus, HostVerdict, Mergeable, PullRequestState};
use serde_json::{Value, json};

use super::state::{ACCOUNT, Answer, Asked, Comment, NotOpened, OWNER, Pull, REPO, State};

const DRAFT: &str = "WIP: ";
/// Line comments belong to a review there; all of them belong to this one.
const REVIEW_OF_LINES: u64 = 1;

pub(super) fn answer(state: &mut State, asked: &Asked) -> Result<Answer> {
    let segments: Vec<&str> = asked.segments.iter().map(String::as_str).collect();
    let ["api", "v1", "repos", OWNER, REPO, rest @ ..] = segments.as_slice() else {
        return Ok(Answer::refused(404, "The target couldn't be found."));
    };
    match (asked.method.as_str(), rest) {
        ("GET", ["pulls"]) => list(state, asked),
        ("POST", ["pulls"]) => open(state, asked),
        ("GET", ["commits", commit, "status"]) => {
            let statuses: Vec<Value> = state.checks_of(commit).into_iter().map(status).collect();
            let statuses = if statuses.is_empty() { Value::Null } else { Value::Array(statuses) };
            Ok(Answer::One(200, json!({ "state": "pending", "sha": commit, "statuses": statuses })))
        }
        (method, [kind @ ("pulls" | "issues"), number, more @ ..])
            if number.parse().is_ok_and(|number| state.pull(number).is_ok()) =>
        {
            of_one(state, asked, number.parse()?, method, kind, more)
        }
        ("GET", ["pulls", base, head @ ..]) if !head.is_empty() => {
            let head = head.join("/");
            // Like the original it gives the oldest, whatever became of it.
            match state.pulls.iter().find(|pull| pull.head == head && pull.base == *base) {
                Some(pull) => Ok(Answer::One(200, shown(state, pull)?)),
                None => Ok(Answer::refused(404, "The target couldn't be found.")),
            }
        }
        _ => Ok(Answer::refused(404, "The target couldn't be found.")),
    }
}

fn of_one(
    state: &mut State,
    asked: &Asked,
    number: u32,
    method: &str,
    kind: &str,
    more: &[&str],
) -> Result<Answer> {
    match (method, kind, more) {
        ("GET", "pulls", []) => Ok(Answer::One(200, shown(state, state.pull(number)?)?)),
        ("PATCH", "pulls", []) => {
            let (title, draft) = without_mark(&asked.text("title"));
            let pull = state.changed(number)?;
            (pull.title, pull.draft) = (title, draft);
            pull.body = asked.text("body");
            Ok(Answer::One(201, shown(state, state.pull(number)?)?))
        }
        ("POST", "issues", ["comments"]) => {
            state.say(number, Comment::spoken(ACCOUNT, &asked.text("body")))?;
            Ok(Answer::One(201, json!({ "body": asked.text("body") })))
        }
        ("GET", "issues", ["comments"]) => {
            said(state, number, |it| it.place.is_none() && it.verdict.is_none())
        }
        ("GET", "pulls", ["reviews"]) => reviews(state, state.pull(number)?),
        ("GET", "pulls", ["reviews", "1", "comments"]) => said(state, number, |it| it.place.is_some()),
        _ => Ok(Answer::refused(404, "The target couldn't be found.")),
    }
}

fn list(state: &State, asked: &Asked) -> Result<Answer> {
    let wanted = asked.query.get("state").map_or("open", String::as_str);
    let fits = |pull: &&Pull| match wanted {
        "all" => true,
        "closed" => pull.state != PullRequestState::Open,
        _ => pull.state == PullRequestState::Open,
    };
    let mut pulls: Vec<&Pull> = state.pulls.iter().filter(fits).collect();
    pulls.sort_by_key(|pull| std::cmp::Reverse(pull.updated));
    Ok(Answer::List(pulls.into_iter().map(|pull| shown(state, pull)).collect::<Result<_>>()?))
}

fn open(state: &mut State, asked: &Asked) -> Result<Answer> {
    let (title, draft) = without_mark(&asked.text("title"));
    let branches = (asked.text("head"), asked.text("base"));
    Ok(match state.open(title, asked.text("body"), branches, draft)? {
        Ok(number) => Answer::One(201, shown(state, state.pull(number)?)?),
        Err(NotOpened::Exists(number)) => Answer::refused(
            409,
            &format!("pull request already exists for these targets [id: {number}, issue_id: {number}]"),
        ),
        Err(NotOpened::NoBranch(branch)) => {
            Answer::refused(404, &format!("branch does not exist [name: {branch}]"))
        }
        Err(NotOpened::Nothing) => Answer::refused(422, "there are no changes between the head and the base"),
    })
}

fn without_mark(title: &str) -> (String, bool) {
    match title.strip_prefix(DRAFT) {
        Some(title) => (title.to_owned(), true),
        None => (title.to_owned(), false),
    }
}

fn shown(state: &State, pull: &Pull) -> Result<Value> {
    let mergeable =
        pull.state == PullRequestState::Open && !pull.draft && state.mergeable(pull)? == Mergeable::Yes;
    Ok(json!({
        "number": pull.number,
        "html_url": url(state, pull),
        "title": if pull.draft { format!("{DRAFT}{}", pull.title) } else { pull.title.clone() },
        "body": pull.body,
        "state": if pull.state == PullRequestState::Open { "open" } else { "closed" },
        "draft": pull.draft,
        "merged": pull.state == PullRequestState::Merged,
        "merge_commit_sha": pull.merge_commit,
        "mergeable": mergeable,
        "head": { "label": pull.head, "ref": pull.head, "sha": pull.head_commit, "repo_id": 1 },
        "base": { "label": pull.base, "ref": pull.base, "sha": "", "repo_id": 1 },
        "updated_at": pull.updated,
    }))
}

fn url(state: &State, pull: &Pull) -> String {
    format!("{}/{OWNER}/{REPO}/pulls/{}", state.address, pull.number)
}

fn said(state: &State, number: u32, which: fn(&Comment) -> bool) -> Result<Answer> {
    let pull = state.pull(number)?;
    let shown = pull.comments.iter().filter(|comment| which(comment)).map(|comment| {
        let (path, line) = comment.place.clone().unzip();
        json!({
            "id": comment.id,
            "user": { "login": comment.author },
            "body": comment.body,
            "html_url": format!("{}#issuecomment-{}", url(state, pull), comment.id),
            "created_at": comment.at,
            "path": path,
            "position": line.unwrap_or(0),
            "original_position": 0,
        })
    });
    Ok(Answer::List(shown.collect()))
}

fn reviews(state: &State, pull: &Pull) -> Result<Answer> {
    let review = |id: u64, author: &str, body: &str, verdict: &str, lines: usize, at| {
        json!({
            "id": id, "user": { "login": author }, "body": body, "state": verdict, "dismissed": false,
            "comments_count": lines, "html_url": format!("{}#issuecomment-{id}", url(state, pull)),
            "submitted_at": at,
        })
    };
    let mut shown = Vec::new();
    let lines: Vec<&Comment> = pull.comments.iter().filter(|it| it.place.is_some()).collect();
    if let Some(first) = lines.first() {
        shown.push(review(REVIEW_OF_LINES, &first.author, "", "COMMENT", lines.len(), first.at));
    }
    for comment in &pull.comments {
        let verdict = match comment.verdict {
            Some(HostVerdict::Approved) => "APPROVED",
            Some(HostVerdict::ChangesRequested) => "REQUEST_CHANGES",
            None => continue,
        };
        shown.push(review(comment.id, &comment.author, &comment.body, verdict, 0, comment.at));
    }
    Ok(Answer::List(shown))
}

fn status((name, status, summary): (&str, HostCheckStatus, &str)) -> Value {
    let word = match status {
        HostCheckStatus::Pending => "pending",
        HostCheckStatus::Passed => "success",
        HostCheckStatus::Failed => "failure",
        HostCheckStatus::Skipped => "skipped",
    };
    json!({ "context": name, "status": word, "description": summary, "target_url": "" })
}
