//! Lists where the contract has objects. What reads inputs would take a list for the fields of an object in their
//! order, which no document says, so it is refused before.

use serde_json::{Map, Value};

use crate::ApiError;

/// The schema that a reference names.
pub(crate) fn resolve<'a>(schema: &'a Value, definitions: &'a Map<String, Value>) -> &'a Value {
    let name = schema["$ref"].as_str().and_then(|reference| reference.rsplit('/').next());
    name.and_then(|name| definitions.get(name)).unwrap_or(schema)
}

/// Refuses a list in the place of an object, with its path.
pub(crate) fn refuse_lists(
    schema: &Value,
    definitions: &Map<String, Value>,
    value: &Value,
    path: &str,
) -> Result<(), ApiError> {
    let schema = only_option(schema, definitions);
    match value {
        Value::Array(_) if wants_object(schema) => {
            Err(ApiError::invalid(path, "invalid type: a list, expected an object"))
        }
        Value::Array(items) => items.iter().enumerate().try_for_each(|(index, item)| {
            refuse_lists(&schema["items"], definitions, item, &format!("{path}[{index}]"))
        }),
        Value::Object(fields) => fields.iter().try_for_each(|(name, field)| {
            let named = schema["properties"].get(name).unwrap_or(&schema["additionalProperties"]);
            let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
            refuse_lists(named, definitions, field, &path)
        }),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Ok(()),
    }
}

/// What a schema says of a value that is not null.
fn only_option<'a>(schema: &'a Value, definitions: &'a Map<String, Value>) -> &'a Value {
    let schema = resolve(schema, definitions);
    let mut options = schema["anyOf"].as_array().into_iter().flatten().filter(|it| it["type"] != "null");
    match (options.next(), options.next()) {
        (Some(only), None) => resolve(only, definitions),
        _ => schema,
    }
}

fn wants_object(schema: &Value) -> bool {
    match &schema["type"] {
        Value::String(kind) => kind == "object",
        Value::Array(kinds) => {
            kinds.iter().any(|kind| kind == "object") && kinds.iter().all(|kind| kind != "array")
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_list_is_no_object() {
        let definitions =
            json!({ "Limits": { "type": "object", "properties": { "review": { "type": "integer" } } } });
        let definitions = definitions.as_object().unwrap();
        let schema = json!({ "type": "object", "properties": {
            "limits": { "anyOf": [{ "$ref": "#/$defs/Limits" }, { "type": "null" }] },
            "all": { "type": ["array", "null"], "items": { "$ref": "#/$defs/Limits" } },
            "any": true,
        } });
        let path = |value: Value| {
            let error = refuse_lists(&schema, definitions, &value, "").err()?;
            error.details["findings"][0]["path"].as_str().map(str::to_owned)
        };
        assert_eq!(path(json!({ "limits": { "review": 1 }, "all": [{}], "any": [[]], "unknown": [] })), None);
        assert_eq!(path(json!({ "limits": null, "all": null })), None);
        assert_eq!(path(json!({ "limits": [1] })), Some("limits".to_owned()));
        assert_eq!(path(json!({ "all": [{}, [1]] })), Some("all[1]".to_owned()));
        assert_eq!(path(json!([])), Some(String::new()));
    }
}
