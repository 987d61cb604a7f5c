//! Folders of hooks: which files in them count, and which of those are what the user's own branch says.
//!
//! Every file of such a folder counts, executable or not, at any depth: hooks read other files. Hooks that are tracked
//! change with the branch that is checked out, so a file in the user's checkout that is as the checkout's `HEAD` has it
//! was not changed by anybody who only wrote there.

use std::fs;
use std::io::ErrorKind;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use git2::{ObjectType, Oid, Repository, Tree};

use super::{Fingerprint, FingerprintFile, Place, Taken, hex_of, is_missing};
use crate::bytes;
use crate::error::GitError;
use crate::repository_change::ChangedFile;

/// Names that git calls hooks by. Of a folder that holds the whole repository, only these count.
const NAMES: [&str; 19] = [
    "applypatch-msg",
    "commit-msg",
    "fsmonitor-watchman",
    "post-applypatch",
    "post-checkout",
    "post-commit",
    "post-index-change",
    "post-merge",
    "post-rewrite",
    "pre-applypatch",
    "pre-auto-gc",
    "pre-commit",
    "pre-merge-commit",
    "pre-push",
    "pre-rebase",
    "prepare-commit-msg",
    "push-to-checkout",
    "reference-transaction",
    "sendemail-validate",
];
/// Husky's own folder: its hooks run the files beside it.
const HUSKY: &str = "_";
/// A folder with more files than this holds more than hooks.
const MOST_FILES: usize = 2_000;

impl Place {
    /// Adds the files of a folder of hooks.
    pub(super) fn hooks(&self, taken: &mut Taken, name: &str, folder: &Path) -> Result<(), GitError> {
        let everything = self.common_dir.starts_with(folder);
        let mut ahead = vec![(name.to_owned(), folder.to_owned())];
        let mut count = 0;
        while let Some((name, folder)) = ahead.pop() {
            taken.paths.push(folder.clone());
            let entries = match fs::read_dir(&folder) {
                Err(e) if is_missing(&e) => continue,
                other => other.map_err(GitError::io("list", &folder))?,
            };
            for entry in entries {
                let entry = entry.map_err(GitError::io("list", &folder))?;
                let file = entry.file_name().to_string_lossy().into_owned();
                let counts = if everything { NAMES.contains(&file.as_str()) } else { !is_idle(&file) };
                if !counts {
                    continue;
                }
                count += 1;
                if count > MOST_FILES {
                    let what = format!("the hooks folder has more than {MOST_FILES} files");
                    return Err(GitError::Unexpected { args: folder.display().to_string(), what });
                }
                let kind = entry.file_type().map_err(GitError::io("look at", entry.path()))?;
                let name = format!("{name}/{file}");
                if kind.is_dir() {
                    ahead.push((name, entry.path()));
                } else if kind.is_symlink() && entry.path().is_dir() {
                    taken.link(name, &entry.path())?;
                } else {
                    taken.file(name, &entry.path())?;
                }
            }
        }
        Ok(())
    }

    /// The folder of hooks besides the common directory's own; `setting` is what the repository says.
    pub(super) fn hooks_folder(&self, setting: Option<PathBuf>) -> Option<PathBuf> {
        let folder = setting.or_else(|| self.hooks.clone())?;
        let above = folder.parent().filter(|_| folder.ends_with(HUSKY));
        Some(above.map_or_else(|| folder.clone(), Path::to_owned))
    }

    /// Of the differences, those that are not simply what the `HEAD` of the user's checkout has; and whether any was.
    pub(super) fn uncommitted(
        &self,
        changes: Vec<ChangedFile>,
        now: &Fingerprint,
    ) -> Result<(Vec<ChangedFile>, bool), GitError> {
        if !changes.iter().any(|change| self.in_checkout(&change.path).is_some()) {
            return Ok((changes, false));
        }
        // What libgit2 cannot read excuses nothing.
        let repository = Repository::open(&self.common_dir).ok();
        let head = repository.as_ref().and_then(head_tree);
        let before = changes.len();
        let mut left = Vec::new();
        for change in changes {
            let committed = match (self.in_checkout(&change.path), &head) {
                (Some(path), Some(head)) => committed_as(now.get(&change.path), committed(head, path)),
                _ => false,
            };
            if !committed {
                left.push(change);
            }
        }
        let any = left.len() < before;
        Ok((left, any))
    }

