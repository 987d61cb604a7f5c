//! Parts of requests that the services write alike.

use serde_json::Value;

/// The words of a content: text itself, or parts that have some.
pub(super) fn words(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(parts) => {
            let texts: Vec<String> = parts.iter().map(words).filter(|text| !text.is_empty()).collect();
            texts.join("\n")
        }
        Value::Object(part) => {
            part.get("text").or_else(|| part.get("content")).map(words).unwrap_or_default()
        }
        _ => String::new(),
    }
}

pub(super) fn list(value: &Value) -> &[Value] {
    value.as_array().map(Vec::as_slice).unwrap_or_default()
}

pub(super) fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}
