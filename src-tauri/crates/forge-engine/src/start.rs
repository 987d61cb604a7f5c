//! Opening a data folder and stopping its engine.

use std::{path::Path, sync::Arc, time::Duration};

use forge_git::Git;
use forge_store::Store;

use crate::{
    EngineConfig, InstanceError, Work,
    config::Statements,
    core::{
        self, private_data,
        sync::locked,
        world::{Inner, World, features::Features},
    },
    error::{Result, StartError},
    instance::Instance,
    recovery, registry,
};

/// How long an engine that stops waits for a shell's profile, which takes less than a second as a rule.
const PROFILE_PATIENCE: Duration = Duration::from_secs(5);

/// What becomes of the agents at work when an engine stops.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Runs {
    /// They are ended. The next start goes on with their work in other runs.
    End,
    /// They go on without an engine, for as long as the setting `orphan_minutes` says. The next start goes on with them.
    GoOn,
}

/// Opens the data folder, recovers, and begins to work.
pub(crate) async fn open(config: EngineConfig) -> Result<World, StartError> {
    open_with(config, registry::features()).await
}

/// The same with these features.
pub(crate) async fn open_with(config: EngineConfig, features: Features) -> Result<World, StartError> {
    let io = |path: &Path| {
        let path = path.to_owned();
        move |source| InstanceError::Io { path, source }
    };
    private_data::make(&config.data_dir).map_err(io(&config.data_dir))?;
    let instance = Instance::take(&config.data_dir)?;
    private_data::tighten(&config.data_dir);
    private_data::make(&config.workspace_root).map_err(io(&config.workspace_root))?;
    let mut git =
        Git::discover(config.git.clone(), Arc::clone(&config.environment), &config.data_dir).await?;
    for (name, value) in &config.git_env {
        git = git.with_env(name, value);
    }
    let statements = config.observer.clone().map(|observer| Arc::new(Statements(observer)) as Arc<_>);
    let store = Store::open_observed(&config.data_dir, statements).await?;
    if let Err(error) = forge_exec::survive_file_limit() {
        tracing::warn!(%error, "a limit on the size of files would end this process instead of a write");
    }
    match forge_exec::raise_open_file_limit() {
        Ok(limit) => tracing::debug!(limit, "files that may be open at once"),
        Err(error) => tracing::warn!(%error, "the limit on open files stays as it is"),
    }
    if let Err(error) = forge_exec::become_subreaper() {
        tracing::warn!(%error, "processes that leave their group will be found by their marker alone");
    }
    let keeper = core::keeper::keeper_of(&config, &store).await.map_err(io(&config.data_dir))?;
    let inner = Inner::new(config, store, git, instance, keeper, features);
    let world = World { inner: Arc::new(inner) };
    core::redaction::learn_own_secrets(&world);
    if let Some(detail) = core::disk::check_content(&world).await {
        let (path, folder) = (world.store().path().to_owned(), world.data_dir().to_owned());
        stop(&world, Runs::End).await;
        return Err(forge_store::OpenError::damaged(path, &folder, detail).into());
    }
    core::redaction::learn_profiles(&world).await?;
    core::sleep::follow_clock(&world);
    recovery::recover(&world).await?;
    core::disk::watch_space(&world);
    ask_login_shell(&world);
    Ok(world)
}

/// Runs the profile of the user's shell once, ahead of the first agent.
fn ask_login_shell(world: &World) {
    if world.inner.config.work != Work::Nothing {
        let world = world.clone();
        tokio::spawn(async move {
            if world.inner.shutdown.is_cancelled() {
                return;
            }
            if let Err(error) = world.inner.logins.get(&world.inner.login_shell).await {
                tracing::warn!(%error, "programs are looked for on this process's own path");
            }
        });
    }
}

/// Ends checks and set-up, lets short steps finish, and closes the database. Agents are ended, too, or left to go on
/// with their keeper, where that is a program of its own.
pub(crate) async fn stop(world: &World, runs: Runs) {
    if runs == Runs::GoOn && world.keeper().outlives_engine() {
        world.keeper().leave_running();
        core::location::contacts::leave_running(world);
        world.inner.leave.cancel();
    }
    world.inner.shutdown.cancel();
    world.inner.tracker.close();
    world.inner.tracker.wait().await;
    world.inner.logins.settle(PROFILE_PATIENCE).await;
    world.inner.store.close().await;
    locked(&world.inner.instance).take();
}

/// Tells other programs where this engine can be reached.
pub(crate) fn announce(world: &World, url: &str, socket: Option<&Path>) -> std::io::Result<()> {
    match &*locked(&world.inner.instance) {
        Some(instance) => instance.announce(Some(url.to_owned()), socket.map(Path::to_owned)),
        None => Ok(()),
    }
}

/// Whether a start failed because the database is damaged or gone, which a copy mends.
#[must_use]
pub fn needs_restore(error: &StartError) -> bool {
    use forge_store::OpenError;
    matches!(error, StartError::Open(OpenError::Damaged { .. } | OpenError::Emptied { .. }))
}
