//! Keeping new worktrees away, on the disk, from where deleted ones were.
//!
//! ext4 gives no inode out again within minutes after its file was deleted, and for every file that it makes nearby
//! it looks past all of those, one by one: after a large worktree was deleted, making the next one beside it takes
//! many times as long. A directory that is marked as the top of unrelated ones has each of them begin in another
//! part of the disk, chosen by its name.

use std::path::Path;

/// Makes the folder, if it is not there, and has the directories that are made in it from now on lie apart from
/// each other, where its file system can do that. They gain by it when their names are not used again.
pub fn spread(folder: &Path) {
    if let Err(error) = std::fs::create_dir_all(folder).and_then(|()| mark(folder)) {
        // Nothing is lost but time, or whoever needs the folder says better what is wrong with it.
        tracing::debug!(path = %folder.display(), %error, "what is made in it is not spread over the disk");
    }
}

#[cfg(target_os = "linux")]
fn mark(folder: &Path) -> std::io::Result<()> {
    use rustix::fs::{IFlags, ioctl_getflags, ioctl_setflags};
    let folder = std::fs::File::open(folder)?;
    let flags = ioctl_getflags(&folder)?;
    if !flags.contains(IFlags::TOPDIR) {
        ioctl_setflags(&folder, flags | IFlags::TOPDIR)?;
    }
    Ok(())
}

#[cfg(not(target_os = "linux"))]
fn mark(_folder: &Path) -> std::io::Result<()> {
    Ok(())
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use rustix::fs::{IFlags, ioctl_getflags, ioctl_setflags};

    use super::*;

    #[test]
    fn a_folder_is_made_and_marked_where_that_can_be() {
        let temp = tempfile::tempdir().unwrap();
        let folder = temp.path().join("project/worktrees");
        spread(&folder);
        spread(&folder);
        let [folder, other] = [folder.as_path(), temp.path()].map(|path| std::fs::File::open(path).unwrap());
        // Not every file system knows the mark.
        let can_be =
            ioctl_getflags(&other).is_ok_and(|flags| ioctl_setflags(&other, flags | IFlags::TOPDIR).is_ok());
        let marked = ioctl_getflags(&folder).is_ok_and(|flags| flags.contains(IFlags::TOPDIR));
        assert_eq!(marked, can_be);
    }
}
