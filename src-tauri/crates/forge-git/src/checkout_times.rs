//! Making git trust the files of a worktree that was just checked out.
//!
//! git compares times in seconds. A file as young as its index could have been changed right after git looked,
//! so until the index is written in a later second every status, add and commit reads such files whole: with
//! 5,000 of them that costs more than the checkout. Here the files are dated back by one second, and the index
//! is told. Whoever changes one gives it a time of now or later, which is another second than the recorded one:
//! nothing is taken on trust that git could not have seen.
//!
//! Only the times in the index change, in their place; every other byte stays, and the checksum is made anew.
//! A file counts as unchanged when times (to the nanosecond), size, inode and mode are those that git recorded,
//! and the time is before that of the index: what was written after git closed the index cannot be.

use std::ffi::CStr;
use std::fs;
use std::io::Write as _;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use nix::fcntl::AtFlags;
use nix::sys::stat::{FileStat, UtimensatFlags, fstatat, utimensat};
use nix::sys::time::TimeSpec;
use sha1::{Digest as _, Sha1};

use crate::error::GitError;
use crate::worktree::Worktree;

const CHECKSUM: usize = 20;
const HEADER: usize = 12;
/// Bytes of an entry before its path: times, numbers, the object's name, flags.
const FIXED: usize = 62;
/// Below this many files a second thread is not worth its start.
const A_THREADS_WORTH: usize = 500;

impl Worktree {
    /// Has git trust that the files of a fresh worktree are as checked out, without reading them.
    ///
    /// To be called before anybody else learns of the worktree. Where this cannot be done (an index of another
    /// kind, somebody has it locked) nothing changes, and git reads the files itself when it has to.
    pub async fn trust_checkout_times(&self) -> Result<(), GitError> {
        let git_dir = self.git_dir().await?;
        let worktree = self.path().to_owned();
        tokio::task::spawn_blocking(move || {
            if let Err(error) = date_back(&worktree, &git_dir) {
                // Nothing is lost but time: an entry whose file changed its times is read by git again.
                tracing::debug!(path = %worktree.display(), %error, "the index is left as it is");
            }
        })
        .await?;
        Ok(())
    }
}

/// Where one entry of the index is, and what its file's times are now.
struct Entry {
    at: usize,
    path: PathAt,
    aged: Option<FileStat>,
}

/// A path's place in the index: it ends with a NUL there.
struct PathAt(usize);

fn date_back(worktree: &Path, git_dir: &Path) -> std::io::Result<()> {
    let path = git_dir.join("index");
    let before = path.metadata()?;
    let mut index = fs::read(&path)?;
    let Some(mut entries) = young_entries(&index, &before) else { return Ok(()) };
    if entries.is_empty() {
        return Ok(());
    }
    let root = fs::File::open(worktree)?;
    age_all(root.as_fd(), &index, &mut entries);
    for Entry { at, aged, .. } in &entries {
        if let Some(aged) = aged {
            let times = [aged.st_ctime, aged.st_ctime_nsec, aged.st_mtime, aged.st_mtime_nsec];
            for (place, value) in times.into_iter().enumerate() {
                // git keeps the lower half, too.
                index[at + place * 4..][..4].copy_from_slice(&low32(value).to_be_bytes());
            }
        }
    }
    let body = index.len() - CHECKSUM;
    let checksum = Sha1::digest(&index[..body]);
    index[body..].copy_from_slice(&checksum);
    replace(&path, &before, &index)
}

/// Entries of regular files and links that git does not trust yet; `None` for an index that is not understood.
fn young_entries(index: &[u8], file: &fs::Metadata) -> Option<Vec<Entry>> {
    let body = index.len().checked_sub(CHECKSUM).filter(|len| *len >= HEADER)?;
    // Also tells SHA-256, a checksum that was left out and a torn file from what is understood here.
    if index[..4] != *b"DIRC" || Sha1::digest(&index[..body]).as_slice() != &index[body..] {
        return None;
    }
    // In version 4 paths are abbreviated: no setting of git's own makes it unless asked for.
    let version = word(index, 4)?;
    if !matches!(version, 2 | 3) {
        return None;
    }
    let count = word(index, 8)?;
    let mut at = HEADER;
    let mut entries = Vec::with_capacity(count as usize);
    for _ in 0..count {
        let flags = u16::from_be_bytes(index.get(at + 60..at + 62)?.try_into().ok()?);
        let extended = flags & 0x4000 != 0;
        let name = at + FIXED + if extended { 2 } else { 0 };
        let length = index.get(name..body)?.iter().position(|b| *b == 0)?;
        let is_file = matches!(word(index, at + 24)? >> 12, 0o10 | 0o12);
        let has_stage = flags & 0x3000 != 0;
        let recorded = (i64::from(word(index, at + 8)?), i64::from(word(index, at + 12)?));
        let is_young = recorded.0 >= file.mtime();
        let is_before_the_index = recorded < (file.mtime(), file.mtime_nsec());
        // Extended flags mark what is not checked out, or only meant to be added.
        if is_file && !extended && !has_stage && is_young && is_before_the_index {
            entries.push(Entry { at, path: PathAt(name), aged: None });
        }
        // Padded with one to eight NULs to a multiple of eight.
        at += (name - at + length + 8) & !7;
    }
    (at <= body).then_some(entries)
}

