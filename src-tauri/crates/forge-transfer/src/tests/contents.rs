//! What of files and index travels.

use super::*;

#[tokio::test]
async fn files_of_every_kind_travel_and_come_back() {
    let ends = Ends::new(&[
        ("a", "a\n"),
        ("dir/b", "b\n"),
        ("gone", "gone\n"),
        ("was-file", "f\n"),
        ("was-dir/x", "x\n"),
    ]);
    let tree = &ends.here;
    ends.write(tree, "a", "changed\n");
    ends.write(tree, "new/deep/file", "new\n");
    ends.write(tree, OsStr::from_bytes(b"odd\xff\nname"), "odd\n");
    ends.write(tree, "run", "#!/bin/sh\n");
    fs::set_permissions(tree.worktree.join("run"), fs::Permissions::from_mode(0o755)).unwrap();
    std::os::unix::fs::symlink("dir/b", tree.worktree.join("link")).unwrap();
    std::os::unix::fs::symlink("/etc", tree.worktree.join("out")).unwrap();
    fs::remove_file(tree.worktree.join("gone")).unwrap();
    fs::remove_file(tree.worktree.join("was-file")).unwrap();
    ends.write(tree, "was-file/now", "dir\n");
    fs::remove_dir_all(tree.worktree.join("was-dir")).unwrap();
    ends.write(tree, "was-dir", "file\n");
    ends.send().await;
    ends.assert_same();

    let far = &ends.there;
    ends.write(far, "a", "there\n");
    fs::remove_dir_all(far.worktree.join("new")).unwrap();
    fs::remove_dir_all(far.worktree.join("was-file")).unwrap();
    std::os::unix::fs::symlink("dir", far.worktree.join("was-file")).unwrap();
    fs::set_permissions(far.worktree.join("run"), fs::Permissions::from_mode(0o644)).unwrap();
    assert!(ends.fetch().await);
    ends.assert_same();
    assert!(!ends.fetch().await, "nothing changed since");
}

#[tokio::test]
async fn folder_replaced_by_a_link_is_not_followed() {
    let ends = Ends::new(&[("dir/b", "b\n"), ("other/b", "other\n")]);
    ends.send().await;
    fs::remove_dir_all(ends.there.worktree.join("dir")).unwrap();
    std::os::unix::fs::symlink("other", ends.there.worktree.join("dir")).unwrap();
    assert!(ends.fetch().await);
    ends.assert_same();
    assert_eq!(fs::read_link(ends.here.worktree.join("dir")).unwrap(), Path::new("other"));
}

#[tokio::test]
async fn staged_contents_that_no_file_has_travel() {
    let ends = Ends::new(&[("a", "a\n")]);
    ends.write(&ends.here, "a", "staged\n");
    ends.write(&ends.here, "only-staged", "only staged\n");
    ends.git(&["add", "-A"]);
    ends.write(&ends.here, "a", "later\n");
    fs::remove_file(ends.here.worktree.join("only-staged")).unwrap();
    ends.write(&ends.here, "intended", "intended\n");
    ends.git(&["add", "-N", "intended"]);
    ends.send().await;
    ends.assert_same();
    assert_eq!(ends.git_there(&["show", ":only-staged"]), "only staged");
    ends.git_there(&["rm", "-qf", "--cached", "a"]);
    ends.write(&ends.there, "second", "second\n");
    ends.git_there(&["add", "second"]);
    ends.write(&ends.there, "second", "third\n");
    assert!(ends.fetch().await);
    ends.assert_same();
    assert_eq!(ends.git(&["show", ":second"]), "second");
}

