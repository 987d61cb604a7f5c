//! Files of a folder that programs may have filled: reached by handle, no link followed, nothing without a limit.

use std::{
    ffi::OsStr,
    fs::File,
    io::{self, Read as _, Write as _},
    os::{fd::OwnedFd, unix::ffi::OsStrExt as _},
    path::Path,
};

use rustix::{
    fs::{AtFlags, Dir, FileType, Mode, OFlags},
    io::Errno,
};

/// The name of a file while it is written.
const FRESH: &str = "forge.fresh";
const DEEPEST: usize = 64;

/// An open folder.
#[derive(Debug)]
pub(crate) struct Folder(OwnedFd);

/// What is in a folder.
#[derive(Debug)]
pub(crate) struct Entry {
    pub(crate) name: Vec<u8>,
    pub(crate) kind: FileType,
}

impl Folder {
    /// Opens a folder; `None` for whatever else is there.
    pub(crate) fn open(path: &Path) -> io::Result<Option<Self>> {
        found(rustix::fs::open(path, folder_flags(), Mode::empty()))
    }

    /// A folder right in this one; `None` for whatever else has that name.
    pub(crate) fn folder(&self, name: &[u8]) -> io::Result<Option<Self>> {
        found(rustix::fs::openat(&self.0, OsStr::from_bytes(name), folder_flags(), Mode::empty()))
    }

    /// The same, made where there is none, in the place of whatever else has that name.
    pub(crate) fn make_folder(&self, name: &[u8]) -> io::Result<Self> {
        if let Some(folder) = self.folder(name)? {
            return Ok(folder);
        }
        self.remove(name)?;
        rustix::fs::mkdirat(&self.0, OsStr::from_bytes(name), Mode::from_raw_mode(0o755))?;
        self.folder(name)?.ok_or_else(|| io::ErrorKind::NotADirectory.into())
    }

