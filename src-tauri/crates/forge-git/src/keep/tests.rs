//! What only a worktree's record holds is kept before the record goes.

use std::path::PathBuf;

use super::*;
use crate::testing::{Sandbox, remove_away};
use crate::worktrees::NewWorktree;

const PREFIX: &str = "refs/forge/backup/t";

async fn worktree(sandbox: &Sandbox) -> (Repo, PathBuf) {
    let (repo, tree) = (sandbox.repo().await, sandbox.dir().join("task/tree"));
    let spec = NewWorktree { path: tree.clone(), branch: "work".into(), base: "main".into() };
    repo.create_worktree(&spec).await.unwrap();
    (repo, tree)
}

/// Writes a file and commits it; the commit.
fn commit(sandbox: &Sandbox, tree: &Path, name: &str) -> String {
    fs::write(tree.join(name), format!("{name}\n")).unwrap();
    sandbox.git_at(tree, &["add", "-A"]);
    sandbox.git_at(tree, &["commit", "-q", "-m", name]);
    sandbox.git_at(tree, &["rev-parse", "HEAD"])
}

fn kept(sandbox: &Sandbox) -> Vec<String> {
    let listed = sandbox.git_out(&["for-each-ref", "--format=%(objectname)", PREFIX]);
    listed.lines().map(str::to_owned).collect()
}

#[tokio::test]
async fn detached_head_of_clean_worktree_is_kept_once_and_only_when_no_branch_holds_it() {
    let sandbox = Sandbox::new().await;
    let (repo, tree) = worktree(&sandbox).await;
    sandbox.git_at(&tree, &["checkout", "-q", "--detach"]);
    assert_eq!(repo.worktree_at(&tree).back_up(PREFIX, "m").await.unwrap(), None, "a branch holds it");
    let alone = commit(&sandbox, &tree, "alone");
    let made = repo.worktree_at(&tree).back_up(PREFIX, "m").await.unwrap().unwrap();
    assert_eq!((made.commit.as_str(), made.files), (alone.as_str(), 1));
    assert_eq!(repo.worktree_at(&tree).back_up(PREFIX, "m").await.unwrap(), Some(made));
    assert_eq!(kept(&sandbox), [alone]);
    sandbox.git_at(&tree, &["branch", "other"]);
    assert_eq!(repo.worktree_at(&tree).back_up("refs/forge/backup/u", "m").await.unwrap(), None);
}

#[tokio::test]
async fn record_of_vanished_worktree_keeps_its_head_and_what_is_staged() {
    let sandbox = Sandbox::new().await;
    let (repo, tree) = worktree(&sandbox).await;
    sandbox.git_at(&tree, &["checkout", "-q", "--detach"]);
    let alone = commit(&sandbox, &tree, "alone");
    fs::write(tree.join("staged"), "staged\n").unwrap();
    sandbox.git_at(&tree, &["add", "staged"]);
    assert_eq!(
        repo.worktree_at(&tree).keep_record_of_lost(PREFIX).await.unwrap(),
        Vec::<String>::new(),
        "it is there"
    );
    fs::remove_dir_all(&tree).unwrap();
    let refs = repo.worktree_at(&tree).keep_record_of_lost(PREFIX).await.unwrap();
    assert_eq!(refs.len(), 2);
    assert_eq!(kept(&sandbox)[0], alone);
    assert_eq!(sandbox.git_out(&["show", &format!("{}:staged", refs[1])]), "staged");
    repo.forget_worktree(&tree).await.unwrap();
    assert_eq!(repo.worktree_at(&tree).keep_record_of_lost(PREFIX).await.unwrap(), Vec::<String>::new());
}

#[tokio::test]
async fn record_of_emptied_worktree_keeps_what_is_staged() {
    let sandbox = Sandbox::new().await;
    let (repo, tree) = worktree(&sandbox).await;
    fs::write(tree.join("a"), "staged\n").unwrap();
    sandbox.git_at(&tree, &["add", "a"]);
    fs::remove_file(tree.join("a")).unwrap();
    let refs = repo.worktree_at(&tree).keep_record_of_lost(PREFIX).await.unwrap();
    assert_eq!(sandbox.git_out(&["show", &format!("{}:a", refs[0])]), "staged");
}

