//! The layers that a prompt is made of.

use crate::{contract, names};

names! {
    /// Kind of a prompt's layer.
    pub enum LayerKind {
        /// Failures of the previous attempt.
        Reflexion = "reflexion",
        /// The prompt prefix of the agent's profile.
        Profile = "profile",
        /// Actions that Forge performs and the agent must not.
        Rules = "rules",
        /// The task.
        Task = "task",
        /// Branch and target.
        Place = "place",
        /// Acceptance criteria: the checks.
        Acceptance = "acceptance",
        /// The plan that was approved or is being written.
        Plan = "plan",
        /// Lessons of the project, with their sources.
        Knowledge = "knowledge",
        /// Events so far, with evidence.
        History = "history",
        /// The task of this run.
        Now = "now",
    }
}

contract! {
    /// A layer of a prompt. The text of all of them, one after the other, is the prompt.
    #[derive(Eq)]
    pub struct Layer {
        /// What it is.
        pub kind: LayerKind,
        /// Its text, Markdown.
        pub text: String,
    }
}

/// The prompt that layers make.
#[must_use]
pub fn prompt_of(layers: &[Layer]) -> String {
    layers.iter().map(|layer| layer.text.as_str()).collect()
}
