//! Processes: groups, timeouts, kill escalation, output caps, orphan reaping.
//!
//! Every program that Forge starts is a [`Command`]. What a task or a person has it run, such as agents, checks and hooks,
//! is given to [`run`]:
//!
//! - a child leads a process group of its own and carries a [`Marker`] in its environment, so that
//!   whatever it starts is found again, in whatever group or session, also by a later engine;
//! - when `run` returns, or is dropped, no descendant of the child is left alive;
//! - memory stays flat whatever the child prints: the sink is awaited before more is read.
//!
//! A tool that answers a question, such as git, is given to [`collect`], which costs no more than the start of a process:
//!
//! - a child leads a process group of its own; when `collect` fails or is dropped, the group is asked to end, and
//!   killed when it does not;
//! - time and output are bounded.
//!
//! A tool that is spoken with at length, such as `ssh`, is given to [`start_piped`].
//!
//! Either may be confined by a [`Sandbox`], which the kernel enforces on the child and on its descendants. Children get
//! pipes, but for the shell that a person types to: that is [`run`] in a [`Terminal`].
//!
//! What is the platform's own lives in [`process`], [`sandbox`], [`terminal`], `proc` and `group`. Deliberately absent:
//! any knowledge of agents, tasks or git.

pub mod apart;
pub mod capture;
mod child;
pub mod collect;
pub mod command;
pub mod error;
pub mod exit;
mod group;
pub mod login;
pub mod look;
pub mod marker;
pub mod output;
pub mod own;
pub mod path;
pub mod piped;
pub mod port;
mod proc;
pub mod process;
pub mod run;
pub mod sandbox;
pub mod terminal;
pub mod variables;

pub use apart::{become_program, in_foreground, start_apart, start_apart_in};
pub use capture::{Captured, HeadTail};
pub use collect::{Caps, CollectError, Collected, collect};
pub use command::{Command, Stdin, Stdout, Unmarked};
pub use error::ExecError;
pub use exit::Exit;
pub use login::{LoginEnvironments, LoginError, LoginShell};
pub use look::{SeenProcess, look};
pub use marker::{MARKER_VARIABLE, Marker};
pub use output::{OutputSink, Stream};
pub use own::{clock_jump, has_no_file_left, is_out_of_files, raise_open_file_limit};
pub use path::find_program;
pub use piped::{Piped, Pipes, start_piped};
pub use port::{Listener, is_connected, listeners};
pub use process::{
    NamedProcess, ProcessIdentity, ProcessUsage, become_subreaper, end, may_descend_from, survive_file_limit,
    sweep, usage, working_in,
};
pub use run::{Finished, run};
pub use sandbox::{Sandbox, SandboxError, SandboxSupport, sandbox_support};
pub use terminal::{Terminal, TerminalSize};
pub use variables::{Variables, variables_of};
