//! What a fake host knows, whatever dialect it speaks.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use anyhow::{Context as _, Result};
use forge_model::{
    pull_request::{HostCheckStatus, HostKind, HostVerdict, Mergeable, PullRequestState},
    time::Timestamp,
};
use serde_json::{Value, json};

use super::bare;

/// The account that the token belongs to.
pub const ACCOUNT: &str = "forge";
/// Who owns the repository.
pub(super) const OWNER: &str = "octo";
/// The repository's name.
pub(super) const REPO: &str = "app";
/// The first second of 2024.
const BEGINNING: Timestamp = Timestamp(1_704_067_200_000);

/// A fault of a reachable host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HostFault {
    /// Internal error: 500.
    Broken,
    /// Rate limit: 429, for that many seconds.
    Busy(u32),
    /// Missing permission: 403.
    Forbidden,
    /// What is written takes effect, and its answer is lost: 502.
    AnswerLost,
}

/// An issue as a test makes it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct FakeIssue {
    /// Its number.
    pub number: u32,
    /// Title.
    pub title: String,
    /// Body, Markdown.
    pub body: String,
    /// Labels.
    pub labels: Vec<String>,
    /// Whether it is closed.
    pub is_closed: bool,
    /// Comments, oldest first: who wrote what.
    pub comments: Vec<(String, String)>,
}

/// A pull request as a test looks at it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FakePull {
    /// Its number.
    pub number: u32,
    /// Title, without a mark for drafts.
    pub title: String,
    /// Body.
    pub body: String,
    /// The branch with the work.
    pub head: String,
    /// The branch that the work goes into.
    pub base: String,
    /// Whether it is a draft.
    pub draft: bool,
    /// Where it is.
    pub state: PullRequestState,
    /// What was written, in order.
    pub comments: Vec<FakeComment>,
}

/// A comment as a test looks at it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FakeComment {
    /// Who wrote it.
    pub author: String,
    /// What.
    pub body: String,
}

impl From<&Pull> for FakePull {
    fn from(pull: &Pull) -> Self {
        let comments = pull
            .comments
            .iter()
            .map(|comment| FakeComment { author: comment.author.clone(), body: comment.body.clone() });
        Self {
            number: pull.number,
            title: pull.title.clone(),
            body: pull.body.clone(),
            head: pull.head.clone(),
            base: pull.base.clone(),
            draft: pull.draft,
            state: pull.state,
            comments: comments.collect(),
        }
    }
}

pub(super) struct Pull {
    pub number: u32,
    pub title: String,
    pub body: String,
    pub head: String,
    pub base: String,
    pub draft: bool,
    pub state: PullRequestState,
    /// The head that was seen last: a branch may be deleted.
    pub head_commit: String,
    pub merge_commit: Option<String>,
    pub comments: Vec<Comment>,
    pub updated: Timestamp,
}

pub(super) struct Comment {
    pub id: u64,
    pub author: String,
    pub body: String,
    pub verdict: Option<HostVerdict>,
    pub place: Option<(String, u32)>,
    pub at: Timestamp,
}

impl Comment {
    pub(super) fn spoken(author: &str, text: &str) -> Self {
        Self {
            id: 0,
            author: author.to_owned(),
            body: text.to_owned(),
            verdict: None,
            place: None,
            at: BEGINNING,
        }
    }
}

/// A request, taken apart.
pub(super) struct Asked {
    pub method: String,
    pub segments: Vec<String>,
    pub query: BTreeMap<String, String>,
    pub body: Value,
}

impl Asked {
    pub(super) fn text(&self, key: &str) -> String {
        self.body[key].as_str().unwrap_or_default().to_owned()
    }
}

pub(super) enum Answer {
    One(u16, Value),
    /// Cut into pages on its way out.
    List(Vec<Value>),
}

impl Answer {
    pub(super) fn refused(status: u16, message: &str) -> Self {
        Self::One(status, json!({ "message": message }))
    }
}

/// Why a pull request is not opened.
pub(super) enum NotOpened {
    /// One is open between these branches.
    Exists(u32),
    /// There is no such branch.
    NoBranch(String),
    /// The base has everything already.
    Nothing,
}

