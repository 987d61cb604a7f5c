//! Forge's own tools for a program that a keeper runs: whose calls they are, and how a program shows that it is one of
//! that run.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The variable that holds what [`Tools::secret`] says, in the environment of the program that calls.
pub const SECRET_VARIABLE: &str = "FORGE_MCP_TOKEN";

/// The longest call. The engine takes less of one, and says so in its answer.
pub(crate) const MAX_CALL: usize = 4 * 1024 * 1024;

/// The longest answer.
pub(crate) const MAX_ANSWER: usize = 16 * 1024 * 1024;

/// Lets a program and all that it starts call tools of the engine, by [`mcp`](crate::mcp).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tools {
    /// The run by which the engine [takes the calls](crate::Keeper::take_calls). Programs of one run share it.
    pub run: String,
    /// What only the programs of this run know, so that none speaks for another run.
    pub secret: Secret,
}

/// What must not be told.
#[derive(Clone, Serialize, Deserialize)]
pub struct Secret(pub String);

impl PartialEq for Secret {
    /// Takes as long for any other text of this length.
    fn eq(&self, other: &Self) -> bool {
        let (one, other) = (self.0.as_bytes(), other.0.as_bytes());
        let differing = one.iter().zip(other).fold(0, |all, (a, b)| all | (a ^ b));
        one.len() == other.len() && !one.is_empty() && std::hint::black_box(differing) == 0
    }
}

impl Eq for Secret {}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secret_equals_itself_alone_and_is_not_told() {
        let secret = |text: &str| Secret(text.to_owned());
        assert_eq!(secret("run_abc"), secret("run_abc"));
        for other in ["run_abd", "run_ab", "run_abcd", ""] {
            assert_ne!(secret("run_abc"), secret(other), "{other}");
        }
        assert_ne!(secret(""), secret(""), "nothing is no secret");
        assert!(!format!("{:?}", secret("run_abc")).contains("abc"));
    }
}
