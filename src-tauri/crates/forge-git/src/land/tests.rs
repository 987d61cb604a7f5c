use std::fs;

use super::*;
use crate::testing::Sandbox;
use crate::worktrees::NewWorktree;

/// `main` at the base, `side` one commit ahead: changes `a`, adds `new` and `dir/file`, deletes `old`.
async fn ahead() -> (Sandbox, Repo, String, String) {
    let sandbox = Sandbox::new().await;
    let base = sandbox.commit("base", &[("old", "old"), ("free", "free"), (".gitignore", "*.tmp\n")]);
    sandbox.git(&["checkout", "-q", "-b", "side"]);
    sandbox.remove("old");
    sandbox.write("out.tmp", "built");
    sandbox.git(&["add", "-f", "out.tmp"]);
    let tip = sandbox.commit("side", &[("a", "landed\n"), ("new", "new"), ("dir/file", "x")]);
    sandbox.git(&["checkout", "-q", "main"]);
    let repo = sandbox.repo().await;
    (sandbox, repo, base, tip)
}

async fn land(repo: &Repo, base: &str, tip: &str) -> Landing {
    repo.land("main", tip, base, "forge: merge").await.unwrap()
}

#[tokio::test]
async fn a_branch_checked_out_nowhere_moves_alone() {
    let (sandbox, repo, base, tip) = ahead().await;
    sandbox.git(&["checkout", "-q", "-b", "elsewhere"]);
    assert_eq!(land(&repo, &base, &tip).await, Landing::Landed);
    assert_eq!(sandbox.git_out(&["rev-parse", "main"]), tip);
    assert_eq!(sandbox.read("a"), "a\n");
    assert_eq!(sandbox.git_out(&["reflog", "show", "-1", "--format=%gs", "main"]), "forge: merge");
    assert_eq!(land(&repo, &base, &tip).await, Landing::Landed, "repeated");
    let moved = repo.land("main", &base, &base, "x").await.unwrap();
    assert_eq!(moved, Landing::Moved { now: Some(tip) });
    let gone = repo.land("nothing", &base, &base, "x").await.unwrap();
    assert_eq!(gone, Landing::Moved { now: None });
}

#[tokio::test]
async fn a_clean_checkout_moves_along() {
    let (sandbox, repo, base, tip) = ahead().await;
    assert_eq!(land(&repo, &base, &tip).await, Landing::Landed);
    assert_eq!((sandbox.head(), sandbox.read("a").as_str()), (tip.clone(), "landed\n"));
    assert!(!sandbox.path("old").exists());
    assert_eq!(repo.main_worktree().status().await.unwrap(), []);
    assert_eq!(land(&repo, &base, &tip).await, Landing::Landed, "repeated");
}

#[tokio::test]
async fn unrelated_changes_stay() {
    let (sandbox, repo, base, tip) = ahead().await;
    sandbox.git(&["config", "merge.autoStash", "true"]);
    sandbox.git(&["config", "merge.verifySignatures", "true"]);
    sandbox.git(&["config", "merge.ff", "false"]);
    sandbox.write("free", "mine");
    sandbox.write("staged", "mine");
    sandbox.git(&["add", "staged"]);
    sandbox.write("untracked", "mine");
    sandbox.hook("post-merge", "exit 1");
    assert_eq!(land(&repo, &base, &tip).await, Landing::Landed);
    assert_eq!(sandbox.head(), tip);
    let status = sandbox.git_out(&["status", "--porcelain"]);
    assert_eq!(status.lines().map(str::trim).collect::<Vec<_>>(), ["M free", "A  staged", "?? untracked"]);
    assert_eq!(sandbox.git_out(&["stash", "list"]), "");
}

