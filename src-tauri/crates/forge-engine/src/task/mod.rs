//! What people and programs ask for about a task: making and changing it, moving it, and the actions that are offered.

pub(crate) mod actions;
pub(crate) mod claim;
pub(crate) mod command;
pub(crate) mod moves;
