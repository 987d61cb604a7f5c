//! One changed file, and the changed files of a list.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use forge_model::diff::{FileChange, FileChangeKind};

/// A change with its path.
#[derive(Debug, Clone)]
pub(super) struct RawChange {
    pub(super) change: FileChange,
    /// As git has it, for asking again.
    pub(super) path: PathBuf,
}

/// Changed files by path.
pub(super) type Changes = HashMap<String, RawChange>;

/// Whether a remembered change still fits what lies in the worktree, as far as its kind goes. Contents are read
/// anew anyway.
pub(super) fn still_fits(worktree: Option<&Path>, raw: &RawChange) -> bool {
    let Some(worktree) = worktree else { return true };
    let type_at = |path: &Path| worktree.join(path).symlink_metadata().ok().map(|found| found.file_type());
    let old_is_back = raw.change.kind == FileChangeKind::Renamed
        && raw.change.old_path.as_ref().is_some_and(|old| type_at(Path::new(old)).is_some());
    let now = type_at(&raw.path);
    let fits = match raw.change.new_mode.as_deref() {
        None => now.is_none(),
        Some("120000") => now.is_some_and(|kind| kind.is_symlink()),
        Some(mode) if mode.starts_with("100") => now.is_some_and(|kind| kind.is_file()),
        // A submodule: only git knows which commit it stands on.
        Some(_) => false,
    };
    fits && !old_is_back
}
