//! What Claude Code prints and reads, a JSON object a line.
//!
//! Reading never fails: a field that is missing, or of another type than expected, is as if it were not there, and
//! an event of a type that is not known is [`Event::Other`]. The program adds fields and types with every release.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::{
    adapter::ReportedWindow,
    json::{list, owned, text},
};

/// One line of the program.
#[derive(Debug)]
pub(super) enum Event {
    /// A turn begins; the first one tells of the session.
    Init(Init),
    /// A call of the model failed and is tried again.
    Retry(Retry),
    /// The program itself refused a tool.
    Denied {
        /// The call.
        tool_use_id: String,
        /// Why.
        message: String,
    },
    /// The conversation was shortened.
    Compacted,
    /// What a sub-agent does now.
    Progress(String),
    /// Nothing that a log needs.
    Quiet,
    /// A part of the model's message.
    Message(Message),
    /// What a call of the model used so far.
    Call(Call),
    /// What the model is told: results of tools, words of a person.
    Told(Told),
    /// A turn is over.
    Result(Box<TurnResult>),
    /// How the account's limits stand.
    RateLimit(RateLimit),
    /// The answer to a request of ours.
    Response {
        /// Which request.
        request_id: String,
    },
    /// The program asks something.
    Request {
        /// To be named in the answer.
        request_id: String,
        /// What.
        request: Value,
    },
    /// It no longer wants to know.
    Withdrawn {
        /// Which request.
        request_id: String,
    },
    /// Where a message of ours is.
    Lifecycle {
        /// The message.
        uuid: String,
        /// `queued`, `started`, `completed` or `cancelled`.
        state: String,
    },
    /// Anything else.
    Other,
}

#[derive(Debug)]
pub(super) struct Init {
    pub session_id: Option<String>,
    pub model: Option<String>,
    pub version: Option<String>,
    pub permission_mode: Option<String>,
}

#[derive(Debug)]
pub(super) struct Retry {
    pub attempt: u32,
    pub max_retries: u32,
    pub delay_ms: u64,
    pub status: Option<u64>,
    pub error: String,
}

#[derive(Debug)]
pub(super) struct Message {
    pub id: String,
    pub blocks: Vec<Value>,
    pub parent: Option<String>,
    /// What kind of failure this message stands for: the program speaks, not the model.
    pub error: Option<String>,
    pub limit: Option<RateLimit>,
    /// What the call had used when it began to answer.
    pub call: Call,
}

/// A call of the model, as it is told while it answers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Call {
    /// The answer's name; none for a later word about the one that was named last.
    pub id: Option<String>,
    pub model: Option<String>,
    /// The sub-agent's call of a tool that it was made for.
    pub parent: Option<String>,
    pub used: CallTokens,
}

/// Tokens of one call. What is not told is none.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct CallTokens {
    pub input: u64,
    pub cache_read: u64,
    pub cache_write: u64,
    pub output: u64,
    pub reasoning: u64,
}

#[derive(Debug)]
pub(super) struct Told {
    pub uuid: Option<String>,
    /// It is our own message, given back.
    pub is_replay: bool,
    pub blocks: Vec<Value>,
    pub parent: Option<String>,
    /// What the tool itself gave, when one result is told.
    pub detail: Value,
    /// The calls that were refused.
    pub refused: Vec<String>,
}

/// What a turn came to.
#[derive(Debug, Default)]
pub(super) struct TurnResult {
    pub is_error: bool,
    pub subtype: String,
    pub terminal_reason: Option<String>,
    pub stop_reason: Option<String>,
    pub status: Option<u64>,
    pub text: Option<String>,
    pub errors: Vec<String>,
    pub num_turns: u64,
    pub duration_ms: Option<u64>,
    /// Running totals of the session, across processes.
    pub totals: Totals,
    /// What was spent since the result before, in this process.
    pub since: Option<Totals>,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) struct RateLimit {
    pub is_rejected: bool,
    pub resets_at: Option<i64>,
    /// The window that this is about, when the program says how full it is.
    pub window: Option<ReportedWindow>,
}

