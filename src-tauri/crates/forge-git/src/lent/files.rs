//! Files of a folder that a program may have filled: read by handle, no link followed, nothing without a limit.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, ErrorKind, Read as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use cap_std::ambient_authority;
use cap_std::fs::Dir;
use rustix::fs::{Mode, OFlags};

use crate::error::GitError;
use crate::guard::open_folder;

/// Opens a folder whose own path is out of the programs' reach; `None` when there is none.
pub(super) fn top(path: &Path) -> Result<Option<Dir>, GitError> {
    let is_dir = path.symlink_metadata().is_ok_and(|found| found.is_dir());
    if !is_dir {
        return Ok(None);
    }
    Dir::open_ambient_dir(path, ambient_authority()).map(Some).map_err(GitError::io("open", path))
}

/// A folder right in another; `None` for whatever else has that name.
pub(super) fn folder(dir: &Dir, name: &str) -> Option<Dir> {
    open_folder(dir, OsStr::new(name)).ok()
}

/// Opens a regular file right in a folder; `None` for whatever else has that name.
pub(super) fn open(dir: &Dir, name: &OsStr) -> io::Result<Option<File>> {
    // NONBLOCK: a pipe must not hang us.
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = match rustix::fs::openat(dir, name, flags, Mode::empty()) {
        Ok(opened) => File::from(opened),
        Err(rustix::io::Errno::NOENT | rustix::io::Errno::LOOP | rustix::io::Errno::NXIO) => return Ok(None),
        Err(error) => return Err(error.into()),
    };
    Ok(file.metadata()?.is_file().then_some(file))
}

/// A regular file right in a folder, up to a cap; `None` for whatever else has that name and for a larger one.
pub(super) fn read(dir: &Dir, name: &str, cap: u64) -> io::Result<Option<Vec<u8>>> {
    let Some(file) = open(dir, OsStr::new(name))? else { return Ok(None) };
    let mut content = Vec::new();
    // It may grow while it is read.
    file.take(cap.saturating_add(1)).read_to_end(&mut content)?;
    Ok((content.len() as u64 <= cap).then_some(content))
}

/// The names in a folder, in order.
pub(super) fn names(dir: &Dir) -> io::Result<Vec<std::ffi::OsString>> {
    let mut names = dir.entries()?.map(|entry| Ok(entry?.file_name())).collect::<io::Result<Vec<_>>>()?;
    names.sort_unstable();
    Ok(names)
}

/// Replaces or creates a file of our own in one step.
pub(super) fn replace(path: &Path, content: &[u8]) -> Result<(), GitError> {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(".forge");
    let fresh = path.with_file_name(name);
    std::fs::write(&fresh, content).map_err(GitError::io("write", &fresh))?;
    std::fs::rename(&fresh, path).map_err(GitError::io("replace", path))
}

/// Removes a file; nothing there is fine.
pub(super) fn remove(path: &Path) -> Result<(), GitError> {
    match std::fs::remove_file(path) {
        Err(error) if !matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
            Err(GitError::io("remove", path)(error))
        }
        _ => Ok(()),
    }
}

/// Creates a file that must not exist.
pub(super) fn create(path: &Path) -> io::Result<File> {
    std::fs::OpenOptions::new().write(true).create_new(true).mode(0o644).open(path)
}

/// A name of an object: as many hexadecimal digits as the repository's hash has.
pub(super) fn is_oid(word: &str) -> bool {
    forge_transfer::names::is_oid(word)
}
