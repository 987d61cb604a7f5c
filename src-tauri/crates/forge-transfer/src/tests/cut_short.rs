//! Transfers that are cut anywhere, and repeated.

use super::*;

/// Both ends after some work there, with a conflict in the index.
async fn worked() -> Ends {
    let ends = Ends::new(&[("a", "a\n"), ("b", "b\n"), ("c/d", "d\n")]);
    ends.git(&["branch", "base"]);
    ends.send().await;
    ends.write(&ends.there, "a", "there\n");
    ends.git_there(&["commit", "-qam", "there"]);
    ends.git_there(&["switch", "-qc", "other", "base"]);
    ends.write(&ends.there, "a", "other\n");
    ends.git_there(&["commit", "-qam", "other"]);
    assert!(!git_at(&ends.there.worktree, &["merge", "-q", "main"]).0);
    fs::remove_dir_all(ends.there.worktree.join("c")).unwrap();
    ends.write(&ends.there, "c", "file now\n".repeat(3000));
    ends
}

#[tokio::test]
async fn transfer_cut_after_any_byte_is_repeated() {
    for number in 0..30 {
        let ends = worked().await;
        let at = number * number * 3;
        let cut = transfer(&ends.there, &ends.here, Cut::Pack(at)).await;
        assert!(cut.is_err() || at > 1000, "{at}");
        if cut.is_err() {
            assert!(!ends.here.local_changes().await.unwrap(), "nothing was changed yet");
            assert!(ends.fetch().await);
        }
        ends.assert_same();
    }
}

#[tokio::test]
async fn applying_that_was_cut_goes_on_when_the_store_is_opened() {
    for cut in [Cut::Record, Cut::Files] {
        let ends = worked().await;
        transfer(&ends.there, &ends.here, cut).await.unwrap_err();
        // What a git that was killed leaves.
        fs::write(ends.here.store.join("index.lock"), "").unwrap();
        fs::write(ends.here.git_dir.join("index.lock"), "").unwrap();
        ends.fetch().await;
        ends.assert_same();
    }
}

#[tokio::test]
async fn applying_that_stopped_between_two_files_is_repeated() {
    for step in 0..3 {
        let ends = worked().await;
        transfer(&ends.there, &ends.here, Cut::Record).await.unwrap_err();
        match step {
            0 => fs::write(ends.here.worktree.join("a"), "half").unwrap(),
            1 => {
                fs::remove_dir_all(ends.here.worktree.join("c")).unwrap();
                fs::write(ends.here.git_dir.join("HEAD"), "ref: refs/heads/other\n").unwrap();
            }
            _ => fs::remove_file(ends.here.git_dir.join("index")).unwrap(),
        }
        ends.fetch().await;
        ends.assert_same();
    }
}

#[tokio::test]
async fn store_that_is_lost_is_made_anew() {
    let ends = worked().await;
    fs::remove_dir_all(&ends.here.store).unwrap();
    assert!(ends.here.local_changes().await.unwrap(), "nobody knows what was sent");
    transfer(&ends.there, &ends.here, Cut::Never).await.unwrap();
    ends.assert_same();
    fs::remove_dir_all(&ends.there.store).unwrap();
    ends.write(&ends.here, "a", "here\n");
    ends.send().await;
    assert_eq!(ends.read(&ends.there, "a").unwrap(), "here\n");
}
