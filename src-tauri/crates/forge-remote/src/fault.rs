//! What keeps an engine on another computer from being used: each fault in one sentence, with what a person can do.

use forge_api::ApiError;
use forge_machines::Fault;
use serde_json::Value;

/// The version of this program; an engine has to be of the same.
pub(crate) const VERSION: &str = env!("CARGO_PKG_VERSION");

/// The status of an answer that says that nobody can be asked now.
const UNAVAILABLE: u16 = 503;

/// Why an engine on another computer cannot be used now.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RemoteFault {
    /// The computer cannot be reached.
    #[error(transparent)]
    Ssh(#[from] Fault),
    /// Forge is not installed there.
    #[error("Could not find Forge on {host}: there is no program `{program}`.")]
    NoForge {
        /// The computer.
        host: String,
        /// What was looked for.
        program: String,
    },
    /// It is of another version.
    #[error("Could not use Forge on {host}: it is version {theirs}, and this is version {VERSION}.")]
    OtherVersion {
        /// The computer.
        host: String,
        /// What is there.
        theirs: String,
    },
    /// The engine there does not start.
    #[error("Could not use the engine on {host}: {said}.")]
    Refused {
        /// The computer.
        host: String,
        /// Why.
        said: String,
    },
    /// The connection cannot be forwarded.
    #[error("Could not reach the engine on {host} through ssh: {said}.")]
    NotForwarded {
        /// The computer.
        host: String,
        /// Why.
        said: String,
    },
    /// The connection was lost.
    #[error("Could not stay connected to the engine on {host}: {said}.")]
    Lost {
        /// The computer.
        host: String,
        /// Why.
        said: String,
    },
    /// This computer has no folder for the connection.
    #[error("Could not prepare the connection on this computer: {said}.")]
    Here {
        /// Why.
        said: String,
    },
}

impl RemoteFault {
    /// What a person can do about it.
    #[must_use]
    pub fn remedy(&self) -> String {
        match self {
            Self::Ssh(fault) => fault.remedy(),
            Self::NoForge { host, .. } => format!(
                "Install Forge {VERSION} on {host}, so that a login shell there finds `forge`, or name the program with --program."
            ),
            Self::OtherVersion { host, .. } => {
                format!(
                    "Install the same version of Forge on this computer and on {host}. An engine that runs there has to be restarted."
                )
            }
            Self::Refused { host, .. } => {
                format!("Run `forge serve` on {host} to see more; `forge doctor` there tests the computer.")
            }
            Self::NotForwarded { host, .. } => format!(
                "Allow forwarding in the configuration of the ssh server on {host} (AllowTcpForwarding, AllowStreamLocalForwarding)."
            ),
            Self::Lost { host, .. } => {
                format!("Forge tries again by itself. Check that `ssh {host} true` works in a terminal.")
            }
            Self::Here { .. } => {
                "Make sure that the folder for temporary files can be written to, and that its path is short."
                    .to_owned()
            }
        }
    }

    /// What scripts branch on.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Ssh(Fault::HostKeyUnknown { .. } | Fault::HostKeyChanged { .. }) => "host_key",
            Self::Ssh(Fault::PermissionDenied { .. }) => "permission_denied",
            Self::Ssh(_) | Self::NotForwarded { .. } | Self::Lost { .. } => "unreachable",
            Self::NoForge { .. } => "forge_missing",
            Self::OtherVersion { .. } => "other_version",
            Self::Refused { .. } => "engine_refused",
            Self::Here { .. } => "io",
        }
    }

    /// Whether time alone may mend it. The rest is for a person.
    #[must_use]
    pub const fn is_passing(&self) -> bool {
        match self {
            Self::Ssh(fault) => fault.is_passing(),
            Self::Lost { .. } | Self::Refused { .. } => true,
            Self::NoForge { .. }
            | Self::OtherVersion { .. }
            | Self::NotForwarded { .. }
            | Self::Here { .. } => false,
        }
    }
}

impl From<&RemoteFault> for ApiError {
    fn from(fault: &RemoteFault) -> Self {
        Self {
            code: fault.code().to_owned(),
            message: fault.to_string(),
            hints: vec![fault.remedy()],
            details: Value::Null,
            status: UNAVAILABLE,
        }
    }
}

/// Said of a change of which nobody knows whether it was made.
pub(crate) fn unknown_outcome(host: &str) -> ApiError {
    ApiError {
        code: "outcome_unknown".to_owned(),
        message: format!("Could not learn whether {host} made the change: the connection was cut."),
        hints: vec!["Look at the current state, then decide again.".to_owned()],
        details: Value::Null,
        status: UNAVAILABLE,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_fault_has_a_sentence_a_remedy_and_a_code() {
        let host = || "far".to_owned();
        let said = || "no".to_owned();
        for (fault, code, passes) in [
            (RemoteFault::Ssh(Fault::TimedOut { host: host() }), "unreachable", true),
            (RemoteFault::Ssh(Fault::HostKeyUnknown { host: host() }), "host_key", false),
            (RemoteFault::NoForge { host: host(), program: "forge".to_owned() }, "forge_missing", false),
            (RemoteFault::OtherVersion { host: host(), theirs: "0.0.1".to_owned() }, "other_version", false),
            (RemoteFault::Refused { host: host(), said: said() }, "engine_refused", true),
            (RemoteFault::NotForwarded { host: host(), said: said() }, "unreachable", false),
            (RemoteFault::Lost { host: host(), said: said() }, "unreachable", true),
            (RemoteFault::Here { said: said() }, "io", false),
        ] {
            assert_eq!((fault.code(), fault.is_passing()), (code, passes), "{fault}");
            let error = ApiError::from(&fault);
            assert!(error.message.starts_with("Could not ") && error.message.ends_with('.'), "{error}");
            assert!(error.hints[0].ends_with('.'), "{error}");
        }
    }
}
