//! Worktrees of tasks whose programs this keeper runs.
//!
//! `tasks/<task>/` holds the worktree `tree`, the store of its transfers, and the highest epoch that was seen;
//! `mirrors/<project>.git` the objects that tasks of a project share. Nothing of it needs the keeper to run.

use std::{
    ffi::OsString,
    fs, io,
    path::{Path, PathBuf},
    pin::pin,
    sync::Arc,
    time::Duration,
};

use forge_exec::Variables;
use forge_transfer::{Fault, Manner, Side, Snapshot, Store, Tree};
use tokio::time::Instant;

use super::Shared;
use crate::place::far_worktree;
use crate::wire::{
    Ask, FarTreeState, Frame, Refusal, Standing, TaskTree, Tell, Wire, bytes_at, receive as receive_frame,
    refuse, send,
};

/// How often the asker is told that something goes on.
const PULSE: Duration = Duration::from_secs(5);

const EPOCH: &str = "epoch";
const PROJECT: &str = "project";
const GONE: &str = ".gone-";

/// A snapshot that is to come.
pub(super) struct Coming {
    pub(super) place: TaskTree,
    pub(super) manner: Manner,
    pub(super) snapshot: String,
    pub(super) roots: Vec<String>,
}

/// The highest epoch that a task with a worktree has seen, also under an earlier keeper.
pub(super) fn epoch(root: &Path, task: &str) -> Option<u64> {
    is_name(task).then_some(())?;
    fs::read_to_string(folder(root, task).join(EPOCH)).ok()?.trim().parse().ok()
}

pub(super) fn set_epoch(root: &Path, task: &str, epoch: u64) -> io::Result<()> {
    write(&folder(root, task).join(EPOCH), &epoch.to_string())
}

fn write(path: &Path, content: &str) -> io::Result<()> {
    let fresh = path.with_extension("fresh");
    fs::write(&fresh, format!("{content}\n"))?;
    fs::rename(fresh, path)
}

fn folder(root: &Path, task: &str) -> PathBuf {
    root.join("tasks").join(task)
}

/// Whether a name can be that of a folder.
fn is_name(name: &str) -> bool {
    (1..=128).contains(&name.len())
        && !name.starts_with('.')
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b'_'))
}

fn check_name(name: &str) -> Result<(), Refusal> {
    match is_name(name) {
        true => Ok(()),
        false => Err(Refusal::Misunderstood(format!("`{name}` can be no folder"))),
    }
}

/// What the system refused, with the remedy for a full disk.
pub(super) fn system(error: &io::Error, path: &Path) -> Refusal {
    match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
            Refusal::Transfer(Fault::DiskFull { path: path.display().to_string() })
        }
        _ => Refusal::System(error.to_string()),
    }
}

impl Shared {
    fn tree(&self, place: &TaskTree, manner: Option<Manner>) -> Tree {
        let folder = folder(&self.root, &place.task);
        let mirror = self.root.join("mirrors").join(format!("{}.git", place.project));
        let environment: Variables = place.environment.iter().cloned().collect();
        Tree {
            worktree: far_worktree(&self.root, &place.task),
            git_dir: folder.join("tree/.git"),
            store: folder.join("store"),
            objects: Vec::new(),
            program: OsString::from("git"),
            environment: Arc::new(environment),
            manner,
            side: Side::Far { mirror },
        }
    }

    /// Admits an engine to a task's worktree.
    fn admit_to(&self, place: &TaskTree, epoch: u64) -> Result<(), Refusal> {
        check_name(&place.task)?;
        check_name(&place.project)?;
        self.admit(&place.task, epoch)
    }

    fn is_busy(&self, task: &str) -> bool {
        self.all().iter().any(|kept| kept.task == task && kept.end().borrow().is_none())
    }

    fn has_tree(&self, task: &str) -> bool {
        folder(&self.root, task).join("store/HEAD").exists()
    }
}

/// Waits for work, and tells the asker meanwhile that it goes on.
async fn working<T>(wire: &mut Wire, work: impl Future<Output = T>) -> io::Result<T> {
    let mut work = pin!(work);
    let mut pulse = tokio::time::interval_at(Instant::now() + PULSE, PULSE);
    loop {
        tokio::select! {
            done = &mut work => return Ok(done),
            _ = pulse.tick() => send(wire, &Tell::Working).await?,
        }
    }
}

