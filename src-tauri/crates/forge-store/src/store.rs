//! The database of one data folder: its connections and its writing transactions.

use std::{
    borrow::Cow,
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex, OnceLock, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
};

use forge_model::redact::Redactor;
use serde::Serialize;
use sqlx::SqliteConnection;
use sqlx::sqlite::SqlitePool;
use tokio::sync::watch;

use crate::{
    StoreError,
    reading::{ReadConnection, Snapshot},
    row,
};

/// Told of every statement of a writing transaction before it runs, and may have it fail as a disk that refuses would.
/// Tests have one; production has none.
pub trait WriteObserver: Send + Sync {
    /// Whether the disk takes the next statement.
    fn takes_statement(&self) -> bool;
}

/// The seam between transactions and the connection that runs them.
#[derive(Clone, Default)]
pub(crate) struct Seam {
    pub(crate) observer: Option<Arc<dyn WriteObserver>>,
    /// Whether the connection refuses what it is given next.
    pub(crate) refuses: Arc<AtomicBool>,
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
    pub(crate) path: PathBuf,
    pub(crate) writer: SqlitePool,
    pub(crate) reader: SqlitePool,
    pub(crate) announced: watch::Sender<i64>,
    /// What is wrong with the content, once a check has found something.
    pub(crate) damage: Arc<OnceLock<String>>,
    pub(crate) seam: Seam,
    /// What takes secrets out of what programs, git and hosts said.
    pub(crate) redactor: Arc<Mutex<Arc<Redactor>>>,
}

/// A writing transaction. Dropped without [`Tx::commit`], nothing of it happened.
pub struct Tx {
    connection: ReadConnection,
    announced: watch::Sender<i64>,
    last_event: Option<i64>,
    seam: Seam,
    redactor: Arc<Redactor>,
}

impl Store {
    /// Where the database file is.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Starts a transaction that only reads.
    ///
    /// # Errors
    /// When none can be had.
    pub async fn read(&self) -> Result<Snapshot, StoreError> {
        Ok(Snapshot(ReadConnection::new(self.reader.begin().await?)))
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
        let redactor = Arc::clone(&self.redactor.lock().unwrap_or_else(PoisonError::into_inner));
        Ok(Tx {
            connection: ReadConnection::new(inner),
            announced: self.announced.clone(),
            last_event: None,
            seam: self.seam.clone(),
            redactor,
        })
    }

    /// Takes secrets out of what is written from now on, where it may be words of programs, of git or of hosts. What a
    /// person typed stays as it is.
    pub fn redact_by(&self, redactor: Arc<Redactor>) {
        *self.redactor.lock().unwrap_or_else(PoisonError::into_inner) = redactor;
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
    /// The connection, for the next statement.
    pub(crate) fn sqlite(&mut self) -> &mut SqliteConnection {
        self.seam.pass();
        self.connection.sqlite()
    }

    /// Has the commit announce an event.
    pub(crate) fn announce(&mut self, seq: i64) {
        self.last_event = Some(seq);
    }

    /// A text without its secrets.
    pub(crate) fn text<'t>(&self, text: &'t str) -> Cow<'t, str> {
        self.redactor.text(text)
    }

    /// The same of a text that may be absent.
    pub(crate) fn text_opt<'t>(&self, text: Option<&'t String>) -> Option<Cow<'t, str>> {
        text.map(|text| self.text(text))
    }

    /// A record as JSON without its secrets.
    pub(crate) fn json<T: Serialize + ?Sized>(&self, record: &T) -> Result<String, StoreError> {
        let text = row::json(record)?;
        if !self.redactor.finds(text.as_bytes()) {
            return Ok(text);
        }
        match serde_json::from_str(&text) {
            Ok(value) => row::json(&self.redactor.json(value)),
            Err(_) => Ok(self.redactor.string(text)),
        }
    }

    /// The same of a record that may be absent.
    pub(crate) fn json_opt<T: Serialize>(&self, record: Option<&T>) -> Result<Option<String>, StoreError> {
        record.map(|record| self.json(record)).transpose()
    }

    /// Makes it last, then announces its events.
    ///
    /// # Errors
    /// When it cannot be committed; then nothing of it happened.
    pub async fn commit(self) -> Result<(), StoreError> {
        self.seam.pass();
        self.connection.commit().await?;
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
    type Target = ReadConnection;

    fn deref(&self) -> &ReadConnection {
        &self.connection
    }
}

impl std::ops::DerefMut for Tx {
    fn deref_mut(&mut self) -> &mut ReadConnection {
        self.seam.pass();
        &mut self.connection
    }
}
