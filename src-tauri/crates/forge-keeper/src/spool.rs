//! The spool of one program: a file without a name that only grows. Of what a terminal printed only the end is kept: the
//! disk gets the beginning back, and offsets stay as they are.
//!
//! The file has no name, since what a program prints may hold secrets: nobody else can open it, and it goes with the
//! keeper, however that ends.

use std::{
    collections::VecDeque,
    fs::File,
    io,
    os::unix::fs::FileExt as _,
    path::Path,
    sync::{Arc, Mutex as SyncMutex, MutexGuard, PoisonError},
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use rustix::fs::{FallocateFlags, fallocate};
use tokio::sync::{Mutex, watch};
use tokio_util::bytes::Bytes;

use crate::record::{Content, HEADER_BYTES, Record};

/// Writes of at least so many bytes are done on a thread of their own: a disk that is behind holds up nobody else.
const APART_BYTES: usize = 32 * 1024;

/// How far apart the places are at which a spool may start that keeps only the end.
const TRIM_BYTES: u64 = 64 * 1024;

/// How long a disk that refuses is left alone.
const RETRY_EVERY: Duration = Duration::from_millis(500);

/// How much of a program's output is kept. The rest waits in its pipe.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Caps {
    /// In all: a reader that begins again is told everything.
    pub(crate) whole: u64,
    /// What no engine has read yet.
    pub(crate) unread: u64,
    /// Of what was read, so much is kept for an engine that begins again; everything when absent.
    pub(crate) again: Option<u64>,
}

impl Caps {
    /// Those of a terminal, which may print for as long as somebody has it open.
    pub(crate) const TERMINAL: Self = Self { whole: u64::MAX, unread: 4 << 20, again: Some(4 << 20) };
}

impl Default for Caps {
    fn default() -> Self {
        Self { whole: 4 << 30, unread: 256 << 20, again: None }
    }
}

/// What one program printed.
#[derive(Debug)]
pub(crate) struct Spool {
    file: Arc<File>,
    length: watch::Sender<u64>,
    /// Whoever writes has it, so that records do not mix.
    turn: Mutex<()>,
    start: SyncMutex<Start>,
}

/// Where a spool starts that keeps only the end.
#[derive(Debug, Default)]
struct Start {
    at: u64,
    /// Beginnings of records, some way apart, at which it may start later.
    later: VecDeque<u64>,
}

impl Spool {
    pub(crate) fn new(folder: &Path) -> io::Result<Self> {
        Ok(Self {
            file: Arc::new(tempfile::tempfile_in(folder)?),
            length: watch::Sender::new(0),
            turn: Mutex::new(()),
            start: SyncMutex::default(),
        })
    }

    /// How much there is, as it grows.
    pub(crate) fn length(&self) -> watch::Receiver<u64> {
        self.length.subscribe()
    }

    /// Whether a program has printed as much as is kept of one. A disk that is nearly full is waited for; only what is
    /// large may not take more than half of what was free.
    pub(crate) fn is_full(&self, caps: Caps) -> io::Result<bool> {
        let length = *self.length.borrow();
        if caps.again.is_some() {
            return Ok(false);
        }
        if length <= caps.unread {
            return Ok(length >= caps.whole);
        }
        let disk = rustix::fs::fstatvfs(&self.file)?;
        Ok(length >= caps.whole || length > disk.f_bavail.saturating_mul(disk.f_frsize))
    }

    /// Appends a record. Waits while the disk refuses it; `refused` is called each time that it does.
    pub(crate) async fn append(
        &self,
        content: Content<'_>,
        mut refused: impl FnMut() + Send,
    ) -> io::Result<()> {
        let _turn = self.turn.lock().await;
        let record = Record { at_ms: now_ms(), content };
        let mut bytes = Vec::with_capacity(HEADER_BYTES + record.bytes().len());
        bytes.extend_from_slice(&record.header()?);
        bytes.extend_from_slice(record.bytes());
        let at = *self.length.borrow();
        let written = bytes.len() as u64;
        let bytes = Bytes::from(bytes);
        while let Err(error) = self.write(at, &bytes).await {
            tracing::warn!(%error, "the disk refuses the output of a program, which waits");
            refused();
            tokio::time::sleep(RETRY_EVERY).await;
        }
        self.length.send_replace(at + written);
        Ok(())
    }

    fn start(&self) -> MutexGuard<'_, Start> {
        self.start.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Gives back what lies before the last `again` bytes and before what is `read`. Called after each record, with the
    /// offset of its beginning.
    pub(crate) fn trim(&self, record: u64, read: u64, again: u64) {
        let mut start = self.start();
        if start.later.back().is_none_or(|last| last + TRIM_BYTES <= record) {
            start.later.push_back(record);
        }
        let most = self.length.borrow().saturating_sub(again).min(read);
        let mut to = None;
        while let Some(first) = start.later.front().copied().filter(|first| *first <= most) {
            to = Some(first);
            start.later.pop_front();
        }
        let Some(to) = to.filter(|to| *to > start.at) else { return };
        let flags = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
        if let Err(error) = fallocate(&self.file, flags, start.at, to - start.at) {
            tracing::warn!(%error, "the disk keeps what a terminal printed long ago");
        }
        start.at = to;
    }

    async fn write(&self, at: u64, bytes: &Bytes) -> io::Result<()> {
        if bytes.len() < APART_BYTES {
            return self.file.write_all_at(bytes, at);
        }
        let (file, bytes) = (Arc::clone(&self.file), bytes.clone());
        let written = tokio::task::spawn_blocking(move || file.write_all_at(&bytes, at)).await;
        written.map_err(io::Error::other)?
    }

    /// Fills `buffer` with what is at an offset, or behind what is not kept any more. Returns where that is, and how much.
    pub(crate) fn read(&self, from: u64, buffer: &mut [u8]) -> io::Result<(u64, usize)> {
        // Nothing is given back meanwhile.
        let start = self.start();
        let at = from.max(start.at);
        let left = self.length.borrow().saturating_sub(at);
        let length = usize::try_from(left).unwrap_or(usize::MAX).min(buffer.len());
        let Some(wanted) = buffer.get_mut(..length) else { return Ok((at, 0)) };
        self.file.read_exact_at(wanted, at)?;
        Ok((at, length))
    }
}

/// The time, in Unix milliseconds.
fn now_ms() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}
