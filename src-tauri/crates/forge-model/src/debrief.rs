//! What a task leaves behind for those who come later.

use crate::{contract, postmortem::Postmortem, trajectory::Trajectory};

contract! {
    /// The note and the postmortems of a task.
    pub struct Debrief {
        /// The agent's note on how the task went; null if there is none.
        pub note: Option<Trajectory>,
        /// What was recorded, oldest first.
        pub postmortems: Vec<Postmortem>,
    }
}
