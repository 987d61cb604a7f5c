//! What is kept in the data folder, and for how long: copies of the database, compressed logs, and what is due to be
//! deleted.

pub mod data_folder;
pub(crate) mod database_backups;
pub mod engine_log;
pub(crate) mod old_logs;
pub(crate) mod retention;
pub(crate) mod status;
