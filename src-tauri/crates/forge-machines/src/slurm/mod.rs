//! Machines that are a cluster of Slurm: each task has a job, in which its worktree and its programs are.
//!
//! Jobs are submitted on this computer or, by [`Submit::Via`], on a login node that is reached as a machine by ssh.
//! [`Slurm`] has the verbs: [`submit`], [`find`], [`look`], [`cancel`] and [`list`]. A [`TaskJob`] is the way into the job
//! of one task: it submits the job when somebody needs it and that is allowed, and connects by a step of the job. What
//! it has to remember is in a [`Ledger`], which outlives the process. A [`LeftBehind`] is the way to what a job left in
//! the folder that the nodes share with the computer that submits.
//!
//! Whatever a step starts ends with it, so the keeper is started by the job itself: its script waits at a named pipe for
//! the path of the program, which the first step has put there (`script.rs`).
//!
//! Invariants:
//! - A name is submitted once. It is written down before, and looked for before it is submitted again.
//! - A job is never requeued. Each has a folder of its own, so that no two jobs ever work in one worktree.
//! - Only an answer of Slurm says that a job is over. A controller that does not answer says nothing, and one that has
//!   forgotten a job does not take back what it said. On a node that does not answer, a job of any end may go on.
//! - Nothing of the environment here reaches a job, and what a person configured is checked before it is an argument.
//!
//! [`submit`]: Slurm::submit
//! [`find`]: Slurm::find
//! [`look`]: Slurm::look
//! [`cancel`]: Slurm::cancel
//! [`list`]: Slurm::list

mod config;
mod examine;
mod job;
mod left;
mod reason;
mod script;
mod state;
mod submit;
mod verbs;

pub use crate::slurm_fault::{JobEnd, JobOver, SlurmFault};
pub use config::{SlurmConfig, SlurmSetup};
pub use job::{Allocation, Ledger, MakingJob, TaskJob};
pub use left::LeftBehind;
pub use state::Look;
pub use submit::Submit;
pub use verbs::{Known, ListedJob, Slurm};
