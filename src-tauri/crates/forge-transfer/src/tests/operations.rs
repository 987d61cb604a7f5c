//! What of refs and unfinished operations travels.

use super::*;

fn diverged() -> Ends {
    let ends = Ends::new(&[("a", "a\n"), ("b", "b\n")]);
    ends.git(&["switch", "-qc", "side"]);
    ends.write(&ends.here, "a", "side\n");
    ends.git(&["commit", "-qam", "side"]);
    ends.git(&["switch", "-q", "main"]);
    ends.write(&ends.here, "a", "main\n");
    ends.git(&["commit", "-qam", "main"]);
    ends
}

#[tokio::test]
async fn merge_with_a_conflict_is_finished_at_the_other_end() {
    let ends = diverged();
    assert!(!git_at(&ends.here.worktree, &["merge", "-q", "side"]).0);
    ends.send().await;
    ends.assert_same();
    assert_eq!(ends.git_there(&["show", ":3:a"]), "side");
    ends.write(&ends.there, "a", "both\n");
    ends.git_there(&["commit", "-qam", "merged"]);
    assert!(ends.fetch().await);
    ends.assert_same();
    assert_eq!(ends.git(&["rev-parse", "HEAD^2"]), ends.git(&["rev-parse", "side"]));
}

#[tokio::test]
async fn conflict_that_began_there_comes_here() {
    let ends = diverged();
    ends.send().await;
    assert!(!git_at(&ends.there.worktree, &["rebase", "-q", "side"]).0);
    assert!(ends.fetch().await);
    ends.assert_same();
    ends.write(&ends.here, "a", "both\n");
    ends.git(&["add", "a"]);
    ends.git(&["-c", "core.editor=true", "rebase", "--continue"]);
    assert_eq!(ends.git(&["rev-parse", "HEAD^"]), ends.git(&["rev-parse", "side"]));
    ends.send().await;
    ends.assert_same();
}

#[tokio::test]
async fn branches_tags_stashes_and_a_detached_head_come_back() {
    let ends = diverged();
    ends.send().await;
    ends.git_there(&["tag", "-am", "a tag", "one"]);
    ends.git_there(&["branch", "made/there"]);
    ends.git_there(&["branch", "-D", "side"]);
    ends.write(&ends.there, "a", "stashed\n");
    ends.git_there(&["stash", "-q"]);
    ends.write(&ends.there, "untracked", "stashed, too\n");
    ends.git_there(&["stash", "-q", "-u"]);
    ends.git_there(&["checkout", "-q", "--detach"]);
    ends.write(&ends.there, "b", "detached\n");
    ends.git_there(&["commit", "-qam", "detached"]);
    assert!(ends.fetch().await);
    ends.assert_same();
    assert_eq!(ends.git(&["stash", "list"]), ends.git_there(&["stash", "list"]));
    ends.git(&["stash", "pop", "-q"]);
    ends.send().await;
    ends.assert_same();
}

#[tokio::test]
async fn refs_that_are_gone_go_and_names_turn_into_folders() {
    let ends = Ends::new(&[("a", "a\n")]);
    ends.git(&["branch", "x/y/z"]);
    ends.git(&["branch", "p"]);
    ends.send().await;
    ends.git_there(&["branch", "-D", "x/y/z", "p"]);
    ends.git_there(&["branch", "x"]);
    ends.git_there(&["branch", "p/q"]);
    ends.git_there(&["pack-refs", "--all"]);
    ends.git_there(&["branch", "-D", "x"]);
    ends.git_there(&["branch", "x/y"]);
    assert!(ends.fetch().await);
    ends.assert_same();
}

#[tokio::test]
async fn settings_there_are_those_that_were_given() {
    let ends = Ends::new(&[("a", "a\n")]);
    ends.git(&["remote", "add", "origin", "https://user:secret@example.com/x.git"]);
    ends.send().await;
    let listed = ends.git_there(&["config", "--local", "--list"]);
    assert!(listed.contains("user.name=Tester") && listed.contains("merge.conflictstyle=diff3"), "{listed}");
    assert!(!listed.contains("secret") && !listed.contains("remote."), "{listed}");
    assert_eq!(ends.git_there(&["config", "commit.gpgsign"]), "false");
}

#[tokio::test]
async fn shallow_history_and_sha256_travel() {
    let ends = Ends::new(&[("a", "a\n")]);
    for number in 0..3 {
        ends.write(&ends.here, "a", format!("{number}\n"));
        ends.git(&["commit", "-qam", "more"]);
    }
    let clone = ends.base().join("clone");
    let from = format!("file://{}", ends.here.worktree.display());
    git_at(&ends.base(), &["clone", "-q", "--depth", "2", &from, clone.to_str().unwrap()]);
    git_at(&clone, &["branch", "--unset-upstream"]);
    let mut shallow = Ends::empty();
    shallow.here.worktree.clone_from(&clone);
    shallow.here.git_dir = clone.join(".git");
    shallow.here.objects = vec![clone.join(".git/objects")];
    shallow.send().await;
    shallow.assert_same();
    shallow.write(&shallow.there, "a", "there\n");
    shallow.git_there(&["commit", "-qam", "there"]);
    assert!(shallow.fetch().await);
    shallow.assert_same();

    let mut wide = Ends::empty();
    fs::remove_dir_all(&wide.here.git_dir).unwrap();
    wide.git(&["init", "-q", "-b", "main", "--object-format=sha256"]);
    wide.here.manner = Some(Manner { is_sha256: true, ..Manner::default() });
    wide.there.manner.clone_from(&wide.here.manner);
    wide.write(&wide.here, "a", "a\n");
    wide.git(&["add", "-A"]);
    wide.git(&["commit", "-qm", "first"]);
    wide.send().await;
    wide.assert_same();
    wide.write(&wide.there, "a", "there\n");
    wide.git_there(&["commit", "-qam", "there"]);
    assert!(wide.fetch().await);
    wide.assert_same();
}

#[tokio::test]
async fn object_that_only_the_store_had_is_whole_in_both_repositories() {
    let ends = Ends::new(&[("a", "a\n")]);
    ends.send().await;
    ends.write(&ends.there, "made", "made there\n");
    assert!(ends.fetch().await);
    ends.git(&["add", "-A"]);
    ends.git(&["commit", "-qm", "made"]);
    ends.send().await;
    ends.assert_same();
    ends.write(&ends.there, "a", "again\n");
    ends.git_there(&["commit", "-qam", "again"]);
    assert!(ends.fetch().await);
    ends.assert_same();
    // Another task of the project finds in the mirror what is whole there, and nothing else.
    let mut other = Ends::empty();
    other.here = Tree { store: ends.base().join("here/other-store"), ..ends.here.clone() };
    other.there.side.clone_from(&ends.there.side);
    other.send().await;
    other.assert_same();
}
