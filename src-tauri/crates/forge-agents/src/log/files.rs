//! The files of a log that is being written: opened for one writer alone, repaired, grown in order.

use std::{
    fs::{self, File},
    io,
    os::unix::fs::FileExt as _,
    path::Path,
};

use super::{
    LogError, Paths,
    index::{self, OFFSET_BYTES, Offsets},
    io as io_error,
    packed::{claim, unpack},
    private::private_file,
    raw::{self, Extent},
};

/// The files, and where each of them ends as far as it is right.
#[derive(Debug)]
pub(super) struct Files {
    pub(super) text: File,
    pub(super) text_end: u64,
    pub(super) index: File,
    pub(super) index_end: u64,
    pub(super) raw: File,
    pub(super) raw_end: Extent,
}

impl Files {
    /// Text first: the index must never point past it. After an error the same bytes can be written again.
    pub(super) fn write_entries(&mut self, lines: &[u8], offsets: &[u8]) -> io::Result<()> {
        self.text.write_all_at(lines, self.text_end)?;
        self.index.write_all_at(offsets, self.index_end)?;
        self.text_end += lines.len() as u64;
        self.index_end += offsets.len() as u64;
        Ok(())
    }
}

/// Opens the files of a log, repairs what a killed writer left, and counts the entries.
pub(super) fn open(paths: &Paths, log_id: &str) -> Result<(Files, u64), LogError> {
    let claim = claim(&paths.lines);
    unpack(&claim).map_err(io_error("decompress", &paths.lines))?;
    let text = private_file(&paths.lines).map_err(io_error("open", &paths.lines))?;
    match text.try_lock() {
        Ok(()) => {}
        Err(fs::TryLockError::WouldBlock) => return Err(LogError::InUse(log_id.to_owned())),
        Err(fs::TryLockError::Error(error)) => return Err(io_error("lock", &paths.lines)(error)),
    }
    drop(claim);
    let index = private_file(&paths.index).map_err(io_error("open", &paths.index))?;
    let raw = private_file(&paths.raw).map_err(io_error("open", &paths.raw))?;
    let offsets = index::survey(&mut &text, Some(&index)).map_err(io_error("read", &paths.lines))?;
    repair_index(&index, &offsets).map_err(io_error("repair", &paths.index))?;
    text.set_len(offsets.end()).map_err(io_error("repair", &paths.lines))?;
    let raw_end = raw::extent(&raw).map_err(io_error("read", &paths.raw))?;
    raw.set_len(raw_end.compressed).map_err(io_error("repair", &paths.raw))?;
    let total = offsets.total();
    let files = Files { text, text_end: offsets.end(), index, index_end: total * OFFSET_BYTES, raw, raw_end };
    Ok((files, total))
}

fn repair_index(index: &File, offsets: &Offsets) -> io::Result<()> {
    let (right, rest) = match offsets {
        Offsets::Stored { stored, more, .. } => (*stored, more),
        Offsets::Rebuilt { all, .. } => (0, all),
    };
    let bytes: Vec<u8> = rest.iter().flat_map(|offset| offset.to_le_bytes()).collect();
    index.set_len(right * OFFSET_BYTES)?;
    index.write_all_at(&bytes, right * OFFSET_BYTES)
}

pub(super) fn folder_bytes(folder: &Path) -> u64 {
    let Ok(entries) = fs::read_dir(folder) else { return 0 };
    entries.filter_map(|entry| entry.ok()?.metadata().ok()).map(|metadata| metadata.len()).sum()
}
