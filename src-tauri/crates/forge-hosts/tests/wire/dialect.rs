//! What is different about the three hosts, as data, and a site that serves their documented answers.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
    time::Duration,
};

use forge_hosts::{Clock, Etags, Fetched, Host, HostError, Token, connect};
use forge_model::{
    pull_request::{HostConfig, HostKind, PullRequest},
    time::Timestamp,
};
use serde_json::{Value, json};

use crate::server::{Reply, Request, Server};

pub const NOW: Timestamp = Timestamp(1_700_000_000_000);
pub const TOKEN: &str = "t0ps3cret";
pub const NUMBER: u32 = 1347;

/// One host's resources.
pub struct Dialect {
    pub kind: HostKind,
    owner: &'static str,
    repo: &'static str,
    /// The pull request.
    pub pull: &'static str,
    /// The list that comments are in.
    pub comments: &'static str,
    /// The list or object that checks are in.
    pub checks: &'static str,
    /// Everything that is read, with its fixture.
    resources: &'static [(&'static str, &'static str)],
    /// Where pull requests are made.
    pub pulls: &'static str,
}

pub const GITHUB: Dialect = Dialect {
    kind: HostKind::Github,
    owner: "octocat",
    repo: "Hello-World",
    pull: "/api/v3/repos/octocat/Hello-World/pulls/1347",
    comments: "/api/v3/repos/octocat/Hello-World/issues/1347/comments?per_page=100",
    checks: "/api/v3/repos/octocat/Hello-World/commits/6dcb09b5b57875f334f61aebed695e2e4193db5e/check-runs?per_page=100",
    resources: &[
        ("/api/v3/repos/octocat/Hello-World/pulls/1347", include_str!("../fixtures/github/pull.json")),
        (
            "/api/v3/repos/octocat/Hello-World/commits/6dcb09b5b57875f334f61aebed695e2e4193db5e/status?per_page=100",
            include_str!("../fixtures/github/statuses.json"),
        ),
        (
            "/api/v3/repos/octocat/Hello-World/commits/6dcb09b5b57875f334f61aebed695e2e4193db5e/check-runs?per_page=100",
            include_str!("../fixtures/github/check-runs.json"),
        ),
        (
            "/api/v3/repos/octocat/Hello-World/issues/1347/comments?per_page=100",
            include_str!("../fixtures/github/comments.json"),
        ),
        (
            "/api/v3/repos/octocat/Hello-World/pulls/1347/comments?per_page=100",
            include_str!("../fixtures/github/line-comments.json"),
        ),
        (
            "/api/v3/repos/octocat/Hello-World/pulls/1347/reviews?per_page=100",
            include_str!("../fixtures/github/reviews.json"),
        ),
    ],
    pulls: "/api/v3/repos/octocat/Hello-World/pulls",
};

pub const GITEA: Dialect = Dialect {
    kind: HostKind::Gitea,
    owner: "octocat",
    repo: "Hello-World",
    pull: "/api/v1/repos/octocat/Hello-World/pulls/1347",
    comments: "/api/v1/repos/octocat/Hello-World/issues/1347/comments?limit=50",
    checks: "/api/v1/repos/octocat/Hello-World/commits/6dcb09b5b57875f334f61aebed695e2e4193db5e/status?limit=50",
    resources: &[
        ("/api/v1/repos/octocat/Hello-World/pulls/1347", include_str!("../fixtures/gitea/pull.json")),
        (
            "/api/v1/repos/octocat/Hello-World/commits/6dcb09b5b57875f334f61aebed695e2e4193db5e/status?limit=50",
            include_str!("../fixtures/gitea/status.json"),
        ),
        (
            "/api/v1/repos/octocat/Hello-World/issues/1347/comments?limit=50",
            include_str!("../fixtures/gitea/comments.json"),
        ),
        (
            "/api/v1/repos/octocat/Hello-World/pulls/1347/reviews?limit=50",
            include_str!("../fixtures/gitea/reviews.json"),
        ),
        (
            "/api/v1/repos/octocat/Hello-World/pulls/1347/reviews/55/comments?limit=50",
            include_str!("../fixtures/gitea/line-comments.json"),
        ),
    ],
    pulls: "/api/v1/repos/octocat/Hello-World/pulls",
};

