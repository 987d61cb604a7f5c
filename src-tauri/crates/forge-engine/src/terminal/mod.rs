//! Terminals: shells in a task's worktree that a person types to. The keeper runs them, so that they outlive an engine
//! that was killed; this process follows them and has the end of what they printed.
//!
//! Invariants:
//! - A terminal is a row before its shell is started, and its id names one shell for ever: the next engine goes on with
//!   what the keeper has, and starts what the keeper never got.
//! - The first end that is written counts. It is written before the shell is ended.
//! - A terminal ends before its worktree goes, and none is opened in a worktree that is about to go.
//! - A person who closes a task whose terminal runs a program is asked first.
//! - A terminal holds neither the lock of the worktree nor its git directory, as services do: what is changed in it while
//!   a review waits is no part of that review.
//! - What is typed and printed is in memory alone, here and in the keeper: in no log, row or event.
//! - The shell has the environment of checks and their sandbox, and nothing of the engine's.
//!
//! Absent: terminals of tasks whose worktree is on another machine or in a container; agents, which get none.

pub(crate) mod closing;
pub(crate) mod command;
pub(crate) mod contribution;
mod ends;
mod follow;
mod opened;
mod policy;
mod prepared;
pub(crate) mod remote;
mod sink;
