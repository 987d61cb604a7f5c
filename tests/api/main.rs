//! The interfaces for other programs: HTTP, events and the command line, each as such a program sees it.
//!
//! The engine is a real `forge serve` with a folder and an environment of its own.

mod answers;
mod bodies;
mod cli;
mod events;
mod failures;
mod guide;
mod help;
mod inner_loop;
mod lifecycle;
mod lists;
mod mcp;
mod openapi;
mod refusals;
mod routes;
mod storage;
mod trust;
mod validate_cli;
