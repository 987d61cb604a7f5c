//! Routes that are no operations: they speak of the engine itself, or never end.

use serde_json::{Map, Value, json};

use super::answers::{self, Takes};
use crate::Method;

/// The events.
const EVENTS: &str = "/events";
/// This document.
const DOCUMENT: &str = "/openapi.json";
/// Beside the base of all routes, and without a token.
const HEALTH: &str = "/healthz";

/// Their entries in the document.
pub(super) fn paths() -> Map<String, Value> {
    let json = "application/json";
    let object = json!({ "type": "object" });
    let healthy = json!({
        "type": "object",
        "properties": {
            "status": { "enum": ["ok", "degraded"] },
            "storage": {
                "type": "object",
                "properties": {
                    "writable": { "type": "boolean", "description": "Whether a probe could be written." },
                    "free_bytes": { "type": ["integer", "null"], "minimum": 0 },
                },
                "required": ["writable", "free_bytes"],
            },
        },
        "required": ["status", "storage"],
    });
    let last_seen = json!({
        "name": "Last-Event-ID",
        "in": "header",
        "required": false,
        "description": "The number of the last event that was seen: what follows it is sent. 0 sends all that is \
            kept; without it only what is new is sent. A number that is no longer kept is answered with the event \
            `events.resync`: read everything again.",
        "schema": { "type": "integer", "minimum": 0 },
    });
    let plain = |id, summary, schema| described(id, summary, Takes::Nothing, (json, schema), &[]);
    let mut health = plain(
        "health",
        "Whether the engine works; 503 with the same body while the database refuses writes.",
        &healthy,
    );
    health["responses"]["503"] = answers::good(json, &healthy);
    health["responses"]["503"]["description"] = "The database refuses writes.".into();
    health["security"] = json!([]);
    health["servers"] = json!([{ "url": "/" }]);
    let summary = "Events of the engine, as server-sent events: `id` is the number, `data` one line of JSON.";
    let line = json!({ "type": "string" });
    let events = described("events", summary, Takes::Nothing, ("text/event-stream", &line), &[last_seen]);
    let document = plain("openapi", "This document.", &object);
    [(EVENTS, events), (DOCUMENT, document), (HEALTH, health)]
        .into_iter()
        .map(|(path, entry)| (path.to_owned(), json!({ "get": entry })))
        .collect()
}

fn described(
    id: &str,
    summary: &str,
    takes: Takes,
    (media_type, schema): (&str, &Value),
    parameters: &[Value],
) -> Value {
    let mut responses = answers::refused(Method::Get, takes);
    responses.insert("200".to_owned(), answers::good(media_type, schema));
    json!({ "operationId": id, "summary": summary, "parameters": parameters, "responses": responses })
}
