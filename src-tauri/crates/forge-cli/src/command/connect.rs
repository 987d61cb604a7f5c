//! `forge connect`: the window on the engine of another computer, or how to use it without one.

use std::{env, ffi::OsString, io, path::PathBuf};

use forge_exec::{become_program, find_program, variables_of};
use forge_remote::{Destination, RemoteEngine};
use serde_json::json;

use crate::{answer::Answer, args::Connect, error::CliError};

/// The window's program.
const WINDOW: &str = "forge-desktop";

/// Tests the connection, then replaces this program with the window, or prints how to use the engine.
pub(crate) async fn run(asked: Connect) -> Result<Answer, CliError> {
    let Connect { host, program, print } = asked;
    let mut destination = Destination::new(host.clone(), variables_of(env::vars_os()));
    if let Some(program) = &program {
        destination.forge.clone_from(program);
    }
    let engine = RemoteEngine::connect(destination).await.map_err(CliError::There)?;
    let meta = engine.meta().clone();
    engine.close().await;
    if !print
        && has_display()
        && let Some(window) = window()
    {
        let mut arguments: Vec<OsString> = vec!["--connect".into(), host.into()];
        if let Some(program) = program {
            arguments.extend(["--program".into(), program.into()]);
        }
        let error = become_program(&window, &arguments);
        return Err(CliError::io(format!("start {}", window.display()))(error));
    }
    let (version, data_dir) = (&meta["version"], &meta["data_dir"]);
    let text = format!(
        "Connected to {host}: Forge {}, data folder {}.\nUse it with --on, such as `forge --on {host} task list`.",
        version.as_str().unwrap_or_default(),
        data_dir.as_str().unwrap_or_default(),
    );
    Ok(Answer::new(json!({ "host": host, "version": version, "data_dir": data_dir }), text))
}

fn has_display() -> bool {
    ["WAYLAND_DISPLAY", "DISPLAY"].iter().any(|name| env::var_os(name).is_some_and(|value| !value.is_empty()))
}

/// The window's program: beside this one, or on the search path.
fn window() -> Option<PathBuf> {
    let beside = env::current_exe().and_then(|own| {
        let beside = own.with_file_name(WINDOW);
        if beside.is_file() { Ok(beside) } else { Err(io::ErrorKind::NotFound.into()) }
    });
    beside.ok().or_else(|| find_program(WINDOW, &env::var("PATH").ok()?))
}
