//! The outline of a schema: what the fields of an object are called and of which types they are.
//!
//! Whoever lists tools puts all their schemas before a model, so what a task is must not be told in full for
//! each tool that answers one. An outline never says more than the schema it is made from: whatever the schema
//! takes, its outline takes. The whole is in the OpenAPI document.

use serde_json::{Map, Value, json};

/// The types that JSON has, as schemas call them.
const TYPES: [&str; 7] = ["object", "array", "string", "integer", "number", "boolean", "null"];

/// The outline of a schema that stands by itself: its own fields, and beneath them types alone.
pub(crate) fn of(whole: &Map<String, Value>) -> Map<String, Value> {
    let none = Map::new();
    let definitions = whole.get("$defs").and_then(Value::as_object).unwrap_or(&none);
    let mut outline = Map::new();
    outline.insert("type".to_owned(), whole.get("type").cloned().unwrap_or_else(|| "object".into()));
    if let Some(fields) = whole.get("properties").and_then(Value::as_object) {
        let fields = fields.iter().map(|(name, field)| (name.clone(), of_field(field, definitions)));
        outline.insert("properties".to_owned(), Value::Object(fields.collect()));
    }
    if let Some(required) = whole.get("required") {
        outline.insert("required".to_owned(), required.clone());
    }
    outline
}

/// The definition that a reference names.
pub(super) fn name_of(schema: &Value) -> Option<&str> {
    schema["$ref"].as_str()?.rsplit('/').next()
}

/// A field by its types; of a list, also those of its items.
fn of_field(field: &Value, definitions: &Map<String, Value>) -> Value {
    let types = types_of(field, definitions);
    let mut outline = match types.as_slice() {
        [] => return json!({}),
        [one] => json!({ "type": one }),
        several => json!({ "type": several }),
    };
    if let Some(items) = items_of(field, definitions) {
        outline["items"] = of_field(items, definitions);
    }
    outline
}

/// The types of a schema; none when it takes anything.
fn types_of(schema: &Value, definitions: &Map<String, Value>) -> Vec<&'static str> {
    let schema = followed(schema, definitions);
    let known = |name: &Value| TYPES.into_iter().find(|known| name == known);
    match &schema["type"] {
        Value::Array(names) => return names.iter().filter_map(known).collect(),
        Value::Null => {}
        name => return known(name).into_iter().collect(),
    }
    let values = schema["enum"].as_array().into_iter().flatten().chain(schema.get("const"));
    let mut types: Vec<&str> = values.map(type_of).collect();
    for option in options_of(schema) {
        let of_option = types_of(option, definitions);
        if of_option.is_empty() {
            return Vec::new();
        }
        types.extend(of_option);
    }
    TYPES.into_iter().filter(|known| types.contains(known)).collect()
}

/// What the items of a list are; none when it is no list, may be one of several, or says nothing about them.
fn items_of<'a>(schema: &'a Value, definitions: &'a Map<String, Value>) -> Option<&'a Value> {
    let schema = followed(schema, definitions);
    if let Some(items) = schema.get("items") {
        return Some(items);
    }
    let mut lists = options_of(schema).filter(|option| types_of(option, definitions).contains(&"array"));
    let only = lists.next().filter(|_| lists.next().is_none());
    only.and_then(|only| items_of(only, definitions))
}

fn options_of(schema: &Value) -> impl Iterator<Item = &Value> {
    ["anyOf", "oneOf"].into_iter().filter_map(|key| schema[key].as_array()).flatten()
}

/// What a reference leads to.
fn followed<'a>(mut schema: &'a Value, definitions: &'a Map<String, Value>) -> &'a Value {
    while let Some(named) = name_of(schema).and_then(|name| definitions.get(name)) {
        schema = named;
    }
    schema
}

const fn type_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(fields: &Value, expected: &Value) {
        let whole = json!({
            "type": "object", "description": "Long.", "additionalProperties": false,
            "properties": fields, "required": ["a"],
            "$defs": {
                "Id": { "type": "string", "description": "Who." },
                "State": { "oneOf": [{ "const": "on", "description": "On." }, { "enum": ["off"] }] },
                "Deep": { "type": "object", "properties": { "a": { "$ref": "#/$defs/Deep" } } },
            },
        });
        let outline = of(whole.as_object().unwrap());
        assert_eq!(
            Value::Object(outline),
            json!({ "type": "object", "properties": expected, "required": ["a"] })
        );
    }

    #[test]
    fn fields_are_told_by_their_types() {
        check(&json!({ "a": { "$ref": "#/$defs/Id" } }), &json!({ "a": { "type": "string" } }));
        check(&json!({ "a": { "$ref": "#/$defs/State" } }), &json!({ "a": { "type": "string" } }));
        check(&json!({ "a": { "$ref": "#/$defs/Deep" } }), &json!({ "a": { "type": "object" } }));
        check(
            &json!({ "a": { "type": ["integer", "null"], "minimum": 0, "default": null } }),
            &json!({ "a": { "type": ["integer", "null"] } }),
        );
        check(
            &json!({ "a": { "anyOf": [{ "$ref": "#/$defs/Deep" }, { "type": "null" }] } }),
            &json!({ "a": { "type": ["object", "null"] } }),
        );
    }

    #[test]
    fn of_lists_the_items_are_told_too() {
        let list = json!({ "type": "array", "items": { "$ref": "#/$defs/Deep" } });
        let expected = json!({ "type": "array", "items": { "type": "object" } });
        check(&json!({ "a": list }), &json!({ "a": expected }));
        let or_null = json!({ "type": ["array", "null"], "items": { "type": "object" } });
        check(&json!({ "a": { "anyOf": [list, { "type": "null" }] } }), &json!({ "a": or_null }));
    }

    #[test]
    fn what_may_be_anything_stays_so() {
        check(&json!({ "a": true }), &json!({ "a": {} }));
        check(&json!({ "a": { "description": "Whatever." } }), &json!({ "a": {} }));
        check(&json!({ "a": { "anyOf": [true, { "type": "null" }] } }), &json!({ "a": {} }));
    }
}
