//! What a turn's end means. `is_error` decides, never `subtype`: a failed call of the model is a "success".

use crate::{AgentError, CostLimit, CostScope, LimitKind};

use super::wire::{RateLimit, Retry, TurnResult};

/// How long a limit of the model's owner is waited for when nobody says how long it lasts. The program has waited
/// through all its own tries by then.
const DEFAULT_WAIT_MS: i64 = 60_000;

/// The program's own first wait between two tries; it doubles, and up to a quarter is added.
const FIRST_BACKOFF_MS: u64 = 500;

/// What the stream said about failing calls before the turn's end.
#[derive(Debug, Default)]
pub(super) struct CallFailures {
    /// What kind of failure the program named last.
    error: Option<String>,
    /// When the account's limit is over, in Unix milliseconds.
    resets_ms: Option<i64>,
    /// How long the model's owner wants to be left alone, and until when that is, in milliseconds.
    retry_ms: Option<(i64, i64)>,
}

impl CallFailures {
    /// A call that is tried again. A wait far beyond the program's own is the one that the owner asked for.
    pub(super) fn retried(&mut self, retry: &Retry, now_ms: i64) {
        let doublings = retry.attempt.saturating_sub(1).min(16);
        let own = FIRST_BACKOFF_MS << doublings;
        let is_told = retry.delay_ms > own + own / 2;
        if retry.status == Some(429) && is_told {
            let delay = milliseconds(retry.delay_ms);
            self.retry_ms = Some((delay, now_ms.saturating_add(delay)));
        }
    }

    /// The program speaks of a failure instead of the model.
    pub(super) fn failed(&mut self, error: &str) {
        self.error = Some(error.to_owned());
    }

    /// How the account's limits stand.
    pub(super) fn limited(&mut self, limit: &RateLimit) {
        self.resets_ms = limit.resets_at.filter(|_| limit.is_rejected).map(|at| at.saturating_mul(1000));
    }

    fn until(&self, now_ms: i64) -> i64 {
        // The program's last try comes when the wait before it is over, and says nothing of the next: it is as long.
        let asked =
            self.retry_ms.map(|(delay, at)| if at > now_ms { at } else { now_ms.saturating_add(delay) });
        let told = self.resets_ms.filter(|at| *at > now_ms).into_iter().chain(asked).max();
        told.unwrap_or_else(|| now_ms.saturating_add(DEFAULT_WAIT_MS))
    }
}

/// The limits that the program was given.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Given {
    pub turns: Option<u32>,
    pub cost: Option<CostLimit>,
}

/// Whether the agent finished.
pub(super) fn judge(
    result: &TurnResult,
    failures: &CallFailures,
    given: Given,
    now_ms: i64,
) -> Result<(), AgentError> {
    let detail = detail(result);
    if result.stop_reason.as_deref() == Some("refusal") {
        return Err(AgentError::Refused { detail });
    }
    if !result.is_error {
        return Ok(());
    }
    let reason = result.terminal_reason.as_deref().unwrap_or_default();
    if let Some(limit) = limit(result, reason, given) {
        return Err(AgentError::Limit(limit));
    }
    if matches!(reason, "aborted_streaming" | "aborted_tools") {
        return Err(AgentError::Cancelled);
    }
    Err(match (result.status, failures.error.as_deref()) {
        (Some(401 | 403), _)
        | (
            None,
            Some(
                "authentication_failed"
                | "oauth_org_not_allowed"
                | "account_on_hold"
                | "verification_required"
                | "billing_error",
            ),
        ) => AgentError::Auth { detail },
        (Some(429), _) | (None, Some("rate_limit")) => {
            AgentError::RateLimited { until_ms: failures.until(now_ms) }
        }
        (Some(_), _) => AgentError::ModelError { detail },
        (None, _) if is_of_model(reason) => AgentError::ModelError { detail },
        (None, _) => AgentError::Protocol {
            detail: if reason.is_empty() {
                detail
            } else {
                format!("its turn ended by `{reason}`: {detail}")
            },
        },
    })
}

fn limit(result: &TurnResult, reason: &str, given: Given) -> Option<LimitKind> {
    if reason == "max_turns" || result.subtype == "error_max_turns" {
        let taken = u32::try_from(result.num_turns).unwrap_or(u32::MAX);
        return Some(LimitKind::Turns(given.turns.unwrap_or(taken)));
    }
    let is_spent = reason == "budget_exhausted" || result.subtype == "error_max_budget_usd";
    is_spent.then_some(match given.cost {
        Some(limit) => LimitKind::Cost { micro_usd: limit.limit_micro_usd, of: limit.of },
        // One of the user's own, in the profile's arguments.
        None => LimitKind::Cost { micro_usd: 0, of: CostScope::Run },
    })
}

