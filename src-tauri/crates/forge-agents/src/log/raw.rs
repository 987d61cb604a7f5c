//! The raw bytes, compressed in frames that stand alone: a torn last frame costs itself and nothing else.

use std::{
    fs::File,
    io::{self, Read as _, Seek as _, SeekFrom, Write as _},
};

use zstd::{bulk, zstd_safe};

/// The most content of one frame. What is not in a frame yet is lost with the process.
pub(super) const FRAME_BYTES: usize = 256 * 1024;

/// Fast, and for logs nearly as small as the levels above.
const LEVEL: i32 = 1;

/// The most that a whole frame takes; a frame that claims more is not ours.
const MAX_COMPRESSED: usize = 2 * FRAME_BYTES;

/// Where whole frames end: in the file, and in the content.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Extent {
    pub(super) compressed: u64,
    pub(super) content: u64,
}

/// Appends content as frames at `at`. On an error the file may have grown beyond `at`; the next call
/// writes over it.
pub(super) fn append(file: &File, at: Extent, content: &[u8]) -> io::Result<Extent> {
    let mut frames = Vec::new();
    let mut compressor = bulk::Compressor::new(LEVEL)?;
    for chunk in content.chunks(FRAME_BYTES) {
        frames.extend(compressor.compress(chunk)?);
    }
    let mut file = file;
    file.seek(SeekFrom::Start(at.compressed))?;
    file.write_all(&frames)?;
    Ok(Extent { compressed: at.compressed + frames.len() as u64, content: at.content + content.len() as u64 })
}

/// Walks the frames by their headers, without decompressing.
pub(super) fn extent(file: &File) -> io::Result<Extent> {
    let mut extent = Extent::default();
    walk(file, |_, size| {
        extent.content += size.content;
        extent.compressed += size.compressed;
        Ok(true)
    })?;
    Ok(extent)
}

/// Reads content from `offset` on, at most `limit` bytes. Stops quietly at a torn frame: it is the end.
pub(super) fn read(file: &File, offset: u64, limit: usize) -> io::Result<Vec<u8>> {
    let mut taken = Vec::new();
    let mut at = 0;
    walk(file, |frame, size| {
        let end = at + size.content;
        if end > offset {
            let content = bulk::decompress(frame, FRAME_BYTES)?;
            let skip = usize::try_from(offset.saturating_sub(at)).map_err(io::Error::other)?;
            let rest = content.get(skip..).unwrap_or_default();
            let room = limit - taken.len();
            taken.extend_from_slice(rest.get(..rest.len().min(room)).unwrap_or_default());
        }
        at = end;
        Ok(taken.len() < limit)
    })?;
    Ok(taken)
}

/// Gives each whole frame to `visit`, until it says enough.
fn walk(file: &File, mut visit: impl FnMut(&[u8], Extent) -> io::Result<bool>) -> io::Result<()> {
    let mut file = file;
    file.seek(SeekFrom::Start(0))?;
    let mut buffer: Vec<u8> = Vec::new();
    loop {
        let wanted = MAX_COMPRESSED.saturating_sub(buffer.len()) as u64;
        file.take(wanted).read_to_end(&mut buffer)?;
        let mut used = 0;
        while let Some(size) = frame_at(buffer.get(used..).unwrap_or_default()) {
            let length = usize::try_from(size.compressed).map_err(io::Error::other)?;
            if !visit(buffer.get(used..used + length).unwrap_or_default(), size)? {
                return Ok(());
            }
            used += length;
        }
        if used == 0 {
            return Ok(());
        }
        buffer.drain(..used);
    }
}

fn frame_at(bytes: &[u8]) -> Option<Extent> {
    let compressed = zstd_safe::find_frame_compressed_size(bytes).ok()? as u64;
    let content = zstd_safe::get_frame_content_size(bytes).ok()??;
    (compressed > 0 && content <= FRAME_BYTES as u64).then_some(Extent { compressed, content })
}
