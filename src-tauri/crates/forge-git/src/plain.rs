//! Checking out into an empty worktree, where git would do nothing but write files.
//!
//! git reads objects and makes files in turns; its own helpers for that cost a third more work than they share.
//! Here one `git cat-file` for each core reads, a thread for each of them writes, and the index is the one that git
//! would have written, with its trees. Files are dated back by a second, so that git trusts that index at once
//! (see `checkout_times`). Anything that could make a difference (attributes, filters, conversion of line ends, sparse
//! checkout, submodules, odd names, another kind of index or of objects) leaves it to git, and so does any failure:
//! git then resets over whatever is there.
//!
//! Only used for a directory that was just registered and that nobody else knows of. Whatever writes there has the
//! directory's turn, so nothing writes any more when a later caller gets it.

use std::fs::File;
use std::io::{self, BufRead as _, BufReader, PipeReader, Read, Write as _};
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use git2::Oid;
use rustix::fs::{AtFlags, Mode, OFlags, Stat, Timespec, Timestamps, UTIME_OMIT};
use sha1::{Digest as _, Sha1};
use tokio::task::{JoinSet, spawn_blocking};

use crate::bytes;
use crate::checkout_times::low32;
use crate::command::Kind;
use crate::error::GitError;
use crate::lock::Turn;
use crate::repo::Repo;

/// Pairs of a reader and a writer beyond which a disk gains nothing.
const MOST_PAIRS: usize = 4;
/// Files that are worth a pair of their own.
const SHARE: usize = 500;
/// Directories in each other beyond which git shall see to it.
const DEPTH: usize = 100;
/// Length of a name in an index beyond which it is not recorded.
const LONG_NAME: usize = 0xfff;
/// What of a file is held at once, unless it is smaller.
const PIECE: usize = 1 << 20;
/// Longer targets of links no system takes.
const LONG_TARGET: usize = 4095;
/// A line of `cat-file` before an object is shorter.
const HEADER: u64 = 128;

const FILE: u32 = 0o100_644;
const PROGRAM: u32 = 0o100_755;
const LINK: u32 = 0o120_000;

