//! SQLite persistence.
//!
//! One database file per data folder, write-ahead log, foreign keys on, STRICT tables. There is one
//! writing connection ([`Store::write`]) and a pool of reading ones ([`Store::read`]). Each table has a
//! file under [`table`] with its row, a handle that reads it, which every connection makes
//! ([`ReadConnection::tasks`]), and one that writes it, which only a writing transaction makes
//! ([`Tx::tasks_mut`]); so one transaction can span tables, and what only reads cannot write. Events are
//! written in the transaction of what they tell ([`Tx::emit`]) and announced after its commit, never before.
//!
//! Deliberately absent: decisions. What may be written is the engine's business.

#[macro_use]
mod handles;

pub mod backups;
mod check;
mod connection;
mod error;
mod migrations;
mod open;
mod reading;
mod row;
mod store;
pub mod table;
#[cfg(test)]
mod testing;
mod trouble;
pub mod vibe_kanban;

pub use error::StoreError;
pub use migrations::MigrationError;
pub use open::OpenError;
pub use reading::{ReadConnection, Snapshot};
pub(crate) use store::Seam;
pub use store::{Store, Tx, WriteObserver};
pub use trouble::of_io as trouble_of_io;
