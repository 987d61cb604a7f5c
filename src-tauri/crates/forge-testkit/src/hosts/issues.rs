//! Issues of a fake host, in the shape of each dialect.

use forge_model::{pull_request::HostKind, time::Timestamp};
use serde_json::{Value, json};

use super::state::{ACCOUNT, Answer, Asked, FakeIssue, OWNER, REPO, State};

/// The answer to a request about issues or the repository; none for any other.
pub(super) fn answer(state: &mut State, asked: &Asked) -> Option<Answer> {
    let segments: Vec<&str> = asked.segments.iter().map(String::as_str).collect();
    let project = format!("{OWNER}/{REPO}");
    let rest = match (state.kind, segments.as_slice()) {
        (HostKind::Github, ["api", "v3", "search", "issues"]) => return Some(search(state, asked)),
        (HostKind::Github, ["api", "v3", "repos", OWNER, REPO, rest @ ..])
        | (HostKind::Gitea, ["api", "v1", "repos", OWNER, REPO, rest @ ..]) => rest,
        (HostKind::Gitlab, ["api", "v4", "projects", named, rest @ ..]) if *named == project => rest,
        _ => return None,
    };
    match (asked.method.as_str(), rest) {
        ("GET", rest) => read(state, asked, rest),
        (_, ["labels"]) => Some(new_label(state, asked)),
        (_, ["issues", number, more @ ..]) => write(state, asked, number.parse().ok()?, more),
        _ => None,
    }
}

/// A label of the repository; its number is its place in the list.
fn new_label(state: &mut State, asked: &Asked) -> Answer {
    let name = asked.text("name");
    state.labels.push(name.clone());
    Answer::One(201, json!({ "id": state.labels.len(), "name": name }))
}

/// A change of an issue, in any of the dialects.
fn write(state: &mut State, asked: &Asked, number: u32, more: &[&str]) -> Option<Answer> {
    let labels = state.labels.clone();
    let by_id = |id: u64| usize::try_from(id).ok().and_then(|id| labels.get(id.checked_sub(1)?)).cloned();
    let issue = state.issues.iter_mut().find(|issue| issue.number == number)?;
    match (asked.method.as_str(), more) {
        ("POST", ["comments" | "notes"]) => {
            issue.comments.push((ACCOUNT.to_owned(), asked.text("body")));
        }
        ("PATCH" | "PUT", []) => {
            issue.is_closed |= asked.text("state") == "closed" || asked.text("state_event") == "close";
            let listed = |key: &str| asked.text(key).split(',').map(str::to_owned).collect::<Vec<_>>();
            issue.labels.retain(|label| !listed("remove_labels").contains(label));
            issue.labels.extend(listed("add_labels").into_iter().filter(|label| !label.is_empty()));
        }
        ("POST", ["labels"]) => {
            for label in asked.body["labels"].as_array().into_iter().flatten() {
                let name = label.as_str().map(str::to_owned);
                issue.labels.extend(name.or_else(|| by_id(label.as_u64()?)));
            }
        }
        ("DELETE", ["labels", name]) => {
            let name = name.parse().ok().and_then(by_id).unwrap_or_else(|| (*name).to_owned());
            issue.labels.retain(|label| *label != name);
        }
        _ => return None,
    }
    Some(Answer::One(200, json!({})))
}

fn read(state: &State, asked: &Asked, rest: &[&str]) -> Option<Answer> {
    match rest {
        ["labels"] => {
            let known = state.labels.iter().enumerate();
            Some(Answer::List(known.map(|(at, name)| json!({ "id": at + 1, "name": name })).collect()))
        }
        [] => Some(Answer::One(200, repository(state))),
        ["issues"] => Some(Answer::List(listed(state, asked))),
        ["issues", number, more @ ..] => {
            let number: u32 = number.parse().ok()?;
            let is_pull = state.pull(number).is_ok() && state.kind != HostKind::Gitlab;
            let Some(issue) = state.issues.iter().find(|issue| issue.number == number) else {
                return (!is_pull).then(|| Answer::refused(404, "Not Found"));
            };
            match more {
                [] => Some(Answer::One(200, shown(state, issue))),
                ["comments" | "notes"] => Some(Answer::List(comments(state, asked, issue))),
                _ => None,
            }
        }
        _ => None,
    }
}

