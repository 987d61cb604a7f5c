//! Reading what the API server tells of its objects.

use serde_json::Value;

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
