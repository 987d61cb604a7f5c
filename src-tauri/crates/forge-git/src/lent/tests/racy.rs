//! Changes that git sees only because the index keeps its time.

use std::time::{Duration, SystemTime};

use super::*;

fn date(path: &Path, at: SystemTime) {
    fs::OpenOptions::new().write(true).open(path).unwrap().set_modified(at).unwrap();
}

/// A file of equal size is written in the tick in which the index was: with an index of a later time git would take it
/// for unchanged.
async fn changed_in_the_same_tick(is_lent_when_changed: bool) {
    let lent = Lent::new().await;
    lent.write("file", "right\n");
    lent.git(&["add", "-A"]);
    lent.git(&["commit", "-qm", "right"]);
    if is_lent_when_changed {
        lent.lend().await;
        lent.git(&["rm", "-q", "--cached", "a"]);
    }
    let tick = SystemTime::now() - Duration::from_secs(5);
    let file = lent.tree.join("file");
    let index = if is_lent_when_changed { lent.folder.join("index") } else { lent.admin().join("index") };
    // The entry is recorded with this time, and the index has it, too.
    date(&file, tick);
    lent.git(&["-c", "core.trustctime=false", "update-index", "--refresh"]);
    date(&index, tick);
    fs::write(&file, "wrong\n").unwrap();
    date(&file, tick);
    let config = ["-c", "core.trustctime=false", "status", "--porcelain", "file"];
    // The file keeps its inode, so that times and size are all that could differ.
    assert!(lent.git(&config).ends_with("M file"), "the test's own change is seen before");
    date(&index, tick);
    if !is_lent_when_changed {
        lent.lend().await;
        assert!(lent.git(&config).ends_with("M file"), "seen where it is lent");
        date(&lent.folder.join("index"), tick);
    }
    lent.take_back().await;
    lent.sandbox.git(&["config", "core.trustctime", "false"]);
    let commit = lent.worktree().commit_all("work", None).await.unwrap();
    assert!(commit.is_some(), "the change is seen");
    assert_eq!(lent.git(&["show", "HEAD:file"]), "wrong");
}

#[tokio::test]
async fn a_change_in_the_tick_of_the_index_is_seen_after_lending() {
    changed_in_the_same_tick(false).await;
}

#[tokio::test]
async fn a_change_in_the_tick_of_the_lent_index_is_seen_after_taking_back() {
    changed_in_the_same_tick(true).await;
}
