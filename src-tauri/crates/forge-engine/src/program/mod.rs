//! Programs that are started for a task: their environment variables, their logs, and the record of their processes.
//!
//! Invariant: a process is recorded by its marker before it starts.

pub(crate) mod diagnosing;
pub(crate) mod given;
pub(crate) mod growth;
pub(crate) mod log;
pub(crate) mod output;
pub(crate) mod recorded;
