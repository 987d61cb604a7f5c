//! What a repository says about its own project: its workflow, and `.forge.json`.
//!
//! Both are read from a commit of the default branch, never from a worktree or from what an agent wrote, at once and
//! whenever that branch moves. An invalid file is recorded; what was active before stays so.

use std::{collections::HashMap, sync::Mutex};
use std::{sync::Arc, time::Duration};
use tokio_util::sync::DropGuard;

use forge_git::Repo;
use forge_model::ids::ProjectId;
use forge_model::inner_loop::{InnerLoopState, RepositoryConfig, parse_repository, sources};
use forge_model::service::{self, ServiceDefinition};
use forge_model::workflow::Finding;
use forge_store::table::projects::ProjectRow;
use notify::{RecursiveMode, Watcher as _};
use serde_json::{Map, Value};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use crate::{
    EngineError, World,
    core::{self, sync::locked},
    error::Result,
    project::files::{default_commit, text_at},
};

/// Watches of the default branches that keep a workflow, by project.
#[derive(Default)]
pub(crate) struct RepositoryWatches(pub Mutex<HashMap<ProjectId, DropGuard>>);

/// Where a repository keeps its configuration.
pub(crate) const CONFIG_FILE: &str = ".forge.json";
/// A fetch or a rebase moves many refs in a moment: they are looked at together.
const AFTER_A_CHANGE: Duration = Duration::from_millis(300);

/// A project's inner loop with where each value comes from.
pub(crate) async fn inner_loop(world: &World, id: &ProjectId) -> Result<InnerLoopState> {
    let mut conn = world.store().read().await?;
    let row = conn.projects().get(id).await?.ok_or_else(|| EngineError::not_found("project", id))?;
    let config = core::contexts::context(world, &mut conn, id).await?.settings.inner_loop.clone();
    let repository = row.repository_config.as_ref().map(|read| &read.inner_loop);
    let sources = sources(&config, repository, row.settings.get(forge_model::inner_loop::KEY));
    Ok(InnerLoopState { config, sources, repository: row.repository_config })
}

/// Reads what the repository says, for a row that is about to be written.
pub(crate) async fn read_repository_config(repo: &Repo, row: &mut ProjectRow) -> Result<()> {
    if let Some(commit) = default_commit(repo, row).await? {
        row.repository_config = Some(config_at(repo, &commit, row.repository_config.take()).await?);
    }
    Ok(())
}

/// Reads what the repository says when its default branch has moved.
async fn refresh_repository_config(world: &World, id: &ProjectId) -> Result<()> {
    let (row, context) = {
        let mut conn = world.store().read().await?;
        let Some(row) = conn.projects().get(id).await? else { return Ok(()) };
        (row, core::contexts::context(world, &mut conn, id).await?)
    };
    let repo = core::repository::repo(world, &context).await?;
    let Some(commit) = default_commit(&repo, &row).await? else { return Ok(()) };
    if row.repository_config.as_ref().is_some_and(|read| read.looked_at == commit) {
        return Ok(());
    }
    let found = config_at(&repo, &commit, row.repository_config).await?;
    let mut tx = world.store().write().await?;
    let Some(mut row) = tx.projects().get(id).await? else { return Ok(()) };
    row.repository_config = Some(found);
    tx.projects_mut().update(&mut row, world.now()).await?;
    core::contexts::project_changed(world, &mut tx, &row.project, "repository_config").await?;
    tx.commit().await?;
    core::scheduler::wake_waiting(world);
    Ok(())
}

async fn refresh_repository(world: &World, id: &ProjectId) -> Result<()> {
    super::workflows::refresh_workflow(world, id).await?;
    refresh_repository_config(world, id).await
}

