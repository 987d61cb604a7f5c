//! Copies that are made, pruned and restored in a data folder.

use std::fs::{self, File};
use std::path::Path;

use forge_model::storage::BackupReason;

use super::copies::check;
use super::*;
use crate::Store;

async fn value(store: &Store) -> i64 {
    sqlx::query_scalar("SELECT written_at FROM storage_probe")
        .fetch_one(store.read().await.unwrap().sqlite())
        .await
        .unwrap()
}

#[tokio::test]
async fn copy_is_made_while_a_writer_works_and_holds_what_was_committed() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(folder.path()).await.unwrap();
    store.probe(1).await.unwrap();
    let mut open = store.write().await.unwrap();
    sqlx::query("UPDATE storage_probe SET written_at = 2").execute(open.sqlite()).await.unwrap();
    let backup = store.back_up(BackupReason::Daily).await.unwrap();
    open.commit().await.unwrap();
    assert_eq!(backup.reason, Some(BackupReason::Daily));
    store.probe(3).await.unwrap();
    store.close().await;
    restore_at_next_start(folder.path(), &backup.name).await.unwrap();
    finish_restore(folder.path()).await.unwrap().unwrap();
    let store = Store::open(folder.path()).await.unwrap();
    assert_eq!(value(&store).await, 1);
    assert!(folder.path().join("set-aside/1/forge.db").exists(), "the former database is kept");
    assert_eq!(pending(folder.path()), None);
}

#[tokio::test]
async fn copies_beyond_the_limit_go_oldest_number_first_whatever_the_clock_says() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(folder.path()).await.unwrap();
    for _ in 0..KEPT {
        store.back_up(BackupReason::Daily).await.unwrap();
    }
    // The clock was far ahead when the oldest was made.
    let oldest = folder.path().join("backups/000001-daily.db");
    let ahead = std::time::SystemTime::now() + std::time::Duration::from_secs(1_000_000);
    File::options().write(true).open(&oldest).unwrap().set_modified(ahead).unwrap();
    store.back_up(BackupReason::Manual).await.unwrap();
    let names: Vec<_> = list(folder.path()).unwrap().into_iter().map(|backup| backup.name).collect();
    assert_eq!(names.len(), KEPT);
    assert_eq!(names[0], "000008-manual");
    assert!(!names.contains(&"000001-daily".to_owned()), "{names:?}");
}

#[tokio::test]
async fn restore_refuses_a_damaged_copy_and_a_name_that_leads_elsewhere() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(folder.path()).await.unwrap();
    store.back_up(BackupReason::Manual).await.unwrap();
    fs::write(folder.path().join("backups/000002-daily.db"), vec![b'x'; 8192]).unwrap();
    let damaged = restore_at_next_start(folder.path(), "000002-daily").await.unwrap_err();
    assert!(matches!(damaged, BackupError::Damaged { .. }), "{damaged}");
    let outside = restore_at_next_start(folder.path(), "../forge").await.unwrap_err();
    assert!(matches!(outside, BackupError::Unknown(_)), "{outside}");
    let good = newest_good(folder.path()).await.unwrap().unwrap();
    assert_eq!(good.name, "000001-manual", "the damaged one is skipped");
}

#[tokio::test]
async fn prune_keeps_the_copy_that_the_next_start_restores() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(folder.path()).await.unwrap();
    for _ in 0..KEPT {
        store.back_up(BackupReason::Daily).await.unwrap();
    }
    restore_at_next_start(folder.path(), "000001-daily").await.unwrap();
    for _ in 0..2 {
        store.back_up(BackupReason::Daily).await.unwrap();
    }
    store.close().await;
    let names: Vec<_> = list(folder.path()).unwrap().into_iter().map(|backup| backup.name).collect();
    assert_eq!(names.len(), KEPT + 1);
    assert_eq!(names[KEPT], "000001-daily", "{names:?}");
    assert_eq!(finish_restore(folder.path()).await.unwrap().unwrap().name, "000001-daily");
}

#[tokio::test]
async fn chosen_copy_that_is_gone_or_damaged_leaves_the_present_database_and_is_told() {
    for damages in [false, true] {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(folder.path()).await.unwrap();
        store.probe(1).await.unwrap();
        let backup = store.back_up(BackupReason::Manual).await.unwrap();
        store.probe(2).await.unwrap();
        restore_at_next_start(folder.path(), &backup.name).await.unwrap();
        store.close().await;
        if damages {
            fs::write(&backup.path, vec![b'x'; 8192]).unwrap();
        } else {
            fs::remove_file(&backup.path).unwrap();
        }
        for _ in 0..2 {
            let store = Store::open(folder.path()).await.unwrap();
            assert_eq!(value(&store).await, 2, "the present database was replaced");
            store.close().await;
            assert_eq!(pending(folder.path()), None);
            let said = not_restored(folder.path()).expect("nothing is told");
            assert!(said.contains("000001-manual"), "{said}");
        }
        let store = Store::open(folder.path()).await.unwrap();
        let other = store.back_up(BackupReason::Manual).await.unwrap();
        restore_at_next_start(folder.path(), &other.name).await.unwrap();
        assert_eq!(not_restored(folder.path()), None, "another restore was chosen");
    }
}

#[tokio::test]
async fn copies_that_are_made_at_once_are_whole_and_leave_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(folder.path()).await.unwrap();
    let copies = (0..4).map(|_| store.back_up(BackupReason::Manual));
    for made in futures::future::join_all(copies).await {
        check(Path::new(&made.unwrap().path)).await.unwrap();
    }
    let files = fs::read_dir(folder.path().join("backups")).unwrap().count();
    assert_eq!(files, 4, "something is left beside the copies");
}

#[tokio::test]
async fn unfinished_copy_of_a_killed_process_goes_at_the_next_start() {
    let folder = tempfile::tempdir().unwrap();
    Store::open(folder.path()).await.unwrap().close().await;
    fs::create_dir_all(folder.path().join("backups")).unwrap();
    let left = folder.path().join("backups/.unfinished-4711-0");
    fs::write(&left, b"half").unwrap();
    Store::open(folder.path()).await.unwrap();
    assert!(!left.exists());
}

#[tokio::test]
async fn copy_whose_caller_is_gone_leaves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(folder.path()).await.unwrap();
    let backups = folder.path().join("backups");
    let copy = store.back_up(BackupReason::Manual);
    // Dropped while it is made: its caller has gone.
    assert!(futures::FutureExt::now_or_never(copy).is_none());
    let left: Vec<_> = fs::read_dir(&backups).unwrap().flatten().map(|entry| entry.path()).collect();
    assert!(left.is_empty(), "{left:?}");
}

#[tokio::test]
async fn copies_are_readable_by_their_owner_alone() {
    use std::os::unix::fs::PermissionsExt as _;
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(folder.path()).await.unwrap();
    let backup = store.back_up(BackupReason::Manual).await.unwrap();
    let mode = fs::metadata(&backup.path).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
}
