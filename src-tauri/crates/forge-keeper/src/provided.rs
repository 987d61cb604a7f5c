//! Folders and files that programs need beside their worktree, made where the keeper is.

use std::{
    fs::{self, OpenOptions},
    io::{self, ErrorKind, Write as _},
    os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _},
    path::{Path, PathBuf},
};

use serde::{Deserialize, Serialize};

/// What is to be there before programs begin. All paths are absolute; what is there already stays.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Provided {
    /// Folders, made with those above them.
    pub folders: Vec<PathBuf>,
    /// Folders that are made where the one above them is there.
    pub parts: Vec<PathBuf>,
    /// Files, made after the folders.
    pub files: Vec<ProvidedFile>,
}

/// A file that is to be there.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProvidedFile {
    /// Where.
    pub path: PathBuf,
    /// What it holds.
    pub content: Vec<u8>,
    /// When it is written.
    pub kind: ProvidedKind,
}

/// When a file is written. One that is new can be read by its user alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum ProvidedKind {
    /// Always; what is there is replaced whole.
    Replacing,
    /// When it is missing, with the folders above it.
    WhenMissing,
    /// When it is missing, and its folder is there.
    WhereItsFolderIs,
}

impl Provided {
    /// Makes what is missing.
    ///
    /// # Errors
    /// When something cannot be made.
    pub(crate) fn make(&self) -> io::Result<()> {
        self.folders.iter().try_for_each(|folder| make_folder(folder))?;
        for part in self.parts.iter().filter(|part| part.parent().is_some_and(Path::is_dir)) {
            make_folder(part)?;
        }
        self.files.iter().try_for_each(ProvidedFile::make)
    }
}

impl ProvidedFile {
    fn make(&self) -> io::Result<()> {
        let folder = self.path.parent().ok_or(ErrorKind::InvalidInput)?;
        match self.kind {
            ProvidedKind::WhereItsFolderIs if !folder.is_dir() => Ok(()),
            ProvidedKind::WhereItsFolderIs => self.make_new(),
            ProvidedKind::WhenMissing => make_folder(folder).and_then(|()| self.make_new()),
            ProvidedKind::Replacing => {
                make_folder(folder)?;
                let mut fresh = tempfile::NamedTempFile::new_in(folder)?;
                fresh.write_all(&self.content)?;
                fresh.persist(&self.path).map(drop).map_err(|error| error.error)
            }
        }
    }

    fn make_new(&self) -> io::Result<()> {
        match OpenOptions::new().write(true).create_new(true).mode(0o600).open(&self.path) {
            Ok(mut made) => made.write_all(&self.content),
            Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(()),
            Err(error) => Err(error),
        }
    }
}

fn make_folder(folder: &Path) -> io::Result<()> {
    fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)
}

/// A file's content up to a size; none when there is no such file. A link is not followed.
pub(crate) fn read(path: &Path, most: u64) -> io::Result<Option<Vec<u8>>> {
    use std::io::Read as _;

    let opened =
        OpenOptions::new().read(true).custom_flags(nix::libc::O_NOFOLLOW | nix::libc::O_NONBLOCK).open(path);
    let file = match opened {
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
            return Ok(None);
        }
        other => other?,
    };
    let mut content = Vec::new();
    file.take(most).read_to_end(&mut content)?;
    Ok(Some(content))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_missing_is_made_where_it_shall_be_and_what_is_there_stays() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        fs::create_dir(at("there")).unwrap();
        fs::write(at("there/old"), "old").unwrap();
        let file = |path: &str, kind| ProvidedFile { path: at(path), content: b"new".to_vec(), kind };
        let provided = Provided {
            folders: vec![at("a/b")],
            parts: vec![at("there/part"), at("absent/part")],
            files: vec![
                file("there/old", ProvidedKind::WhenMissing),
                file("c/d", ProvidedKind::WhenMissing),
                file("there/lock", ProvidedKind::WhereItsFolderIs),
                file("absent/lock", ProvidedKind::WhereItsFolderIs),
                file("e/replaced", ProvidedKind::Replacing),
            ],
        };
        provided.make().unwrap();
        provided.make().unwrap();
        assert!(at("a/b").is_dir() && at("there/part").is_dir() && !at("absent").exists());
        let held = |path: &str| read(&at(path), 100).unwrap().map(|it| String::from_utf8(it).unwrap());
        assert_eq!(held("there/old").as_deref(), Some("old"));
        assert_eq!(
            [held("c/d"), held("there/lock"), held("e/replaced")],
            [const { Some("new") }; 3].map(|it| it.map(str::to_owned))
        );
        assert_eq!(held("absent/lock"), None);
        assert_eq!(read(&at("c/d"), 2).unwrap(), Some(b"ne".to_vec()));
        std::os::unix::fs::symlink(at("c/d"), at("link")).unwrap();
        assert!(read(&at("link"), 100).is_err(), "a link is not followed");
    }
}