#[tokio::test]
async fn changes_in_the_way_stop_it() {
    type Prepare = fn(&Sandbox);
    let cases: [(&str, Prepare, &[&str]); 8] = [
        ("modified", |s| s.write("a", "mine"), &["a"]),
        (
            "staged",
            |s| {
                s.write("a", "mine");
                s.git(&["add", "a"]);
            },
            &["a"],
        ),
        ("deleted here, deleted there is no loss but modified is", |s| s.write("old", "mine"), &["old"]),
        ("untracked", |s| s.write("new", "mine"), &["new"]),
        ("ignored", |s| s.write("out.tmp", "mine"), &["out.tmp"]),
        ("a file where a directory must be", |s| s.write("dir", "mine"), &["dir"]),
        ("a directory where a file must be", |s| s.write("new/file", "mine"), &["new/file"]),
        (
            "several",
            |s| {
                s.write("a", "mine");
                s.write("new", "mine");
                s.write("free", "mine");
            },
            &["a", "new"],
        ),
    ];
    for (name, prepare, expected) in cases {
        let (sandbox, repo, base, tip) = ahead().await;
        sandbox.git(&["config", "merge.autoStash", "true"]);
        prepare(&sandbox);
        let before = sandbox.git_out(&["status", "--porcelain", "-uall", "--ignored"]);
        let found = land(&repo, &base, &tip).await;
        let files = expected.iter().map(|f| (*f).to_owned()).collect();
        assert_eq!(found, Landing::CheckoutInTheWay { worktree: repo.root().to_owned(), files }, "{name}");
        assert_eq!(sandbox.head(), base, "{name}");
        assert_eq!(sandbox.git_out(&["status", "--porcelain", "-uall", "--ignored"]), before, "{name}");
        sandbox.git(&["reset", "-q", "--hard"]);
        sandbox.git(&["clean", "-qfdx"]);
        assert_eq!(land(&repo, &base, &tip).await, Landing::Landed, "{name}: goes on by itself");
    }
}

#[tokio::test]
async fn a_linked_worktree_moves_along_or_stops_it() {
    let (sandbox, repo, base, tip) = ahead().await;
    sandbox.git(&["checkout", "-q", "-b", "elsewhere"]);
    let path = sandbox.dir().join("linked");
    let spec = NewWorktree { path: path.clone(), branch: "main".to_owned(), base: "main".to_owned() };
    repo.create_worktree(&spec).await.unwrap();
    fs::write(path.join("a"), "mine").unwrap();
    let stopped = land(&repo, &base, &tip).await;
    assert_eq!(stopped, Landing::CheckoutInTheWay { worktree: path.clone(), files: vec!["a".to_owned()] });
    fs::write(path.join("a"), "a\n").unwrap();
    assert_eq!(land(&repo, &base, &tip).await, Landing::Landed);
    assert_eq!(fs::read_to_string(path.join("a")).unwrap(), "landed\n");
    assert_eq!(sandbox.read("a"), "a\n");
}

#[tokio::test]
async fn a_lost_worktree_is_no_checkout() {
    let (sandbox, repo, base, tip) = ahead().await;
    sandbox.git(&["checkout", "-q", "-b", "elsewhere"]);
    let path = sandbox.dir().join("linked");
    sandbox.git(&["worktree", "add", "-q", path.to_str().unwrap(), "main"]);
    fs::remove_dir_all(&path).unwrap();
    assert_eq!(land(&repo, &base, &tip).await, Landing::Landed);
}

#[tokio::test]
async fn an_unfinished_merge_or_rebase_stops_it() {
    for command in [["merge", "theirs"], ["rebase", "theirs"]] {
        let (sandbox, repo, ..) = ahead().await;
        sandbox.git(&["checkout", "-q", "-b", "theirs"]);
        sandbox.commit("theirs", &[("free", "theirs")]);
        sandbox.git(&["checkout", "-q", "main"]);
        let ours = sandbox.commit("ours", &[("free", "ours")]);
        let tip = sandbox.git_out(&["commit-tree", "-p", &ours, "-m", "x", "HEAD^{tree}"]);
        let (ok, _) = sandbox.try_git_at(repo.root(), &command);
        assert!(!ok);
        let found = land(&repo, &ours, &tip).await;
        let files = vec!["free".to_owned()];
        assert_eq!(
            found,
            Landing::CheckoutInTheWay { worktree: repo.root().to_owned(), files },
            "{command:?}"
        );
        assert_eq!(sandbox.git_out(&["rev-parse", "refs/heads/main"]), ours);
        sandbox.git(&[command[0], "--abort"]);
        assert_eq!(land(&repo, &ours, &tip).await, Landing::Landed, "{command:?}");
    }
}

