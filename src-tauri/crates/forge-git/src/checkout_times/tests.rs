use std::os::unix::fs::symlink;
use std::time::{Duration, SystemTime};

use super::*;
use crate::repo::Repo;
use crate::testing::Sandbox;
use crate::worktrees::NewWorktree;

/// A worktree whose files, as git sees it, could have been changed right after the checkout.
async fn young(sandbox: &Sandbox) -> (Repo, PathBuf) {
    symlink("a", sandbox.path("link")).unwrap();
    sandbox.commit("more", &[("dir/b", "b\n"), ("c", "c\n"), ("ünï", "u\n")]);
    let repo = sandbox.repo().await;
    let path = sandbox.dir().join("tree");
    let (branch, base) = ("side".to_owned(), "main".to_owned());
    repo.create_worktree(&NewWorktree { path: path.clone(), branch, base }).await.unwrap();
    // Whatever second it is: index and files in the same one, the index later in it.
    let second = SystemTime::UNIX_EPOCH + Duration::from_secs(1_700_000_000);
    for file in FILES {
        let times = TimeSpec::new(1_700_000_000, 5);
        let root = fs::File::open(&path).unwrap();
        let flags = UtimensatFlags::NoFollowSymlink;
        utimensat(root.as_fd(), file, &times, &times, flags).unwrap();
    }
    sandbox.git_at(&path, &["update-index", "-q", "--really-refresh"]);
    set_index_time(&repo, &path, second + Duration::from_nanos(900)).await;
    (repo, path)
}

const FILES: [&str; 5] = ["a", "c", "dir/b", "link", "ünï"];

async fn set_index_time(repo: &Repo, tree: &Path, time: SystemTime) {
    let index = repo.worktree_at(tree).git_dir().await.unwrap().join("index");
    fs::File::options().write(true).open(index).unwrap().set_modified(time).unwrap();
}

fn seconds(path: &Path) -> i64 {
    path.symlink_metadata().unwrap().mtime()
}

#[tokio::test]
async fn every_file_is_dated_back_and_the_index_stays_whole() {
    let sandbox = Sandbox::new().await;
    let (repo, tree) = young(&sandbox).await;
    let staged = sandbox.git_at(&tree, &["ls-files", "--stage", "-z"]);
    repo.worktree_at(&tree).trust_checkout_times().await.unwrap();
    for file in FILES {
        assert_eq!(seconds(&tree.join(file)), 1_699_999_999, "{file}");
    }
    assert_eq!(sandbox.git_at(&tree, &["ls-files", "--stage", "-z"]), staged);
    // Looks at recorded times alone: nothing differs, and the checksum is right.
    assert_eq!(sandbox.git_at(&tree, &["diff-files", "--raw"]), "");
    sandbox.git_at(&tree, &["fsck", "--no-dangling"]);
    assert_eq!(repo.worktree_at(&tree).status().await.unwrap(), []);
    let leftover = |entry: fs::DirEntry| entry.file_name().to_string_lossy().starts_with("forge-index");
    let admin = repo.worktree_at(&tree).git_dir().await.unwrap();
    assert!(!fs::read_dir(&admin).unwrap().flatten().any(leftover));
    assert!(!admin.join("index.lock").exists());
}

#[tokio::test]
async fn a_change_of_the_same_size_in_the_same_second_is_seen() {
    let sandbox = Sandbox::new().await;
    let (repo, tree) = young(&sandbox).await;
    repo.worktree_at(&tree).trust_checkout_times().await.unwrap();
    let second = SystemTime::UNIX_EPOCH + Duration::from_secs(1_700_000_000);
    for (file, time) in [("a", second), ("c", second + Duration::from_nanos(5))] {
        fs::write(tree.join(file), "x\n").unwrap();
        fs::File::options().write(true).open(tree.join(file)).unwrap().set_modified(time).unwrap();
    }
    assert_eq!(repo.worktree_at(&tree).tracked_changes().await.unwrap(), ["a", "c"]);
}

#[tokio::test]
async fn what_was_changed_before_is_left_alone_and_seen() {
    let sandbox = Sandbox::new().await;
    let (repo, tree) = young(&sandbox).await;
    let second = SystemTime::UNIX_EPOCH + Duration::from_secs(1_700_000_000);
    fs::write(tree.join("a"), "x\n").unwrap();
    fs::File::options()
        .write(true)
        .open(tree.join("a"))
        .unwrap()
        .set_modified(second + Duration::from_nanos(5))
        .unwrap();
    fs::remove_file(tree.join("c")).unwrap();
    repo.worktree_at(&tree).trust_checkout_times().await.unwrap();
    assert_eq!(seconds(&tree.join("a")), 1_700_000_000);
    assert_eq!(repo.worktree_at(&tree).tracked_changes().await.unwrap(), ["a", "c"]);
}

#[tokio::test]
async fn an_index_of_another_kind_or_in_use_is_left_alone() {
    let sandbox = Sandbox::new().await;
    let (repo, tree) = young(&sandbox).await;
    let index = repo.worktree_at(&tree).git_dir().await.unwrap().join("index");
    let lock = index.with_file_name("index.lock");
    fs::write(&lock, "").unwrap();
    let before = fs::read(&index).unwrap();
    repo.worktree_at(&tree).trust_checkout_times().await.unwrap();
    assert_eq!(fs::read(&index).unwrap(), before);
    assert!(lock.exists());
    fs::remove_file(&lock).unwrap();
    assert_eq!(repo.worktree_at(&tree).status().await.unwrap(), []);
    for torn in [&before[..before.len() - 1], b"DIRC", b"", &[0; 64]] {
        fs::write(&index, torn).unwrap();
        repo.worktree_at(&tree).trust_checkout_times().await.unwrap();
        assert_eq!(fs::read(&index).unwrap(), torn);
    }
    let file = tree.join("a").metadata().unwrap();
    let mut torn = before.clone();
    torn[8..12].fill(255);
    assert!(young_entries(&torn, &file).is_none());
}

#[tokio::test]
async fn sha256_is_left_to_git() {
    let sandbox = Sandbox::with_init(&["--object-format=sha256"]).await;
    let (repo, tree) = young(&sandbox).await;
    repo.worktree_at(&tree).trust_checkout_times().await.unwrap();
    assert_eq!(seconds(&tree.join("a")), 1_700_000_000);
    assert_eq!(repo.worktree_at(&tree).status().await.unwrap(), []);
}
