//! The OpenAPI document, generated from the table.

use schemars::generate::SchemaSettings;
use serde_json::{Map, Value, json};

use crate::{
    ApiError, Method, Operation,
    files::{FILE_ROUTES, FileRoute, PAGING},
    operations,
};

/// The document, OpenAPI 3.1.
#[must_use]
pub fn document() -> Value {
    let mut settings = SchemaSettings::draft2020_12();
    settings.definitions_path = "/components/schemas".into();
    let mut generator = settings.into_generator();
    let error = generator.subschema_for::<ApiError>();
    let mut paths: Map<String, Value> = Map::new();
    for operation in operations() {
        let (input, output) = (operation.schemas)(&mut generator);
        let fields = fields_of(&generator, input.as_value());
        let entry = describe(operation, &fields, output.as_value(), error.as_value());
        let path = paths.entry(operation.path.to_owned()).or_insert_with(|| json!({}));
        path[method_name(operation.method)] = entry;
        for file in FILE_ROUTES.iter().filter(|file| file.operation == operation.name) {
            paths.insert(
                file.path.to_owned(),
                json!({ "get": describe_file(file, &fields, error.as_value()) }),
            );
        }
    }
    let schemas: Map<String, Value> = generator.take_definitions(true).into_iter().collect();
    json!({
        "openapi": "3.1.0",
        "info": { "title": "Forge", "version": env!("CARGO_PKG_VERSION") },
        "servers": [{ "url": "/api/v1" }],
        "security": [{ "token": [] }],
        "paths": paths,
        "components": {
            "securitySchemes": { "token": { "type": "http", "scheme": "bearer" } },
            "schemas": schemas,
        },
    })
}

struct Field {
    name: String,
    schema: Value,
    required: bool,
}

fn fields_of(generator: &schemars::SchemaGenerator, input: &Value) -> Vec<Field> {
    let name = input["$ref"].as_str().and_then(|reference| reference.rsplit('/').next());
    let whole = name.and_then(|name| generator.definitions().get(name)).unwrap_or(input);
    let required: Vec<&str> =
        whole["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    whole["properties"]
        .as_object()
        .into_iter()
        .flatten()
        .map(|(name, schema)| Field {
            name: name.clone(),
            schema: schema.clone(),
            required: required.contains(&name.as_str()),
        })
        .collect()
}

fn describe(operation: &Operation, fields: &[Field], output: &Value, error: &Value) -> Value {
    let in_path: Vec<&str> = operation.path_fields().collect();
    let in_query = matches!(operation.method, Method::Get | Method::Delete);
    let mut parameters = Vec::new();
    let (mut body, mut body_required) = (Map::new(), Vec::new());
    for field in fields {
        let is_path = in_path.contains(&field.name.as_str());
        // Whether an answer waits is asked in the address, like everything about the answer's form.
        if is_path || in_query || field.name == "wait" || field.name == "queue" {
            parameters.push(json!({
                "name": field.name,
                "in": if is_path { "path" } else { "query" },
                "required": is_path || field.required,
                "schema": field.schema,
            }));
        } else {
            body.insert(field.name.clone(), field.schema.clone());
            if field.required {
                body_required.push(field.name.clone());
            }
        }
    }
    let mut entry = json!({
        "operationId": operation.name,
        "summary": operation.summary,
        "parameters": parameters,
        "responses": {
            operation.status.to_string(): { "description": "Done.", "content": { "application/json": { "schema": output } } },
            "default": refusal(error),
        },
    });
    if !in_query {
        let schema = json!({ "type": "object", "properties": body, "required": body_required, "additionalProperties": operation.name == "project_settings_update" });
        entry["requestBody"] = json!({ "required": !body_required.is_empty(), "content": { "application/json": { "schema": schema } } });
    }
    entry
}

/// A file is asked for as its operation is, but whole.
fn describe_file(file: &FileRoute, fields: &[Field], error: &Value) -> Value {
    let parameters: Vec<Value> = fields
        .iter()
        .filter(|field| !PAGING.contains(&field.name.as_str()))
        .map(|field| json!({ "name": field.name, "in": "query", "required": field.required, "schema": field.schema }))
        .collect();
    let name = json!({ "schema": { "type": "string" }, "description": "Suggests a name to save it as." });
    json!({
        "operationId": format!("{}_file", file.operation),
        "summary": file.summary,
        "parameters": parameters,
        "responses": {
            "200": {
                "description": "The file.",
                "headers": { "content-disposition": name },
                "content": { file.media_type: { "schema": { "type": "string" } } },
            },
            "default": refusal(error),
        },
    })
}

fn refusal(error: &Value) -> Value {
    json!({ "description": "Refused or failed.", "content": { "application/json": { "schema": error } } })
}

const fn method_name(method: Method) -> &'static str {
    match method {
        Method::Get => "get",
        Method::Post => "post",
        Method::Patch => "patch",
        Method::Put => "put",
        Method::Delete => "delete",
    }
}