/// Reasons that lie in what the model answered or could not take.
fn is_of_model(reason: &str) -> bool {
    matches!(
        reason,
        "api_error"
            | "model_error"
            | "image_error"
            | "prompt_too_long"
            | "blocking_limit"
            | "rapid_refill_breaker"
            | "malformed_tool_use_exhausted"
    )
}

fn detail(result: &TurnResult) -> String {
    let text = result.text.clone().filter(|text| !text.trim().is_empty());
    text.unwrap_or_else(|| result.errors.join("; ")).chars().take(500).collect()
}

fn milliseconds(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: i64 = 1_000_000;

    fn failed(reason: &str, status: Option<u64>) -> TurnResult {
        TurnResult {
            is_error: true,
            subtype: "success".to_owned(),
            terminal_reason: Some(reason.to_owned()),
            status,
            text: Some("words".to_owned()),
            num_turns: 3,
            ..TurnResult::default()
        }
    }

    fn code(result: &TurnResult, error: Option<&str>) -> &'static str {
        let failures = CallFailures { error: error.map(str::to_owned), ..CallFailures::default() };
        judge(result, &failures, Given::default(), NOW).err().map_or("ok", |error| error.code())
    }

    #[test]
    fn the_error_channel_tells_what_failed() {
        for (reason, status, error, expected) in [
            ("api_error", Some(401), None, "auth"),
            ("api_error", Some(403), None, "auth"),
            ("api_error", None, Some("authentication_failed"), "auth"),
            ("api_error", None, Some("billing_error"), "auth"),
            ("api_error", Some(429), None, "rate_limited"),
            ("api_error", None, Some("rate_limit"), "rate_limited"),
            ("api_error", Some(500), None, "model_error"),
            ("api_error", Some(529), Some("server_error"), "model_error"),
            ("api_error", Some(400), Some("authentication_failed"), "model_error"),
            ("api_error", None, Some("server_error"), "model_error"),
            ("prompt_too_long", None, None, "model_error"),
            ("max_turns", None, None, "limit"),
            ("budget_exhausted", None, None, "limit"),
            ("aborted_tools", None, None, "cancelled"),
            ("aborted_streaming", None, None, "cancelled"),
            ("hook_stopped", None, None, "protocol"),
        ] {
            assert_eq!(code(&failed(reason, status), error), expected, "{reason} {status:?} {error:?}");
        }
        let refused = TurnResult { stop_reason: Some("refusal".to_owned()), ..TurnResult::default() };
        assert_eq!(code(&refused, None), "refused");
        assert_eq!(code(&TurnResult::default(), Some("rate_limit")), "ok", "a call that succeeded later");
    }

    #[test]
    fn a_limit_lasts_as_long_as_the_stream_says() {
        let limited = failed("api_error", Some(429));
        let until = |failures: &CallFailures| match judge(&limited, failures, Given::default(), NOW) {
            Err(AgentError::RateLimited { until_ms }) => until_ms,
            other => panic!("{other:?}"),
        };
        let retry = |attempt, delay_ms| Retry {
            attempt,
            max_retries: 10,
            delay_ms,
            status: Some(429),
            error: "rate_limit".to_owned(),
        };
        let mut failures = CallFailures::default();
        failures.retried(&retry(1, 540), NOW);
        failures.retried(&retry(4, 4_800), NOW);
        assert_eq!(until(&failures), NOW + DEFAULT_WAIT_MS, "the program's own waits say nothing");
        failures.retried(&retry(1, 7_300), NOW);
        assert_eq!(until(&failures), NOW + 7_300);
        let later = judge(&limited, &failures, Given::default(), NOW + 9_000);
        assert_eq!(
            later,
            Err(AgentError::RateLimited { until_ms: NOW + 16_300 }),
            "the next wait is as long"
        );
        failures.limited(&RateLimit { is_rejected: true, resets_at: Some(5_000), window: None });
        assert_eq!(until(&failures), 5_000_000);
        failures.limited(&RateLimit { is_rejected: false, resets_at: Some(9_000), window: None });
        assert_eq!(until(&failures), NOW + 7_300, "a warning is no limit");
    }
}
