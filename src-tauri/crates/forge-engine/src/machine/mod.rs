//! Machines: other computers that tasks can run on, and containers. What follows from the contact with one.
//!
//! Absent: how a machine is reached (`forge-machines`), which one a task runs on (`core/fleet`), and how programs run there
//! (`core/location`).

mod clearing;
pub(crate) mod command;
pub(crate) mod contact;
pub(crate) mod containers;
pub(crate) mod contribution;
pub(crate) mod hosts;
pub(crate) mod test;
