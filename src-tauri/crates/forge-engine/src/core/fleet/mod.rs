//! The fleet: which of the tasks that wait is given the next place of its agent, its project and a machine.
//!
//! `policy.rs` decides for all of them at once, by facts alone; `placement.rs` says what one machine is to one task;
//! `waiting.rs` finds the tasks, and `situation.rs` reads the facts. The scheduler's pass, the step that gives a place and the preview for people ask the
//! same decision, so that none of them says what another one does not do.
//!
//! Invariant: no agent, project or machine is given more than it may have, at once and on a day.
//! Invariant: a place is given in the transaction that starts the task, with the machine that its worktree is made on.
//! Absent: starting anything (`core/scheduler.rs`).

#[cfg(test)]
mod history_tests;
pub(crate) mod placement;
pub(crate) mod policy;
pub(crate) mod preview;
pub(crate) mod situation;
pub(crate) mod waiting;