    /// A regular file right in this folder; `None` for whatever else has that name.
    pub(crate) fn file(&self, name: &[u8]) -> io::Result<Option<File>> {
        // NONBLOCK: a pipe must not hang us.
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        match rustix::fs::openat(&self.0, OsStr::from_bytes(name), flags, Mode::empty()) {
            Ok(opened) => {
                let file = File::from(opened);
                Ok(file.metadata()?.is_file().then_some(file))
            }
            Err(Errno::NOENT | Errno::LOOP | Errno::NXIO | Errno::NOTDIR) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// The content of a regular file right in this folder, up to a cap; `None` for whatever else, and for a larger one.
    pub(crate) fn read(&self, name: &[u8], cap: u64) -> io::Result<Option<Vec<u8>>> {
        let Some(file) = self.file(name)? else { return Ok(None) };
        let mut content = Vec::new();
        // It may grow while it is read.
        file.take(cap.saturating_add(1)).read_to_end(&mut content)?;
        Ok((content.len() as u64 <= cap).then_some(content))
    }

    /// What is in it, in order.
    pub(crate) fn entries(&self) -> io::Result<Vec<Entry>> {
        let mut entries = Vec::new();
        for entry in Dir::read_from(&self.0)? {
            let entry = entry?;
            let name = entry.file_name().to_bytes().to_vec();
            if matches!(name.as_slice(), b"." | b"..") {
                continue;
            }
            let kind = match entry.file_type() {
                FileType::Unknown => {
                    let stat = rustix::fs::statat(&self.0, entry.file_name(), AtFlags::SYMLINK_NOFOLLOW)?;
                    FileType::from_raw_mode(stat.st_mode)
                }
                known => known,
            };
            entries.push(Entry { name, kind });
        }
        entries.sort_unstable_by(|one, other| one.name.cmp(&other.name));
        Ok(entries)
    }

    /// Removes whatever has a name; nothing there is fine.
    pub(crate) fn remove(&self, name: &[u8]) -> io::Result<()> {
        self.remove_within(name, DEEPEST)
    }

    fn remove_within(&self, name: &[u8], depth: usize) -> io::Result<()> {
        let path = OsStr::from_bytes(name);
        match rustix::fs::unlinkat(&self.0, path, AtFlags::empty()) {
            Ok(()) | Err(Errno::NOENT | Errno::NOTDIR) => return Ok(()),
            Err(Errno::ISDIR | Errno::PERM) if depth > 0 => {}
            Err(error) => return Err(error.into()),
        }
        let Some(folder) = self.folder(name)? else { return Ok(()) };
        for entry in folder.entries()? {
            folder.remove_within(&entry.name, depth - 1)?;
        }
        match rustix::fs::unlinkat(&self.0, path, AtFlags::REMOVEDIR) {
            Ok(()) | Err(Errno::NOENT) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// Removes a folder if it is empty.
    pub(crate) fn remove_empty(&self, name: &[u8]) {
        // One that is not empty, or no folder, stays.
        let _ = rustix::fs::unlinkat(&self.0, OsStr::from_bytes(name), AtFlags::REMOVEDIR);
    }

    /// Has the file with this path below the folder hold a content; whether it held another one.
    pub(crate) fn put(&self, path: &[u8], content: &[u8]) -> io::Result<bool> {
        let mut parts: Vec<&[u8]> = path.split(|byte| *byte == b'/').collect();
        let name = parts.pop().unwrap_or_default();
        let mut below: Option<Self> = None;
        for part in parts {
            below = Some(below.as_ref().unwrap_or(self).make_folder(part)?);
        }
        let folder = below.as_ref().unwrap_or(self);
        if folder.read(name, content.len() as u64)?.is_some_and(|found| found == content) {
            return Ok(false);
        }
        self.remove(FRESH.as_bytes())?;
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let mut fresh = File::from(rustix::fs::openat(&self.0, FRESH, flags, Mode::from_raw_mode(0o644))?);
        fresh.write_all(content)?;
        drop(fresh);
        let to = OsStr::from_bytes(name);
        match rustix::fs::renameat(&self.0, FRESH, &folder.0, to) {
            Err(Errno::ISDIR | Errno::NOTEMPTY | Errno::EXIST) => {
                folder.remove(name)?;
                rustix::fs::renameat(&self.0, FRESH, &folder.0, to)?;
            }
            renamed => renamed?,
        }
        Ok(true)
    }

    /// Links a regular file of another folder into this one, or copies it where it cannot be linked. One that is the same
    /// file already stays; another one of the name is replaced.
    pub(crate) fn link(&self, from: &Self, name: &[u8]) -> io::Result<bool> {
        let path = OsStr::from_bytes(name);
        let Some(mut file) = from.file(name)? else { return Ok(false) };
        let stat = rustix::fs::fstat(&file)?;
        let is_it = |found: &rustix::fs::Stat| (found.st_dev, found.st_ino) == (stat.st_dev, stat.st_ino);
        let found = || rustix::fs::statat(&self.0, path, AtFlags::SYMLINK_NOFOLLOW);
        if found().is_ok_and(|found| is_it(&found)) {
            return Ok(false);
        }
        self.remove(name)?;
        // Between opening and linking, something else may have got the name.
        if rustix::fs::linkat(&from.0, path, &self.0, path, AtFlags::empty()).is_ok() {
            if found().is_ok_and(|found| is_it(&found)) {
                return Ok(true);
            }
            self.remove(name)?;
        }
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let mut copy = File::from(rustix::fs::openat(&self.0, path, flags, Mode::from_raw_mode(0o444))?);
        io::copy(&mut file, &mut copy)?;
        Ok(true)
    }

    pub(crate) fn holds(&self, name: &[u8]) -> bool {
        rustix::fs::statat(&self.0, OsStr::from_bytes(name), AtFlags::SYMLINK_NOFOLLOW).is_ok()
    }
}

const fn folder_flags() -> OFlags {
    OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC)
}

fn found(opened: rustix::io::Result<OwnedFd>) -> io::Result<Option<Folder>> {
    match opened {
        Ok(opened) => Ok(Some(Folder(opened))),
        Err(Errno::NOENT | Errno::LOOP | Errno::NOTDIR) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// Replaces or creates a file of our own in one step; whether its content was another one.
pub(crate) fn replace(path: &Path, content: &[u8]) -> io::Result<bool> {
    if std::fs::read(path).is_ok_and(|found| found == content) {
        return Ok(false);
    }
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(".fresh");
    let fresh = path.with_file_name(name);
    let mut file = File::create(&fresh)?;
    file.write_all(content)?;
    file.sync_data()?;
    std::fs::rename(&fresh, path)?;
    Ok(true)
}
