//! Where the present time comes from.

use std::sync::Arc;

use forge_model::time::Timestamp;

/// Where the present time comes from.
pub type Clock = Arc<dyn Fn() -> Timestamp + Send + Sync>;
