//! Finding programs on a search path.

use std::{
    ffi::OsStr,
    path::{Path, PathBuf},
};

use crate::process::is_executable;

/// The executable that `name` means on `path` (a `PATH` value). A name with a slash means itself;
/// relative entries of the path are passed over, since they would mean something else in each folder.
#[must_use]
pub fn find_program(name: impl AsRef<OsStr>, path: impl AsRef<OsStr>) -> Option<PathBuf> {
    let name = Path::new(name.as_ref());
    if name.components().count() > 1 || name.is_absolute() {
        return is_executable(name).then(|| name.to_owned());
    }
    std::env::split_paths(path.as_ref())
        .filter(|folder| folder.is_absolute())
        .map(|folder| folder.join(name))
        .find(|candidate| is_executable(candidate))
}
