//! What changed: the list of files, and the rows of one of them, a page at a time.
//!
//! Lists come from the git program, which compares work trees faster than libgit2; contents are compared in
//! this process. A file of a worktree is compared as git would store it (line endings and filters applied).

mod attributes;
mod change;
mod content;
mod key;
mod list;
pub(crate) mod memory;
mod patch;
mod rows;
mod scope;
mod side;
#[cfg(test)]
mod tests;
mod watch;

use forge_model::diff::{FileChangeKind, FileDiff};

use crate::error::GitError;
use crate::repo::Repo;

pub use scope::{DiffCounts, DiffPage, DiffScope};
pub use side::FileSide;

use change::still_fits;
use key::Ends;

impl Repo {
    async fn ends(&self, scope: &DiffScope) -> Result<Ends, GitError> {
        match scope {
            DiffScope::Worktree { base, .. } => Ok(Ends { base: self.named(base).await?, head: None }),
            DiffScope::Uncommitted { worktree } => Ok(Ends { base: worktree.head().await?, head: None }),
            DiffScope::Commits { base, head } => {
                Ok(Ends { base: self.named(base).await?, head: Some(self.named(head).await?) })
            }
        }
    }

    /// A full name needs no asking; git will say when it does not exist.
    async fn named(&self, rev: &str) -> Result<String, GitError> {
        if matches!(rev.len(), 40 | 64) && rev.bytes().all(|b| b.is_ascii_hexdigit()) {
            return Ok(rev.to_owned());
        }
        self.must_resolve(rev).await
    }

    /// One page of the changes in one file; [`GitError::NotInDiff`] when it did not change.
    pub async fn diff_file(
        &self,
        scope: &DiffScope,
        path: &str,
        page: DiffPage,
    ) -> Result<FileDiff, GitError> {
        let ends = self.ends(scope).await?;
        let key = scope.key();
        let recalled = self.inner.lists.recall(&key, &ends).and_then(|(list, _)| list.get(path).cloned());
        let mut opened = None;
        if let Some(raw) = recalled.filter(|raw| still_fits(key.worktree.as_deref(), raw)) {
            let pair = self.contents(scope, &ends, &raw, page.force).await?;
            // Changed back meanwhile: git has to say whether anything is left of the change.
            let undone = raw.change.kind == FileChangeKind::Modified
                && raw.change.old_mode == raw.change.new_mode
                && pair.is_same();
            opened = (!undone).then_some((raw, pair));
        }
        let (found, pair) = match opened {
            Some(opened) => opened,
            None => {
                let found = self.find_change(scope, &ends, path).await?;
                let pair = self.contents(scope, &ends, &found, page.force).await?;
                (found, pair)
            }
        };
        let mut change = found.change;
        tokio::task::spawn_blocking(move || {
            pair.describe(&mut change);
            rows::diff(change, &pair, page)
        })
        .await?
    }
}
