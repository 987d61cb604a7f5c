//! Worktrees on a running engine with real git: creation, locks, reuse, backups, cleanup, loss and
//! orphans, a file per subject.

mod cleanup;
mod creation;
pub mod fixture;
mod locks;
mod orphans;
mod path_safety;
mod policies;
mod pool;
mod preserved_work;
mod recovery;
mod repositories;
