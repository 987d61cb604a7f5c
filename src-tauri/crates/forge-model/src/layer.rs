//! The layers that a prompt is made of.

use crate::{contract, names};

names! {
    /// What a layer of a prompt is.
    pub enum LayerKind {
        /// What the attempt before failed at.
        Reflexion = "reflexion",
        /// What the agent's profile puts before every prompt.
        Profile = "profile",
        /// What Forge does itself and the agent must not.
        Rules = "rules",
        /// The task.
        Task = "task",
        /// Branch and target.
        Place = "place",
        /// What must hold at the end: the checks.
        Acceptance = "acceptance",
        /// The plan that was approved, or is being made.
        Plan = "plan",
        /// What the project has learned, with where it says so.
        Knowledge = "knowledge",
        /// What happened so far, with evidence.
        History = "history",
        /// What this one run is about.
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
