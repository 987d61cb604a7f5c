//! The keeper's end: what it runs, who is connected, and when it goes.
//!
//! A connection says who it is and then does one thing: it says that an engine is there, opens or follows one program,
//! or asks for what is kept. A connection that breaks ends nothing.

mod callers;
mod calls;
mod connection;
mod kept;
mod limits;
mod presence;
mod trees;

use std::{
    collections::HashMap,
    fs, io,
    mem::MaybeUninit,
    os::unix::fs::{DirBuilderExt as _, PermissionsExt as _},
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use forge_exec::{Stdin, may_descend_from};
use nix::fcntl::{Flock, FlockArg};
use rustix::{
    fs::inotify::{self, CreateFlags, WatchFlags},
    io::Errno,
};
use tokio::{
    io::{Interest, unix::AsyncFd},
    net::{UnixListener, UnixStream},
    sync::{Semaphore, mpsc, watch},
};

use crate::{
    marks::Marks,
    place::socket_path,
    spool::Caps,
    task::{Input, Spec},
    tools::Secret,
    wire::{Refusal, RunState},
};
use calls::Calls;
use kept::Kept;
use presence::Presence;

/// How long a keeper stays for programs that ended and that no engine asked about.
const LINGER: Duration = Duration::from_secs(7 * 24 * 60 * 60);

/// How long a keeper that has just begun waits for the engine that started it.
const FIRST_ENGINE: Duration = Duration::from_secs(20);

/// How many programs that are kept may be connected at once.
const MAX_PROGRAMS: usize = 256;

/// From the gentle signal to the kill of what has no engine any more.
const ORPHAN_GRACE: Duration = Duration::from_millis(1200);

/// A keeper.
#[derive(Debug, Clone)]
pub struct Server {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    root: PathBuf,
    /// This program, where it is one of its own.
    program: Option<PathBuf>,
    marks: Marks,
    runs: Mutex<HashMap<String, Arc<Kept>>>,
    /// The highest epoch of an engine that was seen, by task.
    epochs: Mutex<HashMap<String, u64>>,
    /// Calls of tools, by the run whose programs call.
    calls: Mutex<HashMap<String, Arc<Calls>>>,
    /// How many programs that are kept here may be connected.
    programs: Arc<Semaphore>,
    presence: Presence,
    /// Bumped when a program ends or is forgotten.
    changed: watch::Sender<u64>,
}

impl Server {
    /// A keeper with what it needs in `root`. Whatever an earlier one left running there is ended.
    ///
    /// # Errors
    /// When the folder cannot be used.
    pub async fn new(root: &Path) -> io::Result<Self> {
        Self::of_program(root, None).await
    }

    async fn of_program(root: &Path, program: Option<PathBuf>) -> io::Result<Self> {
        fs::DirBuilder::new().recursive(true).mode(0o700).create(root)?;
        let marks = Marks::open(root.join("marks"))?;
        marks.sweep_left().await?;
        let shared = Shared {
            root: root.to_owned(),
            program,
            marks,
            runs: Mutex::default(),
            epochs: Mutex::default(),
            calls: Mutex::default(),
            programs: Arc::new(Semaphore::new(MAX_PROGRAMS)),
            presence: Presence::new(FIRST_ENGINE),
            changed: watch::Sender::new(0),
        };
        Ok(Self { shared: Arc::new(shared) })
    }

    /// Serves one connection until the other side goes.
    pub async fn serve(&self, stream: UnixStream) {
        if let Err(error) = connection::serve(&self.shared, stream).await {
            tracing::debug!(%error, "a connection broke");
        }
    }

    /// Serves one connection of a program that is kept here: it may call tools, and nothing else.
    async fn serve_program(&self, stream: UnixStream) {
        let Ok(_place) = Arc::clone(&self.shared.programs).try_acquire_owned() else {
            tracing::warn!("too many programs that are kept here speak with their keeper");
            return;
        };
        if let Err(error) = connection::serve_program(&self.shared, stream).await {
            tracing::debug!(%error, "a connection of a program broke");
        }
    }

    /// Keeps programs for engines that connect to the socket in `root`, until no engine is there and nothing is kept.
    /// `ready` is called once somebody can connect; `program` is this one. Returns at once when another keeper is there.
    ///
    /// # Errors
    /// When the folder or the socket cannot be used.
    pub async fn listen(root: &Path, program: &Path, ready: impl FnOnce()) -> io::Result<()> {
        fs::DirBuilder::new().recursive(true).mode(0o700).create(root)?;
        let lock = fs::OpenOptions::new().create(true).truncate(false).write(true).open(root.join("lock"))?;
        let Ok(_lock) = Flock::lock(lock, FlockArg::LockExclusiveNonblock) else {
            ready();
            return Ok(());
        };
        let server = Self::of_program(root, Some(program.to_owned())).await?;
        let socket = root.join("socket");
        match fs::remove_file(&socket) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let (path, _folder) = socket_path(&socket)?;
        let listener = UnixListener::bind(path)?;
        fs::set_permissions(&socket, fs::Permissions::from_mode(0o600))?;
        ready();
        let attend = async {
            loop {
                match listener.accept().await {
                    Ok((stream, _)) if is_of_a_program(&stream) => {
                        let server = server.clone();
                        tokio::spawn(async move { server.serve_program(stream).await });
                    }
                    Ok((stream, _)) => {
                        let server = server.clone();
                        tokio::spawn(async move { server.serve(stream).await });
                    }
                    Err(error) => {
                        tracing::warn!(%error, "failed to accept a connection");
                        tokio::time::sleep(Duration::from_millis(100)).await;
                    }
                }
            }
        };
        let gone = removed(&socket)?;
        tokio::select! {
            () = server.leave() => {}
            () = attend => {}
            gone = gone => {
                server.shared.end_all().await;
                return gone;
            }
        }
        // Whoever connects from now on finds nobody and starts another keeper.
        fs::remove_file(&socket)
    }

    /// Returns when nothing is left to do here; ends what runs for longer than it may without an engine.
    async fn leave(&self) {
        let shared = &self.shared;
        // The engine that started this keeper is on its way.
        let _ = tokio::time::timeout(FIRST_ENGINE, shared.presence.attended()).await;
        loop {
            let patience = shared.presence.absent().await;
            let nothing_kept = async {
                let mut changed = shared.changed.subscribe();
                while !shared.all().is_empty() {
                    // The sender is this keeper's own.
                    let _ = changed.changed().await;
                }
            };
            let nobody_asks = async {
                tokio::time::sleep(patience).await;
                shared.end_all().await;
                tokio::time::sleep(LINGER).await;
            };
            tokio::select! {
                () = nothing_kept => return,
                () = nobody_asks => return,
                () = shared.presence.attended() => {}
            }
        }
    }
}

/// Whether it is one of the programs that this keeper runs. A confined program cannot look into the keeper's folder, but
/// reaches its socket: what it asks to be started would be free of its sandbox.
fn is_of_a_program(stream: &UnixStream) -> bool {
    let peer = stream.peer_cred().ok().and_then(|peer| peer.pid()).and_then(|pid| u32::try_from(pid).ok());
    peer.is_none_or(|pid| pid != std::process::id() && may_descend_from(pid, std::process::id()))
}

/// Returns when a socket is removed: nobody finds this keeper any more.
fn removed(socket: &Path) -> io::Result<impl Future<Output = io::Result<()>>> {
    let folder = socket.parent().unwrap_or(socket);
    let watch = inotify::init(CreateFlags::NONBLOCK | CreateFlags::CLOEXEC)?;
    inotify::add_watch(&watch, folder, WatchFlags::DELETE | WatchFlags::MOVED_FROM)?;
    #[expect(
        deprecated,
        reason = "its replacement is unsafe code for the sake of handles that lie; this one is owned"
    )]
    let watch = AsyncFd::try_with_interest(watch, Interest::READABLE)?;
    let socket = socket.to_owned();
    Ok(async move {
        while socket.exists() {
            let mut ready = watch.readable().await?;
            let mut buffer = [MaybeUninit::uninit(); 1024];
            match inotify::Reader::new(watch.get_ref(), &mut buffer).next() {
                Err(Errno::AGAIN) => ready.clear_ready(),
                event => {
                    event?;
                }
            }
        }
        Ok(())
    })
}

