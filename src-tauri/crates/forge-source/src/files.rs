//! Where texts come from: a folder on disk, or texts given by the caller.
//!
//! Paths are relative to one root, with `/` between their parts. What leads out of the root is not there.

use std::{collections::BTreeMap, fs, io, path::PathBuf};

/// A reader of files below one root.
pub trait Files: Sync {
    /// The file's content. Whatever is no readable file below the root is an error, most often
    /// [`io::ErrorKind::NotFound`].
    fn read(&self, path: &str) -> io::Result<Vec<u8>>;

    /// Whether there is such a file.
    fn is_file(&self, path: &str) -> bool;
}

/// A folder of the disk. Links out of it are not followed.
#[derive(Debug, Clone)]
pub struct Folder {
    root: PathBuf,
}

impl Folder {
    /// Reads below `root`, which should be absolute.
    pub fn new(root: impl Into<PathBuf>) -> io::Result<Self> {
        Ok(Self { root: fs::canonicalize(root.into())? })
    }

    fn find(&self, path: &str) -> io::Result<PathBuf> {
        let path = normal(path).ok_or(io::ErrorKind::NotFound)?;
        let found = fs::canonicalize(self.root.join(path))?;
        if found.starts_with(&self.root) { Ok(found) } else { Err(io::ErrorKind::NotFound.into()) }
    }
}

impl Files for Folder {
    fn read(&self, path: &str) -> io::Result<Vec<u8>> {
        let found = self.find(path)?;
        // A pipe would be waited for without an end.
        if !found.is_file() {
            return Err(io::ErrorKind::NotFound.into());
        }
        if fs::metadata(&found)?.len() > crate::MAX_BYTES as u64 {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        fs::read(found)
    }

    fn is_file(&self, path: &str) -> bool {
        self.find(path).is_ok_and(|found| found.is_file())
    }
}

/// Texts by path.
#[derive(Debug, Clone, Default)]
pub struct Texts(BTreeMap<String, Vec<u8>>);

impl Texts {
    /// Adds a text, or replaces it.
    #[must_use]
    pub fn with(mut self, path: &str, text: impl Into<Vec<u8>>) -> Self {
        self.0.insert(normal(path).unwrap_or_else(|| path.to_owned()), text.into());
        self
    }
}

impl Files for Texts {
    fn read(&self, path: &str) -> io::Result<Vec<u8>> {
        let found = normal(path).and_then(|path| self.0.get(&path));
        found.cloned().ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    fn is_file(&self, path: &str) -> bool {
        normal(path).is_some_and(|path| self.0.contains_key(&path))
    }
}

/// The path without `.`, `..` and double slashes; `None` if it is absolute or leads out of the root.
pub(crate) fn normal(path: &str) -> Option<String> {
    let path = path.replace('\\', "/");
    if path.starts_with('/') || path.as_bytes().get(1) == Some(&b':') {
        return None;
    }
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop()?;
            }
            part => parts.push(part),
        }
    }
    Some(parts.join("/"))
}

/// The folder a path lies in; empty at the root.
pub(crate) fn parent(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(folder, _)| folder)
}

/// The last part of a path.
pub(crate) fn name(path: &str) -> &str {
    path.rsplit_once('/').map_or(path, |(_, name)| name)
}

/// The ending of a path in small letters; empty where it has none. File systems that do not tell letters apart made
/// `A.TS` and `a.ts` the same file, and tools read both.
pub(crate) fn ending(path: &str) -> String {
    name(path).rsplit_once('.').map_or_else(String::new, |(_, ending)| ending.to_ascii_lowercase())
}

/// One path behind another; `None` if it leads out of the root.
pub(crate) fn join(folder: &str, path: &str) -> Option<String> {
    if path.starts_with('/') {
        return None;
    }
    normal(format!("{folder}/{path}").trim_start_matches('/'))
}

/// The folders above a path, the nearest first, the root (empty) last.
pub(crate) fn folders(path: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let mut rest = path;
    while !rest.is_empty() {
        rest = parent(rest);
        found.push(rest);
    }
    found
}

#[cfg(test)]
mod tests {
    use super::{Files as _, Folder, Texts, folders, join, normal};

    #[test]
    fn paths_stay_below_the_root() {
        assert_eq!(normal("./a//b/../c.js").as_deref(), Some("a/c.js"));
        assert_eq!(normal("a\\b.js").as_deref(), Some("a/b.js"));
        assert_eq!(normal("../a"), None);
        assert_eq!(normal("/etc/passwd"), None);
        assert_eq!(normal("C:/x"), None);
        assert_eq!(join("", "./a").as_deref(), Some("a"));
        assert_eq!(join("a/b", "../c").as_deref(), Some("a/c"));
        assert_eq!(join("a", "../../c"), None);
        assert_eq!(folders("a/b/c.js"), ["a/b", "a", ""]);
    }

    #[test]
    fn texts_and_folders_read_alike() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("a")).unwrap();
        std::fs::write(folder.path().join("a/b.js"), "x").unwrap();
        let disk = Folder::new(folder.path()).unwrap();
        let texts = Texts::default().with("a/b.js", "x");
        for path in ["a/b.js", "./a/../a/b.js"] {
            assert_eq!(disk.read(path).unwrap(), b"x");
            assert_eq!(texts.read(path).unwrap(), b"x");
        }
        for path in ["a", "a/c.js", "../b.js", "/etc/hostname"] {
            assert!(!disk.is_file(path) && disk.read(path).is_err(), "{path}");
            assert!(!texts.is_file(path) && texts.read(path).is_err(), "{path}");
        }
    }

    #[cfg(unix)]
    #[test]
    fn links_out_of_the_folder_are_not_followed() {
        let outside = tempfile::tempdir().unwrap();
        std::fs::write(outside.path().join("secret.js"), "x").unwrap();
        let folder = tempfile::tempdir().unwrap();
        std::os::unix::fs::symlink(outside.path(), folder.path().join("out")).unwrap();
        let disk = Folder::new(folder.path()).unwrap();
        assert!(!disk.is_file("out/secret.js"));
        assert!(disk.read("out/secret.js").is_err());
    }
}