/// Spending by model.
pub(super) type Totals = BTreeMap<String, Spent>;

#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Spent {
    #[serde(default)]
    pub input: u64,
    #[serde(default)]
    pub cache_read: u64,
    #[serde(default)]
    pub cache_write: u64,
    #[serde(default)]
    pub output: u64,
    #[serde(default)]
    pub reasoning: u64,
    /// In dollars; none when the program does not know the model's price.
    #[serde(default)]
    pub cost: Option<f64>,
}

impl Event {
    /// Reads a line; none when it is no JSON object.
    pub(super) fn read(line: &[u8]) -> Option<Self> {
        let event: Value = serde_json::from_slice(line).ok()?;
        event.is_object().then(|| Self::of(&event))
    }

    fn of(event: &Value) -> Self {
        match text(event, "type").unwrap_or_default() {
            "system" => system(event),
            "assistant" => Self::Message(message(event)),
            "user" => Self::Told(told(event)),
            "result" => Self::Result(Box::new(result(event))),
            "rate_limit_event" => match event.get("rate_limit_info").and_then(rate_limit) {
                Some(limit) => Self::RateLimit(limit),
                None => Self::Other,
            },
            "control_response" => {
                let response = event.get("response").unwrap_or(&Value::Null);
                match owned(response, "request_id") {
                    Some(request_id) => Self::Response { request_id },
                    None => Self::Other,
                }
            }
            "control_request" => match (owned(event, "request_id"), event.get("request")) {
                (Some(request_id), Some(request)) => Self::Request { request_id, request: request.clone() },
                _ => Self::Other,
            },
            "control_cancel_request" => match owned(event, "request_id") {
                Some(request_id) => Self::Withdrawn { request_id },
                None => Self::Other,
            },
            "command_lifecycle" => match (owned(event, "command_uuid"), owned(event, "state")) {
                (Some(uuid), Some(state)) => Self::Lifecycle { uuid, state },
                _ => Self::Other,
            },
            // Pieces of what comes whole a moment later, but for what they cost.
            "stream_event" => streamed(event).map_or(Self::Quiet, Self::Call),
            "tool_progress" | "keep_alive" => Self::Quiet,
            _ => Self::Other,
        }
    }
}

fn system(event: &Value) -> Event {
    match text(event, "subtype").unwrap_or_default() {
        "init" => Event::Init(Init {
            session_id: owned(event, "session_id"),
            model: owned(event, "model"),
            version: owned(event, "claude_code_version"),
            permission_mode: owned(event, "permissionMode"),
        }),
        "api_retry" => Event::Retry(Retry {
            attempt: number(event, "attempt").and_then(|it| u32::try_from(it).ok()).unwrap_or_default(),
            max_retries: number(event, "max_retries")
                .and_then(|it| u32::try_from(it).ok())
                .unwrap_or_default(),
            delay_ms: number(event, "retry_delay_ms").unwrap_or_default(),
            status: number(event, "error_status"),
            error: owned(event, "error").unwrap_or_default(),
        }),
        "permission_denied" => Event::Denied {
            tool_use_id: owned(event, "tool_use_id").unwrap_or_default(),
            message: owned(event, "message").unwrap_or_default(),
        },
        "compact_boundary" => Event::Compacted,
        "task_progress" => Event::Progress(owned(event, "description").unwrap_or_default()),
        "status"
        | "thinking_tokens"
        | "task_started"
        | "task_notification"
        | "task_updated"
        | "background_tasks_changed" => Event::Quiet,
        _ => Event::Other,
    }
}