impl Shared {
    fn runs(&self) -> MutexGuard<'_, HashMap<String, Arc<Kept>>> {
        self.runs.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn all(&self) -> Vec<Arc<Kept>> {
        self.runs().values().cloned().collect()
    }

    /// Ends everything that runs, soon by force.
    async fn end_all(&self) {
        for kept in self.all() {
            kept.stop();
        }
        let gone = async {
            for kept in self.all() {
                kept.ended().await;
            }
        };
        if tokio::time::timeout(ORPHAN_GRACE, gone).await.is_err() {
            for kept in self.all() {
                kept.kill();
            }
            for kept in self.all() {
                kept.ended().await;
            }
        }
    }

    fn states(&self) -> Vec<RunState> {
        self.all().iter().map(|kept| kept.state()).collect()
    }

    /// Notes the epoch of an engine that works on a task.
    fn admit(&self, task: &str, epoch: u64) -> Result<(), Refusal> {
        let mut epochs = self.epochs.lock().unwrap_or_else(PoisonError::into_inner);
        let told = trees::epoch(&self.root, task);
        let highest = epochs.entry(task.to_owned()).or_insert(epoch);
        *highest = told.unwrap_or(0).max(*highest);
        if epoch < *highest {
            return Err(Refusal::OldEpoch);
        }
        *highest = epoch;
        if told.is_some_and(|told| told < epoch) {
            trees::set_epoch(&self.root, task, epoch).map_err(|error| trees::system(&error, &self.root))?;
        }
        Ok(())
    }

