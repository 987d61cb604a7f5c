//! How many items a list gives.

use crate::ApiError;

/// How many items a list gives unless asked otherwise.
pub const DEFAULT_LIMIT: u32 = 50;
/// How many it gives at most.
pub const MAX_LIMIT: u32 = 200;

/// How many items are asked for.
pub(crate) fn limit(asked: Option<u32>) -> Result<u32, ApiError> {
    match asked {
        None => Ok(DEFAULT_LIMIT),
        Some(limit) if (1..=MAX_LIMIT).contains(&limit) => Ok(limit),
        Some(_) => Err(ApiError::invalid("limit", &format!("must be 1 to {MAX_LIMIT}"))),
    }
}
