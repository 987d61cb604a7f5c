//! The engine through its contract: real git, real SQLite, real processes.

mod actions;
mod checkout;
mod environment;
mod panics;
mod paths;
mod properties;
mod races;
mod refusals;
mod retention;
mod secrets;
mod typed_secrets;
