//! The doors: HTTP, events and the command line, each as another program sees them.
//!
//! The engine is a real `forge serve`, in a folder and an environment of its own.

mod audit;
mod board;
mod budgets;
mod checks;
mod cli;
mod comments;
mod conflicts;
mod costs;
mod events;
mod failures;
mod fixes;
mod forge;
mod guards;
mod guide;
mod half_done;
mod help;
mod hold;
mod hooks;
mod inner_loop;
mod knowledge;
mod life;
mod lists;
mod mcp;
mod merging;
mod messages;
mod moves;
mod offers;
mod openapi;
mod previews;
mod prompts;
mod pull_requests;
mod races;
mod refusals;
mod review_table;
mod routes;
mod schedule;
mod subtasks;
mod teaching;
mod validate;
mod workflows;
mod workspaces;
