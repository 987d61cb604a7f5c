//! Worktrees over HTTP, on a running engine with real git: how they are made, locked, reused, backed up, cleaned
//! away, lost and found. A file per subject.

pub mod bench;
mod cleanup;
mod creation;
mod guard;
mod kept;
mod locks;
mod orphans;
mod policies;
mod recovery;
mod repositories;
mod slots;
