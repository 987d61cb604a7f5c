//! Starting: the engine and its server behind the window; and what closing the window means.

use std::{
    env, io,
    path::PathBuf,
    sync::{Arc, PoisonError, atomic::Ordering},
};

use forge_api::Api;
use forge_engine::{
    Engine, EngineConfig, EngineLog, InstanceError, KeeperPlace, OpenError, StartError, data_folder,
    needs_restore,
};
use forge_model::storage::Backup;
use forge_server::{Running, ServeError, ServeOptions};
use tauri::{AppHandle, Manager as _, Runtime};
use tauri_plugin_dialog::{DialogExt as _, MessageDialogButtons, MessageDialogKind};
use tokio::sync::Notify;

use crate::{
    events,
    host::{Host, WindowEngine},
    notify,
    quit::{Agents, Lifetime, ask_to_quit, end, running_agents},
    tray,
    windows::{self, Visibility},
};

/// Where other programs find Forge, unless somebody else is there.
const PORT: u16 = 4780;

const NO_FOLDER: &str = "Make sure that Forge can write to the folder, or set FORGE_DATA_DIR to another one.";

/// Why Forge cannot start.
#[derive(Debug, thiserror::Error)]
pub enum LaunchError {
    /// There is no place for its data.
    #[error("Could not find a data folder: {0}")]
    DataDir(#[source] tauri::Error),
    /// It does not know its own program, which the demo's agents run.
    #[error("Could not find Forge's own program: {0}")]
    OwnProgram(#[source] io::Error),
    /// The engine could not start.
    #[error("Could not start the engine on {}: {source}", data_dir.display())]
    Engine {
        /// Its data folder.
        data_dir: PathBuf,
        /// Why.
        source: Box<StartError>,
    },
}

impl LaunchError {
    /// The data folder, where a copy of its database helps.
    fn damaged_folder(&self) -> Option<PathBuf> {
        match self {
            Self::Engine { data_dir, source } if needs_restore(source) => Some(data_dir.clone()),
            _ => None,
        }
    }

    /// What the person can do.
    fn remedy(&self) -> &'static str {
        let source = match self {
            Self::DataDir(_) => return NO_FOLDER,
            Self::OwnProgram(_) => {
                return "Start Forge again; its program was moved or replaced while it started.";
            }
            Self::Engine { source, .. } => source.as_ref(),
        };
        if let Some(trouble) = source.storage_trouble() {
            return trouble.remedy_at_start();
        }
        match source {
            StartError::Instance(InstanceError::Taken(_)) => {
                "Close the other Forge (or stop `forge serve`), or set FORGE_DATA_DIR to another folder."
            }
            StartError::Instance(InstanceError::Io { .. }) => NO_FOLDER,
            StartError::Git(_) => "Install git 2.38 or later, and start Forge again.",
            StartError::Open(OpenError::Emptied { .. }) => {
                "The folder `backups` in the data folder holds earlier states of the database."
            }
            StartError::Open(OpenError::TooNew { .. }) => "Start the newer Forge that wrote the database.",
            StartError::Open(_) | StartError::Recovery(_) => "Report the text above.",
        }
    }
}

/// Starts the engine while the window loads; says what is wrong and ends the program when it cannot.
pub async fn launch<R: Runtime>(app: AppHandle<R>) {
    match start(&app).await {
        Ok(api) => {
            let changed = Arc::new(Notify::new());
            tauri::async_runtime::spawn(notify::raise_all(app.clone(), api.clone()));
            tauri::async_runtime::spawn(notify::follow_storage(app.clone(), api.clone()));
            tauri::async_runtime::spawn(tray::follow(app.clone(), api.clone(), Arc::clone(&changed)));
            let visible = app.state::<Visibility>().follow();
            tauri::async_runtime::spawn(events::pump(app.clone(), api.clone(), visible, changed));
            app.state::<Host>().ready(WindowEngine::Here(api));
        }
        Err(error) => {
            let folder = error.damaged_folder();
            let backup = match &folder {
                Some(folder) => data_folder::newest_good_backup(folder).await.ok().flatten(),
                None => None,
            };
            match folder.zip(backup) {
                Some((folder, backup)) => offer_restore(&app, &error, folder, backup),
                None => refuse(&app, &error),
            }
        }
    }
}

async fn start<R: Runtime>(app: &AppHandle<R>) -> Result<Api, LaunchError> {
    let data_dir = data_dir(app)?;
    let own_program = env::current_exe().map_err(LaunchError::OwnProgram)?;
    let config = EngineConfig::new(data_dir.clone(), env::vars_os()).with_tokens_of(env::vars_os());
    let config = EngineConfig { keeper: KeeperPlace::beside(&own_program), ..config };
    let engine = Engine::start(config)
        .await
        .map_err(|source| LaunchError::Engine { data_dir: data_dir.clone(), source: Box::new(source) })?;
    if let Err(error) = EngineLog::open(&data_dir) {
        tracing::warn!(%error, "cannot write the log to {}", data_dir.display());
    }
    let api = Api::new(engine.clone(), own_program);
    let server = serve(&api).await;
    *app.state::<Lifetime>().open.lock().unwrap_or_else(PoisonError::into_inner) = Some((engine, server));
    Ok(api)
}

/// Serves other programs; the window works without that.
async fn serve(api: &Api) -> Option<Running> {
    let at = |port| forge_server::serve(api.clone(), ServeOptions { port, ..ServeOptions::default() });
    let running = match at(PORT).await {
        Err(ServeError::Bind { .. }) => {
            tracing::info!("port {PORT} is taken; any other will do");
            at(0).await
        }
        outcome => outcome,
    };
    match running {
        Ok(running) => {
            tracing::info!(url = %running.url, "other programs can reach the engine");
            Some(running)
        }
        Err(error) => {
            tracing::warn!(%error, "other programs cannot reach the engine");
            None
        }
    }
}

fn data_dir<R: Runtime>(app: &AppHandle<R>) -> Result<PathBuf, LaunchError> {
    match crate::chosen_data_dir() {
        Some(folder) => Ok(folder),
        None => Ok(app.path().data_dir().map_err(LaunchError::DataDir)?.join("forge")),
    }
}

/// Offers the newest usable copy of the database in place of one that is damaged or gone.
fn offer_restore<R: Runtime>(app: &AppHandle<R>, error: &LaunchError, data_dir: PathBuf, backup: Backup) {
    eprintln!("forge-desktop: {error}\nforge backup restore {}", backup.name);
    let text = format!(
        "{error}\n\nThe newest usable backup is from {}. Restoring it sets the current database aside; branches and \
         worktrees do not change.",
        backup.created_at
    );
    let handle = app.clone();
    app.dialog()
        .message(text)
        .title("Could not use the database")
        .kind(MessageDialogKind::Error)
        .buttons(MessageDialogButtons::OkCancelCustom("Restore backup".to_owned(), "Quit".to_owned()))
        .show(move |restore| {
            if !restore {
                return handle.exit(1);
            }
            tauri::async_runtime::spawn(async move {
                match data_folder::restore(&data_dir, &backup.name).await {
                    Ok(_) => Box::pin(launch(handle)).await,
                    Err(source) => {
                        let source = Box::new(source);
                        refuse(&handle, &LaunchError::Engine { data_dir, source });
                    }
                }
            });
        });
}

/// Tells the person, in the terminal and in a dialog, and ends.
fn refuse<R: Runtime>(app: &AppHandle<R>, error: &LaunchError) {
    eprintln!("forge-desktop: {error}\n{}", error.remedy());
    let text = format!("{error}\n\n{}", error.remedy());
    let handle = app.clone();
    app.dialog()
        .message(text)
        .title("Could not start Forge")
        .kind(MessageDialogKind::Error)
        .buttons(MessageDialogButtons::OkCustom("Quit".to_owned()))
        .show(move |_| handle.exit(1));
}

/// The window is to close: hidden while agents run, else the end.
pub fn close<R: Runtime>(app: &AppHandle<R>) {
    let app = app.clone();
    tauri::async_runtime::spawn(async move {
        let agents = running_agents(&app).await;
        if agents == 0 {
            return end(&app, Agents::Stop).await;
        }
        if !tray::is_there(&app) {
            return ask_to_quit(&app, agents);
        }
        windows::hide(&app);
        if !app.state::<Lifetime>().said_hidden.swap(true, Ordering::Relaxed) {
            notify::say_hidden(&app, agents);
        }
    });
}

/// Ends in good order when the session or a terminal asks for it.
pub async fn end_on_signal<R: Runtime>(app: AppHandle<R>) {
    use tokio::signal::unix::{SignalKind, signal};
    let signals = signal(SignalKind::terminate()).and_then(|terminate| {
        Ok((terminate, signal(SignalKind::interrupt())?, signal(SignalKind::hangup())?))
    });
    match signals {
        Ok((mut terminate, mut interrupt, mut hangup)) => {
            // The session or a person ends what runs; a service manager or an upgrade does not.
            let agents = tokio::select! {
                _ = terminate.recv() => Agents::GoOn,
                _ = interrupt.recv() => Agents::Stop,
                _ = hangup.recv() => Agents::Stop,
            };
            end(&app, agents).await;
        }
        Err(error) => tracing::warn!(%error, "failed to listen for signals"),
    }
}
