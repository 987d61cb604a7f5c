//! `forge mcp`.

use std::{path::PathBuf, sync::Arc};

use async_trait::async_trait;
use forge_api::{
    ApiError, Call as _, McpClient, McpTransport,
    operations::{DoorsGet, Validate},
    ops::Empty,
};
use forge_engine::{Observer, Work};
use forge_mcp::{Backend, Caller};
use forge_model::actor::Via;
use forge_server::{Running, ServeOptions};
use serde_json::{Value, json};
use tokio::sync::RwLock;

use crate::{
    answer::Answer,
    args::{Client, Transport},
    at::At,
    connection::Connection,
    error::CliError,
    place,
    signals::Signals,
};

/// What a failure of this program's own is to a client: the engine cannot be asked now.
const UNAVAILABLE: u16 = 503;

/// Serves the client that started this program until it closes its pipe or a signal asks for the end.
pub(crate) async fn run(data_dir: PathBuf, observer: Option<Arc<dyn Observer>>) -> Result<(), CliError> {
    let mut signals = Signals::listen()?;
    let line = Line::open(data_dir, observer).await?;
    let served = tokio::select! {
        served = forge_mcp::serve_stdio(line.clone(), tokio::io::stdin(), tokio::io::stdout()) => served,
        _ = signals.any() => Ok(()),
    };
    line.close().await;
    Ok(served?)
}

/// What the configuration of a client must say.
pub(crate) async fn print_config(at: &At, client: Client, transport: Transport) -> Result<Answer, CliError> {
    let access = at.call(DoorsGet, Empty {}).await?;
    let client = match client {
        Client::Codex => McpClient::Codex,
        Client::Claude => McpClient::Claude,
        Client::Cursor => McpClient::Cursor,
        Client::Vscode => McpClient::Vscode,
    };
    let transport = match transport {
        Transport::Stdio => McpTransport::Stdio,
        Transport::Http => McpTransport::Http,
    };
    let mut configs = access.clients.iter().zip(access.json["clients"].as_array().into_iter().flatten());
    let found = configs.find(|(config, _)| config.client == client && config.transport == transport);
    let (config, json) = found.ok_or_else(|| CliError::Conflict {
        message: "Forge does not serve MCP over HTTP now".to_owned(),
        hint: "Start `forge serve`, or omit --transport: clients can start `forge mcp` themselves.",
    })?;
    Ok(Answer::new(json.clone(), config.text.trim_end().to_owned()))
}

/// A client's way to the engine, which may end and start again meanwhile.
#[derive(Clone)]
struct Line {
    inner: Arc<Inner>,
}

struct Inner {
    data_dir: PathBuf,
    observer: Option<Arc<dyn Observer>>,
    way: RwLock<Way>,
}

struct Way {
    /// How many there were before.
    number: u64,
    connection: Connection,
    /// An engine of this process is there for other programs, too: it holds the data folder for as long as it lives.
    server: Option<Running>,
}

impl Way {
    async fn open(data_dir: PathBuf, observer: Option<Arc<dyn Observer>>) -> Result<Self, CliError> {
        let connection = Connection::open(data_dir, observer, Work::All).await?;
        let server = match &connection {
            Connection::Own(api) => {
                let options = ServeOptions::default();
                match forge_server::serve(api.clone(), options).await {
                    Ok(server) => Some(server),
                    Err(error) => {
                        connection.close().await;
                        return Err(error.into());
                    }
                }
            }
            Connection::Remote(_) | Connection::There(_) => None,
        };
        Ok(Self { number: 0, connection, server })
    }
}

impl Line {
    async fn open(data_dir: PathBuf, observer: Option<Arc<dyn Observer>>) -> Result<Self, CliError> {
        let way = RwLock::new(Way::open(data_dir.clone(), observer.clone()).await?);
        Ok(Self { inner: Arc::new(Inner { data_dir, observer, way }) })
    }

    async fn close(&self) {
        let mut way = self.inner.way.write().await;
        if let Some(server) = way.server.take() {
            server.stop().await;
        }
        way.connection.close().await;
    }

    /// Asks the engine; where it is gone, the one that is there now, or one of this process.
    async fn ask(&self, op: &str, input: Value) -> Result<Value, CliError> {
        let (asked, number) = {
            let way = self.inner.way.read().await;
            (way.connection.call_via(Via::Mcp, op, input.clone()).await, way.number)
        };
        match asked {
            // Nothing was sent: to ask again does nothing twice.
            Err(CliError::Unreachable { source, .. }) if source.is_connect() => {
                self.reopen(number).await?;
                self.inner.way.read().await.connection.call_via(Via::Mcp, op, input).await
            }
            asked => asked,
        }
    }

    /// Finds the engine anew, unless another call has done so since.
    async fn reopen(&self, failed: u64) -> Result<(), CliError> {
        let mut way = self.inner.way.write().await;
        if way.number == failed {
            let (data_dir, observer) = (self.inner.data_dir.clone(), self.inner.observer.clone());
            *way = Way { number: failed + 1, ..Way::open(data_dir, observer).await? };
        }
        Ok(())
    }
}

#[async_trait]
impl Backend for Line {
    async fn call(&self, _: &Caller, op: &str, mut input: Value) -> Result<Value, ApiError> {
        let asked = match here(op, &mut input) {
            Ok(()) => self.ask(op, input).await,
            Err(error) => Err(error),
        };
        asked.map_err(|error| match error {
            CliError::Refused(refused) => refused,
            other => ApiError {
                code: other.code().to_owned(),
                message: other.to_string(),
                hints: other.hints(),
                details: Value::Null,
                status: UNAVAILABLE,
            },
        })
    }
}

/// Names the folder that is checked where the input does not: the engine that is asked may run in another one.
fn here(op: &str, input: &mut Value) -> Result<(), CliError> {
    if op.starts_with(Validate::NAME) && (input["project_id"].is_null() || op == Validate::NAME) {
        let asked = input["cwd"].as_str().map(PathBuf::from);
        input["cwd"] = json!(place::checked_folder(asked)?);
    }
    Ok(())
}
