//! A board whose user reaches an ssh server of the test's own.

use std::{
    collections::BTreeMap,
    ffi::{OsStr, OsString},
    path::Path,
    sync::Arc,
};

use anyhow::Result;
use forge_engine::EngineConfig;
use forge_testkit::Sandbox;
pub(crate) use forge_tests::ssh_server::Server;
use forge_tests::ssh_server::give_ssh;
use serde_json::Value;

/// A board whose user has a home in its folder, with this ssh configuration.
pub(crate) async fn board(configuration: &str, settings: Value) -> Result<Sandbox> {
    board_with(configuration, settings, |_| {}).await
}

/// The same, with changes to the engine's configuration.
pub(crate) async fn board_with(
    configuration: &str,
    settings: Value,
    change: impl FnOnce(&mut EngineConfig),
) -> Result<Sandbox> {
    let dir = tempfile::tempdir()?;
    give_ssh(&dir.path().join("home"), configuration)?;
    let configure = configuring(dir.path())?;
    let both = |config: &mut EngineConfig| {
        configure(config);
        change(config);
    };
    Sandbox::in_folder(dir, settings, both).await
}

/// What makes an engine in the folder of such a board that user's, with a keeper that outlives it.
pub(crate) fn configuring(folder: &Path) -> Result<impl FnOnce(&mut EngineConfig) + use<>> {
    let mut variables: BTreeMap<OsString, OsString> =
        (*forge_exec::variables_of(std::env::vars_os())).clone();
    let path = variables.get(OsStr::new("PATH")).cloned().unwrap_or_default();
    let path =
        std::env::join_paths(std::iter::once(folder.join("home/bin")).chain(std::env::split_paths(&path)))?;
    variables.extend([("PATH".into(), path), ("HOME".into(), folder.join("home").into())]);
    let keeper = forge_engine::KeeperPlace::Program(forge_testkit::program("forge-keeper")?);
    Ok(move |config: &mut EngineConfig| {
        config.environment = Arc::new(variables);
        config.keeper = keeper;
    })
}