#[tokio::test]
async fn worktree_whose_branch_was_deleted_is_backed_up_with_its_last_commit() {
    let sandbox = Sandbox::new().await;
    let (repo, tree) = worktree(&sandbox).await;
    let last = commit(&sandbox, &tree, "work");
    sandbox.git(&["update-ref", "-d", "refs/heads/work"]);
    let made = repo.worktree_at(&tree).back_up(PREFIX, "m").await.unwrap().unwrap();
    assert_eq!(made.commit, last, "nothing else is in the files");
    fs::write(tree.join("new"), "new\n").unwrap();
    fs::write(tree.join("work"), "staged\n").unwrap();
    sandbox.git_at(&tree, &["add", "work"]);
    fs::write(tree.join("work"), "changed\n").unwrap();
    let made = repo.worktree_at(&tree).back_up(PREFIX, "m").await.unwrap().unwrap();
    let show = |name: &str| sandbox.git_out(&["show", &format!("{}{name}", made.commit)]);
    assert_eq!(
        (show(":new"), show(":work"), show("^2:work")),
        ("new".into(), "changed".into(), "staged".into())
    );
    assert_eq!(show(":a"), "a");
    assert_eq!(sandbox.git_out(&["rev-parse", &format!("{}^1", made.commit)]), last);
    remove_away(&repo, &tree).await.unwrap().delete().await.unwrap();
    assert_eq!(repo.worktrees().await.unwrap().len(), 1);
}

#[tokio::test]
async fn worktree_that_never_had_a_commit_is_backed_up_as_a_root_commit() {
    let sandbox = Sandbox::new().await;
    let (repo, tree) = worktree(&sandbox).await;
    sandbox.git_at(&tree, &["checkout", "-q", "--orphan", "fresh"]);
    let git_dir = repo.worktree_at(&tree).git_dir().await.unwrap();
    fs::remove_file(git_dir.join("logs/HEAD")).unwrap();
    fs::write(tree.join("new"), "new\n").unwrap();
    let made = repo.worktree_at(&tree).back_up(PREFIX, "m").await.unwrap().unwrap();
    assert_eq!(sandbox.git_out(&["rev-list", "--count", &made.commit]), "1");
    assert_eq!(sandbox.git_out(&["ls-tree", "-r", "--name-only", &made.commit]), "a\nnew");
    let listed = repo.backups(PREFIX).await.unwrap();
    assert_eq!(listed.len(), 1);
}

#[tokio::test]
async fn orphan_head_goes_back_to_its_branch_and_files_stay() {
    let sandbox = Sandbox::new().await;
    let (repo, tree) = worktree(&sandbox).await;
    let work = commit(&sandbox, &tree, "work");
    sandbox.git_at(&tree, &["checkout", "-q", "--detach"]);
    let alone = commit(&sandbox, &tree, "alone");
    sandbox.git_at(&tree, &["checkout", "-q", "--orphan", "fresh"]);
    assert!(matches!(repo.worktree_at(&tree).head().await, Err(GitError::NoCommit { .. })));
    assert!(repo.worktree_at(&tree).revive_head("work", "main", PREFIX).await.unwrap());
    assert_eq!(sandbox.git_at(&tree, &["symbolic-ref", "HEAD"]), "refs/heads/work");
    assert_eq!(repo.worktree_at(&tree).head().await.unwrap(), work);
    assert_eq!(kept(&sandbox), [alone]);
    let left: Vec<_> =
        repo.worktree_at(&tree).status().await.unwrap().into_iter().map(|it| it.path).collect();
    assert_eq!(left, ["alone"]);
    assert!(!repo.worktree_at(&tree).revive_head("work", "main", PREFIX).await.unwrap());
}

