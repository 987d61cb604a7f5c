//! Keeps paths inside a root.
//!
//! [`resolve_inside`] answers where a relative path leads and refuses what leads out: absolute paths, `..`,
//! NUL, Windows prefixes, symbolic links. An answer can be out of date when it is used, so what reads or
//! writes goes through [`Root`], which opens by handle (`openat2` where the system has it): a link that is
//! swapped in between check and use is refused by the system, not by the check.

use std::ffi::OsStr;
use std::io::{self, Read as _, Write as _};
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};

use cap_std::ambient_authority;
use cap_std::fs::{Dir, OpenOptions, OpenOptionsExt as _, Permissions, PermissionsExt as _};

/// Links followed before a path is taken for a loop; Linux stops at 40 too.
const MAX_LINKS: u32 = 40;

/// Why a path was refused. Messages complete the phrase "failed to ...".
#[derive(Debug, thiserror::Error)]
pub enum GuardError {
    /// The path leads out of the root, or is of a kind that could.
    #[error("stay inside {}: {} {why}", .root.display(), .path.display())]
    Escape {
        /// The root.
        root: PathBuf,
        /// The path as given.
        path: PathBuf,
        /// What is wrong with it.
        why: &'static str,
    },
    /// The file system refused.
    #[error("open {} inside {}", .path.display(), .root.display())]
    Io {
        /// The root.
        root: PathBuf,
        /// The path as given.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

impl GuardError {
    /// Whether the file is simply not there.
    pub fn is_not_found(&self) -> bool {
        matches!(self, Self::Io { source, .. } if source.kind() == io::ErrorKind::NotFound)
    }
}

/// Where `relative` leads under `root`, with every symbolic link on the way resolved.
///
/// The file need not exist: the deepest existing ancestor is resolved and the rest appended.
pub fn resolve_inside(root: &Path, relative: &Path) -> Result<PathBuf, GuardError> {
    let io = |source| GuardError::Io { root: root.to_owned(), path: relative.to_owned(), source };
    let escape = |why| GuardError::Escape { root: root.to_owned(), path: relative.to_owned(), why };
    check_form(root, relative)?;
    let real_root = root.canonicalize().map_err(io)?;
    let mut resolved = real_root.clone();
    let mut ahead: Vec<PathBuf> = vec![relative.to_owned()];
    let mut links = 0;
    while let Some(next) = ahead.pop() {
        let mut rest = next.components();
        let Some(component) = rest.next() else { continue };
        let rest = rest.as_path().to_owned();
        if !rest.as_os_str().is_empty() {
            ahead.push(rest);
        }
        match component {
            Component::CurDir => {}
            Component::RootDir => resolved = PathBuf::from("/"),
            Component::Prefix(_) => return Err(escape("has a drive or share prefix")),
            // Only a link's target gets here with `..`; what is above is already free of links.
            Component::ParentDir => {
                resolved.pop();
            }
            Component::Normal(name) => {
                let candidate = resolved.join(name);
                match candidate.symlink_metadata() {
                    Ok(found) if found.file_type().is_symlink() => {
                        links += 1;
                        if links > MAX_LINKS {
                            return Err(escape("has too many symbolic links"));
                        }
                        ahead.push(candidate.read_link().map_err(io)?);
                    }
                    Ok(_) => resolved = candidate,
                    Err(e) if matches!(e.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
                        resolved = candidate;
                    }
                    Err(e) => return Err(io(e)),
                }
            }
        }
    }
    if resolved.starts_with(&real_root) {
        Ok(resolved)
    } else {
        Err(escape("leads out through a symbolic link"))
    }
}

/// Refuses a path that is absolute, empty, or leads upwards by its own words, whatever lies there.
pub fn check_form(root: &Path, relative: &Path) -> Result<(), GuardError> {
    let refuse = |why| Err(GuardError::Escape { root: root.to_owned(), path: relative.to_owned(), why });
    let bytes = relative.as_os_str().as_bytes();
    if bytes.is_empty() {
        return refuse("is empty");
    }
    if bytes.contains(&0) {
        return refuse("contains a NUL");
    }
    if relative.is_absolute() || bytes.starts_with(b"\\") {
        return refuse("is absolute");
    }
    // Refused everywhere: a project's path list made on one system is used on another.
    if bytes.len() >= 2 && bytes[0].is_ascii_alphabetic() && bytes[1] == b':' {
        return refuse("has a drive prefix");
    }
    if relative.components().any(|c| c == Component::ParentDir)
        || bytes.split(|b| *b == b'\\').any(|part| part == b"..")
    {
        return refuse("contains `..`");
    }
    Ok(())
}

/// What lies at a path, not following a link at its end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Entry {
    /// A regular file: content and whether its owner may execute it.
    File {
        /// What is in it.
        content: Vec<u8>,
        /// The owner's execute permission.
        executable: bool,
    },
    /// A regular file larger than the caller wanted to read.
    Large {
        /// Its size in bytes.
        size: u64,
        /// The owner's execute permission.
        executable: bool,
    },
    /// A symbolic link and where it points.
    Link(PathBuf),
    /// A directory.
    Directory,
    /// A socket, pipe or device.
    Special,
}

/// A directory held open; nothing outside of it can be reached through it.
#[derive(Debug)]
pub struct Root {
    path: PathBuf,
    dir: Dir,
}

impl Root {
    /// Opens the directory.
    pub fn open(path: &Path) -> Result<Root, GuardError> {
        let dir = Dir::open_ambient_dir(path, ambient_authority()).map_err(|source| GuardError::Io {
            root: path.to_owned(),
            path: PathBuf::from("."),
            source,
        })?;
        Ok(Root { path: path.to_owned(), dir })
    }

