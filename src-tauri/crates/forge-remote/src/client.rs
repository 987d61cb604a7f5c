//! An engine by HTTP. Requests are made from the same table as its routes.

use std::{path::Path, time::Duration};

use forge_api::{ApiError, MAX_LIMIT, Method, Operation, operations};
use forge_model::actor::Via;
use reqwest::{Client, RequestBuilder, Response, Url};
use serde_json::{Map, Value};

use crate::events::EventStream;

const CONNECT_WITHIN: Duration = Duration::from_secs(5);

/// Why an engine did not answer.
#[derive(Debug, thiserror::Error)]
pub enum CallError {
    /// It refuses.
    #[error("{}", .0.message)]
    Refused(ApiError),
    /// It cannot be reached, or was gone before it answered.
    #[error(transparent)]
    Unreachable(#[from] reqwest::Error),
    /// What it answers does not follow the contract.
    #[error("{0}")]
    Strange(String),
}

/// An engine at an address.
#[derive(Debug, Clone)]
pub struct EngineClient {
    client: Client,
    url: String,
    token: Option<String>,
}

impl EngineClient {
    /// The engine that serves at `url`; by a socket where one is given, which stands for the host and port of `url`.
    ///
    /// # Errors
    /// When no client can be made.
    pub fn new(url: String, token: Option<String>, socket: Option<&Path>) -> Result<Self, reqwest::Error> {
        let client = Client::builder().no_proxy().connect_timeout(CONNECT_WITHIN);
        let client = match socket {
            Some(path) => client.unix_socket(path),
            None => client,
        };
        Ok(Self { client: client.build()?, url, token })
    }

    /// Where it serves.
    #[must_use]
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Does one operation; of a list all pages, unless the input has a limit. A change that is sent again with the same key
    /// is performed once.
    ///
    /// # Errors
    /// When the engine refuses or does not answer.
    pub async fn call(
        &self,
        via: Via,
        name: &str,
        input: Value,
        key: Option<&str>,
    ) -> Result<Value, CallError> {
        let operation =
            operation(name).ok_or_else(|| CallError::Strange(format!("no operation `{name}`")))?;
        let input = match input {
            Value::Object(input) => input,
            _ => Map::new(),
        };
        if operation.paged && !input.contains_key("limit") {
            self.whole(via, operation, input).await
        } else {
            self.ask(via, operation, input, key).await
        }
    }

    /// All pages of a list as one.
    async fn whole(
        &self,
        via: Via,
        operation: &Operation,
        mut input: Map<String, Value>,
    ) -> Result<Value, CallError> {
        input.insert("limit".to_owned(), MAX_LIMIT.into());
        let mut all = Vec::new();
        loop {
            let mut page = self.ask(via, operation, input.clone(), None).await?;
            if let Value::Array(items) = page["items"].take() {
                all.extend(items);
            }
            if page["next_cursor"].is_null() {
                page["items"] = Value::Array(all);
                return Ok(page);
            }
            input.insert("cursor".to_owned(), page["next_cursor"].take());
        }
    }

    async fn ask(
        &self,
        via: Via,
        operation: &Operation,
        input: Map<String, Value>,
        key: Option<&str>,
    ) -> Result<Value, CallError> {
        let asked = operation.request(input).map_err(CallError::Refused)?;
        let method = match asked.method {
            Method::Get => reqwest::Method::GET,
            Method::Post => reqwest::Method::POST,
            Method::Patch => reqwest::Method::PATCH,
            Method::Put => reqwest::Method::PUT,
            Method::Delete => reqwest::Method::DELETE,
        };
        let mut url = self.at(&asked.path)?;
        if !asked.query.is_empty() {
            url.query_pairs_mut().extend_pairs(asked.query);
        }
        let mut request = self.client.request(method, url);
        if let Some(body) = asked.body {
            request = request.json(&body);
        }
        if let Some(key) = key {
            request = request.header("Idempotency-Key", key);
        }
        Ok(self.send(via, request).await?.json().await?)
    }

    /// The stream of events: what follows `after`, or what happens from now on.
    ///
    /// # Errors
    /// When the engine refuses or does not answer.
    pub async fn events(&self, after: Option<i64>) -> Result<EventStream, CallError> {
        let mut request = self.client.get(self.at(&["api", "v1", "events"])?);
        if let Some(after) = after {
            request = request.header("Last-Event-ID", after);
        }
        Ok(EventStream::new(self.send(Via::Cli, request).await?))
    }

    fn at(&self, path: &[impl AsRef<str>]) -> Result<Url, CallError> {
        let mut url = Url::parse(&self.url).map_err(|error| CallError::Strange(error.to_string()))?;
        url.path_segments_mut()
            .map_err(|()| CallError::Strange("its address has no path".to_owned()))?
            .clear()
            .extend(path);
        Ok(url)
    }

    async fn send(&self, via: Via, mut request: RequestBuilder) -> Result<Response, CallError> {
        if let Some(token) = &self.token {
            request = request.bearer_auth(token);
        }
        let response = request.header("X-Forge-Client", via.as_str()).send().await?;
        if response.status().is_success() {
            return Ok(response);
        }
        let status = response.status().as_u16();
        let body: Value = response.json().await?;
        match (body["code"].as_str(), body["message"].as_str()) {
            (Some(code), Some(message)) => Err(CallError::Refused(ApiError {
                code: code.to_owned(),
                message: message.to_owned(),
                hints: hints(&body["hints"]),
                details: body["details"].clone(),
                status,
            })),
            _ => Err(CallError::Strange(format!("status {status} with {body}"))),
        }
    }
}

/// A row of the contract.
pub(crate) fn operation(name: &str) -> Option<&'static Operation> {
    operations().iter().find(|operation| operation.name == name)
}

fn hints(said: &Value) -> Vec<String> {
    said.as_array().into_iter().flatten().filter_map(|hint| hint.as_str().map(str::to_owned)).collect()
}
