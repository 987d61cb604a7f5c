//! Putting a backup back: its contents become uncommitted changes of a worktree.
//!
//! Everything is checked before anything is written; what would be lost is named instead.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::bytes;
use crate::command::Kind;
use crate::error::GitError;
use crate::guard::{Entry, GuardError, Root};
use crate::nested::KEPT;
use crate::repo::Repo;
use crate::worktree::Worktree;

/// A path that a backup changes.
#[derive(Debug)]
pub(crate) struct Content {
    pub(crate) path: PathBuf,
    /// Mode and name, `None` when the path is deleted.
    pub(crate) blob: Option<(String, String)>,
}

impl Repo {
    async fn is_same(&self, now: Option<&Entry>, content: &Content) -> Result<bool, GitError> {
        let Some((mode, oid)) = &content.blob else { return Ok(now.is_none()) };
        Ok(match now {
            Some(Entry::File { content, executable }) => {
                *executable == (mode == "100755")
                    && mode.starts_with("100")
                    && *content == self.blob(oid, u64::MAX).await?
            }
            Some(Entry::Link(target)) => {
                mode == "120000" && bytes::of(target) == self.blob(oid, u64::MAX).await?
            }
            None | Some(Entry::Large { .. } | Entry::Directory | Entry::Special) => false,
        })
    }

    /// What a backup changes, against the commit it was made on.
    pub(crate) async fn backed_up(&self, commit: &str) -> Result<Vec<Content>, GitError> {
        let command = self.read().args(["diff-tree", "-r", "-z", "--no-renames", "--raw"]);
        // A kept branch may be no longer than the repository's first commit, which has nothing before it.
        let command = match self.resolve(&format!("{commit}^1")).await? {
            Some(parent) => command.args([&parent, commit]),
            None => command.args(["--root", "--no-commit-id", commit]),
        };
        let args = command.shown();
        let output = command.ok().await?;
        let mut records = bytes::records(&output);
        let mut contents = Vec::new();
        while let Some(header) = records.next() {
            let header = bytes::text(header);
            let fields: Vec<&str> = header.split(' ').collect();
            let (&[_, mode, _, oid, status], Some(path)) = (fields.as_slice(), records.next()) else {
                return Err(GitError::Unexpected { args, what: format!("{header:?}") });
            };
            let blob = (status != "D").then(|| (mode.to_owned(), oid.to_owned()));
            contents.push(Content { path: bytes::path(path).to_owned(), blob });
        }
        Ok(contents)
    }
}

impl Worktree {
    /// Puts a backup's contents into the worktree as uncommitted changes.
    ///
    /// [`GitError::RestoreInTheWay`] when a file it would write or delete holds something of its own that is
    /// not committed; nothing is written then.
    pub async fn restore_backup(&self, commit: &str) -> Result<(), GitError> {
        let contents = self.repo().backed_up(commit).await?;
        if contents.iter().any(|content| content.path.starts_with(KEPT)) {
            // Bundles and the like are for whoever needs them, not for the next commit.
            self.repo().exclude(&[&format!("/{KEPT}/")]).await?;
        }
        let changed = self.raw_status(true).await?;
        let changed: HashSet<PathBuf> = changed.into_iter().map(|raw| raw.path).collect();
        let tracked = self.command(Kind::Read).args(["ls-files", "-z"]).ok().await?;
        let tracked: HashSet<&Path> = bytes::records(&tracked).map(bytes::path).collect();
        let deleted: HashSet<&Path> =
            contents.iter().filter(|c| c.blob.is_none()).map(|c| c.path.as_path()).collect();
        let root = Arc::new(Root::open(self.path())?);
        let (mut files, mut todo) = (Vec::new(), Vec::new());
        for content in &contents {
            let path = content.path.clone();
            let now = blocking(&root, move |root| root.read(&path, u64::MAX)).await?;
            if self.repo().is_same(now.as_ref(), content).await? {
                continue;
            }
            let in_the_way = match now {
                None => false,
                // Ignored files are in no status, and may be somebody's only copy.
                Some(Entry::File { .. } | Entry::Large { .. } | Entry::Link(_)) => {
                    changed.contains(&content.path) || !tracked.contains(content.path.as_path())
                }
                Some(Entry::Directory) => !holds_only(self.path(), &content.path, &deleted)?,
                Some(Entry::Special) => true,
            };
            if in_the_way {
                files.push(content.path.to_string_lossy().into_owned());
            }
            todo.push(content);
        }
        if !files.is_empty() {
            return Err(GitError::RestoreInTheWay { files });
        }
        // First what goes: a file may have to make room for a directory, or the other way round.
        todo.sort_by_key(|content| content.blob.is_some());
        for content in todo {
            let path = content.path.clone();
            match &content.blob {
                None => blocking(&root, move |root| root.remove(&path)).await?,
                Some((mode, oid)) => {
                    let stored = self.repo().blob(oid, u64::MAX).await?;
                    let (is_link, executable) = (mode == "120000", mode == "100755");
                    blocking(&root, move |root| {
                        if is_link {
                            root.link(&path, &bytes::path_buf(stored))
                        } else {
                            root.write(&path, &stored, executable)
                        }
                    })
                    .await?;
                }
            }
        }
        Ok(())
    }
}

async fn blocking<T: Send + 'static>(
    root: &Arc<Root>,
    work: impl FnOnce(&Root) -> Result<T, GuardError> + Send + 'static,
) -> Result<T, GitError> {
    let root = Arc::clone(root);
    Ok(tokio::task::spawn_blocking(move || work(&root)).await??)
}

/// Whether nothing is left of a directory when these files are deleted.
fn holds_only(worktree: &Path, dir: &Path, deleted: &HashSet<&Path>) -> Result<bool, GitError> {
    let full = worktree.join(dir);
    for entry in std::fs::read_dir(&full).map_err(GitError::io("look into", &full))? {
        let entry = entry.map_err(GitError::io("look into", &full))?;
        let path = dir.join(entry.file_name());
        let is_dir = entry.file_type().map_err(GitError::io("look at", &path))?.is_dir();
        let goes =
            if is_dir { holds_only(worktree, &path, deleted)? } else { deleted.contains(path.as_path()) };
        if !goes {
            return Ok(false);
        }
    }
    Ok(true)
}
