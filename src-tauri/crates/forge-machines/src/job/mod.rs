//! Jobs of clusters: each task has one, in which its worktree and its programs are.
//!
//! A [`Cluster`] is what differs between [Slurm](crate::slurm) and [Kubernetes](crate::kubernetes): how a job is submitted,
//! found, looked at, cancelled and listed, and how a shell in it is had. A [`TaskJob`] is the way into the job of one task:
//! it submits the job when somebody needs it and that is allowed. What it has to remember is in a [`Ledger`], which
//! outlives the process. [`test`] walks through all that a task needs in a job.
//!
//! Invariants:
//! - A name is submitted once. It is written down before, and looked for before it is submitted again.
//! - No cluster begins a job again by itself.
//! - Only an answer of the cluster says that a job is over. A cluster that does not answer says nothing, and one that has
//!   forgotten a job does not take back what it said.

mod cluster;
mod examine;
mod task;

pub use crate::job_fault::{JobEnd, JobFault, JobOver, JobRef};
pub use cluster::{Cluster, Known, ListedJob, Look, Place};
pub use examine::test;
pub use task::{Allocation, Ledger, MakingJob, TaskJob};
