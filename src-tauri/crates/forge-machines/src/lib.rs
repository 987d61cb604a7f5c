//! Machines: where the programs of tasks run when it is not here.
//!
//! A machine is an argument prefix that gives a stream of bytes to a [keeper](forge_keeper) there: that of the user's
//! `ssh`, of `podman exec` into a task's container, or of `srun` or
//! `kubectl exec` into a task's [job](job) of [Slurm](slurm) or [Kubernetes](kubernetes). [`Machine`] is the
//! same for all; a [`Way`] is what differs.
//!
//! A machine is reached by the user's own `ssh` program, with the configuration, agent, jumps and certificates that
//! they have. One session carries everything: it puts the [keeper](forge_keeper) there when it is missing, and then
//! joins the engine to it. [`SshMachine`] holds the session, makes it again when somebody needs it, and says by
//! [`Contact`] how that goes; [`SshMachine::test`] walks through all that a machine needs.
//!
//! Invariants:
//! - A machine that cannot be reached is *unreachable*, never *ended*: only its keeper says that a program ended.
//! - No secret is in an argument, in the environment of `ssh`, or in a file on a machine; no agent, credential or port
//!   of the user is forwarded to it.
//! - Nobody is asked: `ssh` runs without a terminal. A host key is accepted by a person, outside of Forge.
//! - A connection is made when somebody needs it. One that fails is tried again later and later, and one that only a
//!   person can mend hardly ever.
//!
//! Absent: what runs there and why, git, tasks, and the database.

mod config;
mod contact;
pub mod container;
mod container_fault;
mod environment;
mod examine;
mod fault;
mod import;
pub mod job;
mod job_fault;
mod keeper_program;
pub mod kubernetes;
mod kubernetes_fault;
mod machine;
mod quote;
mod session;
mod shell;
pub mod slurm;
mod slurm_fault;
mod steps;
mod way;

pub use config::{MachineConfig, SshConfig};
pub use contact::Contact;
pub use container::ContainerMachine;
pub use container_fault::ContainerFault;
pub use environment::EnvironmentError;
pub use fault::Fault;
pub use import::{ImportedHost, import};
pub use job_fault::{JobEnd, JobFault, JobOver};
pub use keeper_program::{KeeperProgram, KeeperProgramError};
pub use kubernetes_fault::KubernetesFault;
pub use machine::{AnyMachine, Machine, SshMachine};
pub use quote::quote;
pub use slurm_fault::SlurmFault;
pub use steps::{Step, StepName};
pub use way::{Sharing, Way};
