use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};

use super::*;
use crate::testing::Sandbox;

const PREFIX: &str = "refs/forge/backup/task-1";

fn mode(path: &Path) -> u32 {
    path.metadata().unwrap().permissions().mode() & 0o100
}

#[tokio::test]
async fn a_clean_worktree_needs_no_backup() {
    let sandbox = Sandbox::new().await;
    let repo = sandbox.repo().await;
    assert_eq!(repo.main_worktree().back_up(PREFIX, "m").await.unwrap(), None);
    assert_eq!(repo.backups(PREFIX).await.unwrap(), []);
}

#[tokio::test]
async fn everything_comes_back_byte_for_byte() {
    let sandbox = Sandbox::new().await;
    let repo = sandbox.repo().await;
    let attributes = "*.txt text eol=lf\n*.up filter=up\n";
    sandbox.git(&["config", "filter.up.clean", "tr a-z A-Z"]);
    sandbox.git(&["config", "filter.up.smudge", "cat"]);
    sandbox.commit(
        "base",
        &[
            (".gitattributes", attributes),
            (".gitignore", "ignored\n"),
            ("gone", "g"),
            ("run", "r"),
            ("was/dir", "d"),
            ("b.txt", "l\n"),
        ],
    );
    let all: Vec<u8> = (0..=255).cycle().take(70_000).collect();
    let files: [(&str, &[u8]); 8] = [
        ("a", b"changed\r\nmixed\n"),
        ("b.txt", b"one\r\ntwo\n"),
        ("c.up", b"lower case"),
        ("bin", &all),
        ("ünï/☃ \"x\"\t.txt", b"snow\r\n"),
        ("new\nline", b"n"),
        ("\"quoted", b"q"),
        ("empty", b""),
    ];
    for (path, content) in files {
        sandbox.write(path, content);
    }
    sandbox.remove("gone");
    fs::set_permissions(sandbox.path("run"), PermissionsExt::from_mode(0o755)).unwrap();
    fs::remove_dir_all(sandbox.path("was")).unwrap();
    sandbox.write("was", "now a file");
    symlink("/etc/passwd", sandbox.path("link")).unwrap();
    sandbox.write("ignored", "i");
    let index = fs::read(sandbox.path(".git/index")).unwrap();
    let status = repo.main_worktree().status().await.unwrap();

    let backup = repo.main_worktree().back_up(PREFIX, "before removal").await.unwrap().unwrap();
    assert_eq!(backup.ref_name, format!("{PREFIX}/1"));
    assert_eq!(backup.skipped, Vec::<String>::new());
    assert_eq!(fs::read(sandbox.path(".git/index")).unwrap(), index, "the index was touched");
    assert_eq!(repo.main_worktree().status().await.unwrap(), status);
    let left = fs::read_dir(repo.common_dir()).unwrap().flatten().map(|e| e.file_name());
    assert!(left.into_iter().all(|name| !name.to_string_lossy().starts_with("forge-")));

    sandbox.git(&["reset", "-q", "--hard"]);
    sandbox.git(&["clean", "-qfd"]);
    repo.main_worktree().restore_backup(&backup.commit).await.unwrap();
    for (path, content) in files {
        assert_eq!(fs::read(sandbox.path(path)).unwrap(), content, "{path:?}");
    }
    assert_eq!(sandbox.read("was"), "now a file");
    assert!(!sandbox.path("gone").exists());
    assert_ne!(mode(&sandbox.path("run")), 0);
    assert_eq!(fs::read_link(sandbox.path("link")).unwrap(), Path::new("/etc/passwd"));
    assert_eq!(repo.main_worktree().status().await.unwrap(), status);
    repo.main_worktree().restore_backup(&backup.commit).await.unwrap();
}

#[tokio::test]
async fn backups_are_numbered_and_listed() {
    let sandbox = Sandbox::new().await;
    let repo = sandbox.repo().await;
    let mut made = Vec::new();
    for number in 1..=11 {
        sandbox.write("a", format!("{number}"));
        made.push(repo.main_worktree().back_up(PREFIX, "m").await.unwrap().unwrap());
    }
    assert_eq!(repo.backups(PREFIX).await.unwrap(), made);
    assert_eq!(made[10].ref_name, format!("{PREFIX}/11"));
    assert_eq!(made[10].files, 1);
    assert_eq!(repo.backups("refs/forge/backup/task").await.unwrap(), []);
    let base = sandbox.git_out(&["rev-parse", &format!("{}^1", made[0].commit)]);
    assert_eq!(base, sandbox.head());
}

