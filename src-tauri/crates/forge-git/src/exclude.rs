//! The private ignore list of a repository, `info/exclude`: lines for its worktrees, and the folders that it names.

use std::ffi::OsStr;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use crate::bytes;
use crate::error::GitError;
use crate::lock::{Purpose, turn};
use crate::repo::Repo;

impl Repo {
    /// Adds lines to the repository's private ignore list (`info/exclude`), once each.
    pub async fn exclude(&self, patterns: &[&str]) -> Result<(), GitError> {
        let lines: Vec<&[u8]> = patterns.iter().map(|pattern| pattern.as_bytes()).collect();
        self.exclude_lines(&lines).await
    }

    pub(crate) async fn exclude_lines(&self, lines: &[&[u8]]) -> Result<(), GitError> {
        let _turn = turn(self.common_dir(), Purpose::Worktrees).await;
        let info = self.common_dir().join("info");
        let path = info.join("exclude");
        let mut content = match fs::read(&path) {
            Err(e) if e.kind() == ErrorKind::NotFound => Vec::new(),
            other => other.map_err(GitError::io("read", &path))?,
        };
        if let Some(guard) = self.guard() {
            // What somebody else changed there must not be taken for ours.
            guard.check().await?;
        }
        let before = content.len();
        for line in lines {
            if content.split(|b| *b == b'\n').any(|known| known == *line) {
                continue;
            }
            if content.last().is_some_and(|last| *last != b'\n') {
                content.push(b'\n');
            }
            content.extend_from_slice(line);
            content.push(b'\n');
        }
        if content.len() == before {
            return Ok(());
        }
        self.create_within(&info)?;
        let fresh = info.join(format!("exclude.forge-{}", uuid::Uuid::new_v4().simple()));
        fs::write(&fresh, &content).map_err(GitError::io("write", &fresh))?;
        fs::rename(&fresh, &path).map_err(GitError::io("replace", &path))?;
        self.accept_own_change("info/exclude")
    }

    /// The folders whose repositories `info/exclude` has git overlook.
    pub(crate) fn excluded_folders(&self) -> Result<Vec<PathBuf>, GitError> {
        let path = self.common_dir().join("info/exclude");
        let lines = match fs::read(&path) {
            Err(e) if e.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
            other => other.map_err(GitError::io("read", &path))?,
        };
        let of_repository = |folder: PathBuf| match folder.file_name() == Some(OsStr::new(".git")) {
            true => folder.parent().map(Path::to_owned),
            false => Some(folder),
        };
        Ok(lines.split(|byte| *byte == b'\n').filter_map(excluded_folder).filter_map(of_repository).collect())
    }
}

/// The line of an ignore list that means this folder alone.
pub(crate) fn exclude_line(folder: &str) -> Vec<u8> {
    let mut line = vec![b'/'];
    for byte in folder.bytes() {
        if matches!(byte, b'*' | b'?' | b'[' | b'\\' | b' ') {
            line.push(b'\\');
        }
        line.push(byte);
    }
    line.push(b'/');
    line
}

/// The folder that a line of an ignore list means, when it means just one.
fn excluded_folder(line: &[u8]) -> Option<PathBuf> {
    let escaped = line.strip_prefix(b"/")?.strip_suffix(b"/")?;
    let (mut folder, mut rest) = (Vec::with_capacity(escaped.len()), escaped.iter());
    while let Some(byte) = rest.next() {
        match byte {
            b'\\' => folder.push(*rest.next()?),
            b'*' | b'?' | b'[' => return None,
            byte => folder.push(*byte),
        }
    }
    let folder = bytes::path(&folder).to_owned();
    let stays_inside = folder.components().all(|part| matches!(part, std::path::Component::Normal(_)));
    (stays_inside && folder.components().next().is_some()).then_some(folder)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folder_is_read_back_from_its_exclude_line() {
        for folder in ["a", "a/b c", "a [b] *c", "back\\slash"] {
            assert_eq!(excluded_folder(&exclude_line(folder)), Some(PathBuf::from(folder)));
        }
        for line in ["/.forge/*", "*.o", "/*/", "/../up/", "//", "a/", "/a"] {
            assert_eq!(excluded_folder(line.as_bytes()), None, "{line}");
        }
    }
}
