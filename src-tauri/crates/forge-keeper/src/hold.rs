//! `forge-keeper hold`: the first process of a container that exists for as long as nobody removes it.
//!
//! It needs nothing of the container's image, and does what a first process has to: it takes the ends of processes that
//! lost their parents, and ends when it is asked to.

use std::io;

use nix::{
    errno::Errno,
    sys::{
        signal::{SigSet, Signal},
        wait::{WaitPidFlag, WaitStatus, waitpid},
    },
};

/// Waits until this process is asked to end.
///
/// # Errors
/// When signals cannot be waited for.
pub fn hold() -> io::Result<()> {
    let mut awaited = SigSet::empty();
    [Signal::SIGCHLD, Signal::SIGTERM, Signal::SIGINT].into_iter().for_each(|signal| awaited.add(signal));
    awaited.thread_block()?;
    loop {
        match awaited.wait()? {
            Signal::SIGCHLD => take_ends(),
            _ => return Ok(()),
        }
    }
}

/// One signal may stand for many ends.
fn take_ends() {
    loop {
        match waitpid(None, Some(WaitPidFlag::WNOHANG)) {
            Ok(WaitStatus::StillAlive) | Err(Errno::ECHILD) => return,
            Ok(_) | Err(Errno::EINTR) => {}
            Err(error) => {
                tracing::debug!(%error, "failed to take the end of a process");
                return;
            }
        }
    }
}
