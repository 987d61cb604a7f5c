//! Whole folders that programs may have filled.

use std::{
    fs, io,
    os::unix::fs::{MetadataExt as _, PermissionsExt as _},
    path::Path,
};

/// Removes a folder, read-only ones in it included; nothing there is fine.
///
/// # Errors
/// When the system refuses.
pub fn remove_folder(path: &Path) -> io::Result<()> {
    let removed = match fs::remove_dir_all(path) {
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            make_writable(path).and_then(|()| fs::remove_dir_all(path))
        }
        other => other,
    };
    match removed {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

fn make_writable(path: &Path) -> io::Result<()> {
    let mut folders = vec![path.to_owned()];
    while let Some(folder) = folders.pop() {
        let mode = folder.symlink_metadata()?.permissions().mode();
        if mode & 0o700 != 0o700 {
            fs::set_permissions(&folder, fs::Permissions::from_mode(mode | 0o700))?;
        }
        for entry in fs::read_dir(&folder)? {
            let entry = entry?;
            if entry.file_type()?.is_dir() {
                folders.push(entry.path());
            }
        }
    }
    Ok(())
}

/// How much of the disk a folder takes. What cannot be read counts nothing.
#[must_use]
pub fn disk_usage(path: &Path) -> u64 {
    let mut blocks = 0;
    let mut folders = vec![path.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
            let Ok(about) = entry.metadata() else { continue };
            blocks += about.blocks();
            if about.is_dir() {
                folders.push(entry.path());
            }
        }
    }
    blocks * 512
}
