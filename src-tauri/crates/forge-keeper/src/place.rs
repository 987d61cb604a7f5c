//! Where a keeper is, and the way to its socket.

use std::{
    fmt,
    fs::File,
    io,
    os::fd::AsRawFd as _,
    path::{Path, PathBuf},
    sync::Arc,
};

use async_trait::async_trait;

use crate::wire::BoxedStream;

/// The longest path of a socket that every system takes.
const MAX_SOCKET_PATH: usize = 100;

/// What an engine's programs are kept by.
#[derive(Debug, Clone)]
pub enum Place {
    /// A process of its own, started by this program when there is none. It outlives the engine.
    Program(PathBuf),
    /// This process, in which programs end with it.
    Within,
    /// A process on another machine. It outlives the engine and every connection to it.
    Far(Arc<dyn Connector>),
}

/// The way to a keeper on another machine.
#[async_trait]
pub trait Connector: fmt::Debug + Send + Sync {
    /// Opens a stream to the keeper there, which is started when there is none.
    ///
    /// # Errors
    /// When the machine cannot be reached now.
    async fn connect(&self) -> io::Result<BoxedStream>;

    /// Returns when the machine can be reached, however long that takes.
    async fn reachable(&self);
}

impl PartialEq for Place {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Program(one), Self::Program(other)) => one == other,
            (Self::Within, Self::Within) => true,
            (Self::Far(one), Self::Far(other)) => Arc::ptr_eq(one, other),
            _ => false,
        }
    }
}

impl Eq for Place {}

impl Place {
    /// The keeper in the folder of a program. Where there is none, programs are kept by that program itself and end
    /// with it.
    #[must_use]
    pub fn beside(program: &Path) -> Self {
        let keeper = program.with_file_name("forge-keeper");
        if keeper.is_file() {
            return Self::Program(keeper);
        }
        tracing::warn!(path = %keeper.display(), "the keeper is missing: agents end with this program, however it ends");
        Self::Within
    }
}

/// The path by which a socket is reached, however long its own is. It holds while the folder that comes with it is
/// open.
pub(crate) fn socket_path(socket: &Path) -> io::Result<(PathBuf, Option<File>)> {
    if socket.as_os_str().len() <= MAX_SOCKET_PATH {
        return Ok((socket.to_owned(), None));
    }
    let (Some(folder), Some(name)) = (socket.parent(), socket.file_name()) else {
        return Err(io::ErrorKind::InvalidInput.into());
    };
    let folder = File::open(folder)?;
    let path = Path::new("/proc/self/fd").join(folder.as_raw_fd().to_string()).join(name);
    Ok((path, Some(folder)))
}

/// Where a keeper in a folder has the worktree of a task.
#[must_use]
pub fn far_worktree(keepers_folder: &Path, task: &str) -> PathBuf {
    keepers_folder.join("tasks").join(task).join("tree")
}
