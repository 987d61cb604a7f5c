//! The token: made once per data folder, readable by its owner alone.

use std::{
    fs::{self, OpenOptions, Permissions},
    io::{self, Write as _},
    os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _},
    path::{Path, PathBuf},
};

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};

const FILE: &str = "token";
const BYTES: usize = 32;

/// Why there is no token.
#[derive(Debug, thiserror::Error)]
pub enum TokenError {
    /// The file cannot be read or written.
    #[error("Could not use the token in {}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The file holds something else.
    #[error("Could not use the token in {}: it is too short. Remove the file and start again.", path.display())]
    Malformed {
        /// The file.
        path: PathBuf,
    },
    /// The system has no randomness.
    #[error("Could not create a token: {0}")]
    Random(getrandom::Error),
}

/// Reads the token of the engine whose data folder this is.
///
/// # Errors
/// When there is none, or it cannot be read.
pub fn read(data_dir: &Path) -> Result<String, TokenError> {
    let path = path_of(data_dir);
    let text = fs::read_to_string(&path).map_err(|source| TokenError::Io { path: path.clone(), source })?;
    let token = text.trim();
    // A guard against a file that was cut short: an empty token would let everybody in.
    if token.len() < BYTES { Err(TokenError::Malformed { path }) } else { Ok(token.to_owned()) }
}

/// The token and its file; made at the first start.
///
/// # Errors
/// When there is none and none can be made, or it cannot be read.
pub fn load_or_create(data_dir: &Path) -> Result<(String, PathBuf), TokenError> {
    let path = path_of(data_dir);
    let io = |source| TokenError::Io { path: path.clone(), source };
    if !path.try_exists().map_err(io)? {
        create(data_dir, &path)?;
    }
    let token = read(data_dir)?;
    fs::set_permissions(&path, Permissions::from_mode(0o600)).map_err(io)?;
    Ok((token, path))
}

/// A new token in the place of the one that was; whoever has the old one is shut out.
pub(crate) fn renew(data_dir: &Path) -> Result<String, TokenError> {
    create(data_dir, &path_of(data_dir))?;
    read(data_dir)
}

/// Where the token of a data folder is.
pub(crate) fn path_of(data_dir: &Path) -> PathBuf {
    data_dir.join(FILE)
}

/// Written aside and renamed, so that nobody ever reads half of it.
fn create(data_dir: &Path, path: &Path) -> Result<(), TokenError> {
    let mut bytes = [0; BYTES];
    getrandom::fill(&mut bytes).map_err(TokenError::Random)?;
    let aside = data_dir.join("token.new");
    let io = |source| TokenError::Io { path: path.to_owned(), source };
    match fs::remove_file(&aside) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(io(error)),
        _ => {}
    }
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&aside).map_err(io)?;
    file.write_all(URL_SAFE_NO_PAD.encode(bytes).as_bytes()).map_err(io)?;
    file.sync_all().map_err(io)?;
    fs::rename(&aside, path).map_err(io)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn is_made_once_and_for_its_owner_alone() {
        let dir = tempfile::tempdir().unwrap();
        let (first, path) = load_or_create(dir.path()).unwrap();
        assert_eq!(URL_SAFE_NO_PAD.decode(&first).unwrap().len(), BYTES);
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        fs::set_permissions(&path, Permissions::from_mode(0o644)).unwrap();
        assert_eq!(load_or_create(dir.path()).unwrap().0, first);
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(read(dir.path()).unwrap(), first);
        let other = tempfile::tempdir().unwrap();
        assert_ne!(load_or_create(other.path()).unwrap().0, first);
    }

    #[test]
    fn a_new_one_takes_its_place() {
        let dir = tempfile::tempdir().unwrap();
        let (first, path) = load_or_create(dir.path()).unwrap();
        let second = renew(dir.path()).unwrap();
        assert_ne!(first, second);
        assert_eq!(read(dir.path()).unwrap(), second);
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    }

    #[test]
    fn a_file_cut_short_lets_nobody_in() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join(FILE), "\n").unwrap();
        assert!(matches!(load_or_create(dir.path()), Err(TokenError::Malformed { .. })));
    }
}
