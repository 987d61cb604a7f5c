//! The app server's messages: JSON-RPC, one object a line, without the `jsonrpc` member.
//!
//! Lenient: a field that is missing or of another type is as if it said nothing, and a method that nobody knows
//! is handed on by its name. Deliberately absent: a type for each of its hundreds of methods.

use forge_model::agent::PermissionMode;
use serde::{Deserialize, de::IgnoredAny};
use serde_json::{Map, Value, json};

use crate::json::text;

/// What makes it a server on its pipes.
pub(super) const SERVER: &str = "app-server";

/// Where a line has its method, when the server writes that first, as it does.
const METHOD_WITHIN: usize = 96;

/// What came.
#[derive(Debug)]
pub(super) enum Heard {
    /// It wants an answer.
    Request { id: Value, method: String, params: Value },
    /// It tells.
    Notification { method: String, params: Value },
    /// It answers our request with this number.
    Answer { id: u64, result: Result<Value, Refusal> },
    /// A piece of an item that is told whole later, and that nobody is shown before.
    Piece,
}

/// Why it did not do what it was asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Refusal {
    pub(super) message: String,
}

/// Reads a line; none if it is not a message.
pub(super) fn read(line: &[u8]) -> Option<Heard> {
    if is_piece(line) {
        return Some(Heard::Piece);
    }
    let Value::Object(mut message) = serde_json::from_slice(line).ok()? else { return None };
    let id = message.remove("id").filter(|id| !id.is_null());
    if let Some(Value::String(method)) = message.remove("method") {
        let params = message.remove("params").unwrap_or_default();
        return Some(match id {
            Some(id) => Heard::Request { id, method, params },
            None => Heard::Notification { method, params },
        });
    }
    let id = id?.as_u64()?;
    let result = match (message.remove("error"), message.remove("result")) {
        (Some(error), _) if !error.is_null() => {
            let message = text(&error, "message").map_or_else(|| error.to_string(), str::to_owned);
            Err(Refusal { message })
        }
        (_, Some(result)) => Ok(result),
        (_, None) => return None,
    };
    Some(Heard::Answer { id, result })
}

/// Whether a line is a mere piece of an output. Most lines of a run are, so they are not read into values.
fn is_piece(line: &[u8]) -> bool {
    #[derive(Deserialize)]
    struct Head {
        method: Option<String>,
        id: Option<IgnoredAny>,
    }
    let start = line.get(..line.len().min(METHOD_WITHIN)).unwrap_or_default();
    if !start.windows(6).any(|six| six == b"Delta\"") {
        return false;
    }
    let head: Option<Head> = serde_json::from_slice(line).ok();
    head.is_some_and(|head| head.id.is_none() && head.method.is_some_and(|method| method.ends_with("Delta")))
}

pub(super) fn request(id: u64, method: &str, params: &Value) -> Value {
    json!({ "id": id, "method": method, "params": params })
}

pub(super) fn notification(method: &str) -> Value {
    json!({ "method": method })
}

pub(super) fn answer(id: &Value, result: &Value) -> Value {
    json!({ "id": id, "result": result })
}

/// The answer to a request that is not served.
pub(super) fn not_served(id: &Value, method: &str) -> Value {
    json!({ "id": id, "error": { "code": -32601, "message": format!("`{method}` is not supported") } })
}

/// The parameters of `initialize`. Background terminals are ended by an experimental method.
pub(super) fn hello() -> Value {
    json!({
        "clientInfo": { "name": "forge", "title": "Forge", "version": env!("CARGO_PKG_VERSION") },
        "capabilities": { "experimentalApi": true, "requestAttestation": false },
    })
}

/// The number member of an object.
pub(super) fn count(value: &Value, name: &str) -> u64 {
    value.get(name).and_then(Value::as_u64).unwrap_or_default()
}

/// What a person or Forge says.
pub(super) fn input(words: &str) -> Value {
    json!([{ "type": "text", "text": words, "text_elements": [] }])
}

/// When it asks before it does something.
pub(super) const fn approval_policy(permissions: PermissionMode) -> &'static str {
    match permissions {
        PermissionMode::ReadOnly | PermissionMode::Unattended => "never",
        PermissionMode::Ask => "untrusted",
        PermissionMode::Edit => "on-request",
    }
}

