//! What programs changed in a lent git directory: it is compared with what was lent.

use std::path::Path;

use super::places::Places;
use super::refs::{Change, Refs, is_valid};
use super::state::State;
use super::{files, index, reflog};
use crate::bytes;
use crate::error::GitError;

const HEAD_CAP: u64 = 4096;
const STASH: &str = "refs/stash";

/// What a `HEAD` says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Head {
    /// The full name of a branch.
    Branch(String),
    /// A commit.
    Detached(String),
}

impl Head {
    /// That of a git directory; `None` for one that names neither a branch nor a commit.
    pub(super) fn read(git_dir: &Path) -> Result<Option<Self>, GitError> {
        let Some(top) = files::top(git_dir)? else { return Ok(None) };
        let said = files::read(&top, "HEAD", HEAD_CAP).map_err(GitError::io("read HEAD of", git_dir))?;
        let said = bytes::line(&said.unwrap_or_default());
        Ok(match said.trim_end().strip_prefix("ref: ") {
            Some(name) => {
                let name = name.trim();
                (name.starts_with("refs/heads/") && is_valid(name)).then(|| Self::Branch(name.to_owned()))
            }
            None => files::is_oid(said.trim_end()).then(|| Self::Detached(said.trim_end().to_owned())),
        })
    }
}

/// What was lent, and what became of it.
#[derive(Debug)]
pub(super) struct Plan {
    pub(super) head_was: Option<Head>,
    pub(super) head_now: Option<Head>,
    /// The branch that the worktree was on, or was rebasing: a full name.
    pub(super) own: Option<String>,
    pub(super) refs_was: Refs,
    pub(super) refs_now: Refs,
    pub(super) changes: Vec<Change>,
    pub(super) state_was: State,
    pub(super) state_now: State,
    pub(super) index_was: Option<Vec<u8>>,
    pub(super) index_now: Option<Vec<u8>>,
    pub(super) log: Vec<u8>,
    /// What programs put on the stash, the oldest first.
    pub(super) stash: Vec<String>,
}

impl Plan {
    /// Reads both.
    pub(super) fn read(places: &Places) -> Result<Self, GitError> {
        let (was, now) = (&places.was, &places.folder);
        let (refs_was, refs_now) = (Refs::read(was)?, Refs::read(now)?);
        let (head_was, state_was) = (Head::read(was)?, State::read(was)?);
        let own = match &head_was {
            Some(Head::Branch(name)) => Some(name.clone()),
            _ => state_was.rebased_branch().filter(|name| is_valid(name)),
        };
        let mut stash = reflog::oids_after(&reflog::read(now, STASH)?);
        stash.extend(refs_now.get(STASH).filter(|tip| !stash.contains(tip)));
        Ok(Self {
            head_was,
            head_now: Head::read(now)?,
            own,
            changes: refs_now.changes_from(&refs_was),
            refs_was,
            refs_now,
            state_was,
            state_now: State::read(now)?,
            index_was: index::content(was)?,
            index_now: index::content(now)?,
            log: reflog::read(now, "HEAD")?,
            stash,
        })
    }

    /// Whether everything is as it was lent.
    pub(super) fn is_unchanged(&self) -> bool {
        self.head_was == self.head_now
            && self.changes.is_empty()
            && self.state_was == self.state_now
            && self.index_was == self.index_now
            && self.log.is_empty()
            && self.stash.is_empty()
    }

    /// The commit that a worktree with this `HEAD` stands on in the lent directory.
    pub(super) fn tip(refs: &Refs, head: Option<&Head>) -> Option<String> {
        match head? {
            Head::Branch(name) => refs.get(name),
            Head::Detached(oid) => Some(oid.clone()),
        }
    }

    /// What the worktree's own branch was at, and is at.
    pub(super) fn own_change(&self) -> Option<&Change> {
        let own = self.own.as_deref()?;
        self.changes.iter().find(|change| change.name == own.as_bytes())
    }

    /// Changes of refs that are neither the worktree's branch, nor its own by their nature, nor a remote's, nor the stash.
    pub(super) fn other_changes(&self) -> impl Iterator<Item = &Change> {
        let own = self.own.as_deref().unwrap_or_default();
        self.changes.iter().filter(move |change| {
            change.name != own.as_bytes()
                && change.name != STASH.as_bytes()
                && !change.is_of_worktree()
                && !change.is_of_remote()
        })
    }
}
