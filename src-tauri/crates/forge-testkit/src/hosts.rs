//! A code host of a test: a bare repository on disk and, on 127.0.0.1, the programming interface of GitHub,
//! Gitea or GitLab over it.
//!
//! What a client pushes to the repository is what its pull requests show; [`FakeHost::merge`] and its siblings
//! are what people do at the host's own page. The dialects answer in the shapes that the hosts document, with
//! tags (but Gitea), pages and their refusals. Times are a count, not a clock: every change is a second later.

mod bare;
mod dialect;
mod gitea;
mod github;
mod gitlab;
mod issues;
mod state;

use std::{
    net::SocketAddr,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use anyhow::{Context as _, Result, ensure};
use axum::{
    Router,
    body::{Body, to_bytes},
    extract::{Request, State as Shared},
    http::{Response, StatusCode, header},
};
use forge_model::pull_request::{HostCheckStatus, HostConfig, HostKind, HostVerdict, PullRequestState};
use percent_encoding::percent_decode_str;
use serde_json::{Value, json};
use tokio::{net::TcpListener, task::JoinHandle};

pub use state::{ACCOUNT, FakeComment, FakeIssue, FakePull, HostFault};
use state::{Answer, Asked, Comment, OWNER, REPO, State};

/// The token that a fake host accepts; every other one is refused.
pub const TOKEN: &str = "fake-host-token";
const LONGEST_BODY: usize = 1024 * 1024;

/// A host with one repository. It ends with its value.
pub struct FakeHost {
    kind: HostKind,
    address: SocketAddr,
    bare: PathBuf,
    state: Arc<Mutex<State>>,
    listening: Mutex<Option<JoinHandle<()>>>,
}

impl Drop for FakeHost {
    fn drop(&mut self) {
        if let Some(listening) = self.listening.lock().unwrap_or_else(PoisonError::into_inner).take() {
            listening.abort();
        }
    }
}

impl FakeHost {
    /// Starts one that speaks `kind`, with an empty bare repository in `bare`.
    ///
    /// # Errors
    /// When git or the network refuses.
    pub async fn start(kind: HostKind, bare: &Path) -> Result<Self> {
        bare::create(bare)?;
        let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
        let address = listener.local_addr()?;
        let state = Arc::new(Mutex::new(State::new(kind, bare, &format!("http://{address}"))));
        let host = Self { kind, address, bare: bare.to_owned(), state, listening: Mutex::new(None) };
        host.serve(listener);
        Ok(host)
    }

    fn serve(&self, listener: TcpListener) {
        let router = Router::new().fallback(answer).with_state(self.state.clone());
        let task = tokio::spawn(async move {
            // It ends with the test.
            let _ = axum::serve(listener, router).await;
        });
        *self.listening.lock().unwrap_or_else(PoisonError::into_inner) = Some(task);
    }

    /// Nobody listens any more, as when the network is gone.
    pub async fn go_offline(&self) {
        let listening = self.listening.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(listening) = listening {
            listening.abort();
            // It was cancelled, which is what its end says.
            let _ = listening.await;
        }
    }

    /// It listens again, at the same address.
    ///
    /// # Errors
    /// When somebody else took the port meanwhile.
    pub async fn come_back(&self) -> Result<()> {
        self.go_offline().await;
        self.serve(TcpListener::bind(self.address).await?);
        Ok(())
    }

    /// Where a browser would open it; a project's `base_url`.
    #[must_use]
    pub fn address(&self) -> String {
        format!("http://{}", self.address)
    }

    /// The repository that branches are pushed to; a git remote's address.
    #[must_use]
    pub fn repository(&self) -> &Path {
        &self.bare
    }

    /// The settings of a project whose remote `remote` is [`FakeHost::repository`].
    #[must_use]
    pub fn config(&self, remote: &str) -> HostConfig {
        HostConfig {
            kind: self.kind,
            base_url: Some(self.address()),
            owner: OWNER.to_owned(),
            repo: REPO.to_owned(),
            remote: remote.to_owned(),
        }
    }

    /// Its pull requests, the first one first.
    #[must_use]
    pub fn pull_requests(&self) -> Vec<FakePull> {
        self.state().pulls.iter().map(FakePull::from).collect()
    }

    /// How many requests came so far.
    #[must_use]
    pub fn requests(&self) -> usize {
        self.state().requests
    }

    /// How many requests were answered by saying that nothing changed.
    #[must_use]
    pub fn unchanged(&self) -> usize {
        self.state().unchanged
    }

    /// Makes every request meet this fault from now on; none ends it.
    pub fn set_fault(&self, fault: Option<HostFault>) {
        self.state().fault = fault;
    }

    /// Has the request after so many further ones answered by a rate limit of so many seconds.
    pub fn limit_after(&self, requests: usize, seconds: u32) {
        let mut state = self.state();
        let at = state.requests + requests + 1;
        state.limited.insert(at, seconds);
    }

    /// Somebody writes an issue, or writes it anew.
    pub fn put_issue(&self, issue: FakeIssue) {
        let mut state = self.state();
        state.issues.retain(|it| it.number != issue.number);
        state.issues.push(issue);
    }

    /// An issue as it is now.
    #[must_use]
    pub fn issue(&self, number: u32) -> Option<FakeIssue> {
        self.state().issues.iter().find(|issue| issue.number == number).cloned()
    }

    /// Somebody lets everybody see the repository, or members alone.
    pub fn set_public(&self, is_public: bool) {
        self.state().is_public = is_public;
    }

    /// Somebody merges it with a merge commit, whose id it gives.
    ///
    /// # Errors
    /// When it is not open, or head and base conflict.
    pub fn merge(&self, number: u32) -> Result<String> {
        self.land(number, |head, base| vec![base, head])
    }

    /// Somebody merges it as one commit without the branch's history, whose id it gives.
    ///
    /// # Errors
    /// When it is not open, or head and base conflict.
    pub fn squash(&self, number: u32) -> Result<String> {
        self.land(number, |_, base| vec![base])
    }

    fn land(&self, number: u32, parents: fn(String, String) -> Vec<String>) -> Result<String> {
        let mut state = self.state();
        let (head, base) = {
            let pull = state.pull(number)?;
            ensure!(pull.state == PullRequestState::Open, "{number} is not open");
            (pull.head.clone(), pull.base.clone())
        };
        let (head_commit, base_commit) = (bare::commit(&self.bare, &head)?, bare::commit(&self.bare, &base)?);
        let head_commit = head_commit.with_context(|| format!("no branch {head}"))?;
        let base_commit = base_commit.with_context(|| format!("no branch {base}"))?;
        let tree = bare::merged_tree(&self.bare, &base_commit, &head_commit)?
            .with_context(|| format!("{number} has conflicts"))?;
        let message = format!("{} (#{number})", state.pull(number)?.title);
        let merged =
            bare::commit_tree(&self.bare, &tree, &parents(head_commit.clone(), base_commit), &message)?;
        bare::set_branch(&self.bare, &base, &merged)?;
        let pull = state.changed(number)?;
        pull.state = PullRequestState::Merged;
        (pull.head_commit, pull.merge_commit) = (head_commit, Some(merged.clone()));
        Ok(merged)
    }

    /// Somebody has it merge into another branch, which is made when there is none of that name.
    ///
    /// # Errors
    /// When there is none of that number, or git refuses.
    pub fn retarget(&self, number: u32, base: &str) -> Result<()> {
        let mut state = self.state();
        let old = state.pull(number)?.base.clone();
        if bare::commit(&self.bare, base)?.is_none() {
            let commit = bare::commit(&self.bare, &old)?.with_context(|| format!("no branch {old}"))?;
            bare::set_branch(&self.bare, base, &commit)?;
        }
        base.clone_into(&mut state.changed(number)?.base);
        Ok(())
    }

    /// Somebody closes it without merging.
    ///
    /// # Errors
    /// When there is none of that number.
    pub fn close(&self, number: u32) -> Result<()> {
        self.state().changed(number)?.state = PullRequestState::Closed;
        Ok(())
    }

    /// Somebody opens a closed one again.
    ///
    /// # Errors
    /// When there is none of that number, or it is merged.
    pub fn reopen(&self, number: u32) -> Result<()> {
        let mut state = self.state();
        let pull = state.changed(number)?;
        ensure!(pull.state == PullRequestState::Closed, "{number} is not closed");
        pull.state = PullRequestState::Open;
        Ok(())
    }

    /// Somebody comments.
    ///
    /// # Errors
    /// When there is none of that number.
    pub fn comment(&self, number: u32, author: &str, text: &str) -> Result<()> {
        self.state().say(number, Comment::spoken(author, text))
    }

    /// Somebody comments on a line.
    ///
    /// # Errors
    /// When there is none of that number.
    pub fn comment_on_line(
        &self,
        number: u32,
        author: &str,
        path: &str,
        line: u32,
        text: &str,
    ) -> Result<()> {
        let comment = Comment { place: Some((path.to_owned(), line)), ..Comment::spoken(author, text) };
        self.state().say(number, comment)
    }

    /// Somebody reviews. GitLab tells the words alone.
    ///
    /// # Errors
    /// When there is none of that number.
    pub fn review(&self, number: u32, author: &str, verdict: HostVerdict, text: &str) -> Result<()> {
        let comment = Comment { verdict: Some(verdict), ..Comment::spoken(author, text) };
        self.state().say(number, comment)
    }

    /// A check of the head commit begins or changes. What is pushed later has no checks yet.
    ///
    /// # Errors
    /// When there is none of that number, or its branch is gone.
    pub fn set_check(&self, number: u32, name: &str, status: HostCheckStatus, summary: &str) -> Result<()> {
        let mut state = self.state();
        let head = state.changed(number)?.head.clone();
        let commit = bare::commit(&self.bare, &head)?.with_context(|| format!("no branch {head}"))?;
        state.checks.insert((commit, name.to_owned()), (status, summary.to_owned()));
        Ok(())
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Every request, whatever its path: the dialects know their own.
async fn answer(Shared(state): Shared<Arc<Mutex<State>>>, request: Request) -> Response<Body> {
    let (parts, body) = request.into_parts();
    let body = to_bytes(body, LONGEST_BODY).await.unwrap_or_default();
    let header = |name| parts.headers.get(name).and_then(|value| value.to_str().ok());
    let path = parts.uri.path().to_owned();
    let asked = Asked {
        method: parts.method.to_string(),
        segments: path.split('/').skip(1).map(decoded).collect(),
        query: pairs(parts.uri.query().unwrap_or_default()),
        body: serde_json::from_slice(&body).unwrap_or(Value::Null),
    };
    let mut state = state.lock().unwrap_or_else(PoisonError::into_inner);
    state.requests += 1;
    let count = state.requests;
    let fault = state.limited.remove(&count).map(HostFault::Busy).or(state.fault);
    let said = match fault {
        Some(HostFault::Broken) => Answer::refused(500, "Server Error"),
        Some(HostFault::Forbidden) => Answer::refused(403, "The token may not do this"),
        Some(HostFault::Busy(seconds)) => {
            let busy = reply(429, &json!({ "message": "Retry later" }).to_string());
            return with(busy, "retry-after", &seconds.to_string());
        }
        Some(HostFault::AnswerLost) | None
            if header("authorization").and_then(|it| it.split_once(' ')).map(|(_, token)| token)
                != Some(TOKEN) =>
        {
            Answer::refused(401, "Bad credentials")
        }
        Some(HostFault::AnswerLost) | None => {
            let done = dialect::answer(&mut state, &asked)
                .unwrap_or_else(|error| Answer::refused(500, &error.to_string()));
            let is_lost = fault.is_some() && asked.method != "GET";
            if is_lost { Answer::refused(502, "Bad Gateway") } else { done }
        }
    };
    let tags = state.kind != HostKind::Gitea;
    let reply = finish(said, &asked, &path, header("if-none-match"), tags);
    state.unchanged += usize::from(reply.status() == StatusCode::NOT_MODIFIED);
    reply
}

/// Cuts lists into pages and leaves out what the client knows.
fn finish(said: Answer, asked: &Asked, path: &str, known: Option<&str>, tags: bool) -> Response<Body> {
    let (status, body, next) = match said {
        Answer::One(status, body) => (status, body, None),
        Answer::List(all) => {
            let number = |name: &str, default: usize| {
                asked.query.get(name).and_then(|text| text.parse().ok()).unwrap_or(default).max(1)
            };
            let (page, size) = (number("page", 1), number("per_page", number("limit", 30)));
            let more = all.len() > page * size;
            let items: Vec<Value> = all.into_iter().skip((page - 1) * size).take(size).collect();
            (200, Value::Array(items), more.then_some(page + 1))
        }
    };
    let text = body.to_string();
    let etag = format!("W/\"{:016x}\"", fingerprint(&text));
    let tagged = tags && status == 200 && asked.method == "GET";
    let mut reply =
        if tagged && known == Some(etag.as_str()) { reply(304, "") } else { reply(status, &text) };
    if tagged {
        reply = with(reply, header::ETAG.as_str(), &etag);
    }
    if let Some(next) = next {
        reply = with(reply, header::LINK.as_str(), &format!("<{path}?page={next}>; rel=\"next\""));
    }
    reply
}

fn reply(status: u16, body: &str) -> Response<Body> {
    let mut reply = Response::new(Body::from(body.to_owned()));
    *reply.status_mut() = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    // A connection that is kept would outlive `go_offline`.
    let reply = with(reply, header::CONNECTION.as_str(), "close");
    with(reply, header::CONTENT_TYPE.as_str(), "application/json")
}

fn with(mut reply: Response<Body>, name: &str, value: &str) -> Response<Body> {
    if let (Ok(name), Ok(value)) = (name.parse::<header::HeaderName>(), value.parse()) {
        reply.headers_mut().insert(name, value);
    }
    reply
}

fn decoded(text: &str) -> String {
    percent_decode_str(text).decode_utf8_lossy().into_owned()
}

fn pairs(query: &str) -> std::collections::BTreeMap<String, String> {
    query
        .split('&')
        .filter_map(|pair| pair.split_once('='))
        .map(|(key, value)| (decoded(key), decoded(value)))
        .collect()
}

/// FNV-1a.
fn fingerprint(text: &str) -> u64 {
    text.bytes()
        .fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}
