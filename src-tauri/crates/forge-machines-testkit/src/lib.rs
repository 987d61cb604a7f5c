//! Machines for tests, benchmarks and the soak.
//!
//! A [`Host`] is a second computer as far as a program can tell: a network, processes, mounts and a name of its own, with
//! a real sshd of an ordinary user. A [`Distance`] makes the way to it long and counts round trips. [`cuts`] loses the
//! connection in every way there is while programs print and read, and checks that nothing else is lost: for a minute as
//! a test, for as long as one likes as `forge-soak`. A [`Cluster`] is a Slurm of two nodes. A
//! [`FakeKubernetes`] gives the answers of an API server, and has pods.
//!
//! Absent: engine, tasks and git, so that the tests of the lowest crates can use it.

mod containers;
pub mod cuts;
mod distance;
mod host;
mod kept;
mod kubernetes;
mod processes;
mod random;
mod slurm;
mod system;

pub use containers::{BASE, Podman, base_system};
pub use distance::Distance;
pub use host::{Host, Setup, keeper_program};
pub use kept::{Following, Printed, kept_script};
pub use kubernetes::{Answers, FakeKubernetes, NAMESPACE, PodEnd, Pods};
pub use random::Random;
pub use slurm::Cluster;
