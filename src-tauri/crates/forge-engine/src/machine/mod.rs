//! Machines: other computers that tasks can run on, and containers. Which one a task runs on, and what follows from the contact with it.
//!
//! Absent: how a machine is reached (`forge-machines`), and how programs run there (`core/location`).

mod clearing;
pub(crate) mod command;
pub(crate) mod contact;
pub(crate) mod containers;
pub(crate) mod contribution;
pub(crate) mod hosts;
pub(crate) mod placement;
pub(crate) mod placing;
pub(crate) mod test;
