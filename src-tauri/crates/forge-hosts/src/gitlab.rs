//! GitLab's REST interface, version 4. <https://docs.gitlab.com/api/merge_requests/>
//!
//! Drafts are known by a mark before the title. What reviewers decide is not told with a time there, so
//! verdicts are not read; their words are.

mod issues;

use async_trait::async_trait;
use forge_model::{
    issue::{Issue, IssueComment, IssueQuery, LabelChange},
    pull_request::{
        HostCheck, HostCheckStatus, HostComment, Mergeable, PullRequest, PullRequestLink, PullRequestState,
    },
    time::Timestamp,
};
use reqwest::Method;
use serde::Deserialize;
use serde_json::json;

use crate::{
    checks::{RawCheck, in_order, most_relevant, oldest_first},
    draft::{with_mark, without_mark},
    endpoint::{Endpoint, segment},
    error::HostError,
    host::{Host, NewPullRequest},
    http::Http,
    issues::{IssueEtags, IssuePage},
    limits::Quota,
    reading::{Etags, Fetched, Reading},
    text::said,
};

/// The most that GitLab puts on a page.
const PAGE: usize = 100;
const DRAFT: &str = "Draft:";
const DRAFTS: &[&str] = &["draft:", "[draft]", "(draft)"];

/// A project at GitLab.
pub(crate) struct Gitlab {
    http: Http,
    /// `/projects/{group%2Fproject}`.
    project: String,
}

#[derive(Deserialize)]
struct MergeRequest {
    iid: u32,
    web_url: String,
    title: String,
    state: String,
    #[serde(default)]
    draft: bool,
    source_branch: String,
    target_branch: String,
    source_project_id: Option<i64>,
    target_project_id: Option<i64>,
    sha: Option<String>,
    merge_commit_sha: Option<String>,
    squash_commit_sha: Option<String>,
    detailed_merge_status: Option<String>,
    merge_status: Option<String>,
    #[serde(default)]
    has_conflicts: bool,
    head_pipeline: Option<Pipeline>,
    updated_at: Timestamp,
}

#[derive(Deserialize)]
struct Pipeline {
    status: String,
    web_url: Option<String>,
}

#[derive(Deserialize)]
struct Status {
    name: String,
    status: String,
    #[serde(default)]
    allow_failure: bool,
    description: Option<String>,
    target_url: Option<String>,
}

#[derive(Deserialize)]
struct Note {
    id: u64,
    body: String,
    author: User,
    created_at: Timestamp,
    #[serde(default)]
    system: bool,
    position: Option<Position>,
}

#[derive(Deserialize)]
struct User {
    username: String,
}

#[derive(Deserialize)]
struct Position {
    new_path: Option<String>,
    new_line: Option<u32>,
    old_path: Option<String>,
    old_line: Option<u32>,
}

impl Gitlab {
    pub(crate) fn new(http: Http, endpoint: &Endpoint) -> Self {
        Self {
            http,
            project: format!("/projects/{}", segment(&format!("{}/{}", endpoint.owner, endpoint.repo))),
        }
    }

    fn path(&self, number: u32) -> String {
        format!("{}/merge_requests/{number}", self.project)
    }

    /// Jobs and outside statuses of the commit, and the pipeline as a whole.
    async fn checks(
        &self,
        request: &MergeRequest,
        reading: &mut Reading<'_>,
    ) -> Result<Vec<HostCheck>, HostError> {
        let mut checks: Vec<HostCheck> = request.head_pipeline.iter().map(pipeline).collect();
        if let Some(commit) = &request.sha {
            let path =
                format!("{}/repository/commits/{}/statuses?per_page={PAGE}", self.project, segment(commit));
            let statuses = reading.all(&path, PAGE, "commit statuses", |page: Vec<Status>| page).await?;
            checks.extend(statuses.into_iter().map(status));
        }
        Ok(in_order(checks))
    }

