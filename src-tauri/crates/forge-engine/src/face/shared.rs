//! Public methods of [`Engine`] for its life, and for Forge as a whole: settings, events, redaction.

use std::{path::Path, sync::Arc};

use forge_model::ids::ProjectId;
use forge_model::ids::TaskId;
use forge_model::redact::Redactor;
use serde_json::Value;
use tokio::sync::watch;

use crate::{
    Computer, Engine, EngineConfig, Examination, core,
    error::{Result, StartError},
    run,
    start::{self, Runs},
};

impl Engine {
    /// Opens the data folder, settles what an earlier process left, and goes on with what is pending.
    ///
    /// # Errors
    /// When another engine has the folder, the database cannot be opened, or git is missing or too old.
    pub async fn start(config: EngineConfig) -> Result<Self, StartError> {
        // Boxed, since whoever starts an engine would otherwise carry all of this on its own stack.
        Ok(Self { world: Box::pin(start::open(config)).await? })
    }

    /// Ends agents, checks and set-up (they stay pending for the next start), lets short steps finish,
    /// and closes the database.
    pub async fn stop(&self) {
        start::stop(&self.world, Runs::End).await;
    }

    /// The same, but agents go on without an engine, for as long as the setting `orphan_minutes` says; the next start
    /// goes on with them. Without the keeper's program they are ended.
    pub async fn leave(&self) {
        start::stop(&self.world, Runs::GoOn).await;
    }

    /// What this engine found on this computer.
    #[must_use]
    pub fn computer(&self) -> Computer {
        core::computer::computer(&self.world)
    }

    /// Reads the whole database and the profile of the login shell, and says what is wrong with them.
    ///
    /// # Errors
    /// When the database cannot be read for another reason than damage.
    pub async fn examine(&self) -> Result<Examination> {
        core::computer::examine(&self.world).await
    }

    /// Tells other programs where this engine can be reached.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn announce(&self, url: &str, socket: Option<&Path>) -> std::io::Result<()> {
        start::announce(&self.world, url, socket)
    }

    /// Has pending work of a task and its parts done, in an engine that does only what it is told of
    /// ([`crate::Work::Named`]).
    pub fn work_on(&self, task: &TaskId) {
        core::workers::work_on(&self.world, task);
        run::adopted::adopt_named_later(&self.world, task);
    }

    /// Follows the number of the last event that is committed.
    #[must_use]
    pub fn events(&self) -> watch::Receiver<i64> {
        self.world.store().events()
    }

    /// What takes known secrets and well-known formats out of texts, and for a project also what its patterns match. The
    /// patterns of a project that nothing was done for yet are not known.
    #[must_use]
    pub fn redactor(&self, project: Option<&ProjectId>) -> Arc<Redactor> {
        match project {
            Some(project) => core::redaction::redactor_of_project(&self.world, project),
            None => core::redaction::general_redactor(&self.world),
        }
    }

    /// A setting of Forge as a whole; none when nobody made it.
    ///
    /// # Errors
    /// When it cannot be read.
    pub async fn app_setting(&self, key: &str) -> Result<Option<Value>> {
        core::app_settings::app_setting(&self.world, key).await
    }

    /// Makes a setting of Forge as a whole.
    ///
    /// # Errors
    /// When it cannot be written.
    pub async fn set_app_setting(&self, key: &str, value: &Value) -> Result<()> {
        core::app_settings::set_app_setting(&self.world, key, value).await
    }

    /// For how many minutes agents go on without an engine.
    ///
    /// # Errors
    /// When it cannot be read.
    pub async fn orphan_minutes(&self) -> Result<u32> {
        core::keeper::orphan_minutes(&self.world).await
    }

    /// Sets for how many minutes agents go on without an engine; with 0 they end with it.
    ///
    /// # Errors
    /// `Invalid` for more than a week; when it cannot be written, or the keeper cannot be told.
    pub async fn set_orphan_minutes(&self, minutes: u32) -> Result<()> {
        core::keeper::set_orphan_minutes(&self.world, minutes).await
    }
}
