//! What a program tells of a failed prompt beside the protocol.
//!
//! The protocol's error names no status of the model's service. opencode keeps the failure in the session's record
//! with its status and headers, and prints that record on request (`opencode export`): from there a failure of the
//! model becomes one of a key or a limit. A record that cannot be had or read changes nothing.

use std::time::Duration;

use forge_exec::{Command, Exit, HeadTail, run};
use serde::Deserialize;
use serde_json::{Map, Value};
use tokio_util::sync::CancellationToken;

use crate::AgentError;

use super::outcome;

/// Far more than the program takes to print a session.
const PATIENCE: Duration = Duration::from_secs(60);

/// The longest record that is read.
const MAX_RECORD: usize = 64 * 1024 * 1024;

/// Asks a program for the record of a session.
#[derive(Debug)]
pub(super) struct Export {
    command: Command,
}

/// What the model's service answered.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Answered {
    pub status: i64,
    pub error: AgentError,
}

impl Export {
    /// `command` is the program with a run's environment and without arguments; none for programs that keep no
    /// such record.
    pub(super) fn of(command: Command) -> Option<Self> {
        let name = std::path::Path::new(&command.program).file_stem()?.to_str()?;
        (name == "opencode").then_some(Self { command })
    }

    /// Why the last prompt of the session failed, when its record says more than `error` does.
    pub(super) async fn explain(
        self,
        session: &str,
        error: &AgentError,
        now_ms: i64,
        cancel: &CancellationToken,
    ) -> Option<Answered> {
        let AgentError::ModelError { detail } = error else { return None };
        let command = self.command.arg("export").arg(session).timeout(PATIENCE);
        let mut output = HeadTail::new(MAX_RECORD);
        let finished = match run(command, cancel, |_| {}, &mut output).await {
            Ok(finished) => finished,
            Err(error) => {
                tracing::warn!(%error, "failed to ask for the record of a session");
                return None;
            }
        };
        let printed = output.into_strings();
        if finished.exit != Exit::Code(0) || printed.cut > 0 {
            tracing::warn!(exit = ?finished.exit, cut = printed.cut, "the record of a session did not come whole");
            return None;
        }
        read(&printed.stdout, detail, now_ms)
    }
}

#[derive(Deserialize)]
struct Record {
    messages: Vec<Message>,
}

#[derive(Deserialize)]
struct Message {
    info: Info,
}

#[derive(Deserialize)]
struct Info {
    error: Option<Failure>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Failure {
    data: Data,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Data {
    status_code: Option<i64>,
    #[serde(default)]
    response_headers: Map<String, Value>,
}

fn read(record: &str, detail: &str, now_ms: i64) -> Option<Answered> {
    let record: Record = serde_json::from_str(record).ok()?;
    let Data { status_code, response_headers } = record.messages.into_iter().next_back()?.info.error?.data;
    let status = status_code?;
    let header = |name: &str| {
        let named = response_headers.iter().find(|(it, _)| it.eq_ignore_ascii_case(name));
        named.and_then(|(_, value)| value.as_str()?.trim().parse::<f64>().ok())
    };
    let seconds = header("retry-after-ms").map(|ms| ms / 1000.0).or_else(|| header("retry-after"));
    let error = outcome::of_status(status, detail, seconds, now_ms)?;
    Some(Answered { status, error })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn record(error: &Value) -> String {
        let user = json!({ "info": { "role": "user" }, "parts": [] });
        let failed = json!({ "info": { "role": "assistant", "error": error }, "parts": [] });
        json!({ "info": { "id": "s" }, "messages": [user, failed] }).to_string()
    }

    fn read_code(error: &Value) -> Option<&'static str> {
        read(&record(error), "it failed", 1_000).map(|it| it.error.code())
    }

    #[test]
    fn a_status_tells_what_kind_of_failure_it_was() {
        let failure = |status: i64| json!({ "name": "APIError", "data": { "statusCode": status } });
        for (status, code) in [(401, "auth"), (403, "auth"), (429, "rate_limited")] {
            assert_eq!(read_code(&failure(status)), Some(code), "{status}");
        }
        assert_eq!(read_code(&failure(500)), None, "no more than was known");
        assert_eq!(read_code(&json!({ "name": "UnknownError", "data": { "message": "401" } })), None);
        assert_eq!(read_code(&Value::Null), None);
        assert!(read("Exporting session: no JSON", "", 0).is_none());
    }

    #[test]
    fn a_limit_lasts_as_long_as_the_headers_say() {
        let until = |headers: Value| {
            let data = json!({ "statusCode": 429, "responseHeaders": headers });
            match read(&record(&json!({ "data": data })), "", 1_000).map(|it| it.error) {
                Some(AgentError::RateLimited { until_ms }) => until_ms,
                other => panic!("{other:?}"),
            }
        };
        assert_eq!(until(json!({ "Retry-After": "7" })), 8_000);
        assert_eq!(until(json!({ "retry-after-ms": "250", "retry-after": "1" })), 1_250);
        assert_eq!(until(json!({ "retry-after": "Wed, 21 Oct 2026 07:28:00 GMT" })), 61_000);
    }
}
