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
    let mut options = Vec::new();
    add_options(schema, definitions, &mut options);
    let first_of = |kind: &str| options.iter().find(|option| takes(option, kind));
    match value {
        Value::Array(items) => match (first_of("array"), first_of("object")) {
            (None, Some(_)) => Err(ApiError::invalid(path, "invalid type: a list, expected an object")),
            (list, _) => items.iter().enumerate().try_for_each(|(index, item)| {
                let schema = list.map_or(&Value::Null, |list| &list["items"]);
                refuse_lists(schema, definitions, item, &format!("{path}[{index}]"))
            }),
        },
        Value::Object(fields) => {
            let is_meant = |option: &&&Value| takes(option, "object") && has_its_tags(option, fields);
            let Some(object) = options.iter().find(is_meant) else { return Ok(()) };
            fields.iter().try_for_each(|(name, field)| {
                let named = object["properties"].get(name).unwrap_or(&object["additionalProperties"]);
                let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
                refuse_lists(named, definitions, field, &path)
            })
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Ok(()),
    }
}

/// The schemas of which a value must fit one, choices within choices laid flat.
fn add_options<'a>(schema: &'a Value, definitions: &'a Map<String, Value>, options: &mut Vec<&'a Value>) {
    let schema = resolve(schema, definitions);
    match ["oneOf", "anyOf"].iter().find_map(|key| schema[*key].as_array()) {
        Some(choice) => choice.iter().for_each(|option| add_options(option, definitions, options)),
        None => options.push(schema),
    }
}

/// Whether a value of this type may stand here; what names no type takes any.
fn takes(schema: &Value, kind: &str) -> bool {
    match &schema["type"] {
        Value::String(name) => name == kind,
        Value::Array(names) => names.iter().any(|name| name == kind),
        _ => schema["const"].is_null() && schema["enum"].is_null(),
    }
}

/// Whether the fields that tell one kind of object from another are those of this one.
fn has_its_tags(object: &Value, fields: &Map<String, Value>) -> bool {
    let properties = object["properties"].as_object();
    properties.into_iter().flatten().all(|(name, property)| {
        property["const"].is_null() || fields.get(name).is_some_and(|field| *field == property["const"])
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn list_in_place_of_an_object_is_refused_in_a_union() {
        let kind = |name: &str| {
            json!({ "type": "object", "properties": {
                "type": { "type": "string", "const": name },
                (name): { "$ref": "#/$defs/Limits" },
            } })
        };
        let definitions = json!({
            "Limits": { "type": "object", "properties": { "review": { "type": "integer" } } },
            "Kinds": { "oneOf": [kind("one"), kind("two")] },
        });
        let definitions = definitions.as_object().unwrap();
        let schema = json!({ "type": "object", "properties": {
            "tagged": { "anyOf": [{ "$ref": "#/$defs/Kinds" }, { "type": "null" }] },
            "text_or": { "anyOf": [{ "type": "string" }, { "$ref": "#/$defs/Limits" }] },
            "list_or": { "anyOf": [
                { "type": "array", "items": { "$ref": "#/$defs/Limits" } }, { "$ref": "#/$defs/Limits" },
            ] },
            "map": { "type": "object", "additionalProperties": { "$ref": "#/$defs/Limits" } },
        } });
        let path = |value: Value| {
            let error = refuse_lists(&schema, definitions, &value, "").err()?;
            error.details["findings"][0]["path"].as_str().map(str::to_owned)
        };
        assert_eq!(
            path(json!({ "tagged": { "type": "two", "two": {} }, "text_or": "x", "list_or": [{}] })),
            None
        );
        assert_eq!(path(json!({ "tagged": ["one", {}] })).as_deref(), Some("tagged"));
        assert_eq!(path(json!({ "tagged": { "type": "two", "two": [1] } })).as_deref(), Some("tagged.two"));
        assert_eq!(path(json!({ "text_or": [1] })).as_deref(), Some("text_or"));
        assert_eq!(path(json!({ "list_or": [[1]] })).as_deref(), Some("list_or[0]"));
        assert_eq!(path(json!({ "map": { "a": [1] } })).as_deref(), Some("map.a"));
    }

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
