//! What the table's types read and write is what their schemas say, and so what the OpenAPI document says.

use schemars::generate::SchemaSettings;
use serde_json::Value;

use super::*;
use crate::{schema, schema::sample};

fn without_nulls(value: &Value) -> Value {
    match value {
        Value::Object(fields) => {
            let given = fields.iter().filter(|(_, field)| !field.is_null());
            Value::Object(given.map(|(name, field)| (name.clone(), without_nulls(field))).collect())
        }
        Value::Array(items) => Value::Array(items.iter().map(without_nulls).collect()),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => value.clone(),
    }
}

/// Whatever a schema allows, its type reads and writes again: no field goes, none has another type.
fn check(what: &str, schema: &serde_json::Map<String, Value>, again: Again) {
    let samples = sample::of(schema);
    assert!(!samples.is_empty(), "{what}: nothing fits its schema");
    for sample in samples {
        let read = again(&sample).unwrap_or_else(|error| panic!("{what}: {error}\n{sample:#}"));
        assert_eq!(without_nulls(&read), without_nulls(&sample), "{what}");
    }
}

#[test]
fn inputs_are_written_as_they_are_read() {
    for (operation, call) in operations().iter().zip(CALLS) {
        let schema = schema::whole(SchemaSettings::for_deserialize, |it| (operation.schemas)(it).0);
        check(&format!("input of {}", operation.name), &schema, call.input);
    }
}

#[test]
fn answers_are_read_as_they_are_written() {
    for (operation, call) in operations().iter().zip(CALLS) {
        let schema = schema::whole(SchemaSettings::for_serialize, |it| (operation.schemas)(it).1);
        check(&format!("answer of {}", operation.name), &schema, call.output);
    }
}

#[test]
fn types_are_called_as_their_operations() {
    for call in CALLS {
        let words = call.name.split('_').map(|word| {
            let (first, rest) = word.split_at(1);
            first.to_uppercase() + rest
        });
        assert_eq!(call.type_name, words.collect::<String>());
    }
    let mut names: Vec<&str> = CALLS.iter().map(|call| call.name).collect();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), operations().len(), "two operations have one name");
}
