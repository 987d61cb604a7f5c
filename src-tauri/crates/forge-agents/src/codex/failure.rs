//! What a failed turn means, from its error's code and status, never from its words.

use serde_json::Value;

use super::usage::{Until, until};
use crate::{AgentError, json::text};

/// The longest text of an error, in characters.
const DETAIL_CHARS: usize = 500;

/// What an error means.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Failure {
    pub(super) error: AgentError,
    /// For a limit: how its end was found out.
    pub(super) waits: Option<String>,
    /// Whether its end had to be guessed.
    pub(super) guessed: bool,
}

/// What the limits of the account are known to be.
pub(super) struct Limits<'v> {
    pub(super) now_ms: i64,
    pub(super) snapshot: Option<&'v Value>,
    /// How many runs in a row ended at a limit before.
    pub(super) limited: u32,
}

/// What a turn's `error` means.
pub(super) fn failure(error: &Value, limits: &Limits<'_>) -> Failure {
    let detail = detail(error);
    let info = error.get("codexErrorInfo").unwrap_or(&Value::Null);
    let plain = |error: AgentError| Failure { error, waits: None, guessed: false };
    if let Some(status) = status(info) {
        return match status {
            401 | 403 => plain(AgentError::Auth { detail }),
            429 => limited(limits, false),
            _ => plain(AgentError::ModelError { detail }),
        };
    }
    match info.as_str() {
        Some("unauthorized") => plain(AgentError::Auth { detail }),
        Some("usageLimitExceeded") => limited(limits, true),
        Some("rateLimitExceeded") => limited(limits, false),
        Some("cyberPolicy" | "misalignmentPolicyViolation" | "inferenceHookDenied" | "tooManyDenials") => {
            plain(AgentError::Refused { detail })
        }
        // Overloaded, too long, not found, cut off, anything new: the model did not answer, and the text says why.
        Some(_) | None => plain(AgentError::ModelError { detail }),
    }
}

fn limited(limits: &Limits<'_>, any_window: bool) -> Failure {
    let Until { at_ms: until_ms, how, guessed } =
        until(limits.now_ms, limits.snapshot, any_window, limits.limited);
    Failure { error: AgentError::RateLimited { until_ms }, waits: Some(how), guessed }
}

/// The HTTP status of an error's code, `{"httpConnectionFailed": {"httpStatusCode": 401}}` and the like.
fn status(info: &Value) -> Option<u64> {
    info.as_object()?.values().find_map(|of| of.get("httpStatusCode")?.as_u64())
}

/// What an error says to people.
pub(super) fn detail(error: &Value) -> String {
    let message = text(error, "message").unwrap_or("the program gave no reason").trim();
    let more = text(error, "additionalDetails").map(str::trim).filter(|more| !more.is_empty());
    let whole = more.map_or_else(|| message.to_owned(), |more| format!("{message} ({more})"));
    whole.chars().take(DETAIL_CHARS).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn is_typed_by_code_and_status() {
        let limits = Limits { now_ms: 0, snapshot: None, limited: 0 };
        let kind = |info: Value| {
            failure(&json!({ "message": "429 unauthorized", "codexErrorInfo": info }), &limits).error.code()
        };
        for (info, expected) in [
            (json!({ "httpConnectionFailed": { "httpStatusCode": 401 } }), "auth"),
            (json!({ "responseStreamConnectionFailed": { "httpStatusCode": 403 } }), "auth"),
            (json!("unauthorized"), "auth"),
            (json!({ "responseTooManyFailedAttempts": { "httpStatusCode": 429 } }), "rate_limited"),
            (json!("usageLimitExceeded"), "rate_limited"),
            (json!("rateLimitExceeded"), "rate_limited"),
            (json!({ "responseTooManyFailedAttempts": { "httpStatusCode": 503 } }), "model_error"),
            (json!({ "httpConnectionFailed": { "httpStatusCode": null } }), "model_error"),
            (json!({ "responseStreamDisconnected": {} }), "model_error"),
            (json!("internalServerError"), "model_error"),
            (json!("contextWindowExceeded"), "model_error"),
            (json!("cyberPolicy"), "refused"),
            (json!("somethingNew"), "model_error"),
            (json!({ "new": [] }), "model_error"),
            (Value::Null, "model_error"),
        ] {
            assert_eq!(kind(info.clone()), expected, "{info}");
        }
    }
}
