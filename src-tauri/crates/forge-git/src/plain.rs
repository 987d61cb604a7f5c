//! Checking out into an empty worktree without git, where git would do nothing but write files.
//!
//! Most of a large checkout's time goes into making files, one after the other; git's own helpers for that cost a
//! third more work than they share. Here threads of this process do it, and write the index that git would have
//! written. Anything that could make a difference (attributes, filters, conversion of line ends, sparse checkout,
//! submodules, odd names, another kind of index or of objects) leaves it to git, and so does any failure: git then
//! resets over whatever is there.
//!
//! Only called for a directory that was just made and that nobody else knows of.

use std::fs::File;
use std::io::{self, Write as _};
use std::os::fd::OwnedFd;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use git2::{ObjectType, Odb, Oid};
use rustix::fs::{AtFlags, Mode, OFlags, Stat};
use sha1::{Digest as _, Sha1};
use tokio_util::sync::CancellationToken;

use crate::bytes;
use crate::settle::low32;

/// Files that a thread takes on at a time.
const SHARE: usize = 200;
/// Directories in each other beyond which git shall see to it.
const DEPTH: usize = 100;
/// Length of a name in an index beyond which it is not recorded.
const LONG_NAME: usize = 0xfff;

/// Why it is left to git.
#[derive(Debug, thiserror::Error)]
pub(crate) enum NotPlain {
    #[error("find a plain tree: {0}")]
    Tree(&'static str),
    #[error("read objects")]
    Objects(#[from] git2::Error),
    #[error("write files")]
    Io(#[from] io::Error),
    #[error("write files: it was given up")]
    GivenUp,
}

impl From<rustix::io::Errno> for NotPlain {
    fn from(errno: rustix::io::Errno) -> Self {
        Self::Io(errno.into())
    }
}

/// A directory to be made.
struct Folder {
    oid: Oid,
    /// From the top; of the top, empty.
    path: Vec<u8>,
    files: Vec<Leaf>,
    subfolders: usize,
    /// Files in it and below.
    total: usize,
}

/// A file or link to be made.
#[derive(Clone)]
struct Leaf {
    oid: Oid,
    mode: u32,
    name: Vec<u8>,
}

/// One that was made.
struct Made {
    path: Vec<u8>,
    oid: Oid,
    mode: u32,
    stat: Stat,
}

const FILE: u32 = 0o100_644;
const PROGRAM: u32 = 0o100_755;
const LINK: u32 = 0o120_000;

/// Fills the empty directory `root` with a tree, and writes its index to the administrative directory.
pub(crate) fn check_out(
    objects: &Odb<'_>,
    tree: Oid,
    root: &Path,
    admin: &Path,
    stop: &CancellationToken,
) -> Result<(), NotPlain> {
    let mut folders = Vec::new();
    plan(objects, tree, Vec::new(), 0, &mut folders)?;
    let top: OwnedFd = File::open(root)?.into();
    // Parents come before what is in them.
    for folder in folders.iter().skip(1) {
        rustix::fs::mkdirat(&top, bytes::path(&folder.path), Mode::from_raw_mode(0o777))?;
    }
    let mut made = files(objects, &top, &folders, stop)?;
    // Last: no file is written by way of a link.
    for (folder, leaf) in
        folders.iter().flat_map(|folder| folder.files.iter().map(move |leaf| (folder, leaf)))
    {
        if leaf.mode == LINK {
            made.push(link(objects, &top, folder, leaf)?);
        }
    }
    made.sort_unstable_by(|a, b| a.path.cmp(&b.path));
    let index = index(&made, &folders);
    let lock = admin.join("index.lock");
    let mut file = File::options().write(true).create_new(true).open(&lock)?;
    let written = file.write_all(&index).and_then(|()| std::fs::rename(&lock, admin.join("index")));
    if written.is_err() {
        // The first error is the one to tell.
        let _unwritten = std::fs::remove_file(&lock);
    }
    Ok(written?)
}

/// Reads the trees, outer ones first; how many files there are.
fn plan(
    objects: &Odb<'_>,
    tree: Oid,
    path: Vec<u8>,
    depth: usize,
    folders: &mut Vec<Folder>,
) -> Result<usize, NotPlain> {
    if depth > DEPTH {
        return Err(NotPlain::Tree("too deep"));
    }
    let object = objects.read(tree)?;
    if object.kind() != ObjectType::Tree {
        return Err(NotPlain::Tree("no tree"));
    }
    let place = folders.len();
    folders.push(Folder { oid: tree, path, files: Vec::new(), subfolders: 0, total: 0 });
    let mut rest = object.data();
    while !rest.is_empty() {
        let (mode, name, oid, after) = entry(rest).ok_or(NotPlain::Tree("torn"))?;
        rest = after;
        if !is_plain_name(name) {
            return Err(NotPlain::Tree("a name or attributes that need git's rules"));
        }
        match mode {
            0o40_000 => {
                let below = joined(&folders[place].path, name);
                folders[place].subfolders += 1;
                folders[place].total += plan(objects, oid, below, depth + 1, folders)?;
            }
            FILE | PROGRAM | LINK => {
                folders[place].files.push(Leaf { oid, mode, name: name.to_vec() });
                folders[place].total += 1;
            }
            _ => return Err(NotPlain::Tree("submodules, or modes of old")),
        }
    }
    Ok(folders[place].total)
}

/// One entry of a tree, and what follows it.
fn entry(data: &[u8]) -> Option<(u32, &[u8], Oid, &[u8])> {
    let space = data.iter().position(|b| *b == b' ')?;
    let mode = u32::from_str_radix(std::str::from_utf8(&data[..space]).ok()?, 8).ok()?;
    let data = &data[space + 1..];
    let end = data.iter().position(|b| *b == 0)?;
    let (name, data) = (&data[..end], &data[end + 1..]);
    Some((mode, name, Oid::from_bytes(data.get(..20)?).ok()?, &data[20..]))
}

/// Whether git would write the name without a second thought, and the file without asking for attributes.
fn is_plain_name(name: &[u8]) -> bool {
    let odd = |b: &u8| matches!(b, b'/' | b'\\' | b':') || b.is_ascii_control();
    if name.is_empty() || name == b"." || name == b".." || name.iter().any(odd) {
        return false;
    }
    let lower = name.to_ascii_lowercase();
    if lower == b".gitattributes" || lower.starts_with(b"git~") {
        return false;
    }
    // What some file systems take for `.git` has something else than a letter behind it, or invisible letters.
    let hidden: Vec<u8> = lower.iter().copied().filter(u8::is_ascii).collect();
    match hidden.strip_prefix(b".git") {
        Some(rest) => lower.is_ascii() && rest.first().is_some_and(u8::is_ascii_alphanumeric),
        None => true,
    }
}

fn joined(folder: &[u8], name: &[u8]) -> Vec<u8> {
    if folder.is_empty() { name.to_vec() } else { [folder, b"/", name].concat() }
}

fn files(
    objects: &Odb<'_>,
    top: &OwnedFd,
    folders: &[Folder],
    stop: &CancellationToken,
) -> Result<Vec<Made>, NotPlain> {
    let shares: Vec<(&Folder, &[Leaf])> = folders
        .iter()
        .flat_map(|folder| folder.files.chunks(SHARE).map(move |part| (folder, part)))
        .collect();
    let next = AtomicUsize::new(0);
    let failed: Mutex<Option<NotPlain>> = Mutex::new(None);
    let work = || {
        let mut made = Vec::new();
        while let Some((folder, leaves)) = shares.get(next.fetch_add(1, Ordering::Relaxed)) {
            if let Err(error) = share(objects, top, folder, leaves, stop, &mut made) {
                // The others have nothing to do any more.
                next.store(shares.len(), Ordering::Relaxed);
                failed.lock().unwrap_or_else(std::sync::PoisonError::into_inner).get_or_insert(error);
            }
        }
        made
    };
    let threads =
        std::thread::available_parallelism().map_or(2, usize::from).clamp(2, 8).min(shares.len().max(1));
    let mut made = Vec::new();
    std::thread::scope(|scope| {
        let helpers: Vec<_> = (1..threads).map(|_| scope.spawn(work)).collect();
        made.extend(work());
        for helper in helpers {
            match helper.join() {
                Ok(more) => made.extend(more),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
    });
    match failed.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner) {
        Some(error) => Err(error),
        None => Ok(made),
    }
}

fn share(
    objects: &Odb<'_>,
    top: &OwnedFd,
    folder: &Folder,
    leaves: &[Leaf],
    stop: &CancellationToken,
    made: &mut Vec<Made>,
) -> Result<(), NotPlain> {
    let inner;
    let dir = if folder.path.is_empty() {
        top
    } else {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        inner = rustix::fs::openat(top, bytes::path(&folder.path), flags, Mode::empty())?;
        &inner
    };
    for leaf in leaves.iter().filter(|leaf| leaf.mode != LINK) {
        if stop.is_cancelled() {
            return Err(NotPlain::GivenUp);
        }
        let blob = blob(objects, leaf.oid)?;
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        // What the process's mask leaves of it, as with git.
        let mode = Mode::from_raw_mode(if leaf.mode == PROGRAM { 0o777 } else { 0o666 });
        let mut file = File::from(rustix::fs::openat(dir, bytes::path(&leaf.name), flags, mode)?);
        file.write_all(blob.data())?;
        let stat = rustix::fs::fstat(&file)?;
        made.push(Made { path: joined(&folder.path, &leaf.name), oid: leaf.oid, mode: leaf.mode, stat });
    }
    Ok(())
}

fn link(objects: &Odb<'_>, top: &OwnedFd, folder: &Folder, leaf: &Leaf) -> Result<Made, NotPlain> {
    let path = joined(&folder.path, &leaf.name);
    let blob = blob(objects, leaf.oid)?;
    rustix::fs::symlinkat(bytes::path(blob.data()), top, bytes::path(&path))?;
    let stat = rustix::fs::statat(top, bytes::path(&path), AtFlags::SYMLINK_NOFOLLOW)?;
    Ok(Made { path, oid: leaf.oid, mode: leaf.mode, stat })
}

fn blob<'a>(objects: &'a Odb<'_>, oid: Oid) -> Result<git2::OdbObject<'a>, NotPlain> {
    let object = objects.read(oid)?;
    if object.kind() == ObjectType::Blob { Ok(object) } else { Err(NotPlain::Tree("no file")) }
}

/// An index of version 2 with the trees' names, as git writes it.
fn index(made: &[Made], folders: &[Folder]) -> Vec<u8> {
    let number = |index: &mut Vec<u8>, value: u32| index.extend_from_slice(&value.to_be_bytes());
    let mut index = Vec::with_capacity(made.len() * 112 + folders.len() * 48 + 64);
    index.extend_from_slice(b"DIRC");
    number(&mut index, 2);
    number(&mut index, low32(made.len() as u64));
    for Made { path, oid, mode, stat } in made {
        let from = index.len();
        for value in [
            low32(stat.st_ctime),
            low32(stat.st_ctime_nsec),
            low32(stat.st_mtime),
            low32(stat.st_mtime_nsec),
            low32(stat.st_dev),
            low32(stat.st_ino),
            *mode,
            low32(stat.st_uid),
            low32(stat.st_gid),
            low32(stat.st_size),
        ] {
            number(&mut index, value);
        }
        index.extend_from_slice(oid.as_bytes());
        let length = u16::try_from(path.len().min(LONG_NAME)).unwrap_or(u16::MAX);
        index.extend_from_slice(&length.to_be_bytes());
        index.extend_from_slice(path);
        // One to eight NULs, to a multiple of eight.
        index.resize(from + ((index.len() - from + 8) & !7), 0);
    }
    let mut trees = Vec::new();
    for folder in folders {
        let name = folder.path.rsplit(|b| *b == b'/').next().unwrap_or_default();
        trees.extend_from_slice(name);
        trees.extend_from_slice(format!("\0{} {}\n", folder.total, folder.subfolders).as_bytes());
        trees.extend_from_slice(folder.oid.as_bytes());
    }
    index.extend_from_slice(b"TREE");
    number(&mut index, low32(trees.len() as u64));
    index.extend_from_slice(&trees);
    let checksum = Sha1::digest(&index);
    index.extend_from_slice(&checksum);
    index
}

type Differs = fn(&str) -> bool;

/// Settings under which git writes files and index in another way than this does: name, and the value that has it so.
const SETTINGS: [(&str, Differs); 17] = [
    ("attr.tree", |_| true),
    ("core.attributesfile", |_| true),
    ("core.autocrlf", is_not_false),
    ("core.filemode", is_not_true),
    ("core.ignorecase", is_not_false),
    ("core.sharedrepository", |_| true),
    ("core.sparsecheckout", is_not_false),
    ("core.splitindex", is_not_false),
    ("core.symlinks", is_not_true),
    ("core.untrackedcache", |value| value == "true"),
    ("extensions.compatobjectformat", |_| true),
    ("extensions.objectformat", |value| value != "sha1"),
    ("extensions.partialclone", |_| true),
    ("feature.manyfiles", is_not_false),
    ("index.sparse", is_not_false),
    ("index.version", |value| value != "2"),
    ("core.precomposeunicode", is_not_false),
];

fn is_not_false(value: &str) -> bool {
    !matches!(value, "false" | "no" | "off" | "0")
}

fn is_not_true(value: &str) -> bool {
    !matches!(value, "true" | "yes" | "on" | "1")
}

/// What the configuration says about checking out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Settings {
    /// git would do nothing but write files.
    pub(crate) plain: bool,
    /// Hooks may lie elsewhere than in the repository.
    pub(crate) hooks_elsewhere: bool,
}

impl Settings {
    /// From `config --list -z`: name, line break, value.
    pub(crate) fn parse(output: &[u8]) -> Settings {
        let mut settings = Settings { plain: true, hooks_elsewhere: false };
        for record in bytes::records(output) {
            let record = bytes::text(record);
            // A name without a value is true.
            let (name, value) = record.split_once('\n').unwrap_or((&record, "true"));
            let value = value.to_ascii_lowercase();
            settings.plain &= !SETTINGS.iter().any(|(known, differs)| *known == name && differs(&value));
            settings.hooks_elsewhere |= name == "core.hookspath" || name.starts_with("hook.");
        }
        settings
    }
}

#[cfg(test)]
mod tests;
