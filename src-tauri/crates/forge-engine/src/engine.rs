//! The engine: what all commands and steps share.

use std::{
    collections::HashMap,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard},
    time::Duration,
};

use forge_exec::{LoginEnvironments, LoginShell};
use forge_git::{Git, Repo};
use forge_model::event::EventType;
use forge_model::ids::{ProjectId, TaskId};
use forge_model::storage::StorageTrouble;
use forge_model::time::Timestamp;
use forge_store::table::tasks::TaskRow;
use forge_store::{Store, Tx};
use serde_json::Value;
use tokio::sync::watch;
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use crate::{
    EngineConfig, InstanceError, Work,
    config::Statements,
    core::{
        self, context::ProjectContext, features::Features, private_data, redaction::Secrets,
        scheduler::Scheduler, sync::locked, workers::Workers, worktree_lock::Locks,
    },
    error::Result,
    export::ExportTurns,
    instance::{EngineAddress, Instance},
    merge::queue::MergeQueues,
    program::growth::{GROWTHS_AHEAD, Growths, LogGrowth},
    pull_request::hosts::Hosts,
    recovery, registry,
    run::Running,
    validate::Validations,
    workspace::watch::Watches,
};

/// How long an engine that stops waits for a shell's profile, which takes less than a second as a rule.
const PROFILE_PATIENCE: Duration = Duration::from_secs(5);

