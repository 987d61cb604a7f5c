//! Over HTTP: a service for one path of a server, which has seen to it who asks.

use std::sync::Arc;

use forge_api::Api;
use rmcp::transport::streamable_http_server::{
    StreamableHttpServerConfig, StreamableHttpService, session::never::NeverSessionManager,
};
use tokio_util::sync::CancellationToken;

use crate::handler::Handler;

/// What answers at the protocol's path. Every request must carry its [`crate::Caller`] as an extension.
pub type Service = StreamableHttpService<Handler<Api>, NeverSessionManager>;

/// The service over a contract; `stopping` ends what it still answers.
///
/// Each request stands by itself: nothing is said to a client but answers, so there is nothing to keep for it, and clients
/// of older SDKs (Gemini's for one) take an SSE stream that is meant to be resumed for a broken one. Who hangs up ends what
/// was asked.
#[must_use]
pub fn service(api: &Api, max_body: usize, stopping: CancellationToken) -> Service {
    let mut config = StreamableHttpServerConfig::default();
    config.legacy_session_mode = false;
    config.cancellation_token = stopping;
    config.max_request_body_bytes = max_body;
    let handler = Handler::new(api.clone(), None);
    StreamableHttpService::new(move || Ok(handler.clone()), Arc::new(NeverSessionManager::default()), config)
}
