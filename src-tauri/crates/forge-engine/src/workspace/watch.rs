//! Watching a checkout: a task whose merge waits for local changes continues once they are gone. File events on
//! those files and the index ask again, at most once a second; once a minute on file systems without events.

use std::{
    collections::{BTreeSet, HashMap},
    path::{Path, PathBuf},
    sync::Mutex,
    time::Duration,
};

use forge_model::ids::TaskId;
use notify::{RecursiveMode, Watcher as _};
use tokio::sync::Notify;
use tokio_util::sync::{CancellationToken, DropGuard};

use crate::{
    World,
    core::{self, sync::locked},
};

const AT_MOST_EVERY: Duration = Duration::from_secs(1);
const FALLBACK: Duration = Duration::from_secs(60);

/// The watches of waiting tasks; one each.
#[derive(Debug, Default)]
pub(crate) struct Watches {
    tasks: Mutex<HashMap<TaskId, DropGuard>>,
}

/// Kicks the task when one of `files` (below `root`) or anything directly in `git_dir` changes.
pub(crate) fn watch_checkout(world: &World, task: &TaskId, root: &Path, git_dir: &Path, files: &[String]) {
    watch(world, task, root, git_dir, files, None);
}

/// Kicks the task when a lock file of git's that is in its way is gone.
pub(crate) fn watch_lock_file(world: &World, task: &TaskId, path: &Path) {
    let folder = path.parent().unwrap_or(path);
    watch(world, task, folder, folder, &[], Some(path.to_owned()));
}

fn watch(
    world: &World,
    task: &TaskId,
    root: &Path,
    git_dir: &Path,
    files: &[String],
    until_gone: Option<PathBuf>,
) {
    let mut folders: BTreeSet<PathBuf> = BTreeSet::from([git_dir.to_owned()]);
    for file in files {
        // The folder, not the file: editors replace files, and a deleted one has no events of its own.
        let mut folder = root.join(file);
        while !folder.is_dir() && folder.pop() {}
        folders.insert(folder);
    }
    let cancel = CancellationToken::new();
    let ended = cancel.clone();
    locked(&world.part::<Watches>().tasks).insert(task.clone(), cancel.drop_guard());
    let (world, task) = (world.clone(), task.clone());
    core::guarded::in_background(&world.clone(), async move {
        let changed = std::sync::Arc::new(Notify::new());
        let signal = std::sync::Arc::clone(&changed);
        let watcher = notify::recommended_watcher(move |event: notify::Result<notify::Event>| {
            if event.is_ok_and(|event| !event.kind.is_access()) {
                signal.notify_one();
            }
        });
        let watcher = watcher.and_then(|mut watcher| {
            for folder in &folders {
                watcher.watch(folder, RecursiveMode::NonRecursive)?;
            }
            Ok(watcher)
        });
        if let Err(error) = &watcher {
            tracing::warn!(%error, "no file events for the checkout; asking once a minute");
        }
        if until_gone.is_some_and(|path| !path.exists()) {
            // Gone before there was a watch: no event tells of that.
            core::workers::kick(&world, &task);
        }
        let stop = world.inner.shutdown.clone();
        loop {
            tokio::select! {
                () = ended.cancelled() => return,
                () = stop.cancelled() => return,
                () = changed.notified() => tokio::time::sleep(AT_MOST_EVERY).await,
                () = tokio::time::sleep(FALLBACK) => {}
            }
            core::workers::kick(&world, &task);
        }
    });
}

/// Ends a task's watch.
pub(crate) fn unwatch(world: &World, task: &TaskId) {
    locked(&world.part::<Watches>().tasks).remove(task);
}
