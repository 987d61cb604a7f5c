//! Machines: other computers that tasks can run on.
//!
//! Absent: how a machine is reached (`forge-machines`).

pub(crate) mod command;
pub(crate) mod contacts;
pub(crate) mod hosts;
pub(crate) mod test;
