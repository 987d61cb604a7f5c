//! Turns: operations of this process that must not meet in one repository.
//!
//! Two `git worktree add` at once fight over the repository's administrative files; one lock per repository
//! and purpose makes them queue, in order. Other programs are not bound by it: git's own lock files are, and
//! when one of those is in the way, it and its holder are found here.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock, Mutex, PoisonError, Weak};

use tokio::sync::{Mutex as Queue, OwnedMutexGuard};

use crate::error::LockHolder;

/// What the turn is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Purpose {
    /// The list of worktrees and the files git keeps about them. Taken after `Tree`, never before.
    Worktrees,
    /// One worktree's directory; the key is its path, not the repository.
    Tree,
    /// Moving branches that may be checked out.
    Landing,
}

type Turns = HashMap<(PathBuf, Purpose), Weak<Queue<()>>>;

/// A turn; over when its last clone is dropped.
pub(crate) type Turn = Arc<OwnedMutexGuard<()>>;

static TURNS: LazyLock<Mutex<Turns>> = LazyLock::new(Mutex::default);

/// Waits for the turn in the repository with this common directory.
pub(crate) async fn turn(common_dir: &Path, purpose: Purpose) -> Turn {
    let queue = {
        let mut turns = TURNS.lock().unwrap_or_else(PoisonError::into_inner);
        turns.retain(|_, queue| queue.strong_count() > 0);
        let slot = turns.entry((common_dir.to_owned(), purpose)).or_default();
        slot.upgrade().unwrap_or_else(|| {
            let fresh = Arc::new(Queue::new(()));
            *slot = Arc::downgrade(&fresh);
            fresh
        })
    };
    Arc::new(queue.lock_owned().await)
}

/// The process that has the file open, when the system tells. Looks at other processes' handles, so it is
/// for error messages only.
pub(crate) fn holder(path: &Path) -> Option<LockHolder> {
    let wanted = path.canonicalize().ok()?;
    let processes = std::fs::read_dir("/proc").ok()?;
    processes.flatten().find_map(|process| {
        let pid: u32 = process.file_name().to_str()?.parse().ok()?;
        let mut handles = std::fs::read_dir(process.path().join("fd")).ok()?;
        let holds = handles.any(|fd| fd.is_ok_and(|fd| fd.path().read_link().is_ok_and(|to| to == wanted)));
        let name = std::fs::read_to_string(process.path().join("comm")).unwrap_or_default();
        holds.then(|| LockHolder { pid, name: name.trim_end().to_owned() })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_holder_of_an_open_file_is_found() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("index.lock");
        assert_eq!(holder(&path), None);
        let open = std::fs::File::create(&path).unwrap();
        assert_eq!(holder(&path).map(|h| h.pid), Some(std::process::id()));
        drop(open);
        assert_eq!(holder(&path), None);
    }

    #[tokio::test]
    async fn turns_are_per_repository_and_purpose() {
        let first = turn(Path::new("/a"), Purpose::Worktrees).await;
        let _other_repository = turn(Path::new("/b"), Purpose::Worktrees).await;
        let _other_purpose = turn(Path::new("/a"), Purpose::Landing).await;
        let waiting = tokio::spawn(turn(Path::new("/a"), Purpose::Worktrees));
        tokio::task::yield_now().await;
        assert!(!waiting.is_finished());
        drop(first);
        waiting.await.unwrap();
    }
}
