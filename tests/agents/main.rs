//! The real agent programs against the scripted model: what they do with what it says, and what it sees of them.
//!
//! Some tests start the programs themselves; those named after an adapter start them as Forge does.

mod adapter_run;
mod claude;
mod claude_adapter;
mod codex;
mod codex_adapter;
mod engine;
mod opencode;
mod opencode_acp;
mod processes;
mod support;
