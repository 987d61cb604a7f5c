//! Machines that are reached by ssh, against a real sshd on a second host. Where this may not make one, each test says
//! so and does nothing.

mod cuts;
mod faults;
mod follow;
mod host;
mod runs;
mod steps;
