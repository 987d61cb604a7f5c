//! The two contents of a changed file.

use std::path::Path;

use forge_model::diff::{FileChange, FileChangeKind};

use super::attributes::Treatment;
use super::change::RawChange;
use super::key::Ends;
use super::list::is_binary;
use super::scope::DiffScope;
use crate::bytes;
use crate::command::Kind;
use crate::error::GitError;
use crate::guard::{Entry, Root};
use crate::repo::Repo;
use crate::scratch::ScratchDir;
use crate::worktree::Worktree;

/// Larger files are shown only when asked for.
const UNASKED_CAP: u64 = 5 << 20;
/// The most that is compared at all; libgit2 takes no more than 2 GiB, and nobody reads this much.
const FORCED_CAP: u64 = 256 << 20;
const SUBMODULE: &str = "160000";

/// One side of a file.
#[derive(Debug)]
pub(super) enum Side {
    Absent,
    Bytes(Vec<u8>),
    TooLarge(u64),
}

impl Side {
    fn size(&self) -> Option<u64> {
        match self {
            Self::Absent => None,
            Self::Bytes(content) => Some(content.len() as u64),
            Self::TooLarge(size) => Some(*size),
        }
    }

    pub(super) fn bytes(&self) -> &[u8] {
        match self {
            Self::Bytes(content) => content,
            Self::Absent | Self::TooLarge(_) => &[],
        }
    }
}

/// Both sides.
#[derive(Debug)]
pub(super) struct Pair {
    pub(super) old: Side,
    pub(super) new: Side,
    /// What the `diff` attribute says: `Some(false)` for text whatever is in it.
    binary: Option<bool>,
}

impl Pair {
    /// Completes what only the contents tell.
    pub(super) fn describe(&self, change: &mut FileChange) {
        change.old_size = self.old.size();
        change.new_size = self.new.size();
        change.binary =
            self.binary.unwrap_or_else(|| is_binary(self.old.bytes()) || is_binary(self.new.bytes()));
        let bits = change.old_mode != change.new_mode;
        change.kind = match change.kind {
            FileChangeKind::Modified if bits && self.is_same() => FileChangeKind::ModeChanged,
            FileChangeKind::ModeChanged if !self.is_same() => FileChangeKind::Modified,
            kind => kind,
        };
    }

    pub(super) fn is_same(&self) -> bool {
        matches!((&self.old, &self.new), (Side::Bytes(old), Side::Bytes(new)) if old == new)
    }

    pub(super) fn is_too_large(&self) -> bool {
        matches!(self.old, Side::TooLarge(_)) || matches!(self.new, Side::TooLarge(_))
    }
}

impl Repo {
    pub(super) async fn contents(
        &self,
        scope: &DiffScope,
        ends: &Ends,
        raw: &RawChange,
        force: bool,
    ) -> Result<Pair, GitError> {
        let cap = if force { FORCED_CAP } else { UNASKED_CAP };
        let (treatment, old) = tokio::try_join!(
            self.treatment(scope, ends, &raw.path),
            self.stored(raw.change.old_blob.as_deref(), raw.change.old_mode.as_deref(), cap)
        )?;
        let new = match scope.worktree() {
            _ if raw.change.kind == FileChangeKind::Deleted => Side::Absent,
            // git may name a work file's content without having stored it.
            Some(worktree) => worktree.work_file(raw, &treatment, cap).await?,
            None => self.stored(raw.change.new_blob.as_deref(), raw.change.new_mode.as_deref(), cap).await?,
        };
        Ok(Pair { old, new, binary: treatment.binary })
    }

    async fn stored(&self, oid: Option<&str>, mode: Option<&str>, cap: u64) -> Result<Side, GitError> {
        match oid {
            None => Ok(Side::Absent),
            Some(oid) if mode == Some(SUBMODULE) => Ok(Side::Bytes(submodule_text(oid))),
            Some(oid) => match self.blob(oid, cap).await {
                Ok(content) => Ok(Side::Bytes(content)),
                Err(GitError::TooLarge { size, .. }) => Ok(Side::TooLarge(size)),
                Err(error) => Err(error),
            },
        }
    }
}

impl Worktree {
    async fn work_file(&self, raw: &RawChange, treatment: &Treatment, cap: u64) -> Result<Side, GitError> {
        let (root, path) = (self.path().to_owned(), raw.path.clone());
        let read = tokio::task::spawn_blocking(move || Root::open(&root)?.read(&path, cap)).await??;
        match read {
            None | Some(Entry::Special) => Ok(Side::Absent),
            Some(Entry::Link(target)) => Ok(Side::Bytes(bytes::of(&target).to_vec())),
            Some(Entry::Large { size, .. }) => Ok(Side::TooLarge(size)),
            Some(Entry::Directory) => {
                let head = self.repo().head_inside(&self.path().join(&raw.path)).await?.unwrap_or_default();
                Ok(Side::Bytes(submodule_text(&head)))
            }
            Some(Entry::File { content, .. }) => {
                // Without carriage returns no line-ending rule can change anything on the way in.
                if !treatment.converting && !content.windows(2).any(|two| two == b"\r\n") {
                    return Ok(Side::Bytes(content));
                }
                self.as_stored(&raw.path, content, cap).await
            }
        }
    }

    /// The content as git would store it. It is written to an object directory of its own, so that looking
    /// at a diff does not grow the repository.
    async fn as_stored(&self, path: &Path, content: Vec<u8>, cap: u64) -> Result<Side, GitError> {
        let scratch = ScratchDir::new(self.repo().common_dir())?;
        let mut option = std::ffi::OsString::from("--path=");
        option.push(path);
        let with = |command: crate::command::GitCommand| {
            command
                .env("GIT_OBJECT_DIRECTORY", &scratch.path)
                .env("GIT_ALTERNATE_OBJECT_DIRECTORIES", self.repo().common_dir().join("objects"))
        };
        let oid = with(self.command(Kind::User))
            .args(["hash-object", "-w", "--stdin"])
            .arg(option)
            .input(content)
            .text()
            .await?;
        let room = usize::try_from(cap).unwrap_or(usize::MAX);
        let stored = with(self.command(Kind::Read)).args(["cat-file", "blob", &oid]).cap(room);
        stored.ok().await.map(Side::Bytes)
    }
}

/// What git shows for a submodule.
fn submodule_text(commit: &str) -> Vec<u8> {
    format!("Subproject commit {commit}\n").into_bytes()
}
