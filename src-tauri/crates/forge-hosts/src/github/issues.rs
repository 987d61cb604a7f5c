//! Issues at GitHub. <https://docs.github.com/en/rest/issues/issues>, <https://docs.github.com/en/rest/search/search>

use forge_model::{
    issue::{Issue, IssueComment, IssueFilter, IssueQuery, IssueState, LabelChange},
    time::Timestamp,
};
use reqwest::Method;
use serde::{Deserialize, de::IgnoredAny};
use serde_json::json;

use crate::{
    endpoint::segment,
    error::HostError,
    http::Http,
    issues::{IssueEtags, IssuePage, MOST_COMMENTS, label_steps, last_of, page as read_page},
};

/// The most that GitHub puts on a page.
const PAGE: u32 = 100;

#[derive(Deserialize)]
struct Item {
    number: u32,
    html_url: String,
    title: String,
    body: Option<String>,
    state: String,
    #[serde(default)]
    labels: Vec<Label>,
    user: Option<User>,
    #[serde(default)]
    comments: u32,
    updated_at: Timestamp,
    /// Every pull request is an issue there, too.
    pull_request: Option<IgnoredAny>,
    repository_url: Option<String>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Label {
    Name(String),
    Named { name: Option<String> },
}

#[derive(Deserialize)]
struct User {
    login: String,
}

#[derive(Deserialize)]
struct Found {
    items: Vec<Item>,
}

#[derive(Deserialize)]
struct Comment {
    user: Option<User>,
    body: Option<String>,
    html_url: Option<String>,
    created_at: Timestamp,
}

#[derive(Deserialize)]
struct Repository {
    private: bool,
}

/// A page of issues. Words are searched for by another interface, which knows GitHub's qualifiers, such as `milestone:1.0`.
pub(super) async fn list(
    http: &Http,
    repo: &str,
    query: &IssueQuery,
    page: u32,
    known: &mut IssueEtags,
) -> Result<IssuePage, HostError> {
    let what = "issues of this repository";
    let paging = format!("sort=created&{}=desc&per_page={PAGE}&page={page}", order_key(query));
    let (items, more) = match &query.text {
        Some(text) => {
            let path = format!("/search/issues?q={}&{paging}", segment(&search(repo, text, query)));
            let answer = read_page(http, &path, what, known).await?;
            (answer.read::<Found>(what)?.items, answer.more)
        }
        None => {
            let labels = query.labels.iter().map(|label| segment(label)).collect::<Vec<_>>().join(",");
            let labels = if labels.is_empty() { labels } else { format!("labels={labels}&") };
            let path = format!("{repo}/issues?state={}&{labels}{paging}", query.state);
            let answer = read_page(http, &path, what, known).await?;
            (answer.read::<Vec<Item>>(what)?, answer.more)
        }
    };
    // Words may name another repository.
    let is_ours = |item: &Item| {
        item.repository_url.as_ref().is_none_or(|url| url.to_lowercase().ends_with(&repo.to_lowercase()))
    };
    let issues = items.into_iter().filter(|item| item.pull_request.is_none() && is_ours(item));
    Ok(IssuePage { issues: issues.map(issue).collect(), more })
}

const fn order_key(query: &IssueQuery) -> &'static str {
    if query.text.is_some() { "order" } else { "direction" }
}

fn search(repo: &str, text: &str, query: &IssueQuery) -> String {
    let name = repo.trim_start_matches("/repos/");
    let mut words = format!("repo:{name} is:issue {text}");
    match query.state {
        IssueFilter::Open => words.push_str(" state:open"),
        IssueFilter::Closed => words.push_str(" state:closed"),
        IssueFilter::All => {}
    }
    for label in &query.labels {
        words.push_str(&format!(" label:\"{}\"", label.replace('"', "")));
    }
    words
}

pub(super) async fn one(http: &Http, repo: &str, number: u32) -> Result<Issue, HostError> {
    let what = format!("issue {number}");
    let item: Item = http.get(&format!("{repo}/issues/{number}"), None, &what).await?.read(&what)?;
    if item.pull_request.is_some() {
        return Err(HostError::NotFound { what });
    }
    Ok(issue(item))
}

/// The last comments. The list begins with the oldest one, so its last pages are read.
pub(super) async fn comments(
    http: &Http,
    repo: &str,
    number: u32,
    count: u32,
) -> Result<Vec<IssueComment>, HostError> {
    let what = format!("comments of issue {number}");
    let last = count.div_ceil(PAGE).max(1);
    let is_short = !count.is_multiple_of(PAGE) && ((count % PAGE) as usize) < MOST_COMMENTS;
    let first = if is_short { last.saturating_sub(1).max(1) } else { last };
    let mut all = Vec::new();
    for page in first..=last {
        let path = format!("{repo}/issues/{number}/comments?per_page={PAGE}&page={page}");
        let read: Vec<Comment> = http.get(&path, None, &what).await?.read(&what)?;
        all.extend(read.into_iter().map(|comment| IssueComment {
            author: author(comment.user),
            body: comment.body.unwrap_or_default(),
            url: comment.html_url,
            at: Some(comment.created_at),
        }));
    }
    Ok(last_of(all))
}

/// GitHub makes labels that it does not know.
pub(super) async fn label(
    http: &Http,
    repo: &str,
    number: u32,
    change: &LabelChange,
) -> Result<(), HostError> {
    let (path, what) = (format!("{repo}/issues/{number}/labels"), format!("issue {number}"));
    let issue = one(http, repo, number).await?;
    let (add, remove) = label_steps(&issue, change);
    if let Some(label) = add {
        http.write(Method::POST, &path, &json!({ "labels": [label] }), &what).await?;
    }
    for label in remove {
        http.delete(&format!("{path}/{}", segment(label)), &what).await?;
    }
    Ok(())
}

pub(super) async fn is_public(http: &Http, repo: &str) -> Result<bool, HostError> {
    let what = "repository of that name";
    Ok(!http.get(repo, None, what).await?.read::<Repository>(what)?.private)
}

fn issue(item: Item) -> Issue {
    let name = |label: Label| match label {
        Label::Name(name) => Some(name),
        Label::Named { name } => name,
    };
    Issue {
        reference: item.number.to_string(),
        url: Some(item.html_url),
        title: item.title,
        body: item.body.unwrap_or_default(),
        state: if item.state == "closed" { IssueState::Closed } else { IssueState::Open },
        labels: item.labels.into_iter().filter_map(name).collect(),
        author: Some(author(item.user)),
        comment_count: item.comments,
        updated_at: Some(item.updated_at),
    }
}

/// Accounts that were deleted are shown under GitHub's name for them.
fn author(user: Option<User>) -> String {
    user.map_or_else(|| "ghost".to_owned(), |user| user.login)
}
