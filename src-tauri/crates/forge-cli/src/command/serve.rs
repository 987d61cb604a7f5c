//! `forge serve`.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use forge_engine::{EngineLog, Observer, Work, data_folder};
use forge_server::{ServeError, ServeOptions, SocketListener};
use serde_json::json;
use tokio::net::TcpListener;

use crate::{
    answer::put,
    args::Serve,
    connection,
    error::CliError,
    place,
    signals::{Asked, Signals},
};

/// Runs the engine and serves it until a signal asks for the end.
pub(crate) async fn run(
    data_dir: PathBuf,
    options: Serve,
    observer: Option<Arc<dyn Observer>>,
) -> Result<(), CliError> {
    let mut signals = Signals::listen()?;
    // Nothing is begun where it could not be served; another engine on the folder says more than a port that it has.
    let listeners = match data_folder::holder(&data_dir) {
        Some(_) => None,
        None => Some(listen(&options, &data_dir).await?),
    };
    let api = tokio::select! {
        api = connection::start_engine(data_dir.clone(), observer, Work::All) => api?,
        _ = signals.any() => return Ok(()),
    };
    if let Err(error) = EngineLog::open(&data_dir) {
        tracing::warn!(%error, "cannot write the log to {}", data_dir.display());
    }
    let serve = ServeOptions {
        port: options.port,
        auth: !options.no_auth,
        mcp: !options.no_mcp,
        ..ServeOptions::default()
    };
    let served = async {
        let (listener, socket) = match listeners {
            Some(listeners) => listeners,
            None => listen(&options, &data_dir).await?,
        };
        Ok(forge_server::serve_at(listener, socket, api.clone(), serve).await?)
    };
    let server = match served.await {
        Ok(server) => server,
        Err(error) => {
            connection::stop_engine(&api).await;
            return Err(error);
        }
    };
    let line = json!({
        "url": server.url,
        "socket": server.socket,
        "token_file": server.token_file,
        "data_dir": data_dir,
        "pid": std::process::id(),
        "version": env!("CARGO_PKG_VERSION"),
    });
    if !put(&line.to_string()) {
        tracing::warn!("standard output is closed; serving continues");
    }
    tracing::info!(url = %server.url, data_dir = %data_dir.display(), "serving");
    let asked = signals.any().await;
    server.stop().await;
    match asked {
        Asked::ByPerson => {
            tracing::info!(
                "stopping: short steps finish; agents and checks stay pending until the next start"
            );
            connection::stop_engine(&api).await;
        }
        Asked::ByProgram => {
            tracing::info!(
                "stopping: short steps finish; agents go on, and checks stay pending until the next start"
            );
            connection::leave_engine(&api).await;
        }
    }
    Ok(())
}

/// Takes what is to be served at.
async fn listen(options: &Serve, data_dir: &Path) -> Result<(TcpListener, Option<SocketListener>), CliError> {
    let listener = forge_server::listen(options.port).await?;
    let socket = match &options.socket {
        Some(path) => {
            // Its full path: whoever reads where it is may be in another folder.
            let path = std::path::absolute(path).map_err(CliError::io("find the folder of the socket"))?;
            if path.starts_with(data_dir) {
                place::make(data_dir)?;
            }
            Some(SocketListener::bind(&path).await.map_err(ServeError::from)?)
        }
        None => None,
    };
    Ok((listener, socket))
}
