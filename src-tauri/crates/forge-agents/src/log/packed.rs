//! Compressed logs. The text of a log, `L.jsonl`, becomes `L.jsonl.zst` in the seekable format of zstd, so that a page is read
//! without decompressing the rest; each text that was kept apart becomes `<seq>.txt.zst`. The index stays as it is, and the raw
//! bytes are compressed as they are written.
//!
//! Invariants: a log is at its path or compressed beside it, whole, at every moment; where both lie there, the uncompressed one
//! counts. Readers never write. Compressing a log and opening a writer for it exclude each other.

use std::{
    collections::HashSet,
    ffi::OsString,
    fs::{self, File},
    io::{self, Read, Seek},
    path::{Path, PathBuf},
    sync::{Condvar, Mutex, MutexGuard, PoisonError},
    time::SystemTime,
};

use zeekstd::{Decoder, EncodeOptions, FrameSizePolicy};

use super::private::private_file;

/// What is decompressed at least to read one entry.
const FRAME_BYTES: u32 = 256 * 1024;
/// Smaller texts stay as they are: they would hardly take fewer blocks of the disk.
const SMALLEST_BYTES: u64 = 64 * 1024;
/// A writer and a reader may each pass a log between its two forms once while it is opened.
const LOOKS: usize = 3;

/// The logs that are being compressed, or opened for writing.
static CLAIMED: Mutex<Option<HashSet<PathBuf>>> = Mutex::new(None);
static RELEASED: Condvar = Condvar::new();

/// The text of a log, compressed or not.
pub(super) trait Text: Read + Seek {}

impl<T: Read + Seek> Text for T {}

/// The right to change the form of one log, as long as it is held.
pub(super) struct Claim<'a>(&'a Path);

/// Waits for the right to change the form of the log whose text is at `path`.
pub(super) fn claim(path: &Path) -> Claim<'_> {
    let mut claimed = claimed();
    while !claimed.get_or_insert_default().insert(path.to_owned()) {
        claimed = RELEASED.wait(claimed).unwrap_or_else(PoisonError::into_inner);
    }
    Claim(path)
}

impl Drop for Claim<'_> {
    fn drop(&mut self) {
        claimed().get_or_insert_default().remove(self.0);
        RELEASED.notify_all();
    }
}

fn claimed() -> MutexGuard<'static, Option<HashSet<PathBuf>>> {
    CLAIMED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Compresses the logs in a folder, except small ones and those that are being written, while `continues` returns true.
/// Returns the number of compressed files.
///
/// # Errors
/// When a file cannot be read or written; it stays unchanged.
pub fn pack_logs(folder: &Path, continues: impl Fn() -> bool) -> io::Result<usize> {
    let mut packed = 0;
    for path in files_in(folder)? {
        if path.extension().is_none_or(|extension| extension != "jsonl") {
            continue;
        }
        if !continues() {
            break;
        }
        let _claim = claim(&path);
        for leftover in [with_suffix(&path, ".new"), with_suffix(&path, ".zst.new")] {
            remove(&leftover)?;
        }
        // A writer holds this lock while it has the log open.
        let Some(text) = open_file(&path)? else { continue };
        if text.try_lock().is_err() {
            continue;
        }
        for blob in files_in(&path.with_extension("blobs"))? {
            match blob.extension().and_then(|extension| extension.to_str()) {
                Some("txt") => {
                    compress(&blob)?;
                    packed += 1;
                }
                // Left behind by a killed process.
                Some("new") => fs::remove_file(&blob)?,
                _ => {}
            }
        }
        if text.metadata()?.len() >= SMALLEST_BYTES {
            compress(&path)?;
            packed += 1;
        }
    }
    Ok(packed)
}

/// The text of a log for reading; none when there is no such log.
pub(super) fn open_text(path: &Path) -> io::Result<Option<Box<dyn Text>>> {
    for _ in 0..LOOKS {
        if let Some(file) = open_file(path)? {
            return Ok(Some(Box::new(file)));
        }
        if let Some(file) = open_file(&compressed(path))? {
            return Ok(Some(Box::new(Decoder::new(file).map_err(io::Error::other)?)));
        }
    }
    Ok(None)
}

/// When the text of a log was written last; none when there is no such log.
pub(super) fn written_at(path: &Path) -> io::Result<Option<SystemTime>> {
    for form in [path.to_owned(), compressed(path)] {
        if let Some(file) = open_file(&form)? {
            return file.metadata()?.modified().map(Some);
        }
    }
    Ok(None)
}

/// A text that was kept apart; none when there is no such text.
pub(super) fn read_apart(path: &Path) -> io::Result<Option<Vec<u8>>> {
    let Some(mut text) = open_text(path)? else { return Ok(None) };
    let mut content = Vec::new();
    text.read_to_end(&mut content)?;
    Ok(Some(content))
}

/// Brings the text of a log back to its path, where a writer goes on with it.
pub(super) fn unpack(claim: &Claim<'_>) -> io::Result<()> {
    let path = claim.0;
    if path.exists() {
        return Ok(());
    }
    let packed = compressed(path);
    let Some(from) = open_file(&packed)? else { return Ok(()) };
    let mut decoder = Decoder::new(from).map_err(io::Error::other)?;
    replace(path, |into| io::copy(&mut decoder, &mut &*into).map(drop))?;
    fs::remove_file(packed)
}

fn compress(path: &Path) -> io::Result<()> {
    let Some(mut from) = open_file(path)? else { return Ok(()) };
    let modified = from.metadata()?.modified()?;
    replace(&compressed(path), |into| {
        let policy = FrameSizePolicy::Uncompressed(FRAME_BYTES);
        let options = EncodeOptions::new().frame_size_policy(policy);
        let mut encoder = options.into_encoder(into).map_err(io::Error::other)?;
        io::copy(&mut from, &mut encoder)?;
        encoder.finish().map_err(io::Error::other)?;
        into.set_modified(modified)
    })?;
    fs::remove_file(path)
}

/// Writes a file whole or not at all: what it is made of is removed next.
fn replace(path: &Path, write: impl FnOnce(&File) -> io::Result<()>) -> io::Result<()> {
    let fresh = with_suffix(path, ".new");
    let written = private_file(&fresh).and_then(|into| {
        into.set_len(0)?;
        write(&into)?;
        into.sync_all()?;
        fs::rename(&fresh, path)?;
        path.parent().map_or(Ok(()), |folder| File::open(folder)?.sync_all())
    });
    if written.is_err() {
        remove(&fresh)?;
    }
    written
}

fn open_file(path: &Path) -> io::Result<Option<File>> {
    match File::open(path) {
        Ok(file) => Ok(Some(file)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

fn remove(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        Ok(()) | Err(_) => Ok(()),
    }
}

fn files_in(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let entries = match fs::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries?,
    };
    entries.map(|entry| Ok(entry?.path())).collect()
}

fn compressed(path: &Path) -> PathBuf {
    with_suffix(path, ".zst")
}

fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(suffix);
    PathBuf::from(name)
}
