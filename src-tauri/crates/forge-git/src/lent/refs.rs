//! Refs as the files of a git directory hold them, and how two such sets differ.

use std::collections::BTreeMap;
use std::path::Path;

use cap_std::fs::Dir;

use super::files;
use crate::bytes;
use crate::error::GitError;
use crate::guard::open_folder;

const PACKED_CAP: u64 = 512 << 20;
/// A ref's file holds one name.
const LOOSE_CAP: u64 = 4096;
const MOST_LOOSE: usize = 200_000;
const DEEPEST: usize = 32;
/// Refs that each worktree has of its own.
const OWN: [&[u8]; 3] = [b"refs/bisect/", b"refs/worktree/", b"refs/rewritten/"];
/// Programs do not need the user's stash, and what they put on it would look like a change of it.
const STASH: &[u8] = b"refs/stash";

/// The refs of a git directory. Names are bytes, as git's are.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Refs {
    packed: Vec<u8>,
    /// By their whole names, with what their files say.
    loose: BTreeMap<Vec<u8>, Vec<u8>>,
}

/// A ref that is not as it was.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Change {
    pub(super) name: Vec<u8>,
    pub(super) was: Option<String>,
    pub(super) now: Option<String>,
}

impl Refs {
    /// Reads them.
    pub(super) fn read(git_dir: &Path) -> Result<Self, GitError> {
        let mut refs = Self::default();
        let Some(top) = files::top(git_dir)? else { return Ok(refs) };
        let mut read = || -> std::io::Result<()> {
            refs.packed = files::read(&top, "packed-refs", PACKED_CAP)?.unwrap_or_default();
            if let Some(folder) = files::folder(&top, "refs") {
                refs.add_loose(&folder, b"refs/", DEEPEST)?;
            }
            Ok(())
        };
        read().map_err(GitError::io("read the refs of", git_dir))?;
        Ok(refs)
    }

    fn add_loose(&mut self, dir: &Dir, prefix: &[u8], depth: usize) -> std::io::Result<()> {
        for entry in dir.entries()? {
            let entry = entry?;
            let name = entry.file_name();
            let full = [prefix, bytes::of(Path::new(&name))].concat();
            let kind = entry.file_type()?;
            if kind.is_dir() {
                if depth > 0
                    && let Ok(folder) = open_folder(dir, &name)
                {
                    self.add_loose(&folder, &[&full, &b"/"[..]].concat(), depth - 1)?;
                }
            } else if kind.is_file() && !full.ends_with(b".lock") && self.loose.len() < MOST_LOOSE {
                let Some(file) = files::open(dir, &name)? else { continue };
                let mut content = Vec::new();
                std::io::Read::read_to_end(&mut std::io::Read::take(file, LOOSE_CAP), &mut content)?;
                let line = content.split(|byte| *byte == b'\n').next().unwrap_or_default();
                self.loose.insert(full, line.trim_ascii_end().to_vec());
            }
        }
        Ok(())
    }

    /// Of the refs that all worktrees share those that are lent, and of another git directory those that belong to one
    /// worktree.
    pub(super) fn to_lend(shared: Self, of_worktree: Self) -> Self {
        let is_own = |name: &[u8]| OWN.iter().any(|own| name.starts_with(own));
        let mut loose = BTreeMap::new();
        let mut listed = BTreeMap::new();
        for (name, value) in shared.loose {
            if is_own(&name) || name == STASH {
                continue;
            }
            if value.starts_with(b"ref: ") {
                loose.insert(name, value);
            } else if std::str::from_utf8(&value).is_ok_and(files::is_oid) {
                listed.insert(name, value);
            }
        }
        loose.extend(of_worktree.loose.into_iter().filter(|(name, _)| is_own(name)));
        Self { packed: merged(&shared.packed, &listed), loose }
    }

    /// Writes them into a git directory that has none.
    pub(super) fn write(&self, git_dir: &Path) -> Result<(), GitError> {
        let write =
            |path: &Path, content: &[u8]| std::fs::write(path, content).map_err(GitError::io("write", path));
        for folder in ["refs/heads", "refs/tags"].map(|folder| git_dir.join(folder)) {
            std::fs::create_dir_all(&folder).map_err(GitError::io("create", folder))?;
        }
        write(&git_dir.join("packed-refs"), &self.packed)?;
        for (name, value) in &self.loose {
            let path = git_dir.join(bytes::path(name));
            if let Some(folder) = path.parent() {
                std::fs::create_dir_all(folder).map_err(GitError::io("create", folder))?;
            }
            write(&path, &[value.as_slice(), b"\n"].concat())?;
        }
        Ok(())
    }

