//! Commits of what an agent left.

use super::*;
use crate::repo::Repo;
use crate::testing::Sandbox;

#[test]
fn markers() {
    let cases = [
        ("<<<<<<< ours\na\n=======\nb\n>>>>>>> theirs\n", true),
        ("x\r\n<<<<<<< ours\r\na\r\n=======\r\nb\r\n>>>>>>> theirs\r\n", true),
        ("<<<<<<<\n||||||| base\n=======\n>>>>>>>", true),
        ("Title\n=======\n", false),
        (">>>>>>> quoted\n=======\n<<<<<<< x\n", false),
        (" <<<<<<< a\n =======\n >>>>>>> b\n", false),
        ("<<<<<<<< a\n========\n>>>>>>>> b\n", false),
        ("", false),
    ];
    for (text, expected) in cases {
        assert_eq!(has_markers(text.as_bytes()), expected, "{text:?}");
    }
}

#[tokio::test]
async fn marked_files_are_named() {
    let sandbox = Sandbox::new().await;
    let repo = sandbox.repo().await;
    sandbox.write("bad", "<<<<<<< a\n=======\n>>>>>>> b\n");
    sandbox.write("good", "fine\n");
    let paths = ["good", "bad", "gone"].map(str::to_owned);
    assert_eq!(repo.main_worktree().conflict_markers(&paths).await.unwrap(), ["bad"]);
    let out = repo.main_worktree().conflict_markers(&["../x".to_owned()]).await;
    assert!(matches!(out, Err(GitError::PathEscape(_))));
}

#[tokio::test]
async fn staged_content_that_was_changed_since_is_kept() {
    let sandbox = Sandbox::new().await;
    let repo = sandbox.repo().await;
    let commit = async || {
        let seen = repo.main_worktree().uncommitted().await.unwrap();
        let made = repo.main_worktree().commit_all_keeping_staged(&seen, "work", None, "refs/kept").await;
        made.unwrap().unwrap();
    };
    sandbox.write("staged", "staged alone");
    sandbox.git(&["add", "staged"]);
    commit().await;
    assert_eq!(sandbox.git_out(&["for-each-ref", "refs/kept"]), "", "the commit holds it");
    sandbox.write("a", "staged");
    sandbox.git(&["add", "a"]);
    sandbox.write("a", "changed since");
    commit().await;
    assert_eq!(sandbox.git_out(&["show", "HEAD:a"]), "changed since");
    assert_eq!(sandbox.git_out(&["show", "refs/kept/1:a"]), "staged");
}

