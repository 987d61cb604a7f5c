//! Public methods of [`Engine`] for merges.

use forge_model::delivery::Delivery;
use forge_model::ids::ProjectId;
use forge_model::ids::TaskId;
use forge_model::merge::Conflict;
use forge_model::merge::ConflictFile;
use forge_model::merge::ConflictStanding;
use forge_model::merge::Merge;
use forge_model::merge::MergeQueueEntry;

use crate::{Engine, error::Result, merge};

impl Engine {
    /// A task's merges, oldest first.
    ///
    /// # Errors
    /// `NotFound`.
    pub async fn merges(&self, id: &TaskId) -> Result<Vec<Merge>> {
        merge::delivery::merges(&self.world, id).await
    }

    /// The tasks of a project that are being merged or stand in line, per target in their order.
    ///
    /// # Errors
    /// `NotFound`.
    pub async fn merge_queue(&self, id: &ProjectId) -> Result<Vec<MergeQueueEntry>> {
        merge::delivery::merge_queue(&self.world, id).await
    }

    /// What a task's last merge conflicts in, and what became of that; `None` when none did.
    ///
    /// # Errors
    /// `NotFound`.
    pub async fn conflict(&self, id: &TaskId) -> Result<Option<(Conflict, ConflictStanding)>> {
        merge::delivery::conflict_with_standing(&self.world, id).await
    }

    /// One file in conflict with its three sides.
    ///
    /// # Errors
    /// `NotFound` for the task, or a file that is not in conflict.
    pub async fn conflict_file(&self, id: &TaskId, path: &str) -> Result<ConflictFile> {
        merge::delivery::conflict_file(&self.world, id, path).await
    }

    /// What a closed task delivered.
    ///
    /// # Errors
    /// `NotFound`, `TaskOpen`.
    pub async fn delivery(&self, id: &TaskId) -> Result<Delivery> {
        merge::delivery::delivery(&self.world, id).await
    }
}
