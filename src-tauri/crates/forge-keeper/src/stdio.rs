//! Standard input and output without a thread, where they are pipes or sockets.

use std::{
    io,
    os::fd::{AsFd, OwnedFd},
};

use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::{
        UnixStream,
        unix::pipe::{Receiver, Sender},
    },
};

/// Standard input.
pub(crate) fn stdin() -> io::Result<Box<dyn AsyncRead + Send + Unpin>> {
    let fd = || own(io::stdin());
    if let Ok(pipe) = Receiver::from_owned_fd(fd()?) {
        return Ok(Box::new(pipe));
    }
    Ok(match socket(fd()?) {
        Ok(socket) => Box::new(socket),
        Err(_) => Box::new(tokio::io::stdin()),
    })
}

/// Standard output.
pub(crate) fn stdout() -> io::Result<Box<dyn AsyncWrite + Send + Unpin>> {
    let fd = || own(io::stdout());
    if let Ok(pipe) = Sender::from_owned_fd(fd()?) {
        return Ok(Box::new(pipe));
    }
    Ok(match socket(fd()?) {
        Ok(socket) => Box::new(socket),
        Err(_) => Box::new(tokio::io::stdout()),
    })
}

fn own(stream: impl AsFd) -> io::Result<OwnedFd> {
    stream.as_fd().try_clone_to_owned()
}

fn socket(fd: OwnedFd) -> io::Result<UnixStream> {
    rustix::fs::fstat(&fd).map_err(io::Error::from).and_then(|stat| {
        if rustix::fs::FileType::from_raw_mode(stat.st_mode) == rustix::fs::FileType::Socket {
            Ok(())
        } else {
            Err(io::ErrorKind::InvalidInput.into())
        }
    })?;
    let socket = std::os::unix::net::UnixStream::from(fd);
    socket.set_nonblocking(true)?;
    UnixStream::from_std(socket)
}
