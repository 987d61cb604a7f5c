//! How much a branch changes.

use crate::contract;

contract! {
    /// How much a task's branch changes.
    #[derive(Copy)]
    pub struct DiffStat {
        /// Changed files.
        pub files: u32,
        /// Added lines.
        pub added: u32,
        /// Removed lines.
        pub removed: u32,
    }
}
