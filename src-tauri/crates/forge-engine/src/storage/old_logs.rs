//! Old logs: which may be deleted, by the time at which their tasks were closed; their compression and deletion.
//!
//! An entry of a race is as old as the raced task, whose logs it holds when it won. A log of a hook that was tested
//! without a task is as old as its files.

use std::{
    collections::{BTreeMap, HashMap},
    fs, io,
    path::{Path, PathBuf},
    time::UNIX_EPOCH,
};

use forge_agents::pack_logs;
use forge_model::ids::TaskId;
use forge_model::retention::{Bounds, Counts};
use forge_model::time::Timestamp;
use tokio_util::sync::CancellationToken;

use crate::{EngineError, World, core, error::Result, hook::command::HOOK_TESTS, project};

/// A log, or all logs of a task, that may go.
pub(crate) struct OldLog {
    /// Whose it is, if a task's: its own id, and the raced task's where it is an entry's.
    owners: Vec<TaskId>,
    paths: Vec<PathBuf>,
}

/// When each closed task of a project was closed, by the name of its folder of logs, and whose logs these are.
type Closed = HashMap<String, (Timestamp, Vec<TaskId>)>;

/// The logs that may go within bounds, and how many there are; none when the engine stops meanwhile.
pub(crate) async fn old_logs(world: &World, bounds: Bounds) -> Result<Option<(Vec<OldLog>, Counts)>> {
    let (mut old, mut counts) = (Vec::new(), Counts::default());
    for project in project::command::projects(world).await? {
        let closed = {
            let mut conn = world.store().read().await?;
            let context = core::contexts::context(world, &mut conn, &project.id).await?;
            let closed = context.workflow.states.iter().filter(|state| state.is_terminal());
            let states: Vec<&str> = closed.map(|state| state.name.as_str()).collect();
            conn.tasks().closed(&project.id, &states).await?
        };
        let closed: Closed = closed
            .into_iter()
            .filter(|task| !task.owners().any(|owner| core::workers::is_attended(world, owner)))
            .map(|task| (task.id.to_string(), (task.since, task.owners().cloned().collect())))
            .collect();
        let folder = world.inner.config.data_dir.join("logs").join(project.id.as_str());
        let stopping = world.inner.shutdown.clone();
        let looked = tokio::task::spawn_blocking(move || look(&folder, &closed, bounds, &stopping));
        let looked = looked.await.map_err(io::Error::other).and_then(|looked| looked);
        let Some((found, more)) = looked.map_err(EngineError::io("find old logs"))? else {
            return Ok(None);
        };
        old.extend(found);
        counts = counts.plus(more);
    }
    Ok(Some((old, counts)))
}

/// Compresses logs.
pub(crate) async fn compress_logs(world: &World, old: Vec<OldLog>) {
    for path in old.into_iter().flat_map(|log| log.paths).filter(|path| path.is_dir()) {
        if world.inner.shutdown.is_cancelled() {
            return;
        }
        let (folder, stopping) = (path.clone(), world.inner.shutdown.clone());
        let packed =
            tokio::task::spawn_blocking(move || pack_logs(&folder, || !stopping.is_cancelled())).await;
        match packed.map_err(io::Error::other).and_then(|packed| packed) {
            Ok(0) => {}
            Ok(files) => {
                tracing::info!(path = %path.display(), files, "compressed the logs of a closed task");
            }
            Err(error) => tracing::warn!(path = %path.display(), %error, "failed to compress old logs"),
        }
    }
}

/// Removes logs, unless somebody works on their task again.
pub(crate) async fn remove_logs(world: &World, old: Vec<OldLog>) {
    for OldLog { owners, paths } in old {
        if world.inner.shutdown.is_cancelled() {
            return;
        }
        if owners.iter().any(|owner| core::workers::is_attended(world, owner)) {
            continue;
        }
        for path in paths {
            let shown = path.display().to_string();
            let removed = tokio::task::spawn_blocking(move || remove(&path)).await;
            match removed.map_err(io::Error::other).and_then(|removed| removed) {
                Ok(()) => {
                    tracing::info!(path = %shown, "removed logs of a task that was closed long ago");
                }
                Err(error) => tracing::warn!(%error, path = %shown, "failed to remove old logs"),
            }
        }
    }
}

