//! What a request says: its path, its query and its body, merged into one object.

use std::{error::Error, time::Duration};

use axum::{
    body::Body,
    http::{HeaderMap, StatusCode, header, request::Parts},
};
use forge_api::{ApiError, Operation};
use futures::StreamExt as _;
use serde_json::{Map, Value};

use crate::answer::Refusal;

/// How much more is read, and thrown away, so that a client that still writes can read the refusal.
const MAX_DRAINED: usize = 64 * 1024 * 1024;

/// The whole input of an operation.
pub(crate) async fn input(
    operation: &Operation,
    path: &[(String, String)],
    head: &Parts,
    body: Body,
    limit: Duration,
) -> Result<Value, Refusal> {
    let mut input = Map::new();
    for (name, text) in path {
        put(&mut input, name, operation.coerce(name, text))?;
    }
    let query = axum::extract::Query::<Vec<(String, String)>>::try_from_uri(&head.uri)
        .map_err(|error| ApiError::invalid("", &format!("the query string is not valid: {error}")))?;
    for (name, text) in &query.0 {
        match (input.get_mut(name), operation.coerce(name, text)) {
            // A list may also be given an item at a time.
            (Some(Value::Array(items)), Value::Array(more)) => items.extend(more),
            (_, value) => put(&mut input, name, value)?,
        }
    }
    for (name, value) in object(&head.headers, &read(body, operation.max_body, limit).await?)? {
        put(&mut input, &name, value)?;
    }
    Ok(Value::Object(input))
}

fn put(input: &mut Map<String, Value>, name: &str, value: Value) -> Result<(), ApiError> {
    match input.get(name) {
        Some(there) if *there != value => Err(ApiError::invalid(name, "has several different values")),
        Some(_) => Ok(()),
        None => {
            input.insert(name.to_owned(), value);
            Ok(())
        }
    }
}

/// The whole body, when it is no larger than that and arrives in time.
pub(crate) async fn read(body: Body, most: usize, limit: Duration) -> Result<Vec<u8>, Refusal> {
    tokio::time::timeout(limit, read_to_end(body, most)).await.unwrap_or_else(|_| {
        let message = format!("Could not read the request: its body did not arrive within {limit:?}.");
        Err(Refusal::new(StatusCode::REQUEST_TIMEOUT, "request_timeout", message)
            .hint("Send the whole body, with a correct `Content-Length`."))
    })
}

async fn read_to_end(body: Body, most: usize) -> Result<Vec<u8>, Refusal> {
    let mut stream = body.into_data_stream();
    let (mut bytes, mut seen) = (Vec::new(), 0);
    while let Some(chunk) = stream.next().await {
        let chunk = chunk.map_err(|error| {
            let why = error.source().map_or_else(|| error.to_string(), ToString::to_string);
            ApiError::invalid("", &format!("the body is incomplete: {why}"))
        })?;
        seen += chunk.len();
        if seen <= most {
            bytes.extend_from_slice(&chunk);
        } else if seen > MAX_DRAINED {
            break;
        }
    }
    if seen > most {
        let message = format!("the body exceeds {most} bytes");
        return Err(Refusal::new(StatusCode::PAYLOAD_TOO_LARGE, "too_large", message));
    }
    Ok(bytes)
}

fn object(headers: &HeaderMap, bytes: &[u8]) -> Result<Map<String, Value>, Refusal> {
    if bytes.is_empty() {
        return Ok(Map::new());
    }
    let kind = headers.get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    let kind = kind.split(';').next().unwrap_or_default().trim();
    if !kind.eq_ignore_ascii_case("application/json") {
        let message = "the body must be JSON, with `Content-Type: application/json`";
        return Err(Refusal::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, "unsupported_media_type", message));
    }
    match serde_json::from_slice(bytes) {
        Ok(Value::Object(object)) => Ok(object),
        Ok(_) => Err(ApiError::invalid("", "the body must be a JSON object").into()),
        Err(error) => {
            let mut refusal = ApiError::invalid("", &format!("the body is not JSON: {error}"));
            refusal.code = "malformed_json".to_owned();
            Err(refusal.into())
        }
    }
}