pub(super) struct State {
    pub kind: HostKind,
    pub address: String,
    pub bare: PathBuf,
    pub pulls: Vec<Pull>,
    /// By commit and name.
    pub checks: BTreeMap<(String, String), (HostCheckStatus, String)>,
    pub issues: Vec<FakeIssue>,
    /// Labels of the repository.
    pub labels: Vec<String>,
    /// Whether everybody may see the repository.
    pub is_public: bool,
    pub fault: Option<HostFault>,
    /// Requests, by their count, that are answered by a rate limit of so many seconds.
    pub limited: BTreeMap<usize, u32>,
    pub requests: usize,
    /// How many of them were answered by saying that nothing changed.
    pub unchanged: usize,
    now: Timestamp,
    ids: u64,
}

impl State {
    pub(super) fn new(kind: HostKind, bare: &Path, address: &str) -> Self {
        Self {
            kind,
            address: address.to_owned(),
            bare: bare.to_owned(),
            pulls: Vec::new(),
            checks: BTreeMap::new(),
            issues: Vec::new(),
            labels: Vec::new(),
            is_public: false,
            fault: None,
            limited: BTreeMap::new(),
            requests: 0,
            unchanged: 0,
            now: BEGINNING,
            ids: 100,
        }
    }

    pub(super) fn pull(&self, number: u32) -> Result<&Pull> {
        self.pulls
            .iter()
            .find(|pull| pull.number == number)
            .with_context(|| format!("no pull request {number}"))
    }

    /// The one of this number, as something that changes now.
    pub(super) fn changed(&mut self, number: u32) -> Result<&mut Pull> {
        self.now = self.now.plus_ms(1000);
        let now = self.now;
        let pull = self.pulls.iter_mut().find(|pull| pull.number == number);
        let pull = pull.with_context(|| format!("no pull request {number}"))?;
        pull.updated = now;
        Ok(pull)
    }

    pub(super) fn say(&mut self, number: u32, comment: Comment) -> Result<()> {
        self.ids += 1;
        let id = self.ids;
        let pull = self.changed(number)?;
        pull.comments.push(Comment { id, at: pull.updated, ..comment });
        Ok(())
    }

    pub(super) fn open(
        &mut self,
        title: String,
        body: String,
        branches: (String, String),
        draft: bool,
    ) -> Result<std::result::Result<u32, NotOpened>> {
        let (head, base) = branches;
        let open =
            |pull: &&Pull| pull.state == PullRequestState::Open && (&pull.head, &pull.base) == (&head, &base);
        if let Some(pull) = self.pulls.iter().find(open) {
            return Ok(Err(NotOpened::Exists(pull.number)));
        }
        let Some(head_commit) = bare::commit(&self.bare, &head)? else {
            return Ok(Err(NotOpened::NoBranch(head)));
        };
        let Some(base_commit) = bare::commit(&self.bare, &base)? else {
            return Ok(Err(NotOpened::NoBranch(base)));
        };
        if bare::contains(&self.bare, &base_commit, &head_commit)? {
            return Ok(Err(NotOpened::Nothing));
        }
        self.now = self.now.plus_ms(1000);
        let number = u32::try_from(self.pulls.len())? + 1;
        self.pulls.push(Pull {
            number,
            title,
            body,
            head,
            base,
            draft,
            state: PullRequestState::Open,
            head_commit,
            merge_commit: None,
            comments: Vec::new(),
            updated: self.now,
        });
        Ok(Ok(number))
    }

    /// Checks of a commit by name.
    pub(super) fn checks_of(&self, commit: &str) -> Vec<(&str, HostCheckStatus, &str)> {
        let of_commit = self.checks.iter().filter(|((of, _), _)| of == commit);
        of_commit.map(|((_, name), (status, summary))| (name.as_str(), *status, summary.as_str())).collect()
    }

    pub(super) fn mergeable(&self, pull: &Pull) -> Result<Mergeable> {
        let Some(base) = bare::commit(&self.bare, &pull.base)? else { return Ok(Mergeable::Unknown) };
        let tree = bare::merged_tree(&self.bare, &base, &pull.head_commit)?;
        Ok(if tree.is_some() { Mergeable::Yes } else { Mergeable::No })
    }

    /// What was pushed since the last request.
    pub(super) fn see_pushes(&mut self) -> Result<()> {
        let open: Vec<(u32, String, String)> = self
            .pulls
            .iter()
            .filter(|pull| pull.state == PullRequestState::Open)
            .map(|pull| (pull.number, pull.head.clone(), pull.head_commit.clone()))
            .collect();
        for (number, head, known) in open {
            if let Some(commit) = bare::commit(&self.bare, &head)?.filter(|commit| *commit != known) {
                self.changed(number)?.head_commit = commit;
            }
        }
        Ok(())
    }
}
