//! Answers of requests over HTTP.

use anyhow::{Context as _, Result, ensure};
use reqwest::{RequestBuilder, Response};
use serde_json::Value;

/// The JSON answer of a successful request.
pub async fn good(response: Response) -> Result<Value> {
    let status = response.status();
    let body: Value = response.json().await?;
    ensure!(status.is_success(), "{status}: {body:#}");
    Ok(body)
}

/// Status and body of a refused request, whose id is the same in body and header.
pub async fn refused(request: RequestBuilder) -> Result<(u16, Value)> {
    let response = request.send().await?;
    let status = response.status().as_u16();
    let id = response.headers().get("x-request-id").context("no request id")?.to_str()?.to_owned();
    let kind = response.headers().get("content-type").context("no content type")?.to_str()?.to_owned();
    ensure!(kind.starts_with("application/json"), "{kind}");
    let body: Value = response.json().await?;
    ensure!(body["request_id"] == id.as_str(), "{id}: {body}");
    ensure!(body["message"].is_string() && body["hints"].is_array(), "{body}");
    Ok((status, body))
}
