//! How much a branch changes.

use crate::contract;

contract! {
    /// Size of the changes on a task's branch.
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
