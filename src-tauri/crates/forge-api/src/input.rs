//! Reading inputs: unknown fields and wrong types are refused with their path.

pub(crate) mod shape;

use serde::{Deserialize, Deserializer, de::DeserializeOwned};
use serde_json::Value;

use crate::ApiError;

/// Reads an operation's input.
///
/// # Errors
/// `invalid`, with the path of what is wrong.
pub fn read<T: DeserializeOwned>(value: Value) -> Result<T, ApiError> {
    let value = if value.is_null() { Value::Object(serde_json::Map::new()) } else { value };
    serde_path_to_error::deserialize(value).map_err(|error| {
        let inner = error.inner().to_string();
        let path = error.path().to_string();
        // A missing or unknown field is named by serde itself; its path ends at the object around it.
        let named = ["missing field `", "unknown field `"]
            .iter()
            .find_map(|head| inner.strip_prefix(head)?.split('`').next());
        let path = match (path.as_str(), named) {
            (".", Some(field)) => field.to_owned(),
            (".", None) => String::new(),
            (path, Some(field)) if !path.ends_with(field) => format!("{path}.{field}"),
            (path, _) => path.to_owned(),
        };
        ApiError::invalid(&path, &inner)
    })
}

/// Tells `null` (take it away) from an absent field (leave it).
pub(crate) fn nullable<'de, D: Deserializer<'de>, T: Deserialize<'de>>(
    deserializer: D,
) -> Result<Option<Option<T>>, D::Error> {
    Option::<T>::deserialize(deserializer).map(Some)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, Deserialize)]
    #[serde(deny_unknown_fields)]
    #[expect(dead_code, reason = "only its errors are looked at")]
    struct Input {
        title: String,
        #[serde(default)]
        inner: Option<Inner>,
    }

    #[derive(Debug, Deserialize)]
    #[serde(deny_unknown_fields)]
    #[expect(dead_code, reason = "only its errors are looked at")]
    struct Inner {
        steps: Vec<String>,
    }

    #[test]
    fn the_path_of_what_is_wrong() {
        let path = |value: Value| {
            read::<Input>(value).unwrap_err().details["findings"][0]["path"].as_str().unwrap().to_owned()
        };
        assert_eq!(path(serde_json::json!({})), "title");
        assert_eq!(path(serde_json::json!({ "title": 1 })), "title");
        assert_eq!(path(serde_json::json!({ "title": "x", "colour": 1 })), "colour");
        assert_eq!(
            path(serde_json::json!({ "title": "x", "inner": { "steps": ["a", 2] } })),
            "inner.steps[1]"
        );
        assert_eq!(path(serde_json::json!({ "title": "x", "inner": { "stesp": [] } })), "inner.stesp");
    }
}
