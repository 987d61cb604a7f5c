//! The built window, driven as a person would.

mod access;
mod agents;
mod api_access;
mod board;
mod ends;
mod inner_loop;
mod newcomer;
mod notices;
mod opens;
mod process;
mod review;
mod scripted;
mod spaces;
mod validate;
mod work;
