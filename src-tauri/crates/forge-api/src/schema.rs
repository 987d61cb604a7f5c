//! JSON schemas that stand by themselves, for those who take one type at a time.

pub(crate) mod outline;
#[cfg(test)]
pub(crate) mod sample;

use schemars::{JsonSchema, Schema, SchemaGenerator, generate::SchemaSettings};
use serde_json::{Map, Value, json};

use crate::{DEFAULT_LIMIT, MAX_LIMIT};

/// The schema of what is read as this type.
#[must_use]
pub fn input_schema<T: JsonSchema>() -> Map<String, Value> {
    whole(SchemaSettings::for_deserialize, SchemaGenerator::subschema_for::<T>)
}

/// The outline of what this type is written as: see [`outline`].
#[must_use]
pub fn output_schema<T: JsonSchema>() -> Map<String, Value> {
    outline::of(&whole(SchemaSettings::for_serialize, SchemaGenerator::subschema_for::<T>))
}

/// A schema with all that it refers to in it, and nothing else. Its top is the type itself, not a reference.
pub(crate) fn whole(
    contract: fn(SchemaSettings) -> SchemaSettings,
    of: impl FnOnce(&mut SchemaGenerator) -> Schema,
) -> Map<String, Value> {
    let mut generator = contract(SchemaSettings::draft2020_12()).into_generator();
    let top = of(&mut generator);
    let known = generator.take_definitions(true);
    let named = outline::name_of(top.as_value()).and_then(|name| known.get(name)).unwrap_or(top.as_value());
    let mut whole = named.as_object().cloned().unwrap_or_default();
    let mut definitions = Map::new();
    let mut ahead = names_in(named);
    while let Some(name) = ahead.pop() {
        if let Some(definition) = known.get(&name).filter(|_| !definitions.contains_key(&name)) {
            ahead.extend(names_in(definition));
            definitions.insert(name, definition.clone());
        }
    }
    if !definitions.is_empty() {
        whole.insert("$defs".to_owned(), Value::Object(definitions));
    }
    whole
}

/// Adds the fields of every paginated list.
pub(crate) fn add_page_of_a_list(input: &mut Map<String, Value>) {
    let fields = input.entry("properties").or_insert_with(|| json!({}));
    fields["limit"] = json!({
        "type": ["integer", "null"], "minimum": 1, "maximum": MAX_LIMIT,
        "description": format!("How many, 1 to {MAX_LIMIT}; {DEFAULT_LIMIT} when absent."),
    });
    fields["cursor"] = json!({
        "type": ["string", "null"],
        "description": "Cursor from the previous page's `next_cursor`.",
    });
}

/// The definitions that a schema refers to.
fn names_in(schema: &Value) -> Vec<String> {
    let own = outline::name_of(schema).map(str::to_owned);
    let below: Vec<&Value> = match schema {
        Value::Object(object) => object.values().collect(),
        Value::Array(items) => items.iter().collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Vec::new(),
    };
    own.into_iter().chain(below.into_iter().flat_map(names_in)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::operations;

    #[test]
    fn each_has_what_it_refers_to_and_nothing_else() {
        for operation in operations() {
            let (input, output) = operation.json_schemas();
            for schema in [input, output].map(Value::Object) {
                let none = Map::new();
                let defined = schema["$defs"].as_object().unwrap_or(&none);
                let named = names_in(&schema);
                for name in &named {
                    assert!(defined.contains_key(name), "{}: nothing is called {name}", operation.name);
                }
                for name in defined.keys() {
                    assert!(named.contains(name), "{}: nobody names {name}", operation.name);
                }
            }
        }
        let found =
            operations().iter().find(|it| it.name == "task_get").map(|it| Value::Object(it.json_schemas().0));
        assert_eq!(found.unwrap_or_default()["required"], json!(["task_id"]));
    }
}
