//! Windows on the engines of other computers: which computers are known, and how another window is opened.
//!
//! Each engine has a window in a process of its own. To open one is to start this program again, which brings the window
//! forward that is there already.

use std::{
    env,
    ffi::OsString,
    fs, io,
    os::unix::process::CommandExt as _,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use forge_api::ApiError;
use forge_exec::variables_of;
use forge_remote::{Contact, Destination, RemoteEngine};
use serde::{Deserialize, Serialize};
use tauri::{AppHandle, Emitter as _, Manager as _, Runtime, State};

use crate::{
    arguments::{Arguments, CONNECT, PROGRAM},
    contact::ContactNews,
    host::Host,
    windows,
};

/// Tells the page that the person wants to connect.
const ASKED: &str = "connect-asked";
/// How many computers are remembered.
const MOST: usize = 10;

/// A computer that a window was connected with.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Known {
    /// Its name, as `ssh` knows it.
    pub host: String,
    /// The program `forge` there, where it was named.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub program: Option<String>,
}

/// Which engine the window shows.
#[derive(Debug, Serialize)]
pub struct EngineShown {
    /// The computer it runs on; none is this one.
    host: Option<String>,
    /// Whether it can be reached.
    contact: ContactNews,
    /// The computers that are known, the latest first.
    known: Vec<String>,
}

/// Has the page ask which computer.
pub fn ask<R: Runtime>(app: &AppHandle<R>) {
    if let Err(error) = app.emit_to(windows::target(), ASKED, ()) {
        tracing::warn!(%error, "failed to ask for a computer");
    }
}

/// The engine of a computer.
pub fn destination(known: &Known) -> Destination {
    let mut to = Destination::new(known.host.clone(), variables_of(env::vars_os()));
    if let Some(program) = &known.program {
        to.forge.clone_from(program);
    }
    to
}

/// Which engine the window shows.
#[expect(clippy::needless_pass_by_value, reason = "Tauri hands its commands their arguments by value")]
#[tauri::command]
pub fn shell_engine(app: AppHandle, host: State<'_, Host>, arguments: State<'_, Arguments>) -> EngineShown {
    let contact = host.there_now().map_or(Contact::Live, RemoteEngine::contact);
    let known = known_in(&file(&app)).into_iter().map(|known| known.host).collect();
    EngineShown { host: arguments.connect.clone(), contact: ContactNews::of(&contact), known }
}

/// Opens the window of another computer's engine, or that of this one's. A computer that cannot be used opens none.
#[tauri::command]
pub async fn shell_connect(app: AppHandle, host: Option<String>) -> Result<(), ApiError> {
    let mut words: Vec<OsString> = Vec::new();
    if let Some(host) = host {
        let host = host.trim().to_owned();
        let known = known_in(&file(&app)).into_iter().find(|known| known.host == host);
        let known = known.unwrap_or(Known { host, program: None });
        let tried =
            RemoteEngine::connect(destination(&known)).await.map_err(|fault| ApiError::from(&fault))?;
        tried.close().await;
        words.extend([CONNECT.into(), known.host.into()]);
        if let Some(program) = known.program {
            words.extend([PROGRAM.into(), program.into()]);
        }
    }
    let started = env::current_exe().and_then(|own| start_and_leave(&own, &words));
    started.map_err(|error| ApiError {
        code: "open_failed".to_owned(),
        message: format!("Could not open another window: {error}."),
        hints: vec!["Start Forge again.".to_owned()],
        details: serde_json::Value::Null,
        status: 500,
    })
}

/// Tries at once to reach the engine again.
#[expect(clippy::needless_pass_by_value, reason = "Tauri hands its commands their arguments by value")]
#[tauri::command]
pub fn shell_reconnect(host: State<'_, Host>) {
    if let Some(there) = host.there_now() {
        there.nudge();
    }
}

/// Starts a program that goes on when this one ends.
fn start_and_leave(program: &Path, words: &[OsString]) -> io::Result<()> {
    let mut command = Command::new(program);
    command.args(words).process_group(0).stdin(Stdio::null()).stdout(Stdio::null());
    let mut child = command.spawn()?;
    // Whenever it ends, nobody shall have to look at its remains.
    std::thread::spawn(move || child.wait());
    Ok(())
}

/// Remembers a computer that could be connected with.
pub fn remember<R: Runtime>(app: &AppHandle<R>, known: Known) {
    let file = file(app);
    if let Err(error) = keep(&file, known) {
        tracing::warn!(%error, file = %file.display(), "failed to remember a computer");
    }
}

fn file<R: Runtime>(app: &AppHandle<R>) -> PathBuf {
    let folder = app.path().config_dir().unwrap_or_default();
    folder.join("forge/connections.json")
}

fn known_in(file: &Path) -> Vec<Known> {
    // A file that is missing or damaged names none.
    fs::read_to_string(file).ok().and_then(|text| serde_json::from_str(&text).ok()).unwrap_or_default()
}

fn keep(file: &Path, known: Known) -> io::Result<()> {
    let mut all = known_in(file);
    all.retain(|it| it.host != known.host);
    all.insert(0, known);
    all.truncate(MOST);
    if let Some(folder) = file.parent() {
        fs::create_dir_all(folder)?;
    }
    // Other windows read it, too.
    let new = file.with_extension(format!("{}.new", std::process::id()));
    fs::write(&new, serde_json::to_string_pretty(&all)?)?;
    fs::rename(&new, file)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn latest_computers_are_remembered_once() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("forge/connections.json");
        assert_eq!(known_in(&file), []);
        for number in 0..12 {
            keep(&file, Known { host: format!("h{number}"), program: None }).unwrap();
        }
        let again = Known { host: "h5".to_owned(), program: Some("/opt/forge".to_owned()) };
        keep(&file, again.clone()).unwrap();
        let all = known_in(&file);
        assert_eq!((all.len(), &all[0]), (MOST, &again));
        assert_eq!(all.iter().filter(|known| known.host == "h5").count(), 1);
        fs::write(&file, "damaged").unwrap();
        assert_eq!(known_in(&file), []);
    }
}