    async fn comments(
        &self,
        request: &MergeRequest,
        reading: &mut Reading<'_>,
    ) -> Result<Vec<HostComment>, HostError> {
        let path = format!("{}/notes?sort=asc&order_by=created_at&per_page={PAGE}", self.path(request.iid));
        let notes = reading.all(&path, PAGE, "comments", |page: Vec<Note>| page).await?;
        let spoken = notes.into_iter().filter(|note| !note.system);
        Ok(oldest_first(spoken.map(|spoken| note(spoken, &request.web_url)).collect()))
    }
}

#[async_trait]
impl Host for Gitlab {
    async fn find(&self, head: &str, base: &str) -> Result<Option<PullRequestLink>, HostError> {
        let path = format!(
            "{}/merge_requests?state=all&source_branch={}&target_branch={}&order_by=updated_at&sort=desc&per_page={PAGE}",
            self.project,
            segment(head),
            segment(base),
        );
        let what = "merge requests of this project";
        let requests: Vec<MergeRequest> = self.http.get(&path, None, what).await?.read(what)?;
        // A fork's branch may have the same name.
        let own = requests.into_iter().filter(|request| {
            request.source_branch == head
                && request.target_branch == base
                && request.source_project_id == request.target_project_id
        });
        Ok(most_relevant(own.map(|request| (request.link(), request.updated_at))))
    }

    async fn create(&self, new: &NewPullRequest) -> Result<PullRequestLink, HostError> {
        let body = json!({
            "title": with_mark(&new.title, new.draft, DRAFT, DRAFTS),
            "description": new.body,
            "source_branch": new.head,
            "target_branch": new.base,
        });
        let path = format!("{}/merge_requests", self.project);
        let answer = self.http.write(Method::POST, &path, &body, "project of that name").await?;
        Ok(answer.read::<MergeRequest>("the new merge request")?.link())
    }

    async fn update(&self, number: u32, title: &str, body: &str) -> Result<PullRequestLink, HostError> {
        let (path, what) = (self.path(number), format!("merge request {number}"));
        let now: MergeRequest = self.http.get(&path, None, &what).await?.read(&what)?;
        let body = json!({ "title": with_mark(title, now.draft, DRAFT, DRAFTS), "description": body });
        Ok(self.http.write(Method::PUT, &path, &body, &what).await?.read::<MergeRequest>(&what)?.link())
    }

    async fn state(&self, number: u32, etags: &mut Etags) -> Result<Fetched, HostError> {
        let mut reading = Reading::new(&self.http, etags);
        let what = format!("merge request {number}");
        let request: MergeRequest = reading.one(&self.path(number), &what).await?;
        let checks = self.checks(&request, &mut reading).await?;
        let comments = self.comments(&request, &mut reading).await?;
        let link = request.link();
        let seen = PullRequest {
            number: link.number,
            url: link.url,
            title: without_mark(&request.title, DRAFTS).0.to_owned(),
            state: link.state,
            draft: request.draft,
            mergeable: request.mergeable(),
            merge_commit: request.merge_commit().filter(|_| link.state == PullRequestState::Merged),
            head: request.source_branch,
            base: request.target_branch,
            head_commit: request.sha.unwrap_or_default(),
            checks,
            comments,
            unread: std::mem::take(&mut reading.unread),
            updated_at: request.updated_at,
        };
        let (now_known, fetched) = reading.end(seen);
        *etags = now_known;
        Ok(fetched)
    }

    async fn comment(&self, number: u32, text: &str) -> Result<(), HostError> {
        let (path, what) = (format!("{}/notes", self.path(number)), format!("merge request {number}"));
        self.http.write(Method::POST, &path, &json!({ "body": text }), &what).await.map(drop)
    }

    async fn issues(
        &self,
        query: &IssueQuery,
        page: u32,
        known: &mut IssueEtags,
    ) -> Result<IssuePage, HostError> {
        issues::list(&self.http, &self.project, query, page, known).await
    }

    async fn issue(&self, number: u32) -> Result<Issue, HostError> {
        issues::one(&self.http, &self.project, number).await
    }

