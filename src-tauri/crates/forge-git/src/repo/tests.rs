use super::*;
use crate::testing::Sandbox;

#[tokio::test]
async fn a_repository_is_opened_from_wherever_one_is_in_it() {
    let sandbox = Sandbox::new().await;
    sandbox.commit("sub", &[("sub/dir/file", "x")]);
    let linked = sandbox.dir().join("linked");
    sandbox.git(&["worktree", "add", "-q", "-b", "side", linked.to_str().unwrap()]);
    for place in [sandbox.path(""), sandbox.path("sub/dir"), sandbox.path(".git"), linked] {
        let repo = Repo::open(&sandbox.git, &place).await.unwrap();
        assert_eq!(repo.root(), sandbox.path("").as_path().components().as_path(), "{}", place.display());
        assert_eq!(repo.common_dir(), sandbox.path(".git"));
    }
}

#[tokio::test]
async fn a_submodule_is_its_own_repository() {
    let sandbox = Sandbox::new().await;
    let other = Sandbox::new().await;
    let url = other.path("");
    sandbox.git(&[
        "-c",
        "protocol.file.allow=always",
        "submodule",
        "add",
        "-q",
        url.to_str().unwrap(),
        "lib",
    ]);
    let repo = Repo::open(&sandbox.git, &sandbox.path("lib")).await.unwrap();
    assert_eq!(repo.root(), sandbox.path("lib"));
    assert_eq!(repo.common_dir(), sandbox.path(".git/modules/lib"));
}

#[tokio::test]
async fn a_bare_repository_is_its_own_root() {
    let sandbox = Sandbox::new().await;
    let bare = sandbox.dir().join("bare.git");
    sandbox.git(&["clone", "-q", "--bare", ".", bare.to_str().unwrap()]);
    let repo = Repo::open(&sandbox.git, &bare).await.unwrap();
    assert_eq!(repo.root(), bare);
    assert_eq!(repo.default_branch().await.unwrap(), "main");
}

#[tokio::test]
async fn what_is_no_repository_or_empty_is_refused() {
    let sandbox = Sandbox::new().await;
    for place in [sandbox.dir().join("home"), sandbox.dir().join("nowhere")] {
        let opened = Repo::open(&sandbox.git, &place).await;
        assert!(matches!(opened, Err(GitError::NotARepository { path }) if path == place));
    }
    let empty = sandbox.dir().join("empty");
    sandbox.git(&["init", "-q", empty.to_str().unwrap()]);
    let opened = Repo::open(&sandbox.git, &empty).await;
    assert!(matches!(opened, Err(GitError::NoCommit { path }) if path == empty));
}

#[tokio::test]
async fn the_default_branch_is_the_first_that_exists() {
    let sandbox = Sandbox::new().await;
    let repo = sandbox.repo().await;
    assert_eq!(repo.default_branch().await.unwrap(), "main");
    sandbox.git(&["branch", "trunk"]);
    sandbox.git(&["config", "init.defaultBranch", "trunk"]);
    assert_eq!(repo.default_branch().await.unwrap(), "trunk");
    sandbox.git(&["update-ref", "refs/remotes/origin/dev/one", "HEAD"]);
    sandbox.git(&["symbolic-ref", "refs/remotes/origin/HEAD", "refs/remotes/origin/dev/one"]);
    assert_eq!(repo.default_branch().await.unwrap(), "trunk", "no local branch of that name");
    sandbox.git(&["branch", "dev/one"]);
    assert_eq!(repo.default_branch().await.unwrap(), "dev/one");
}

#[tokio::test]
async fn an_odd_branch_is_the_default_when_there_is_no_other() {
    let sandbox = Sandbox::new().await;
    let repo = sandbox.repo().await;
    sandbox.git(&["branch", "-m", "main", "odd"]);
    assert_eq!(repo.default_branch().await.unwrap(), "odd");
    sandbox.git(&["checkout", "-q", "--detach"]);
    assert!(matches!(repo.default_branch().await, Err(GitError::NoDefaultBranch { .. })));
}

#[tokio::test]
async fn names_and_ancestry() {
    let sandbox = Sandbox::new().await;
    let repo = sandbox.repo().await;
    let first = sandbox.head();
    let second = sandbox.commit("second", &[("b", "b")]);
    sandbox.git(&["tag", "-a", "-m", "t", "v1", &second]);
    assert_eq!(repo.resolve("main").await.unwrap(), Some(second.clone()));
    assert_eq!(repo.resolve("v1").await.unwrap(), Some(second.clone()));
    for nothing in ["nothing", "main:a", "--all", "-x", "main..", &"1".repeat(40), ""] {
        assert_eq!(repo.resolve(nothing).await.unwrap(), None, "{nothing:?}");
    }
    assert_eq!(repo.tree_of("HEAD").await.unwrap(), sandbox.git_out(&["rev-parse", "HEAD^{tree}"]));
    assert!(repo.is_ancestor(&first, &second).await.unwrap());
    assert!(repo.is_ancestor(&first, &first).await.unwrap());
    assert!(!repo.is_ancestor(&second, &first).await.unwrap());
    assert_eq!(repo.merge_base(&first, &second).await.unwrap(), Some(first.clone()));
    sandbox.git(&["checkout", "-q", "--orphan", "alone"]);
    let alone = sandbox.commit("alone", &[]);
    assert_eq!(repo.merge_base(&first, &alone).await.unwrap(), None);
    assert_eq!(repo.main_worktree().head().await.unwrap(), alone);
}

#[tokio::test]
async fn an_unfinished_merge_is_noticed() {
    let sandbox = Sandbox::new().await;
    let repo = sandbox.repo().await;
    assert_eq!(repo.main_worktree().operation().await.unwrap(), None);
    sandbox.git(&["checkout", "-q", "-b", "side"]);
    sandbox.commit("theirs", &[("a", "theirs\n")]);
    sandbox.git(&["checkout", "-q", "main"]);
    sandbox.commit("ours", &[("a", "ours\n")]);
    for (args, expected) in [
        (["merge", "side"], Operation::Merge),
        (["rebase", "side"], Operation::Rebase),
        (["cherry-pick", "side"], Operation::CherryPick),
    ] {
        let (ok, _) = sandbox.try_git_at(&sandbox.path(""), &args);
        assert!(!ok);
        assert_eq!(repo.main_worktree().operation().await.unwrap(), Some(expected));
        sandbox.git(&[args[0], "--abort"]);
    }
}
