//! What a project learns from its tasks: lessons, notes of how tasks went, and postmortems.

pub(crate) mod command;
pub(crate) mod contribution;
pub(crate) mod debrief;
pub(crate) mod policy;
pub(crate) mod postmortem;
pub(crate) mod search;
pub(crate) mod step;
pub(crate) mod teaching;
