//! Turns: operations of this process that must not meet in one repository.
//!
//! Two `git worktree add` at once fight over the repository's administrative files; one lock per repository
//! and purpose makes them queue, in order. Other programs are not bound by it: git's own lock files are, and
//! when one of those is in the way, it and its holder are found here.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock, Mutex, PoisonError, Weak};

use tokio::sync::{Mutex as Queue, OwnedMutexGuard};

use crate::bytes;
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

/// Files whose lock git's messages name without its ending.
const NAMED_BARE: [&str; 3] = ["config", "config.worktree", "packed-refs"];

/// The lock file that a message of git speaks of. The one place where a message is looked into, whatever its
/// language, and not for its meaning: what counts is a path in it at which a lock of git's lies.
pub(crate) fn named_in(message: &[u8], dir: &Path) -> Option<PathBuf> {
    message.split(|b| *b == b'\n').find_map(|line| {
        let whole = ends_of(line, b".lock").map(|end| (end, ""));
        let bare =
            NAMED_BARE.iter().flat_map(|name| ends_of(line, name.as_bytes()).map(|end| (end, ".lock")));
        whole.chain(bare).find_map(|(end, ending)| {
            // Paths may contain anything; they begin at the line's start or after a quote or a space.
            let starts = (0..end).filter(|at| *at == 0 || matches!(line[at - 1], b'\'' | b'"' | b' '));
            starts.map(|start| lock_at(dir, &line[start..end], ending)).find_map(|found| found)
        })
    })
}

fn ends_of<'a>(line: &'a [u8], what: &'a [u8]) -> impl Iterator<Item = usize> + 'a {
    (what.len()..=line.len()).filter(move |end| line[..*end].ends_with(what))
}

fn lock_at(dir: &Path, named: &[u8], ending: &str) -> Option<PathBuf> {
    let path = dir.join(bytes::path(&[named, ending.as_bytes()].concat()));
    // `Cargo.lock` and the like are not git's.
    let is_gits = path.components().any(|part| bytes::of(Path::new(&part)).ends_with(b".git"));
    (is_gits && path.symlink_metadata().is_ok_and(|found| found.is_file())).then_some(path)
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

    #[test]
    fn only_locks_of_git_that_exist_are_found_in_messages() {
        let dir = tempfile::tempdir().unwrap();
        let git_dir = dir.path().join("a repo/.git");
        std::fs::create_dir_all(&git_dir).unwrap();
        for name in ["index.lock", "config.lock", "Cargo.lock"] {
            std::fs::write(git_dir.join(name), "").unwrap();
            std::fs::write(dir.path().join("a repo").join(name), "").unwrap();
        }
        let base = dir.path().display();
        let found = |message: &str| named_in(message.as_bytes(), &dir.path().join("a repo"));
        let index =
            format!("x\nfatal: Unable to create '{base}/a repo/.git/index.lock': File exists.\n\nAnother");
        assert_eq!(found(&index), Some(git_dir.join("index.lock")));
        let translated = "error: Konfigurationsdatei .git/config konnte nicht gesperrt werden";
        assert_eq!(found(translated), Some(git_dir.join("config.lock")));
        assert_eq!(found(&format!("error: {base}/a repo/Cargo.lock is not up to date")), None);
        assert_eq!(found(&format!("'{base}/a repo/.git/HEAD.lock': File exists.")), None);
        assert_eq!(found(""), None);
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
