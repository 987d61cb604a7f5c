//! The cost ledger as one file of comma-separated values, read and sent a page at a time.

use axum::{
    body::{Body, Bytes},
    extract::{Request, State},
    http::{HeaderValue, header},
    response::{IntoResponse as _, Response},
};
use forge_api::{Api, ApiError, COSTS_CSV, Operation, PAGING, operations};
use forge_model::actor::Via;
use futures::{StreamExt as _, TryStreamExt as _, stream};
use serde_json::{Map, Value};

use crate::{answer::Refusal, body, shared::Shared};

/// Lines in a page.
const LINES: u32 = 200;

/// `GET /api/v1/costs.csv`, with the filters of the ledger. A file that could not be read to its end is cut off in a
/// way that a client notices.
pub(crate) async fn ledger(State(shared): State<Shared>, request: Request) -> Result<Response, Refusal> {
    let (head, content) = request.into_parts();
    let operation = operations()
        .iter()
        .find(|operation| operation.name == COSTS_CSV.operation)
        .ok_or_else(|| ApiError::not_found(format!("no operation `{}`", COSTS_CSV.operation)))?;
    let input = body::input(operation, &[], &head, content, shared.limits.body).await?;
    let Value::Object(filter) = input else { return Err(ApiError::invalid("", "must be an object").into()) };
    if let Some(field) = PAGING.into_iter().find(|field| filter.contains_key(*field)) {
        return Err(ApiError::invalid(field, "does not apply: the file has all lines").into());
    }
    // The first page tells whether there is an answer at all.
    let (text, next) = page(operation, &shared.api, filter.clone(), None).await?;
    let rest = stream::try_unfold((next, filter, shared.api), move |(next, filter, api)| async move {
        let Some(cursor) = next else { return Ok::<_, ApiError>(None) };
        let (text, next) = page(operation, &api, filter.clone(), Some(cursor)).await?;
        Ok(Some((text, (next, filter, api))))
    });
    let lines = stream::once(async { Ok(text) }).chain(rest).map_ok(Bytes::from).map_err(|error| {
        tracing::error!(%error, "failed to send all of the cost ledger");
        error
    });
    let mut response = Body::from_stream(lines).into_response();
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(COSTS_CSV.media_type));
    if let Ok(name) = HeaderValue::try_from(format!("attachment; filename=\"{}\"", COSTS_CSV.name)) {
        headers.insert(header::CONTENT_DISPOSITION, name);
    }
    Ok(response)
}

async fn page(
    operation: &Operation,
    api: &Api,
    mut input: Map<String, Value>,
    cursor: Option<String>,
) -> Result<(String, Option<String>), ApiError> {
    input.insert("limit".to_owned(), LINES.into());
    input.insert("cursor".to_owned(), cursor.into());
    let mut answer = operation.run(api.clone(), Via::Api, Value::Object(input)).await?;
    let text = match answer["text"].take() {
        Value::String(text) => text,
        _ => String::new(),
    };
    Ok((text, answer["next_cursor"].as_str().map(str::to_owned)))
}
