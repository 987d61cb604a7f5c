//! Agent adapters and the one normalised log.
//!
//! An [`Adapter`] turns a [`Launch`] into a [`RunOutcome`]: it starts the user's own program, brings what
//! the program says into the entries of one [`log`], and reduces its end to success or a typed
//! [`AgentError`]. Invariants: an adapter decides nothing about tasks; success is the protocol's final
//! event (for the shell adapter, which has no protocol, exit code 0); nothing of the program is left
//! running when `run` returns. Deliberately absent: credentials, prompts' content, retries, prices.

pub mod acp;
pub mod adapter;
mod alignment;
pub mod claude;
mod clock;
pub mod codex;
mod deltas;
pub mod dialogue;
mod doing;
mod end;
pub mod error;
pub mod fake_run;
mod fuzz;
mod journal;
mod json;
mod line_reader;
mod lines;
pub mod log;
mod mcp;
mod memory_log;
mod output;
mod probe;
mod probe_folder;
mod program;
mod question;
#[cfg(test)]
mod replay;
pub mod shell;
mod sign_in;
mod state;
mod summary;
mod verdict;

pub use acp::AcpAdapter;
pub use adapter::{
    Activity, Adapter, Ask, Capabilities, Control, CostLimit, Detected, Handle, Launch, Limits,
    ReportedWindow, RunCommand, RunEvent, RunOutcome, SessionRequest, Started, kept_id, marker_of,
};
pub use claude::ClaudeAdapter;
pub use codex::CodexAdapter;
pub use dialogue::{Dialogue, DialogueContext, DialogueEnd};
pub use error::{AgentError, CostScope, LimitKind};
pub use log::{LogError, LogReader, LogSummary, LogWriter, NewEntry, pack_logs};
pub use mcp::{ForgeMcp, MCP_FOLDER_VARIABLE, MCP_PROGRAM_VARIABLE, MCP_TOKEN_VARIABLE, MCP_URL_VARIABLE};
pub use probe_folder::ProbeFolder;
pub use shell::ShellAdapter;
pub use state::{Confinable, ProgramState};

/// The adapter of a kind.
#[must_use]
pub fn adapter(kind: forge_model::agent::AdapterKind) -> &'static dyn Adapter {
    use forge_model::agent::AdapterKind;
    match kind {
        AdapterKind::Shell => &ShellAdapter,
        AdapterKind::Codex => &CodexAdapter,
        AdapterKind::Claude => &ClaudeAdapter,
        AdapterKind::Acp => &AcpAdapter,
    }
}
