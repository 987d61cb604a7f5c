//! Issues at GitLab. <https://docs.gitlab.com/api/issues/>

use forge_model::{
    issue::{Issue, IssueComment, IssueFilter, IssueQuery, IssueState, LabelChange},
    time::Timestamp,
};
use reqwest::Method;
use serde::Deserialize;
use serde_json::json;

use crate::{
    endpoint::segment,
    error::HostError,
    http::Http,
    issues::{IssueEtags, IssuePage, label_steps, last_of, page as read_page},
};

/// The most that GitLab puts on a page.
const PAGE: usize = 100;

#[derive(Deserialize)]
struct Item {
    iid: u32,
    web_url: String,
    title: String,
    description: Option<String>,
    state: String,
    #[serde(default)]
    labels: Vec<String>,
    author: Option<User>,
    #[serde(default)]
    user_notes_count: u32,
    updated_at: Timestamp,
}

#[derive(Deserialize)]
struct User {
    username: String,
}

#[derive(Deserialize)]
struct Note {
    body: String,
    author: User,
    created_at: Timestamp,
    #[serde(default)]
    system: bool,
    /// Seen by members only.
    #[serde(default)]
    internal: bool,
}

#[derive(Deserialize)]
struct Project {
    visibility: String,
}

pub(super) async fn list(
    http: &Http,
    project: &str,
    query: &IssueQuery,
    page: u32,
    known: &mut IssueEtags,
) -> Result<IssuePage, HostError> {
    let what = "issues of this project";
    let state = match query.state {
        IssueFilter::Open => "opened",
        IssueFilter::Closed => "closed",
        IssueFilter::All => "all",
    };
    let mut path = format!("{project}/issues?state={state}");
    if let Some(text) = &query.text {
        path.push_str(&format!("&search={}", segment(text)));
    }
    if !query.labels.is_empty() {
        let labels = query.labels.iter().map(|label| segment(label)).collect::<Vec<_>>().join(",");
        path.push_str(&format!("&labels={labels}"));
    }
    path.push_str(&format!("&order_by=created_at&sort=desc&per_page={PAGE}&page={page}"));
    let answer = read_page(http, &path, what, known).await?;
    let items: Vec<Item> = answer.read(what)?;
    Ok(IssuePage { issues: items.into_iter().map(issue).collect(), more: answer.more })
}

pub(super) async fn one(http: &Http, project: &str, number: u32) -> Result<Issue, HostError> {
    let what = format!("issue {number}");
    Ok(issue(http.get(&format!("{project}/issues/{number}"), None, &what).await?.read(&what)?))
}

/// The last comments. GitLab's notes are also what happened to the issue; those, and notes for members only, are left out.
pub(super) async fn comments(
    http: &Http,
    project: &str,
    number: u32,
) -> Result<Vec<IssueComment>, HostError> {
    let what = format!("comments of issue {number}");
    let path =
        format!("{project}/issues/{number}/notes?order_by=created_at&sort=desc&per_page={PAGE}&page=1");
    let notes: Vec<Note> = http.get(&path, None, &what).await?.read(&what)?;
    let spoken = notes.into_iter().filter(|note| !note.system && !note.internal);
    let spoken = spoken.map(|note| IssueComment {
        author: note.author.username,
        body: note.body,
        url: None,
        at: Some(note.created_at),
    });
    Ok(last_of(spoken.collect()))
}

/// An internal project is visible to everybody who is signed in.
pub(super) async fn comment(http: &Http, project: &str, number: u32, text: &str) -> Result<(), HostError> {
    let (path, what) = (format!("{project}/issues/{number}/notes"), format!("issue {number}"));
    http.write(Method::POST, &path, &json!({ "body": text }), &what).await.map(drop)
}

pub(super) async fn close(http: &Http, project: &str, number: u32) -> Result<(), HostError> {
    let (path, what) = (format!("{project}/issues/{number}"), format!("issue {number}"));
    http.write(Method::PUT, &path, &json!({ "state_event": "close" }), &what).await.map(drop)
}

/// GitLab makes labels that it does not know.
pub(super) async fn label(
    http: &Http,
    project: &str,
    number: u32,
    change: &LabelChange,
) -> Result<(), HostError> {
    let (path, what) = (format!("{project}/issues/{number}"), format!("issue {number}"));
    let issue = one(http, project, number).await?;
    let (add, remove) = label_steps(&issue, change);
    if add.is_none() && remove.is_empty() {
        return Ok(());
    }
    let body = json!({ "add_labels": add.unwrap_or_default(), "remove_labels": remove.join(",") });
    http.write(Method::PUT, &path, &body, &what).await.map(drop)
}

pub(super) async fn is_public(http: &Http, project: &str) -> Result<bool, HostError> {
    let what = "project of that name";
    Ok(http.get(project, None, what).await?.read::<Project>(what)?.visibility != "private")
}

fn issue(item: Item) -> Issue {
    Issue {
        reference: item.iid.to_string(),
        url: Some(item.web_url),
        title: item.title,
        body: item.description.unwrap_or_default(),
        state: if item.state == "closed" { IssueState::Closed } else { IssueState::Open },
        labels: item.labels,
        author: item.author.map(|author| author.username),
        comment_count: item.user_notes_count,
        updated_at: Some(item.updated_at),
    }
}
