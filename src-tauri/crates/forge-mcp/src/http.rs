//! Over HTTP: a service for one path of a server, which has seen to it who asks.

use std::sync::Arc;

use forge_api::Api;
use rmcp::transport::streamable_http_server::{
    StreamableHttpServerConfig, StreamableHttpService, session::local::LocalSessionManager,
};
use tokio_util::sync::CancellationToken;

use crate::handler::Handler;

/// What answers at the protocol's path. Every request must carry its [`crate::Caller`] as an extension.
pub type Service = StreamableHttpService<Handler<Api>, LocalSessionManager>;

/// The service over a contract; `stopping` ends its sessions.
#[must_use]
pub fn service(api: &Api, max_body: usize, stopping: CancellationToken) -> Service {
    let mut config = StreamableHttpServerConfig::default();
    config.cancellation_token = stopping;
    config.max_request_body_bytes = max_body;
    let handler = Handler::new(api.clone(), None);
    StreamableHttpService::new(move || Ok(handler.clone()), Arc::new(LocalSessionManager::default()), config)
}
