//! The public methods of the engine: one for each thing that is asked of it, which calls the feature that does it.
//!
//! Absent: logic.

mod cost;
#[cfg(feature = "fix")]
mod fix;
mod hook;
#[cfg(feature = "knowledge")]
mod knowledge;
mod merge;
mod program;
mod project;
mod pull_request;
#[cfg(feature = "race")]
mod race;
mod read;
mod review;
mod run;
mod shared;
mod storage;
mod task;
#[cfg(feature = "validate")]
mod validate;
mod workspace;
