//! An engine in another process, over HTTP.

use std::path::Path;

use forge_api::TokenError;
use forge_engine::EngineAddress;
use forge_model::actor::Via;
use forge_remote::{CallError, EngineClient, EventStream};
use serde_json::Value;

use crate::error::CliError;

/// The engine of another process.
pub(crate) struct Remote {
    client: EngineClient,
    pid: u32,
}

impl Remote {
    /// The engine that announced itself at `url`.
    pub(crate) fn new(holder: &EngineAddress, url: &str, data_dir: &Path) -> Result<Self, CliError> {
        let token = match forge_api::read_token(data_dir) {
            Ok(token) => Some(token),
            // An engine that asks for none has made none; one that does will refuse and say so.
            Err(TokenError::Io { source, .. }) if source.kind() == std::io::ErrorKind::NotFound => None,
            Err(error) => return Err(CliError::Token(error)),
        };
        let unreachable = |source| CliError::Unreachable { pid: holder.pid, url: url.to_owned(), source };
        let client = EngineClient::new(url.to_owned(), token, None).map_err(unreachable)?;
        Ok(Self { client, pid: holder.pid })
    }

    /// Does one operation.
    pub(crate) async fn call(&self, via: Via, name: &str, input: Value) -> Result<Value, CliError> {
        self.client.call(via, name, input, None).await.map_err(|error| self.failed(error))
    }

    /// The stream of events, from now on.
    pub(crate) async fn events(&self) -> Result<EventStream, CliError> {
        self.client.events(None).await.map_err(|error| self.failed(error))
    }

    fn failed(&self, error: CallError) -> CliError {
        let url = || self.client.url().to_owned();
        match error {
            CallError::Refused(refused) => CliError::Refused(refused),
            CallError::Unreachable(source) => CliError::Unreachable { pid: self.pid, url: url(), source },
            CallError::Strange(detail) => CliError::Strange { url: url(), detail },
        }
    }
}