/// Says what a task's worktree holds.
pub(super) async fn stand(shared: &Shared, wire: &mut Wire, place: &TaskTree, epoch: u64) -> io::Result<()> {
    let stands = async {
        shared.admit_to(place, epoch)?;
        let tree = shared.tree(place, None);
        let path = tree.worktree.clone();
        if !shared.has_tree(&place.task) {
            // What other tasks of the project brought need not be sent.
            let haves = tree.tips().map_err(Refusal::Transfer)?;
            return Ok(Standing { path, holds: None, haves });
        }
        let store = tree.open().await.map_err(Refusal::Transfer)?;
        let mut haves = store.haves().await.map_err(Refusal::Transfer)?;
        haves.extend(store.tips().map_err(Refusal::Transfer)?);
        Ok(Standing { path, holds: store.held(), haves })
    };
    match working(wire, stands).await? {
        Ok(standing) => send(wire, &Tell::Stands(standing)).await,
        Err(refusal) => refuse(wire, refusal).await,
    }
}

/// Takes a snapshot that comes, and makes the worktree as it says.
pub(super) async fn receive(shared: &Shared, wire: &mut Wire, it: Coming, epoch: u64) -> io::Result<()> {
    let opened = async {
        shared.admit_to(&it.place, epoch)?;
        if shared.is_busy(&it.place.task) {
            return Err(Refusal::Transfer(Fault::Busy));
        }
        let folder = folder(&shared.root, &it.place.task);
        fs::create_dir_all(&folder).map_err(|error| system(&error, &shared.root))?;
        write(&folder.join(PROJECT), &it.place.project).map_err(|error| system(&error, &shared.root))?;
        set_epoch(&shared.root, &it.place.task, epoch).map_err(|error| system(&error, &shared.root))?;
        let tree = shared.tree(&it.place, Some(it.manner));
        let store = tree.open().await.map_err(Refusal::Transfer)?;
        let unpacking = store.unpack().await.map_err(Refusal::Transfer)?;
        Ok((store, unpacking))
    };
    let (store, mut unpacking) = match working(wire, opened).await? {
        Ok(opened) => opened,
        Err(refusal) => return refuse(wire, refusal).await,
    };
    // The asker sends now, and not before: what it is refused for costs nothing.
    send(wire, &Tell::Working).await?;
    loop {
        let written = match receive_frame::<Ask>(wire).await? {
            Some(Frame::Bytes { bytes, .. }) => working(wire, unpacking.write(&bytes)).await?,
            Some(Frame::Message(Ask::EndInput { .. })) => break,
            Some(Frame::Message(_)) => Err(Fault::Damaged { what: "something else came".to_owned() }),
            None => return Ok(()),
        };
        if let Err(fault) = written {
            return refuse(wire, Refusal::Transfer(fault)).await;
        }
    }
    let applied = async {
        unpacking.finish().await?;
        // What the mirror remembers is looked at by itself.
        let (applied, remembered) =
            tokio::join!(Box::pin(store.apply(&it.snapshot)), Box::pin(store.remember_tips(&it.roots)));
        applied.and(remembered)
    };
    match working(wire, applied).await? {
        Ok(()) => send(wire, &Tell::Done).await,
        Err(fault) => refuse(wire, Refusal::Transfer(fault)).await,
    }
}

/// Takes a snapshot of a worktree, and tells it.
pub(super) async fn collect(
    shared: &Shared,
    wire: &mut Wire,
    place: &TaskTree,
    haves: &[String],
    epoch: u64,
) -> io::Result<()> {
    let taken = async {
        let store = open(shared, place, epoch).await?;
        let snapshot = store.snapshot().await.map_err(Refusal::Transfer)?;
        store.hold(&snapshot).map_err(Refusal::Transfer)?;
        Ok((store, snapshot))
    };
    match working(wire, taken).await? {
        Ok((store, snapshot)) => tell(wire, &store, snapshot, haves).await,
        Err(refusal) => refuse(wire, refusal).await,
    }
}

