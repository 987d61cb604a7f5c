//! Checks that are offered to people because a file of the repository implies them.

use crate::contract;

contract! {
    /// A check that a file implies.
    #[derive(Eq)]
    pub struct CheckOffer {
        /// The shell command.
        pub command: String,
        /// The file that implies it, from the repository's root.
        pub source: String,
    }
}
