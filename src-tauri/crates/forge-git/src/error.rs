//! Everything that can go wrong between Forge and a repository.
//!
//! A variant exists only where somebody decides by it; the rest is [`GitError::Failed`] with git's own words.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use crate::guard::GuardError;
use crate::repository_change::RepositoryChange;

/// A failed operation on a repository. Messages complete the phrase "failed to ...".
#[derive(Debug, thiserror::Error)]
pub enum GitError {
    /// There is no git program.
    #[error("find the git program{}", .program.as_ref().map(|p| format!(" at {}", p.display())).unwrap_or_default())]
    Missing {
        /// The program that was asked for, when one was.
        program: Option<PathBuf>,
        /// What the system said.
        source: std::io::Error,
    },
    /// The git program lacks `merge-tree --write-tree`.
    #[error("use git {found}: {needed} or later is required")]
    TooOld {
        /// Its version.
        found: String,
        /// The oldest that will do.
        needed: String,
    },
    /// No repository at the path or above it.
    #[error("find a git repository at {}", .path.display())]
    NotARepository {
        /// Where it was looked for.
        path: PathBuf,
    },
    /// The repository has no commit yet, so nothing can branch off it.
    #[error("use the repository at {}: it has no commits", .path.display())]
    NoCommit {
        /// The repository.
        path: PathBuf,
    },
    /// Neither a remote's head, nor a configured, usual or current branch was found.
    #[error("find the default branch of {}", .path.display())]
    NoDefaultBranch {
        /// The repository.
        path: PathBuf,
    },
    /// The name does not lead to a commit.
    #[error("find the commit {rev}")]
    UnknownRevision {
        /// The name.
        rev: String,
    },
    /// git ran and did not do it.
    #[error("run `git {args}`: exit {}: {stderr}", .exit.map_or_else(|| "by a signal".to_owned(), |c| c.to_string()))]
    Failed {
        /// Arguments after the ones every command gets.
        args: String,
        /// Exit code, `None` when a signal ended it.
        exit: Option<i32>,
        /// What it wrote to standard error.
        stderr: String,
    },
    /// A patch does not apply, or not as a whole.
    #[error("apply the patch: {reason}")]
    PatchRefused {
        /// Why, in git's words where they are its own.
        reason: String,
    },
    /// The files that determine which programs git runs differ from the accepted ones.
    #[error("run git in {}: its configuration was changed ({change})", .path.display())]
    RepositoryChanged {
        /// The repository.
        path: PathBuf,
        /// How they differ.
        change: Box<RepositoryChange>,
    },
    /// The configured program did not sign the commit.
    #[error("sign the commit: {output}")]
    SigningFailed {
        /// What git and the program wrote.
        output: String,
    },
    /// The configured program was still signing when its time was over, as one does that waits for a passphrase.
    #[error("sign the commit: timed out after {} s", .after.as_secs())]
    SigningTimedOut {
        /// Time it was given.
        after: Duration,
    },
    /// The repository's hooks did not come to an end.
    #[error("commit: the repository's hooks timed out after {} s", .after.as_secs())]
    HooksTimedOut {
        /// Time they were given.
        after: Duration,
    },
    /// The repository's hooks refused the commit.
    #[error("commit: the repository's hooks refused it: {output}")]
    CommitRefused {
        /// What git and the hooks wrote.
        output: String,
    },
    /// A lock file of git's is in the way: of an index, a configuration, a ref or another file.
    #[error("lock {}: {}", .path.display(), .holder.as_ref().map_or_else(|| "a program that has ended left it behind; no running process holds it open".to_owned(), |h| format!("held by {h}")))]
    IndexLocked {
        /// The lock file.
        path: PathBuf,
        /// The process that holds it open, when one could be found.
        holder: Option<LockHolder>,
    },
    /// The caller gave it up.
    #[error("{doing}: cancelled")]
    Cancelled {
        /// What was being done, as a verb phrase.
        doing: &'static str,
    },
    /// A pattern that is none.
    #[error("read the pattern {pattern:?}")]
    BadPattern {
        /// The pattern.
        pattern: String,
        /// What is wrong with it.
        source: globset::Error,
    },
    /// A ref was not where it was expected.
    #[error("move {name}: expected {expected}, found {}", .found.as_deref().unwrap_or("nothing"))]
    RefMoved {
        /// The ref.
        name: String,
        /// Where it was believed to be.
        expected: String,
        /// Where it is, `None` when it does not exist.
        found: Option<String>,
    },
    /// The branch is checked out, so it must stay.
    #[error("change branch {branch}: it is checked out in {}", .worktree.display())]
    BranchCheckedOut {
        /// The branch.
        branch: String,
        /// The worktree that has it.
        worktree: PathBuf,
    },
    /// Something else lies where a worktree should be.
    #[error("create a worktree at {}: the path is taken", .path.display())]
    PathOccupied {
        /// The path.
        path: PathBuf,
    },
    /// Something that is no folder is in the place of one.
    #[error("create the folder {}: the path is taken", .path.display())]
    NotAFolder {
        /// The path, from the root of the repository.
        path: PathBuf,
    },
    /// The directory must not be removed.
    #[error("remove {}: {reason}", .path.display())]
    NotOurWorktree {
        /// The directory.
        path: PathBuf,
        /// Why not.
        reason: ForeignReason,
    },
    /// The two sides have no commit in common.
    #[error("merge {source_rev} into {target}: they have no common history")]
    UnrelatedHistories {
        /// Branch merged into.
        target: String,
        /// What was to be merged.
        source_rev: String,
    },
    /// Putting a backup back would overwrite local changes.
    #[error("restore the backup: it would overwrite local changes in {}", .files.join(", "))]
    RestoreInTheWay {
        /// The files with local changes.
        files: Vec<String>,
    },
    /// Programs left a commit in a lent git directory whose objects are missing or damaged.
    #[error("take back the commits of {}: {reason}; the git directory is kept at {}", .worktree.display(), .kept.display())]
    LentDamaged {
        /// The worktree.
        worktree: PathBuf,
        /// Where the lent git directory is kept.
        kept: PathBuf,
        /// What git found, in its words.
        reason: String,
    },
    /// The file is not part of the diff.
    #[error("find {path} among the changed files")]
    NotInDiff {
        /// The file.
        path: String,
    },
    /// An object is larger than the caller can take.
    #[error("read object {oid}: it has {size} bytes, more than {cap}")]
    TooLarge {
        /// The object.
        oid: String,
        /// Its size in bytes.
        size: u64,
        /// The limit in bytes.
        cap: u64,
    },
    /// A path leads out of where it must stay.
    #[error(transparent)]
    PathEscape(#[from] GuardError),
    /// git took too long and was ended.
    #[error("run `git {args}`: timed out after {} s", .after.as_secs())]
    Timeout {
        /// Arguments.
        args: String,
        /// Time it was given.
        after: Duration,
    },
    /// git wrote more than the caller can take.
    #[error("run `git {args}`: its output exceeds {cap} bytes")]
    TooMuchOutput {
        /// Arguments.
        args: String,
        /// The limit in bytes.
        cap: usize,
    },
    /// git answered in a form this crate does not know.
    #[error("read the answer of `git {args}`: {what}")]
    Unexpected {
        /// Arguments.
        args: String,
        /// What was odd about it.
        what: String,
    },
    /// libgit2 could not do it.
    #[error("read the repository's objects")]
    Libgit2(#[from] git2::Error),
    /// The file system refused.
    #[error("{doing} {}", .path.display())]
    Io {
        /// What was tried, as a verb phrase.
        doing: &'static str,
        /// On what.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// A background thread of ours ended early.
    #[error("finish work on a background thread")]
    Background(#[from] tokio::task::JoinError),
}

impl GitError {
    /// What a person can do about it, where that does not follow from what happened.
    #[must_use]
    pub const fn remedy(&self) -> Option<&'static str> {
        Some(match self {
            Self::RepositoryChanged { .. } => {
                "Review the changes, then accept or undo them. Until then, Forge runs no git commands \
                 in this repository."
            }
            Self::SigningFailed { .. } => {
                "Check `user.signingKey` and the signing program, or turn off `commit.gpgSign` for this repository."
            }
            Self::SigningTimedOut { .. } => {
                "Unlock the signing key in a terminal (the agent then caches its passphrase), use a key \
                 without a passphrase, or turn off `commit.gpgSign` for this repository."
            }
            Self::HooksTimedOut { .. } => {
                "Run the hooks in the worktree by hand to find out what they wait for, then try again."
            }
            _ => return None,
        })
    }

    pub(crate) fn io(
        doing: &'static str,
        path: impl Into<PathBuf>,
    ) -> impl FnOnce(std::io::Error) -> GitError {
        let path = path.into();
        move |source| GitError::Io { doing, path, source }
    }
}

/// A process that holds a lock file open.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LockHolder {
    /// Its process id.
    pub pid: u32,
    /// Its name.
    pub name: String,
}

impl fmt::Display for LockHolder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} (process {})", self.name, self.pid)
    }
}

/// Why a directory is not taken for a worktree that may go.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ForeignReason {
    /// It is the repository's main work tree.
    MainWorktree,
    /// The repository knows no worktree there.
    NotRegistered,
    /// Its `.git` leads to another repository, or is none.
    ForeignDotGit,
    /// It has no branch, or is in the middle of a rebase, a merge or the like.
    Busy,
    /// Its git directory is lent to programs; whoever removes or lends it takes back first.
    Lent,
    /// Somebody locked it with `git worktree lock`.
    Locked {
        /// The reason they gave.
        reason: String,
    },
}

impl fmt::Display for ForeignReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::MainWorktree => f.write_str("it is the main worktree"),
            Self::NotRegistered => f.write_str("it is not a worktree of this repository"),
            Self::ForeignDotGit => f.write_str("its .git does not belong to this repository"),
            Self::Busy => f.write_str("it has no branch checked out, or a git operation is in progress"),
            Self::Lent => f.write_str("its git directory is lent to running programs"),
            Self::Locked { reason } if reason.is_empty() => f.write_str("it is locked"),
            Self::Locked { reason } => write!(f, "it is locked: {reason}"),
        }
    }
}
