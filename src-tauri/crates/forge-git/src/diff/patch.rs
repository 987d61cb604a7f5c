//! A diff as text, as much of it as a reader can take.

use std::collections::HashSet;

use forge_model::diff::FileChange;

use super::scope::DiffScope;
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Sandbox;

    fn shown(patch: &Patch) -> Vec<&str> {
        patch.text.lines().filter_map(|line| line.strip_prefix("diff --git ")).collect()
    }

    #[tokio::test]
    async fn each_file_is_there_once_whatever_its_name() {
        let sandbox = Sandbox::new().await;
        let repo = sandbox.repo().await;
        let long: String = (0..40).map(|n| format!("line {n}\n")).collect();
        let base = sandbox.commit("base", &[("b.txt", "one\n"), ("old.txt", &long)]);
        sandbox.git(&["mv", "old.txt", "new.txt"]);
        let head = sandbox.commit("all of it", &[("*.txt", "star\n"), ("b.txt", "two\n")]);
        let patch = repo.patch(&base, &head, 64 * 1024).await.unwrap();
        assert_eq!(shown(&patch), ["a/*.txt b/*.txt", "a/b.txt b/b.txt", "a/old.txt b/new.txt"]);
        assert!(patch.text.contains("rename from old.txt\nrename to new.txt\n"), "{}", patch.text);
        assert_eq!((patch.files.len(), patch.left_out.len()), (3, 0));
    }

    #[tokio::test]
    async fn what_does_not_fit_is_left_out_whole_and_programs_come_last() {
        let sandbox = Sandbox::new().await;
        let repo = sandbox.repo().await;
        let lines = |count: usize| "a line of some length\n".repeat(count);
        let base = sandbox.commit("base", &[(".gitattributes", "*.gen linguist-generated\n")]);
        let files =
            [("a.gen", lines(20)), ("long", lines(60)), ("short", lines(20)), ("wide", "x".repeat(900))];
        let files: Vec<(&str, &str)> = files.iter().map(|(path, text)| (*path, text.as_str())).collect();
        let head = sandbox.commit("work", &files);
        let patch = repo.patch(&base, &head, 800).await.unwrap();
        assert!(patch.text.len() <= 800, "{}", patch.text.len());
        assert_eq!(shown(&patch), ["a/short b/short"], "what a person wrote comes first");
        assert_eq!(patch.left_out, ["a.gen", "long", "wide"]);
        assert_eq!(patch.files.len(), 4, "all of them are named");
    }
}