    /// What the `HEAD` of the user's checkout has at the path of a hook.
    pub(super) fn committed_hook(&self, name: &str) -> Result<Option<FingerprintFile>, GitError> {
        let Some(path) = self.in_checkout(name) else { return Ok(None) };
        let Ok(repository) = Repository::open(&self.common_dir) else { return Ok(None) };
        let Some((oid, executable)) = head_tree(&repository).and_then(|head| committed(&head, path)) else {
            return Ok(None);
        };
        let content = repository.find_blob(oid)?.content().to_vec();
        let sha256 = hex_of(&content);
        Ok(Some(FingerprintFile { path: name.to_owned(), executable, sha256, content: Some(content) }))
    }

    /// The files whose stamps say where the `HEAD` of the user's checkout is.
    pub(super) fn head_paths(&self) -> Vec<PathBuf> {
        let head = self.common_dir.join("HEAD");
        let named = fs::read_to_string(&head).ok();
        let named = named.as_deref().and_then(|head| head.strip_prefix("ref: ")).map(str::trim_end);
        let branch = named.map(|name| self.common_dir.join(name));
        let others = ["packed-refs", "reftable/tables.list"].map(|name| self.common_dir.join(name));
        std::iter::once(head).chain(branch).chain(others).collect()
    }

    /// The path of a file of the user's checkout, from its top.
    pub(super) fn in_checkout<'a>(&self, name: &'a str) -> Option<&'a Path> {
        let path = Path::new(name);
        let inside = path.strip_prefix(&self.root).ok()?;
        (path.is_absolute() && !path.starts_with(&self.common_dir)).then_some(inside)
    }
}

impl Taken {
    /// Takes a link to a folder by where it leads.
    fn link(&mut self, name: String, path: &Path) -> Result<(), GitError> {
        self.paths.push(path.to_owned());
        let target = match fs::read_link(path) {
            Err(e) if e.kind() == ErrorKind::NotFound => return Ok(()),
            other => other.map_err(GitError::io("read", path))?,
        };
        let content = [b"link to ", bytes::of(&target), b"\n"].concat();
        let sha256 = hex_of(&content);
        let file = FingerprintFile { path: name.clone(), executable: false, sha256, content: Some(content) };
        self.files.insert(name, file);
        Ok(())
    }
}

/// Sample hooks that git installs and never runs.
fn is_idle(name: &str) -> bool {
    name.ends_with(".sample") || name == ".git"
}

fn head_tree(repository: &Repository) -> Option<Tree<'_>> {
    repository.head().ok()?.peel_to_tree().ok()
}

/// The content of a file in a tree, and whether it may be executed.
fn committed(head: &Tree<'_>, path: &Path) -> Option<(Oid, bool)> {
    let entry = head.get_path(path).ok()?;
    (entry.kind() == Some(ObjectType::Blob)).then(|| (entry.id(), entry.filemode() & 0o111 != 0))
}

fn committed_as(now: Option<&FingerprintFile>, committed: Option<(Oid, bool)>) -> bool {
    match (now, committed) {
        (None, None) => true,
        (Some(now), Some((oid, executable))) => {
            let content = now.content.as_deref();
            let own = content.and_then(|content| Oid::hash_object(ObjectType::Blob, content).ok());
            own == Some(oid) && now.executable == executable
        }
        _ => false,
    }
}

/// The permissions of a file that is put back.
pub(super) fn mode_of(file: &FingerprintFile) -> fs::Permissions {
    fs::Permissions::from_mode(if file.executable { 0o755 } else { 0o644 })
}