/// Why it is left to git.
#[derive(Debug, thiserror::Error)]
pub(crate) enum NotPlain {
    #[error("find a plain tree: {0}")]
    Tree(&'static str),
    #[error("read objects: {0}")]
    Git(#[from] GitError),
    #[error("write files: {0}")]
    Io(#[from] io::Error),
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
    subfolders: usize,
    /// Files in it and below.
    files: usize,
}

/// A file or link to be made.
struct Leaf {
    oid: Oid,
    mode: u32,
    path: Vec<u8>,
}

/// What is to be made, outer folders first, all in the order of an index.
pub(crate) struct Plan {
    folders: Vec<Folder>,
    leaves: Vec<Leaf>,
}

/// What an index knows of a file that was made: times, numbers, mode, size.
type Facts = [u32; 10];

impl Repo {
    /// Fills the empty worktree with the tree of its `HEAD` and writes its index. The caller has the turn.
    pub(crate) async fn check_out_plain(
        &self,
        path: &Path,
        admin: &Path,
        turn: &Turn,
    ) -> Result<(), NotPlain> {
        let head = self.worktree_at(path).head().await?;
        let listed = self
            .worktree_at(path)
            .command(Kind::Read)
            .args(["ls-tree", "-r", "-t", "-z", "--full-tree"])
            .arg(&head)
            .ok();
        let (tree, listed) = tokio::try_join!(self.tree_of(&head), listed)?;
        let plan = Plan::parse(&tree, &listed)?;
        let shares = plan.shares();
        // All before the first one begins: from then on there is no way out but to wait for all.
        let pipes = shares.iter().map(|_| io::pipe()).collect::<io::Result<Vec<_>>>()?;
        let (root, kept, plan) = (path.to_owned(), turn.clone(), Arc::new(plan));
        let ahead = plan.clone();
        let top = blocking(move || {
            let _turn = kept;
            let top = File::open(root)?;
            for folder in ahead.folders.iter().skip(1) {
                rustix::fs::mkdirat(&top, bytes::path(&folder.path), Mode::from_raw_mode(0o777))?;
            }
            Ok(Arc::new(top))
        })
        .await?;
        let (mut readers, mut writers) = (JoinSet::new(), Vec::new());
        for (share, (from, to)) in shares.into_iter().zip(pipes) {
            let names = plan.names(share.clone());
            let read = self
                .worktree_at(path)
                .command(Kind::Read)
                .args(["cat-file", "--batch", "--buffer"])
                .input(names);
            readers.spawn(read.output_to(to).during(turn).ok());
            let (plan, top, kept) = (plan.clone(), top.clone(), turn.clone());
            writers.push(spawn_blocking(move || {
                let _turn = kept;
                write(&top, &plan.leaves[share], from)
            }));
        }
        let mut ended = Vec::new();
        for writer in writers {
            ended.push(writer.await);
        }
        while readers.join_next().await.is_some() {
            // What one failed to read its writer missed.
        }
        let mut facts = Vec::with_capacity(plan.leaves.len());
        for made in ended {
            facts.extend(made.map_err(GitError::from)??);
        }
        let (admin, kept) = (admin.to_owned(), turn.clone());
        blocking(move || {
            let _turn = kept;
            Ok(put(&admin, &index(&plan, &facts))?)
        })
        .await
    }
}

async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, NotPlain> + Send + 'static,
) -> Result<T, NotPlain> {
    spawn_blocking(work).await.map_err(GitError::from)?
}

impl Plan {
    /// From `ls-tree -r -t -z`: `<mode> <kind> <oid>\t<path>`, each folder before what is in it.
    fn parse(tree: &str, listed: &[u8]) -> Result<Plan, NotPlain> {
        let folder = |oid, path: &[u8]| Folder { oid, path: path.to_vec(), subfolders: 0, files: 0 };
        let torn = || NotPlain::Tree("an entry that is not understood");
        let top = full_name(tree.as_bytes()).ok_or_else(torn)?;
        let mut plan = Plan { folders: vec![folder(top, b"")], leaves: Vec::new() };
        // The folders, in each other, that the entry at hand lies in.
        let mut open = vec![0];
        for record in bytes::records(listed) {
            let (mode, oid, path) = entry(record).ok_or_else(torn)?;
            let (parent, name) = split(path);
            if !is_plain_name(name) {
                return Err(NotPlain::Tree("a name or attributes that need git's rules"));
            }
            let depth = open.iter().rposition(|at| plan.folders[*at].path == parent).ok_or_else(torn)?;
            open.truncate(depth + 1);
            match mode {
                0o40_000 if depth < DEPTH => {
                    plan.folders[open[depth]].subfolders += 1;
                    open.push(plan.folders.len());
                    plan.folders.push(folder(oid, path));
                }
                FILE | PROGRAM | LINK => {
                    for at in &open {
                        plan.folders[*at].files += 1;
                    }
                    plan.leaves.push(Leaf { oid, mode, path: path.to_vec() });
                }
                _ => return Err(NotPlain::Tree("submodules, modes of old, or too deep")),
            }
        }
        Ok(plan)
    }

    /// Which files each pair of reader and writer makes.
    fn shares(&self) -> Vec<Range<usize>> {
        let all = self.leaves.len();
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let share = all.div_ceil(cores.min(MOST_PAIRS)).max(SHARE);
        (0..all).step_by(share).map(|from| from..all.min(from + share)).collect()
    }

    /// The objects of a share, one a line.
    fn names(&self, share: Range<usize>) -> String {
        self.leaves[share].iter().flat_map(|leaf| [leaf.oid.to_string(), "\n".to_owned()]).collect()
    }
}

fn entry(record: &[u8]) -> Option<(u32, Oid, &[u8])> {
    let tab = record.iter().position(|b| *b == b'\t')?;
    let mut words = record[..tab].split(|b| *b == b' ');
    let mode = u32::from_str_radix(std::str::from_utf8(words.next()?).ok()?, 8).ok()?;
    Some((mode, full_name(words.nth(1)?)?, &record[tab + 1..]))
}

/// libgit2 pads short names with zeros, and has none for longer ones.
fn full_name(hex: &[u8]) -> Option<Oid> {
    (hex.len() == 40).then(|| Oid::from_str(std::str::from_utf8(hex).ok()?).ok())?
}

fn split(path: &[u8]) -> (&[u8], &[u8]) {
    match path.iter().rposition(|b| *b == b'/') {
        Some(at) => (&path[..at], &path[at + 1..]),
        None => (b"", path),
    }
}

/// Whether git would write the name without a second thought, and the file without asking for attributes.
fn is_plain_name(name: &[u8]) -> bool {
    let odd = |b: &u8| matches!(b, b'\\' | b':') || b.is_ascii_control();
    if name.is_empty() || name == b"." || name == b".." || name.iter().any(odd) {
        return false;
    }
    let lower = name.to_ascii_lowercase();
    if lower == b".gitattributes" || lower.starts_with(b"git~") {
        return false;
    }
    // What some file systems take for `.git` has something else than a letter behind it, or invisible letters.
    let seen: Vec<u8> = lower.iter().copied().filter(u8::is_ascii).collect();
    match seen.strip_prefix(b".git") {
        Some(rest) => lower.is_ascii() && rest.first().is_some_and(u8::is_ascii_alphanumeric),
        None => true,
    }
}

/// Files that are as young as the index are not trusted; see `checkout_times`.
fn a_second_ago() -> Timestamps {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Timestamps {
        last_access: Timespec { tv_sec: 0, tv_nsec: UTIME_OMIT },
        last_modification: Timespec {
            tv_sec: i64::try_from(now.as_secs()).unwrap_or(1) - 1,
            tv_nsec: now.subsec_nanos().into(),
        },
    }
}

/// Makes the files of a share out of what `cat-file` prints. All folders are there.
fn write(top: &File, leaves: &[Leaf], objects: PipeReader) -> Result<Vec<Facts>, NotPlain> {
    let date = a_second_ago();
    let mut objects = BufReader::with_capacity(1 << 16, objects);
    let mut facts = Vec::with_capacity(leaves.len());
    let mut piece = Vec::new();
    let here = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let new = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let open = |dir: &[u8]| {
        let dir = if dir.is_empty() { b"." } else { dir };
        rustix::fs::openat(top, bytes::path(dir), here, Mode::empty())
    };
    let mut at: (&[u8], _) = (b"", open(b"")?);
    for leaf in leaves {
        let (parent, name) = split(&leaf.path);
        if at.0 != parent {
            at = (parent, open(parent)?);
        }
        let (dir, name) = (&at.1, bytes::path(name));
        let mut rest = size_of(&mut objects, leaf)?;
        let stat = if leaf.mode == LINK {
            let length = usize::try_from(rest).ok().filter(|length| *length <= LONG_TARGET);
            piece.resize(length.ok_or(NotPlain::Tree("a link that no system takes"))?, 0);
            objects.read_exact(&mut piece)?;
            rustix::fs::symlinkat(bytes::path(&piece), dir, name)?;
            rustix::fs::utimensat(dir, name, &date, AtFlags::SYMLINK_NOFOLLOW)?;
            rustix::fs::statat(dir, name, AtFlags::SYMLINK_NOFOLLOW)?
        } else {
            // What the process's mask leaves of it, as with git.
            let mode = Mode::from_raw_mode(if leaf.mode == PROGRAM { 0o777 } else { 0o666 });
            let mut file = File::from(rustix::fs::openat(dir, name, new, mode)?);
            while rest > 0 {
                piece.resize(usize::try_from(rest).unwrap_or(PIECE).min(PIECE), 0);
                objects.read_exact(&mut piece)?;
                file.write_all(&piece)?;
                rest -= piece.len() as u64;
            }
            rustix::fs::futimens(&file, &date)?;
            rustix::fs::fstat(&file)?
        };
        objects.read_exact(&mut [0])?;
        facts.push(known(&stat, leaf.mode));
    }
    Ok(facts)
}

/// Reads the line before an object: `<oid> blob <size>`.
fn size_of(objects: &mut BufReader<PipeReader>, leaf: &Leaf) -> Result<u64, NotPlain> {
    let mut line = Vec::new();
    objects.take(HEADER).read_until(b'\n', &mut line)?;
    let line = bytes::line(&line);
    let size = line.strip_prefix(&leaf.oid.to_string()).and_then(|rest| rest.strip_prefix(" blob "));
    size.and_then(|size| size.parse().ok()).ok_or(NotPlain::Tree("a file whose content is not here"))
}

fn known(stat: &Stat, mode: u32) -> Facts {
    [
        low32(stat.st_ctime),
        low32(stat.st_ctime_nsec),
        low32(stat.st_mtime),
        low32(stat.st_mtime_nsec),
        low32(stat.st_dev),
        low32(stat.st_ino),
        mode,
        low32(stat.st_uid),
        low32(stat.st_gid),
        low32(stat.st_size),
    ]
}

/// An index of version 2 with the trees' names, as git writes it.
fn index(plan: &Plan, facts: &[Facts]) -> Vec<u8> {
    let number = |index: &mut Vec<u8>, value: u32| index.extend_from_slice(&value.to_be_bytes());
    let mut index = Vec::with_capacity(facts.len() * 112 + plan.folders.len() * 48 + 64);
    index.extend_from_slice(b"DIRC");
    number(&mut index, 2);
    number(&mut index, low32(facts.len() as u64));
    for (leaf, facts) in plan.leaves.iter().zip(facts) {
        let from = index.len();
        for value in facts {
            number(&mut index, *value);
        }
        index.extend_from_slice(leaf.oid.as_bytes());
        let length = u16::try_from(leaf.path.len().min(LONG_NAME)).unwrap_or(u16::MAX);
        index.extend_from_slice(&length.to_be_bytes());
        index.extend_from_slice(&leaf.path);
        // One to eight NULs, to a multiple of eight.
        index.resize(from + ((index.len() - from + 8) & !7), 0);
    }
    let mut trees = Vec::new();
    for folder in &plan.folders {
        trees.extend_from_slice(split(&folder.path).1);
        trees.extend_from_slice(format!("\0{} {}\n", folder.files, folder.subfolders).as_bytes());
        trees.extend_from_slice(folder.oid.as_bytes());
    }
    index.extend_from_slice(b"TREE");
    number(&mut index, low32(trees.len() as u64));
    index.extend_from_slice(&trees);
    let checksum = Sha1::digest(&index);
    index.extend_from_slice(&checksum);
    index
}

/// Puts the index in its place, under git's own lock.
fn put(admin: &Path, index: &[u8]) -> io::Result<()> {
    let lock = admin.join("index.lock");
    let mut file = File::options().write(true).create_new(true).open(&lock)?;
    let written = file.write_all(index).and_then(|()| std::fs::rename(&lock, admin.join("index")));
    if written.is_err() {
        // The first error is the one to tell.
        let _unwritten = std::fs::remove_file(&lock);
    }
    written
}

#[cfg(test)]
mod tests;
