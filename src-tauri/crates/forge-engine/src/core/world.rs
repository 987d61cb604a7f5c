//! What an engine works with, [`World`], and what all its clones share: configuration, store, git, the features, and the
//! state that these keep in this process. What a feature is, and a step, is in the parts of this module.

pub(crate) mod cx;
pub(crate) mod features;
pub(crate) mod step;

use std::{
    any::{Any, TypeId},
    collections::HashMap,
    path::{Path, PathBuf},
    sync::{Arc, Mutex},
};

use forge_exec::{LoginEnvironments, LoginShell};
use forge_git::Git;
use forge_keeper::Keeper;
use forge_model::event::EventType;
use forge_model::ids::{ProjectId, TaskId};
use forge_model::time::Timestamp;
use forge_store::table::tasks::TaskRow;
use forge_store::{Store, Tx};
use serde_json::Value;
use tokio::sync::watch;
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use self::features::Features;
use crate::{config::EngineConfig, core::sync::locked, error::Result, instance::Instance};

/// What is done with and to: database, git, logins, clock, observer, and what features keep in this process. Cheap to
/// clone; all clones are the same.
#[derive(Clone)]
pub(crate) struct World {
    pub(crate) inner: Arc<Inner>,
}

pub(crate) struct Inner {
    pub(crate) config: EngineConfig,
    pub(crate) store: Store,
    pub(crate) git: Git,
    /// None once stopped: the folder is free for another engine.
    pub(crate) instance: Mutex<Option<Instance>>,
    features: Features,
    parts: Parts,
    /// The environments of login shells.
    pub(crate) logins: LoginEnvironments,
    /// The user's own shell.
    pub(crate) login_shell: LoginShell,
    /// Bumped when a step ends or a task starts to wait, for those who wait until a task is settled.
    progress: watch::Sender<u64>,
    /// When the time was recorded last, or the engine began.
    pub(crate) marked: Mutex<tokio::time::Instant>,
    /// Bumped when the wall clock jumps.
    pub(crate) clock_jumps: watch::Sender<u64>,
    /// What runs agents, checks, hooks and set-up.
    keeper: Keeper,
    /// Fired when the runs are left to go on without this engine.
    pub(crate) leave: CancellationToken,
    pub(crate) shutdown: CancellationToken,
    pub(crate) tracker: TaskTracker,
}

/// What features keep in this process, each by its type; made when it is first asked for.
#[derive(Default)]
struct Parts(Mutex<HashMap<TypeId, Arc<dyn Any + Send + Sync>>>);

impl Parts {
    fn get<T: Default + Send + Sync + 'static>(&self) -> Arc<T> {
        let mut parts = locked(&self.0);
        let part = parts.entry(TypeId::of::<T>()).or_insert_with(|| Arc::new(T::default()));
        // A part is filed under its own type.
        Arc::clone(part).downcast().unwrap_or_default()
    }
}

impl Inner {
    /// What all clones share, before anything is done.
    pub(crate) fn new(
        config: EngineConfig,
        store: Store,
        git: Git,
        instance: Instance,
        keeper: Keeper,
        features: Features,
    ) -> Self {
        let shell = config.login_shell.clone().unwrap_or_else(|| "bash".into());
        Self {
            store,
            git,
            instance: Mutex::new(Some(instance)),
            features,
            parts: Parts::default(),
            logins: LoginEnvironments::new(Arc::clone(&config.environment), config.login_patience),
            login_shell: LoginShell::of_user(&shell),
            progress: watch::Sender::new(0),
            marked: Mutex::new(tokio::time::Instant::now()),
            clock_jumps: watch::Sender::new(0),
            keeper,
            leave: CancellationToken::new(),
            shutdown: CancellationToken::new(),
            tracker: TaskTracker::new(),
            config,
        }
    }
}

impl World {
    /// The database.
    pub(crate) fn store(&self) -> &Store {
        &self.inner.store
    }

    /// Where everything that lasts lives.
    pub(crate) fn data_dir(&self) -> &Path {
        &self.inner.config.data_dir
    }

    /// What runs agents, checks, hooks and set-up.
    pub(crate) fn keeper(&self) -> &Keeper {
        &self.inner.keeper
    }

    /// The time now.
    pub(crate) fn now(&self) -> Timestamp {
        self.inner.config.clock.now()
    }

    pub(crate) fn new_id<T: From<String>>(&self) -> T {
        T::from(self.inner.config.ids.new_id())
    }

    /// What the features are to the core.
    pub(crate) fn features(&self) -> &Features {
        &self.inner.features
    }

    /// What a feature keeps in this process.
    pub(crate) fn part<T: Default + Send + Sync + 'static>(&self) -> Arc<T> {
        self.inner.parts.get()
    }

    pub(crate) fn git(&self) -> &Git {
        &self.inner.git
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
