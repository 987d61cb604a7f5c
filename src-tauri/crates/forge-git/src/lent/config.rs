//! The configuration of a lent git directory: the repository's own, included, and what must differ.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use forge_transfer::quote::quoted;

use crate::bytes;
use crate::error::GitError;
use crate::settings::expanded;
use crate::worktree::Worktree;

/// How the names of settings begin that include others where the git directory lies in some folder.
const BY_FOLDER: &str = "includeif.gitdir";

/// What a repository's configuration says about its format.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Format {
    /// `extensions.*`, without that name's first part. Not read from included files, so they are repeated.
    pub(super) extensions: Vec<(String, String)>,
}

impl Format {
    pub(super) fn read(common_dir: &Path) -> Result<Self, GitError> {
        let path = common_dir.join("config");
        let content = match fs::read(&path) {
            Err(error) if error.kind() == ErrorKind::NotFound => Vec::new(),
            other => other.map_err(GitError::io("read", &path))?,
        };
        let odd = || GitError::Unexpected {
            args: path.display().to_string(),
            what: "git would refuse this configuration".to_owned(),
        };
        let said = crate::config_file::parse(&content).ok_or_else(odd)?;
        let extensions = said.into_iter().filter_map(|(name, value)| {
            let name = name.strip_prefix("extensions.")?;
            Some((name.to_owned(), value))
        });
        Ok(Self { extensions: extensions.collect() })
    }

    pub(super) fn get(&self, name: &str) -> Option<&str> {
        self.extensions.iter().rev().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }
}

impl Worktree {
    /// Files that the settings of the worktree include because its git directory lies where it does. For a directory
    /// elsewhere, such as a lent one, they would not count.
    pub(super) async fn included_by_folder(&self) -> Result<Vec<PathBuf>, GitError> {
        let settings = self.settings().await?;
        if !settings.values().iter().any(|(name, _)| name.starts_with(BY_FOLDER)) {
            return Ok(Vec::new());
        }
        let listed = self
            .command(crate::command::Kind::Read)
            .args(["config", "--list", "-z", "--show-origin"])
            .ok()
            .await?;
        let home = self.repo().git().env_var("HOME").map(PathBuf::from);
        let (mut conditional, mut origins) = (Vec::new(), Vec::new());
        let mut records = bytes::records(&listed);
        while let (Some(origin), Some(entry)) = (records.next(), records.next()) {
            let Some(origin) = origin.strip_prefix(b"file:") else { continue };
            let origin = self.path().join(bytes::path(origin));
            let entry = bytes::text(entry);
            if let Some((name, value)) = entry.split_once('\n')
                && name.starts_with(BY_FOLDER)
                && let Some(beside) = origin.parent()
            {
                conditional.extend(expanded(value, beside, home.as_deref()));
            }
            origins.push(origin);
        }
        conditional.retain(|path| origins.contains(path));
        Ok(conditional)
    }
}

/// The configuration of a lent git directory.
pub(super) fn of(
    common_dir: &Path,
    worktree: &Path,
    format: &Format,
    included: &[PathBuf],
    sets_hooks: bool,
) -> Vec<u8> {
    let mut config = Vec::new();
    let mut say = |parts: &[&[u8]]| config.extend(parts.concat());
    for file in included.iter().map(PathBuf::as_path).chain([&*common_dir.join("config")]) {
        say(&[b"[include]\n\tpath = ", &quoted(bytes::of(file)), b"\n"]);
    }
    let version: &[u8] = if format.extensions.is_empty() { b"0" } else { b"1" };
    say(&[b"[core]\n\trepositoryformatversion = ", version, b"\n\tbare = false\n"]);
    say(&[b"\tworktree = ", &quoted(bytes::of(worktree)), b"\n"]);
    if !sets_hooks {
        say(&[b"\thooksPath = ", &quoted(bytes::of(&common_dir.join("hooks"))), b"\n"]);
    }
    if !format.extensions.is_empty() {
        say(&[b"[extensions]\n"]);
        for (name, value) in &format.extensions {
            say(&[b"\t", name.as_bytes(), b" = ", &quoted(value.as_bytes()), b"\n"]);
        }
    }
    // Maintenance in the background would outlive the command that started it.
    say(&[b"[gc]\n\tauto = 0\n[maintenance]\n\tauto = false\n"]);
    config
}
