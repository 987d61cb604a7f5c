//! Marks of an index that make git overlook changes: files that it was told to take for unchanged, and files that it was
//! told not to look for. Whoever works in a worktree can set them, so they go before git is asked what changed there.

use std::collections::HashSet;
use std::path::Path;

use crate::bytes;
use crate::command::Kind;
use crate::error::GitError;
use crate::index_paths::{Listed, Marks, Paths};
use crate::sweep::Tracked;
use crate::worktree::Worktree;

/// What git calls the empty file in repositories of either kind of name.
const EMPTY_FILES: [&str; 2] = [
    "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391",
    "473a0f4c3be8a93681a267e3b1e9a7dcda1185436fe141f7749120a303721813",
];

impl Worktree {
    /// Takes marks off its index that make git overlook changes of files; whether there were any. Files stay as
    /// they are. In a sparse checkout files are skipped rightly, and git itself takes the mark off those that are there.
    ///
    /// # Errors
    /// [`GitError::IndexLocked`], git's errors.
    pub async fn reveal_hidden(&self) -> Result<bool, GitError> {
        let git_dir = self.git_dir().await?;
        let index = git_dir.join("index");
        let read = tokio::task::spawn_blocking(move || {
            let paths = Paths::read(&index).map_err(GitError::io("read", &index))?;
            Ok::<_, GitError>(
                paths.map(|paths| (list(&paths, |marks| marks.assumed), list(&paths, |marks| marks.skipped))),
            )
        });
        let (assumed, skipped) = match read.await?? {
            Some(marked) => marked,
            None => {
                // An index of a kind that is not read here.
                let command = self.command(Kind::Read).args(["ls-files", "-z", "-v", "--stage"]);
                let args = command.shown();
                let tracked = Tracked::parse(&command.ok().await?)
                    .map_err(|what| GitError::Unexpected { args, what })?;
                (tracked.assumed(), tracked.skipped())
            }
        };
        self.clear_marks(&git_dir, assumed, skipped).await
    }

    /// Takes the marks off these paths, each with a NUL after it; whether there were any to take off.
    pub(crate) async fn clear_marks(
        &self,
        git_dir: &Path,
        assumed: Vec<u8>,
        skipped: Vec<u8>,
    ) -> Result<bool, GitError> {
        let mut revealed = Vec::new();
        for (paths, option) in [(assumed, "--no-assume-unchanged"), (skipped, "--no-skip-worktree")] {
            if paths.is_empty() || (option == "--no-skip-worktree" && self.is_sparse(git_dir).await?) {
                continue;
            }
            revealed.extend_from_slice(&paths);
            let update =
                self.command(Kind::Write).args(["update-index", "-z", option, "--stdin"]).input(paths);
            self.run_in_index(git_dir, update).await?;
        }
        if revealed.is_empty() {
            return Ok(false);
        }
        let listed = self.command(Kind::Read).args(LIST_STAGED).ok().await?;
        let input = without_times(&listed, &revealed);
        self.run_in_index(git_dir, self.command(Kind::Write).args(STAGE_LISTED).input(input)).await?;
        Ok(true)
    }

    async fn is_sparse(&self, git_dir: &Path) -> Result<bool, GitError> {
        let has_patterns = git_dir.join("info/sparse-checkout").exists();
        Ok(has_patterns && self.settings().await?.is_on("core.sparsecheckout"))
    }
}

/// Lists an index for [`without_times`], whose output [`STAGE_LISTED`] takes.
pub(crate) const LIST_STAGED: [&str; 3] = ["ls-files", "-z", "--stage"];
pub(crate) const STAGE_LISTED: [&str; 3] = ["update-index", "-z", "--index-info"];

/// Of what [`LIST_STAGED`] tells, the files among `paths` (each with a NUL after it). Staged again from this list, they
/// are as they were, but for their times, so that git reads the files before it says whether they changed.
///
/// While a mark is on a file, git takes it for looked at whenever it writes the index. It then leaves out the precaution
/// for a file that was changed in the very second that it recorded, and would never see such a change.
pub(crate) fn without_times(listed: &[u8], paths: &[u8]) -> Vec<u8> {
    let paths: HashSet<&[u8]> = bytes::records(paths).collect();
    let mut restaged = Vec::new();
    for record in bytes::records(listed) {
        let Some(tab) = record.iter().position(|byte| *byte == b'\t') else { continue };
        let (about, path) = (&record[..tab], &record[tab + 1..]);
        let mut words = about.split(|byte| *byte == b' ');
        let (is_link, oid) = (words.next() == Some(b"160000"), words.next().unwrap_or_default());
        // A file that is staged empty is seen to differ by its size; and one that git was only told it will be added looks
        // like it, but must not become an empty one.
        let is_empty = EMPTY_FILES.iter().any(|empty| empty.as_bytes() == oid);
        if paths.contains(path) && !is_link && !is_empty {
            restaged.extend_from_slice(record);
            restaged.push(0);
        }
    }
    restaged
}