fn remove(path: &Path) -> io::Result<()> {
    if path.is_dir() { fs::remove_dir_all(path) } else { fs::remove_file(path) }
}

/// Looks through the logs of a project; none when the engine stops meanwhile.
fn look(
    folder: &Path,
    closed: &Closed,
    bounds: Bounds,
    stopping: &CancellationToken,
) -> io::Result<Option<(Vec<OldLog>, Counts)>> {
    let (mut old, mut counts) = (Vec::new(), Counts::default());
    for entry in entries(folder)? {
        if stopping.is_cancelled() {
            return Ok(None);
        }
        let name = entry.file_name().to_string_lossy().into_owned();
        match closed.get(&name) {
            _ if name == HOOK_TESTS => old.extend(look_at_tests(&entry.path(), bounds, &mut counts)?),
            Some((since, owners)) if counts.add(bounds, *since) => {
                old.push(OldLog { owners: owners.clone(), paths: vec![entry.path()] });
            }
            Some(_) => {}
            None => counts.add_young(1),
        }
    }
    Ok(Some((old, counts)))
}

/// Looks through the logs of hooks that were tested, each of which has several files.
fn look_at_tests(folder: &Path, bounds: Bounds, counts: &mut Counts) -> io::Result<Vec<OldLog>> {
    let mut logs: BTreeMap<String, (Timestamp, Vec<PathBuf>)> = BTreeMap::new();
    for entry in entries(folder)? {
        let name = entry.file_name().to_string_lossy().into_owned();
        let log = name.split('.').next().unwrap_or_default().to_owned();
        let made = entry.metadata()?.modified()?.duration_since(UNIX_EPOCH).unwrap_or_default();
        let made = Timestamp(i64::try_from(made.as_millis()).unwrap_or(i64::MAX));
        let (newest, paths) = logs.entry(log).or_insert((made, Vec::new()));
        *newest = made.max(*newest);
        paths.push(entry.path());
    }
    let mut old = Vec::new();
    for (made, paths) in logs.into_values() {
        if counts.add(bounds, made) {
            old.push(OldLog { owners: Vec::new(), paths });
        }
    }
    Ok(old)
}

/// What is in a folder; nothing when there is no such folder.
fn entries(folder: &Path) -> io::Result<Vec<fs::DirEntry>> {
    match fs::read_dir(folder) {
        Ok(entries) => entries.collect(),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn logs_are_as_old_as_their_tasks_and_tests_of_hooks_as_their_files() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["old", "young", "open", "_hooks"] {
            fs::create_dir(folder.path().join(name)).unwrap();
        }
        for name in ["a.jsonl", "a.idx", "b.jsonl"] {
            fs::write(folder.path().join("_hooks").join(name), "").unwrap();
        }
        let now = Timestamp(i64::try_from(UNIX_EPOCH.elapsed().unwrap().as_millis()).unwrap());
        let bounds = Bounds::new(None, now.plus_ms(-60_000));
        let old_file = std::time::SystemTime::now() - std::time::Duration::from_secs(120);
        for name in ["a.jsonl", "a.idx"] {
            let file = fs::File::options().write(true).open(folder.path().join("_hooks").join(name)).unwrap();
            file.set_modified(old_file).unwrap();
        }
        let task = |id: &str, since: Timestamp| (id.to_owned(), (since, vec![TaskId(id.to_owned())]));
        let closed: Closed = [task("old", Timestamp(1)), task("young", now), task("absent", now)].into();
        let stopping = CancellationToken::new();
        let (found, counts) = look(folder.path(), &closed, bounds, &stopping).unwrap().unwrap();
        let mut names: Vec<String> = found
            .iter()
            .flat_map(|log| &log.paths)
            .map(|path| path.strip_prefix(folder.path()).unwrap().to_string_lossy().into_owned())
            .collect();
        names.sort();
        assert_eq!(names, ["_hooks/a.idx", "_hooks/a.jsonl", "old"]);
        assert_eq!(counts, Counts { kept: 0, doomed: 2, total: 5 });
        stopping.cancel();
        assert!(look(folder.path(), &closed, bounds, &stopping).unwrap().is_none());
    }
}
