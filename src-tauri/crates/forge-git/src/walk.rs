//! The folders of a worktree that are not ignored, gone through for what git's status does not tell: repositories beside
//! tracked files, what is left of repositories, and folders that cannot be read.
//!
//! Only folders are read, never files. Which ones are ignored is git's to say, and it is asked only about those that
//! hold nothing it told of already: a tree of dependencies costs one question.

use std::collections::HashSet;
use std::ffi::OsStr;
use std::fs;
use std::io::ErrorKind;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use crate::bytes;
use crate::command::Kind;
use crate::error::GitError;
use crate::index_paths::Paths;
use crate::status::RawEntry;
use crate::worktree::Worktree;

/// What was found below the top of a worktree; paths are from there, in order.
#[derive(Debug, Default)]
pub(crate) struct Walk {
    /// Folders with a `.git` in them, other than checked out submodules.
    pub(crate) with_dot_git: Vec<PathBuf>,
    /// Folders that cannot be read.
    pub(crate) unread: Vec<PathBuf>,
    /// Folders that can be read now and could not before: git did not tell of what is in them.
    pub(crate) opened: bool,
}

/// Folders that are known before they are read.
#[derive(Debug, Default)]
struct Known {
    /// They hold tracked files.
    tracked: HashSet<PathBuf>,
    /// They hold untracked files that are not ignored, or are repositories.
    untracked: HashSet<PathBuf>,
    /// Other repositories that the index names: their content is looked at elsewhere.
    links: HashSet<PathBuf>,
}

impl Worktree {
    /// Goes through its folders. `changes` is its status with untracked files, `checked_out` its submodules.
    pub(crate) async fn walk(&self, changes: &[RawEntry], checked_out: &[PathBuf]) -> Result<Walk, GitError> {
        let mut known = Known { tracked: self.tracked_folders().await?, ..Known::default() };
        for raw in changes.iter().filter(|raw| raw.entry.untracked) {
            let path: PathBuf = raw.path.components().collect();
            let of_file = if raw.is_nested_repository() { Some(path.as_path()) } else { path.parent() };
            add_folders(of_file, &mut known.untracked);
        }
        known.links.extend(checked_out.iter().cloned());
        let (mut walk, mut ahead) = (Walk::default(), vec![PathBuf::new()]);
        while !ahead.is_empty() {
            let root = self.path().to_owned();
            let read = tokio::task::spawn_blocking(move || {
                let unknown = read_all(&root, ahead, &known, &mut walk)?;
                Ok::<_, GitError>((walk, known, unknown))
            });
            let unknown;
            (walk, known, unknown) = read.await??;
            ahead = self.not_ignored(unknown).await?;
        }
        walk.with_dot_git.sort_unstable();
        walk.unread.sort_unstable();
        Ok(walk)
    }

    async fn tracked_folders(&self) -> Result<HashSet<PathBuf>, GitError> {
        let index = self.git_dir().await?.join("index");
        let read = tokio::task::spawn_blocking(move || {
            let paths = Paths::read(&index).map_err(GitError::io("read", &index))?;
            Ok::<_, GitError>(paths.map(|paths| {
                let mut folders = HashSet::new();
                paths.folders(|folder| {
                    folders.insert(bytes::path(folder).to_owned());
                });
                folders
            }))
        });
        if let Some(folders) = read.await?? {
            return Ok(folders);
        }
        // An index of a kind that is not read here.
        let listed = self.command(Kind::Read).args(["ls-files", "-z"]).ok().await?;
        let mut folders = HashSet::new();
        for path in bytes::records(&listed) {
            add_folders(bytes::path(path).parent(), &mut folders);
        }
        Ok(folders)
    }
}

/// Reads these folders and the known ones below them; those below that nobody knows.
fn read_all(
    root: &Path,
    mut ahead: Vec<PathBuf>,
    known: &Known,
    walk: &mut Walk,
) -> Result<Vec<PathBuf>, GitError> {
    let mut unknown = Vec::new();
    while let Some(folder) = ahead.pop() {
        let Some(entries) = read(&root.join(&folder), walk)? else {
            walk.unread.push(folder);
            continue;
        };
        let (mut inside, mut has_dot_git) = (Vec::new(), false);
        for entry in entries {
            let name = entry.file_name();
            if name == OsStr::new(".git") {
                has_dot_git = true;
            } else if entry.file_type().map_err(GitError::io("look at", entry.path()))?.is_dir() {
                inside.push(folder.join(name));
            }
        }
        if has_dot_git && !folder.as_os_str().is_empty() {
            let goes_on = known.tracked.contains(&folder);
            walk.with_dot_git.push(folder);
            if !goes_on {
                // What is below is that repository's, and is found with it.
                continue;
            }
        }
        for path in inside {
            if known.tracked.contains(&path) || known.untracked.contains(&path) {
                ahead.push(path);
            } else if !known.links.contains(&path) {
                unknown.push(path);
            }
        }
    }
    Ok(unknown)
}

