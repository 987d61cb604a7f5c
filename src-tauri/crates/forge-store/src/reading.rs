//! Connections as readers see them. SQL is out of their reach: rows are read through the handles of the tables.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use sqlx::{Sqlite, SqliteConnection, Transaction};

use crate::StoreError;

/// A connection that can only read. Each table has a handle here, such as [`tasks`](Self::tasks).
///
/// A [`Snapshot`] is one, and so is a [`Tx`](crate::Tx), which reads what it has written itself.
pub struct ReadConnection {
    inner: Transaction<'static, Sqlite>,
}

impl ReadConnection {
    pub(crate) fn new(inner: Transaction<'static, Sqlite>) -> Self {
        Self { inner }
    }

    pub(crate) fn sqlite(&mut self) -> &mut SqliteConnection {
        &mut self.inner
    }

    /// Counts the instructions that SQLite runs on this connection from now on, by which tests bound what a query costs.
    ///
    /// # Errors
    /// When the connection is lost.
    pub async fn count_instructions(&mut self) -> Result<Arc<AtomicU64>, StoreError> {
        let count = Arc::new(AtomicU64::new(0));
        let counted = Arc::clone(&count);
        self.inner.lock_handle().await?.set_progress_handler(1, move || {
            counted.fetch_add(1, Ordering::Relaxed);
            true
        });
        Ok(count)
    }

    pub(crate) async fn commit(self) -> Result<(), sqlx::Error> {
        self.inner.commit().await
    }
}

/// A transaction that only reads. All that is read through it is of one moment: that of the first read.
/// Keep it for one question only; while it lives the write-ahead log grows.
pub struct Snapshot(pub(crate) ReadConnection);

impl std::ops::Deref for Snapshot {
    type Target = ReadConnection;

    fn deref(&self) -> &ReadConnection {
        &self.0
    }
}

impl std::ops::DerefMut for Snapshot {
    fn deref_mut(&mut self) -> &mut ReadConnection {
        &mut self.0
    }
}