#[tokio::test]
async fn what_was_staged_and_changed_again_is_kept_too() {
    let sandbox = Sandbox::new().await;
    let repo = sandbox.repo().await;
    sandbox.write("a", "staged");
    sandbox.git(&["add", "a"]);
    sandbox.write("a", "on disk");
    let backup = repo.main_worktree().back_up(PREFIX, "m").await.unwrap().unwrap();
    assert_eq!(sandbox.git_out(&["show", &format!("{}:a", backup.commit)]), "on disk");
    assert_eq!(sandbox.git_out(&["show", &format!("{}^2:a", backup.commit)]), "staged");
}

#[tokio::test]
async fn local_changes_are_not_overwritten() {
    let sandbox = Sandbox::new().await;
    let repo = sandbox.repo().await;
    sandbox.commit("ignore", &[(".gitignore", "build\n"), ("b", "b"), ("c", "c")]);
    sandbox.write("a", "backed up");
    sandbox.write("b", "backed up");
    sandbox.write("new", "backed up");
    sandbox.write("other", "backed up");
    sandbox.git(&["add", "-f", "other"]);
    let backup = repo.main_worktree().back_up(PREFIX, "m").await.unwrap().unwrap();
    sandbox.git(&["reset", "-q", "--hard"]);
    sandbox.git(&["clean", "-qfd"]);
    sandbox.write("a", "mine");
    sandbox.write("new", "mine");
    sandbox.write(".git/info/exclude", "other\n");
    sandbox.write("other", "mine, ignored");
    match repo.main_worktree().restore_backup(&backup.commit).await {
        Err(GitError::RestoreInTheWay { mut files }) => {
            files.sort();
            assert_eq!(files, ["a", "new", "other"]);
        }
        other => panic!("{other:?}"),
    }
    assert_eq!((sandbox.read("a"), sandbox.read("b")), ("mine".to_owned(), "b".to_owned()));
    for mine in ["a", "new", "other"] {
        sandbox.write(mine, "backed up");
    }
    repo.main_worktree().restore_backup(&backup.commit).await.unwrap();
    assert_eq!(sandbox.read("b"), "backed up");
}

#[tokio::test]
async fn a_restore_does_not_follow_links_out() {
    let sandbox = Sandbox::new().await;
    let repo = sandbox.repo().await;
    sandbox.write("dir/file", "x");
    let backup = repo.main_worktree().back_up(PREFIX, "m").await.unwrap().unwrap();
    fs::remove_dir_all(sandbox.path("dir")).unwrap();
    let outside = sandbox.dir().join("outside");
    fs::create_dir(&outside).unwrap();
    symlink(&outside, sandbox.path("dir")).unwrap();
    let refused = repo.main_worktree().restore_backup(&backup.commit).await;
    assert!(
        matches!(refused, Err(GitError::PathEscape(_) | GitError::RestoreInTheWay { .. })),
        "{refused:?}"
    );
    assert_eq!(fs::read_dir(&outside).unwrap().count(), 0);
}

#[tokio::test]
async fn repositories_inside_are_saved_with_their_history() {
    let sandbox = Sandbox::new().await;
    let repo = sandbox.repo().await;
    sandbox.git(&["clone", "-q", ".", "inner"]);
    sandbox.write("a", "changed");
    let backup = repo.main_worktree().back_up(PREFIX, "m").await.unwrap().unwrap();
    // The changed file, the embedded one, and the history.
    assert_eq!((backup.files, backup.skipped), (3, Vec::new()));
}