#[tokio::test]
async fn ignored_files_stay_where_they_are_and_tracked_ones_travel() {
    let ends = Ends::new(&[("a", "a\n")]);
    ends.write(&ends.here, ".gitignore", "build/\n*.log\n");
    ends.write(&ends.here, "tracked.log", "tracked\n");
    ends.write(&ends.here, "build/here", "here\n");
    ends.git(&["add", "-f", ".gitignore", "tracked.log"]);
    ends.send().await;
    assert_eq!(ends.read(&ends.there, "tracked.log").unwrap(), "tracked\n");
    assert_eq!(ends.read(&ends.there, "build/here"), None);
    ends.write(&ends.there, "build/there", "there\n");
    ends.write(&ends.there, "tracked.log", "changed\n");
    assert!(ends.fetch().await);
    assert_eq!(ends.read(&ends.here, "tracked.log").unwrap(), "changed\n");
    assert_eq!(ends.read(&ends.here, "build/there"), None);
    ends.write(&ends.here, "a", "again\n");
    ends.send().await;
    assert_eq!(ends.read(&ends.there, "build/there").unwrap(), "there\n", "a cache of builds stays");
    assert_eq!(ends.read(&ends.here, "build/here").unwrap(), "here\n");
}

#[tokio::test]
async fn excluded_in_every_repository_is_not_sent() {
    let mut ends = Ends::new(&[("a", "a\n")]);
    if let Some(manner) = &mut ends.here.manner {
        manner.excludes = b"*.swp\n".to_vec();
    }
    ends.there.manner.clone_from(&ends.here.manner);
    ends.write(&ends.here, "a.swp", "swap\n");
    ends.send().await;
    assert_eq!(ends.read(&ends.there, "a.swp"), None);
    ends.write(&ends.there, "b.swp", "swap\n");
    assert_eq!(ends.git_there(&["status", "--porcelain"]), "", "git there excludes them, too");
    ends.fetch().await;
    assert_eq!(ends.read(&ends.here, "b.swp"), None);
}

#[tokio::test]
async fn times_of_unchanged_files_stay() {
    let ends = Ends::new(&[("a", "a\n"), ("b", "b\n")]);
    ends.send().await;
    let (here, there) = (ends.here.worktree.join("a"), ends.there.worktree.join("a"));
    let times = (changed_at(&here), changed_at(&there));
    ends.write(&ends.here, "b", "changed\n");
    ends.send().await;
    ends.write(&ends.there, "b", "there\n");
    assert!(ends.fetch().await);
    assert_eq!((changed_at(&here), changed_at(&there)), times);
    ends.assert_same();
}

#[tokio::test]
async fn line_endings_travel_byte_for_byte() {
    let mut ends = Ends::new(&[(".gitattributes", "* text=auto\n*.txt eol=crlf\n")]);
    if let Some(manner) = &mut ends.here.manner {
        manner.converts = true;
    }
    ends.write(&ends.here, "dos.txt", "one\r\ntwo\r\n");
    ends.write(&ends.here, "unix", "one\ntwo\n");
    ends.git(&["add", "-A"]);
    ends.git(&["commit", "-qm", "text"]);
    ends.write(&ends.here, "mixed", "one\r\ntwo\n");
    ends.send().await;
    ends.assert_same();
    assert_eq!(ends.git_there(&["status", "--porcelain"]), "?? mixed");
    ends.write(&ends.there, "dos.txt", "one\r\nthree\r\n");
    ends.git_there(&["commit", "-qam", "there"]);
    assert!(ends.fetch().await);
    ends.assert_same();
    assert_eq!(ends.read(&ends.here, "dos.txt").unwrap(), "one\r\nthree\r\n");
}

#[tokio::test]
async fn large_file_travels() {
    let ends = Ends::new(&[("a", "a\n")]);
    let mut seed = 1_u64;
    let noise: Vec<u8> = std::iter::repeat_with(|| {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        seed.to_le_bytes()[3]
    })
    .take(20 << 20)
    .collect();
    ends.write(&ends.here, "large", &noise);
    ends.send().await;
    assert!(fs::read(ends.there.worktree.join("large")).unwrap() == noise);
}

#[tokio::test]
async fn repository_without_a_commit_travels() {
    let ends = Ends::empty();
    ends.send().await;
    ends.assert_same();
    ends.write(&ends.there, "first", "first\n");
    ends.git_there(&["add", "-A"]);
    ends.git_there(&["commit", "-qm", "first"]);
    assert!(ends.fetch().await);
    ends.assert_same();
    assert_eq!(ends.git(&["log", "--format=%s"]), "first");
}

