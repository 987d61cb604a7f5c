//! Worktrees over HTTP, on a running engine with real git: how they are made, locked, reused, backed up, cleaned
//! away, lost and found. A file per subject.

mod cleanup;
mod creation;
pub mod fixture;
mod guard;
mod kept;
mod locks;
mod orphans;
mod policies;
mod recovery;
mod repositories;
mod slots;