#[tokio::test]
async fn an_unresolved_merge_is_backed_up_with_its_markers() {
    let sandbox = Sandbox::new().await;
    let repo = sandbox.repo().await;
    sandbox.git(&["checkout", "-q", "-b", "side"]);
    sandbox.commit("theirs", &[("a", "theirs\n")]);
    sandbox.git(&["checkout", "-q", "main"]);
    sandbox.commit("ours", &[("a", "ours\n")]);
    let (ok, _) = sandbox.try_git_at(repo.root(), &["merge", "side"]);
    assert!(!ok);
    let backup = repo.main_worktree().back_up(PREFIX, "m").await.unwrap().unwrap();
    let kept = sandbox.git_out(&["show", &format!("{}:a", backup.commit)]);
    assert!(kept.contains("<<<<<<<") && kept.contains("theirs"), "{kept}");
}

#[tokio::test]
async fn old_backups_of_all_tasks_are_pruned_and_newer_ones_kept() {
    let sandbox = Sandbox::new().await;
    let repo = sandbox.repo().await;
    let at = async |seconds: &str| {
        let git = sandbox.git.clone().with_env("GIT_COMMITTER_DATE", format!("{seconds} +0000"));
        Repo::open(&git, repo.root()).await.unwrap()
    };
    let (old, new) = (at("1000000000").await, at("1000000100").await);
    for (number, (repo, task)) in [(&old, "1"), (&new, "1"), (&old, "2")].into_iter().enumerate() {
        sandbox.write("a", format!("{number}"));
        let prefix = format!("refs/forge/backup/task-{task}");
        repo.main_worktree().back_up(&prefix, "m").await.unwrap().unwrap();
    }
    // An old commit that is kept since later.
    let commit = repo.resolve("refs/forge/backup/task-2/1").await.unwrap().unwrap();
    new.next_number("refs/forge/backup/task-3", &commit).await.unwrap();
    let old = async |prefix: &str, before_ms: i64| {
        let all = repo.backups_made(prefix, before_ms).await.unwrap();
        assert_eq!(all.len(), 4, "young ones are listed, too");
        all.into_iter().filter(|made| made.at_ms.is_some()).collect::<Vec<_>>()
    };
    assert!(old("refs/forge/backup", 1_000_000_000_000).await.is_empty());
    let doomed = old("refs/forge/backup/", 1_000_000_000_001).await;
    assert!(doomed.iter().all(|made| made.at_ms == Some(1_000_000_000_000)), "{doomed:?}");
    let gone = repo.forget_backups(doomed).await.unwrap();
    let names: Vec<&str> = gone.iter().map(|backup| backup.ref_name.as_str()).collect();
    assert_eq!(names, ["refs/forge/backup/task-1/1", "refs/forge/backup/task-2/1"]);
    assert_eq!(
        (gone[1].files, gone[1].at_ms, gone[1].commit.as_str()),
        (1, 1_000_000_000_000, commit.as_str())
    );
    let left = sandbox.git_out(&["for-each-ref", "--format=%(refname)", "refs/forge"]);
    assert_eq!(left, "refs/forge/backup/task-1/2\nrefs/forge/backup/task-3/1");
    let left = repo.backups_made("refs/forge/backup", 1_000_000_101_000).await.unwrap();
    assert_eq!(repo.forget_backups(left).await.unwrap().len(), 2);
}

#[tokio::test]
async fn what_is_staged_beside_an_unresolved_merge_is_kept() {
    let sandbox = Sandbox::new().await;
    let repo = sandbox.repo().await;
    sandbox.commit("b", &[("b", "b\n")]);
    sandbox.git(&["checkout", "-q", "-b", "side"]);
    sandbox.commit("theirs", &[("a", "theirs\n")]);
    sandbox.git(&["checkout", "-q", "main"]);
    sandbox.commit("ours", &[("a", "ours\n")]);
    assert!(!sandbox.try_git_at(repo.root(), &["merge", "side"]).0);
    sandbox.write("b", "staged");
    sandbox.git(&["add", "b"]);
    sandbox.write("b", "changed since");
    let backup = repo.main_worktree().back_up(PREFIX, "m").await.unwrap().unwrap();
    assert_eq!(sandbox.git_out(&["show", &format!("{}:b", backup.commit)]), "changed since");
    assert_eq!(sandbox.git_out(&["show", &format!("{}^2:b", backup.commit)]), "staged");
}
