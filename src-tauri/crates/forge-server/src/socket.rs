//! The socket: a way to the engine that other users of this computer cannot take, and that `ssh` can forward.
//!
//! Invariants: nobody but its owner ever reaches it, also while it is made; a socket that somebody serves at, and a file
//! that is none, are left alone; only the socket that this made is removed.

use std::{
    fs, io,
    os::unix::fs::{FileTypeExt as _, MetadataExt as _, PermissionsExt as _},
    path::{Path, PathBuf},
};

use tokio::net::{UnixListener, UnixSocket, UnixStream};

/// How many connections may wait to be accepted.
const BACKLOG: u32 = 1024;

/// The longest path of a socket, in bytes. Systems take 104 to 108 with the zero at its end.
pub const MAX_SOCKET_PATH: usize = 103;

/// Why there is no socket.
#[derive(Debug, thiserror::Error)]
pub enum SocketError {
    /// Its path is longer than systems allow.
    #[error("Could not listen on {}: the path has {} bytes, and a socket path can have at most {MAX_SOCKET_PATH}", .0.display(), .0.as_os_str().len())]
    TooLong(PathBuf),
    /// Somebody serves there.
    #[error("Could not listen on {}: another program listens there", .0.display())]
    Taken(PathBuf),
    /// Something else has the name.
    #[error("Could not listen on {}: the file there is not a socket", .0.display())]
    NoSocket(PathBuf),
    /// The folder is missing or cannot be written to.
    #[error("Could not listen on {}: {source}", path.display())]
    Io {
        /// Where.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
}

impl SocketError {
    /// What a person can do about it.
    #[must_use]
    pub const fn remedy(&self) -> &'static str {
        match self {
            Self::TooLong(_) => "Choose a shorter path with --socket, such as one below /run/user.",
            Self::Taken(_) => "Stop the program that serves there, or choose another path with --socket.",
            Self::NoSocket(_) => "Choose another path with --socket, or remove the file.",
            Self::Io { .. } => {
                "Make sure that the folder exists and that you can write to it, or choose another path with --socket."
            }
        }
    }
}

/// A socket that is listened at; it is gone when this is dropped.
#[derive(Debug)]
pub struct SocketListener {
    pub(crate) listener: UnixListener,
    file: SocketFile,
}

impl SocketListener {
    /// Listens at a path, for its owner alone. A socket that an earlier program left is replaced.
    ///
    /// # Errors
    /// When somebody serves there, or no socket can be made.
    pub async fn bind(path: &Path) -> Result<Self, SocketError> {
        let io = |source| SocketError::Io { path: path.to_owned(), source };
        if path.as_os_str().len() > MAX_SOCKET_PATH {
            return Err(SocketError::TooLong(path.to_owned()));
        }
        make_way(path).await?;
        let socket = UnixSocket::new_stream().map_err(io)?;
        socket.bind(path).map_err(|source| match source.kind() {
            io::ErrorKind::AddrInUse => SocketError::Taken(path.to_owned()),
            _ => io(source),
        })?;
        let made = fs::symlink_metadata(path).map_err(io)?;
        let file = SocketFile { path: path.to_owned(), identity: (made.dev(), made.ino()) };
        // Nobody can connect before it is listened at.
        fs::set_permissions(path, fs::Permissions::from_mode(0o600)).map_err(io)?;
        let listener = socket.listen(BACKLOG).map_err(io)?;
        Ok(Self { listener, file })
    }

    /// Where it is.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.file.path
    }
}

/// Removes what a program that has ended left there.
async fn make_way(path: &Path) -> Result<(), SocketError> {
    let io = |source| SocketError::Io { path: path.to_owned(), source };
    let there = match fs::symlink_metadata(path) {
        Ok(there) => there,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(io(error)),
    };
    if !there.file_type().is_socket() {
        return Err(SocketError::NoSocket(path.to_owned()));
    }
    match UnixStream::connect(path).await {
        Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => fs::remove_file(path).map_err(io),
        // Whoever serves there may be too busy, or another user's.
        Ok(_) | Err(_) => Err(SocketError::Taken(path.to_owned())),
    }
}

#[derive(Debug)]
struct SocketFile {
    path: PathBuf,
    identity: (u64, u64),
}

impl Drop for SocketFile {
    fn drop(&mut self) {
        let there = fs::symlink_metadata(&self.path);
        if there.is_ok_and(|there| (there.dev(), there.ino()) == self.identity) {
            // One that stays is replaced by the next start.
            let _ = fs::remove_file(&self.path);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn socket_is_its_owners_alone_and_goes_with_its_listener() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("engine.sock");
        let listener = SocketListener::bind(&path).await.unwrap();
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        assert!(matches!(SocketListener::bind(&path).await, Err(SocketError::Taken(_))));
        drop(listener);
        assert!(!path.exists());
    }

    #[tokio::test]
    async fn socket_of_a_dead_program_is_replaced_and_a_file_is_not() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("engine.sock");
        drop(std::os::unix::net::UnixListener::bind(&path).unwrap());
        assert!(path.exists(), "it is left behind");
        let listener = SocketListener::bind(&path).await.unwrap();
        // Whoever replaced it meanwhile keeps theirs.
        fs::remove_file(&path).unwrap();
        fs::write(&path, "mine").unwrap();
        drop(listener);
        assert_eq!(fs::read_to_string(&path).unwrap(), "mine");
        assert!(matches!(SocketListener::bind(&path).await, Err(SocketError::NoSocket(_))));
    }

    #[tokio::test]
    async fn path_that_is_too_long_or_leads_nowhere_is_refused_with_a_remedy() {
        let long = Path::new("/tmp").join("x".repeat(MAX_SOCKET_PATH));
        let refused = SocketListener::bind(&long).await.unwrap_err();
        assert!(matches!(refused, SocketError::TooLong(_)) && refused.to_string().contains("at most 103"));
        let refused = SocketListener::bind(Path::new("/nowhere/engine.sock")).await.unwrap_err();
        assert!(matches!(refused, SocketError::Io { .. }) && refused.remedy().ends_with("--socket."));
    }
}
