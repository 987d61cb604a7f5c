//! The REST interface of Gitea and Forgejo, version 1. <https://docs.gitea.com/api/1.24/>
//!
//! It gives no tags, so every look reads everything. Drafts are known by a mark before the title.

mod issues;

use async_trait::async_trait;
use forge_model::{
    issue::{Issue, IssueComment, IssueQuery, LabelChange},
    pull_request::{
        HostCheck, HostCheckStatus, HostComment, HostVerdict, Mergeable, PullRequest, PullRequestLink,
        PullRequestState,
    },
    time::Timestamp,
};
use reqwest::{Method, Url};
use serde::Deserialize;
use serde_json::json;

use crate::{
    checks::{RawCheck, in_order, most_relevant, oldest_first},
    draft::{with_mark, without_mark},
    endpoint::{Endpoint, segment},
    error::HostError,
    host::{Host, NewPullRequest},
    http::Http,
    issues::{IssueEtags, IssuePage, close_issue, comment_issue},
    limits::Quota,
    reading::{Etags, Fetched, Reading, every_page},
    text::said,
};

/// The most that Gitea puts on a page unless its owner changed that.
const PAGE: usize = 50;
const DRAFT: &str = "WIP:";
const DRAFTS: &[&str] = &["wip:", "[wip]"];

/// A repository at Gitea or Forgejo.
pub(crate) struct Gitea {
    http: Http,
    /// `/repos/{owner}/{repo}`.
    repo: String,
}

#[derive(Deserialize)]
struct Pull {
    number: u32,
    html_url: String,
    title: String,
    state: String,
    draft: Option<bool>,
    #[serde(default)]
    merged: bool,
    merge_commit_sha: Option<String>,
    #[serde(default)]
    mergeable: bool,
    head: Side,
    base: Side,
    updated_at: Timestamp,
}

#[derive(Deserialize)]
struct Side {
    /// The branch's name, also after the branch is gone.
    label: String,
    #[serde(default)]
    sha: String,
    repo_id: i64,
}

#[derive(Deserialize)]
struct User {
    login: String,
}

#[derive(Deserialize)]
struct Combined {
    statuses: Option<Vec<Status>>,
}

#[derive(Deserialize)]
struct Status {
    context: String,
    status: String,
    description: Option<String>,
    target_url: Option<String>,
}

#[derive(Deserialize)]
struct Comment {
    id: u64,
    user: Option<User>,
    body: Option<String>,
    html_url: Option<String>,
    created_at: Timestamp,
}

#[derive(Deserialize)]
struct LineComment {
    #[serde(flatten)]
    comment: Comment,
    path: Option<String>,
    #[serde(default)]
    position: u32,
    #[serde(default)]
    original_position: u32,
}

#[derive(Deserialize)]
struct Review {
    id: u64,
    user: Option<User>,
    body: Option<String>,
    state: String,
    #[serde(default)]
    dismissed: bool,
    #[serde(default)]
    comments_count: u32,
    html_url: Option<String>,
    submitted_at: Timestamp,
}

impl Gitea {
    pub(crate) fn new(http: Http, endpoint: &Endpoint) -> Self {
        Self { http, repo: format!("/repos/{}/{}", segment(&endpoint.owner), segment(&endpoint.repo)) }
    }

    async fn pull(&self, number: u32) -> Result<Pull, HostError> {
        let what = format!("pull request {number}");
        self.http.get(&format!("{}/pulls/{number}", self.repo), None, &what).await?.read(&what)
    }

