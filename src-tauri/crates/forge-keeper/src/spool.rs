//! The spool of one program: files without a name that only grow. Of what a terminal printed only the end is kept: it
//! lies in several files, of which the oldest goes when what follows is enough, and offsets stay as they are.
//!
//! The files have no name, since what a program prints may hold secrets: nobody else can open them, and they go with
//! the keeper, however that ends.

use std::{
    collections::VecDeque,
    fs::File,
    io,
    os::unix::fs::FileExt as _,
    path::{Path, PathBuf},
    sync::{Arc, Mutex as SyncMutex, MutexGuard, PoisonError},
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use tokio::sync::{Mutex, watch};
use tokio_util::bytes::Bytes;

use crate::record::{Content, HEADER_BYTES, Record};

/// Writes of at least so many bytes are done on a thread of their own: a disk that is behind holds up nobody else.
const APART_BYTES: usize = 32 * 1024;

/// How large a file becomes of a spool that keeps only the end, before the next begins.
const SEGMENT_BYTES: u64 = 1 << 20;

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
    folder: PathBuf,
    segments: SyncMutex<Segments>,
    length: watch::Sender<u64>,
    /// Whoever writes has it, so that records do not mix.
    turn: Mutex<()>,
}

/// Records that follow one another in one file. A record is whole in one of them.
#[derive(Debug, Clone)]
struct Segment {
    /// The offset of its first byte.
    from: u64,
    file: Arc<File>,
}

/// What is kept, oldest first.
#[derive(Debug)]
struct Segments {
    older: VecDeque<Segment>,
    /// The one that is written.
    last: Segment,
}

impl Segments {
    /// Where what is kept begins.
    fn start(&self) -> u64 {
        self.older.front().unwrap_or(&self.last).from
    }

    /// The one that has an offset, and where it ends unless it is still written.
    fn having(&self, at: u64) -> (Segment, Option<u64>) {
        let next = self.older.partition_point(|segment| segment.from <= at);
        match next.checked_sub(1).and_then(|index| self.older.get(index)) {
            Some(segment) if at < self.last.from => {
                (segment.clone(), Some(self.older.get(next).unwrap_or(&self.last).from))
            }
            _ => (self.last.clone(), None),
        }
    }
}

impl Segment {
    fn new(folder: &Path, from: u64) -> io::Result<Self> {
        Ok(Self { from, file: Arc::new(tempfile::tempfile_in(folder)?) })
    }
}

impl Spool {
    pub(crate) fn new(folder: &Path) -> io::Result<Self> {
        Ok(Self {
            folder: folder.to_owned(),
            segments: SyncMutex::new(Segments { older: VecDeque::new(), last: Segment::new(folder, 0)? }),
            length: watch::Sender::new(0),
            turn: Mutex::new(()),
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
        let disk = rustix::fs::fstatvfs(&self.segments().last.file)?;
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

    /// Drops what lies before the last `again` bytes and before what is `read`, by whole files. Called after each
    /// record.
    pub(crate) async fn trim(&self, read: u64, again: u64) -> io::Result<()> {
        let _turn = self.turn.lock().await;
        let length = *self.length.borrow();
        let most = length.saturating_sub(again).min(read);
        let is_done = length - self.segments().last.from >= SEGMENT_BYTES;
        let next = is_done.then(|| Segment::new(&self.folder, length)).transpose()?;
        let mut segments = self.segments();
        if let Some(next) = next {
            let done = std::mem::replace(&mut segments.last, next);
            segments.older.push_back(done);
        }
        while !segments.older.is_empty() && segments.older.get(1).unwrap_or(&segments.last).from <= most {
            segments.older.pop_front();
        }
        Ok(())
    }

    fn segments(&self) -> MutexGuard<'_, Segments> {
        self.segments.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn write(&self, at: u64, bytes: &Bytes) -> io::Result<()> {
        let Segment { from, file } = self.segments().last.clone();
        if bytes.len() < APART_BYTES {
            return file.write_all_at(bytes, at - from);
        }
        let bytes = bytes.clone();
        let written = tokio::task::spawn_blocking(move || file.write_all_at(&bytes, at - from)).await;
        written.map_err(io::Error::other)?
    }

    /// Fills `buffer` with what is at an offset, or behind what is not kept any more, to the end of a file at most.
    /// Returns where that is, and how much.
    pub(crate) fn read(&self, from: u64, buffer: &mut [u8]) -> io::Result<(u64, usize)> {
        let length = *self.length.borrow();
        let (at, (segment, end)) = {
            let segments = self.segments();
            let at = from.max(segments.start());
            (at, segments.having(at))
        };
        let left = end.unwrap_or(length).min(length).saturating_sub(at);
        let left = usize::try_from(left).unwrap_or(usize::MAX).min(buffer.len());
        let Some(wanted) = buffer.get_mut(..left) else { return Ok((at, 0)) };
        segment.file.read_exact_at(wanted, at - segment.from)?;
        Ok((at, left))
    }
}

/// The time, in Unix milliseconds.
fn now_ms() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}
