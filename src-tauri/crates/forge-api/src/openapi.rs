//! The OpenAPI document, generated from the table.

mod answers;
mod elsewhere;

use schemars::generate::SchemaSettings;
use serde_json::{Map, Value, json};

use crate::{
    ApiError, Method, Operation,
    files::{FILE_ROUTES, FileRoute, PAGING},
    limits::{DEFAULT_LIMIT, MAX_LIMIT},
    operations,
};

/// What is asked in the address although the rest is in the body: it is about the answer and when it comes, not
/// about the task.
const IN_ADDRESS: [&str; 3] = ["wait", "if_locked", "queue"];

/// The document, OpenAPI 3.1.
#[must_use]
pub fn document() -> Value {
    let mut settings = SchemaSettings::draft2020_12();
    settings.definitions_path = "/components/schemas".into();
    let mut generator = settings.into_generator();
    generator.subschema_for::<ApiError>();
    let mut paths: Map<String, Value> = Map::new();
    for operation in operations() {
        let (input, output) = (operation.schemas)(&mut generator);
        let whole = resolved(&generator, input.as_value());
        let fields = fields_of(&generator, whole);
        let entry = describe(operation, &fields, takes_more(whole), output.as_value());
        let path = paths.entry(operation.path.to_owned()).or_insert_with(|| json!({}));
        path[operation.method.as_str().to_ascii_lowercase()] = entry;
        for file in FILE_ROUTES.iter().filter(|file| file.operation == operation.name) {
            paths.insert(file.path.to_owned(), json!({ "get": describe_file(file, &fields) }));
        }
    }
    paths.extend(elsewhere::paths());
    let mut schemas: Map<String, Value> = generator.take_definitions(true).into_iter().collect();
    answers::with_request_id(&mut schemas);
    json!({
        "openapi": "3.1.0",
        "info": { "title": "Forge", "version": env!("CARGO_PKG_VERSION") },
        "servers": [{ "url": "/api/v1" }],
        "security": [{ "token": [] }],
        "paths": paths,
        "components": {
            "securitySchemes": { "token": { "type": "http", "scheme": "bearer" } },
            "headers": answers::headers(),
            "responses": answers::refusals(),
            "schemas": schemas,
        },
    })
}

struct Field {
    name: String,
    schema: Value,
    /// What may stand for it in an address.
    in_address: Value,
    required: bool,
}

fn resolved<'a>(generator: &'a schemars::SchemaGenerator, input: &'a Value) -> &'a Value {
    let name = input["$ref"].as_str().and_then(|reference| reference.rsplit('/').next());
    name.and_then(|name| generator.definitions().get(name)).unwrap_or(input)
}

/// Whether fields that it does not name may stand beside those that it does.
fn takes_more(input: &Value) -> bool {
    input["additionalProperties"] != false
}

