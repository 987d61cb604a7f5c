//! A worktree and its git directory on their way to another machine and back.
//!
//! A [`Tree`] is one end: a worktree, a git directory that programs may have written into, and a *store*, a repository of
//! our own in which git runs. A snapshot ([`Store::snapshot`]) is one tree object in the store: the files of the worktree
//! that are tracked or not ignored, the known files of the git directory, and what the index names beyond these. Its
//! objects travel as one pack ([`Store::pack`], [`Store::unpack`]), less what the other end has; there the snapshot is
//! applied ([`Store::apply`]). Both ends run the same code.
//!
//! Invariants:
//! - git never runs in the git directory of a tree, and reads nothing of its configuration, hooks, alternates or
//!   attributes. Files travel byte for byte.
//! - Of a git directory only known names travel, and only as regular files of a bounded size. Symbolic links in it are
//!   not followed.
//! - Every step can be cut short anywhere and repeated. What was applied half is applied in full before anything else.
//! - An index that came from elsewhere is older than every file, so that git compares contents and not times.
//! - Ignored files, and files that the other end does not know, stay where they are.
//!
//! Absent: how the bytes get there, and which machine it is.

mod apply;
mod error;
mod files;
mod folder;
mod git;
mod kept;
mod look;
mod made;
pub mod names;
mod object;
mod objects;
mod pack;
pub mod quote;
mod record;
mod safe;
mod snapshot;
mod state;
mod store;
#[cfg(test)]
mod tests;
mod tree;

pub use error::Fault;
pub use folder::{disk_usage, remove_folder};
pub use kept::KEPT;
pub use pack::{Packing, Unpacking};
pub use snapshot::Snapshot;
pub use store::{Store, last_held};
pub use tree::{Manner, Side, Tree};