    /// What lies at `relative`, read up to `cap` bytes; `None` when nothing does.
    pub fn read(&self, relative: &Path, cap: u64) -> Result<Option<Entry>, GuardError> {
        check_form(&self.path, relative)?;
        let found = match self.dir.symlink_metadata(relative) {
            Ok(found) => found,
            Err(e) if matches!(e.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
                return Ok(None);
            }
            Err(e) => return Err(self.error(relative, e)),
        };
        let kind = found.file_type();
        if kind.is_symlink() {
            let target = self.dir.read_link_contents(relative).map_err(|e| self.error(relative, e))?;
            return Ok(Some(Entry::Link(target)));
        }
        if kind.is_dir() {
            return Ok(Some(Entry::Directory));
        }
        if !kind.is_file() {
            return Ok(Some(Entry::Special));
        }
        self.read_file(relative, cap).map(Some)
    }

    fn read_file(&self, relative: &Path, cap: u64) -> Result<Entry, GuardError> {
        let mut options = OpenOptions::new();
        // O_NONBLOCK: a pipe swapped in meanwhile must not hang us.
        options.read(true).custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK);
        let mut file = self.dir.open_with(relative, &options).map_err(|e| self.error(relative, e))?;
        let found = file.metadata().map_err(|e| self.error(relative, e))?;
        if !found.is_file() {
            return Ok(Entry::Special);
        }
        let executable = found.permissions().mode() & 0o100 != 0;
        if found.len() > cap {
            return Ok(Entry::Large { size: found.len(), executable });
        }
        let mut content = Vec::with_capacity(usize::try_from(found.len()).unwrap_or(0));
        // It may grow while it is read.
        io::Read::by_ref(&mut file)
            .take(cap.saturating_add(1))
            .read_to_end(&mut content)
            .map_err(|e| self.error(relative, e))?;
        let size = content.len() as u64;
        if size > cap {
            Ok(Entry::Large { size, executable })
        } else {
            Ok(Entry::File { content, executable })
        }
    }

