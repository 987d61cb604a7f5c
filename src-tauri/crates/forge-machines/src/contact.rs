//! Whether a machine can be reached.

use std::time::SystemTime;

use forge_keeper::Greeting;

use crate::Fault;

/// Whether a machine can be reached, as far as is known. What runs there goes on either way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Contact {
    /// Nobody needed it yet.
    Unknown,
    /// A session with it is open.
    Live {
        /// Since when.
        since: SystemTime,
        /// What the machine says of itself.
        greeting: Greeting,
    },
    /// It cannot be reached.
    Unreachable {
        /// Since when: the end of the last session, or the first attempt.
        since: SystemTime,
        /// Why.
        fault: Fault,
    },
}

impl Contact {
    /// Whether a session with it is open.
    #[must_use]
    pub const fn is_live(&self) -> bool {
        matches!(self, Self::Live { .. })
    }
}
