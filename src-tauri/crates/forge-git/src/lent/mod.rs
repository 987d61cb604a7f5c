//! A worktree's git directory, lent to programs that must not write into the repository.
//!
//! The git directory of a worktree lies in the repository, so a confined program could not commit. While such programs
//! run, the `.git` of the worktree leads to a *lent git directory*: a repository of its own, with the refs, the index and
//! the unfinished operation of the worktree, that borrows the objects of the repository ([`Worktree::lend`]). What the
//! programs did in it is taken back afterwards ([`Worktree::take_back`]).
//!
//! Beside the lent folder, out of the programs' reach, `<folder>.was` holds what was lent. What is as it was lent is not
//! touched when it is taken back. What Forge itself changed in the repository meanwhile wins: the programs' version is
//! kept under `refs/forge/sandbox/<task>/`, or in a folder beside the lent one, and told.
//!
//! Invariants: git never runs in the lent directory, and nothing of its configuration, hooks, attributes or alternates
//! is read; symbolic links in it are not followed; a ref moves only to objects that git checked and that the repository
//! has in full; no existing ref moves but the branch that the worktree was on; an index never gets a later time
//! than the one it was written at; both ways can be cut short anywhere and repeated.
//!
//! Of what programs did, these are left in the lent directory on purpose, and go with it: settings, hooks, remote-tracking
//! branches (fetching brings them again), recorded resolutions of conflicts, and objects that nothing leads to.
//! A worktree that is lent is not withdrawn, pooled or removed: whoever does that takes back first.

use std::fmt;
use std::path::PathBuf;

mod config;
mod files;
mod heads;
mod index;
mod lend;
mod lfs;
mod modules;
mod objects;
mod places;
mod plan;
mod reflog;
mod refs;
mod sandbox_refs;
mod state;
mod take_back;
mod taking;
#[cfg(test)]
mod tests;
mod transferable;

/// How programs reach the git directory of a worktree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Lending {
    /// The `.git` of the worktree leads to a lent directory.
    Lent {
        /// What programs have to be able to write besides the worktree.
        writable: Vec<PathBuf>,
        /// What they have to be able to read.
        readable: Vec<PathBuf>,
    },
    /// The `.git` still leads to the repository.
    Direct {
        /// What programs have to be able to write for their commits to work.
        writable: Vec<PathBuf>,
        /// Why nothing could be lent.
        reason: DirectReason,
    },
}

/// Why the git directory of a worktree cannot be lent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DirectReason {
    /// The git directories of its submodules lie in the repository.
    Submodules,
    /// The repository keeps its refs in tables (`reftable`).
    Reftable,
}

impl fmt::Display for DirectReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Submodules => "the git directories of its submodules lie in the repository",
            Self::Reftable => "the repository stores its refs as `reftable`",
        })
    }
}

/// What was taken back from a lent git directory.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TakenBack {
    /// Whether anything was lent.
    pub was_lent: bool,
    /// The commit that programs left the worktree on, when it is another one than before.
    pub head: Option<String>,
    /// Refs of the repository that keep what programs made and what was not put in its place: branches, tags, stashes,
    /// new values of refs that were refused.
    pub kept_refs: Vec<String>,
    /// Refs that programs changed or deleted, and that the repository has unchanged.
    pub refused_refs: Vec<String>,
    /// What else was not taken back.
    pub left_out: Vec<LeftOut>,
    /// Where the lent directory is kept when something in it was left out.
    pub rescue: Option<PathBuf>,
}

/// A part of a lent git directory that was not taken back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum LeftOut {
    /// `HEAD` cannot be read, names what it must not, or was changed in the repository meanwhile.
    Head,
    /// The index is damaged, names objects that are missing, or was changed in the repository meanwhile.
    Index,
    /// The unfinished operation was changed in the repository meanwhile, or holds files that git does not write.
    Operation,
    /// Refs other than the worktree's branch lead to objects that are missing or damaged.
    Refs,
    /// The git directories of submodules: the worktree has some of its own, or they lie on another disk.
    Submodules,
}

impl fmt::Display for LeftOut {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Head => "HEAD",
            Self::Index => "the index",
            Self::Operation => "the unfinished operation",
            Self::Refs => "refs with missing or damaged objects",
            Self::Submodules => "the git directories of submodules",
        })
    }
}

/// The prefix of the refs that keep what programs of a task made.
fn sandbox_prefix(task_key: &str) -> String {
    format!("refs/forge/sandbox/{task_key}")
}
