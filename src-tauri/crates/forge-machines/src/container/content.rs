//! What an image is built from, as one hash: the same content is built once.

use std::{
    fmt::Write as _,
    fs, io,
    os::unix::{ffi::OsStrExt as _, fs::PermissionsExt as _},
    path::{Path, PathBuf},
};

use sha2::{Digest as _, Sha256};

use crate::ContainerFault;

/// The most files of a folder that an image is built from.
const MAX_FILES: usize = 10_000;

/// The most bytes of them.
const MAX_BYTES: u64 = 256 * 1024 * 1024;

/// Why a folder has no hash.
#[derive(Debug, thiserror::Error)]
enum Unusable {
    #[error("{} cannot be read: {source}", path.display())]
    Read { path: PathBuf, source: io::Error },
    #[error("its folder has more than {MAX_FILES} files or 256 MiB; give it a folder of its own")]
    TooMuch,
}

/// The hash of everything in the folder of `file`, of which file it is, and of `kind`, what is made of it.
pub(super) fn hash(kind: &str, file: &Path) -> Result<String, ContainerFault> {
    let hashed = (|| {
        let read = |source| Unusable::Read { path: file.to_owned(), source };
        let folder = file.parent().ok_or_else(|| read(io::ErrorKind::NotFound.into()))?;
        if !fs::metadata(file).map_err(read)?.is_file() {
            return Err(read(io::ErrorKind::InvalidInput.into()));
        }
        let mut content = Content { hash: Sha256::new(), files: 0, bytes: 0 };
        content.part(kind.as_bytes());
        content.part(file.file_name().unwrap_or_default().as_bytes());
        content.folder(folder, folder)?;
        Ok(content.hash.finalize())
    })();
    match hashed {
        Ok(digest) => Ok(digest.iter().take(16).fold(String::new(), |mut text, byte| {
            // Writing to a string does not fail.
            let _ = write!(text, "{byte:02x}");
            text
        })),
        Err(error) => {
            Err(ContainerFault::Source { file: file.display().to_string(), said: error.to_string() })
        }
    }
}

struct Content {
    hash: Sha256,
    files: usize,
    bytes: u64,
}

impl Content {
    /// Takes bytes so that no two sequences of parts come to the same.
    fn part(&mut self, bytes: &[u8]) {
        self.hash.update((bytes.len() as u64).to_le_bytes());
        self.hash.update(bytes);
    }

    fn folder(&mut self, top: &Path, folder: &Path) -> Result<(), Unusable> {
        let read = |path: &Path| {
            let path = path.to_owned();
            move |source| Unusable::Read { path, source }
        };
        let entries = fs::read_dir(folder).and_then(Iterator::collect::<io::Result<Vec<_>>>);
        let mut paths: Vec<PathBuf> =
            entries.map_err(read(folder))?.into_iter().map(|entry| entry.path()).collect();
        paths.sort();
        for path in paths {
            let metadata = fs::symlink_metadata(&path).map_err(read(&path))?;
            let name = path.strip_prefix(top).unwrap_or(&path).as_os_str().to_owned();
            self.files += 1;
            self.bytes = self.bytes.saturating_add(if metadata.is_file() { metadata.len() } else { 0 });
            if self.files > MAX_FILES || self.bytes > MAX_BYTES {
                return Err(Unusable::TooMuch);
            }
            self.part(name.as_bytes());
            if metadata.is_dir() {
                self.part(b"folder");
                self.folder(top, &path)?;
            } else if metadata.is_symlink() {
                self.part(b"link");
                self.part(fs::read_link(&path).map_err(read(&path))?.as_os_str().as_bytes());
            } else if metadata.is_file() {
                self.part(if metadata.permissions().mode() & 0o111 == 0 { b"file" } else { b"program" });
                self.part(&fs::read(&path).map_err(read(&path))?);
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hash_follows_every_file_of_the_folder_and_nothing_else() {
        let (one, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        for folder in [&one, &other] {
            fs::create_dir(folder.path().join("sub")).unwrap();
            fs::write(folder.path().join("Containerfile"), "FROM a\n").unwrap();
            fs::write(folder.path().join("sub/tool"), "x").unwrap();
        }
        let of = |folder: &tempfile::TempDir| hash("build", &folder.path().join("Containerfile")).unwrap();
        let first = of(&one);
        assert_eq!((first.len(), &first), (32, &of(&other)));
        assert_ne!(first, hash("devcontainer", &one.path().join("Containerfile")).unwrap());
        fs::write(one.path().join("sub/tool"), "y").unwrap();
        assert_ne!(of(&one), first);
        fs::write(one.path().join("sub/tool"), "x").unwrap();
        assert_eq!(of(&one), first);
        fs::set_permissions(one.path().join("sub/tool"), fs::Permissions::from_mode(0o755)).unwrap();
        assert_ne!(of(&one), first);
    }

    #[test]
    fn folder_that_is_too_large_or_not_there_is_refused_with_the_reason() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("Containerfile");
        let fault = hash("build", &file).unwrap_err();
        assert!(fault.to_string().contains("cannot be read"), "{fault}");
        fs::write(&file, "FROM a\n").unwrap();
        fs::File::create(folder.path().join("large")).unwrap().set_len(MAX_BYTES).unwrap();
        let fault = hash("build", &file).unwrap_err();
        assert!(fault.to_string().ends_with("give it a folder of its own."), "{fault}");
    }
}
