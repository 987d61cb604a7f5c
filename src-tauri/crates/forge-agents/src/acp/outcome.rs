//! What the end of a prompt means: its stop reason, or the error it was answered with.
//!
//! Only codes and fields count, never the words of an error. What no field tells apart is a failure of the model.

use serde_json::Value;

use crate::{AgentError, LimitKind, json::text};

use super::wire::{RpcError, StopReason};

/// How long a limit of the model's owner is waited for when nobody says how long it lasts.
const DEFAULT_WAIT_MS: i64 = 60_000;

const AUTH_REQUIRED: i64 = -32000;
const REQUEST_CANCELLED: i64 = -32800;
/// Parse error, invalid request, unknown method, invalid parameters: what was sent was not understood.
const OURS: &[i64] = &[-32700, -32600, -32601, -32602];

/// Where agents are seen to say what kind of error it is.
const KINDS: &[&str] = &["errorKind", "errorName", "kind", "type"];
/// Where agents are seen to give the status of the model's service.
const STATUSES: &[&str] = &["statusCode", "status", "httpStatus", "status_code", "code"];
/// Where they say for how many seconds they were asked to wait.
const WAITS: &[&str] = &["retryAfter", "retry_after", "retryAfterSeconds"];

/// What a stop reason means. `requests` is how often the model was called, as far as that was seen.
pub(super) fn judge(reason: StopReason, turns: Option<u32>, requests: u32) -> Result<(), AgentError> {
    match reason {
        StopReason::EndTurn => Ok(()),
        StopReason::MaxTokens => {
            Err(AgentError::ModelError { detail: "its answer reached the model's token limit".to_owned() })
        }
        StopReason::MaxTurnRequests => Err(AgentError::Limit(LimitKind::Turns(turns.unwrap_or(requests)))),
        StopReason::Refusal => {
            Err(AgentError::Refused { detail: "the model refused to continue".to_owned() })
        }
        StopReason::Cancelled => Err(AgentError::Cancelled),
        _ => Err(AgentError::Protocol { detail: "its turn ended with an unknown reason".to_owned() }),
    }
}

/// What an error means.
pub(super) fn failure(error: &RpcError, sign_in: &[String], now_ms: i64) -> AgentError {
    let detail = detail(error);
    let kind = KINDS.iter().find_map(|field| field_of(&error.data, field)?.as_str());
    let kind = kind.unwrap_or_default().to_ascii_lowercase().replace(['_', '-'], "");
    // Some agents answer with the status itself.
    let status = status_in(error.code)
        .or_else(|| STATUSES.iter().find_map(|field| status_in(field_of(&error.data, field)?.as_i64()?)));
    match (error.code, status, kind.as_str()) {
        (AUTH_REQUIRED, ..)
        | (_, Some(401 | 403), _)
        | (
            _,
            None,
            "providerautherror"
            | "authenticationfailed"
            | "authenticationerror"
            | "autherror"
            | "authrequired",
        ) => AgentError::Auth { detail: with_ways(detail, sign_in) },
        (_, Some(429), _)
        | (_, None, "ratelimit" | "ratelimited" | "ratelimiterror" | "ratelimitexceeded") => {
            AgentError::RateLimited { until_ms: until(&error.data, now_ms) }
        }
        (REQUEST_CANCELLED, ..) | (_, None, "messageabortederror") => AgentError::Cancelled,
        (code, None, _) if OURS.contains(&code) => AgentError::Protocol { detail },
        _ => AgentError::ModelError { detail },
    }
}

/// What a status of the model's service means, where that is more than that it failed.
pub(super) fn of_status(status: i64, detail: &str, seconds: Option<f64>, now_ms: i64) -> Option<AgentError> {
    match status {
        401 | 403 => Some(AgentError::Auth { detail: detail.to_owned() }),
        429 => Some(AgentError::RateLimited { until_ms: after(seconds, now_ms) }),
        _ => None,
    }
}