/// Its sandbox, as a thread is told.
pub(super) const fn sandbox_mode(permissions: PermissionMode) -> &'static str {
    match permissions {
        PermissionMode::ReadOnly => "read-only",
        PermissionMode::Ask | PermissionMode::Edit | PermissionMode::Unattended => "workspace-write",
    }
}

/// Its sandbox, as a turn is told: what the thread said that it has, with what the user's own settings add to it,
/// when that is of the wanted kind; else the plain one.
pub(super) fn sandbox_policy(permissions: PermissionMode, of_thread: Option<&Value>) -> Value {
    let wanted = match permissions {
        PermissionMode::ReadOnly => "readOnly",
        PermissionMode::Ask | PermissionMode::Edit | PermissionMode::Unattended => "workspaceWrite",
    };
    match of_thread {
        Some(policy) if text(policy, "type") == Some(wanted) => policy.clone(),
        Some(_) | None if wanted == "readOnly" => json!({ "type": wanted, "networkAccess": false }),
        Some(_) | None => json!({
            "type": wanted, "writableRoots": [], "networkAccess": false,
            "excludeTmpdirEnvVar": false, "excludeSlashTmp": false,
        }),
    }
}

/// An object of the members that are there.
pub(super) fn object<const N: usize>(members: [(&str, Option<Value>); N]) -> Value {
    let members = members.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?)));
    Value::Object(members.collect::<Map<_, _>>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tells_requests_notifications_and_answers_apart() {
        assert!(matches!(read(br#"{"id":"a","method":"m","params":{}}"#), Some(Heard::Request { .. })));
        assert!(matches!(read(br#"{"method":"m"}"#), Some(Heard::Notification { .. })));
        assert!(matches!(read(br#"{"id":1,"result":null}"#), Some(Heard::Answer { id: 1, result: Ok(_) })));
        let refused = read(br#"{"id":1,"error":{"code":-32600,"message":"no"}}"#);
        assert!(matches!(refused, Some(Heard::Answer { id: 1, result: Err(why) }) if why.message == "no"));
        for line in [&b"oh"[..], b"[]", b"{}", br#"{"id":1}"#, br#"{"id":"x","result":1}"#, b"\xff"] {
            assert!(read(line).is_none(), "{line:?}");
        }
    }

    #[test]
    fn pieces_are_told_from_what_must_be_read() {
        let piece = br#"{"method":"item/commandExecution/outputDelta","params":{"delta":"x"}}"#;
        assert!(matches!(read(piece), Some(Heard::Piece)));
        for line in [
            &br#"{"method":"item/agentMessage/delta","params":{"delta":"Delta\""}}"#[..],
            br#"{"method":"item/completed","params":{"item":{"text":"Delta"}}}"#,
        ] {
            assert!(
                matches!(read(line), Some(Heard::Notification { .. })),
                "{}",
                String::from_utf8_lossy(line)
            );
        }
        let asked = br#"{"method":"xDelta","id":1,"params":{}}"#;
        assert!(matches!(read(asked), Some(Heard::Request { .. })), "who asks is answered");
        assert!(read(br#"{"method":"item/commandExecution/outputDelta","params":{"#).is_none());
    }

    #[test]
    fn no_mode_opens_the_sandbox() {
        for permissions in
            [PermissionMode::ReadOnly, PermissionMode::Ask, PermissionMode::Edit, PermissionMode::Unattended]
        {
            let open = json!({ "type": "dangerFullAccess" });
            let policy = sandbox_policy(permissions, Some(&open));
            assert_ne!(policy["type"], "dangerFullAccess", "{permissions:?}");
            assert_eq!(policy["networkAccess"], false);
        }
        let own = json!({ "type": "workspaceWrite", "networkAccess": true });
        assert_eq!(sandbox_policy(PermissionMode::Edit, Some(&own)), own, "the user's own settings stay");
        assert_eq!(sandbox_policy(PermissionMode::ReadOnly, Some(&own))["type"], "readOnly");
    }
}
