//! Projects: their commands, what their repositories say about them, and their workflow definitions.

pub(crate) mod command;
pub(crate) mod files;
pub(crate) mod repository;
pub(crate) mod workflows;