/// Takes a snapshot of a worktree in which programs may be at work, and tells it. Nobody has to come back for it.
pub(super) async fn look(
    shared: &Shared,
    wire: &mut Wire,
    place: &TaskTree,
    haves: &[String],
    epoch: u64,
) -> io::Result<()> {
    let taken = async {
        let store = open(shared, place, epoch).await?;
        let snapshot = store.snapshot_amid_writes().await.map_err(Refusal::Transfer)?;
        Ok((store, snapshot))
    };
    match working(wire, taken).await? {
        Ok((store, snapshot)) => tell(wire, &store, snapshot, haves).await,
        Err(refusal) => refuse(wire, refusal).await,
    }
}

/// The store of a worktree that is here.
async fn open(shared: &Shared, place: &TaskTree, epoch: u64) -> Result<Store, Refusal> {
    shared.admit_to(place, epoch)?;
    if !shared.has_tree(&place.task) {
        return Err(Refusal::Transfer(Fault::NoTree));
    }
    shared.tree(place, None).open().await.map_err(Refusal::Transfer)
}

/// Tells a snapshot, less what the asker has.
async fn tell(wire: &mut Wire, store: &Store, snapshot: Snapshot, haves: &[String]) -> io::Result<()> {
    let follows = !haves.contains(&snapshot.id);
    let Snapshot { id, roots, left_out, .. } = snapshot.clone();
    send(wire, &Tell::Collected { snapshot: id, roots, left_out, follows }).await?;
    if !follows {
        return Ok(());
    }
    let mut packing = match working(wire, store.pack(&snapshot, haves)).await? {
        Ok(packing) => packing,
        Err(fault) => return refuse(wire, Refusal::Transfer(fault)).await,
    };
    let mut offset = 0;
    loop {
        match working(wire, packing.chunk()).await? {
            Ok(Some(chunk)) => {
                futures::SinkExt::send(wire, bytes_at(offset, &chunk)).await?;
                offset += chunk.len() as u64;
            }
            Ok(None) => return send(wire, &Tell::Done).await,
            Err(fault) => return refuse(wire, Refusal::Transfer(fault)).await,
        }
    }
}

/// Removes a task's worktree with all that is kept of it.
pub(super) async fn remove(shared: &Shared, wire: &mut Wire, task: &str, epoch: u64) -> io::Result<()> {
    let removed = async {
        check_name(task)?;
        shared.admit(task, epoch)?;
        if shared.is_busy(task) {
            return Err(Refusal::Transfer(Fault::Busy));
        }
        let (from, root) = (folder(&shared.root, task), shared.root.join("tasks"));
        let gone = root.join(format!("{GONE}{task}"));
        let remove = move || -> io::Result<()> {
            // An earlier attempt may have been cut short.
            forge_transfer::remove_folder(&gone)?;
            match fs::rename(&from, &gone) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
                renamed => renamed.and_then(|()| forge_transfer::remove_folder(&gone)),
            }
        };
        let removed = tokio::task::spawn_blocking(remove).await;
        removed.map_err(io::Error::from).and_then(|done| done).map_err(|error| system(&error, &shared.root))
    };
    match working(wire, removed).await? {
        Ok(()) => send(wire, &Tell::Done).await,
        Err(refusal) => refuse(wire, refusal).await,
    }
}

/// Tells which tasks have worktrees.
pub(super) async fn list(shared: &Shared, wire: &mut Wire, sizes: bool) -> io::Result<()> {
    let root = shared.root.clone();
    let look = tokio::task::spawn_blocking(move || {
        let mut found = Vec::new();
        let Ok(entries) = fs::read_dir(root.join("tasks")) else { return found };
        for entry in entries.flatten() {
            let Ok(task) = entry.file_name().into_string() else { continue };
            if is_name(&task) {
                let project = fs::read_to_string(entry.path().join(PROJECT)).unwrap_or_default();
                let bytes = sizes.then(|| forge_transfer::disk_usage(&entry.path()));
                found.push(FarTreeState { task, project: project.trim().to_owned(), bytes });
            }
        }
        found.sort_by(|one, other| one.task.cmp(&other.task));
        found
    });
    let found = working(wire, look).await?.map_err(io::Error::from)?;
    send(wire, &Tell::Trees(found)).await
}
