//! An engine in another process, over HTTP. Requests are made from the same table as its routes.

use std::{path::Path, time::Duration};

use forge_api::{ApiError, MAX_LIMIT, Method, Operation, TokenError, operations};
use forge_engine::EngineAddress;
use forge_model::actor::Via;
use reqwest::{Client, RequestBuilder, Response, Url};
use serde_json::{Map, Value};

use crate::error::CliError;

const CONNECT_WITHIN: Duration = Duration::from_secs(5);

/// The engine of another process.
pub(crate) struct Remote {
    client: Client,
    pid: u32,
    url: String,
    token: Option<String>,
}

impl Remote {
    /// The engine that announced itself at `url`.
    pub(crate) fn new(holder: &EngineAddress, url: String, data_dir: &Path) -> Result<Self, CliError> {
        let token = match forge_api::read_token(data_dir) {
            Ok(token) => Some(token),
            // An engine that asks for none has made none; one that does will refuse and say so.
            Err(TokenError::Io { source, .. }) if source.kind() == std::io::ErrorKind::NotFound => None,
            Err(error) => return Err(CliError::Token(error)),
        };
        let client = Client::builder().no_proxy().connect_timeout(CONNECT_WITHIN).build();
        let unreachable = |source| CliError::Unreachable { pid: holder.pid, url: url.clone(), source };
        Ok(Self { client: client.map_err(unreachable)?, pid: holder.pid, url, token })
    }

    /// Does one operation.
    pub(crate) async fn call(&self, via: Via, name: &str, input: Value) -> Result<Value, CliError> {
        let operation = operations()
            .iter()
            .find(|operation| operation.name == name)
            .ok_or_else(|| self.strange(format!("no operation `{name}`")))?;
        let input = match input {
            Value::Object(input) => input,
            _ => Map::new(),
        };
        if operation.paged && !input.contains_key("limit") {
            self.whole(via, operation, input).await
        } else {
            self.ask(via, operation, input).await
        }
    }

    /// All pages of a list as one.
    async fn whole(
        &self,
        via: Via,
        operation: &Operation,
        mut input: Map<String, Value>,
    ) -> Result<Value, CliError> {
        input.insert("limit".to_owned(), MAX_LIMIT.into());
        let mut all = Vec::new();
        loop {
            let mut page = self.ask(via, operation, input.clone()).await?;
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
    ) -> Result<Value, CliError> {
        let asked = operation.request(input).map_err(CliError::Refused)?;
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
        let response = self.send(via, request).await?;
        response.json().await.map_err(|source| self.unreachable(source))
    }

    /// The stream of events, from now on.
    pub(crate) async fn events(&self) -> Result<Response, CliError> {
        let url = self.at(&["api", "v1", "events"])?;
        self.send(Via::Cli, self.client.get(url)).await
    }

    pub(crate) fn unreachable(&self, source: reqwest::Error) -> CliError {
        CliError::Unreachable { pid: self.pid, url: self.url.clone(), source }
    }

    fn strange(&self, detail: String) -> CliError {
        CliError::Strange { url: self.url.clone(), detail }
    }

    fn at(&self, path: &[impl AsRef<str>]) -> Result<Url, CliError> {
        let mut url = Url::parse(&self.url).map_err(|error| self.strange(error.to_string()))?;
        url.path_segments_mut()
            .map_err(|()| self.strange("its address has no path".to_owned()))?
            .clear()
            .extend(path);
        Ok(url)
    }

    async fn send(&self, via: Via, mut request: RequestBuilder) -> Result<Response, CliError> {
        if let Some(token) = &self.token {
            request = request.bearer_auth(token);
        }
        let response = request.header("X-Forge-Client", via.as_str()).send().await;
        let response = response.map_err(|source| self.unreachable(source))?;
        if response.status().is_success() {
            return Ok(response);
        }
        let status = response.status().as_u16();
        let body: Value = response.json().await.map_err(|source| self.unreachable(source))?;
        match (body["code"].as_str(), body["message"].as_str()) {
            (Some(code), Some(message)) => Err(CliError::Refused(ApiError {
                code: code.to_owned(),
                message: message.to_owned(),
                hints: hints(&body["hints"]),
                details: body["details"].clone(),
                status,
            })),
            _ => Err(self.strange(format!("status {status} with {body}"))),
        }
    }
}

fn hints(said: &Value) -> Vec<String> {
    said.as_array().into_iter().flatten().filter_map(|hint| hint.as_str().map(str::to_owned)).collect()
}
