//! By pipes: one client, which is the person's, until it closes them.

use rmcp::{
    ServiceExt as _,
    service::{QuitReason, ServerInitializeError},
};
use tokio::io::{AsyncRead, AsyncWrite};

use crate::{Backend, Caller, handler::Handler};

/// Why the protocol ended badly.
#[derive(Debug, thiserror::Error)]
pub enum StdioError {
    /// The client does not begin as the protocol wants it.
    #[error("Could not connect to the client: {0}")]
    Begin(Box<ServerInitializeError>),
    /// It ended in the middle.
    #[error("Could not serve the client: {0}")]
    Serve(#[source] tokio::task::JoinError),
}

/// Serves one client by its pipes until it closes them.
///
/// # Errors
/// When the client does not speak the protocol.
pub async fn serve_stdio<B: Backend>(
    backend: B,
    input: impl AsyncRead + Send + Unpin + 'static,
    output: impl AsyncWrite + Send + Unpin + 'static,
) -> Result<(), StdioError> {
    let handler = Handler::new(backend, Some(Caller::Person));
    let serving = match handler.serve((input, output)).await {
        Ok(serving) => serving,
        // It went away before it said anything.
        Err(ServerInitializeError::ConnectionClosed(_)) => return Ok(()),
        Err(error) => return Err(StdioError::Begin(Box::new(error))),
    };
    match serving.waiting().await.map_err(StdioError::Serve)? {
        QuitReason::JoinError(error) => Err(StdioError::Serve(error)),
        _ => Ok(()),
    }
}