/// A field of the data, or of the error in it.
fn field_of<'v>(data: &'v Value, field: &str) -> Option<&'v Value> {
    data.get(field).or_else(|| data.get("error")?.get(field)).or_else(|| data.get("data")?.get(field))
}

fn status_in(number: i64) -> Option<i64> {
    (400..600).contains(&number).then_some(number)
}

fn until(data: &Value, now_ms: i64) -> i64 {
    after(WAITS.iter().find_map(|field| field_of(data, field)?.as_f64()), now_ms)
}

fn after(seconds: Option<f64>, now_ms: i64) -> i64 {
    let told = seconds.filter(|seconds| (0.0..1e7).contains(seconds));
    let wait = told.and_then(|seconds| format!("{:.0}", seconds * 1000.0).parse().ok());
    now_ms.saturating_add(wait.unwrap_or(DEFAULT_WAIT_MS))
}

fn detail(error: &RpcError) -> String {
    let more = text(&error.data, "details").or_else(|| text(&error.data, "message"));
    let words = match more.filter(|more| !error.message.contains(*more)) {
        Some(more) => format!("{}: {more}", error.message),
        None => error.message.clone(),
    };
    let words = if words.trim().is_empty() { format!("error {}", error.code) } else { words };
    words.chars().take(500).collect()
}

fn with_ways(detail: String, sign_in: &[String]) -> String {
    if sign_in.is_empty() { detail } else { format!("{detail} (ways to sign in: {})", sign_in.join(", ")) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn code(number: i64, data: Value) -> &'static str {
        let error = RpcError { code: number, message: "rate limit 429 unauthorized".to_owned(), data };
        failure(&error, &[], 0).code()
    }

    #[test]
    fn errors_are_typed_by_their_fields_alone() {
        for (number, data, expected) in [
            (-32000, json!(null), "auth"),
            (-32603, json!(null), "model_error"),
            (-32603, json!({ "service": "session", "errorName": "APIError" }), "model_error"),
            (-32603, json!({ "errorName": "ProviderAuthError" }), "auth"),
            (-32603, json!({ "errorName": "MessageAbortedError" }), "cancelled"),
            (-32603, json!({ "errorKind": "rate_limit" }), "rate_limited"),
            (-32603, json!({ "errorKind": "authentication_failed" }), "auth"),
            (-32603, json!({ "error": { "statusCode": 429 } }), "rate_limited"),
            (-32603, json!({ "status": 500, "errorKind": "rate_limit" }), "model_error"),
            (-32603, json!("429"), "model_error"),
            (400, json!(null), "model_error"),
            (401, json!(null), "auth"),
            (429, json!(null), "rate_limited"),
            (500, json!(null), "model_error"),
            (-32602, json!(null), "protocol"),
            (-32601, json!(null), "protocol"),
            (-32800, json!(null), "cancelled"),
        ] {
            assert_eq!(code(number, data.clone()), expected, "{number} {data}");
        }
    }

    #[test]
    fn a_wait_is_as_long_as_a_field_says() {
        let until = |data| match failure(&RpcError { code: 429, message: String::new(), data }, &[], 1_000) {
            AgentError::RateLimited { until_ms } => until_ms,
            other => panic!("{other:?}"),
        };
        assert_eq!(until(json!({ "retryAfter": 7.5 })), 8_500);
        assert_eq!(until(json!({ "retryAfter": 1e300 })), 61_000);
        assert_eq!(until(json!(null)), 61_000);
    }

    #[test]
    fn who_is_not_signed_in_is_told_the_ways() {
        let error =
            RpcError { code: -32000, message: "Authentication required".to_owned(), data: json!(null) };
        let error = failure(&error, &["Log in with X".to_owned(), "Key".to_owned()], 0);
        assert_eq!(
            error.to_string(),
            "the agent is not signed in: Authentication required (ways to sign in: Log in with X, Key)"
        );
    }
}
