//! The three hosts as their documentation describes them, served from 127.0.0.1.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test that cannot be set up fails")]

mod asking;
mod dialect;
mod issues;
mod reading;
mod refusals;
mod server;