    /// The object that a ref names.
    pub(super) fn get(&self, name: &str) -> Option<String> {
        let name = name.as_bytes();
        match self.loose.get(name) {
            Some(value) => oid(value),
            None => lines(&self.packed).find(|(_, listed)| *listed == name).and_then(|(value, _)| oid(value)),
        }
    }

    /// How these refs differ from those that were lent. Symbolic refs are left out: they name no object of their own.
    pub(super) fn changes_from(&self, was: &Self) -> Vec<Change> {
        if self == was {
            return Vec::new();
        }
        let (before, after) = (was.all(), self.all());
        let mut changes = Vec::new();
        for (name, value) in &after {
            let known = before.get(name).copied();
            if known != Some(value) && !value.starts_with(b"ref: ") {
                changes.push(Change { name: name.to_vec(), was: known.and_then(oid), now: oid(value) });
            }
        }
        for (name, value) in before {
            if !after.contains_key(name) {
                changes.push(Change { name: name.to_vec(), was: oid(value), now: None });
            }
        }
        changes
    }

    fn all(&self) -> BTreeMap<&[u8], &[u8]> {
        let mut all: BTreeMap<&[u8], &[u8]> =
            lines(&self.packed).map(|(value, name)| (name, value)).collect();
        all.extend(self.loose.iter().map(|(name, value)| (name.as_slice(), value.as_slice())));
        all
    }
}

impl Change {
    /// Whether it is a ref that each worktree has of its own.
    pub(super) fn is_of_worktree(&self) -> bool {
        OWN.iter().any(|own| self.name.starts_with(own))
    }

    /// Whether it repeats what a remote has.
    pub(super) fn is_of_remote(&self) -> bool {
        self.name.starts_with(b"refs/remotes/")
    }

    /// Its name, when git would take it for one.
    pub(super) fn valid_name(&self) -> Option<&str> {
        std::str::from_utf8(&self.name).ok().filter(|name| is_valid(name))
    }

    /// Its name for people.
    pub(super) fn shown(&self) -> String {
        bytes::text(&self.name)
    }
}

fn oid(value: &[u8]) -> Option<String> {
    std::str::from_utf8(value).ok().filter(|value| files::is_oid(value)).map(str::to_owned)
}

/// The lines of a packed list: what a ref holds, and its name.
fn lines(packed: &[u8]) -> impl Iterator<Item = (&[u8], &[u8])> {
    packed.split(|byte| *byte == b'\n').filter_map(|line| {
        let at = line.iter().position(|byte| *byte == b' ')?;
        (line[0] != b'#' && line[0] != b'^').then(|| (&line[..at], &line[at + 1..]))
    })
}

/// A packed list with other refs in it, which win, and without the stash. Where something changes, peeled values are left
/// out: git finds them by itself, and would take a tag without one for a tag of no commit where the list claims all.
fn merged(packed: &[u8], loose: &BTreeMap<Vec<u8>, Vec<u8>>) -> Vec<u8> {
    if loose.is_empty() && !lines(packed).any(|(_, name)| name == STASH) {
        return packed.to_vec();
    }
    let mut all: BTreeMap<&[u8], &[u8]> =
        lines(packed).filter(|(_, name)| *name != STASH).map(|(value, name)| (name, value)).collect();
    all.extend(loose.iter().map(|(name, value)| (name.as_slice(), value.as_slice())));
    let mut list = b"# pack-refs with: sorted \n".to_vec();
    for (name, value) in all {
        for part in [value, b" ", name, b"\n"] {
            list.extend_from_slice(part);
        }
    }
    list
}

/// Whether git takes a name for one of a ref; some that it would take are refused, too.
pub(super) fn is_valid(name: &str) -> bool {
    let odd = |c: char| c.is_control() || c.is_whitespace() || "~^:?*[\\\"'".contains(c);
    name.len() <= 240
        && name.starts_with("refs/")
        && !name.contains(odd)
        && !name.contains("..")
        && !name.contains("@{")
        && !name.ends_with('.')
        && name.split('/').all(|part| {
            !part.is_empty() && part != "@" && !part.starts_with(['.', '-']) && !part.ends_with(".lock")
        })
}
