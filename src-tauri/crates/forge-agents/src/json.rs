//! Fields of what a program says. One that is missing, or of another type, is as if it said nothing.

use serde_json::Value;

/// A field that is text.
pub(crate) fn text<'v>(value: &'v Value, field: &str) -> Option<&'v str> {
    value.get(field)?.as_str()
}

/// A field that is text, to keep.
pub(crate) fn owned(value: &Value, field: &str) -> Option<String> {
    text(value, field).map(str::to_owned)
}

/// A field that is a list; an empty one when it is none.
pub(crate) fn list<'v>(value: &'v Value, field: &str) -> &'v [Value] {
    value.get(field).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}
