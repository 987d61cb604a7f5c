//! A client of an engine that serves in another process. Tests ask through it by the rows of the contract's table, so
//! that a wrong name, field or type of a test does not compile.

use std::fmt::Debug;

use anyhow::{Context as _, Result, anyhow, bail};
use forge_api::{ApiError, Client, operations};
use reqwest::Url;
use serde_json::Value;

/// A client over HTTP.
pub struct HttpClient {
    http: reqwest::Client,
    url: String,
    token: Option<String>,
}

impl HttpClient {
    /// A client of the engine at `url`.
    #[must_use]
    pub const fn new(http: reqwest::Client, url: String, token: Option<String>) -> Self {
        Self { http, url, token }
    }
}

impl Client for HttpClient {
    /// An [`ApiError`] when the engine refuses.
    type Error = anyhow::Error;

    async fn send(&self, operation: &str, input: Value) -> Result<Value> {
        let row = operations().iter().find(|row| row.name == operation);
        let row = row.with_context(|| format!("no operation {operation}"))?;
        let Value::Object(input) = input else { bail!("{operation}: no object: {input}") };
        let asked = row.request(input)?;
        let mut url = Url::parse(&self.url)?;
        url.path_segments_mut().map_err(|()| anyhow!("no path: {}", self.url))?.clear().extend(asked.path);
        if !asked.query.is_empty() {
            url.query_pairs_mut().extend_pairs(asked.query);
        }
        let mut request = self.http.request(asked.method.as_str().parse()?, url);
        if let Some(body) = asked.body {
            request = request.json(&body);
        }
        if let Some(token) = &self.token {
            request = request.bearer_auth(token);
        }
        let answer = request.send().await?;
        let status = answer.status();
        let body: Value = answer.json().await?;
        if status.is_success() {
            return Ok(body);
        }
        let refused: ApiError = serde_json::from_value(body)?;
        Err(ApiError { status: status.as_u16(), ..refused }.into())
    }
}

/// Returns the refusal of a call that must be refused.
///
/// # Errors
/// When it was not refused, or never reached the engine.
pub fn refusal<T: Debug>(called: Result<T>) -> Result<ApiError> {
    match called {
        Ok(answer) => bail!("it was not refused: {answer:?}"),
        Err(error) => Ok(error.downcast()?),
    }
}
