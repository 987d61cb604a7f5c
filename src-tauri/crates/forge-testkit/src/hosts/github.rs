//! GitHub's dialect.

use anyhow::Result;
use forge_model::pull_request::{HostCheckStatus, HostVerdict, Mergeable, PullRequestState};
use serde_json::{Value, json};

use super::state::{ACCOUNT, Answer, Asked, Comment, NotOpened, OWNER, Pull, REPO, State};

pub(super) fn answer(state: &mut State, asked: &Asked) -> Result<Answer> {
    let segments: Vec<&str> = asked.segments.iter().map(String::as_str).collect();
    let ["api", "v3", "repos", OWNER, REPO, rest @ ..] = segments.as_slice() else {
        return Ok(Answer::refused(404, "Not Found"));
    };
    match (asked.method.as_str(), rest) {
        ("GET", ["pulls"]) => list(state, asked),
        ("POST", ["pulls"]) => open(state, asked),
        ("GET", ["commits", commit, "status"]) => Ok(Answer::One(
            200,
            json!({ "state": "pending", "sha": commit, "total_count": 0, "statuses": [] }),
        )),
        ("GET", ["commits", commit, "check-runs"]) => {
            let runs: Vec<Value> = state.checks_of(commit).into_iter().map(check_run).collect();
            Ok(Answer::One(200, json!({ "total_count": runs.len(), "check_runs": runs })))
        }
        (method, [kind @ ("pulls" | "issues"), number, more @ ..]) => {
            match number.parse().ok().filter(|number| state.pull(*number).is_ok()) {
                Some(number) => of_one(state, asked, number, method, kind, more),
                None => Ok(Answer::refused(404, "Not Found")),
            }
        }
        _ => Ok(Answer::refused(404, "Not Found")),
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
        ("GET", "pulls", []) => {}
        ("PATCH", "pulls", []) => {
            let pull = state.changed(number)?;
            pull.title = asked.text("title");
            pull.body = asked.text("body");
        }
        ("POST", "issues", ["comments"]) => {
            state.say(number, Comment::spoken(ACCOUNT, &asked.text("body")))?;
            return Ok(Answer::One(201, json!({ "body": asked.text("body") })));
        }
        ("GET", "issues", ["comments"]) => {
            return said(state, number, |it| it.place.is_none() && it.verdict.is_none());
        }
        ("GET", "pulls", ["comments"]) => return said(state, number, |it| it.place.is_some()),
        ("GET", "pulls", ["reviews"]) => return said(state, number, |it| it.verdict.is_some()),
        _ => return Ok(Answer::refused(404, "Not Found")),
    }
    Ok(Answer::One(200, shown(state, state.pull(number)?)?))
}

fn list(state: &State, asked: &Asked) -> Result<Answer> {
    let fits = |key: &str, value: &str| asked.query.get(key).is_none_or(|wanted| wanted == value);
    let mut pulls: Vec<&Pull> = state
        .pulls
        .iter()
        .filter(|pull| fits("head", &format!("{OWNER}:{}", pull.head)) && fits("base", &pull.base))
        .collect();
    pulls.sort_by_key(|pull| std::cmp::Reverse(pull.updated));
    Ok(Answer::List(pulls.into_iter().map(|pull| shown(state, pull)).collect::<Result<_>>()?))
}

fn open(state: &mut State, asked: &Asked) -> Result<Answer> {
    let branches = (asked.text("head"), asked.text("base"));
    let draft = asked.body["draft"].as_bool().unwrap_or(false);
    let refused =
        |errors: Value| Answer::One(422, json!({ "message": "Validation Failed", "errors": errors }));
    let head = branches.0.clone();
    Ok(match state.open(asked.text("title"), asked.text("body"), branches, draft)? {
        Ok(number) => Answer::One(201, shown(state, state.pull(number)?)?),
        Err(NotOpened::Exists(_)) => {
            let message = format!("A pull request already exists for {OWNER}:{head}.");
            refused(json!([{ "resource": "PullRequest", "code": "custom", "message": message }]))
        }
        Err(NotOpened::NoBranch(branch)) => {
            let field = if branch == head { "head" } else { "base" };
            refused(json!([{ "resource": "PullRequest", "field": field, "code": "invalid" }]))
        }
        Err(NotOpened::Nothing) => {
            let message = format!("No commits between {} and {head}", asked.text("base"));
            refused(json!([{ "resource": "PullRequest", "code": "custom", "message": message }]))
        }
    })
}

fn shown(state: &State, pull: &Pull) -> Result<Value> {
    let merged = pull.state == PullRequestState::Merged;
    let mergeable = match state.mergeable(pull)? {
        Mergeable::Yes => Some(true),
        Mergeable::No => Some(false),
        Mergeable::Unknown => None,
    };
    Ok(json!({
        "number": pull.number,
        "html_url": url(state, pull),
        "title": pull.title,
        "body": pull.body,
        "state": if pull.state == PullRequestState::Open { "open" } else { "closed" },
        "draft": pull.draft,
        "merged": merged,
        "merged_at": merged.then_some(pull.updated),
        "merge_commit_sha": pull.merge_commit,
        "mergeable": mergeable,
        "head": { "label": format!("{OWNER}:{}", pull.head), "ref": pull.head, "sha": pull.head_commit },
        "base": { "label": format!("{OWNER}:{}", pull.base), "ref": pull.base, "sha": "" },
        "updated_at": pull.updated,
    }))
}

fn url(state: &State, pull: &Pull) -> String {
    format!("{}/{OWNER}/{REPO}/pull/{}", state.address, pull.number)
}

fn said(state: &State, number: u32, which: fn(&Comment) -> bool) -> Result<Answer> {
    let pull = state.pull(number)?;
    let shown = pull.comments.iter().filter(|comment| which(comment)).map(|comment| {
        let (path, line) = comment.place.clone().unzip();
        let verdict = match comment.verdict {
            Some(HostVerdict::Approved) => "APPROVED",
            Some(HostVerdict::ChangesRequested) => "CHANGES_REQUESTED",
            None => "COMMENTED",
        };
        json!({
            "id": comment.id,
            "user": { "login": comment.author },
            "body": comment.body,
            "html_url": format!("{}#issuecomment-{}", url(state, pull), comment.id),
            "created_at": comment.at,
            "submitted_at": comment.at,
            "state": verdict,
            "path": path,
            "line": line,
            "original_line": line,
        })
    });
    Ok(Answer::List(shown.collect()))
}

fn check_run((name, status, summary): (&str, HostCheckStatus, &str)) -> Value {
    let (status, conclusion) = match status {
        HostCheckStatus::Pending => ("in_progress", None),
        HostCheckStatus::Passed => ("completed", Some("success")),
        HostCheckStatus::Failed => ("completed", Some("failure")),
        HostCheckStatus::Skipped => ("completed", Some("skipped")),
    };
    json!({
        "name": name, "status": status, "conclusion": conclusion, "html_url": null,
        "output": { "title": summary, "summary": null, "text": null },
    })
}
