//! Merging reviewed work into its target: the merge, its queue, the rebase before it, and what was delivered.

pub(crate) mod contribution;
pub(crate) mod delivery;
pub(crate) mod left_behind;
pub(crate) mod queue;
pub(crate) mod rebase;
pub(crate) mod step;
