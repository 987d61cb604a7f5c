//! The connection to the engine, which runs in this process, in another one that holds the data folder, or on another
//! computer.

use std::{path::PathBuf, sync::Arc, time::Duration};

use forge_api::{Api, Client};
use forge_engine::{Engine, Observer, StartError, Work, data_folder};
use forge_model::{actor::Via, ids::TaskId};
use forge_remote::{Destination, RemoteEngine};
use serde_json::Value;

use crate::{changes::Changes, error::CliError, place, remote::Remote};

/// How long another process may take to say where it serves, or to be done. A command of this program
/// without an engine holds the folder for a moment only.
const HOLDER_PATIENCE: Duration = Duration::from_secs(5);
const LOOK_EVERY: Duration = Duration::from_millis(50);
/// How long the engine may take to end. An agent that does not listen is killed after five seconds; with the
/// server's own two, all of it takes less than ten.
const ENGINE_ENDS_WITHIN: Duration = Duration::from_millis(6500);

/// A connection to the engine.
pub(crate) enum Connection {
    /// The engine runs in this process.
    Own(Api),
    /// The engine runs in another process.
    Remote(Remote),
    /// The engine runs on another computer.
    There(RemoteEngine),
}

/// Starts an engine in this process.
pub(crate) async fn start_engine(
    data_dir: PathBuf,
    observer: Option<Arc<dyn Observer>>,
    work: Work,
) -> Result<Api, CliError> {
    let own_program = std::env::current_exe().map_err(CliError::io("find this program"))?;
    let mut config = place::engine_config(data_dir.clone(), observer)?;
    config.work = work;
    let engine = Engine::start(config).await.map_err(|source| CliError::Start { data_dir, source })?;
    Ok(Api::new(engine, own_program))
}

/// Ends the engine of this process.
pub(crate) async fn stop_engine(api: &Api) {
    if tokio::time::timeout(ENGINE_ENDS_WITHIN, api.engine().stop()).await.is_err() {
        tracing::warn!("the engine did not stop in time; the next start recovers what is left");
    }
}

/// The same, but agents go on without it.
pub(crate) async fn leave_engine(api: &Api) {
    if tokio::time::timeout(ENGINE_ENDS_WITHIN, api.engine().leave()).await.is_err() {
        tracing::warn!("the engine did not stop in time; the next start recovers what is left");
    }
}

impl Connection {
    /// Connects to the engine that runs on the folder. Where none runs, starts one, which does this much of the
    /// pending work.
    pub(crate) async fn open(
        data_dir: PathBuf,
        observer: Option<Arc<dyn Observer>>,
        work: Work,
    ) -> Result<Self, CliError> {
        let patience = tokio::time::Instant::now() + HOLDER_PATIENCE;
        loop {
            let holder = match data_folder::holder(&data_dir) {
                Some(holder) => holder,
                None => match start_engine(data_dir.clone(), observer.clone(), work).await {
                    Ok(api) => return Ok(Self::Own(api)),
                    // Somebody was quicker.
                    Err(CliError::Start {
                        source: StartError::Instance(forge_engine::InstanceError::Taken(holder)),
                        ..
                    }) => holder,
                    Err(error) => return Err(error),
                },
            };
            if let Some(url) = holder.url.clone() {
                return Ok(Self::Remote(Remote::new(&holder, &url, &data_dir)?));
            }
            if tokio::time::Instant::now() > patience {
                return Err(CliError::Busy { data_dir, holder });
            }
            tokio::time::sleep(LOOK_EVERY).await;
        }
    }

    /// Connects to the engine of the user on another computer.
    pub(crate) async fn open_on(host: String) -> Result<Self, CliError> {
        let to = Destination::new(host, forge_exec::variables_of(std::env::vars_os()));
        Ok(Self::There(RemoteEngine::connect(to).await.map_err(CliError::There)?))
    }

    /// Whether the engine runs on another computer, which has other files.
    pub(crate) const fn is_elsewhere(&self) -> bool {
        matches!(self, Self::There(_))
    }

    /// Whether the engine ends with this process.
    pub(crate) const fn is_own(&self) -> bool {
        matches!(self, Self::Own(_))
    }

    /// Sees to it that what is pending for a task is done: an engine that stays does it by itself.
    pub(crate) fn work_on(&self, task: &TaskId) {
        if let Self::Own(api) = self {
            api.engine().work_on(task);
        }
    }

    /// Does one operation for a caller that reached this program another way, such as over MCP.
    pub(crate) async fn call_via(&self, via: Via, op: &str, input: Value) -> Result<Value, CliError> {
        match self {
            Self::Own(api) => api.call(via, op, input).await.map_err(CliError::Refused),
            Self::Remote(remote) => remote.call(via, op, input).await,
            Self::There(there) => there.call(via, op, input).await.map_err(CliError::Refused),
        }
    }

    /// What happens from now on.
    pub(crate) async fn changes(&self) -> Result<Changes, CliError> {
        match self {
            Self::Own(api) => Ok(Changes::own(api.engine().clone())),
            Self::Remote(remote) => Ok(Changes::remote(remote.events().await?)),
            Self::There(there) => Ok(Changes::there(there.happened())),
        }
    }

    /// Stops the engine, if it is this process's own, and ends the connection with another computer.
    pub(crate) async fn close(&self) {
        match self {
            Self::Own(api) => stop_engine(api).await,
            Self::Remote(_) => {}
            Self::There(there) => there.close().await,
        }
    }
}

impl Client for Connection {
    type Error = CliError;

    async fn send(&self, operation: &str, input: Value) -> Result<Value, CliError> {
        self.call_via(Via::Cli, operation, input).await
    }
}
