//! The real agent programs against the scripted model: what they do with what it says, and what it sees of them.
//!
//! These tests start the programs themselves; Forge's adapters have theirs beside the engine.

mod claude;
mod codex;
mod opencode;
mod support;
