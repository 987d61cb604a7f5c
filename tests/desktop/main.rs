//! The built window, driven as a person would.

mod access;
mod agents;
mod api_access;
mod board;
mod closing;
mod demo;
mod fixture;
mod inner_loop;
mod installed;
mod notifications;
mod opening;
mod own_repository;
mod process;
mod remote;
mod review;
mod scripted;
mod terminal;
mod validate;
mod worktrees;
