use std::fs;
use std::path::PathBuf;

use super::*;
use crate::testing::Sandbox;
use crate::worktrees::NewWorktree;

async fn made(sandbox: &Sandbox, repo: &Repo, name: &str) -> PathBuf {
    let path = sandbox.dir().join("work").join(name).join("tree");
    let spec = NewWorktree { path: path.clone(), branch: format!("forge/{name}"), base: "main".to_owned() };
    repo.create_worktree(&spec).await.unwrap();
    path
}

#[tokio::test]
async fn everything_comes_along_and_the_old_branch_stays() {
    let sandbox = Sandbox::new().await;
    let repo = sandbox.repo().await;
    let from = made(&sandbox, &repo, "old").await;
    let to = sandbox.dir().join("work/new/tree");
    fs::write(from.join("staged"), "s").unwrap();
    sandbox.git_at(&from, &["add", "staged"]);
    fs::write(from.join("loose"), "l").unwrap();
    let before = sandbox.git_at(&from, &["status", "--porcelain"]);
    repo.adopt_worktree(&from, &to, "forge/new").await.unwrap();
    assert!(!from.exists());
    assert_eq!(sandbox.git_at(&to, &["status", "--porcelain"]), before);
    assert_eq!(sandbox.git_at(&to, &["branch", "--show-current"]).trim(), "forge/new");
    let list = repo.worktrees().await.unwrap();
    assert_eq!(
        list.iter().map(|entry| entry.branch.as_deref()).collect::<Vec<_>>(),
        [Some("main"), Some("forge/new")]
    );
    assert!(repo.resolve("refs/heads/forge/old").await.unwrap().is_some());
    assert!(!repo.is_checked_out("forge/old").await.unwrap());
}

#[tokio::test]
async fn what_is_not_to_be_moved_stays_as_it_is() {
    let sandbox = Sandbox::new().await;
    let repo = sandbox.repo().await;
    let from = made(&sandbox, &repo, "old").await;
    let occupied = sandbox.dir().join("occupied");
    fs::create_dir_all(&occupied).unwrap();
    fs::write(occupied.join("mine"), "x").unwrap();
    let error = repo.adopt_worktree(&from, &occupied, "forge/new").await.unwrap_err();
    assert!(matches!(error, GitError::PathOccupied { .. }), "{error}");
    let error = repo.adopt_worktree(repo.root(), &sandbox.dir().join("x"), "forge/new").await.unwrap_err();
    assert!(matches!(error, GitError::NotOurWorktree { reason: ForeignReason::MainWorktree, .. }), "{error}");
    sandbox.git_at(&from, &["checkout", "--quiet", "--detach"]);
    let error = repo.adopt_worktree(&from, &sandbox.dir().join("x"), "forge/new").await.unwrap_err();
    assert!(matches!(error, GitError::NotOurWorktree { reason: ForeignReason::Busy, .. }), "{error}");
    assert!(from.exists() && repo.resolve("refs/heads/forge/new").await.unwrap().is_none());
}

#[tokio::test]
async fn a_move_that_fails_is_taken_back() {
    let sandbox = Sandbox::new().await;
    let repo = sandbox.repo().await;
    let from = made(&sandbox, &repo, "old").await;
    let parent = sandbox.dir().join("closed");
    fs::create_dir(&parent).unwrap();
    // Not a folder to move into: a file lies where its parent would be.
    fs::write(parent.join("file"), "x").unwrap();
    repo.adopt_worktree(&from, &parent.join("file/tree"), "forge/new").await.unwrap_err();
    assert_eq!(sandbox.git_at(&from, &["branch", "--show-current"]).trim(), "forge/old");
    assert!(repo.resolve("refs/heads/forge/new").await.unwrap().is_none());
}
