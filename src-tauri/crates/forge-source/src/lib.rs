//! Source text read in process: whether a file is well formed, and whether one file exports what another
//! takes from it.
//!
//! Invariants: no process is started and nothing that was read is executed. Files come from the caller's
//! [`Files`] alone, so texts that lie nowhere can be judged as well as a folder. Every answer is bounded: too
//! large and too deeply nested texts are refused with the reason, never parsed until the stack ends, and a
//! parser that fails in itself is a refusal, too. What cannot be known without running the program is told as
//! unknown, with the reason. Deliberately absent: types, control flow, and what packages outside the folder
//! export.
//!
//! The parsers of scripts, Python, Rust and Go are Cargo features, all on by default. A text whose parser is left out
//! is refused, and what its file exports is unknown.

mod bounds;
mod contract;
mod files;
mod nesting;
mod place;
mod syntax;

pub use bounds::{GaveUp, MAX_BYTES, within};
pub use contract::{Contract, Outcome, contract};
pub use files::{Files, Folder, Texts};
pub use syntax::{Language, Syntax, SyntaxError, syntax};
