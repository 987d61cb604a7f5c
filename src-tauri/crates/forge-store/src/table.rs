//! The tables, a file each: the row, what reads it, what writes it.

pub mod agents;
pub mod approvals;
pub mod attachments;
pub mod comments;
pub mod costs;
pub mod dependencies;
pub mod events;
pub mod executions;
pub mod fixes;
pub mod ledger;
pub mod lessons;
pub mod limits;
pub mod merges;
pub mod notifications;
pub mod processes;
pub mod projects;
pub mod pull_requests;
pub mod races;
pub mod reviews;
pub mod roles;
pub mod slots;
pub mod steps;
pub mod tasks;
pub mod transitions;
pub mod workspaces;
