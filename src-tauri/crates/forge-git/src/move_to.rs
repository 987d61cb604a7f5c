//! Moving a task's branch, and the worktree that stands on it, to a commit that replaces its own.
//!
//! Invariants: the branch moves by compare and swap; what it held is kept under a ref first, and so is whatever
//! the worktree holds that is not committed; nobody reaches the worktree in between. A move that was cut short is finished
//! by asking for it again.

use crate::bytes;
use crate::command::Kind;
use crate::error::GitError;
use crate::repo::Repo;
use crate::worktree::Worktree;

impl Repo {
    /// Moves `branch` from `old` to `new` and puts `worktree` there; what they held is kept under `ref_prefix`.
    /// Untracked files stay unless `new` has a file in their place. Repeating it is safe.
    ///
    /// [`GitError::RefMoved`] when the branch is neither at `old` nor at `new`; nothing is changed then.
    pub async fn move_branch(
        &self,
        worktree: Option<&Worktree>,
        branch: &str,
        old: &str,
        new: &str,
        ref_prefix: &str,
    ) -> Result<(), GitError> {
        let name = format!("refs/heads/{branch}");
        let withdrawn = match worktree {
            Some(worktree) => Some(self.withdraw_worktree(worktree.path()).await?),
            None => None,
        };
        let found = self.ref_value(&name).await?;
        let is_there = found.as_deref() == Some(new);
        if !is_there && found.as_deref() != Some(old) {
            return Err(GitError::RefMoved { name, expected: old.to_owned(), found });
        }
        if let Some(withdrawn) = &withdrawn {
            // Beside the branch, which moves last: a kill in between leaves no files of `old` on a branch at `new`.
            let tree = withdrawn.worktree();
            tree.back_up(ref_prefix, "forge: before its branch moved").await?;
            tree.end_rebase().await?;
            let head = tree.head().await?;
            if head != old && !self.is_ancestor(&head, new).await? {
                self.keep(&head, ref_prefix).await?;
            }
            let detach = ["update-ref", "--no-deref", "-m", "forge: its branch moves", "HEAD", &head];
            tree.command(Kind::Write).args(detach).ok().await?;
            tree.reset_files(new).await?;
        }
        if !is_there {
            self.keep(old, ref_prefix).await?;
            self.update_ref(&name, new, old, "forge: moved onto the target").await?;
        }
        if let Some(withdrawn) = withdrawn {
            withdrawn.worktree().attach(&name).await?;
            withdrawn.put_back()?;
        }
        Ok(())
    }

    /// Keeps a commit under a prefix unless one of the refs there is it already; the ref that does.
    pub(crate) async fn keep(&self, commit: &str, ref_prefix: &str) -> Result<String, GitError> {
        let prefix = format!("{}/", ref_prefix.trim_end_matches('/'));
        let listed = ["for-each-ref", "--format=%(objectname) %(refname)", &prefix];
        let kept = self.read().args(listed).ok().await?;
        let known = |line: &str| line.strip_prefix(commit)?.strip_prefix(' ').map(str::to_owned);
        match bytes::text(&kept).lines().find_map(known) {
            Some(known) => Ok(known),
            None => self.next_number(ref_prefix, commit).await,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Sandbox;
    use crate::worktrees::NewWorktree;

    const KEPT: &str = "refs/forge/backup/t";

    #[tokio::test]
    async fn a_branch_moves_with_its_worktree_and_nothing_is_lost() {
        let sandbox = Sandbox::new().await;
        let repo = sandbox.repo().await;
        let base = sandbox.head();
        let path = sandbox.dir().join("task");
        let spec = NewWorktree { path: path.clone(), branch: "task".to_owned(), base: base.clone() };
        repo.create_worktree(&spec).await.unwrap();
        let tree = repo.worktree_at(&path);
        std::fs::write(path.join("work"), "old\n").unwrap();
        let old = tree.commit_all("work", None).await.unwrap().unwrap();
        let new = sandbox.commit("elsewhere", &[("work", "new\n"), ("more", "more\n")]);
        std::fs::write(path.join("a"), "not committed\n").unwrap();
        std::fs::write(path.join("more"), "in the way\n").unwrap();
        std::fs::write(path.join("beside"), "untracked\n").unwrap();
        let elsewhere = repo.move_branch(Some(&tree), "task", &base, &new, KEPT).await;
        assert!(matches!(elsewhere, Err(GitError::RefMoved { .. })), "{elsewhere:?}");
        assert!(repo.backups(KEPT).await.unwrap().is_empty(), "nothing is changed then");
        assert_eq!(std::fs::read_to_string(path.join("a")).unwrap(), "not committed\n");
        repo.move_branch(Some(&tree), "task", &old, &new, KEPT).await.unwrap();
        assert_eq!(repo.resolve("refs/heads/task").await.unwrap(), Some(new.clone()));
        let read = |name: &str| std::fs::read_to_string(path.join(name)).unwrap();
        assert_eq!((read("work"), read("more"), read("a")), ("new\n".into(), "more\n".into(), "a\n".into()));
        assert_eq!(read("beside"), "untracked\n");
        let kept = repo.backups(KEPT).await.unwrap();
        assert!(kept.iter().any(|kept| kept.commit == old), "{kept:?}");
        let saved = |name: &str, content: &str| {
            kept.iter().any(|kept| {
                let (ok, said) =
                    sandbox.try_git_at(repo.root(), &["show", &format!("{}:{name}", kept.commit)]);
                ok && said == content.trim_end()
            })
        };
        assert!(saved("a", "not committed\n") && saved("more", "in the way\n"), "{kept:?}");
        repo.move_branch(Some(&tree), "task", &old, &new, KEPT).await.unwrap();
        assert_eq!(repo.backups(KEPT).await.unwrap().len(), kept.len() + 1, "the untracked file, once more");
    }

    #[tokio::test]
    async fn a_move_that_was_cut_short_is_finished_and_what_was_written_since_is_kept() {
        let sandbox = Sandbox::new().await;
        let repo = sandbox.repo().await;
        let path = sandbox.dir().join("task");
        let base = sandbox.head();
        let spec = NewWorktree { path: path.clone(), branch: "task".to_owned(), base };
        repo.create_worktree(&spec).await.unwrap();
        let tree = repo.worktree_at(&path);
        std::fs::write(path.join("work"), "old\n").unwrap();
        let old = tree.commit_all("work", None).await.unwrap().unwrap();
        let new = sandbox.commit("elsewhere", &[("work", "new\n")]);
        for has_moved in [false, true] {
            // The files are there, the branch is not yet, or has just come.
            sandbox.git_at(&path, &["checkout", "-q", "--detach", &new]);
            sandbox.git(&["update-ref", "refs/heads/task", if has_moved { &new } else { &old }]);
            let text = format!("written since, has moved: {has_moved}");
            std::fs::write(path.join("work"), &text).unwrap();
            repo.move_branch(Some(&tree), "task", &old, &new, KEPT).await.unwrap();
            assert_eq!(std::fs::read_to_string(path.join("work")).unwrap(), "new\n");
            assert_eq!(sandbox.git_at(&path, &["symbolic-ref", "HEAD"]), "refs/heads/task");
            assert_eq!(repo.resolve("refs/heads/task").await.unwrap(), Some(new.clone()));
            assert_eq!(tree.status().await.unwrap(), []);
            let kept = repo.backups(KEPT).await.unwrap();
            let held = |commit: &str| sandbox.try_git_at(repo.root(), &["show", &format!("{commit}:work")]).1;
            assert!(kept.iter().any(|kept| held(&kept.commit) == text), "{text}: {kept:?}");
        }
    }
}
