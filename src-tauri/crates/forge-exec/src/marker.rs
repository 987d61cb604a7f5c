//! The mark that a child and its descendants carry in their environment.

use serde::{Deserialize, Serialize};

/// Environment variable that carries the [`Marker`].
pub const MARKER_VARIABLE: &str = "FORGE_PROCESS";

/// Text that a child and all its descendants carry in their environment. Unique per run: everything
/// that carries it belongs to that run and to nothing else.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Marker(pub String);
