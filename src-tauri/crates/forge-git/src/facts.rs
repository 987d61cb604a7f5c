//! What lies in a folder: for lists in which a person decides what may go.

use std::collections::HashSet;
use std::fs::Metadata;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use crate::error::GitError;
use crate::places::{dot_git_target, is_same, real_path};
use crate::repo::Repo;
use crate::worktrees::rebasing_branch;

/// Size of the blocks that the system counts a file's space in, whatever the file system's own are.
const BLOCK: u64 = 512;

/// What a folder holds, seen from one repository.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct FolderFacts {
    /// It is a worktree of this repository.
    pub registered: bool,
    /// It belongs to another repository, or is one.
    pub foreign: bool,
    /// The branch it has checked out (short name), also while that is being rebased.
    pub branch: Option<String>,
    /// The commit it stands on.
    pub head: Option<String>,
    /// Commits that the target does not contain.
    pub unmerged_commits: u32,
    /// Paths that are not as committed, untracked ones included, ignored ones not.
    pub uncommitted: u32,
    /// Last commit or change of what is uncommitted, milliseconds since 1970; of a folder that is no worktree,
    /// the last change at its top. `None` when there is no folder.
    pub last_change_ms: Option<i64>,
}

impl Repo {
    /// Looks into a folder that may or may not be a worktree; `target` is the branch that work goes into.
    pub async fn folder_facts(&self, path: &Path, target: &str) -> Result<FolderFacts, GitError> {
        let path = real_path(path)?;
        let known = self.worktrees().await?;
        let entry = known.into_iter().find(|entry| is_same(&entry.path, &path));
        let admin = self.admin_dir(&path).or_else(|| self.admin_of_lent(&path));
        let is_main = self.root() == path;
        let (Some(entry), true) = (entry, path.is_dir() && (admin.is_some() || is_main)) else {
            return Ok(FolderFacts {
                foreign: self.is_foreign(&path),
                last_change_ms: newest_at_top(&path),
                ..FolderFacts::default()
            });
        };
        let mut facts = FolderFacts { registered: true, ..FolderFacts::default() };
        facts.branch = entry.branch.or_else(|| admin.as_deref().and_then(rebasing_branch));
        let changes = self.worktree_at(&path).raw_status(true).await?;
        facts.uncommitted = u32::try_from(changes.len()).unwrap_or(u32::MAX);
        facts.last_change_ms = changes.iter().filter_map(|raw| changed_at(&path.join(&raw.path))).max();
        if let Some(head) = entry.head {
            let target = self.must_resolve(target).await?;
            facts.unmerged_commits = self.count(&target, &head).await?;
            facts.last_change_ms = facts.last_change_ms.max(Some(self.commit_time(&head).await?));
            facts.head = Some(head);
        }
        Ok(facts)
    }

    /// How many commits are in `base..head`.
    async fn count(&self, base: &str, head: &str) -> Result<u32, GitError> {
        let range = format!("{base}..{head}");
        let command = self.read().args(["rev-list", "--count", "--end-of-options", &range]);
        let args = command.shown();
        let said = command.text().await?;
        said.parse().map_err(|_| GitError::Unexpected { args, what: format!("no number: {said:?}") })
    }

    /// Whether a folder's `.git` is, or leads to, another repository that exists.
    fn is_foreign(&self, folder: &Path) -> bool {
        let dot_git = folder.join(".git");
        let leads_to = dot_git_target(folder).unwrap_or(dot_git);
        leads_to.canonicalize().is_ok_and(|git_dir| !git_dir.starts_with(self.common_dir()))
    }
}

/// The space that a folder takes on the disk, in bytes. Hard links count once, symbolic links are not followed,
/// what may not be looked at counts nothing. Blocks.
pub fn disk_usage(path: &Path) -> u64 {
    let mut seen = HashSet::new();
    let mut space = 0;
    let mut ahead: Vec<PathBuf> = Vec::new();
    let mut count = |path: PathBuf, found: &Metadata, ahead: &mut Vec<PathBuf>| {
        let shared = found.nlink() > 1 && !found.is_dir();
        if !shared || seen.insert((found.dev(), found.ino())) {
            space += found.blocks() * BLOCK;
        }
        if found.is_dir() {
            ahead.push(path);
        }
    };
    if let Ok(found) = path.symlink_metadata() {
        count(path.to_owned(), &found, &mut ahead);
    }
    while let Some(dir) = ahead.pop() {
        // Unreadable, or gone meanwhile.
        let Ok(entries) = dir.read_dir() else { continue };
        for entry in entries.flatten() {
            // Of the entry itself: a link is not followed.
            if let Ok(found) = entry.metadata() {
                count(entry.path(), &found, &mut ahead);
            }
        }
    }
    space
}

fn newest_at_top(folder: &Path) -> Option<i64> {
    let own = changed_at(folder)?;
    let entries = folder.read_dir().into_iter().flatten().flatten();
    Some(entries.filter_map(|entry| changed_at(&entry.path())).fold(own, i64::max))
}

/// When a file was last written, milliseconds since 1970.
fn changed_at(path: &Path) -> Option<i64> {
    let modified = path.symlink_metadata().ok()?.modified().ok()?;
    i64::try_from(modified.duration_since(UNIX_EPOCH).ok()?.as_millis()).ok()
}

#[cfg(test)]
mod tests;
