//! The one log: append-only entries, normalised once, with an index for paging and the raw bytes beside.
//!
//! A log with the id `L` in a folder is:
//!
//! | file | holds |
//! |---|---|
//! | `L.jsonl` | one entry a line; line *n* has `seq` *n*. This file is the truth |
//! | `L.idx` | for each entry the offset of its line, 8 bytes, little endian; can be rebuilt |
//! | `L.raw.zst` | the raw bytes as zstd frames, each whole in itself and at most 256 KiB of content |
//! | `L.blobs/<seq>.txt` | text that was too long for the body of entry `seq` |
//!
//! Invariants: an index never points past the text, since text is written first; what a reader has been
//! told of (`LogWriter::follow`) is in the file; a process killed at any moment loses at most what was
//! not written yet (less than 100 ms of entries, a second of raw bytes), and the next writer repairs the
//! tail. Readers never write. Old logs are compressed (`packed`): `L.jsonl.zst` and `L.blobs/<seq>.txt.zst` then. Deliberately
//! absent: `fsync` of what is being written, since a log that loses its end with the machine's power loses nothing that the
//! store does not know.

mod blob;
mod files;
mod index;
mod packed;
mod private;
mod raw;
mod reader;
mod writer;

use std::path::{Path, PathBuf};

pub(crate) use blob::stays_short;
pub use packed::pack_logs;
pub use reader::LogReader;
pub use writer::{LogSummary, LogWriter, NewEntry};

/// The most that a log keeps, unless said otherwise.
pub const DEFAULT_CAP_BYTES: u64 = 256 * 1024 * 1024;

/// The longest text that stays in a body; longer text is kept apart.
pub const MAX_INLINE_TEXT: usize = 64 * 1024;

/// Why a log cannot be written or read.
#[derive(Debug, thiserror::Error)]
pub enum LogError {
    /// The id could leave the folder, or is no file name.
    #[error("could not open log `{0}`: not a log id (letters, digits, `-`, `_` and `.`)")]
    BadId(String),
    /// There is no such log.
    #[error("could not open log `{0}`: it does not exist")]
    NotFound(String),
    /// Another writer, perhaps of another engine, has it open.
    #[error("could not open log `{0}`: another process is writing it")]
    InUse(String),
    /// There is no such text.
    #[error("could not read the text of entry {seq} of log `{log_id}`: it does not exist")]
    NoBlob {
        /// The log.
        log_id: String,
        /// The entry.
        seq: u64,
    },
    /// The system refused.
    #[error("could not {what} {}", path.display())]
    Io {
        /// What was tried.
        what: &'static str,
        /// On which file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
}

/// Attaches to an I/O error what was tried, on which file.
pub(crate) fn io(what: &'static str, path: &Path) -> impl FnOnce(std::io::Error) -> LogError {
    let path = path.to_owned();
    move |source| LogError::Io { what, path, source }
}

/// Where the parts of one log are.
#[derive(Debug, Clone)]
pub(crate) struct Paths {
    pub(crate) lines: PathBuf,
    pub(crate) index: PathBuf,
    pub(crate) raw: PathBuf,
    pub(crate) blobs: PathBuf,
}

impl Paths {
    /// Log ids come from outside: one that could name anything but a file of this folder is refused.
    pub(crate) fn new(dir: &Path, log_id: &str) -> Result<Self, LogError> {
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
        let fits = (1..=200).contains(&log_id.len());
        if !fits || log_id.starts_with('.') || !log_id.bytes().all(is_plain) {
            return Err(LogError::BadId(log_id.to_owned()));
        }
        let part = |extension: &str| dir.join(format!("{log_id}.{extension}"));
        Ok(Self { lines: part("jsonl"), index: part("idx"), raw: part("raw.zst"), blobs: part("blobs") })
    }

    pub(crate) fn blob(&self, seq: u64) -> PathBuf {
        self.blobs.join(format!("{seq}.txt"))
    }
}

#[cfg(test)]
mod tests;