pub const GITLAB: Dialect = Dialect {
    kind: HostKind::Gitlab,
    owner: "octocat/hello",
    repo: "world",
    pull: "/api/v4/projects/octocat%2Fhello%2Fworld/merge_requests/1347",
    comments: "/api/v4/projects/octocat%2Fhello%2Fworld/merge_requests/1347/notes?sort=asc&order_by=created_at&per_page=100",
    checks: "/api/v4/projects/octocat%2Fhello%2Fworld/repository/commits/6dcb09b5b57875f334f61aebed695e2e4193db5e/statuses?per_page=100",
    resources: &[
        (
            "/api/v4/projects/octocat%2Fhello%2Fworld/merge_requests/1347",
            include_str!("../fixtures/gitlab/merge-request.json"),
        ),
        (
            "/api/v4/projects/octocat%2Fhello%2Fworld/repository/commits/6dcb09b5b57875f334f61aebed695e2e4193db5e/statuses?per_page=100",
            include_str!("../fixtures/gitlab/statuses.json"),
        ),
        (
            "/api/v4/projects/octocat%2Fhello%2Fworld/merge_requests/1347/notes?sort=asc&order_by=created_at&per_page=100",
            include_str!("../fixtures/gitlab/notes.json"),
        ),
    ],
    pulls: "/api/v4/projects/octocat%2Fhello%2Fworld/merge_requests",
};

pub const ALL: [&Dialect; 3] = [&GITHUB, &GITEA, &GITLAB];

impl Dialect {
    /// The documented pull request.
    pub fn pull_fixture(&self) -> Value {
        serde_json::from_str(self.resources[0].1).unwrap()
    }

    pub fn connect_within(&self, address: &str, patience: Duration) -> Arc<dyn Host> {
        let config = HostConfig {
            kind: self.kind,
            base_url: Some(address.to_owned()),
            owner: self.owner.to_owned(),
            repo: self.repo.to_owned(),
            remote: "origin".to_owned(),
        };
        let clock: Clock = Arc::new(|| NOW);
        connect(&config, Token::new(TOKEN).unwrap(), clock, patience).unwrap()
    }

    pub fn connect(&self, address: &str) -> Arc<dyn Host> {
        // No answer of a test's server takes that long, however busy the machine is.
        self.connect_within(address, Duration::from_secs(60))
    }
}

/// The pages of each resource by path, as they are now.
#[derive(Clone)]
pub struct Site {
    pages: Arc<Mutex<BTreeMap<String, Vec<Value>>>>,
    tags: bool,
}

impl Site {
    /// Everything that is documented; `tags` tells whether answers carry tags.
    pub fn of(dialect: &Dialect, tags: bool) -> Self {
        let pages = dialect
            .resources
            .iter()
            .map(|(path, text)| ((*path).to_owned(), vec![serde_json::from_str(text).unwrap()]));
        Self { pages: Arc::new(Mutex::new(pages.collect())), tags }
    }

    pub fn empty() -> Self {
        Self { pages: Arc::default(), tags: false }
    }

    pub fn set(&self, path: &str, pages: Vec<Value>) {
        self.pages.lock().unwrap().insert(path.to_owned(), pages);
    }

    pub fn edit(&self, path: &str, edit: impl FnOnce(&mut Value)) {
        edit(&mut self.pages.lock().unwrap().get_mut(path).unwrap()[0]);
    }

    /// Serves it; what is written is accepted and answered with the pull request.
    pub async fn serve(&self, dialect: &Dialect) -> Server {
        let (site, pull) = (self.clone(), dialect.pull_fixture());
        Server::start(move |request| match request.method.as_str() {
            "GET" => site.get(request),
            "POST" => Reply::json(201, &pull),
            _ => Reply::json(200, &pull),
        })
        .await
    }

    fn get(&self, request: &Request) -> Reply {
        let (path, number) = match request.target.split_once("&page=") {
            Some((path, number)) => (path, number.parse().unwrap()),
            None => (request.target.as_str(), 1),
        };
        let pages = self.pages.lock().unwrap();
        let Some(pages) = pages.get(path) else {
            return Reply::json(404, &json!({ "message": "Not Found" }));
        };
        let Some(page) = pages.get(number - 1) else { return Reply::json(200, &json!([])) };
        let etag = format!("W/\"{:x}\"", tag(&page.to_string()));
        let mut reply = if self.tags && request.header("if-none-match") == Some(&etag) {
            Reply::new(304, "")
        } else {
            Reply::json(200, page)
        };
        if self.tags {
            reply = reply.with("etag", etag);
        }
        if number < pages.len() {
            // A misconfigured host names itself wrongly; the link must not be followed.
            let link = format!("<https://elsewhere.invalid{path}&page={}>; rel=\"next\"", number + 1);
            reply = reply.with("link", link);
        }
        reply
    }
}

/// FNV-1a.
fn tag(text: &str) -> u64 {
    text.bytes()
        .fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

/// Looks once, without knowing anything.
pub async fn first_look(host: &dyn Host) -> Result<PullRequest, HostError> {
    match host.state(NUMBER, &mut Etags::default()).await? {
        Fetched::Changed(seen) => Ok(*seen),
        Fetched::NotModified => panic!("nothing was known"),
    }
}
