//! What routes answer: the one good answer of each, and every refusal that it can give.

use serde_json::{Map, Value, json};

use crate::Method;

/// Whether an operation takes anything that may name what is not there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Takes {
    /// It takes nothing.
    Nothing,
    /// It takes fields.
    Fields,
}

/// A kind of refusal: its status, its name in the document, and what it says.
type Kind = (u16, &'static str, &'static str);

/// Any route: what was sent makes no sense, who asks may not, or the engine cannot.
const OF_ALL: [Kind; 10] = [
    (
        400,
        "Invalid",
        "A field is invalid; `details.findings` lists each one with its path. Nothing was changed.",
    ),
    (401, "Unauthorized", "The request does not carry the token."),
    (403, "Forbidden", "The request names another host, or comes from a page of another origin."),
    (408, "TooSlow", "The body did not arrive in time."),
    (413, "TooLarge", "The body is too large."),
    (415, "UnsupportedMediaType", "The body is not JSON."),
    (429, "TooMany", "Too many connections or event streams are open: close one."),
    (500, "Failed", "The engine failed; its log says more."),
    (
        503,
        "Unavailable",
        "The engine is stopping (`stopping`): pending work resumes at its next start, a validation ends with it. Or the \
         database cannot be used (`storage_unavailable`, `database_damaged`), or too many files are open \
         (`too_many_open_files`): nothing was changed, and the hint has the remedy.",
    ),
    (
        507,
        "StorageFull",
        "The disk of the data folder is full, and nothing was changed; or the disk of the repository is full. The hint has \
         the remedy.",
    ),
];
/// Those that name something.
const OF_FIELDS: [Kind; 2] = [
    (404, "NotFound", "The object does not exist."),
    (
        409,
        "Conflict",
        "The request conflicts with the current state: another version, action not available, or in use.",
    ),
];
/// Those that change something.
const OF_CHANGES: [Kind; 2] = [
    (412, "GuardRejected", "A guard rejected the move: `details` has `action`, `phase` and `reason`."),
    (
        422,
        "IllegalTransition",
        "The workflow does not have this move; `details.allowed` lists the moves that it has.",
    ),
];

/// The refusals of an operation, by status.
pub(super) fn refused(method: Method, takes: Takes) -> Map<String, Value> {
    let mut kinds = OF_ALL.to_vec();
    if takes == Takes::Fields {
        kinds.extend(OF_FIELDS);
        if method != Method::Get {
            kinds.extend(OF_CHANGES);
        }
    }
    kinds.sort_unstable_by_key(|(status, ..)| *status);
    let named = |name: &str| json!({ "$ref": format!("#/components/responses/{name}") });
    kinds.into_iter().map(|(status, name, _)| (status.to_string(), named(name))).collect()
}

/// A good answer.
pub(super) fn good(media_type: &str, schema: &Value) -> Value {
    json!({ "description": "Done.", "headers": request_id(), "content": { media_type: { "schema": schema } } })
}

fn request_id() -> Value {
    json!({ "x-request-id": { "$ref": "#/components/headers/RequestId" } })
}

/// The headers that the document names.
pub(super) fn headers() -> Value {
    json!({ "RequestId": {
        "description": "The id of this request in the engine's log.",
        "required": true,
        "schema": { "type": "string", "format": "uuid" },
    } })
}

/// Every refusal, as operations name them.
pub(super) fn refusals() -> Map<String, Value> {
    let all = OF_ALL.into_iter().chain(OF_FIELDS).chain(OF_CHANGES);
    all.map(|(status, name, says)| {
        let mut headers = request_id();
        if status == 401 {
            headers["www-authenticate"] = json!({ "required": true, "schema": { "type": "string" } });
        }
        let schema = json!({ "$ref": "#/components/schemas/ApiError" });
        let answer = json!({
            "description": says,
            "headers": headers,
            "content": { "application/json": { "schema": schema } },
        });
        (name.to_owned(), answer)
    })
    .collect()
}

/// A refusal over HTTP also carries the request's id.
pub(super) fn with_request_id(schemas: &mut Map<String, Value>) {
    let Some(error) = schemas.get_mut("ApiError") else { return };
    error["properties"]["request_id"] =
        json!({ "type": "string", "description": "The same as the header `x-request-id`." });
    if let Some(required) = error["required"].as_array_mut() {
        required.push("request_id".into());
    }
}
