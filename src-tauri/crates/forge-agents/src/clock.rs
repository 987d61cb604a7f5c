//! The time of day, for what is written down and for when a limit ends.

use std::time::{SystemTime, UNIX_EPOCH};

/// The time, in Unix milliseconds.
pub(crate) fn now_ms() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}
