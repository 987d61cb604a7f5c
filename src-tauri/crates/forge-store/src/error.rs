//! Errors of the database.

/// What can go wrong with the database.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// SQLite refused.
    #[error("could not use the database: {0}")]
    Database(#[from] sqlx::Error),
    /// The content of the file is damaged: nothing is written to it any more.
    #[error("could not write: the database is damaged ({detail})")]
    Damaged {
        /// What the check found.
        detail: String,
    },
    /// A stored value does not read back; the row names itself.
    #[error("could not read {what}: {source}")]
    Corrupt {
        /// Table, column and key.
        what: String,
        /// Why it does not read.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
}
