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

fn check_form(root: &Path, relative: &Path) -> Result<(), GuardError> {
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
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::symlink;

    use nix::fcntl::{RenameFlags, renameat2};

    struct Place {
        dir: tempfile::TempDir,
    }

    impl Place {
        fn new() -> Self {
            let dir = tempfile::tempdir().unwrap();
            let root = dir.path().join("root");
            fs::create_dir_all(root.join("sub")).unwrap();
            fs::create_dir(dir.path().join("outside")).unwrap();
            fs::write(dir.path().join("outside/secret"), "secret").unwrap();
            fs::write(root.join("sub/file"), "inside").unwrap();
            symlink("../outside", root.join("out")).unwrap();
            symlink(dir.path().join("outside/secret"), root.join("secret")).unwrap();
            symlink("../outside/new", root.join("new")).unwrap();
            symlink("sub", root.join("in")).unwrap();
            symlink(root.join("sub"), root.join("in-absolute")).unwrap();
            symlink("loop", root.join("loop")).unwrap();
            symlink("../root/sub", root.join("round")).unwrap();
            Place { dir }
        }

        fn root(&self) -> PathBuf {
            self.dir.path().join("root").canonicalize().unwrap()
        }
    }

    #[test]
    fn paths_that_lead_out_are_refused() {
        let place = Place::new();
        let bad = [
            "",
            "/etc/passwd",
            "..",
            "../x",
            "sub/../../x",
            "sub/..",
            "a\0b",
            "C:\\x",
            "c:x",
            "\\\\host\\x",
            "a\\..\\b",
            "out",
            "out/secret",
            "out/fresh/file",
            "secret",
            "new",
            "loop",
        ];
        for path in bad {
            let found = resolve_inside(&place.root(), Path::new(path));
            assert!(matches!(found, Err(GuardError::Escape { .. })), "{path:?}: {found:?}");
            let root = Root::open(&place.root()).unwrap();
            if !["out", "secret", "new", "loop"].contains(&path) {
                let read = root.read(Path::new(path), 100);
                assert!(matches!(read, Err(GuardError::Escape { .. })), "read {path:?}: {read:?}");
                let wrote = root.write(Path::new(path), b"x", false);
                assert!(matches!(wrote, Err(GuardError::Escape { .. })), "write {path:?}: {wrote:?}");
            }
        }
        assert_eq!(fs::read_to_string(place.dir.path().join("outside/secret")).unwrap(), "secret");
        assert_eq!(fs::read_dir(place.dir.path().join("outside")).unwrap().count(), 1);
    }

    #[test]
    fn paths_inside_resolve() {
        let place = Place::new();
        let good = [
            ("sub/file", "sub/file"),
            ("in/file", "sub/file"),
            ("in-absolute/file", "sub/file"),
            ("round/file", "sub/file"),
            ("./sub/./file", "sub/file"),
            ("fresh/a/b", "fresh/a/b"),
            ("in/fresh/b", "sub/fresh/b"),
            ("..file", "..file"),
            ("ünï/☃", "ünï/☃"),
        ];
        for (path, expected) in good {
            let found = resolve_inside(&place.root(), Path::new(path)).unwrap();
            assert_eq!(found, place.root().join(expected), "{path}");
        }
    }

    #[test]
    fn links_are_shown_and_replaced_not_followed() {
        let place = Place::new();
        let root = Root::open(&place.root()).unwrap();
        let link = root.read(Path::new("out"), 10).unwrap();
        assert_eq!(link, Some(Entry::Link("../outside".into())));
        root.write(Path::new("new"), b"mine", true).unwrap();
        assert!(!place.dir.path().join("outside/new").exists(), "written through the link");
        let read = root.read(Path::new("new"), 10).unwrap();
        assert_eq!(read, Some(Entry::File { content: b"mine".to_vec(), executable: true }));
        assert_eq!(root.read(Path::new("new"), 3).unwrap(), Some(Entry::Large { size: 4, executable: true }));
        assert_eq!(root.read(Path::new("nothing/here"), 3).unwrap(), None);
        assert_eq!(root.read(Path::new("sub"), 3).unwrap(), Some(Entry::Directory));
    }

    #[test]
    fn removal_takes_the_empty_directories_along() {
        let place = Place::new();
        let root = Root::open(&place.root()).unwrap();
        root.write(Path::new("a/b/c"), b"", false).unwrap();
        root.link(Path::new("a/l"), Path::new("/etc")).unwrap();
        root.remove(Path::new("a/b/c")).unwrap();
        assert!(!place.root().join("a/b").exists() && place.root().join("a").exists());
        root.remove(Path::new("a/l")).unwrap();
        root.remove(Path::new("a/l")).unwrap();
        assert!(!place.root().join("a").exists());
        assert!(matches!(root.remove(Path::new("out/secret")), Err(GuardError::Escape { .. })));
    }

    #[test]
    fn a_swap_between_check_and_use_never_leads_out() {
        let place = Place::new();
        let base = place.root();
        fs::create_dir(base.join("flip")).unwrap();
        fs::write(base.join("flip/secret"), "inside").unwrap();
        symlink("../outside", base.join("flop")).unwrap();
        let swapped = base.clone();
        let swapper = std::thread::spawn(move || {
            let (flip, flop) = (swapped.join("flip"), swapped.join("flop"));
            for _ in 0..20_000 {
                let exchange = RenameFlags::RENAME_EXCHANGE;
                renameat2(nix::fcntl::AT_FDCWD, &flip, nix::fcntl::AT_FDCWD, &flop, exchange).unwrap();
            }
        });
        let root = Root::open(&base).unwrap();
        let mut inside = 0;
        while !swapper.is_finished() {
            if let Ok(Some(Entry::File { content, .. })) = root.read(Path::new("flip/secret"), 100) {
                assert_eq!(content, b"inside", "read through a swapped link");
                inside += 1;
            }
            // What a write may do is fail; what it must not do is write outside.
            let _refused = root.write(Path::new("flip/planted"), b"x", false);
        }
        swapper.join().unwrap();
        assert!(inside > 0, "never read at all");
        assert!(!place.dir.path().join("outside/planted").exists(), "wrote through a swapped link");
    }
}