#[tokio::test]
async fn deleted_branch_begins_again_where_its_worktree_stood_last() {
    let sandbox = Sandbox::new().await;
    let (repo, tree) = worktree(&sandbox).await;
    let work = commit(&sandbox, &tree, "work");
    sandbox.git_at(&tree, &["update-ref", "-d", "refs/heads/work"]);
    assert!(repo.worktree_at(&tree).revive_head("work", "main", PREFIX).await.unwrap());
    assert_eq!(repo.worktree_at(&tree).head().await.unwrap(), work);
    assert_eq!(repo.worktree_at(&tree).status().await.unwrap(), []);
    let git_dir = repo.worktree_at(&tree).git_dir().await.unwrap();
    sandbox.git(&["update-ref", "-d", "refs/heads/work"]);
    fs::remove_file(git_dir.join("logs/HEAD")).unwrap();
    assert!(repo.worktree_at(&tree).revive_head("work", "main", PREFIX).await.unwrap());
    assert_eq!(repo.worktree_at(&tree).head().await.unwrap(), sandbox.head());
}

#[tokio::test]
async fn revived_worktree_without_an_index_tracks_ignored_files_again() {
    let sandbox = Sandbox::new().await;
    let (repo, tree) = worktree(&sandbox).await;
    commit(&sandbox, &tree, "kept");
    fs::write(tree.join(".gitignore"), "kept\n").unwrap();
    commit(&sandbox, &tree, "work");
    sandbox.git_at(&tree, &["update-ref", "-d", "refs/heads/work"]);
    fs::remove_file(repo.worktree_at(&tree).git_dir().await.unwrap().join("index")).unwrap();
    assert!(repo.worktree_at(&tree).revive_head("work", "main", PREFIX).await.unwrap());
    assert_eq!(repo.worktree_at(&tree).status().await.unwrap(), []);
    assert_eq!(sandbox.git_at(&tree, &["ls-files", "kept"]), "kept");
}

#[tokio::test]
async fn what_a_rebase_put_away_is_kept() {
    let sandbox = Sandbox::new().await;
    let (repo, tree) = worktree(&sandbox).await;
    commit(&sandbox, &tree, "clash");
    sandbox.commit("theirs", &[("clash", "theirs\n")]);
    fs::write(tree.join("a"), "put away\n").unwrap();
    assert!(!sandbox.try_git_at(&tree, &["rebase", "-q", "--autostash", "main"]).0);
    repo.worktree_at(&tree).back_up(PREFIX, "m").await.unwrap();
    let has = |commit: &String| sandbox.git_out(&["show", &format!("{commit}:a")]) == "put away";
    assert!(kept(&sandbox).iter().any(has));
}

#[tokio::test]
async fn commits_that_were_amended_or_reset_away_are_kept_once() {
    let sandbox = Sandbox::new().await;
    let (repo, tree) = worktree(&sandbox).await;
    let clean = commit(&sandbox, &tree, "work");
    assert_eq!(repo.worktree_at(&tree).back_up(PREFIX, "m").await.unwrap(), None);
    assert_eq!(kept(&sandbox), Vec::<String>::new(), "the branch holds all of them");
    commit(&sandbox, &tree, "first");
    let left = commit(&sandbox, &tree, "second");
    sandbox.git_at(&tree, &["reset", "-q", "--hard", &clean]);
    fs::write(tree.join("work"), "spoiled\n").unwrap();
    sandbox.git_at(&tree, &["commit", "-q", "-a", "--amend", "-m", "amended"]);
    for _ in 0..2 {
        assert_eq!(
            repo.worktree_at(&tree).back_up(PREFIX, "m").await.unwrap(),
            None,
            "nothing is uncommitted"
        );
        assert_eq!(kept(&sandbox), std::slice::from_ref(&left), "it stands on the other two");
    }
    sandbox.git_at(&tree, &["commit", "-q", "--amend", "-m", "again"]);
    fs::remove_dir_all(&tree).unwrap();
    assert_eq!(repo.worktree_at(&tree).keep_record_of_lost(PREFIX).await.unwrap().len(), 1);
    assert_eq!(kept(&sandbox).len(), 2);
}
