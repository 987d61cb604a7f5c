//! Engines that run elsewhere: in another process of this computer ([`EngineClient`]), or on another computer that is
//! reached by `ssh` ([`RemoteEngine`]).
//!
//! A remote engine is found there, or started (`forge serve --background`), by the user's own `ssh` program. One session
//! stays open for as long as the engine is used ([`tunnel`]): it forwards a socket in a folder of this process alone to the
//! socket at which the engine serves. Requests and events go over that. When the connection is cut, it is made again
//! ([`engine`]): events that happened meanwhile are replayed, and a change that was under way is sent again with its key, so
//! that the engine performs it once.
//!
//! Invariants:
//! - An engine of another version is refused before anything else is asked of it.
//! - The token is read over the session; it is in no argument, environment or file here.
//! - A change is sent again only to the process that may have received it; to another one nobody knows whether it was made,
//!   and that is said.
//! - Nobody is asked for a password or a host key; each fault has a sentence and a remedy.
//!
//! Absent: windows and commands; what is asked of the engine.

mod client;
mod contact;
mod engine;
mod events;
mod fault;
mod script;
mod tunnel;

pub use client::{CallError, EngineClient};
pub use contact::Contact;
pub use engine::{Happened, RemoteEngine};
pub use events::EventStream;
pub use fault::RemoteFault;
pub use tunnel::Destination;
