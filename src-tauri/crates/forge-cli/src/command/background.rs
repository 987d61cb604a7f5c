//! `forge serve --background`: finds the engine of the data folder, or starts one that outlives this program.

use std::{
    ffi::OsString,
    fs,
    os::unix::fs::OpenOptionsExt as _,
    path::{Path, PathBuf},
    time::Duration,
};

use forge_engine::{EngineAddress, data_folder};
use forge_exec::{start_apart_in, variables_of};
use forge_server::MAX_SOCKET_PATH;
use serde_json::{Value, json};

use crate::{answer::Answer, error::CliError, place};

/// What an engine that was started so writes as errors, in its data folder.
const LOG: &str = "serve.log";
/// The socket of an engine that was started so, in its data folder.
const SOCKET: &str = "engine.sock";

/// How long an engine that is there may take to say where it serves.
const HOLDER_PATIENCE: Duration = Duration::from_secs(10);
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// Says where the engine of the folder serves, as `forge serve` does.
pub(crate) async fn run(data_dir: PathBuf, socket: Option<PathBuf>) -> Result<Answer, CliError> {
    let line = match data_folder::holder(&data_dir) {
        Some(holder) => serving(&data_dir, holder).await?,
        None => start(&data_dir, socket).await?,
    };
    Ok(Answer::new(line.clone(), line.to_string()))
}

/// Where the engine serves that has the folder; it may be about to.
async fn serving(data_dir: &Path, first: EngineAddress) -> Result<Value, CliError> {
    let patience = tokio::time::Instant::now() + HOLDER_PATIENCE;
    let mut holder = first;
    loop {
        if let Some(url) = &holder.url {
            let token_file = data_dir.join("token");
            return Ok(json!({
                "url": url,
                "socket": holder.socket,
                "token_file": token_file.exists().then_some(token_file),
                "data_dir": data_dir,
                "pid": holder.pid,
            }));
        }
        if tokio::time::Instant::now() > patience {
            return Err(CliError::Busy { data_dir: data_dir.to_owned(), holder });
        }
        tokio::time::sleep(LOOK_EVERY).await;
        holder = data_folder::holder(data_dir).unwrap_or(holder);
    }
}

async fn start(data_dir: &Path, socket: Option<PathBuf>) -> Result<Value, CliError> {
    let folder = || CliError::io(format!("use {}", data_dir.display()));
    place::make(data_dir)?;
    let log_file = data_dir.join(LOG);
    let mut log = fs::OpenOptions::new();
    let log = log.create(true).write(true).truncate(true).mode(0o600).open(&log_file).map_err(folder())?;
    let program = std::env::current_exe().map_err(CliError::io("find this program"))?;
    let mut arguments: Vec<OsString> = vec!["serve".into(), "--quiet".into(), "--port".into(), "0".into()];
    arguments.extend(["--data-dir".into(), data_dir.into()]);
    let own = data_dir.join(SOCKET);
    let socket = socket.or_else(|| (own.as_os_str().len() <= MAX_SOCKET_PATH).then_some(own));
    if let Some(socket) = socket {
        let socket = std::path::absolute(&socket).map_err(CliError::io("find the folder of the socket"))?;
        arguments.extend(["--socket".into(), socket.into()]);
    }
    let started = start_apart_in(&variables_of(std::env::vars_os()), &program, &arguments, log).await;
    let line = match started {
        Ok(line) => line,
        Err(error) => {
            if let Some(holder) = data_folder::holder(data_dir) {
                // Somebody was quicker.
                return serving(data_dir, holder).await;
            }
            let said = fs::read_to_string(&log_file).unwrap_or_default();
            return Err(CliError::Background {
                reason: reason_of(&said).unwrap_or_else(|| error.to_string()),
            });
        }
    };
    serde_json::from_str(&line).map_err(|_| CliError::Background { reason: format!("it said `{line}`") })
}

/// Why an engine did not start, by what it wrote last as errors: `code: message`, then hints.
fn reason_of(said: &str) -> Option<String> {
    let line = said.lines().rfind(|line| !line.is_empty() && !line.starts_with("hint: "))?;
    Some(line.split_once(": ").map_or(line, |(_, message)| message).to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reason_is_the_last_error_without_its_code() {
        let said = "WARN something\nserve_failed: Could not listen on /x: another program listens there\nhint: Choose.\n";
        assert_eq!(reason_of(said).as_deref(), Some("Could not listen on /x: another program listens there"));
        assert_eq!(reason_of("hint: x\n"), None);
    }
}