#[tokio::test]
async fn repositories_that_were_made_in_the_worktree_are_left_out_and_told() {
    let ends = Ends::new(&[("a", "a\n")]);
    ends.send().await;
    for name in ["nested", "unborn"] {
        let nested = ends.there.worktree.join(name);
        fs::create_dir(&nested).unwrap();
        git_at(&nested, &["init", "-q"]);
        fs::write(nested.join("file"), "file\n").unwrap();
    }
    git_at(&ends.there.worktree.join("nested"), &["add", "-A"]);
    git_at(&ends.there.worktree.join("nested"), &["commit", "-qm", "nested"]);
    ends.write(&ends.there, "a", "changed\n");
    let (snapshot, _) = ends.try_fetch().await.unwrap();
    assert_eq!(snapshot.left_out, [PathBuf::from("nested"), PathBuf::from("unborn")]);
    assert_eq!(ends.read(&ends.here, "a").unwrap(), "changed\n");
    assert!(!ends.here.worktree.join("nested").exists());
    ends.write(&ends.here, "a", "again\n");
    ends.send().await;
    assert_eq!(ends.read(&ends.there, "nested/file").unwrap(), "file\n");
    ends.git_there(&["add", "nested"]);
    let (snapshot, _) = ends.try_fetch().await.unwrap();
    assert_eq!(snapshot.left_out, [PathBuf::from("nested"), PathBuf::from("unborn")]);
}

#[tokio::test]
async fn submodule_that_is_not_checked_out_is_an_empty_folder() {
    let ends = Ends::new(&[("a", "a\n")]);
    let link = format!("160000,{},sub", ends.git(&["rev-parse", "HEAD"]));
    ends.git(&["update-index", "--add", "--cacheinfo", &link]);
    fs::create_dir(ends.here.worktree.join("sub")).unwrap();
    ends.git(&["commit", "-qm", "submodule"]);
    ends.send().await;
    ends.assert_same();
    assert_eq!(ends.git_there(&["status", "--porcelain"]), "");
    ends.fetch().await;
    ends.assert_same();
}

#[tokio::test]
async fn files_changed_meanwhile_are_not_overwritten() {
    let ends = Ends::new(&[("a", "a\n"), ("b", "b\n")]);
    ends.send().await;
    assert!(!ends.here.local_changes().await.unwrap());
    ends.write(&ends.here, "a", "here\n");
    ends.write(&ends.there, "b", "there\n");
    for _ in 0..2 {
        assert!(ends.here.local_changes().await.unwrap());
        assert_eq!(ends.try_fetch().await.unwrap_err(), Fault::LocalChanges);
    }
    transfer(&ends.there, &ends.here, Cut::Never).await.unwrap();
    ends.assert_same();
    assert_eq!(ends.read(&ends.here, "a").unwrap(), "a\n");
}

#[tokio::test]
async fn size_and_second_that_repeat_do_not_hide_a_change() {
    let ends = Ends::new(&[("a", "1\n")]);
    ends.git(&["config", "core.checkStat", "minimal"]);
    ends.send().await;
    for round in 0..6 {
        ends.write(&ends.there, "a", format!("{}\n", round + 2));
        ends.git_there(&["add", "a"]);
        ends.fetch().await;
        assert_eq!(ends.git(&["diff", "--name-only"]), "");
        ends.write(&ends.here, "a", format!("{}\n", (round + 3) % 10));
        ends.send().await;
        assert_eq!(ends.git_there(&["diff", "--name-only"]), "a");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn trees_of_a_project_that_come_at_once_share_a_mirror() {
    let ends = Ends::new(&[("a", "a\n")]);
    for round in 0..8 {
        let mirror = ends.base().join(format!("mirror-{round}.git"));
        let opened = (0..16).map(|at| {
            let base = ends.base().join(format!("{round}-{at}"));
            let tree = Tree {
                worktree: base.join("tree"),
                git_dir: base.join("tree/.git"),
                store: base.join("store"),
                side: Side::Far { mirror: mirror.clone() },
                ..ends.there.clone()
            };
            tokio::spawn(async move { tree.open().await.map(drop) })
        });
        for one in opened.collect::<Vec<_>>() {
            one.await.unwrap().unwrap();
        }
    }
}
