//! The index of a worktree on its way into a lent git directory and back.
//!
//! git trusts an entry whose file has the recorded times only when these are before the time of the index. A copy keeps
//! that time to the nanosecond: with a later one, git would overlook a change of equal size in the same tick.

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::path::Path;

use cap_std::fs::Dir;
use sha1::{Digest as _, Sha1};
use sha2::Sha256;

use super::files;
use crate::error::GitError;

const NAME: &str = "index";
/// The index that a split index adds to.
const SHARED: &str = "sharedindex.";

/// Copies an index with its time; whether there is one.
pub(super) fn copy(from: &Path, to: &Path) -> Result<bool, GitError> {
    let Some(dir) = files::top(from)? else { return Ok(false) };
    copy_in(&dir, NAME, &to.join(NAME)).map_err(GitError::io("copy the index of", from))
}

/// Copies the indexes that a split index may add to, where the other folder lacks them.
pub(super) fn copy_shared(from: &Path, to: &Path) -> Result<(), GitError> {
    let Some(dir) = files::top(from)? else { return Ok(()) };
    let copy = || -> io::Result<()> {
        for name in files::names(&dir)? {
            let Some(name) = name.to_str() else { continue };
            let is_shared = name.strip_prefix(SHARED).is_some_and(files::is_oid);
            let target = to.join(name);
            if is_shared && target.symlink_metadata().is_err() {
                let fresh = to.join(format!("forge-{name}"));
                if copy_in(&dir, name, &fresh)? {
                    fs::rename(&fresh, &target)?;
                }
            }
        }
        Ok(())
    };
    copy().map_err(GitError::io("copy the index of", from))
}

/// Puts a copy of an index, with its time, in the place of another one, in one step.
pub(super) fn put(from: &Path, git_dir: &Path) -> Result<(), GitError> {
    let Some(dir) = from.parent().map(files::top).transpose()?.flatten() else { return Ok(()) };
    let fresh = git_dir.join("forge-index");
    let put = copy_in(&dir, NAME, &fresh).and_then(|_| fs::rename(&fresh, git_dir.join(NAME)));
    put.map_err(GitError::io("replace the index of", git_dir))
}

fn copy_in(dir: &Dir, name: &str, to: &Path) -> io::Result<bool> {
    let Some(mut file) = files::open(dir, OsStr::new(name))? else { return Ok(false) };
    match fs::remove_file(to) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let time = file.metadata()?.modified()?;
    let mut copy = files::create(to)?;
    io::copy(&mut file, &mut copy)?;
    copy.set_modified(time)?;
    Ok(true)
}

/// What an index says; `None` when there is none.
pub(super) fn content(git_dir: &Path) -> Result<Option<Vec<u8>>, GitError> {
    let Some(dir) = files::top(git_dir)? else { return Ok(None) };
    files::read(&dir, NAME, u64::MAX).map_err(GitError::io("read the index of", git_dir))
}

/// Whether the checksum at the end of an index is that of its content, or left out by `index.skipHash`.
pub(super) fn is_whole(content: &[u8], oid_len: usize) -> bool {
    let length = oid_len / 2;
    let Some(body) = content.len().checked_sub(length).filter(|body| *body >= 12) else { return false };
    let (body, checksum) = content.split_at(body);
    body.starts_with(b"DIRC")
        && (checksum.iter().all(|byte| *byte == 0)
            || if length == 32 {
                Sha256::digest(body).as_slice() == checksum
            } else {
                Sha1::digest(body).as_slice() == checksum
            })
}
