//! Marks of an index that make git overlook changes: files that it was told to take for unchanged, and files that it was
//! told not to look for. Whoever works in a worktree can set them, so they go before git is asked what changed there.

use std::path::Path;

use crate::command::Kind;
use crate::error::GitError;
use crate::index_paths::{Listed, Marks, Paths};
use crate::sweep::Tracked;
use crate::worktree::Worktree;

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
        let mut found = false;
        for (paths, option) in [(assumed, "--no-assume-unchanged"), (skipped, "--no-skip-worktree")] {
            if paths.is_empty() || (option == "--no-skip-worktree" && self.is_sparse(git_dir).await?) {
                continue;
            }
            found = true;
            let update =
                self.command(Kind::Write).args(["update-index", "-z", option, "--stdin"]).input(paths);
            self.run_in_index(git_dir, update).await?;
        }
        Ok(found)
    }

    async fn is_sparse(&self, git_dir: &Path) -> Result<bool, GitError> {
        let has_patterns = git_dir.join("info/sparse-checkout").exists();
        Ok(has_patterns && self.settings().await?.is_on("core.sparsecheckout"))
    }
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
