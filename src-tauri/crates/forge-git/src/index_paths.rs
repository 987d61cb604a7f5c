//! The paths in an index.

use std::fs;
use std::io;
use std::path::Path;

const CHECKSUM: usize = 20;
const HEADER: usize = 12;
/// Bytes of an entry before its path: times, numbers, the object's name, flags.
const FIXED: usize = 62;
/// Bits of the flags, and of those that follow them when they are extended (gitformat-index).
const ASSUME_VALID: u16 = 0x8000;
const EXTENDED: u16 = 0x4000;
const SKIP_WORKTREE: u16 = 0x4000;

/// The paths in an index file, in its order.
#[derive(Debug)]
pub(crate) struct Paths {
    /// One after the other.
    names: Vec<u8>,
    /// Where each ends, and what is said of it.
    ends: Vec<(usize, Marks)>,
}

/// What an index says of a path, besides its content.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Marks {
    pub(crate) submodule: bool,
    /// git was told to take the file for unchanged.
    pub(crate) assumed: bool,
    /// git was told not to look for the file.
    pub(crate) skipped: bool,
}

/// One path of an index.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Listed<'a> {
    pub(crate) path: &'a [u8],
    pub(crate) marks: Marks,
}

impl Paths {
    /// Reads an index; none when it is of a kind that does not tell all paths (shared, sparse) or is not understood.
    pub(crate) fn read(path: &Path) -> io::Result<Option<Self>> {
        match fs::read(path) {
            Ok(index) => Ok(Self::parse(&index)),
            Err(e) if e.kind() == io::ErrorKind::NotFound => {
                Ok(Some(Self { names: Vec::new(), ends: Vec::new() }))
            }
            Err(e) => Err(e),
        }
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = Listed<'_>> {
        let mut start = 0;
        self.ends.iter().map(move |(end, marks)| {
            let path = &self.names[start..*end];
            start = *end;
            Listed { path, marks: *marks }
        })
    }

    /// Each folder above a path, but for the top, once: what lies in it stands together in an index.
    pub(crate) fn folders<'a>(&'a self, mut each: impl FnMut(&'a [u8])) {
        let mut before: &[u8] = b"";
        for Listed { path, .. } in self.iter() {
            for (at, _) in path.iter().enumerate().filter(|(_, byte)| **byte == b'/') {
                if !before.starts_with(&path[..=at]) {
                    each(&path[..at]);
                }
            }
            before = path;
        }
    }

    fn parse(index: &[u8]) -> Option<Self> {
        let body = index.len().checked_sub(CHECKSUM).filter(|len| *len >= HEADER)?;
        let word = |at: usize| Some(u32::from_be_bytes(index.get(at..at + 4)?.try_into().ok()?));
        let version = word(4)?;
        if index[..4] != *b"DIRC" || !matches!(version, 2..=4) {
            return None;
        }
        let count = word(8)? as usize;
        let mut found = Self { names: Vec::new(), ends: Vec::with_capacity(count.min(1 << 20)) };
        let mut at = HEADER;
        let mut last = Vec::new();
        for _ in 0..count {
            let half = |at: usize| Some(u16::from_be_bytes(index.get(at..at + 2)?.try_into().ok()?));
            let flags = half(at + 60)?;
            let extended = flags & EXTENDED != 0;
            let skipped = extended && half(at + FIXED)? & SKIP_WORKTREE != 0;
            let submodule = match word(at + 24)? >> 12 {
                0o16 => true,
                0o10 | 0o12 => false,
                // A whole folder that is not checked out.
                _ => return None,
            };
            let mut name = at + FIXED + if extended { 2 } else { 0 };
            if version == 4 {
                last.truncate(last.len().checked_sub(dropped(index, &mut name)?)?);
            } else {
                last.clear();
            }
            let length = index.get(name..body)?.iter().position(|b| *b == 0)?;
            last.extend_from_slice(&index[name..name + length]);
            found.names.extend_from_slice(&last);
            let marks = Marks { submodule, assumed: flags & ASSUME_VALID != 0, skipped };
            found.ends.push((found.names.len(), marks));
            // Padded with one to eight NULs to a multiple of eight, or by one in version 4.
            at = if version == 4 { name + length + 1 } else { at + ((name - at + length + 8) & !7) };
        }
        while at + 8 <= body {
            if matches!(&index[at..at + 4], b"link" | b"sdir") {
                return None;
            }
            at = at.checked_add(8)?.checked_add(word(at + 4)? as usize)?;
        }
        (at == body).then_some(found)
    }
}

/// How many bytes of the path before are dropped; moves behind the number.
fn dropped(index: &[u8], at: &mut usize) -> Option<usize> {
    let mut next = || {
        let byte = index.get(*at).copied();
        *at += 1;
        byte
    };
    let mut byte = next()?;
    let mut number = usize::from(byte & 0x7f);
    while byte & 0x80 != 0 {
        byte = next()?;
        number = number.checked_add(1)?.checked_mul(128)?.checked_add(usize::from(byte & 0x7f))?;
    }
    Some(number)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bytes;
    use crate::testing::Sandbox;

    #[tokio::test]
    async fn the_paths_of_an_index_are_those_git_lists() {
        let sandbox = Sandbox::new().await;
        let long = format!("{}/{}", "d".repeat(200), "f".repeat(200));
        let names = ["a-b", "a.b/x", "b/c/d", "b/c-d", "b/c/e/f", "ünï/☃", long.as_str()];
        sandbox.commit("files", &names.map(|name| (name, "x")));
        let index = sandbox.path(".git/index");
        for version in ["2", "3", "4"] {
            sandbox.git(&["update-index", "--index-version", version]);
            sandbox.git(&[
                "update-index",
                if version == "3" { "--skip-worktree" } else { "--no-skip-worktree" },
                "a",
            ]);
            sandbox.git(&["update-index", "--assume-unchanged", "b/c/d"]);
            let paths = Paths::read(&index).unwrap().unwrap();
            let marked = |wanted: fn(Marks) -> bool| {
                let marked = paths.iter().filter(|listed| wanted(listed.marks));
                marked.map(|listed| bytes::text(listed.path)).collect::<Vec<_>>()
            };
            assert_eq!(marked(|marks| marks.assumed), ["b/c/d"], "{version}");
            assert_eq!(marked(|marks| marks.skipped).len(), usize::from(version == "3"), "{version}");
            let listed: Vec<_> = paths.iter().map(|listed| bytes::text(listed.path)).collect();
            let by_git = sandbox.git_out(&["ls-files", "-z"]);
            assert_eq!(listed, by_git.trim_end_matches('\0').split('\0').collect::<Vec<_>>(), "{version}");
            let mut folders = Vec::new();
            paths.folders(|folder| folders.push(bytes::text(folder)));
            assert_eq!(folders, ["a.b", "b", "b/c", "b/c/e", &"d".repeat(200), "ünï"], "{version}");
        }
        sandbox.git(&["update-index", "--split-index"]);
        assert!(Paths::read(&index).unwrap().is_none(), "the paths are in another file");
        let whole = fs::read(&index).unwrap();
        for end in 0..whole.len() {
            // Understood or not: nothing of it is taken for more than it is.
            drop(Paths::parse(&whole[..end]));
        }
        assert_eq!(Paths::read(&sandbox.path("none")).unwrap().unwrap().iter().count(), 0);
    }
}