    /// Any pull request between the branches, in whatever state: the host gives one and does not say which.
    async fn any_between(&self, head: &str, base: &str) -> Result<Option<Pull>, HostError> {
        // The head is the rest of the path, so its slashes stay.
        let head: Vec<String> = head.split('/').map(segment).collect();
        let path = format!("{}/pulls/{}/{}", self.repo, segment(base), head.join("/"));
        let what = "pull request between these branches";
        match self.http.get(&path, None, what).await {
            Ok(answer) => answer.read(what).map(Some),
            Err(HostError::NotFound { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// The first fitting pull request of those in `state`, the last changed first.
    async fn listed(&self, head: &str, base: &str, state: &str) -> Result<Option<Pull>, HostError> {
        let path = format!("{}/pulls?state={state}&sort=recentupdate&limit={PAGE}", self.repo);
        let mut found = None;
        every_page(&self.http, &path, "pull requests of this repository", |pulls: Vec<Pull>| {
            found = pulls.into_iter().find(|pull| pull.is_between(head, base));
            found.is_some()
        })
        .await?;
        Ok(found)
    }

    async fn checks(&self, pull: &Pull, reading: &mut Reading<'_>) -> Result<Vec<HostCheck>, HostError> {
        if pull.head.sha.is_empty() {
            return Ok(Vec::new());
        }
        let path = format!("{}/commits/{}/status?limit={PAGE}", self.repo, segment(&pull.head.sha));
        let statuses = reading
            .all(&path, PAGE, "commit statuses", |page: Combined| page.statuses.unwrap_or_default())
            .await?;
        Ok(in_order(statuses.into_iter().map(|it| status(it, &pull.html_url)).collect()))
    }

    async fn comments(&self, number: u32, reading: &mut Reading<'_>) -> Result<Vec<HostComment>, HostError> {
        let path = format!("{}/issues/{number}/comments?limit={PAGE}", self.repo);
        let spoken = reading.all(&path, PAGE, "comments", |page: Vec<Comment>| page).await?;
        let mut comments: Vec<HostComment> =
            spoken.into_iter().map(|spoken| comment("comment", spoken)).collect();
        let path = format!("{}/pulls/{number}/reviews?limit={PAGE}", self.repo);
        let reviews = reading.all(&path, PAGE, "reviews", |page: Vec<Review>| page).await?;
        for it in reviews.into_iter().filter(|it| !matches!(it.state.as_str(), "PENDING" | "REQUEST_REVIEW"))
        {
            if it.comments_count > 0 {
                let path = format!("{}/pulls/{number}/reviews/{}/comments?limit={PAGE}", self.repo, it.id);
                let lines =
                    reading.all(&path, PAGE, "review comments", |page: Vec<LineComment>| page).await?;
                comments.extend(lines.into_iter().map(line_comment));
            }
            comments.extend(review(it));
        }
        Ok(oldest_first(comments))
    }
}

#[async_trait]
impl Host for Gitea {
    async fn find(&self, head: &str, base: &str) -> Result<Option<PullRequestLink>, HostError> {
        // A base with a slash cannot be asked for: only the last part of the path may hold one.
        let any = if base.contains('/') {
            self.listed(head, base, "all").await?
        } else {
            self.any_between(head, base).await?
        };
        let Some(any) = any.filter(|pull| pull.is_between(head, base)) else { return Ok(None) };
        if any.link().state == PullRequestState::Open {
            return Ok(Some(any.link()));
        }
        let open = self.listed(head, base, "open").await?;
        Ok(most_relevant(open.into_iter().chain([any]).map(|pull| (pull.link(), pull.updated_at))))
    }

    async fn create(&self, new: &NewPullRequest) -> Result<PullRequestLink, HostError> {
        let title = with_mark(&new.title, new.draft, DRAFT, DRAFTS);
        let body = json!({ "title": title, "body": new.body, "head": new.head, "base": new.base });
        let what = "repository of that name with these branches";
        let answer = self.http.write(Method::POST, &format!("{}/pulls", self.repo), &body, what).await?;
        Ok(answer.read::<Pull>("the new pull request")?.link())
    }

    async fn update(&self, number: u32, title: &str, body: &str) -> Result<PullRequestLink, HostError> {
        let draft = self.pull(number).await?.is_draft();
        let path = format!("{}/pulls/{number}", self.repo);
        let what = format!("pull request {number}");
        let body = json!({ "title": with_mark(title, draft, DRAFT, DRAFTS), "body": body });
        Ok(self.http.write(Method::PATCH, &path, &body, &what).await?.read::<Pull>(&what)?.link())
    }

    async fn state(&self, number: u32, etags: &mut Etags) -> Result<Fetched, HostError> {
        let mut reading = Reading::new(&self.http, etags);
        let what = format!("pull request {number}");
        let pull: Pull = reading.one(&format!("{}/pulls/{number}", self.repo), &what).await?;
        let checks = self.checks(&pull, &mut reading).await?;
        let comments = self.comments(number, &mut reading).await?;
        let (link, draft) = (pull.link(), pull.is_draft());
        let seen = PullRequest {
            number: link.number,
            url: link.url,
            title: without_mark(&pull.title, DRAFTS).0.to_owned(),
            state: link.state,
            draft,
            head: pull.head.label,
            base: pull.base.label,
            head_commit: pull.head.sha,
            merge_commit: said(pull.merge_commit_sha).filter(|_| pull.merged),
            mergeable: match (pull.mergeable, draft || pull.state == "closed") {
                (true, _) => Mergeable::Yes,
                // Drafts and closed ones count as not mergeable there, conflict or not.
                (false, true) => Mergeable::Unknown,
                (false, false) => Mergeable::No,
            },
            checks,
            comments,
            unread: std::mem::take(&mut reading.unread),
            updated_at: pull.updated_at,
        };
        let (now_known, fetched) = reading.end(seen);
        *etags = now_known;
        Ok(fetched)
    }

    async fn comment(&self, number: u32, text: &str) -> Result<(), HostError> {
        let path = format!("{}/issues/{number}/comments", self.repo);
        let what = format!("pull request {number}");
        self.http.write(Method::POST, &path, &json!({ "body": text }), &what).await.map(drop)
    }

    async fn issues(
        &self,
        query: &IssueQuery,
        page: u32,
        known: &mut IssueEtags,
    ) -> Result<IssuePage, HostError> {
        issues::list(&self.http, &self.repo, query, page, known).await
    }

    async fn issue(&self, number: u32) -> Result<Issue, HostError> {
        issues::one(&self.http, &self.repo, number).await
    }

    async fn issue_comments(&self, number: u32, _count: u32) -> Result<Vec<IssueComment>, HostError> {
        issues::comments(&self.http, &self.repo, number).await
    }

    async fn comment_issue(&self, number: u32, text: &str) -> Result<(), HostError> {
        comment_issue(&self.http, &self.repo, number, text).await
    }

    async fn close_issue(&self, number: u32) -> Result<(), HostError> {
        close_issue(&self.http, &self.repo, number).await
    }

    async fn label_issue(&self, number: u32, change: &LabelChange) -> Result<(), HostError> {
        issues::label(&self.http, &self.repo, number, change).await
    }

    async fn is_public(&self) -> Result<bool, HostError> {
        issues::is_public(&self.http, &self.repo).await
    }

    fn quota(&self) -> Option<Quota> {
        self.http.quota()
    }
}

impl Pull {
    fn link(&self) -> PullRequestLink {
        let state = match (self.merged, self.state.as_str()) {
            (true, _) => PullRequestState::Merged,
            (false, "closed") => PullRequestState::Closed,
            (false, _) => PullRequestState::Open,
        };
        PullRequestLink { number: self.number, url: self.html_url.clone(), state }
    }

    fn is_draft(&self) -> bool {
        // Older versions do not say it.
        self.draft.unwrap_or_else(|| without_mark(&self.title, DRAFTS).1)
    }

    /// Branches of a fork may have the same names.
    fn is_between(&self, head: &str, base: &str) -> bool {
        self.head.label == head && self.base.label == base && self.head.repo_id == self.base.repo_id
    }
}

/// Gitea's own runs are told without the host's name; `page` is any page of the host.
fn status(status: Status, page: &str) -> HostCheck {
    let meaning = match status.status.as_str() {
        "success" => Some(HostCheckStatus::Passed),
        "failure" | "error" => Some(HostCheckStatus::Failed),
        "pending" => Some(HostCheckStatus::Pending),
        "warning" | "skipped" => Some(HostCheckStatus::Skipped),
        _ => None,
    };
    RawCheck {
        name: status.context,
        word: status.status,
        status: meaning,
        url: status.target_url.map(|url| absolute(url, page)),
        summary: status.description,
    }
    .check()
}

fn absolute(url: String, page: &str) -> String {
    if !url.starts_with('/') {
        return url;
    }
    Url::parse(page).and_then(|page| page.join(&url)).map_or(url, String::from)
}

fn comment(kind: &str, comment: Comment) -> HostComment {
    HostComment {
        id: format!("{kind}-{}", comment.id),
        author: author(comment.user),
        body: comment.body.unwrap_or_default(),
        verdict: None,
        path: None,
        line: None,
        url: said(comment.html_url),
        at: comment.created_at,
    }
}

fn line_comment(on_line: LineComment) -> HostComment {
    let line = [on_line.position, on_line.original_position].into_iter().find(|line| *line > 0);
    HostComment { path: said(on_line.path), line, ..comment("line", on_line.comment) }
}

fn review(review: Review) -> Option<HostComment> {
    let verdict = match review.state.as_str() {
        "APPROVED" => Some(HostVerdict::Approved),
        "REQUEST_CHANGES" => Some(HostVerdict::ChangesRequested),
        _ => None,
    };
    let verdict = verdict.filter(|_| !review.dismissed);
    let body = said(review.body);
    (verdict.is_some() || body.is_some()).then(|| HostComment {
        id: format!("review-{}", review.id),
        author: author(review.user),
        body: body.unwrap_or_default(),
        verdict,
        path: None,
        line: None,
        url: said(review.html_url),
        at: review.submitted_at,
    })
}

fn author(user: Option<User>) -> String {
    user.map_or_else(|| "Ghost".to_owned(), |user| user.login)
}
