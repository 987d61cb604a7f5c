//! The real agent programs with a scripted model: what they do with its answers, and what it receives from them.
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