    /// Finds a program that was started.
    fn find(&self, id: &str, epoch: u64) -> Result<Arc<Kept>, Refusal> {
        let kept = self.runs().get(id).cloned().ok_or(Refusal::Unknown)?;
        self.admit(&kept.task, epoch)?;
        Ok(kept)
    }

    /// Starts a program unless its id is known. Whether it did.
    fn start(self: &Arc<Self>, spec: Spec, epoch: u64) -> Result<(Arc<Kept>, bool), Refusal> {
        self.admit(&spec.task, epoch)?;
        let mut runs = self.runs();
        if let Some(kept) = runs.get(&spec.id) {
            return Ok((Arc::clone(kept), false));
        }
        let system = |error: io::Error| trees::system(&error, &self.root);
        self.marks.put(&spec.marker).map_err(system)?;
        let (input, stdin) = match spec.input {
            Input::Nothing => (None, Stdin::Null),
            Input::Fed => {
                let (input, stdin) = mpsc::channel(1);
                (Some(input), Stdin::Stream(stdin))
            }
        };
        let calls = spec.tools.as_ref().map(|tools| self.calls_of(&tools.run)).unwrap_or_default();
        let caps = if spec.terminal.is_some() { Caps::TERMINAL } else { Caps::default() };
        let kept = Kept::new(&spec, &self.root, input, caps, calls).map_err(system)?;
        let kept = Arc::new(kept);
        runs.insert(spec.id.clone(), Arc::clone(&kept));
        drop(runs);
        let (shared, running) = (Arc::clone(self), Arc::clone(&kept));
        tokio::spawn(async move {
            running.run(&spec, stdin).await;
            shared.marks.remove(&spec.marker);
            shared.changed.send_modify(|n| *n += 1);
        });
        Ok((kept, true))
    }

    /// Drops a program, once nothing of it runs.
    async fn forget(&self, id: &str, epoch: u64) -> Result<(), Refusal> {
        let kept = match self.find(id, epoch) {
            Err(Refusal::Unknown) => return Ok(()),
            found => found?,
        };
        kept.kill();
        kept.ended().await;
        self.runs().remove(id);
        drop(kept);
        self.drop_calls();
        self.changed.send_modify(|n| *n += 1);
        Ok(())
    }

    /// The program that runs and has this secret.
    fn with_secret(&self, secret: &Secret) -> Option<Arc<Kept>> {
        self.all().into_iter().find(|kept| kept.has_secret(secret))
    }

    /// The calls of a run, whether a program or an engine comes first.
    fn calls_of(&self, run: &str) -> Arc<Calls> {
        let mut calls = self.calls.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(calls.entry(run.to_owned()).or_default())
    }

    /// Drops the calls of runs that have no program any more, and that no engine asks for.
    fn drop_calls(&self) {
        let mut calls = self.calls.lock().unwrap_or_else(PoisonError::into_inner);
        calls.retain(|_, calls| Arc::strong_count(calls) > 1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn own_programs_are_told_from_engines() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("socket");
        let listener = UnixListener::bind(&path).unwrap();
        let _engine = UnixStream::connect(&path).await.unwrap();
        assert!(!is_of_a_program(&listener.accept().await.unwrap().0), "this process itself");
        // A child that a keeper adopted after its parent ended.
        let connect =
            "import socket, sys; s = socket.socket(socket.AF_UNIX); s.connect(sys.argv[1]); sys.stdin.read()";
        let mut child = tokio::process::Command::new("python3")
            .args(["-c", connect])
            .arg(&path)
            .stdin(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        assert!(is_of_a_program(&listener.accept().await.unwrap().0));
        child.kill().await.unwrap();
    }
}