#[tokio::test]
async fn what_is_written_again_while_it_is_staged_is_seen_afterwards() {
    let sandbox = Sandbox::new().await;
    let repo = sandbox.repo().await;
    sandbox.commit("rules", &[(".gitattributes", "f filter=slow\n")]);
    // Same size, same second, same file; and the index is of a later second.
    let clean = sandbox.script("slow", "cat; [ -e ../once ] || { touch ../once; echo two >f; sleep 1; }");
    sandbox.git(&["config", "filter.slow.clean", &clean]);
    let since_second = || SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap().subsec_millis();
    while since_second() > 300 {
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
    sandbox.write("f", "one\n");
    repo.main_worktree().commit_all("work", None).await.unwrap().unwrap();
    assert_eq!((sandbox.git_out(&["show", "HEAD:f"]), sandbox.read("f")), ("one".into(), "two\n".into()));
    let status = repo.main_worktree().status().await.unwrap();
    assert_eq!(status.iter().map(|entry| entry.path.as_str()).collect::<Vec<_>>(), ["f"]);
}

#[tokio::test]
async fn what_went_since_it_was_seen_is_committed_as_gone() {
    let sandbox = Sandbox::new().await;
    let repo = sandbox.repo().await;
    sandbox.write("new", "seen");
    sandbox.write("other", "seen");
    let seen = repo.main_worktree().uncommitted().await.unwrap();
    sandbox.remove("new");
    let made = repo.main_worktree().commit_all_keeping_staged(&seen, "work", None, "refs/kept").await;
    made.unwrap().unwrap();
    assert_eq!(sandbox.git_out(&["show", "--format=", "--name-status", "HEAD"]), "A\tother");
}

#[tokio::test]
async fn everything_is_committed_once() {
    let sandbox = Sandbox::new().await;
    let repo = sandbox.repo().await;
    assert_eq!(repo.main_worktree().commit_all("nothing", None).await.unwrap(), None);
    sandbox.commit("ignore", &[(".gitignore", "ignored\n"), ("gone", "x")]);
    sandbox.write("ünï/new", "n");
    sandbox.write("a", "changed");
    sandbox.write("ignored", "x");
    sandbox.remove("gone");
    let author = Some(("Ada", "ada@example.com"));
    let made = repo.main_worktree().commit_all("# kept\n\nbody\n", author).await.unwrap().unwrap();
    assert_eq!(made, sandbox.head());
    assert_eq!(
        sandbox.git_out(&["show", "-s", "--format=%an <%ae> %cn%n%B"]),
        "Ada <ada@example.com> Tester\n# kept\n\nbody"
    );
    let files = sandbox.git_out(&["show", "--format=", "--name-status", "-z"]);
    assert_eq!(files.trim_end_matches('\0'), "M\0a\0D\0gone\0A\0ünï/new");
    assert_eq!(repo.main_worktree().commit_all("again", None).await.unwrap(), None);
}

#[tokio::test]
async fn a_snapshot_has_everything_and_changes_nothing() {
    let sandbox = Sandbox::new().await;
    let repo = sandbox.repo().await;
    assert_eq!(repo.main_worktree().snapshot("nothing", None).await.unwrap(), None);
    sandbox.commit("base", &[(".gitignore", "ignored\n"), ("gone", "x"), ("staged", "x")]);
    sandbox.hook("pre-commit", "exit 1");
    sandbox.write("staged", "two");
    sandbox.git(&["add", "staged"]);
    sandbox.write("staged", "three");
    sandbox.write("new/file", "n");
    sandbox.write("ignored", "x");
    sandbox.remove("gone");
    let (head, status) = (sandbox.head(), sandbox.git_out(&["status", "--porcelain"]));
    let author = Some(("Ada", "ada@example.com"));
    let made = repo.main_worktree().snapshot("as it was\n", author).await.unwrap().unwrap();
    assert_eq!(sandbox.git_out(&["rev-parse", &format!("{made}^@")]), head, "its only parent");
    let changed = sandbox.git_out(&["diff", "--name-status", &head, &made]);
    assert_eq!(changed, "D\tgone\nA\tnew/file\nM\tstaged");
    assert_eq!(sandbox.git_out(&["show", &format!("{made}:staged")]), "three");
    assert_eq!(sandbox.git_out(&["log", "-1", "--format=%an", &made]), "Ada");
    assert_eq!((sandbox.head(), sandbox.git_out(&["status", "--porcelain"])), (head, status));
}

#[tokio::test]
async fn a_refusing_hook_is_heard_and_its_work_kept() {
    let sandbox = Sandbox::new().await;
    let repo = sandbox.repo().await;
    sandbox.hook("pre-commit", "echo 'no tabs please' >&2; exit 1");
    sandbox.write("a", "changed");
    let before = sandbox.head();
    match repo.main_worktree().commit_all("try", None).await {
        Err(GitError::CommitRefused { output }) => assert_eq!(output, "no tabs please"),
        other => panic!("{other:?}"),
    }
    assert_eq!(sandbox.head(), before);
    assert_eq!(sandbox.read("a"), "changed");
}

#[tokio::test]
async fn hook_sees_no_secret_and_no_variable_of_forge() {
    let sandbox = Sandbox::new().await;
    let told = sandbox.dir().join("told");
    sandbox.hook("pre-commit", &format!("env > {}", told.display()));
    let mut user: std::collections::BTreeMap<_, _> = std::env::vars_os().collect();
    for name in ["NPM_TOKEN", "FORGE_SECRET_OF_ITS_OWN", "FORGE_EXECUTION_ID", "PLAIN"] {
        user.insert(name.into(), "canary".into());
    }
    let git = sandbox.git.clone().with_variables(std::sync::Arc::new(user));
    let repo = Repo::open(&git, &sandbox.path("")).await.unwrap();
    let names = async |repo: &Repo, content: &str| {
        sandbox.write("a", content);
        repo.main_worktree().commit_all("work", None).await.unwrap().unwrap();
        let told = std::fs::read_to_string(&told).unwrap();
        let canaries = told.lines().filter_map(|line| line.strip_suffix("=canary"));
        let mut names: Vec<_> = canaries.map(str::to_owned).collect();
        names.sort_unstable();
        names
    };
    assert_eq!(names(&repo, "1").await, ["PLAIN"]);
    let pass = vec!["NPM_TOKEN".to_owned()];
    let passing = repo.passing(&forge_model::environment::EnvironmentSettings { pass, ..Default::default() });
    assert_eq!(names(&passing, "2").await, ["NPM_TOKEN", "PLAIN"]);
}

#[tokio::test]
async fn a_missing_identity_is_filled_in_and_a_partial_one_kept() {
    let sandbox = Sandbox::anonymous().await;
    let repo = sandbox.repo().await;
    sandbox.write("a", "1");
    repo.main_worktree().commit_all("one", None).await.unwrap();
    let who = ["show", "-s", "--format=%an <%ae> %cn <%ce>"];
    assert_eq!(sandbox.git_out(&who), "Forge <forge@localhost> Forge <forge@localhost>");
    sandbox.git(&["config", "user.name", "Kim"]);
    sandbox.write("a", "2");
    repo.main_worktree().commit_all("two", None).await.unwrap();
    assert_eq!(sandbox.git_out(&who), "Kim <forge@localhost> Kim <forge@localhost>");
}

#[tokio::test]
async fn a_held_index_is_reported_with_its_holder() {
    let sandbox = Sandbox::new().await;
    let repo = sandbox.repo().await;
    sandbox.write("a", "changed");
    let lock = repo.common_dir().join("index.lock");
    let held = std::fs::File::create(&lock).unwrap();
    match repo.main_worktree().commit_all("x", None).await {
        Err(GitError::IndexLocked { path, holder: Some(holder) }) => {
            assert_eq!((path, holder.pid), (lock.clone(), std::process::id()));
        }
        other => panic!("{other:?}"),
    }
    drop(held);
    let left = repo.main_worktree().commit_all("x", None).await;
    assert!(matches!(left, Err(GitError::IndexLocked { holder: None, .. })));
}