fn message(event: &Value) -> Message {
    let message = event.get("message").unwrap_or(&Value::Null);
    Message {
        id: owned(message, "id").or_else(|| owned(event, "uuid")).unwrap_or_default(),
        blocks: blocks(message),
        parent: owned(event, "parent_tool_use_id"),
        error: owned(event, "error"),
        limit: event
            .get("api_error_params")
            .and_then(|params| params.get("rate_limit_info"))
            .and_then(rate_limit),
        call: call(event, message),
    }
}

fn streamed(event: &Value) -> Option<Call> {
    let piece = event.get("event")?;
    match text(piece, "type")? {
        "message_start" => Some(call(event, piece.get("message")?)),
        "message_delta" => Some(call(event, piece)),
        _ => None,
    }
}

fn call(event: &Value, told: &Value) -> Call {
    let usage = told.get("usage").unwrap_or(&Value::Null);
    let count = |name: &str| number(usage, name).unwrap_or_default();
    let details = usage.get("output_tokens_details").unwrap_or(&Value::Null);
    Call {
        id: owned(told, "id"),
        model: owned(told, "model"),
        parent: owned(event, "parent_tool_use_id"),
        used: CallTokens {
            input: count("input_tokens"),
            cache_read: count("cache_read_input_tokens"),
            cache_write: count("cache_creation_input_tokens"),
            output: count("output_tokens"),
            reasoning: number(details, "thinking_tokens").unwrap_or_default(),
        },
    }
}

fn told(event: &Value) -> Told {
    let refused = |meta: &Value| {
        (text(meta, "non_execution_kind") == Some("user-rejected")).then(|| owned(meta, "id")).flatten()
    };
    Told {
        uuid: owned(event, "uuid"),
        is_replay: event.get("isReplay").and_then(Value::as_bool).unwrap_or_default(),
        blocks: blocks(event.get("message").unwrap_or(&Value::Null)),
        parent: owned(event, "parent_tool_use_id"),
        detail: event.get("tool_use_result").cloned().unwrap_or_default(),
        refused: list(event, "tool_result_meta").iter().filter_map(refused).collect(),
    }
}

fn result(event: &Value) -> TurnResult {
    TurnResult {
        is_error: event.get("is_error").and_then(Value::as_bool).unwrap_or_default(),
        subtype: owned(event, "subtype").unwrap_or_default(),
        terminal_reason: owned(event, "terminal_reason"),
        stop_reason: owned(event, "stop_reason"),
        status: number(event, "api_error_status"),
        text: owned(event, "result"),
        errors: list(event, "errors").iter().filter_map(|it| Some(it.as_str()?.to_owned())).collect(),
        num_turns: number(event, "num_turns").unwrap_or_default(),
        duration_ms: number(event, "duration_ms"),
        totals: event.get("modelUsage").map(totals).unwrap_or_default(),
        since: event.get("model_usage_since_last_result").filter(|it| it.is_object()).map(totals),
    }
}

fn totals(usage: &Value) -> Totals {
    let spent = |model: &Value| Spent {
        input: number(model, "inputTokens").unwrap_or_default(),
        cache_read: number(model, "cacheReadInputTokens").unwrap_or_default(),
        cache_write: number(model, "cacheCreationInputTokens").unwrap_or_default(),
        output: number(model, "outputTokens").unwrap_or_default(),
        reasoning: number(model, "thinkingTokens").unwrap_or_default(),
        // For a model without a known price the program takes that of another one.
        cost: (text(model, "costBasis") != Some("unknown"))
            .then(|| model.get("costUSD").and_then(Value::as_f64))
            .flatten()
            .filter(|cost| cost.is_finite() && *cost >= 0.0),
    };
    let models = usage.as_object().into_iter().flatten();
    models.map(|(name, model)| (name.clone(), spent(model))).collect()
}

