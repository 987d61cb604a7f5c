//! JSON schemas that stand by themselves, for those who take one type at a time.

use schemars::{JsonSchema, Schema, SchemaGenerator, generate::SchemaSettings};
use serde_json::{Map, Value};

/// The schema of what is read as this type.
#[must_use]
pub fn input_schema<T: JsonSchema>() -> Map<String, Value> {
    whole(SchemaSettings::for_deserialize, SchemaGenerator::subschema_for::<T>)
}

/// The schema of what this type is written as.
#[must_use]
pub fn output_schema<T: JsonSchema>() -> Map<String, Value> {
    whole(SchemaSettings::for_serialize, SchemaGenerator::subschema_for::<T>)
}

/// A schema with all that it refers to in it. Its top is the type itself, not a reference.
pub(crate) fn whole(
    contract: fn(SchemaSettings) -> SchemaSettings,
    of: impl FnOnce(&mut SchemaGenerator) -> Schema,
) -> Map<String, Value> {
    let mut generator = contract(SchemaSettings::draft2020_12()).into_generator();
    let top = of(&mut generator);
    let definitions: Map<String, Value> = generator.take_definitions(true).into_iter().collect();
    let name = top.as_value()["$ref"].as_str().and_then(|reference| reference.rsplit('/').next());
    let named = name.and_then(|name| definitions.get(name)).unwrap_or(top.as_value());
    let mut whole = named.as_object().cloned().unwrap_or_default();
    if !definitions.is_empty() {
        whole.insert("$defs".to_owned(), Value::Object(definitions));
    }
    whole
}
