//! One side of a changed file, as it lies there.

use forge_model::comment::DiffSide;
use forge_model::diff::FileChangeKind;

use super::change::{RawChange, still_fits};
use super::scope::DiffScope;
use crate::error::GitError;
use crate::guard::{Entry, Root};
use crate::repo::Repo;

/// What one side of a changed file is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FileSide {
    /// The file is not on this side.
    Absent,
    /// A file's content.
    Content(Vec<u8>),
    /// A file of more bytes than were wanted; none of them was read.
    TooLarge(u64),
    /// A symbolic link, a submodule or another thing without a content of its own.
    NoFile,
}

impl Repo {
    /// One side of a file of a diff, at most `cap` bytes; [`GitError::NotInDiff`] when it did not change.
    ///
    /// A worktree's file is read as it lies there, not as git would store it, and a link is not followed.
    pub async fn diff_side(
        &self,
        scope: &DiffScope,
        path: &str,
        side: DiffSide,
        cap: u64,
    ) -> Result<FileSide, GitError> {
        let ends = self.ends(scope).await?;
        let key = scope.key();
        let recalled = self.inner.lists.recall(&key, &ends).and_then(|(list, _)| list.get(path).cloned());
        let raw = match recalled.filter(|raw| still_fits(key.worktree.as_deref(), raw)) {
            Some(raw) => raw,
            None => self.find_change(scope, &ends, path).await?,
        };
        match (side, scope.worktree()) {
            (DiffSide::Old, _) => {
                self.stored_side(raw.change.old_blob.as_deref(), raw.change.old_mode.as_deref(), cap).await
            }
            (DiffSide::New, None) => {
                self.stored_side(raw.change.new_blob.as_deref(), raw.change.new_mode.as_deref(), cap).await
            }
            (DiffSide::New, Some(_)) if raw.change.kind == FileChangeKind::Deleted => Ok(FileSide::Absent),
            (DiffSide::New, Some(worktree)) => {
                let RawChange { path, .. } = raw;
                let root = worktree.path().to_owned();
                let read = tokio::task::spawn_blocking(move || Root::open(&root)?.read(&path, cap)).await??;
                Ok(match read {
                    None => FileSide::Absent,
                    Some(Entry::File { content, .. }) => FileSide::Content(content),
                    Some(Entry::Large { size, .. }) => FileSide::TooLarge(size),
                    Some(Entry::Link(_) | Entry::Directory | Entry::Special) => FileSide::NoFile,
                })
            }
        }
    }

    async fn stored_side(
        &self,
        oid: Option<&str>,
        mode: Option<&str>,
        cap: u64,
    ) -> Result<FileSide, GitError> {
        let Some(oid) = oid else { return Ok(FileSide::Absent) };
        // Only regular files have a mode that begins so.
        if !mode.is_some_and(|mode| mode.starts_with("100")) {
            return Ok(FileSide::NoFile);
        }
        match self.blob(oid, cap).await {
            Ok(content) => Ok(FileSide::Content(content)),
            Err(GitError::TooLarge { size, .. }) => Ok(FileSide::TooLarge(size)),
            Err(error) => Err(error),
        }
    }
}
