//! What is where paths of a worktree lead.

use std::{
    collections::{BTreeSet, HashMap, HashSet},
    ffi::OsStr,
    fs, io,
    os::unix::{ffi::OsStrExt as _, fs::MetadataExt as _},
    path::Path,
};

/// Paths by what is there.
#[derive(Default)]
pub(crate) struct Sorted {
    /// Files and symbolic links.
    pub(crate) present: Vec<Vec<u8>>,
    /// Submodules that are not checked out.
    pub(crate) links: Vec<Vec<u8>>,
    /// Repositories, and what cannot be read. Of the latter the last known content stays.
    pub(crate) left_out: Vec<Vec<u8>>,
    pub(crate) gone: Vec<Vec<u8>>,
}

impl Sorted {
    pub(crate) fn look(
        worktree: &Path,
        paths: BTreeSet<Vec<u8>>,
        links: &HashSet<Vec<u8>>,
    ) -> io::Result<Self> {
        let mut sorted = Self::default();
        let mut folders: HashMap<Vec<u8>, bool> = HashMap::new();
        for path in paths {
            let at = worktree.join(OsStr::from_bytes(&path));
            let kind = match at.symlink_metadata() {
                Ok(found) if !is_readable(&at, &found) => {
                    sorted.left_out.push(path);
                    continue;
                }
                Ok(found) => Some(found.file_type()),
                Err(error)
                    if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) =>
                {
                    None
                }
                Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                    sorted.left_out.push(path);
                    continue;
                }
                Err(error) => return Err(error),
            };
            // Behind a symbolic link is another place.
            let kind = kind.filter(|_| is_inside(worktree, &path, &mut folders));
            match kind {
                Some(kind) if links.contains(&path) => match kind.is_dir() {
                    true if at.join(".git").symlink_metadata().is_ok() => {
                        sorted.left_out.push(path.clone());
                        sorted.gone.push(path);
                    }
                    true => sorted.links.push(path),
                    false if kind.is_file() || kind.is_symlink() => sorted.present.push(path),
                    false => sorted.gone.push(path),
                },
                Some(kind) if kind.is_file() || kind.is_symlink() => sorted.present.push(path),
                _ => sorted.gone.push(path),
            }
        }
        Ok(sorted)
    }
}

/// Whether git can read a file, and takes its name for one of a file.
fn is_readable(at: &Path, found: &fs::Metadata) -> bool {
    if found.file_type().is_symlink() {
        return at.file_name() != Some(OsStr::new(".gitmodules"));
    }
    let is_suspect =
        found.is_file() && (found.mode() & 0o400 == 0 || found.uid() != rustix::process::geteuid().as_raw());
    !is_suspect || rustix::fs::access(at, rustix::fs::Access::READ_OK).is_ok()
}

/// Whether every folder on the way to a path is one.
fn is_inside(worktree: &Path, path: &[u8], folders: &mut HashMap<Vec<u8>, bool>) -> bool {
    let Some(at) = path.iter().rposition(|byte| *byte == b'/') else { return true };
    let folder = path.get(..at).unwrap_or_default();
    if let Some(known) = folders.get(folder) {
        return *known;
    }
    let is_folder = worktree
        .join(OsStr::from_bytes(folder))
        .symlink_metadata()
        .is_ok_and(|found| found.file_type().is_dir());
    let known = is_folder && is_inside(worktree, folder, folders);
    folders.insert(folder.to_vec(), known);
    known
}
