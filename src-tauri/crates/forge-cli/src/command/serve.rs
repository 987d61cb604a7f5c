//! `forge serve`.

use std::{path::PathBuf, sync::Arc};

use forge_engine::{Observer, Work, data_folder};
use forge_server::ServeOptions;
use serde_json::json;

use crate::{
    answer::put,
    args::Serve,
    connection,
    error::CliError,
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
    let listener = match data_folder::holder(&data_dir) {
        Some(_) => None,
        None => Some(forge_server::listen(options.port).await?),
    };
    let api = tokio::select! {
        api = connection::start_engine(data_dir.clone(), observer, Work::All) => api?,
        _ = signals.any() => return Ok(()),
    };
    let serve = ServeOptions {
        port: options.port,
        auth: !options.no_auth,
        mcp: !options.no_mcp,
        ..ServeOptions::default()
    };
    let served = async {
        let listener = match listener {
            Some(listener) => listener,
            None => forge_server::listen(options.port).await?,
        };
        forge_server::serve_at(listener, api.clone(), serve).await
    };
    let server = match served.await {
        Ok(server) => server,
        Err(error) => {
            connection::stop_engine(&api).await;
            return Err(error.into());
        }
    };
    let line = json!({
        "url": server.url,
        "token_file": server.token_file,
        "data_dir": data_dir,
        "pid": std::process::id(),
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
