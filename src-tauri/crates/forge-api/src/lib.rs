//! The contract: what every interface (window, CLI, HTTP, MCP) can ask, and what it is answered.
//!
//! [`operations()`] is the one table: types, name, method, path, cache tags, handler. HTTP routes, the TypeScript
//! client, the Rust client ([`Client`]), the OpenAPI document and the window's calls are made from it, so nothing is
//! declared twice. A handler is a thin function over the engine; it holds no rule of its own.
//!
//! Deliberately absent: transports, windows, and anything about how an answer is shown.

mod access;
mod call;
mod clients;
mod error;
mod feed;
mod files;
mod input;
mod limits;
mod notices;
mod openapi;
mod operation;
pub mod operations;
pub mod ops;
mod paging;
mod request;
mod schema;
mod scope;
mod tags;
mod token;
pub mod typescript;

use std::{path::PathBuf, sync::Arc};

use forge_engine::Engine;
use forge_model::{actor::Actor, notification::Notification};
use serde_json::Value;

pub use access::{Access, MCP_PATH, OpenError, Opening};
pub use call::{Call, Client, MisfitError, Reply};
pub use clients::{ClientConfig, ConfigLanguage, McpClient, McpTransport, TOKEN_VARIABLE};
pub use error::ApiError;
pub use feed::{Change, ChangeBatch, Feed, STORAGE_CHANGED};
pub use files::{COSTS_CSV, FILE_ROUTES, FileRoute, PAGING};
pub use forge_engine::RunScope;
pub use input::read as read_input;
pub use limits::{DEFAULT_LIMIT, MAX_LIMIT};
pub use openapi::document as openapi_document;
pub use operation::{Method, Operation};
pub use operations::operations;
pub use request::HttpRequest;
pub use schema::{input_schema, output_schema};
pub use scope::is_open_to_runs;
pub use token::{TokenError, read as read_token};

/// The contract over one engine. Cheap to clone.
#[derive(Clone)]
pub struct Api {
    inner: Arc<Inner>,
}

struct Inner {
    access: Access,
    engine: Engine,
    self_program: PathBuf,
}

impl Api {
    /// The contract over `engine`. `self_program` is this executable: the demo project's scripted agents
    /// are started with it.
    #[must_use]
    pub fn new(engine: Engine, self_program: PathBuf) -> Self {
        let access = Access::new(engine.clone());
        Self { inner: Arc::new(Inner { access, engine, self_program }) }
    }

    /// The engine behind it.
    #[must_use]
    pub fn engine(&self) -> &Engine {
        &self.inner.engine
    }

    /// How other programs reach it.
    #[must_use]
    pub fn access(&self) -> &Access {
        &self.inner.access
    }

    pub(crate) fn self_program(&self) -> &std::path::Path {
        &self.inner.self_program
    }

    /// Does one operation for whoever asks.
    ///
    /// # Errors
    /// What the operation refuses; `not_found` when there is no such operation.
    pub async fn call(&self, actor: impl Into<Actor>, op: &str, input: Value) -> Result<Value, ApiError> {
        let operation = operations()
            .iter()
            .find(|operation| operation.name == op)
            .ok_or_else(|| ApiError::not_found(format!("no operation `{op}`")))?;
        operation.run(self.clone(), actor, input).await
    }

    /// Notifications from now on that the project's settings want raised natively.
    pub fn notifications(&self) -> impl futures::Stream<Item = Notification> + Send + use<> {
        notices::stream(self.engine().clone())
    }

    /// What changes from now on, coalesced, for a window.
    #[must_use]
    pub fn feed(&self) -> Feed {
        Feed::new(self.engine().clone())
    }
}