fn repository(state: &State) -> Value {
    let visibility = if state.is_public { "public" } else { "private" };
    json!({
        "full_name": format!("{OWNER}/{REPO}"), "private": !state.is_public, "internal": false,
        "visibility": visibility,
    })
}

fn listed(state: &State, asked: &Asked) -> Vec<Value> {
    let query = |name: &str| asked.query.get(name).map(String::as_str).unwrap_or_default();
    let words = [query("q"), query("search")].concat();
    let labels: Vec<&str> = query("labels").split(',').filter(|label| !label.is_empty()).collect();
    found(state, query("state"), &labels, &words)
}

/// GitHub's search, which has its conditions among the words.
fn search(state: &State, asked: &Asked) -> Answer {
    let query = asked.query.get("q").cloned().unwrap_or_default();
    let wanted = query.split(' ').find_map(|word| word.strip_prefix("state:")).unwrap_or("all").to_owned();
    let labels: Vec<&str> =
        query.split("label:\"").skip(1).filter_map(|rest| Some(rest.split_once('"')?.0)).collect();
    let words: Vec<&str> = query.split(' ').filter(|word| !word.contains(':')).collect();
    let items = found(state, &wanted, &labels, &words.join(" "));
    Answer::One(200, json!({ "total_count": items.len(), "incomplete_results": false, "items": items }))
}

fn found(state: &State, wanted: &str, labels: &[&str], words: &str) -> Vec<Value> {
    let fits = |issue: &&FakeIssue| {
        let in_state = match wanted {
            "all" => true,
            "closed" => issue.is_closed,
            _ => !issue.is_closed,
        };
        in_state
            && labels.iter().all(|label| issue.labels.iter().any(|own| own == label))
            && (issue.title.contains(words) || issue.body.contains(words))
    };
    let mut found: Vec<&FakeIssue> = state.issues.iter().filter(fits).collect();
    found.sort_by_key(|issue| std::cmp::Reverse(issue.number));
    found.into_iter().map(|issue| shown(state, issue)).collect()
}

fn at(issue: &FakeIssue, place: usize) -> Timestamp {
    const BEGINNING: i64 = 1_704_067_200_000;
    let seconds = i64::from(issue.number) * 1_000 + i64::try_from(place).unwrap_or(0);
    Timestamp(BEGINNING + seconds * 1_000)
}

fn shown(state: &State, issue: &FakeIssue) -> Value {
    let FakeIssue { number, title, body, labels, is_closed, comments } = issue;
    let updated = at(issue, comments.len());
    let address = &state.address;
    match state.kind {
        HostKind::Github | HostKind::Gitea => json!({
            "number": number, "html_url": format!("{address}/{OWNER}/{REPO}/issues/{number}"),
            "title": title, "body": body, "state": if *is_closed { "closed" } else { "open" },
            "labels": labels.iter().map(|name| json!({ "name": name })).collect::<Vec<_>>(),
            "user": { "login": "mona" }, "comments": comments.len(), "updated_at": updated,
        }),
        HostKind::Gitlab => json!({
            "iid": number, "web_url": format!("{address}/{OWNER}/{REPO}/-/issues/{number}"),
            "title": title, "description": body, "state": if *is_closed { "closed" } else { "opened" },
            "labels": labels, "author": { "username": "mona" }, "user_notes_count": comments.len(),
            "updated_at": updated,
        }),
    }
}

fn comments(state: &State, asked: &Asked, issue: &FakeIssue) -> Vec<Value> {
    let shown = issue.comments.iter().enumerate().map(|(place, (author, body))| match state.kind {
        HostKind::Github | HostKind::Gitea => json!({
            "id": place, "user": { "login": author }, "body": body, "created_at": at(issue, place),
        }),
        HostKind::Gitlab => json!({
            "id": place, "author": { "username": author }, "body": body, "system": false,
            "created_at": at(issue, place),
        }),
    });
    let all: Vec<Value> = shown.collect();
    if asked.query.get("sort").is_some_and(|sort| sort == "desc") {
        all.into_iter().rev().collect()
    } else {
        all
    }
}