fn fields_of(generator: &schemars::SchemaGenerator, whole: &Value) -> Vec<Field> {
    let required: Vec<&str> =
        whole["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    whole["properties"]
        .as_object()
        .into_iter()
        .flatten()
        .map(|(name, schema)| Field {
            name: name.clone(),
            schema: schema.clone(),
            in_address: in_address(generator, schema),
            required: required.contains(&name.as_str()),
        })
        .collect()
}

fn describe(operation: &Operation, fields: &[Field], takes_more: bool, output: &Value) -> Value {
    let in_path: Vec<&str> = operation.path_fields().collect();
    let in_query = matches!(operation.method, Method::Get | Method::Delete);
    let mut parameters = Vec::new();
    let (mut body, mut body_required) = (Map::new(), Vec::new());
    for field in fields {
        if in_path.contains(&field.name.as_str()) {
            parameters.push(parameter(field, "path"));
        } else if in_query || IN_ADDRESS.contains(&field.name.as_str()) {
            parameters.push(parameter(field, "query"));
        } else {
            body.insert(field.name.clone(), field.schema.clone());
            if field.required {
                body_required.push(field.name.clone());
            }
        }
    }
    if operation.paged {
        parameters.extend(page_of_a_list());
    }
    let takes = if fields.is_empty() { answers::Takes::Nothing } else { answers::Takes::Fields };
    let mut responses = answers::refused(operation.method, takes);
    responses.insert(operation.status.to_string(), answers::good("application/json", output));
    let mut entry = json!({
        "operationId": operation.name,
        "summary": operation.summary,
        "parameters": parameters,
        "responses": responses,
    });
    if !in_query {
        let schema = json!({ "type": "object", "properties": body, "required": body_required, "additionalProperties": takes_more });
        entry["requestBody"] = json!({ "required": !body_required.is_empty(), "content": { "application/json": { "schema": schema } } });
    }
    entry
}

/// A field that is asked for in the address.
fn parameter(field: &Field, place: &str) -> Value {
    let mut schema = field.in_address.clone();
    if field.name == "limit" && schema["maximum"].is_null() {
        // Rows of a diff have a range of their own.
        schema["minimum"] = 1.into();
        schema["maximum"] = MAX_LIMIT.into();
        schema["default"] = DEFAULT_LIMIT.into();
    }
    let is_list = schema["type"] == "array";
    let mut parameter = json!({
        "name": field.name,
        "in": place,
        "required": place == "path" || field.required,
        "schema": schema,
    });
    if is_list && place == "query" {
        // Parted by commas.
        parameter["style"] = "form".into();
        parameter["explode"] = false.into();
    }
    parameter
}

fn page_of_a_list() -> [Value; 2] {
    let field = |name: &str, schema: Value| Field {
        name: name.to_owned(),
        in_address: schema.clone(),
        schema,
        required: false,
    };
    let limit = json!({ "type": "integer", "description": "How many." });
    let cursor = json!({ "type": "string", "description": "Cursor from the previous page's `next_cursor`." });
    [parameter(&field("limit", limit), "query"), parameter(&field("cursor", cursor), "query")]
}

/// The schema of a field in an address, where there is no `null`, in full: not every reader of the document follows
/// references there.
fn in_address(generator: &schemars::SchemaGenerator, schema: &Value) -> Value {
    let mut schema = schema.clone();
    let Some(fields) = schema.as_object_mut() else { return schema };
    if fields.get("default").is_some_and(Value::is_null) {
        fields.shift_remove("default");
    }
    if let Some(Value::Array(kinds)) = fields.get_mut("type") {
        kinds.retain(|kind| kind != "null");
        if let [only] = kinds.as_slice() {
            let only = only.clone();
            fields.insert("type".to_owned(), only);
        }
    }
    let mut named = fields.shift_remove("$ref");
    if let Some(Value::Array(options)) = fields.get_mut("anyOf") {
        options.retain(|option| option["type"] != "null");
        if let [only] = options.as_slice() {
            named = Some(only["$ref"].clone());
            fields.shift_remove("anyOf");
        }
    }
    if let Some(Value::Object(whole)) =
        named.map(|name| resolved(generator, &json!({ "$ref": name })).clone())
    {
        for (key, value) in whole {
            // What the field says of itself goes before what its type says.
            fields.entry(key).or_insert(value);
        }
    }
    schema
}

/// A file is asked for as its operation is, but whole.
fn describe_file(file: &FileRoute, fields: &[Field]) -> Value {
    let asked = fields.iter().filter(|field| !PAGING.contains(&field.name.as_str()));
    let parameters: Vec<Value> = asked.map(|field| parameter(field, "query")).collect();
    let mut good = answers::good(file.media_type, &json!({ "type": "string" }));
    let name = json!({ "schema": { "type": "string" }, "description": "Suggested file name." });
    good["headers"]["content-disposition"] = name;
    let mut responses = answers::refused(Method::Get, answers::Takes::Fields);
    responses.insert("200".to_owned(), good);
    json!({
        "operationId": format!("{}_file", file.operation),
        "summary": file.summary,
        "parameters": parameters,
        "responses": responses,
    })
}
