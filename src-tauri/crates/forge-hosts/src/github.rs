//! GitHub's REST interface, version 2022-11-28. <https://docs.github.com/en/rest/pulls/pulls>

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
use reqwest::Method;
use serde::Deserialize;
use serde_json::json;

use crate::{
    checks::{RawCheck, in_order, most_relevant, oldest_first},
    endpoint::{Endpoint, segment},
    error::HostError,
    host::{Host, NewPullRequest},
    http::Http,
    issues::{IssueEtags, IssuePage, close_issue, comment_issue},
    limits::Quota,
    reading::{Etags, Fetched, Reading},
    text::said,
};

/// The most that GitHub puts on a page.
const PAGE: usize = 100;

/// A repository at GitHub.
pub(crate) struct Github {
    http: Http,
    owner: String,
    /// `/repos/{owner}/{repo}`.
    repo: String,
}

#[derive(Deserialize)]
struct Pull {
    number: u32,
    html_url: String,
    title: String,
    state: String,
    #[serde(default)]
    draft: bool,
    merged_at: Option<Timestamp>,
    merge_commit_sha: Option<String>,
    mergeable: Option<bool>,
    head: Side,
    base: Side,
    updated_at: Timestamp,
}

#[derive(Deserialize)]
struct Side {
    #[serde(rename = "ref")]
    name: String,
    sha: String,
}

#[derive(Deserialize)]
struct User {
    login: String,
}

#[derive(Deserialize)]
struct Combined {
    statuses: Vec<Status>,
}

#[derive(Deserialize)]
struct Status {
    context: String,
    state: String,
    description: Option<String>,
    target_url: Option<String>,
}

#[derive(Deserialize)]
struct CheckRuns {
    check_runs: Vec<CheckRun>,
}

#[derive(Deserialize)]
struct CheckRun {
    name: String,
    status: String,
    conclusion: Option<String>,
    html_url: Option<String>,
    output: Option<Output>,
}

#[derive(Deserialize)]
struct Output {
    title: Option<String>,
}

#[derive(Deserialize)]
struct Comment {
    id: u64,
    user: Option<User>,
    body: Option<String>,
    html_url: Option<String>,
    created_at: Timestamp,
    path: Option<String>,
    line: Option<u32>,
    original_line: Option<u32>,
}

#[derive(Deserialize)]
struct Review {
    id: u64,
    user: Option<User>,
    body: Option<String>,
    state: String,
    html_url: Option<String>,
    submitted_at: Option<Timestamp>,
}

impl Github {
    pub(crate) fn new(http: Http, endpoint: &Endpoint) -> Self {
        let repo = format!("/repos/{}/{}", segment(&endpoint.owner), segment(&endpoint.repo));
        Self { http, owner: endpoint.owner.clone(), repo }
    }

    async fn checks(&self, commit: &str, reading: &mut Reading<'_>) -> Result<Vec<HostCheck>, HostError> {
        let commit = format!("{}/commits/{}", self.repo, segment(commit));
        let path = format!("{commit}/status?per_page={PAGE}");
        let statuses = reading.all(&path, PAGE, "commit statuses", |page: Combined| page.statuses).await?;
        let path = format!("{commit}/check-runs?per_page={PAGE}");
        let runs = reading.all(&path, PAGE, "check runs", |page: CheckRuns| page.check_runs).await?;
        let checks = statuses.into_iter().map(status).chain(runs.into_iter().map(check_run));
        Ok(in_order(checks.collect()))
    }

    async fn comments(&self, number: u32, reading: &mut Reading<'_>) -> Result<Vec<HostComment>, HostError> {
        let path = format!("{}/issues/{number}/comments?per_page={PAGE}", self.repo);
        let spoken = reading.all(&path, PAGE, "comments", |page: Vec<Comment>| page).await?;
        let pull = format!("{}/pulls/{number}", self.repo);
        let path = format!("{pull}/comments?per_page={PAGE}");
        let on_lines = reading.all(&path, PAGE, "review comments", |page: Vec<Comment>| page).await?;
        let path = format!("{pull}/reviews?per_page={PAGE}");
        let reviews = reading.all(&path, PAGE, "reviews", |page: Vec<Review>| page).await?;
        let comments = spoken.into_iter().map(|it| comment("comment", it));
        let comments = comments.chain(on_lines.into_iter().map(|it| comment("line", it)));
        Ok(oldest_first(comments.chain(reviews.into_iter().filter_map(review)).collect()))
    }
}

#[async_trait]
impl Host for Github {
    async fn find(&self, head: &str, base: &str) -> Result<Option<PullRequestLink>, HostError> {
        let path = format!(
            "{}/pulls?state=all&head={}&base={}&sort=updated&direction=desc&per_page={PAGE}",
            self.repo,
            segment(&format!("{}:{head}", self.owner)),
            segment(base),
        );
        let what = "pull requests of this repository";
        let pulls: Vec<Pull> = self.http.get(&path, None, what).await?.read(what)?;
        // A head that GitHub cannot read is no filter at all for it.
        let fitting = pulls.into_iter().filter(|pull| pull.head.name == head && pull.base.name == base);
        Ok(most_relevant(fitting.map(|pull| (pull.link(), pull.updated_at))))
    }

    async fn create(&self, new: &NewPullRequest) -> Result<PullRequestLink, HostError> {
        let body = json!({
            "title": new.title, "body": new.body, "head": new.head, "base": new.base, "draft": new.draft,
        });
        let what = "repository of that name";
        let answer = self.http.write(Method::POST, &format!("{}/pulls", self.repo), &body, what).await?;
        Ok(answer.read::<Pull>("the new pull request")?.link())
    }

