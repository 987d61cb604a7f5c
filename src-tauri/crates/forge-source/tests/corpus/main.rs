//! Real files that lie on every machine that builds Forge: what is said of them here is what their own compilers
//! and runtimes say. Each comparison counts what it compared and asks for enough of it.

#![expect(clippy::unwrap_used, clippy::panic, reason = "helpers of tests")]

mod cases;
mod common;
mod others;
mod python;
mod python_cases;
mod python_cases_table;
mod rust;
mod scripts;
