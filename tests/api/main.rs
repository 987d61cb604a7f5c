//! The interfaces for other programs: HTTP, events, MCP and the command line, each as such a program sees it. What
//! operations do is tested in `tests/engine`.
//!
//! The engine is a real `forge serve` with a folder and an environment of its own.

mod answers;
mod bodies;
mod cli;
mod commands;
mod commands_of_agents;
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
mod remote;
mod routes;
mod service;
mod socket;
mod storage;
mod terminals;
mod trust;
mod validate_cli;