    async fn update(&self, number: u32, title: &str, body: &str) -> Result<PullRequestLink, HostError> {
        let path = format!("{}/pulls/{number}", self.repo);
        let what = format!("pull request {number}");
        let body = json!({ "title": title, "body": body });
        Ok(self.http.write(Method::PATCH, &path, &body, &what).await?.read::<Pull>(&what)?.link())
    }

    async fn state(&self, number: u32, etags: &mut Etags) -> Result<Fetched, HostError> {
        let mut reading = Reading::new(&self.http, etags);
        let what = format!("pull request {number}");
        let pull: Pull = reading.one(&format!("{}/pulls/{number}", self.repo), &what).await?;
        let checks = self.checks(&pull.head.sha, &mut reading).await?;
        let comments = self.comments(number, &mut reading).await?;
        let link = pull.link();
        let merged = link.state == PullRequestState::Merged;
        let seen = PullRequest {
            number: link.number,
            url: link.url,
            title: pull.title,
            state: link.state,
            draft: pull.draft,
            head: pull.head.name,
            base: pull.base.name,
            head_commit: pull.head.sha,
            // Before the merge it is the commit of GitHub's trial.
            merge_commit: pull.merge_commit_sha.filter(|_| merged),
            mergeable: match pull.mergeable {
                Some(true) => Mergeable::Yes,
                Some(false) => Mergeable::No,
                None => Mergeable::Unknown,
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

    async fn issue_comments(&self, number: u32, count: u32) -> Result<Vec<IssueComment>, HostError> {
        issues::comments(&self.http, &self.repo, number, count).await
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
        let state = match (self.merged_at.is_some(), self.state.as_str()) {
            (true, _) => PullRequestState::Merged,
            (false, "closed") => PullRequestState::Closed,
            (false, _) => PullRequestState::Open,
        };
        PullRequestLink { number: self.number, url: self.html_url.clone(), state }
    }
}

fn status(status: Status) -> HostCheck {
    let meaning = match status.state.as_str() {
        "success" => Some(HostCheckStatus::Passed),
        "failure" | "error" => Some(HostCheckStatus::Failed),
        "pending" => Some(HostCheckStatus::Pending),
        _ => None,
    };
    RawCheck {
        name: status.context,
        word: status.state,
        status: meaning,
        url: status.target_url,
        summary: status.description,
    }
    .check()
}

fn check_run(run: CheckRun) -> HostCheck {
    let word = run.conclusion.filter(|_| run.status == "completed").unwrap_or(run.status);
    let meaning = match word.as_str() {
        "success" => Some(HostCheckStatus::Passed),
        "failure" | "cancelled" | "timed_out" | "action_required" | "startup_failure" | "stale" => {
            Some(HostCheckStatus::Failed)
        }
        "skipped" | "neutral" => Some(HostCheckStatus::Skipped),
        "queued" | "in_progress" | "waiting" | "requested" | "pending" => Some(HostCheckStatus::Pending),
        _ => None,
    };
    let summary = run.output.and_then(|output| output.title);
    RawCheck { name: run.name, word, status: meaning, url: run.html_url, summary }.check()
}

fn comment(kind: &str, comment: Comment) -> HostComment {
    HostComment {
        id: format!("{kind}-{}", comment.id),
        author: author(comment.user),
        body: comment.body.unwrap_or_default(),
        verdict: None,
        path: said(comment.path),
        line: comment.line.or(comment.original_line),
        url: said(comment.html_url),
        at: comment.created_at,
    }
}

/// A review says something when it has words or decides; one that holds line comments alone is known by them.
/// Reviews that are still being written are nobody's business.
fn review(review: Review) -> Option<HostComment> {
    let at = review.submitted_at.filter(|_| review.state != "PENDING")?;
    let verdict = match review.state.as_str() {
        "APPROVED" => Some(HostVerdict::Approved),
        "CHANGES_REQUESTED" => Some(HostVerdict::ChangesRequested),
        _ => None,
    };
    let body = said(review.body);
    (verdict.is_some() || body.is_some()).then(|| HostComment {
        id: format!("review-{}", review.id),
        author: author(review.user),
        body: body.unwrap_or_default(),
        verdict,
        path: None,
        line: None,
        url: said(review.html_url),
        at,
    })
}

/// Accounts that were deleted are shown under GitHub's name for them.
fn author(user: Option<User>) -> String {
    user.map_or_else(|| "ghost".to_owned(), |user| user.login)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_counts_once_it_is_over_and_well() {
        for (status, conclusion, expected) in [
            ("completed", Some("success"), HostCheckStatus::Passed),
            ("in_progress", Some("success"), HostCheckStatus::Pending),
            ("queued", None, HostCheckStatus::Pending),
            ("completed", Some("stale"), HostCheckStatus::Failed),
            ("completed", Some("startup_failure"), HostCheckStatus::Failed),
            ("completed", Some("neutral"), HostCheckStatus::Skipped),
        ] {
            let run = json!({ "name": "a", "status": status, "conclusion": conclusion });
            let run: CheckRun = serde_json::from_value(run).unwrap();
            assert_eq!(check_run(run).status, expected, "{status} {conclusion:?}");
        }
    }

    #[test]
    fn a_review_that_is_still_written_is_nobodys_business() {
        let said = |state: &str| {
            let it = json!({ "id": 1, "user": null, "body": "not yet", "state": state,
                "submitted_at": "2026-01-01T00:00:00Z" });
            review(serde_json::from_value(it).unwrap())
        };
        assert!(said("PENDING").is_none());
        assert!(said("COMMENTED").is_some_and(|comment| comment.author == "ghost"));
    }
}
