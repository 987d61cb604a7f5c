//! HTTP and server-sent events over the contract.
//!
//! The routes are made from `forge_api::operations()` ([`routes`]); nothing about tasks is decided here.
//! What this crate does decide is who may speak to the engine ([`gate`]): programs of this machine that hold
//! the token and address the engine by its own name, never a page of another origin.
//!
//! Invariants: what is listened at is loopback, or a socket of the user alone; every answer carries `X-Request-Id` and every refusal is
//! JSON; a client that hangs up changes nothing, since what changes something runs in a task of its own, and one that
//! sends a change again with its key has it performed once ([`repeats`]).
//! Agents on other machines are answered by the same service of the Model Context Protocol as those by HTTP ([`tools`]).
//! Deliberately absent: CORS, cookies, TLS, files.

mod answer;
mod body;
mod connections;
mod csv;
mod events;
mod gate;
mod repeats;
mod routes;
mod shared;
mod socket;
mod tools;

use std::{net::Ipv4Addr, path::PathBuf, sync::Arc, time::Duration};

use forge_api::{Api, OpenError, Opening};
use forge_engine::ToolServer;
use tokio::{net::TcpListener, task::JoinHandle};
use tokio_util::sync::CancellationToken;

pub use connections::Limits;
pub use socket::{MAX_SOCKET_PATH, SocketError, SocketListener};

/// How long [`Running::stop`] waits for answers that are under way before it cuts them off.
const STOP_WITHIN: Duration = Duration::from_secs(2);

/// How to serve.
#[derive(Debug, Clone, Copy)]
pub struct ServeOptions {
    /// The port on 127.0.0.1; 0 takes any that is free.
    pub port: u16,
    /// Whether requests must carry the token.
    pub auth: bool,
    /// Whether the Model Context Protocol may be served.
    pub mcp: bool,
    /// What clients may take.
    pub limits: Limits,
}

impl Default for ServeOptions {
    /// On any port that is free, for whoever has the token.
    fn default() -> Self {
        Self { port: 0, auth: true, mcp: true, limits: Limits::default() }
    }
}

/// Why nothing is served.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// The port cannot be had.
    #[error("Could not listen on 127.0.0.1:{port}: {source}")]
    Bind {
        /// Which.
        port: u16,
        /// Why.
        source: std::io::Error,
    },
    /// There is no socket.
    #[error(transparent)]
    Socket(#[from] SocketError),
    /// There is no token, or other programs cannot be told where the engine is.
    #[error(transparent)]
    Open(#[from] OpenError),
}

/// A server that runs. Dropped without [`Running::stop`], it goes on until the process ends.
#[derive(Debug)]
pub struct Running {
    /// Where it is, without a slash at the end: `http://127.0.0.1:4780`.
    pub url: String,
    /// The socket at which it is, too.
    pub socket: Option<PathBuf>,
    /// The file with the token; none when none is asked for.
    pub token_file: Option<PathBuf>,
    stopping: CancellationToken,
    server: JoinHandle<()>,
}

/// Serves the contract on loopback, and tells other programs where ([`forge_api::Access::open`]).
///
/// # Errors
/// When the port cannot be had, or the token or the address cannot be written.
pub async fn serve(api: Api, options: ServeOptions) -> Result<Running, ServeError> {
    serve_at(listen(options.port).await?, None, api, options).await
}

/// Takes a port of loopback; 0 is any that is free.
///
/// # Errors
/// When it cannot be had.
pub async fn listen(port: u16) -> Result<TcpListener, ServeError> {
    TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await.map_err(|source| ServeError::Bind { port, source })
}

/// [`serve`] at a port that is had already, and at a socket.
///
/// # Errors
/// When the token or the address cannot be written.
pub async fn serve_at(
    listener: TcpListener,
    socket: Option<SocketListener>,
    api: Api,
    options: ServeOptions,
) -> Result<Running, ServeError> {
    let address = listener.local_addr();
    let port = address.map_err(|source| ServeError::Bind { port: options.port, source })?.port();
    let url = format!("http://127.0.0.1:{port}");
    if !options.auth {
        tracing::warn!("no token is required: any program on this machine can use the engine");
    }
    let path = socket.as_ref().map(|socket| socket.path().to_owned());
    let opening = Opening { url: url.clone(), socket: path.clone(), auth: options.auth, mcp: options.mcp };
    let token_file = api.access().open(opening).await?;
    let stopping = CancellationToken::new();
    // What agents on other machines asked for ends with their runs, not with this server.
    let mcp = forge_mcp::service(&api, routes::MAX_MCP_BODY, CancellationToken::new());
    let tools: Arc<dyn ToolServer> = Arc::new(tools::Tools::new(api.clone(), mcp, routes::MAX_MCP_BODY));
    api.engine().set_tool_server(Arc::downgrade(&tools));
    let routes = routes::routes(api.clone(), stopping.clone(), options.limits);
    let guarded = |gate| routes::guarded(routes.clone(), gate);
    let by_port = guarded(gate::Gate::of_port(port, api.clone()));
    let by_socket = socket.map(|socket| (socket, guarded(gate::Gate::of_socket(api))));
    let limits = options.limits;
    let places = connections::Places::new(limits);
    let (ends, places_too) = (stopping.clone(), places.clone());
    let server = tokio::spawn(async move {
        let _held = tools;
        let at_port = connections::serve(listener, by_port, limits, places, ends.clone());
        let at_socket = async {
            if let Some((socket, router)) = by_socket {
                connections::serve(socket, router, limits, places_too, ends).await;
            }
        };
        tokio::join!(at_port, at_socket);
    });
    Ok(Running { url, socket: path, token_file, stopping, server })
}

impl Running {
    /// Takes no new requests, ends the event streams, answers those who wait for a task to settle, and
    /// returns when all answers are out, or after a few seconds. What was begun for a client goes on.
    pub async fn stop(mut self) {
        self.stopping.cancel();
        if tokio::time::timeout(STOP_WITHIN, &mut self.server).await.is_err() {
            tracing::warn!("some clients did not read their answers in time");
            self.server.abort();
        }
    }
}