#[tokio::test]
async fn a_held_index_is_waited_for_by_the_caller() {
    let (sandbox, repo, base, tip) = ahead().await;
    let lock = repo.common_dir().join("index.lock");
    fs::write(&lock, "").unwrap();
    let found = land(&repo, &base, &tip).await;
    assert_eq!(found, Landing::IndexLocked { path: lock.clone(), holder: None });
    assert_eq!(sandbox.head(), base);
    fs::remove_file(lock).unwrap();
    assert_eq!(land(&repo, &base, &tip).await, Landing::Landed);
}

#[tokio::test]
async fn a_commit_that_is_no_descendant_does_not_land_in_a_checkout() {
    let (sandbox, repo, base, _) = ahead().await;
    let other = sandbox.git_out(&["commit-tree", "-m", "other", "HEAD^{tree}"]);
    let refused = repo.land("main", &other, &base, "x").await;
    assert!(matches!(refused, Err(GitError::Failed { .. })), "{refused:?}");
    assert_eq!(sandbox.head(), base);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn of_racing_landings_exactly_one_wins() {
    for checked_out in [true, false] {
        let (sandbox, repo, base, _) = ahead().await;
        if !checked_out {
            sandbox.git(&["checkout", "-q", "-b", "elsewhere"]);
        }
        let mut racing = tokio::task::JoinSet::new();
        for number in 0..8 {
            let message = format!("racer {number}");
            let tip = sandbox.git_out(&["commit-tree", "-p", &base, "-m", &message, "side^{tree}"]);
            let (repo, base) = (Repo::open(&sandbox.git, repo.root()).await.unwrap(), base.clone());
            racing.spawn(async move { (repo.land("main", &tip, &base, "race").await.unwrap(), tip) });
        }
        let finished = racing.join_all().await;
        let winners: Vec<_> = finished.iter().filter(|(landing, _)| *landing == Landing::Landed).collect();
        assert_eq!(winners.len(), 1, "{finished:?}");
        let now = sandbox.git_out(&["rev-parse", "main"]);
        assert_eq!(winners[0].1, now);
        for (landing, tip) in finished.iter().filter(|(_, tip)| *tip != now) {
            assert_eq!(*landing, Landing::Moved { now: Some(now.clone()) }, "{tip}");
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_landing_nobody_waits_for_is_never_half_done() {
    let (sandbox, repo, base, tip) = ahead().await;
    for pause in [0, 2, 4, 8] {
        let (given_up, before, after) = (repo.clone(), base.clone(), tip.clone());
        let running = tokio::spawn(async move { given_up.land("main", &after, &before, "x").await });
        tokio::time::sleep(std::time::Duration::from_millis(pause)).await;
        running.abort();
        let _aborted = running.await;
        // The next one waits for its turn, so the one given up is over by then.
        assert_eq!(land(&repo, &base, &tip).await, Landing::Landed);
        assert_eq!(repo.main_worktree().status().await.unwrap(), [], "after {pause} ms");
        sandbox.git(&["reset", "-q", "--hard", &base]);
    }
}

#[tokio::test]
async fn a_refused_ref_leaves_the_checkout_as_it_was() {
    type Prepare = fn(&Sandbox);
    let local: [(&str, Prepare); 2] = [
        ("clean", |_| {}),
        ("changes beside it", |s| {
            s.write("free", "mine");
            s.write("staged", "mine");
            s.git(&["add", "staged"]);
            s.write("untracked", "mine");
        }),
    ];
    for (name, prepare) in local {
        let (sandbox, repo, base, tip) = ahead().await;
        prepare(&sandbox);
        let told = || {
            let staged = sandbox.git_out(&["ls-files", "--stage"]);
            let status = sandbox.git_out(&["status", "--porcelain", "-uall", "--ignored"]);
            (staged, status, sandbox.read("a"), sandbox.read("old"), sandbox.read("free"))
        };
        let before = told();
        sandbox.hook("reference-transaction", "[ \"$1\" != prepared ] || ! grep -q refs/heads/main");
        let refused = repo.land("main", &tip, &base, "x").await;
        assert!(matches!(refused, Err(GitError::Failed { .. })), "{name}: {refused:?}");
        assert_eq!((sandbox.head(), told()), (base.clone(), before), "{name}");
        assert!(!sandbox.path("new").exists() && !sandbox.path("dir/file").exists(), "{name}");
        fs::remove_file(sandbox.path(".git/hooks/reference-transaction")).unwrap();
        assert_eq!(land(&repo, &base, &tip).await, Landing::Landed, "{name}: goes on by itself");
    }
}
