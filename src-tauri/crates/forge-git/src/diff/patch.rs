//! A diff as text, as much of it as a reader can take.

use std::collections::HashSet;

use forge_model::diff::FileChange;

use super::DiffScope;
use crate::bytes;
use crate::error::GitError;
use crate::repo::Repo;

/// The changes between two commits as text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Patch {
    /// All changed files, sorted by path.
    pub files: Vec<FileChange>,
    /// The diffs of some of them, each whole; what is not UTF-8 is replaced.
    pub text: String,
    /// The files whose diffs did not fit.
    pub left_out: Vec<String>,
}

impl Repo {
    /// The changes between two commits as a unified diff of at most `cap` bytes, cut between files. What people
    /// wrote comes before what programs made.
    pub async fn patch(&self, base: &str, head: &str, cap: usize) -> Result<Patch, GitError> {
        let scope = DiffScope::Commits { base: base.to_owned(), head: head.to_owned() };
        let files = self.diff_files(&scope).await?.files;
        let mut order: Vec<&FileChange> = files.iter().collect();
        order.sort_by_key(|file| (file.binary, file.generated));
        let (mut text, mut shown) = (String::new(), HashSet::new());
        for file in order {
            let room = cap - text.len();
            // A changed line takes two bytes at least: what cannot fit is not even asked for.
            let least = 2 * u64::from(file.added) + 2 * u64::from(file.removed);
            if least > room as u64 {
                continue;
            }
            match self.diff_text(base, head, file, room).await? {
                Some(diff) if diff.len() <= room => {
                    text.push_str(&diff);
                    shown.insert(file.path.as_str());
                }
                Some(_) | None => {}
            }
        }
        let left_out = files.iter().map(|file| &file.path).filter(|path| !shown.contains(path.as_str()));
        Ok(Patch { left_out: left_out.cloned().collect(), text, files })
    }

    /// One file's diff; `None` when it is longer than `most` bytes.
    async fn diff_text(
        &self,
        base: &str,
        head: &str,
        file: &FileChange,
        most: usize,
    ) -> Result<Option<String>, GitError> {
        let asked = self
            .read()
            .env("GIT_LITERAL_PATHSPECS", "1")
            .args([
                "diff",
                "--no-color",
                "--no-ext-diff",
                "--no-textconv",
                "--find-renames",
                base,
                head,
                "--",
            ])
            .args(file.old_path.iter().chain([&file.path]))
            .cap(most)
            .ok()
            .await;
        match asked {
            Ok(output) => Ok(Some(bytes::text(&output))),
            Err(GitError::TooMuchOutput { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }
}
