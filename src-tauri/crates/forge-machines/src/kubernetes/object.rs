//! Reading what the API server tells of its objects.

use serde_json::Value;

/// The longest that is told of what Kubernetes said, in characters.
const LONGEST: usize = 300;

/// A text in an object; empty when it is not there.
pub(super) fn text<'v>(object: &'v Value, at: &str) -> &'v str {
    object.pointer(at).and_then(Value::as_str).unwrap_or_default()
}

/// A condition in the status of an object.
pub(super) fn condition<'v>(object: &'v Value, kind: &str) -> Option<&'v Value> {
    let all = object.pointer("/status/conditions")?.as_array()?;
    all.iter().find(|condition| text(condition, "/type") == kind)
}

/// Whether somebody has deleted an object that is there still.
pub(super) fn is_going(object: &Value) -> bool {
    object.pointer("/metadata/deletionTimestamp").is_some_and(|at| !at.is_null())
}

/// One line of at most some length, which ends without a full stop.
pub(super) fn short(message: &str) -> String {
    let line: Vec<&str> = message.split_whitespace().collect();
    let line = line.join(" ");
    let line = line.trim_end_matches('.');
    match line.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line.to_owned(),
    }
}
