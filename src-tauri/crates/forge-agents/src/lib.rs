//! Agent adapters and the one normalised log.
//!
//! An [`Adapter`] turns a [`Launch`] into a [`RunOutcome`]: it starts the user's own program, brings what
//! the program says into the entries of one [`log`], and reduces its end to success or a typed
//! [`AgentError`]. Invariants: an adapter decides nothing about tasks; success is the protocol's final
//! event (for the shell adapter, which has no protocol, exit code 0); nothing of the program is left
//! running when `run` returns. Deliberately absent: credentials, prompts' content, retries, prices.

pub mod adapter;
pub mod error;
pub mod log;
pub mod shell;

pub use adapter::{
    Activity, Adapter, Capabilities, Control, Detected, Launch, Limits, RunOutcome, SessionRequest, marker_of,
};
pub use error::{AgentError, LimitKind};
pub use log::{LogError, LogReader, LogSummary, LogWriter, NewEntry};
pub use shell::ShellAdapter;