    /// Replaces or creates a file in one step, with the directories above it.
    pub fn write(&self, relative: &Path, content: &[u8], executable: bool) -> Result<(), GuardError> {
        self.replace(relative, |name| {
            let mut options = OpenOptions::new();
            options.write(true).create_new(true).custom_flags(libc::O_NOFOLLOW);
            let mut file = self.dir.open_with(name, &options)?;
            file.write_all(content)?;
            let mode = if executable { 0o755 } else { 0o644 };
            let umasked = file.metadata()?.permissions().mode() | (mode & 0o111);
            file.set_permissions(Permissions::from_mode(umasked))
        })
    }

    /// Replaces or creates a symbolic link. It may point anywhere; it is never followed here.
    pub fn link(&self, relative: &Path, target: &Path) -> Result<(), GuardError> {
        self.replace(relative, |name| self.dir.symlink_contents(target, name))
    }

    /// Removes a file or link, and the directories above it that are empty then. Nothing there is fine.
    pub fn remove(&self, relative: &Path) -> Result<(), GuardError> {
        check_form(&self.path, relative)?;
        match self.dir.remove_file(relative) {
            Err(e) if e.kind() != io::ErrorKind::NotFound => return Err(self.error(relative, e)),
            _ => {}
        }
        let mut parent = relative.parent();
        while let Some(dir) = parent.filter(|p| !p.as_os_str().is_empty()) {
            // Not empty, or in use: it stays.
            if self.dir.remove_dir(dir).is_err() {
                break;
            }
            parent = dir.parent();
        }
        Ok(())
    }

    fn replace(&self, relative: &Path, make: impl FnOnce(&Path) -> io::Result<()>) -> Result<(), GuardError> {
        check_form(&self.path, relative)?;
        let parent = relative.parent().filter(|p| !p.as_os_str().is_empty());
        if let Some(parent) = parent {
            self.dir.create_dir_all(parent).map_err(|e| {
                // A link that leads out "exists"; following it tells why that will not do.
                self.error(relative, self.dir.metadata(parent).err().unwrap_or(e))
            })?;
        }
        let name = format!(".forge-{}", uuid::Uuid::new_v4().simple());
        let temporary = parent.unwrap_or(Path::new("")).join(OsStr::new(&name));
        let done = make(&temporary).and_then(|()| self.dir.rename(&temporary, &self.dir, relative));
        done.map_err(|e| {
            // The first error is the one to tell.
            let _unwritten = self.dir.remove_file(&temporary);
            self.error(relative, e)
        })
    }

    fn error(&self, relative: &Path, source: io::Error) -> GuardError {
        explained(&self.path, relative, source)
    }
}

/// Opens a directory right inside another; a link of that name is refused.
pub(crate) fn open_folder(dir: &Dir, name: &OsStr) -> io::Result<Dir> {
    use rustix::fs::{Mode, OFlags};
    let is_plain = Path::new(name).components().eq([Component::Normal(name)]);
    if !is_plain {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let opened = rustix::fs::openat(dir, name, flags, Mode::empty())?;
    Ok(Dir::from_std_file(opened.into()))
}

/// What an error of an operation by handle means.
pub(crate) fn explained(root: &Path, relative: &Path, source: io::Error) -> GuardError {
    let (root, path) = (root.to_owned(), relative.to_owned());
    // How cap-std and openat2 say that a path leads out: EXDEV, ELOOP, or a plain refusal of their own (which
    // has no system error number, unlike a file's missing permission).
    let escape = matches!(source.raw_os_error(), Some(libc::EXDEV | libc::ELOOP))
        || (source.raw_os_error().is_none() && source.kind() == io::ErrorKind::PermissionDenied);
    if escape {
        GuardError::Escape { root, path, why: "leads out through a symbolic link" }
    } else {
        GuardError::Io { root, path, source }
    }
}

#[cfg(test)]
mod tests;
