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
mod connection;
mod error;
mod open;
mod row;
mod store;
pub mod table;
mod trouble;

pub use error::StoreError;
pub use open::OpenError;
pub(crate) use store::Seam;
pub use store::{Store, Tx, WriteObserver};
pub use trouble::of_io as trouble_of_io;
