//! The note that a finished task leaves of how it went.

use std::fmt::Write as _;

use crate::{
    contract,
    ids::{AgentId, ExecutionId},
    time::Timestamp,
};

contract! {
    /// An agent's note on how a task went.
    #[derive(Eq)]
    pub struct Trajectory {
        /// Markdown, at most 500 words.
        pub text: String,
        /// Whether there was more.
        pub is_cut: bool,
        /// The run that wrote it.
        pub execution_id: ExecutionId,
        /// Who.
        pub agent_id: AgentId,
        /// When the task was finished.
        pub at: Timestamp,
    }
}

/// The note as a file for people.
#[must_use]
pub fn render(note: &Trajectory, number: u32, title: &str, agent: &str) -> String {
    // A JSON string is YAML, too.
    let quoted = |text: &str| serde_json::Value::from(text).to_string();
    let mut text = format!("---\ntask: {number}\ntitle: {}\nagent: {}\n", quoted(title), quoted(agent));
    let _ = writeln!(text, "run: {}\nfinished: {}\n---\n\n{}", note.execution_id, note.at, note.text);
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn its_file_says_whose_it_is() {
        let note = Trajectory {
            text: "It went well.".into(),
            is_cut: false,
            execution_id: "x1".into(),
            agent_id: "a1".into(),
            at: Timestamp(0),
        };
        assert_eq!(
            render(&note, 7, "Say \"no\"", "Codex"),
            "---\ntask: 7\ntitle: \"Say \\\"no\\\"\"\nagent: \"Codex\"\nrun: x1\nfinished: 1970-01-01T00:00:00.000Z\n---\n\nIt went well.\n"
        );
    }
}
