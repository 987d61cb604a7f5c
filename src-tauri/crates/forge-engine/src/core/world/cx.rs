//! Where something is decided: a transaction, the time, and ids for new rows. Whoever is given no more than this writes
//! what follows from a decision, and can start nothing, run no program and move no task.

use forge_model::event::EventType;
use forge_model::time::Timestamp;
use forge_store::Tx;
use forge_store::table::tasks::TaskRow;
use serde_json::Value;

use crate::{World, config::IdSource, error::Result};

/// What a decision is made with.
pub(crate) struct Cx<'a> {
    pub tx: &'a mut Tx,
    /// The time of the decision, which all that it writes has.
    pub now: Timestamp,
    ids: &'a dyn IdSource,
}

impl<'a> Cx<'a> {
    /// A decision in a transaction of an engine, made now.
    pub(crate) fn of(world: &'a World, tx: &'a mut Tx) -> Self {
        Self { tx, now: world.now(), ids: world.inner.config.ids.as_ref() }
    }

    pub(crate) fn new_id<T: From<String>>(&self) -> T {
        T::from(self.ids.new_id())
    }

    /// Records an event about a task.
    pub(crate) async fn emit(
        &mut self,
        kind: EventType,
        task: &TaskRow,
        entity: &str,
        data: &Value,
    ) -> Result<()> {
        self.tx.emit(kind, self.now, Some(&task.project_id), Some(&task.id), entity, data).await?;
        Ok(())
    }
}
