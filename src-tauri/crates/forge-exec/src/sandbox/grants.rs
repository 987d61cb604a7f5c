//! The rules that a sandbox is made of.
//!
//! Everything is readable but the hidden: on the way from `/` down to each hidden path, every other entry of the folders
//! on that way is granted, with all below it. Links are passed over: what they lead to is granted, or hidden, where it
//! lies. A folder is opened from the one above it, so that nobody can put a link in its place meanwhile.

use std::{
    collections::BTreeMap,
    ffi::OsStr,
    io,
    os::{
        fd::{AsFd, OwnedFd},
        unix::ffi::OsStrExt as _,
    },
    path::{Path, PathBuf},
};

use landlock::{AccessFs, BitFlags, PathBeneath, RulesetCreated, RulesetCreatedAttr as _, make_bitflags};
use rustix::fs::{CWD, Dir, FileType, Mode, OFlags, fstat, open, openat};

use super::{Sandbox, SandboxError};

/// The folder of devices, of which only some are granted.
const DEVICES: &str = "/dev";

/// Devices that every program may use.
const USUAL_DEVICES: [&str; 7] =
    ["/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty", "/dev/ptmx"];

/// Folders of [`DEVICES`] that are read. The terminals in the first one are also written to, all of them: a rule names what
/// is there at the start, and a program that opens a terminal of its own opens what is made later.
const TERMINALS: &str = "/dev/pts";
const SHARED_MEMORY: &str = "/dev/shm";

/// What is granted to read a file or a folder; that folders are listed is granted for all at once.
const READ: BitFlags<AccessFs> = make_bitflags!(AccessFs::{ReadFile | Execute});

/// What a device is used for.
const USE: BitFlags<AccessFs> = make_bitflags!(AccessFs::{ReadFile | WriteFile | IoctlDev});

/// What is granted for a file that may be written.
const WRITE_FILE: BitFlags<AccessFs> =
    make_bitflags!(AccessFs::{ReadFile | Execute | WriteFile | Truncate | IoctlDev});

/// What a folder that may be written does not grant: devices made in it would be a way to every disk.
const NEVER: BitFlags<AccessFs> = make_bitflags!(AccessFs::{MakeBlock | MakeChar});

/// Opens a file for nothing but to name it in a rule.
const NAME: OFlags = OFlags::PATH.union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

/// Opens a folder to list it.
const LIST: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

/// Adds the rules of a sandbox. `rights` are those that the kernel knows.
pub(super) fn add(
    rules: &mut RulesetCreated,
    sandbox: &Sandbox,
    rights: BitFlags<AccessFs>,
) -> Result<(), SandboxError> {
    let mut hidden = resolved(&sandbox.hidden)?;
    let mut grants = Grants { rules, rights };
    for path in &sandbox.writable {
        let Some(real) = existing(path)? else { continue };
        let inside = hidden.iter().find(|it| it.real.starts_with(&real) && it.exists);
        if let Some(hidden) = inside {
            let hidden = hidden.given.clone();
            return Err(SandboxError::HiddenInWritable { hidden, writable: path.clone() });
        }
        grants.write(&real)?;
    }
    hidden.push(Hidden { given: DEVICES.into(), real: DEVICES.into(), exists: true });
    grants.list_all()?;
    grants.read_all_but(Path::new("/"), &hidden)?;
    for path in &sandbox.readable {
        if let Some(real) = existing(path)? {
            grants.read_all_but(&real, &hidden)?;
        }
    }
    for device in USUAL_DEVICES {
        grants.use_device(device)?;
    }
    grants.grant_if_there(Path::new(TERMINALS), USE)?;
    grants.read_all_but(Path::new(SHARED_MEMORY), &hidden)
}

/// A hidden path.
struct Hidden {
    given: PathBuf,
    real: PathBuf,
    exists: bool,
}

/// Hidden paths without links. What does not exist is hidden, too: it may be made while the program runs.
fn resolved(paths: &[PathBuf]) -> Result<Vec<Hidden>, SandboxError> {
    let resolve = |given: &PathBuf| {
        let mut missing = Vec::new();
        let mut there = absolute(given)?;
        let real = loop {
            match there.canonicalize() {
                Ok(real) => break real,
                Err(cause) => match (there.parent(), there.file_name()) {
                    (Some(parent), Some(name)) => {
                        missing.push(name);
                        there = parent;
                    }
                    _ => return Err(SandboxError::Path { path: given.clone(), cause }),
                },
            }
        };
        let exists = missing.is_empty();
        let real = missing.iter().rev().fold(real, |real, name| real.join(name));
        Ok(Hidden { given: given.clone(), real, exists })
    };
    paths.iter().map(resolve).collect()
}

/// A path without links, if it exists.
fn existing(path: &Path) -> Result<Option<PathBuf>, SandboxError> {
    match absolute(path)?.canonicalize() {
        Ok(real) => Ok(Some(real)),
        Err(error) if is_missing(&error) => Ok(None),
        Err(cause) => Err(SandboxError::Path { path: path.to_owned(), cause }),
    }
}

fn absolute(path: &Path) -> Result<&Path, SandboxError> {
    path.is_absolute().then_some(path).ok_or_else(|| SandboxError::Relative { path: path.to_owned() })
}

