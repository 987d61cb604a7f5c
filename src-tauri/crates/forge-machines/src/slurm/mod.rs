//! Machines that are a cluster of Slurm: each task has a job, in which its worktree and its programs are.
//!
//! Jobs are submitted on this computer or, by [`Submit::Via`], on a login node that is reached as a machine by ssh.
//! [`Slurm`] is a [`Cluster`](crate::job::Cluster), whose jobs are reached by steps of theirs. A [`LeftBehind`] is the way
//! to what a job left in the folder that the nodes share with the computer that submits.
//!
//! Whatever a step starts ends with it, so the keeper is started by the job itself: its script waits at a named pipe for
//! the path of the program, which the first step has put there (`script.rs`).
//!
//! Invariants:
//! - A job is never requeued. Each has a folder of its own, so that no two jobs ever work in one worktree.
//! - On a node that does not answer, a job of any end may go on.
//! - Nothing of the environment here reaches a job.

mod cluster;
mod config;
mod left;
mod reason;
mod script;
mod state;
mod submit;
mod verbs;

pub use crate::slurm_fault::SlurmFault;
pub use config::{SlurmConfig, SlurmSetup};
pub use left::LeftBehind;
pub use submit::Submit;
pub use verbs::Slurm;
