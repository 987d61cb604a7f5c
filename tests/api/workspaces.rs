//! Worktrees over HTTP, on a running engine with real git: how they are made, locked, reused, backed up, cleaned
//! away, lost and found. A file per subject.

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