/// Paths of an index with these marks, each with a NUL after it.
pub(crate) fn list(paths: &Paths, wanted: impl Fn(Marks) -> bool) -> Vec<u8> {
    let mut list = Vec::new();
    for Listed { path, .. } in paths.iter().filter(|listed| wanted(listed.marks)) {
        list.extend_from_slice(path);
        list.push(0);
    }
    list
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::time::{Duration, SystemTime};

    use crate::testing::Sandbox;

    const PREFIX: &str = "refs/forge/backup/t";

    #[tokio::test]
    async fn change_of_file_that_git_was_told_to_overlook_is_committed_and_backed_up() {
        for (mark, is_split) in
            [("--assume-unchanged", false), ("--skip-worktree", false), ("--skip-worktree", true)]
        {
            let sandbox = Sandbox::new().await;
            let repo = sandbox.repo().await;
            if is_split {
                sandbox.git(&["update-index", "--split-index"]);
            }
            sandbox.git(&["update-index", mark, "a"]);
            sandbox.write("a", "hidden\n");
            assert_eq!(repo.main_worktree().status().await.unwrap(), [], "git overlooks it");
            let made = repo.main_worktree().back_up(PREFIX, "m").await.unwrap().unwrap();
            assert_eq!(sandbox.git_out(&["show", &format!("{}:a", made.commit)]), "hidden");
            sandbox.git(&["update-index", mark, "a"]);
            let seen = repo.main_worktree().uncommitted().await.unwrap();
            repo.main_worktree().commit_all_keeping_staged(&seen, "m", None, PREFIX).await.unwrap().unwrap();
            assert_eq!(sandbox.git_out(&["show", "HEAD:a"]), "hidden", "{mark}");
            assert!(!repo.main_worktree().reveal_hidden().await.unwrap());
        }
    }

    /// Same size, same second, and an index that was written later: only the content tells.
    #[tokio::test]
    async fn change_in_the_second_that_the_index_recorded_is_seen() {
        for mark in ["--assume-unchanged", "--skip-worktree"] {
            let sandbox = Sandbox::new().await;
            let repo = sandbox.repo().await;
            // The times of a file's record cannot be set, and a second may pass meanwhile.
            sandbox.git(&["config", "core.trustctime", "false"]);
            let second = SystemTime::UNIX_EPOCH + Duration::from_secs(1_700_000_000);
            let at = |nanos: u64| {
                let file = fs::File::options().write(true).open(sandbox.path("a")).unwrap();
                file.set_modified(second + Duration::from_nanos(nanos)).unwrap();
            };
            at(0);
            sandbox.write("new", "");
            sandbox.git(&["update-index", "--refresh"]);
            sandbox.git(&["add", "-N", "new"]);
            sandbox.git(&["update-index", mark, "a", "new"]);
            let before = sandbox.git_out(&["show", ":a"]);
            let after = before.replace(|_: char| true, "h") + "\n";
            assert_ne!(before, after);
            sandbox.write("a", &after);
            at(1);
            let seen = repo.main_worktree().uncommitted().await.unwrap();
            let paths: Vec<&str> = seen.changes.iter().map(|raw| raw.entry.path.as_str()).collect();
            assert_eq!(paths, ["a", "new"], "{mark}");
            assert_eq!(sandbox.git_out(&["diff", "--cached", "--name-only"]), "", "nothing was staged by it");
            let staged = sandbox.git_out(&["ls-files", "-v"]);
            assert_eq!(staged, "H a\nH new", "{mark}");
        }
    }

    #[tokio::test]
    async fn files_outside_of_a_sparse_checkout_stay_out_and_pretended_ones_do_not() {
        let sandbox = Sandbox::new().await;
        let repo = sandbox.repo().await;
        sandbox.commit("more", &[("in/b", "b\n"), ("out/c", "c\n")]);
        sandbox.git(&["sparse-checkout", "set", "in"]);
        assert!(!sandbox.path("out/c").exists());
        assert!(!repo.main_worktree().reveal_hidden().await.unwrap());
        assert_eq!(repo.main_worktree().back_up(PREFIX, "m").await.unwrap(), None);
        sandbox.git(&["sparse-checkout", "disable"]);
        sandbox.write(".git/info/sparse-checkout", "/*\n");
        sandbox.git(&["update-index", "--skip-worktree", "a"]);
        assert!(repo.main_worktree().reveal_hidden().await.unwrap());
    }
}
