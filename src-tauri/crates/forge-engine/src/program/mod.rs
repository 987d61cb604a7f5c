//! Programs that are started for a task: what they are given, their logs, and the record of their processes.

pub(crate) mod diagnosing;
pub(crate) mod given;
pub(crate) mod growth;
pub(crate) mod log;
pub(crate) mod output;
pub(crate) mod recorded;
