//! Whether an engine can be reached.

use std::time::SystemTime;

use crate::RemoteFault;

/// Whether an engine on another computer can be reached.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Contact {
    /// It answers.
    Live,
    /// It does not; the connection is made again and again.
    Unreachable {
        /// Since when.
        since: SystemTime,
        /// Why.
        fault: RemoteFault,
    },
}

impl Contact {
    /// Whether it answers.
    #[must_use]
    pub const fn is_live(&self) -> bool {
        matches!(self, Self::Live)
    }
}