fn rate_limit(info: &Value) -> Option<RateLimit> {
    let status = text(info, "status")?;
    let resets_at = info.get("resetsAt").and_then(Value::as_i64);
    let window = || {
        let name = text(info, "rateLimitType")?;
        let minutes = match name {
            "five_hour" => Some(5 * 60),
            name if name.starts_with("seven_day") => Some(7 * 24 * 60),
            _ => None,
        };
        Some(ReportedWindow {
            name: name.to_owned(),
            minutes,
            // A part of one.
            used_percent: ReportedWindow::percent(info.get("utilization")?.as_f64()? * 100.0)?,
            resets_ms: resets_at.and_then(|at| at.checked_mul(1000)),
        })
    };
    Some(RateLimit { is_rejected: status == "rejected", resets_at, window: window() })
}

fn blocks(message: &Value) -> Vec<Value> {
    match message.get("content") {
        Some(Value::Array(blocks)) => blocks.clone(),
        Some(Value::String(text)) => vec![json!({ "type": "text", "text": text })],
        _ => Vec::new(),
    }
}

fn number(value: &Value, field: &str) -> Option<u64> {
    let number = value.get(field)?;
    number.as_u64().or_else(|| {
        // Some counts come as `12.0`.
        let float = number.as_f64().filter(|it| (0.0..9e15).contains(it))?;
        format!("{float:.0}").parse().ok()
    })
}

/// Words of a person, or the prompt.
pub(super) fn user_message(uuid: &str, text: &str) -> Value {
    json!({
        "type": "user",
        "uuid": uuid,
        "message": { "role": "user", "content": [{ "type": "text", "text": text }] },
        "parent_tool_use_id": null,
        "session_id": "",
    })
}

/// A request of ours.
pub(super) fn control_request(request_id: &str, request: &Value) -> Value {
    json!({ "type": "control_request", "request_id": request_id, "request": request })
}

/// Greets the program, which answers with its models and commands.
pub(super) fn initialize(request_id: &str) -> Value {
    control_request(request_id, &json!({ "subtype": "initialize", "hooks": null }))
}

/// Stops the turn, and whatever waits behind it.
pub(super) fn interrupt(request_id: &str) -> Value {
    control_request(request_id, &json!({ "subtype": "interrupt", "cancel_queued": true }))
}

/// An answer to a request of the program's.
pub(super) fn control_answer(request_id: &str, response: &Value) -> Value {
    json!({
        "type": "control_response",
        "response": { "subtype": "success", "request_id": request_id, "response": response },
    })
}

/// Says that a request of the program's is none that we serve.
pub(super) fn control_error(request_id: &str, error: &str) -> Value {
    json!({
        "type": "control_response",
        "response": { "subtype": "error", "request_id": request_id, "error": error },
    })
}

/// Lets a tool run with this input, and these permissions from now on.
pub(super) fn allow(input: Value, permissions: &[Value]) -> Value {
    let mut answer = Map::new();
    answer.insert("behavior".to_owned(), json!("allow"));
    answer.insert("updatedInput".to_owned(), input);
    if !permissions.is_empty() {
        answer.insert("updatedPermissions".to_owned(), json!(permissions));
    }
    Value::Object(answer)
}

/// Refuses a tool; the model reads the message, or the turn ends.
pub(super) fn deny(message: &str, stop: bool) -> Value {
    json!({ "behavior": "deny", "message": message, "interrupt": stop })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn report_of_a_limit_may_say_how_full_its_window_is() {
        let info = json!({
            "status": "allowed_warning", "rateLimitType": "seven_day_opus", "utilization": 0.914, "resetsAt": 5,
        });
        let read = rate_limit(&info).unwrap();
        let window = read.window.unwrap();
        assert_eq!((window.name.as_str(), window.minutes), ("seven_day_opus", Some(7 * 24 * 60)));
        assert_eq!((window.used_percent, window.resets_ms), (91, Some(5_000)));
        assert!(!read.is_rejected);
        let bare = json!({ "status": "rejected", "rateLimitType": "five_hour" });
        assert_eq!(rate_limit(&bare).unwrap().window, None);
    }
}
