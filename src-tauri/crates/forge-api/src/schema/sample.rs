//! Values that fit a schema, for tests: between them they have every field, every choice and every name of an `enum`.

use serde_json::{Map, Value, json};

use super::outline::name_of;

/// How often a schema may be inside itself.
const MAX_DEPTH: usize = 24;

/// Values that fit a schema that stands by itself.
pub(crate) fn of(schema: &Map<String, Value>) -> Vec<Value> {
    let definitions = schema.get("$defs").and_then(Value::as_object).cloned().unwrap_or_default();
    values(&Value::Object(schema.clone()), &definitions, 0)
}

fn values(schema: &Value, definitions: &Map<String, Value>, depth: usize) -> Vec<Value> {
    if depth > MAX_DEPTH {
        return Vec::new();
    }
    let of = |schema: &Value| values(schema, definitions, depth + 1);
    let choices = ["oneOf", "anyOf"].iter().find_map(|key| schema[*key].as_array());
    let fields = schema["properties"].as_object();
    let mut found: Vec<Value> = match (choices, name_of(schema).and_then(|name| definitions.get(name))) {
        (Some(choices), _) => choices.iter().flat_map(of).collect(),
        (None, Some(named)) => of(named),
        (None, None) => plain(schema, definitions, depth),
    };
    if let Some(fields) = fields {
        // Beside a choice or a reference, these fields are in each of its values.
        let own = objects(fields, definitions, depth);
        found = match found.as_slice() {
            [] => own,
            others => merged(others, &own),
        };
    }
    found
}

/// Each of both lists at least once.
fn merged(these: &[Value], those: &[Value]) -> Vec<Value> {
    let rows = these.len().max(those.len());
    let pick = |list: &[Value], row: usize| list[row % list.len()].as_object().cloned().unwrap_or_default();
    (0..rows)
        .map(|row| Value::Object(pick(these, row).into_iter().chain(pick(those, row)).collect()))
        .collect()
}

fn objects(fields: &Map<String, Value>, definitions: &Map<String, Value>, depth: usize) -> Vec<Value> {
    let columns: Vec<(&String, Vec<Value>)> =
        fields.iter().map(|(name, field)| (name, values(field, definitions, depth + 1))).collect();
    let rows = columns.iter().map(|(_, column)| column.len()).max().unwrap_or(1).max(1);
    let row = |row: usize| {
        let filled = columns.iter().filter(|(_, column)| !column.is_empty());
        filled.map(|(name, column)| ((*name).clone(), column[row % column.len()].clone())).collect()
    };
    (0..rows).map(|index| Value::Object(row(index))).collect()
}

fn plain(schema: &Value, definitions: &Map<String, Value>, depth: usize) -> Vec<Value> {
    if let Some(only) = schema.get("const") {
        return vec![only.clone()];
    }
    if let Some(names) = schema["enum"].as_array() {
        return names.clone();
    }
    let kinds: Vec<&str> = match &schema["type"] {
        Value::Array(kinds) => kinds.iter().filter_map(Value::as_str).collect(),
        Value::String(kind) => vec![kind],
        // Anything.
        _ => return vec![json!({ "any": [1, "thing"] })],
    };
    kinds.into_iter().flat_map(|kind| of_kind(kind, schema, definitions, depth)).collect()
}

fn of_kind(kind: &str, schema: &Value, definitions: &Map<String, Value>, depth: usize) -> Vec<Value> {
    match kind {
        "null" => vec![Value::Null],
        "boolean" => vec![json!(true), json!(false)],
        "integer" => vec![schema.get("minimum").cloned().filter(Value::is_u64).unwrap_or(json!(1))],
        "number" => vec![json!(1.5)],
        "array" => {
            let items = schema.get("items").map(|items| values(items, definitions, depth + 1));
            vec![json!(items.unwrap_or_default()), json!([])]
        }
        "string" if schema["format"] == "date-time" => vec![json!("2026-01-02T03:04:05.006Z")],
        // The one pattern of the contract is that of who did something.
        "string" if schema.get("pattern").is_some() => vec![json!("user:cli")],
        "string" => vec![json!("text")],
        _ if schema.get("properties").is_some() => Vec::new(),
        _ => match schema.get("additionalProperties").filter(|more| more.is_object()) {
            Some(more) => {
                values(more, definitions, depth + 1).into_iter().map(|it| json!({ "key": it })).collect()
            }
            None => vec![json!({})],
        },
    }
}