fn is_missing(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

/// What is hidden below a folder: its entries, each with what is hidden below that; with nothing for an entry that is
/// hidden as a whole.
type Below<'h> = BTreeMap<&'h OsStr, Vec<&'h Path>>;

fn below<'h>(paths: impl Iterator<Item = &'h Path>) -> Below<'h> {
    let mut below = Below::new();
    for path in paths {
        let mut rest = path.components();
        if let Some(first) = rest.next() {
            below.entry(first.as_os_str()).or_default().push(rest.as_path());
        }
    }
    for rests in below.values_mut() {
        if rests.iter().any(|rest| rest.as_os_str().is_empty()) {
            rests.clear();
        }
    }
    below
}

/// Adds rules.
struct Grants<'r> {
    rules: &'r mut RulesetCreated,
    rights: BitFlags<AccessFs>,
}

impl Grants<'_> {
    /// Lets every folder be listed. A right holds for all below, so there is no other way to list a folder that a
    /// hidden one lies in.
    fn list_all(&mut self) -> Result<(), SandboxError> {
        let root = open("/", NAME, Mode::empty()).map_err(|cause| no_path(Path::new("/"), cause))?;
        self.grant(&root, AccessFs::ReadDir.into())
    }

    /// Lets all of a path be read but what is hidden in it. A path that is hidden itself is not granted.
    fn read_all_but(&mut self, path: &Path, hidden: &[Hidden]) -> Result<(), SandboxError> {
        let inside: Vec<&Path> = hidden.iter().filter_map(|it| it.real.strip_prefix(path).ok()).collect();
        if inside.is_empty() {
            return self.grant_if_there(path, READ);
        }
        if inside.iter().any(|it| it.as_os_str().is_empty()) {
            return Ok(());
        }
        match openat(CWD, path, LIST, Mode::empty()) {
            Ok(folder) => self.read_entries_but(&folder, path, &below(inside.into_iter())),
            Err(cause) => Err(no_path(path, cause)),
        }
    }

    fn read_entries_but(
        &mut self,
        folder: &OwnedFd,
        path: &Path,
        hidden: &Below<'_>,
    ) -> Result<(), SandboxError> {
        let entries = Dir::read_from(folder).map_err(|cause| no_path(path, cause))?;
        for entry in entries {
            let entry = entry.map_err(|cause| no_path(path, cause))?;
            let name = OsStr::from_bytes(entry.file_name().to_bytes());
            if name == "." || name == ".." || entry.file_type() == FileType::Symlink {
                continue;
            }
            let inside = hidden.get(name);
            let how = if inside.is_some() { LIST } else { NAME };
            if inside.is_some_and(Vec::is_empty) {
                continue;
            }
            // What is gone again, cannot be listed or is a file where a folder was expected, is not granted.
            let Ok(opened) = openat(folder, name, how, Mode::empty()) else { continue };
            match inside {
                Some(inside) => {
                    self.read_entries_but(&opened, &path.join(name), &below(inside.iter().copied()))?;
                }
                None => self.grant(&opened, READ)?,
            }
        }
        Ok(())
    }

    /// Lets a file or folder be written.
    fn write(&mut self, path: &Path) -> Result<(), SandboxError> {
        let Some(opened) = named(path)? else { return Ok(()) };
        let stat = fstat(&opened).map_err(|cause| no_path(path, cause))?;
        let is_folder = FileType::from_raw_mode(stat.st_mode) == FileType::Directory;
        self.grant(&opened, if is_folder { self.rights & !NEVER } else { WRITE_FILE })
    }

    /// Lets a device be used, if it is one that gives and takes characters. It may be a link, as in containers.
    fn use_device(&mut self, path: &str) -> Result<(), SandboxError> {
        let Some(real) = existing(Path::new(path))? else { return Ok(()) };
        let Some(opened) = named(&real)? else { return Ok(()) };
        let stat = fstat(&opened).map_err(|cause| no_path(&real, cause))?;
        match FileType::from_raw_mode(stat.st_mode) {
            FileType::CharacterDevice => self.grant(&opened, USE),
            _ => Ok(()),
        }
    }

    fn grant_if_there(&mut self, path: &Path, access: BitFlags<AccessFs>) -> Result<(), SandboxError> {
        named(path)?.map_or(Ok(()), |opened| self.grant(&opened, access))
    }

    fn grant(&mut self, opened: &impl AsFd, access: BitFlags<AccessFs>) -> Result<(), SandboxError> {
        let rule = PathBeneath::new(opened, access & self.rights);
        (&mut *self.rules).add_rule(rule)?;
        Ok(())
    }
}

/// A path as rules name it, if it exists.
fn named(path: &Path) -> Result<Option<OwnedFd>, SandboxError> {
    match open(path, NAME, Mode::empty()).map_err(io::Error::from) {
        Ok(opened) => Ok(Some(opened)),
        Err(error) if is_missing(&error) => Ok(None),
        Err(cause) => Err(SandboxError::Path { path: path.to_owned(), cause }),
    }
}

fn no_path(path: &Path, cause: rustix::io::Errno) -> SandboxError {
    SandboxError::Path { path: path.to_owned(), cause: cause.into() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hidden_entries_hide_what_is_hidden_below_them() {
        let paths = ["home/u/.ssh", "home/u/.ssh/keys", "home/u/.config/gh", "srv"].map(Path::new);
        let first = below(paths.into_iter());
        assert_eq!(first.keys().map(|it| it.to_str().unwrap()).collect::<Vec<_>>(), ["home", "srv"]);
        assert!(first[OsStr::new("srv")].is_empty());
        let second = below(first[OsStr::new("home")].iter().copied());
        let third = below(second[OsStr::new("u")].iter().copied());
        assert!(third[OsStr::new(".ssh")].is_empty());
        assert_eq!(third[OsStr::new(".config")], [Path::new("gh")]);
    }
}
