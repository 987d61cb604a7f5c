//! Machines: other computers that tasks can run on, containers, and jobs of clusters. What follows from the contact with
//! one.
//!
//! Absent: how a machine is reached (`forge-machines`), which one a task runs on (`core/fleet`), and how programs run there
//! (`core/location`).

mod clearing;
pub(crate) mod command;
pub(crate) mod contact;
pub(crate) mod containers;
pub(crate) mod contribution;
pub(crate) mod hosts;
mod job_end;
mod jobs;
pub(crate) mod leaving;
pub(crate) mod left_over;
mod sweeping;
pub(crate) mod test;