/// What lies in a folder; `None` when it cannot be read. One that its owner closed is opened.
fn read(folder: &Path, walk: &mut Walk) -> Result<Option<Vec<fs::DirEntry>>, GitError> {
    match list(folder) {
        Err(e) if e.kind() == ErrorKind::PermissionDenied => {}
        Err(e) if matches!(e.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
            return Ok(Some(Vec::new()));
        }
        other => return other.map(Some).map_err(GitError::io("list", folder)),
    }
    let opened = folder.symlink_metadata().and_then(|found| {
        let mut mode = found.permissions();
        mode.set_mode(mode.mode() | 0o700);
        fs::set_permissions(folder, mode)?;
        list(folder)
    });
    walk.opened |= opened.is_ok();
    Ok(opened.ok())
}

/// The entries of a folder that may be looked at.
fn list(folder: &Path) -> std::io::Result<Vec<fs::DirEntry>> {
    let entries = fs::read_dir(folder)?.collect::<Result<Vec<_>, _>>()?;
    match entries.first().map(|entry| entry.path().symlink_metadata()) {
        Some(Err(e)) if e.kind() == ErrorKind::PermissionDenied => Err(e),
        _ => Ok(entries),
    }
}

fn add_folders(folder: Option<&Path>, folders: &mut HashSet<PathBuf>) {
    let mut at = folder;
    while let Some(folder) = at.filter(|folder| !folder.as_os_str().is_empty()) {
        if !folders.insert(folder.to_owned()) {
            break;
        }
        at = folder.parent();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::repo::Repo;
    use crate::testing::Sandbox;

    async fn walked(repo: &Repo) -> Walk {
        let seen = repo.main_worktree().uncommitted().await.unwrap();
        repo.main_worktree().walk(&seen.changes, &seen.checked_out).await.unwrap()
    }

    #[tokio::test]
    async fn each_dot_git_is_found_but_in_what_is_ignored() {
        let sandbox = Sandbox::new().await;
        let repo = sandbox.repo().await;
        sandbox.commit("files", &[(".gitignore", "ignored\n*.o\n"), ("src/deep/f", "f"), ("lone/f", "f")]);
        for folder in ["src", "src/deep", "new", "ignored/x", "empty/down"] {
            fs::create_dir_all(sandbox.path(folder)).unwrap();
            sandbox.git_at(&sandbox.path(folder), &["init", "-q"]);
        }
        sandbox.write("broken/.git/objects/x", "x");
        sandbox.write("objects/down/a.o", "ignored");
        sandbox.write("objects/down/.git", "gitdir: nowhere\n");
        for is_split in [false, true] {
            if is_split {
                sandbox.git(&["update-index", "--split-index"]);
            }
            let walk = walked(&repo).await;
            let found: Vec<_> = walk.with_dot_git.iter().map(|path| path.to_string_lossy()).collect();
            assert_eq!(found, ["broken", "empty/down", "new", "objects/down", "src", "src/deep"]);
            assert!(walk.unread.is_empty() && !walk.opened);
        }
    }

    #[tokio::test]
    async fn folder_that_its_owner_closed_is_backed_up() {
        let sandbox = Sandbox::new().await;
        let repo = sandbox.repo().await;
        sandbox.write("closed/file", "closed\n");
        let close = |mode| {
            let mode = std::os::unix::fs::PermissionsExt::from_mode(mode);
            fs::set_permissions(sandbox.path("closed"), mode).unwrap();
        };
        for mode in [0o000, 0o400, 0o100] {
            close(mode);
            let made = repo.main_worktree().back_up("refs/forge/backup/t", "m").await.unwrap().unwrap();
            assert_eq!(
                sandbox.git_out(&["show", &format!("{}:closed/file", made.commit)]),
                "closed",
                "{mode:o}"
            );
            assert_eq!(made.skipped, Vec::<String>::new());
        }
    }
}