/// Why an engine cannot start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The data folder is taken or cannot be used.
    #[error(transparent)]
    Instance(#[from] InstanceError),
    /// The database cannot be opened.
    #[error(transparent)]
    Open(#[from] forge_store::OpenError),
    /// git is missing or too old.
    #[error("failed to {0}")]
    Git(#[from] forge_git::GitError),
    /// What an earlier process left cannot be settled.
    #[error("failed to settle what an earlier run left: {0}")]
    Recovery(#[from] crate::EngineError),
}

impl StartError {
    /// What is wrong with the disk or the database, if that is the reason. A damaged database needs a copy, the others
    /// pass.
    #[must_use]
    pub fn storage_trouble(&self) -> Option<StorageTrouble> {
        match self {
            Self::Open(error) => error.trouble(),
            Self::Recovery(error) => error.storage_trouble(),
            Self::Instance(InstanceError::Io { source, .. }) => forge_store::trouble_of_io(source),
            Self::Instance(InstanceError::Taken(_)) | Self::Git(_) => None,
        }
    }
}

/// The engine of one data folder. Cheap to clone; all clones are the same engine.
#[derive(Clone)]
pub struct Engine {
    pub(crate) inner: Arc<Inner>,
}

pub(crate) struct Inner {
    pub(crate) config: EngineConfig,
    pub(crate) store: Store,
    git: Git,
    /// None once stopped: the folder is free for another engine.
    instance: Mutex<Option<Instance>>,
    /// Where agents find the MCP server of this engine.
    pub(crate) mcp_url: Mutex<Option<String>>,
    contexts: Mutex<HashMap<ProjectId, Arc<ProjectContext>>>,
    repos: Mutex<HashMap<PathBuf, Repo>>,
    pub(crate) features: &'static Features,
    pub(crate) workers: Workers,
    pub(crate) running: Running,
    pub(crate) watches: Watches,
    pub(crate) hosts: Hosts,
    /// Watches of the default branches that keep a workflow, by project.
    pub(crate) repository_watches: Mutex<HashMap<ProjectId, tokio_util::sync::DropGuard>>,
    /// Whose turn it is to write a project's exports, and to read each of them.
    pub(crate) exports: ExportTurns,
    pub(crate) scheduler: Scheduler,
    pub(crate) locks: Locks,
    pub(crate) merge_queues: MergeQueues,
    pub(crate) validations: Validations,
    pub(crate) storage: core::disk::Storage,
    /// Why the last daily copy of the database could not be made.
    pub(crate) copy_failure: Mutex<Option<String>>,
    /// Told when what is old is to be looked for before its time.
    pub(crate) sweep: tokio::sync::Notify,
    /// Whose turn it is to look for it.
    pub(crate) sweeping: tokio::sync::Mutex<()>,
    /// Worktrees that were looked at a moment ago, when their review began.
    pub(crate) looks: crate::review::capture::Looks,
    /// Whose turn it is to measure.
    pub(crate) meter: tokio::sync::Mutex<()>,
    /// Told when an anomaly of cost is about to be committed.
    pub(crate) unexported: tokio::sync::Notify,
    /// The environments of login shells.
    pub(crate) logins: LoginEnvironments,
    /// The user's own shell.
    pub(crate) login_shell: LoginShell,
    /// Log growth: the execution and its newest entry; not worth a row each.
    pub(crate) log_growth: tokio::sync::broadcast::Sender<LogGrowth>,
    /// Bumped when a step ends or a task starts to wait, for those who wait until a task is settled.
    progress: watch::Sender<u64>,
    /// What is taken out of texts before they are written.
    pub(crate) secrets: Secrets,
    /// When the time was recorded last, or the engine began.
    pub(crate) marked: Mutex<tokio::time::Instant>,
    /// Bumped when the wall clock jumps.
    pub(crate) clock_jumps: watch::Sender<u64>,
    pub(crate) shutdown: CancellationToken,
    pub(crate) tracker: TaskTracker,
}

impl Engine {
    /// Opens the data folder, settles what an earlier process left, and goes on with what is pending.
    ///
    /// # Errors
    /// When another engine has the folder, the database cannot be opened, or git is missing or too old.
    pub async fn start(config: EngineConfig) -> Result<Self, StartError> {
        // Boxed, since whoever starts an engine would otherwise carry all of this on its own stack.
        Box::pin(Self::open(config)).await
    }

    async fn open(config: EngineConfig) -> Result<Self, StartError> {
        let io = |path: &Path| {
            let path = path.to_owned();
            move |source| InstanceError::Io { path, source }
        };
        private_data::make(&config.data_dir).map_err(io(&config.data_dir))?;
        let instance = Instance::take(&config.data_dir)?;
        private_data::tighten(&config.data_dir);
        private_data::make(&config.workspace_root).map_err(io(&config.workspace_root))?;
        let mut git =
            Git::discover(config.git.clone()).await?.with_variables(Arc::clone(&config.environment));
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
        let shell = config.login_shell.clone().unwrap_or_else(|| "bash".into());
        let engine = Self {
            inner: Arc::new(Inner {
                store,
                git,
                instance: Mutex::new(Some(instance)),
                mcp_url: Mutex::default(),
                contexts: Mutex::default(),
                repos: Mutex::default(),
                features: &registry::FEATURES,
                workers: Workers::default(),
                running: Running::default(),
                watches: Watches::default(),
                hosts: Hosts::default(),
                repository_watches: Mutex::default(),
                exports: Mutex::default(),
                scheduler: Scheduler::default(),
                locks: Locks::default(),
                merge_queues: MergeQueues::default(),
                validations: Validations::default(),
                storage: core::disk::Storage::default(),
                copy_failure: Mutex::default(),
                sweep: tokio::sync::Notify::new(),
                sweeping: tokio::sync::Mutex::default(),
                looks: crate::review::capture::Looks::default(),
                meter: tokio::sync::Mutex::default(),
                unexported: tokio::sync::Notify::new(),
                logins: LoginEnvironments::new(Arc::clone(&config.environment), config.login_patience),
                login_shell: LoginShell::of_user(&shell),
                log_growth: tokio::sync::broadcast::Sender::new(GROWTHS_AHEAD),
                progress: watch::Sender::new(0),
                secrets: Secrets::default(),
                marked: Mutex::new(tokio::time::Instant::now()),
                clock_jumps: watch::Sender::new(0),
                shutdown: CancellationToken::new(),
                tracker: TaskTracker::new(),
                config,
            }),
        };
        core::redaction::learn_own_secrets(&engine);
        if let Some(detail) = core::disk::check_content(&engine).await {
            let (path, folder) = (engine.store().path().to_owned(), engine.data_dir().to_owned());
            engine.stop().await;
            return Err(forge_store::OpenError::damaged(path, &folder, detail).into());
        }
        core::sleep::follow_clock(&engine);
        recovery::recover(&engine).await?;
        core::disk::watch_space(&engine);
        engine.ask_login_shell();
        Ok(engine)
    }

    /// Runs the profile of the user's shell once, ahead of the first agent.
    fn ask_login_shell(&self) {
        if self.inner.config.work != Work::Nothing {
            let engine = self.clone();
            tokio::spawn(async move {
                if engine.inner.shutdown.is_cancelled() {
                    return;
                }
                if let Err(error) = engine.inner.logins.get(&engine.inner.login_shell).await {
                    tracing::warn!(%error, "programs are looked for on this process's own path");
                }
            });
        }
    }

    /// Ends agents, checks and set-up (they stay pending for the next start), lets short steps finish,
    /// and closes the database.
    pub async fn stop(&self) {
        self.inner.shutdown.cancel();
        self.inner.tracker.close();
        self.inner.tracker.wait().await;
        self.inner.logins.settle(PROFILE_PATIENCE).await;
        self.inner.store.close().await;
        locked(&self.inner.instance).take();
    }

    /// Who has a data folder open, if somebody does.
    #[must_use]
    pub fn holder_of(data_dir: &Path) -> Option<EngineAddress> {
        Instance::holder(data_dir)
    }

    /// Tells other programs where this engine can be reached.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn announce(&self, url: &str) -> std::io::Result<()> {
        match &*locked(&self.inner.instance) {
            Some(instance) => instance.announce(Some(url.to_owned())),
            None => Ok(()),
        }
    }

    /// The database.
    #[must_use]
    pub fn store(&self) -> &Store {
        &self.inner.store
    }

    /// Where everything that lasts lives.
    #[must_use]
    pub fn data_dir(&self) -> &Path {
        &self.inner.config.data_dir
    }

    /// The version of the git program in use.
    #[must_use]
    pub fn git_version(&self) -> (u32, u32, u32) {
        self.inner.git.version()
    }

    /// Listens to the growth of logs from now on.
    #[must_use]
    pub fn log_growth(&self) -> Growths {
        Growths::new(self.inner.log_growth.subscribe())
    }

    /// The engine's clock.
    #[must_use]
    pub fn now(&self) -> Timestamp {
        self.inner.config.clock.now()
    }

    pub(crate) fn new_id<T: From<String>>(&self) -> T {
        T::from(self.inner.config.ids.new_id())
    }

    pub(crate) fn git(&self) -> &Git {
        &self.inner.git
    }

    pub(crate) fn contexts(&self) -> MutexGuard<'_, HashMap<ProjectId, Arc<ProjectContext>>> {
        locked(&self.inner.contexts)
    }

    pub(crate) fn repos(&self) -> MutexGuard<'_, HashMap<PathBuf, Repo>> {
        locked(&self.inner.repos)
    }

    /// Passes a boundary; what is before it is committed.
    pub(crate) fn point(&self, name: &str) {
        if let Some(observer) = &self.inner.config.observer {
            observer.at(name);
        }
    }

    pub(crate) fn made_progress(&self) {
        self.inner.progress.send_modify(|n| *n += 1);
    }

    pub(crate) fn progress(&self) -> watch::Receiver<u64> {
        self.inner.progress.subscribe()
    }

    /// Where a task's logs are.
    pub(crate) fn log_dir(&self, project: &ProjectId, task: &TaskId) -> PathBuf {
        self.inner.config.data_dir.join("logs").join(project.as_str()).join(task.as_str())
    }

    /// Records an event about a task.
    pub(crate) async fn emit(
        &self,
        tx: &mut Tx,
        kind: EventType,
        task: &TaskRow,
        entity: &str,
        data: &Value,
    ) -> Result<()> {
        tx.emit(kind, self.now(), Some(&task.project_id), Some(&task.id), entity, data).await?;
        Ok(())
    }
}
