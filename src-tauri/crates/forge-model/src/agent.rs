//! Agent profiles: which program runs, how, and within which limits.

use serde_json::Value;

use crate::{contract, ids::AgentId, names, time::Timestamp};

names! {
    /// The protocol an agent program is driven by.
    pub enum AdapterKind {
        /// A command; its exit code decides.
        Shell = "shell",
    }
}

contract! {
    /// An agent profile.
    pub struct Agent {
        /// Identity.
        pub id: AgentId,
        /// What people call it; unique.
        pub name: String,
        /// How it is driven.
        pub adapter: AdapterKind,
        /// The adapter's own configuration; for `shell`: `{command, args?, env?, limits?}`.
        #[specta(type = specta_typescript::Unknown)]
        pub config: Value,
        /// The model it is asked to use, when the adapter takes one.
        pub model: Option<String>,
        /// How many of its executions may run at once.
        pub max_concurrent: u32,
        /// While true, nothing new starts on it.
        pub paused: bool,
        /// Executions that run now.
        pub running: u32,
        /// When it was made.
        pub created_at: Timestamp,
        /// When it last changed.
        pub updated_at: Timestamp,
    }
}

contract! {
    /// The configuration of a `shell` agent.
    #[serde(deny_unknown_fields)]
    pub struct ShellConfig {
        /// A program (with `args`) or a shell line (without); `{prompt_file}` stands for the prompt's path.
        pub command: String,
        /// The program's arguments, each taken as it is.
        #[serde(default)]
        pub args: Option<Vec<String>>,
        /// Environment on top of the user's.
        #[serde(default)]
        pub env: Option<std::collections::BTreeMap<String, String>>,
        /// Wall-clock limit of one run in seconds; default 3600.
        #[serde(default)]
        pub wall_clock_seconds: Option<u32>,
        /// Longest silence in seconds before the run is ended; default 600.
        #[serde(default)]
        pub silence_seconds: Option<u32>,
    }
}
