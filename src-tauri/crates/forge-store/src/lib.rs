//! SQLite persistence.
//!
//! One database file per data folder, write-ahead log, foreign keys on, STRICT tables. There is one
//! writing connection ([`Store::write`]) and a pool of reading ones ([`Store::read`]). Each table has a
//! file under [`table`] with its row and its functions; they take a connection, so that one transaction
//! can span tables. Events are written in the transaction of what they tell ([`Tx::emit`]) and announced
//! after its commit, never before.
//!
//! Deliberately absent: decisions. What may be written is the engine's business.

pub mod backups;
mod check;
mod open;
mod row;
pub mod table;
mod trouble;

use std::{
    path::{Path, PathBuf},
    sync::{
        Arc, OnceLock,
        atomic::{AtomicBool, Ordering},
    },
};

use forge_model::event::EventType;
use forge_model::ids::{ProjectId, TaskId};
use forge_model::time::Timestamp;
use sqlx::sqlite::SqlitePool;
use sqlx::{Sqlite, SqliteConnection, Transaction};
use tokio::sync::watch;

pub use open::OpenError;
pub use trouble::of_io as trouble_of_io;

/// What can go wrong with the database.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// SQLite refused.
    #[error("failed to use the database: {0}")]
    Database(#[from] sqlx::Error),
    /// The content of the file is damaged: nothing is written to it any more.
    #[error("failed to write: the database is damaged ({detail})")]
    Damaged {
        /// What the check found.
        detail: String,
    },
    /// A stored value does not read back; the row names itself.
    #[error("failed to read {what}: {source}")]
    Corrupt {
        /// Table, column and key.
        what: String,
        /// Why it does not read.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
}

/// Told of every statement of a writing transaction before it runs, and may have it fail as a disk that refuses would.
/// Tests have one; production has none.
pub trait WriteObserver: Send + Sync {
    /// Whether the disk takes the next statement.
    fn takes_statement(&self) -> bool;
}

/// The seam between transactions and the connection that runs them.
#[derive(Clone, Default)]
pub(crate) struct Seam {
    observer: Option<Arc<dyn WriteObserver>>,
    /// Whether the connection refuses what it is given next.
    refuses: Arc<AtomicBool>,
}

impl Seam {
    fn pass(&self) {
        if let Some(observer) = &self.observer
            && !observer.takes_statement()
        {
            self.refuses.store(true, Ordering::Release);
        }
    }
}

impl std::fmt::Debug for Seam {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Seam").field("observed", &self.observer.is_some()).finish()
    }
}

/// The database of one data folder. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Store {
    path: PathBuf,
    writer: SqlitePool,
    reader: SqlitePool,
    announced: watch::Sender<i64>,
    /// What is wrong with the content, once a check has found something.
    damage: Arc<OnceLock<String>>,
    seam: Seam,
}

/// A writing transaction. Dropped without [`Tx::commit`], nothing of it happened.
pub struct Tx {
    inner: Transaction<'static, Sqlite>,
    announced: watch::Sender<i64>,
    last_event: Option<i64>,
    seam: Seam,
}

impl Store {
    /// Where the database file is.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// A connection that only reads. All that is read through it is of one moment: that of the first read.
    /// Keep it for one question only; while it lives the write-ahead log grows.
    ///
    /// # Errors
    /// When none can be had.
    pub async fn read(&self) -> Result<Transaction<'static, Sqlite>, StoreError> {
        Ok(self.reader.begin().await?)
    }

    /// Starts a writing transaction; others wait for their turn.
    ///
    /// # Errors
    /// When it cannot be started.
    pub async fn write(&self) -> Result<Tx, StoreError> {
        if let Some(detail) = self.damage.get() {
            return Err(StoreError::Damaged { detail: detail.clone() });
        }
        self.seam.pass();
        // IMMEDIATE: the lock is taken here, so a transaction never fails half-way because of a reader.
        let inner = self.writer.begin_with("BEGIN IMMEDIATE").await?;
        Ok(Tx { inner, announced: self.announced.clone(), last_event: None, seam: self.seam.clone() })
    }

    /// The number of the last committed event; changes wake whoever waits.
    #[must_use]
    pub fn events(&self) -> watch::Receiver<i64> {
        self.announced.subscribe()
    }

    /// Closes all connections; what is committed is on disk.
    pub async fn close(&self) {
        self.reader.close().await;
        self.writer.close().await;
    }
}

impl Tx {
    /// Records an event in this transaction; it is announced when the transaction commits.
    ///
    /// # Errors
    /// When it cannot be written.
    pub async fn emit(
        &mut self,
        kind: EventType,
        at: Timestamp,
        project: Option<&ProjectId>,
        task: Option<&TaskId>,
        entity: &str,
        data: &serde_json::Value,
    ) -> Result<i64, StoreError> {
        let seq = table::events::insert(self, kind, at, project, task, entity, data).await?;
        self.last_event = Some(seq);
        Ok(seq)
    }

    /// Makes it last, then announces its events.
    ///
    /// # Errors
    /// When it cannot be committed; then nothing of it happened.
    pub async fn commit(self) -> Result<(), StoreError> {
        self.seam.pass();
        self.inner.commit().await?;
        if let Some(seq) = self.last_event {
            self.announced.send_if_modified(|last| {
                let newer = seq > *last;
                *last = (*last).max(seq);
                newer
            });
        }
        Ok(())
    }
}

impl std::ops::Deref for Tx {
    type Target = SqliteConnection;

    fn deref(&self) -> &SqliteConnection {
        &self.inner
    }
}

impl std::ops::DerefMut for Tx {
    fn deref_mut(&mut self) -> &mut SqliteConnection {
        self.seam.pass();
        &mut self.inner
    }
}
