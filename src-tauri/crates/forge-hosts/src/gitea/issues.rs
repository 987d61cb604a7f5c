//! Issues at Gitea and Forgejo. <https://docs.gitea.com/api/1.24/#tag/issue>

use forge_model::{
    issue::{Issue, IssueComment, IssueQuery, IssueState, LabelChange},
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

/// The most that Gitea puts on a page unless its owner changed that.
const PAGE: usize = 50;
/// Color of a label that Forge makes.
const NEW_COLOR: &str = "#ededed";

#[derive(Deserialize)]
struct Item {
    number: u32,
    html_url: String,
    title: String,
    body: Option<String>,
    state: String,
    labels: Option<Vec<Label>>,
    user: Option<User>,
    #[serde(default)]
    comments: u32,
    updated_at: Timestamp,
}

#[derive(Deserialize)]
struct Label {
    name: String,
}

/// A label of the repository.
#[derive(Deserialize)]
struct KnownLabel {
    id: i64,
    name: String,
}

#[derive(Deserialize)]
struct User {
    login: String,
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
    /// Visible to everybody who is signed in.
    #[serde(default)]
    internal: bool,
}

pub(super) async fn list(
    http: &Http,
    repo: &str,
    query: &IssueQuery,
    page: u32,
    known: &mut IssueEtags,
) -> Result<IssuePage, HostError> {
    let what = "issues of this repository";
    let mut path = format!("{repo}/issues?type=issues&state={}", query.state);
    if let Some(text) = &query.text {
        path.push_str(&format!("&q={}", segment(text)));
    }
    if !query.labels.is_empty() {
        let labels = query.labels.iter().map(|label| segment(label)).collect::<Vec<_>>().join(",");
        path.push_str(&format!("&labels={labels}"));
    }
    path.push_str(&format!("&limit={PAGE}&page={page}"));
    let answer = read_page(http, &path, what, known).await?;
    let items: Vec<Item> = answer.read(what)?;
    // The number of all issues counts where no next page is named. Its owner may have made pages smaller.
    let seen = (page as usize - 1) * items.len() + items.len();
    let more = answer.more || (!items.is_empty() && answer.total.is_some_and(|total| seen < total));
    Ok(IssuePage { issues: items.into_iter().map(issue).collect(), more })
}

pub(super) async fn one(http: &Http, repo: &str, number: u32) -> Result<Issue, HostError> {
    let what = format!("issue {number}");
    Ok(issue(http.get(&format!("{repo}/issues/{number}"), None, &what).await?.read(&what)?))
}

/// The last comments; Gitea gives all of them at once.
pub(super) async fn comments(http: &Http, repo: &str, number: u32) -> Result<Vec<IssueComment>, HostError> {
    let what = format!("comments of issue {number}");
    let path = format!("{repo}/issues/{number}/comments");
    let all: Vec<Comment> = http.get(&path, None, &what).await?.read(&what)?;
    let all = all.into_iter().map(|comment| IssueComment {
        author: author(comment.user),
        body: comment.body.unwrap_or_default(),
        url: comment.html_url,
        at: Some(comment.created_at),
    });
    Ok(last_of(all.collect()))
}

/// Gitea names labels by numbers, and makes none by itself.
pub(super) async fn label(
    http: &Http,
    repo: &str,
    number: u32,
    change: &LabelChange,
) -> Result<(), HostError> {
    let (path, what) = (format!("{repo}/issues/{number}/labels"), format!("issue {number}"));
    let issue = one(http, repo, number).await?;
    let (add, remove) = label_steps(&issue, change);
    if add.is_none() && remove.is_empty() {
        return Ok(());
    }
    let known = known_labels(http, repo).await?;
    let id_of = |name: &str| known.iter().find(|label| label.name == name).map(|label| label.id);
    if let Some(name) = add {
        let id = match id_of(name) {
            Some(id) => id,
            None => {
                let new = json!({ "name": name, "color": NEW_COLOR });
                let what = format!("label {name}");
                http.write(Method::POST, &format!("{repo}/labels"), &new, &what)
                    .await?
                    .read::<KnownLabel>(&what)?
                    .id
            }
        };
        http.write(Method::POST, &path, &json!({ "labels": [id] }), &what).await?;
    }
    for id in remove.into_iter().filter_map(id_of) {
        http.delete(&format!("{path}/{id}"), &what).await?;
    }
    Ok(())
}

async fn known_labels(http: &Http, repo: &str) -> Result<Vec<KnownLabel>, HostError> {
    let what = "labels of this repository";
    let mut all: Vec<KnownLabel> = Vec::new();
    for page in 1.. {
        let path = format!("{repo}/labels?limit={PAGE}&page={page}");
        let answer = http.get(&path, None, what).await?;
        let more = answer.more;
        all.extend(answer.read::<Vec<KnownLabel>>(what)?);
        if !more {
            break;
        }
    }
    Ok(all)
}

pub(super) async fn is_public(http: &Http, repo: &str) -> Result<bool, HostError> {
    let what = "repository of that name";
    let found: Repository = http.get(repo, None, what).await?.read(what)?;
    Ok(!found.private || found.internal)
}

fn issue(item: Item) -> Issue {
    Issue {
        reference: item.number.to_string(),
        url: Some(item.html_url),
        title: item.title,
        body: item.body.unwrap_or_default(),
        state: if item.state == "closed" { IssueState::Closed } else { IssueState::Open },
        labels: item.labels.unwrap_or_default().into_iter().map(|label| label.name).collect(),
        author: Some(author(item.user)),
        comment_count: item.comments,
        updated_at: Some(item.updated_at),
    }
}

fn author(user: Option<User>) -> String {
    user.map_or_else(|| "Ghost".to_owned(), |user| user.login)
}
