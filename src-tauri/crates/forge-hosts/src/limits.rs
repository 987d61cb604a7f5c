//! What headers say about how often a host may be asked.

use std::time::{Duration, SystemTime};

use forge_model::time::Timestamp;
use reqwest::header::HeaderMap;

/// How long to wait when a host asks to wait and does not say how long; GitHub's documentation names a minute.
const UNSAID_WAIT_MS: i64 = 60_000;
/// A host that asks for more than this is asked again all the same.
const LONGEST_WAIT_MS: i64 = 24 * 60 * 60 * 1000;
/// Reset times below this are spans in seconds, above it points in time.
const FIRST_POINT_IN_TIME: i64 = 1_000_000_000;

/// How many requests a host still grants.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Quota {
    /// That many, until the reset.
    pub remaining: u32,
    /// When the full number is granted again.
    pub reset_at: Timestamp,
}

impl Quota {
    /// Read from `x-ratelimit-*` (GitHub) or `ratelimit-*` (GitLab).
    pub(crate) fn of(headers: &HeaderMap, now: Timestamp) -> Option<Self> {
        ["x-ratelimit", "ratelimit"].into_iter().find_map(|prefix| {
            let remaining = number(headers, &format!("{prefix}-remaining"))?;
            let reset = number(headers, &format!("{prefix}-reset"))?;
            let reset_at = if reset < FIRST_POINT_IN_TIME {
                now.plus_ms(reset.saturating_mul(1000))
            } else {
                Timestamp(reset.saturating_mul(1000))
            };
            Some(Self { remaining: u32::try_from(remaining.max(0)).unwrap_or(u32::MAX), reset_at })
        })
    }
}

/// Until when the host asks to wait, when this answer says so.
pub(crate) fn asked_to_wait(status: u16, headers: &HeaderMap, now: Timestamp) -> Option<Timestamp> {
    let retry_at = retry_after(headers, now);
    let exhausted = Quota::of(headers, now).filter(|quota| quota.remaining == 0);
    let limited = status == 429 || (status == 403 && (retry_at.is_some() || exhausted.is_some()));
    limited.then(|| {
        let until = retry_at.or(exhausted.map(|quota| quota.reset_at)).unwrap_or(now.plus_ms(UNSAID_WAIT_MS));
        Timestamp(until.0.clamp(now.0, now.plus_ms(LONGEST_WAIT_MS).0))
    })
}

/// `Retry-After`: seconds, or a date.
fn retry_after(headers: &HeaderMap, now: Timestamp) -> Option<Timestamp> {
    let text = headers.get("retry-after")?.to_str().ok()?.trim();
    if let Ok(seconds) = text.parse::<i64>() {
        return Some(now.plus_ms(seconds.max(0).saturating_mul(1000)));
    }
    let since: Duration =
        httpdate::parse_http_date(text).ok()?.duration_since(SystemTime::UNIX_EPOCH).ok()?;
    i64::try_from(since.as_millis()).ok().map(Timestamp)
}

fn number(headers: &HeaderMap, name: &str) -> Option<i64> {
    headers.get(name)?.to_str().ok()?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use reqwest::header::{HeaderName, HeaderValue};

    use super::*;

    const NOW: Timestamp = Timestamp(1_700_000_000_000);

    fn headers(pairs: &[(&'static str, &'static str)]) -> HeaderMap {
        pairs
            .iter()
            .map(|(name, value)| (HeaderName::from_static(name), HeaderValue::from_static(value)))
            .collect()
    }

    #[test]
    fn waits_are_read_from_headers() {
        let spent = [("x-ratelimit-remaining", "0"), ("x-ratelimit-reset", "1700000090")];
        let left = [("x-ratelimit-remaining", "12"), ("x-ratelimit-reset", "1700000090")];
        let gitlab = [("ratelimit-remaining", "0"), ("ratelimit-reset", "1700000030")];
        for (status, pairs, seconds) in [
            (200, &spent[..], None),
            (403, &[], None),
            (403, &left, None),
            (403, &spent, Some(90)),
            (403, &[("retry-after", "7")], Some(7)),
            (429, &[], Some(60)),
            (429, &gitlab, Some(30)),
            (429, &[("retry-after", "Tue, 14 Nov 2023 22:13:45 GMT")], Some(25)),
            (429, &[("retry-after", "Tue, 14 Nov 2000 22:13:45 GMT")], Some(0)),
            (429, &[("retry-after", "99999999999999999")], Some(86400)),
            (429, &[("retry-after", "soon")], Some(60)),
        ] {
            let found = asked_to_wait(status, &headers(pairs), NOW).map(|until| until.since(NOW) / 1000);
            assert_eq!(found, seconds, "{status} {pairs:?}");
        }
    }

    #[test]
    fn a_reset_may_be_a_span() {
        let quota = Quota::of(&headers(&[("ratelimit-remaining", "5"), ("ratelimit-reset", "40")]), NOW);
        assert_eq!(quota, Some(Quota { remaining: 5, reset_at: NOW.plus_ms(40_000) }));
    }
}
