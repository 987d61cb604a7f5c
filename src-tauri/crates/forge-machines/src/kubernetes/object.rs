//! Reading what the API server tells of its objects.

use serde_json::Value;

use super::manifest::CONTAINER;

/// A text in an object; empty when it is not there.
pub(super) fn text<'v>(object: &'v Value, at: &str) -> &'v str {
    object.pointer(at).and_then(Value::as_str).unwrap_or_default()
}

/// Something that is listed in an object by its name.
pub(super) fn named<'v>(object: &'v Value, list: &str, name: &str) -> Option<&'v Value> {
    object.pointer(list)?.as_array()?.iter().find(|it| text(it, "/name") == name)
}

/// A condition in the status of an object.
pub(super) fn condition<'v>(object: &'v Value, kind: &str) -> Option<&'v Value> {
    let all = object.pointer("/status/conditions")?.as_array()?;
    all.iter().find(|condition| text(condition, "/type") == kind)
}

/// The same where it holds.
pub(super) fn holds<'v>(object: &'v Value, kind: &str) -> Option<&'v Value> {
    condition(object, kind).filter(|condition| text(condition, "/status") == "True")
}

/// How the task's container of a pod is. A pod may have containers that others put beside it, in any order.
pub(super) fn state<'v>(pod: &'v Value, name: &str) -> Option<&'v Value> {
    named(pod, "/status/containerStatuses", CONTAINER)?.pointer("/state")?.get(name)
}

/// Whether somebody has deleted an object that is there still.
pub(super) fn is_going(object: &Value) -> bool {
    object.pointer("/metadata/deletionTimestamp").is_some_and(|at| !at.is_null())
}
