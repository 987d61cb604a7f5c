//! Where Forge keeps its data and how its engine is set up, from the command line and the environment.

use std::{
    env,
    ffi::OsString,
    fs,
    os::unix::fs::DirBuilderExt as _,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use forge_engine::{EngineConfig, KeeperPlace, Observer};

use crate::error::CliError;

const DATA_DIR: &str = "FORGE_DATA_DIR";
const WORKSPACE_ROOT: &str = "FORGE_WORKSPACE_ROOT";
const CLEANUP_DELAY: &str = "FORGE_WORKSPACE_CLEANUP_DELAY_SECONDS";
const HOST_PACE: &str = "FORGE_HOST_PACE";
const VALIDATE_LIMIT: &str = "FORGE_VALIDATE_COMMAND_SECONDS";
const CWD: &str = "FORGE_CWD";

/// A set variable; one that is empty counts as not set.
fn variable(name: &str) -> Option<OsString> {
    env::var_os(name).filter(|value| !value.is_empty())
}

/// The data folder: the one asked for, else the environment's, else the platform's.
pub(crate) fn data_dir(asked: Option<PathBuf>) -> Result<PathBuf, CliError> {
    let chosen = asked.or_else(|| variable(DATA_DIR).map(PathBuf::from));
    let folder = chosen.or_else(|| dirs::data_dir().map(|folder| folder.join("forge")));
    let folder = folder.ok_or_else(|| CliError::Usage {
        message: "this user has no data folder".to_owned(),
        hint: "Pass --data-dir, or set FORGE_DATA_DIR.",
    })?;
    // Its full path, since engines are told apart by it and the current folder may be anywhere.
    std::path::absolute(&folder).map_err(CliError::io(format!("find {}", folder.display())))
}

/// Makes the data folder if it is missing; only its owner can look into it.
pub(crate) fn make(data_dir: &Path) -> Result<(), CliError> {
    let made = fs::DirBuilder::new().recursive(true).mode(0o700).create(data_dir);
    made.map_err(CliError::io(format!("make {}", data_dir.display())))
}

/// The folder that `validate` checks: the one asked for, else the environment's, else the program's own.
pub(crate) fn checked_folder(asked: Option<PathBuf>) -> Result<String, CliError> {
    let folder = asked.or_else(|| variable(CWD).map(PathBuf::from)).unwrap_or_default();
    absolute(if folder.as_os_str().is_empty() { Path::new(".") } else { &folder })
}

/// A path as the engine takes it, which may run in another folder. Its contract is text.
pub(crate) fn absolute(path: &Path) -> Result<String, CliError> {
    let full = std::path::absolute(path).map_err(CliError::io(format!("find {}", path.display())))?;
    full.into_os_string().into_string().map_err(|full| CliError::Usage {
        message: format!("Could not use the folder {}: its path is not UTF-8", full.display()),
        hint: "Rename the folder.",
    })
}

/// The value of a variable that holds a number above 0, as `what` names it.
fn above_zero(name: &str, what: &str) -> Result<Option<u32>, CliError> {
    let Some(text) = variable(name) else { return Ok(None) };
    let number = text.to_str().and_then(|text| text.parse().ok()).filter(|number| *number > 0);
    number.map(Some).ok_or_else(|| CliError::Usage {
        message: format!("{name} must be {what} above 0"),
        hint: "Set it to a whole number, or unset it.",
    })
}

/// The configuration of an engine on `data_dir`.
pub(crate) fn engine_config(
    data_dir: PathBuf,
    observer: Option<Arc<dyn Observer>>,
) -> Result<EngineConfig, CliError> {
    let mut config = EngineConfig::new(data_dir, env::vars_os()).with_tokens_of(env::vars_os());
    if let Some(root) = variable(WORKSPACE_ROOT) {
        let root = PathBuf::from(root);
        config.workspace_root =
            std::path::absolute(&root).map_err(CliError::io(format!("find {}", root.display())))?;
    }
    if let Some(seconds) = variable(CLEANUP_DELAY) {
        let seconds = seconds.to_str().and_then(|text| text.parse().ok()).ok_or_else(|| CliError::Usage {
            message: format!("{CLEANUP_DELAY} must be a number of seconds"),
            hint: "Set it to a whole number, or unset it.",
        })?;
        config.cleanup_delay = Duration::from_secs(seconds);
    }
    config.host_pace = above_zero(HOST_PACE, "a number")?.unwrap_or(config.host_pace);
    if let Some(seconds) = above_zero(VALIDATE_LIMIT, "a number of seconds")? {
        config.validate_command_limit = Duration::from_secs(u64::from(seconds));
    }
    config.keeper = KeeperPlace::beside(&env::current_exe().map_err(CliError::io("find this program"))?);
    config.cwd = Some(checked_folder(None)?.into());
    config.login_shell = variable("SHELL");
    config.observer = observer;
    Ok(config)
}
