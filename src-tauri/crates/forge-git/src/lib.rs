//! git: worktrees, merges, diffs and guards, by the git program and libgit2.
//!
//! Whatever touches a work tree or a ref is done by the user's git program, so that hooks, filters, LFS,
//! sparse checkout and submodules behave as they do in the user's own hands; only where none of these is in play
//! are the files of a new worktree written here (`plain`). Objects are read by libgit2; plain
//! names and relations of commits are looked up here where the answer is certain to be git's (`local`), sides that
//! touched different paths are merged here (`merge/apart`), and a list of changes is shown again while nothing it
//! depends on changed (`diff/watch`).
//!
//! [`Repo`] works on objects and refs, and makes, lists, moves and removes worktrees; what works in one of them is a method
//! of [`Worktree`].
//!
//! A worktree's git directory comes from the repository's record, never from the worktree (`repo`, `dot_git`); no
//! program runs that the repository did not name when a person accepted it (`accepted`), none that lies in a worktree
//! because a setting's path is relative (`relative`), none that the state of a unfinished operation names (`sequencer`),
//! and none that a repository inside a worktree names (`nested`).
//!
//! Invariants: no command forces, stashes or resets a checkout that is not Forge's own; refs move by compare
//! and swap; every answer of git is read from its machine formats (`-z`), never from its messages.
//! Absent on purpose: knowledge of tasks, of the database and of when something should happen.

mod accepted;
mod added;
mod adopt;
mod apply;
mod backup;
mod bytes;
mod checkout;
mod checkout_times;
mod command;
mod commit;
mod config_file;
mod copy;
mod diff;
mod discard;
mod dot_git;
mod error;
mod exclude;
mod facts;
#[cfg(test)]
mod flows;
pub mod guard;
mod hidden;
mod identity;
mod index;
mod index_paths;
mod keep;
mod land;
mod lent;
mod lines;
mod local;
mod location;
mod lock;
mod merge;
mod move_to;
mod nested;
mod object;
mod places;
mod plain;
#[cfg(test)]
mod planted;
mod pool;
mod program;
mod push;
mod rebase;
mod refs;
mod relative;
mod repo;
mod repository_change;
mod rescue;
mod restore;
mod scratch;
mod sequencer;
mod settings;
mod signing;
mod spread;
mod stamp;
mod startup;
mod startup_file;
mod status;
mod sweep;
#[cfg(test)]
mod testing;
mod trash;
mod unfinished;
mod walk;
mod withdraw;
mod worktree;
mod worktree_entry;
mod worktrees;

pub use accepted::{Fingerprint, FingerprintFile};
pub use apply::Way;
pub use backup::{Backup, MadeBackup};
pub use command::REPOSITORY_VARIABLES;
pub use copy::{CopyMode, CopyProgress, CopyReport, CopyRule, Skipped, SkippedWhy};
pub use diff::{DiffCounts, DiffPage, DiffScope, FileSide};
pub use discard::Discarded;
pub use dot_git::Rewritten;
pub use error::{ForeignReason, GitError, LockHolder};
pub use facts::{FolderFacts, disk_usage};
pub use forge_transfer::Tree as TransferTree;
pub use land::Landing;
pub use lent::{DirectReason, LeftOut, Lending, TakenBack};
pub use lines::lines_in;
pub use merge::{
    ConflictKind, ConflictPath, ConflictSide, LandedChange, MergeComputation, MergeMessage, MergeRequest,
    MergeStrategy,
};
pub use nested::{NestedKind, NestedRepository};
pub use object::CommitInfo;
pub use pool::Keep;
pub use program::{Git, MINIMUM_VERSION};
pub use push::{Push, PushError, RemoteWork};
pub use repo::{Operation, Repo};
pub use repository_change::{ChangedFile, RepositoryChange};
pub use spread::spread;
pub use startup::changed_lines;
pub use startup_file::StartupFile;
pub use status::{StatusEntry, Uncommitted};
pub use trash::Trash;
pub use unfinished::{Standing, UnfinishedOperation};
pub use withdraw::{Withdrawn, return_withdrawn};
pub use worktree::Worktree;
pub use worktree_entry::WorktreeEntry;
pub use worktrees::NewWorktree;
