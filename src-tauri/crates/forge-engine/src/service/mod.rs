//! Services: commands of the project, such as a development server, that run in a task's worktree so that a person can
//! try its work. The keeper runs them as it runs checks, so that they outlive an engine that was killed.
//!
//! Invariants:
//! - A start is a row before anything of it runs, and its id names one process for ever: the next engine goes on with
//!   what the keeper has, and starts what the keeper never got.
//! - The first end that is written counts. It is written before the process is ended, and nothing of a service that
//!   ended goes on.
//! - A service that starts in the place of another one stops only an idle one; for an agent, only one of its own task.
//! - A service ends before its worktree goes, and none starts in a worktree that is about to go.
//! - A service holds neither the lock of the worktree nor its git directory: it runs beside agents and checks, and in a
//!   sandbox it cannot change the repository.
//!
//! Absent: services of tasks whose worktree is on another machine or in a container; ports other than the task's own.

pub(crate) mod command;
pub(crate) mod contribution;
mod ends;
mod follow;
pub(crate) mod limit;
pub(crate) mod offers;
mod policy;
mod prepared;
mod probe;
mod readiness;
mod review;
mod running;
mod sink;
mod unfollowed;
