use std::fs;
use std::os::unix::fs::symlink;

use super::*;
use crate::testing::Sandbox;
use crate::worktrees::NewWorktree;

#[test]
fn space_counts_each_file_once_and_follows_no_link() {
    let dir = tempfile::tempdir().unwrap();
    let big = |path: &Path| fs::write(path, vec![1; 1 << 20]).unwrap();
    fs::create_dir_all(dir.path().join("tree/sub")).unwrap();
    big(&dir.path().join("outside"));
    let empty = disk_usage(&dir.path().join("tree"));
    big(&dir.path().join("tree/sub/one"));
    let one = disk_usage(&dir.path().join("tree"));
    assert!((1 << 20..(1 << 20) + (64 << 10)).contains(&(one - empty)), "{empty} {one}");
    fs::hard_link(dir.path().join("tree/sub/one"), dir.path().join("tree/two")).unwrap();
    symlink(dir.path().join("outside"), dir.path().join("tree/file")).unwrap();
    symlink(dir.path(), dir.path().join("tree/folder")).unwrap();
    assert!(disk_usage(&dir.path().join("tree")) < one + (64 << 10));
    // Allocated, not pretended.
    fs::File::create(dir.path().join("tree/hole")).unwrap().set_len(1 << 30).unwrap();
    assert!(disk_usage(&dir.path().join("tree")) < one + (64 << 10));
    assert_eq!(disk_usage(&dir.path().join("nothing")), 0);
}

#[tokio::test]
async fn a_worktrees_facts() {
    let sandbox = Sandbox::new().await;
    let repo = sandbox.repo().await;
    sandbox.commit("ignore", &[(".gitignore", "ignored\n")]);
    let spec = NewWorktree {
        path: sandbox.dir().join("tree"),
        branch: "forge/1".to_owned(),
        base: "main".to_owned(),
    };
    repo.create_worktree(&spec).await.unwrap();
    let facts = repo.folder_facts(&spec.path, "main").await.unwrap();
    assert!(facts.registered && !facts.foreign);
    assert_eq!((facts.branch.as_deref(), facts.head), (Some("forge/1"), Some(sandbox.head())));
    assert_eq!((facts.unmerged_commits, facts.uncommitted), (0, 0));
    assert_eq!(facts.last_change_ms, Some(1_700_000_000_000));
    for content in ["1", "2"] {
        fs::write(spec.path.join("new"), content).unwrap();
        repo.worktree_at(&spec.path).commit_all("work", None).await.unwrap().unwrap();
    }
    fs::write(spec.path.join("a"), "changed").unwrap();
    fs::write(spec.path.join("ignored"), "x").unwrap();
    let newer = std::time::SystemTime::UNIX_EPOCH + std::time::Duration::from_millis(4_000_000_000_123);
    let file = fs::File::create(spec.path.join("untracked")).unwrap();
    file.set_modified(newer).unwrap();
    let facts = repo.folder_facts(&spec.path, "main").await.unwrap();
    assert_eq!((facts.unmerged_commits, facts.uncommitted), (2, 2));
    assert_eq!(facts.last_change_ms, Some(4_000_000_000_123));
    let unknown = repo.folder_facts(&spec.path, "nothing").await;
    assert!(matches!(unknown, Err(GitError::UnknownRevision { .. })));
}

#[tokio::test]
async fn folders_that_are_no_worktree_say_so() {
    let (sandbox, other) = (Sandbox::new().await, Sandbox::new().await);
    let (repo, foreign) = (sandbox.repo().await, other.repo().await);
    let theirs =
        NewWorktree { path: other.dir().join("tree"), branch: "theirs".to_owned(), base: "main".to_owned() };
    foreign.create_worktree(&theirs).await.unwrap();
    for path in [other.path(""), theirs.path.clone()] {
        let facts = repo.folder_facts(&path, "main").await.unwrap();
        assert!(!facts.registered && facts.foreign, "{}", path.display());
        assert_eq!((facts.branch, facts.head), (None, None));
    }
    let plain = repo.folder_facts(&sandbox.dir().join("home"), "main").await.unwrap();
    assert!(!plain.registered && !plain.foreign && plain.last_change_ms.is_some());
    let gone = repo.folder_facts(&sandbox.dir().join("nothing"), "main").await.unwrap();
    assert_eq!(gone, FolderFacts::default());
    // Registered once, and its place was taken by something foreign.
    let ours = NewWorktree { path: sandbox.dir().join("ours"), ..theirs.clone() };
    repo.create_worktree(&ours).await.unwrap();
    fs::copy(theirs.path.join(".git"), ours.path.join(".git")).unwrap();
    let facts = repo.folder_facts(&ours.path, "main").await.unwrap();
    assert!(!facts.registered && facts.foreign);
}
