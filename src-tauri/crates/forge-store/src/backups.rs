//! Copies of the database: made while the engine works, kept in number, restored while none has the folder.
//!
//! A copy is made beside its place, checked, and renamed, so that every file with a copy's name is whole. Restoring
//! writes down first what is to be restored, moves the present files aside and never deletes them; cut short at any
//! moment, it is finished by the next start.

mod copies;
mod files;
mod making;
mod restoring;
#[cfg(test)]
mod tests;

pub use copies::{folder_of, list, newest_good};
pub use files::BackupError;
pub use making::{KEPT, create};
pub use restoring::{finish_restore, not_restored, not_restored_file, pending, restore_at_next_start};

pub(crate) use making::sweep_unfinished;
