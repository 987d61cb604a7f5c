//! What a task leaves behind for those who come later.

use crate::{contract, postmortem::Postmortem, trajectory::Trajectory};

contract! {
    /// The note and the postmortems of a task.
    pub struct Debrief {
        /// How it went, in its agent's words; null when it left none.
        pub note: Option<Trajectory>,
        /// What was recorded, oldest first.
        pub postmortems: Vec<Postmortem>,
    }
}
