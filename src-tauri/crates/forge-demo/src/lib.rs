//! The sample repository, the tasks of the demo project, and the scripted agent that works on them.
//!
//! The demo must run on a machine with no agent program, no network and no build tools: the agent is
//! this very executable ([`scripted`]), told by a script of each task what to do; the repository
//! ([`sample_repo`]) is checked by `sh` alone; the tasks ([`scenario`]) are data. The tests of the other
//! crates use the same agent, so it can also misbehave on purpose. Deliberately absent: any knowledge of
//! the engine.

mod diff;
pub mod sample_repo;
pub mod scenario;
pub mod script;
pub mod scripted;
