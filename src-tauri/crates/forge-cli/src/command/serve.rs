//! `forge serve`.

use std::{path::PathBuf, sync::Arc, time::Duration};

use forge_engine::Observer;
use forge_server::ServeOptions;
use serde_json::json;

use super::Signals;
use crate::{args::Serve, door, error::CliError, put};

/// How long the engine may take to end. An agent that does not listen is killed after five seconds; with the
/// server's own two, all of it takes less than ten.
const ENGINE_ENDS_WITHIN: Duration = Duration::from_millis(6500);

/// Runs the engine and serves it until a signal asks for the end.
pub(crate) async fn run(
    data_dir: PathBuf,
    options: Serve,
    observer: Option<Arc<dyn Observer>>,
) -> Result<(), CliError> {
    let mut signals = Signals::listen()?;
    let api = tokio::select! {
        api = door::start_engine(data_dir.clone(), observer) => api?,
        () = signals.any() => return Ok(()),
    };
    let serve = ServeOptions { port: options.port, auth: !options.no_auth };
    let server = match forge_server::serve(api.clone(), serve).await {
        Ok(server) => server,
        Err(error) => {
            api.engine().stop().await;
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
        tracing::warn!("nobody reads standard output; serving all the same");
    }
    tracing::info!(url = %server.url, data_dir = %data_dir.display(), "serving");
    signals.any().await;
    tracing::info!("ending: short steps are finished, agents and checks stay pending for the next start");
    server.stop().await;
    if tokio::time::timeout(ENGINE_ENDS_WITHIN, api.engine().stop()).await.is_err() {
        tracing::warn!("the engine did not end in time; the next start settles what is left");
    }
    Ok(())
}
