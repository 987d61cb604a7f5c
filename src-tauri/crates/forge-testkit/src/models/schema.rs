//! The least that a JSON schema takes: for requests that want a form and belong to no script.

use serde_json::{Map, Value, json};

/// Deeper is a schema that holds itself.
const DEEPEST: usize = 16;

/// A value of that form.
pub(super) fn instance(schema: &Value) -> Value {
    make(schema, schema, DEEPEST)
}

fn make(schema: &Value, root: &Value, left: usize) -> Value {
    let Some(left) = left.checked_sub(1) else { return Value::Null };
    if let Some(target) = schema["$ref"].as_str().and_then(|path| root.pointer(path.trim_start_matches('#')))
    {
        return make(target, root, left);
    }
    if let Some(constant) = schema.get("const") {
        return constant.clone();
    }
    for choices in ["enum", "anyOf", "oneOf", "allOf"] {
        if let Some(first) = schema[choices].as_array().and_then(|all| all.first()) {
            return if choices == "enum" { first.clone() } else { make(first, root, left) };
        }
    }
    let kind = match &schema["type"] {
        Value::Array(kinds) => kinds.first().and_then(Value::as_str),
        kind => kind.as_str(),
    };
    match kind.map(str::to_ascii_lowercase).as_deref() {
        Some("string") => json!("x"),
        Some("integer" | "number") => schema.get("minimum").cloned().unwrap_or_else(|| json!(0)),
        Some("boolean") => json!(false),
        Some("array") => {
            let least = schema["minItems"].as_u64().unwrap_or(0);
            (0..least).map(|_| make(&schema["items"], root, left)).collect()
        }
        Some("null") => Value::Null,
        _ => object(schema, root, left),
    }
}

fn object(schema: &Value, root: &Value, left: usize) -> Value {
    let mut object = Map::new();
    for name in schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str) {
        object.insert(name.to_owned(), make(&schema["properties"][name], root, left));
    }
    Value::Object(object)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_required_is_there() {
        let schema = json!({
            "type": "object",
            "required": ["title", "kind", "n", "list", "inner"],
            "properties": {
                "title": { "type": "string" },
                "kind": { "enum": ["user", "model"] },
                "n": { "type": ["integer", "null"], "minimum": 3 },
                "list": { "type": "array", "minItems": 1, "items": { "type": "boolean" } },
                "inner": { "$ref": "#/$defs/inner" },
                "left_out": { "type": "string" },
            },
            "$defs": { "inner": { "type": "object" } },
        });
        let expected = json!({ "title": "x", "kind": "user", "n": 3, "list": [false], "inner": {} });
        assert_eq!(instance(&schema), expected);
        let endless = json!({ "required": ["a"], "properties": { "a": { "$ref": "#" } } });
        assert!(instance(&endless).is_object(), "it ends");
    }
}
