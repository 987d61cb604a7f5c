//! Why a host did not do what was asked.

use forge_model::time::Timestamp;

/// Why a host did not do what was asked. Told apart by status codes and headers, never by prose.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum HostError {
    /// There is no token, or the host does not accept it.
    #[error("not signed in to {host}: {hint}")]
    NotSignedIn {
        /// The host.
        host: String,
        /// How to give a token.
        hint: String,
    },
    /// The token is good, but may not do this.
    #[error("the host denied access: {missing}")]
    Forbidden {
        /// What the token lacks, as far as the host says.
        missing: String,
    },
    /// There is no such thing, or the token may not see it.
    #[error("the host has no {what}, or the token has no access to it")]
    NotFound {
        /// What was requested.
        what: String,
    },
    /// The host asks to wait.
    #[error("rate limited by the host until {until}")]
    RateLimited {
        /// When it may be asked again.
        until: Timestamp,
    },
    /// The host could not be reached, or went silent.
    #[error("could not reach the host: {why}")]
    Offline {
        /// What happened to the connection.
        why: String,
    },
    /// The host understood and refused.
    #[error("the host answered with status {status}: {message}")]
    Refused {
        /// HTTP's status.
        status: u16,
        /// What the host says about it.
        message: String,
    },
    /// The answer is not what the host's documentation promises, or the address is not a host's.
    #[error("could not read the host's answer: {what}")]
    Protocol {
        /// What was wrong with it.
        what: String,
    },
}

impl HostError {
    /// Whether it may go away by itself, so that waiting is the right answer.
    #[must_use]
    pub fn is_passing(&self) -> bool {
        match self {
            Self::RateLimited { .. } | Self::Offline { .. } => true,
            Self::Refused { status, .. } => *status == 408 || *status >= 500,
            Self::NotSignedIn { .. }
            | Self::Forbidden { .. }
            | Self::NotFound { .. }
            | Self::Protocol { .. } => false,
        }
    }
}
