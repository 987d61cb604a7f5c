//! What the page may ask of its host: operations of the contract, and the few things only a desktop can do.

use std::path::PathBuf;

use forge_api::{Api, ApiError};
use forge_model::actor::Via;
use forge_remote::RemoteEngine;
use serde_json::Value;
use tauri::{AppHandle, State};
use tauri_plugin_dialog::DialogExt as _;
use tokio::sync::{SetOnce, oneshot};

use crate::{
    open_task::{OpenTask, Pending},
    outside::{self, OpenKind, OutsideError},
};

/// The engine of the window.
#[derive(Clone)]
pub enum WindowEngine {
    /// It runs in this process.
    Here(Api),
    /// It runs on another computer.
    There(RemoteEngine),
}

impl WindowEngine {
    /// Does one operation for the person at the window.
    pub async fn call(&self, op: &str, input: Value) -> Result<Value, ApiError> {
        match self {
            Self::Here(api) => api.call(Via::Board, op, input).await,
            Self::There(there) => there.call(Via::Board, op, input).await,
        }
    }
}

/// The engine's interface for the page. The window opens while the engine starts, so a call may have to wait.
#[derive(Default)]
pub struct Host {
    engine: SetOnce<WindowEngine>,
}

impl Host {
    /// The engine is there; whoever waits goes on. There is one engine in the life of the program.
    pub fn ready(&self, engine: WindowEngine) {
        if self.engine.set(engine).is_err() {
            tracing::error!("the engine was started twice");
        }
    }

    /// The interface of an engine of this process, if it has started.
    pub fn own_now(&self) -> Option<&Api> {
        match self.engine.get()? {
            WindowEngine::Here(api) => Some(api),
            WindowEngine::There(_) => None,
        }
    }

    /// The engine on another computer, if the window is connected with one.
    pub fn there_now(&self) -> Option<&RemoteEngine> {
        match self.engine.get()? {
            WindowEngine::Here(_) => None,
            WindowEngine::There(there) => Some(there),
        }
    }

    /// The engine, once it has started. If it cannot start, the program ends, and with it the wait.
    pub async fn engine(&self) -> &WindowEngine {
        self.engine.wait().await
    }
}

/// Runs one operation of the contract for the person at the window.
#[tauri::command]
pub async fn api_call(host: State<'_, Host>, op: String, input: Value) -> Result<Value, ApiError> {
    host.engine().await.call(&op, input).await
}

/// Asks for a folder; none when the person changed their mind.
#[tauri::command]
pub async fn shell_pick_folder(app: AppHandle) -> Option<PathBuf> {
    let (answer, answered) = oneshot::channel();
    app.dialog().file().set_title("Choose a repository").pick_folder(move |folder| {
        // The page may be gone by now; then nobody waits.
        let _ = answer.send(folder);
    });
    answered.await.ok().flatten().and_then(|folder| folder.into_path().ok())
}

/// Keeps a text where the person wants it; where that is, or none when they changed their mind.
#[tauri::command]
pub async fn shell_save_text(
    app: AppHandle,
    name: String,
    text: String,
) -> Result<Option<PathBuf>, OutsideError> {
    let (answer, answered) = oneshot::channel();
    app.dialog().file().set_title(format!("Save {name}")).set_file_name(name).save_file(move |file| {
        // The page may be gone by now; then nobody waits.
        let _ = answer.send(file);
    });
    let file = answered.await.ok().flatten().and_then(|file| file.into_path().ok());
    let Some(file) = file else { return Ok(None) };
    let written = tokio::fs::write(&file, text).await;
    written.map_err(|source| OutsideError::Save { path: file.clone(), source })?;
    Ok(Some(file))
}

/// Opens a place outside the window; with a destination, one on the machine that ssh reaches by it. An editor goes to the
/// line, from 1.
#[tauri::command]
pub async fn shell_open(
    app: AppHandle,
    target: String,
    kind: OpenKind,
    destination: Option<String>,
    line: Option<u32>,
) -> Result<(), OutsideError> {
    match destination {
        Some(destination) => outside::open_there(&app, &target, kind, (&destination, line)).await,
        None => outside::open(&app, &target, kind, line).await,
    }
}

/// The first screen is painted and the page listens.
#[expect(clippy::needless_pass_by_value, reason = "Tauri hands its commands their arguments by value")]
#[tauri::command]
pub fn ui_ready(app: AppHandle, pending: State<'_, Pending>) {
    tracing::info!("the first screen is painted");
    if let Some(task) = pending.page_listens() {
        OpenTask::send(&task, &app);
    }
}