/// Looks at what the repository says now and whenever the default branch moves. A project has one such watch.
pub(crate) fn watch_repository(world: &World, id: &ProjectId) {
    let cancel = CancellationToken::new();
    let ended = cancel.clone();
    locked(&world.part::<RepositoryWatches>().0).insert(id.clone(), cancel.drop_guard());
    let (world, id) = (world.clone(), id.clone());
    core::guarded::in_background(&world.clone(), async move {
        let changed = Arc::new(Notify::new());
        let watcher = match repository_watcher(&world, &id, &changed).await {
            Ok(watcher) => Some(watcher),
            Err(error) => {
                tracing::warn!(project = %id, %error, "what its repository says is read at the next start");
                None
            }
        };
        loop {
            if let Err(error) = refresh_repository(&world, &id).await {
                tracing::warn!(project = %id, %error, "failed to read what its repository says");
            }
            let moved = async {
                changed.notified().await;
                tokio::time::sleep(AFTER_A_CHANGE).await;
            };
            tokio::select! {
                () = ended.cancelled() => break,
                () = world.inner.shutdown.cancelled() => break,
                () = moved => {}
            }
        }
        drop(watcher);
    });
}

/// File events where git keeps the default branch: its own file, or the packed ones.
async fn repository_watcher(
    world: &World,
    id: &ProjectId,
    changed: &Arc<Notify>,
) -> Result<notify::RecommendedWatcher> {
    let context = {
        let mut conn = world.store().read().await?;
        core::contexts::context(world, &mut conn, id).await?
    };
    let repo = core::repository::repo(world, &context).await?;
    let branch = repo.common_dir().join("refs/heads").join(&context.project.default_branch);
    let packed = repo.common_dir().join("packed-refs");
    let (own, signal) = (branch.clone(), Arc::clone(changed));
    let watch = || -> notify::Result<notify::RecommendedWatcher> {
        let mut watcher = notify::recommended_watcher(move |event: notify::Result<notify::Event>| {
            let moves_it = |event: &notify::Event| {
                !event.kind.is_access() && event.paths.iter().any(|path| *path == own || *path == packed)
            };
            // An event that was lost may have been one of these.
            if event.as_ref().map_or(true, moves_it) {
                signal.notify_one();
            }
        })?;
        watcher.watch(repo.common_dir(), RecursiveMode::NonRecursive)?;
        if let Some(folder) = branch.parent().filter(|folder| folder.is_dir()) {
            watcher.watch(folder, RecursiveMode::NonRecursive)?;
        }
        Ok(watcher)
    };
    watch().map_err(|error| EngineError::io("watch the repository")(std::io::Error::other(error)))
}

/// Starts the watches of all projects.
pub(crate) async fn watch_repositories(world: &World) -> Result<()> {
    let all = world.store().read().await?.projects().list().await?;
    for row in all {
        watch_repository(world, &row.project.id);
    }
    Ok(())
}

/// What a commit's file says; what is wrong with it leaves in force what was there before.
async fn config_at(repo: &Repo, commit: &str, before: Option<RepositoryConfig>) -> Result<RepositoryConfig> {
    let nothing = || Value::Object(Map::new());
    let found = match text_at(repo, commit, CONFIG_FILE).await? {
        Ok(Some(text)) => read_config(&text).map(|(inner_loop, services)| (true, inner_loop, services)),
        Ok(None) => Ok((false, nothing(), Vec::new())),
        Err(finding) => Err(vec![finding]),
    };
    let looked_at = commit.to_owned();
    Ok(match found {
        Ok((is_there, inner_loop, services)) => {
            let commit = is_there.then(|| commit.to_owned());
            RepositoryConfig { commit, looked_at, findings: Vec::new(), inner_loop, services }
        }
        Err(findings) => {
            tracing::warn!(%commit, ?findings, "{CONFIG_FILE} is not in force");
            let (commit, inner_loop, services) = before.map_or_else(
                || (None, nothing(), Vec::new()),
                |before| (before.commit, before.inner_loop, before.services),
            );
            RepositoryConfig { commit, looked_at, findings, inner_loop, services }
        }
    })
}

/// What a configuration says, or all that is wrong with it.
fn read_config(text: &str) -> std::result::Result<(Value, Vec<ServiceDefinition>), Vec<Finding>> {
    let inner_loop = parse_repository(text)?;
    Ok((inner_loop, service::parse_repository(text)?))
}
