//! The keeper: the one small program of a machine that runs agents, checks, hooks and set-up for engines.
//!
//! A program that an engine runs itself dies with it, or lives on unseen. The keeper outlives the engine: it starts a
//! program once per id, however often it is asked; it stores what the program prints, with offsets, and takes what the
//! program is to read, with offsets; so an engine that was killed or upgraded goes on where the one before it was.
//! A keeper on another machine, or in a container, is reached by [`relay`]: one session of ssh or `exec` carries all
//! streams, and what is followed goes on by itself after a session broke. A container's first process is [`hold`].
//! Programs call tools of the engine by [`mcp`] and the keeper.
//! [`Keeper`] is the engine's end, [`Server`] the other one; both speak [`wire`] over a stream of bytes.
//!
//! Invariants:
//! - An id names one start. Asked again, the keeper says what became of it and starts nothing.
//! - What a program printed is kept, in order, until it is forgotten; a reader may begin again at any offset.
//! - Of what a program is to read each message is given to it once and whole. Whoever opens it again learns which ones
//!   those were, and goes on behind them.
//! - Time limits are counted here, so that no lost connection counts as silence.
//! - Without an engine, programs go on for as long as the last engine allowed, and are then ended.
//! - A task's worktree on another machine is brought there and back by this stream, and by nothing else; git runs there in
//!   folders of the keeper's (`forge-transfer`).
//! - A call of a tool is answered once, and is told to an engine other than the first one that had it only as one that may
//!   have been done. It waits while no engine is there.
//! - A program that a keeper runs can do nothing at its socket but call tools, with the secret of its run.
//! - What was printed or sent may hold secrets: it is in memory and in files without a name, never in one with a name.
//!
//! Absent: what the programs are, what their output means, repositories, and the database.

mod client;
mod error;
mod given;
mod hold;
mod marks;
pub mod mcp;
pub mod mux;
mod place;
mod provided;
mod record;
pub mod relay;
mod server;
mod spool;
mod stdio;
mod task;
mod tools;
pub mod wire;

pub use client::{
    CallAnswerer, FarTree, Fetched, Keeper, KeptSink, Looked, McpProgram, NoteSender, Opened, Output, Pause,
    Plain, Sent, Session,
};
pub use error::{KeepError, TransferError};
pub use forge_transfer::{Fault, last_held};
pub use given::Given;
pub use hold::hold;
pub use mux::Mux;
pub use place::{Connector, Place, far_worktree};
pub use provided::{Provided, ProvidedFile, ProvidedKind};
pub use relay::Greeting;
pub use server::Server;
pub use task::{KeptRun, LimitHit, Limits};
pub use tools::{SECRET_VARIABLE, Secret, Tools};
pub use wire::{BoxedStream, ByteStream, FarTreeState, PROTOCOL, Refusal, RunState, Standing};
