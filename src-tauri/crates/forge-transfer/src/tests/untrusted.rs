//! Git directories that programs filled with what git does not write.

use super::*;

#[tokio::test]
async fn links_and_settings_in_the_git_directory_are_not_followed() {
    let ends = Ends::new(&[("a", "a\n")]);
    ends.send().await;
    let base = ends.base();
    let git_dir = &ends.there.git_dir;
    fs::write(base.join("secret"), "0123456789012345678901234567890123456789\n").unwrap();
    let link = |to: &Path, name: &str| {
        let at = git_dir.join(name);
        let _absent = fs::remove_file(&at);
        std::os::unix::fs::symlink(to, at).unwrap();
    };
    link(&base.join("secret"), "MERGE_HEAD");
    link(&base.join("secret"), "refs/heads/stolen");
    link(&base, "rebase-merge");
    fs::write(
        git_dir.join("config"),
        "[core]\n\tfsmonitor = touch ran\n\tworktree = /\n[filter \"x\"]\n\tclean = touch ran\n",
    )
    .unwrap();
    fs::create_dir_all(git_dir.join("hooks")).unwrap();
    fs::write(git_dir.join("hooks/post-index-change"), "#!/bin/sh\ntouch ran\n").unwrap();
    fs::write(git_dir.join("info/attributes"), "* filter=x\n").unwrap();
    ends.write(&ends.there, ".gitattributes", "* filter=x\n");
    ends.write(&ends.there, "a", "changed\n");
    assert!(ends.fetch().await);
    assert_eq!(ends.read(&ends.here, "a").unwrap(), "changed\n");
    for name in ["MERGE_HEAD", "refs/heads/stolen", "rebase-merge", "hooks/post-index-change"] {
        assert!(!ends.here.git_dir.join(name).exists(), "{name}");
    }
    assert!(!ends.there.worktree.join("ran").exists() && !ends.there.store.join("ran").exists());
    // Sending again makes it a directory of ours.
    ends.write(&ends.here, "a", "again\n");
    ends.send().await;
    assert!(!git_dir.join("hooks").exists());
    assert_eq!(fs::read_link(git_dir.join("MERGE_HEAD")).ok(), None);
    assert!(!fs::read_to_string(git_dir.join("config")).unwrap().contains("fsmonitor = touch"));
}

#[tokio::test]
async fn writing_goes_through_no_link() {
    let ends = Ends::new(&[("a", "a\n"), ("dir/b", "b\n")]);
    ends.send().await;
    let outside = ends.base().join("outside");
    fs::create_dir(&outside).unwrap();
    fs::remove_dir_all(ends.there.git_dir.join("refs")).unwrap();
    fs::remove_dir_all(ends.there.git_dir.join("info")).unwrap();
    fs::remove_dir_all(ends.there.worktree.join("dir")).unwrap();
    for at in
        [ends.there.git_dir.join("refs"), ends.there.git_dir.join("info"), ends.there.worktree.join("dir")]
    {
        std::os::unix::fs::symlink(&outside, at).unwrap();
    }
    ends.write(&ends.here, "dir/b", "changed\n");
    ends.git(&["branch", "new"]);
    ends.send().await;
    assert_eq!(fs::read_dir(&outside).unwrap().count(), 0, "nothing was written outside");
    ends.assert_same();
}

#[tokio::test]
async fn damaged_index_and_dangling_refs_travel_as_they_are() {
    let ends = Ends::new(&[("a", "a\n")]);
    ends.send().await;
    fs::write(ends.there.git_dir.join("index"), "no index").unwrap();
    fs::write(ends.there.git_dir.join("refs/heads/dangling"), format!("{}\n", "1".repeat(40))).unwrap();
    ends.write(&ends.there, "a", "changed\n");
    ends.write(&ends.there, "new", "new\n");
    assert!(ends.fetch().await);
    assert_eq!(files(&ends.here.worktree), files(&ends.there.worktree));
    assert_eq!(fs::read(ends.here.git_dir.join("index")).unwrap(), b"no index");
}

#[tokio::test]
async fn snapshot_that_is_none_changes_nothing() {
    let ends = Ends::new(&[("a", "a\n")]);
    ends.send().await;
    let before = files(&ends.here.worktree);
    let head = ends.git(&["rev-parse", "HEAD"]);
    let store = ends.here.open().await.unwrap();
    for id in [head.as_str(), "../x", &"1".repeat(40)] {
        store.apply(id).await.unwrap_err();
    }
    drop(store);
    assert_eq!(files(&ends.here.worktree), before);
    assert!(!ends.here.local_changes().await.unwrap());
}
