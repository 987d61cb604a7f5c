//! The Model Context Protocol for agents on other machines, whose messages come by their keeper.
//!
//! Each message is answered by the same service as one by HTTP, for the caller that its token names.

use std::{
    collections::HashMap,
    sync::{Mutex, MutexGuard, PoisonError},
};

use async_trait::async_trait;
use axum::{
    body::{Body, to_bytes},
    http::{HeaderName, HeaderValue, header},
};
use forge_api::{Api, ApiError};
use forge_engine::ToolServer;
use forge_mcp::Caller;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

/// The largest answer, in bytes.
const MAX_ANSWER: usize = 16 * 1024 * 1024 - 1024;
/// Where requests of the protocol say their version.
const VERSION_KEY: &str = "io.modelcontextprotocol/protocolVersion";
/// What the requests of HTTP repeat of a message of such a version.
const VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");
const METHOD: HeaderName = HeaderName::from_static("mcp-method");
const TOOL: HeaderName = HeaderName::from_static("mcp-name");
/// The code of JSON-RPC for what went wrong on this side.
const INTERNAL: i64 = -32603;
/// The code of JSON-RPC for what was asked wrongly.
const INVALID: i64 = -32600;

/// The notification by which a client takes a request back.
const CANCELLED: &str = "notifications/cancelled";

/// A request that is worked on: of which token and client, and its id.
type Request = (String, u64, String);

/// What answers the messages.
pub(crate) struct Tools {
    api: Api,
    service: forge_mcp::Service,
    max_message: usize,
    /// What takes back each request that is worked on.
    open: Mutex<HashMap<Request, CancellationToken>>,
}

/// A request that is worked on, until this is dropped.
struct Open<'t> {
    tools: &'t Tools,
    request: Request,
}

impl Drop for Open<'_> {
    fn drop(&mut self) {
        self.tools.open().remove(&self.request);
    }
}

impl Tools {
    /// Creates it over the service that answers by HTTP.
    pub(crate) fn new(api: Api, mut service: forge_mcp::Service, max_message: usize) -> Self {
        // There is nobody to be kept waiting by the beginning of an answer.
        service.config.json_response = true;
        Self { api, service, max_message, open: Mutex::default() }
    }

    fn open(&self) -> MutexGuard<'_, HashMap<Request, CancellationToken>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn caller(&self, token: &str) -> Result<Caller, String> {
        if !self.api.access().serves_mcp() {
            return Err("MCP is off".to_owned());
        }
        match self.api.engine().scope_of_token(token).await.map_err(ApiError::from) {
            Ok(Some(scope)) => Ok(Caller::Run(scope)),
            Ok(None) => Err("the run of this token has ended".to_owned()),
            Err(error) => Err(error.to_string()),
        }
    }

    async fn answer_for(
        &self,
        caller: Caller,
        told: &Value,
        message: &[u8],
    ) -> Result<Option<Vec<u8>>, String> {
        let mut request = axum::extract::Request::post("/")
            .header(header::HOST, "localhost")
            .header(header::ACCEPT, "application/json, text/event-stream")
            .header(header::CONTENT_TYPE, "application/json")
            .body(Body::from(message.to_vec()))
            .map_err(|error| error.to_string())?;
        if told["params"]["_meta"][VERSION_KEY].is_string() {
            let repeated = [
                (VERSION, &told["params"]["_meta"][VERSION_KEY]),
                (METHOD, &told["method"]),
                (TOOL, &told["params"]["name"]),
            ];
            for (name, value) in repeated {
                let value = value.as_str().and_then(|value| HeaderValue::from_str(value).ok());
                if let Some(value) = value {
                    request.headers_mut().insert(name, value);
                }
            }
        }
        request.extensions_mut().insert(caller);
        let response = self.service.handle(request).await.map(Body::new);
        let status = response.status();
        let answer = to_bytes(response.into_body(), MAX_ANSWER)
            .await
            .map_err(|_| format!("the answer is larger than {} MiB", MAX_ANSWER.div_ceil(1024 * 1024)))?;
        match serde_json::from_slice::<Value>(&answer) {
            // In one line, whoever wrote it.
            Ok(answer @ Value::Object(_)) => Ok(Some(answer.to_string().into_bytes())),
            _ if status.is_success() => Ok(None),
            _ => Err(String::from_utf8_lossy(&answer).into_owned()),
        }
    }
}

#[async_trait]
impl ToolServer for Tools {
    async fn answer(&self, token: &str, client: u64, message: &[u8]) -> Option<Vec<u8>> {
        if message.len() > self.max_message {
            let why = format!("the message is larger than {} MiB", self.max_message / (1024 * 1024));
            return refusal(message, INVALID, &why);
        }
        let told = match serde_json::from_slice::<Value>(message) {
            Ok(told) => told,
            Err(error) => return refusal(message, INVALID, &format!("the message is no JSON: {error}")),
        };
        let caller = match self.caller(token).await {
            Ok(caller) => caller,
            Err(why) => return refusal(message, INVALID, &why),
        };
        let of = |id: &Value| (token.to_owned(), client, id.to_string());
        if told["method"] == CANCELLED {
            let taken_back = self.open().get(&of(&told["params"]["requestId"])).cloned();
            taken_back.inspect(CancellationToken::cancel);
            return None;
        }
        let (request, taken_back) = (of(&told["id"]), CancellationToken::new());
        self.open().insert(request.clone(), taken_back.clone());
        let _open = Open { tools: self, request };
        tokio::select! {
            answered = self.answer_for(caller, &told, message) => match answered {
                Ok(answer) => answer,
                Err(why) => refusal(message, INTERNAL, &why),
            },
            // As with one who hangs up: what changes something goes on.
            () = taken_back.cancelled() => None,
        }
    }

    fn refuse(&self, message: &[u8], why: &str) -> Option<Vec<u8>> {
        refusal(message, INTERNAL, why)
    }
}

/// An error for the request that a message is; none for a notification.
fn refusal(message: &[u8], code: i64, why: &str) -> Option<Vec<u8>> {
    let told = serde_json::from_slice::<Value>(message).unwrap_or(json!({ "id": null }));
    let id = told.get("id")?;
    let error = json!({ "jsonrpc": "2.0", "id": id, "error": { "code": code, "message": why } });
    Some(error.to_string().into_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refusal_names_the_request_and_notifications_get_none() {
        let read = |message: &str| {
            let refused = refusal(message.as_bytes(), INTERNAL, "restarted")?;
            serde_json::from_slice::<Value>(&refused).ok()
        };
        let refused = read(r#"{"jsonrpc":"2.0","id":"a","method":"tools/call"}"#).unwrap();
        assert_eq!(refused["id"], "a");
        assert_eq!(refused["error"], json!({ "code": INTERNAL, "message": "restarted" }));
        assert_eq!(read("{").unwrap()["id"], Value::Null, "of what is no message nothing is known");
        assert_eq!(read(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#), None);
    }
}
