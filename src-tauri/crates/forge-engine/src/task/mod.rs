//! What people and programs ask for about a task: making and changing it, moving it, and the actions that are offered.

pub(crate) mod actions;
pub(crate) mod adopt;
pub(crate) mod claim;
pub(crate) mod command;
pub(crate) mod moves;
pub(crate) mod repositories;
pub(crate) mod reset;
pub(crate) mod trusting;
