//! Pseudo-terminals: what a shell is started in that a person types to.
//!
//! A program in a terminal leads a session of its own, which has the terminal as its controlling one, so that it can put
//! jobs in the foreground and `Ctrl+C` reaches them. What it prints, and what it is to read, go through the other end of
//! the terminal, which [`run`](crate::run()) has. The program is started as every other one: by its marker, in its
//! environment and its sandbox. A library that opens terminals starts programs in its own way, hence not by one.

use std::{
    io,
    os::fd::OwnedFd,
    pin::Pin,
    process::Stdio,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    task::{Context, Poll, ready},
};

use rustix::{
    fs::{OFlags, fcntl_getfl, fcntl_setfl},
    io::Errno,
    pty::{OpenptFlags, grantpt, ioctl_tiocgptpeer, openpt, unlockpt},
    termios::{Winsize, tcgetpgrp, tcsetwinsize},
};
use serde::{Deserialize, Serialize};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf, unix::AsyncFd};

use crate::{
    NamedProcess,
    proc::{all_processes, comm_of},
};

/// How large a terminal is, in characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct TerminalSize {
    /// Characters in a line.
    pub columns: u16,
    /// Lines.
    pub rows: u16,
}

/// A terminal for one program. It is opened when the program starts; clones are the same terminal.
#[derive(Debug, Clone)]
pub struct Terminal(Arc<Mutex<State>>);

#[derive(Debug)]
struct State {
    size: TerminalSize,
    /// Our end, while the program runs.
    own_end: Option<OwnEnd>,
}

impl Terminal {
    /// A terminal of a size.
    #[must_use]
    pub fn new(size: TerminalSize) -> Self {
        Self(Arc::new(Mutex::new(State { size, own_end: None })))
    }

    /// How large it is.
    #[must_use]
    pub fn size(&self) -> TerminalSize {
        self.state().size
    }

    /// Gives it another size, of which the program in the foreground is told.
    ///
    /// # Errors
    /// When the system refuses.
    pub fn resize(&self, size: TerminalSize) -> io::Result<()> {
        let mut state = self.state();
        state.size = size;
        match &state.own_end {
            Some(end) => Ok(tcsetwinsize(end.0.get_ref(), winsize(size))?),
            None => Ok(()),
        }
    }

    /// The program in the foreground, unless it is the one that was started in the terminal, or none is.
    #[must_use]
    pub fn foreground(&self, started: u32) -> Option<NamedProcess> {
        let group = tcgetpgrp(self.state().own_end.as_ref()?.0.get_ref()).ok()?;
        let group = u32::try_from(group.as_raw_nonzero().get()).ok()?;
        if group == started {
            return None;
        }
        // The first program of a pipe may have ended before the others.
        let is_member =
            |(pid, stat): (u32, crate::proc::Stat)| (stat.group == group && !stat.is_dead()).then_some(pid);
        let pid = all_processes().into_iter().find_map(is_member)?;
        Some(NamedProcess { pid, name: comm_of(pid) })
    }

    /// Opens it: our end, and the program's end for its input, its output and its errors.
    pub(crate) fn open(&self) -> io::Result<(OwnEnd, [Stdio; 3])> {
        let mut state = self.state();
        let own = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC)?;
        grantpt(&own)?;
        unlockpt(&own)?;
        fcntl_setfl(&own, fcntl_getfl(&own)? | OFlags::NONBLOCK)?;
        tcsetwinsize(&own, winsize(state.size))?;
        let theirs = ioctl_tiocgptpeer(&own, OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC)?;
        let ends = [theirs.try_clone()?.into(), theirs.try_clone()?.into(), theirs.into()];
        #[expect(
            deprecated,
            reason = "its replacement is unsafe code for the sake of handles that lie; this one is owned"
        )]
        let end = OwnEnd(Arc::new(AsyncFd::new(own)?));
        state.own_end = Some(end.clone());
        Ok((end, ends))
    }

    /// The program is gone.
    pub(crate) fn close(&self) {
        self.state().own_end = None;
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

const fn winsize(size: TerminalSize) -> Winsize {
    Winsize { ws_row: size.rows, ws_col: size.columns, ws_xpixel: 0, ws_ypixel: 0 }
}

/// Our end of a terminal: what the program prints is read from it, and what the program is to read is written to it.
#[derive(Debug, Clone)]
pub(crate) struct OwnEnd(Arc<AsyncFd<OwnedFd>>);

impl AsyncRead for OwnEnd {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, into: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        loop {
            let mut guard = ready!(self.0.poll_read_ready(cx))?;
            let unfilled = into.initialize_unfilled();
            match guard.try_io(|end| rustix::io::read(end.get_ref(), &mut *unfilled).map_err(io::Error::from))
            {
                // No program has the other end open any more.
                Ok(Err(error)) if error.raw_os_error() == Some(Errno::IO.raw_os_error()) => {
                    return Poll::Ready(Ok(()));
                }
                Ok(read) => {
                    into.advance(read?);
                    return Poll::Ready(Ok(()));
                }
                Err(_would_block) => {}
            }
        }
    }
}

impl AsyncWrite for OwnEnd {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        loop {
            let mut guard = ready!(self.0.poll_write_ready(cx))?;
            let written =
                guard.try_io(|end| rustix::io::write(end.get_ref(), bytes).map_err(io::Error::from));
            if let Ok(written) = written {
                return Poll::Ready(written);
            }
        }
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}