    async fn issue_comments(&self, number: u32, _count: u32) -> Result<Vec<IssueComment>, HostError> {
        issues::comments(&self.http, &self.project, number).await
    }

    async fn comment_issue(&self, number: u32, text: &str) -> Result<(), HostError> {
        issues::comment(&self.http, &self.project, number, text).await
    }

    async fn close_issue(&self, number: u32) -> Result<(), HostError> {
        issues::close(&self.http, &self.project, number).await
    }

    async fn label_issue(&self, number: u32, change: &LabelChange) -> Result<(), HostError> {
        issues::label(&self.http, &self.project, number, change).await
    }

    async fn is_public(&self) -> Result<bool, HostError> {
        issues::is_public(&self.http, &self.project).await
    }

    fn quota(&self) -> Option<Quota> {
        self.http.quota()
    }
}

impl MergeRequest {
    fn link(&self) -> PullRequestLink {
        let state = match self.state.as_str() {
            "merged" => PullRequestState::Merged,
            "closed" => PullRequestState::Closed,
            // `locked` is the moment of a merge that goes on.
            _ => PullRequestState::Open,
        };
        PullRequestLink { number: self.iid, url: self.web_url.clone(), state }
    }

    /// A project that only fast-forwards makes no commit: the branch's own one came into the base.
    fn merge_commit(&self) -> Option<String> {
        [&self.merge_commit_sha, &self.squash_commit_sha, &self.sha].into_iter().flatten().next().cloned()
    }

    /// Missing approvals and running pipelines are not conflicts.
    fn mergeable(&self) -> Mergeable {
        if self.has_conflicts {
            return Mergeable::No;
        }
        match self.detailed_merge_status.as_deref().or(self.merge_status.as_deref()) {
            Some("conflict" | "need_rebase" | "broken_status" | "cannot_be_merged") => Mergeable::No,
            Some("unchecked" | "checking" | "preparing" | "cannot_be_merged_recheck") | None => {
                Mergeable::Unknown
            }
            Some(_) => Mergeable::Yes,
        }
    }
}

fn meaning(word: &str, allow_failure: bool) -> Option<HostCheckStatus> {
    match (word, allow_failure) {
        ("success", _) => Some(HostCheckStatus::Passed),
        ("failed", true) | ("skipped", _) | ("manual", true) => Some(HostCheckStatus::Skipped),
        ("failed", false) | ("canceled" | "canceling", _) => Some(HostCheckStatus::Failed),
        // A step by hand that the rest waits for.
        ("manual", false) => Some(HostCheckStatus::Pending),
        (
            "created"
            | "pending"
            | "running"
            | "preparing"
            | "scheduled"
            | "waiting_for_resource"
            | "waiting_for_callback",
            _,
        ) => Some(HostCheckStatus::Pending),
        _ => None,
    }
}

fn pipeline(pipeline: &Pipeline) -> HostCheck {
    RawCheck {
        name: "pipeline".to_owned(),
        word: pipeline.status.clone(),
        status: meaning(&pipeline.status, false),
        url: pipeline.web_url.clone(),
        summary: None,
    }
    .check()
}

fn status(status: Status) -> HostCheck {
    let forgiven = status.allow_failure && status.status == "failed";
    let summary = said(status.description).or_else(|| forgiven.then(|| "failed, but may".to_owned()));
    RawCheck {
        name: status.name,
        status: meaning(&status.status, status.allow_failure),
        word: status.status,
        url: status.target_url,
        summary,
    }
    .check()
}

fn note(note: Note, web_url: &str) -> HostComment {
    let (path, line) = note.position.map_or((None, None), |position| match position.new_line {
        Some(line) => (position.new_path, Some(line)),
        None => (position.old_path.or(position.new_path), position.old_line),
    });
    HostComment {
        id: format!("comment-{}", note.id),
        author: note.author.username,
        body: note.body,
        verdict: None,
        path: said(path),
        line,
        url: Some(format!("{web_url}#note_{}", note.id)),
        at: note.created_at,
    }
}
