//! What becomes of a worktree whose `.git` somebody took away or replaced.

use std::path::PathBuf;

use super::*;
use crate::testing::{Sandbox, remove_away};
use crate::worktrees::NewWorktree;

struct Given {
    sandbox: Sandbox,
    repo: Repo,
    tree: PathBuf,
    aside: PathBuf,
}

impl Given {
    /// A worktree on the branch `work` with an uncommitted change.
    async fn new() -> Self {
        let sandbox = Sandbox::new().await;
        let repo = sandbox.repo().await;
        let tree = sandbox.dir().join("place/tree");
        let spec = NewWorktree { path: tree.clone(), branch: "work".into(), base: "main".into() };
        repo.create_worktree(&spec).await.unwrap();
        fs::write(tree.join("a"), "changed").unwrap();
        let aside = sandbox.dir().join("aside");
        Self { sandbox, repo, tree, aside }
    }

    async fn rewrite(&self) -> Option<Rewritten> {
        self.repo.worktree_at(&self.tree).rewrite_dot_git("work", &self.aside).await.unwrap()
    }

    /// Git finds its way from the worktree, the work is there, and the worktree can go.
    async fn is_whole(&self) {
        let out = |args: &[&str]| self.sandbox.git_at(&self.tree, args);
        assert_eq!(out(&["symbolic-ref", "--short", "HEAD"]), "work");
        assert_eq!(out(&["status", "--porcelain"]), " M a");
        assert_eq!(self.rewrite().await, None, "nothing is left to do");
        let made = self.repo.worktree_at(&self.tree).commit_all("work", None).await.unwrap();
        assert_eq!(made, self.repo.resolve("refs/heads/work").await.unwrap());
        self.repo.require_ours(&self.tree).await.unwrap();
        remove_away(&self.repo, &self.tree).await.unwrap().delete().await.unwrap();
        assert!(!self.tree.exists());
    }
}

#[tokio::test]
async fn intact_dot_git_is_left_alone() {
    let given = Given::new().await;
    assert_eq!(given.rewrite().await, None);
    assert!(!given.aside.exists());
    given.is_whole().await;
}

#[tokio::test]
async fn missing_dot_git_is_written_again() {
    let given = Given::new().await;
    fs::remove_file(given.tree.join(".git")).unwrap();
    assert_eq!(given.rewrite().await, Some(Rewritten { kept: None, registered_anew: false }));
    given.is_whole().await;
}

#[tokio::test]
async fn dot_git_that_leads_elsewhere_is_kept_and_written_again() {
    let given = Given::new().await;
    let other = Sandbox::new().await;
    let line = format!("gitdir: {}\n", other.path(".git").display());
    fs::write(given.tree.join(".git"), &line).unwrap();
    let kept = given.rewrite().await.unwrap().kept.unwrap();
    assert_eq!(fs::read_to_string(kept).unwrap(), line);
    given.is_whole().await;
}

#[tokio::test]
async fn repository_in_place_of_dot_git_is_kept_with_its_commits() {
    let given = Given::new().await;
    fs::remove_file(given.tree.join(".git")).unwrap();
    given.sandbox.git_at(&given.tree, &["init", "-q", "-b", "own"]);
    given.sandbox.git_at(&given.tree, &["add", "-A"]);
    given.sandbox.git_at(&given.tree, &["commit", "-q", "-m", "own history"]);
    let kept = given.rewrite().await.unwrap().kept.unwrap();
    let told = given
        .sandbox
        .git_at(given.sandbox.dir(), &["--git-dir", kept.to_str().unwrap(), "log", "--format=%s"]);
    assert_eq!(told, "own history");
    given.is_whole().await;
}

#[tokio::test]
async fn worktree_that_was_pruned_is_registered_anew() {
    let given = Given::new().await;
    fs::remove_file(given.tree.join(".git")).unwrap();
    given.sandbox.git(&["worktree", "prune", "--expire=now"]);
    assert_eq!(given.rewrite().await, Some(Rewritten { kept: None, registered_anew: true }));
    given.is_whole().await;
}

#[tokio::test]
async fn record_that_leads_elsewhere_is_mended() {
    let given = Given::new().await;
    let admin = given.repo.worktree_at(&given.tree).git_dir().await.unwrap();
    fs::write(admin.join("gitdir"), "/nowhere/.git\n").unwrap();
    fs::remove_file(admin.join("commondir")).unwrap();
    assert_eq!(given.rewrite().await, Some(Rewritten { kept: None, registered_anew: false }));
    given.is_whole().await;
}

#[tokio::test]
async fn git_of_a_worktree_ignores_what_lies_in_place_of_dot_git() {
    let given = Given::new().await;
    fs::remove_file(given.tree.join(".git")).unwrap();
    given.sandbox.git_at(&given.tree, &["init", "-q", "-b", "own"]);
    let changed = given.repo.worktree_at(&given.tree).tracked_changes().await.unwrap();
    assert_eq!(changed, ["a"]);
    assert_eq!(given.repo.worktree_at(&given.tree).head().await.unwrap(), given.sandbox.head());
}

#[tokio::test]
async fn repository_that_was_moved_away_is_not_made_anew() {
    let given = Given::new().await;
    let old = given.repo.common_dir().parent().unwrap().to_owned();
    let away = given.sandbox.dir().join("away");
    fs::rename(&old, &away).unwrap();
    given.repo.worktree_at(&given.tree).rewrite_dot_git("work", &given.aside).await.unwrap_err();
    assert!(!old.exists(), "Forge made the moved repository's folder anew");
    fs::rename(&away, &old).unwrap();
    given.is_whole().await;
}

#[tokio::test]
async fn repository_that_was_moved_away_is_told_as_such_and_not_made_anew() {
    let given = Given::new().await;
    fs::remove_file(given.tree.join(".git")).unwrap();
    fs::rename(given.repo.root(), given.sandbox.dir().join("elsewhere")).unwrap();
    let refused = given.repo.worktree_at(&given.tree).rewrite_dot_git("work", &given.aside).await;
    assert!(matches!(refused, Err(GitError::NotARepository { .. })), "{refused:?}");
    assert!(!given.repo.root().exists());
}