fn age_all(root: BorrowedFd<'_>, index: &[u8], entries: &mut [Entry]) {
    let threads = std::thread::available_parallelism().map_or(1, usize::from).min(8);
    let share = entries.len().div_ceil(threads).max(A_THREADS_WORTH);
    std::thread::scope(|scope| {
        for part in entries.chunks_mut(share) {
            scope.spawn(move || {
                for entry in part {
                    entry.aged = age(root, index, entry);
                }
            });
        }
    });
}

/// Dates one file back; what it is then, `None` when it is not as recorded.
fn age(root: BorrowedFd<'_>, index: &[u8], entry: &Entry) -> Option<FileStat> {
    let path = CStr::from_bytes_until_nul(&index[entry.path.0..]).ok()?;
    let found = fstatat(root, path, AtFlags::AT_SYMLINK_NOFOLLOW).ok()?;
    let recorded = |place: usize| word(index, entry.at + place * 4);
    let is_as_recorded = recorded(0)? == low32(found.st_ctime)
        && recorded(1)? == low32(found.st_ctime_nsec)
        && recorded(2)? == low32(found.st_mtime)
        && recorded(3)? == low32(found.st_mtime_nsec)
        && recorded(5)? == low32(found.st_ino)
        && recorded(9)? == low32(found.st_size)
        && recorded(6)? >> 12 == found.st_mode >> 12;
    if !is_as_recorded {
        return None;
    }
    let back = TimeSpec::new(found.st_mtime - 1, found.st_mtime_nsec);
    utimensat(root, path, &TimeSpec::UTIME_OMIT, &back, UtimensatFlags::NoFollowSymlink).ok()?;
    let aged = fstatat(root, path, AtFlags::AT_SYMLINK_NOFOLLOW).ok()?;
    // Written to right now, or on a file system that keeps times in another way.
    let is_ours = aged.st_mtime == found.st_mtime - 1
        && aged.st_mtime_nsec == found.st_mtime_nsec
        && aged.st_ino == found.st_ino
        && aged.st_size == found.st_size;
    is_ours.then_some(aged)
}

/// Puts a new index in the place of the one that was read, under git's own lock. The lock is taken with its
/// content, so that being killed leaves one only between two system calls.
fn replace(path: &Path, before: &fs::Metadata, content: &[u8]) -> std::io::Result<()> {
    let fresh = Fresh(path.with_file_name(format!("forge-index-{}", uuid::Uuid::new_v4().simple())));
    let mut file = fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(&fresh.0)?;
    file.write_all(content)?;
    file.set_permissions(fs::Permissions::from_mode(before.permissions().mode()))?;
    // A later time would have git trust those files, too, that are not dated back because they may be changed.
    file.set_modified(before.modified()?)?;
    drop(file);
    let lock = path.with_file_name("index.lock");
    fs::hard_link(&fresh.0, &lock)?;
    let now = path.metadata();
    let same = now.is_ok_and(|now| {
        let facts =
            |m: &fs::Metadata| (m.ino(), m.len(), m.mtime(), m.mtime_nsec(), m.ctime(), m.ctime_nsec());
        facts(&now) == facts(before)
    });
    if same { fs::rename(&lock, path) } else { fs::remove_file(&lock) }
}

/// A file that is gone with its value.
struct Fresh(PathBuf);

impl Drop for Fresh {
    fn drop(&mut self) {
        // Not made at all, when making it failed.
        let _absent = fs::remove_file(&self.0);
    }
}

fn word(index: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_be_bytes(index.get(at..at + 4)?.try_into().ok()?))
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "git keeps the lower 32 bits of every number it records"
)]
pub(crate) fn low32(value: impl Into<i128>) -> u32 {
    value.into() as u32
}

#[cfg(test)]
mod tests;
