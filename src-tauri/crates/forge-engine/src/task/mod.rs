//! Commands about one task that need several features: creating and changing it, moving it, its actions, and a
//! person's answers about trust.

pub(crate) mod actions;
pub(crate) mod adopt;
pub(crate) mod claim;
pub(crate) mod command;
pub(crate) mod machine;
pub(crate) mod moves;
pub(crate) mod repositories;
pub(crate) mod reset;
pub(crate) mod trusting;
