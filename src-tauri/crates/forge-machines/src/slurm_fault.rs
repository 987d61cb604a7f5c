//! What keeps a job of Slurm from being had or used: each fault in one sentence, with what a person can do about it.

use serde::{Deserialize, Serialize};

use crate::StepName;

/// How a job ended, as Slurm says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum JobEnd {
    /// At its time limit.
    TimeLimit,
    /// It took more memory than it asked for.
    OutOfMemory,
    /// Somebody cancelled it.
    Cancelled,
    /// Its node failed.
    NodeFailed,
    /// Its node failed and came back, which ends whatever a job left there.
    NodeCameBack,
    /// A job with a higher priority took its place.
    Preempted,
    /// Its node did not start.
    BootFailed,
    /// Its script ended.
    Ended,
    /// Slurm does not know the job any more.
    Unknown,
}

/// A job that is over.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct JobOver {
    /// Its number; none when it never had one.
    pub job: Option<u64>,
    /// How it ended.
    pub end: JobEnd,
    /// The node that it was on; empty when it was on none.
    #[serde(default)]
    pub node: String,
    /// The limit that it reached, in words; empty where Slurm does not tell.
    #[serde(default)]
    pub limit: String,
    /// Whether its node does not answer: something of it may go on there.
    #[serde(default)]
    pub may_go_on: bool,
}

/// Why a job of Slurm cannot be had or used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SlurmFault {
    /// A command of Slurm is missing where jobs are submitted.
    #[error("Could not find `{program}` {place}.")]
    NoProgram {
        /// The command.
        program: String,
        /// Where it was looked for: `on this computer`, `on login`.
        place: String,
    },
    /// The controller does not answer. It says nothing of jobs.
    #[error("Could not reach the controller of Slurm: {said}.")]
    Controller {
        /// What was said.
        said: String,
    },
    /// What is known of jobs cannot be read or written here. Nothing is submitted then.
    #[error("Could not read or write what is known of jobs: {said}.")]
    Unwritten {
        /// What the database said.
        said: String,
    },
    /// A value would be read as something else.
    #[error("Could not submit a job: {field} {problem}.")]
    Invalid {
        /// The field of the configuration.
        field: String,
        /// What it must be.
        problem: String,
    },
    /// Slurm refuses the job.
    #[error("Could not submit a job: Slurm refuses it ({said}).")]
    Refused {
        /// What it said.
        said: String,
    },
    /// The job has not begun.
    #[error("Could not begin job {job} yet: {why}.")]
    Waiting {
        /// Its number.
        job: u64,
        /// Why, in words.
        why: String,
        /// What a person can do about it; empty where waiting helps.
        remedy: String,
    },
    /// The job has begun and does not go on for now.
    #[error("Could not go on in job {job} for now: {why}.")]
    Stalled {
        /// Its number.
        job: u64,
        /// Why, in words.
        why: String,
        /// What a person can do about it.
        remedy: String,
    },
    /// The job is over.
    #[error("{}", told(.0))]
    Over(JobOver),
    /// There is no job, and none may be made: a worktree was in the one that there was.
    #[error("Could not find the job of the task: none is on record.")]
    NoJob,
    /// The connection ended while the job goes on.
    #[error("Could not stay connected with job {job}: {said}.")]
    Disconnected {
        /// Its number.
        job: u64,
        /// What was said.
        said: String,
    },
    /// What a job has is not seen where jobs are submitted.
    #[error("Could not find {folder} {place}: what a job has there is not seen.")]
    NotShared {
        /// The folder.
        folder: String,
        /// Where it was looked for.
        place: String,
    },
}

fn told(over: &JobOver) -> String {
    let JobOver { job, end, node, limit, may_go_on } = over;
    let job = job.map_or_else(|| "the job".to_owned(), |job| format!("job {job}"));
    let node = if node.is_empty() { String::new() } else { format!(" on {node}") };
    let of = if limit.is_empty() { String::new() } else { format!(" of {limit}") };
    let why = match end {
        JobEnd::TimeLimit => format!("it reached its time limit{of}"),
        JobEnd::OutOfMemory => format!("it was killed at its memory limit{of}"),
        JobEnd::Cancelled => "somebody cancelled it".to_owned(),
        JobEnd::NodeFailed => {
            "its node failed, and Slurm cannot tell whether programs still run there".to_owned()
        }
        JobEnd::NodeCameBack => "its node failed, and came back without it".to_owned(),
        JobEnd::Preempted => "a job with a higher priority took its place".to_owned(),
        JobEnd::BootFailed => "its node did not start".to_owned(),
        JobEnd::Ended => "it ended".to_owned(),
        JobEnd::Unknown => "Slurm does not know it any more, so why it ended is not known".to_owned(),
    };
    let silent = match end {
        JobEnd::NodeFailed | JobEnd::NodeCameBack => "",
        _ if *may_go_on => ", but its node does not answer, so it may go on there",
        _ => "",
    };
    format!("Could not go on in {job}{node}: {why}{silent}.")
}

impl JobOver {
    /// A job that ended so, on no node.
    #[must_use]
    pub const fn new(job: u64, end: JobEnd) -> Self {
        Self { job: Some(job), end, node: String::new(), limit: String::new(), may_go_on: false }
    }

    /// A name of the reason for programs.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self.end {
            JobEnd::TimeLimit => "time_limit",
            JobEnd::OutOfMemory => "out_of_memory",
            JobEnd::Cancelled => "job_cancelled",
            JobEnd::NodeFailed | JobEnd::NodeCameBack => "node_failed",
            JobEnd::Preempted => "job_preempted",
            JobEnd::BootFailed => "boot_failed",
            JobEnd::Unknown => "job_unknown",
            JobEnd::Ended => "job_ended",
        }
    }

    /// Whether nothing of it can be at work any more. Of a node that failed only the network or Slurm's own program may
    /// have: its programs may go on.
    #[must_use]
    pub fn is_certain(&self) -> bool {
        self.end != JobEnd::NodeFailed && !self.may_go_on
    }
}

impl SlurmFault {
    /// What a person can do about it.
    #[must_use]
    pub fn remedy(&self) -> String {
        match self {
            Self::NoProgram { .. } => {
                "Install the client commands of Slurm there, or name a login node that has them.".to_owned()
            }
            Self::Controller { .. } => {
                "Check that `sinfo` works there. Jobs go on while the controller is down, and so do their tasks when it \
                 is back."
                    .to_owned()
            }
            Self::Unwritten { .. } => "Free space on this computer's disk.".to_owned(),
            Self::Invalid { .. } => "Correct the machine.".to_owned(),
            Self::Refused { .. } => {
                "Correct the machine's partition, account, time, memory, processors or GRES by what was said."
                    .to_owned()
            }
            Self::Waiting { remedy, .. } if remedy.is_empty() => {
                "Wait: the job begins when Slurm has a place for it.".to_owned()
            }
            Self::Waiting { remedy, .. } | Self::Stalled { remedy, .. } => remedy.clone(),
            Self::Over(over) if over.may_go_on => {
                "Wait until the node is back, or give up the machine: the task then goes on in another job.".to_owned()
            }
            Self::Over(over) => match over.end {
                JobEnd::TimeLimit => "Raise the time limit of the machine, or have the task do less.".to_owned(),
                JobEnd::OutOfMemory => "Raise the memory of the machine, or have the task do less at once.".to_owned(),
                JobEnd::NodeFailed => {
                    "Wait until the node is back, or give up the machine: the task then goes on in another job."
                        .to_owned()
                }
                JobEnd::NodeCameBack | JobEnd::Cancelled | JobEnd::Preempted | JobEnd::BootFailed | JobEnd::Ended | JobEnd::Unknown => {
                    "Start the task again: it gets another job.".to_owned()
                }
            },
            Self::NoJob => "Start the task over: it gets a new job.".to_owned(),
            Self::Disconnected { .. } => "Try again. If it happens again, look at the steps of the job.".to_owned(),
            Self::NotShared { .. } => {
                "Choose a folder on a file system that the nodes and the computer that submits jobs share.".to_owned()
            }
        }
    }

    /// Whether time alone may mend it.
    pub(crate) const fn is_passing(&self) -> bool {
        match self {
            Self::Controller { .. }
            | Self::Unwritten { .. }
            | Self::Waiting { .. }
            | Self::Stalled { .. }
            | Self::Disconnected { .. } => true,
            // The node may come back, which makes it certain.
            Self::Over(over) => matches!(over.end, JobEnd::NodeFailed) || over.may_go_on,
            Self::NoProgram { .. }
            | Self::Invalid { .. }
            | Self::Refused { .. }
            | Self::NoJob
            | Self::NotShared { .. } => false,
        }
    }

    /// Whether it is one of a single job.
    pub(crate) const fn is_of_one(&self) -> bool {
        matches!(
            self,
            Self::Waiting { .. }
                | Self::Stalled { .. }
                | Self::Over(_)
                | Self::NoJob
                | Self::Disconnected { .. }
                | Self::NotShared { .. }
        )
    }

    /// Which step of a test it ends.
    pub(crate) const fn step(&self) -> StepName {
        match self {
            Self::NoProgram { .. } | Self::Controller { .. } => StepName::Slurm,
            Self::Unwritten { .. }
            | Self::Invalid { .. }
            | Self::Refused { .. }
            | Self::Waiting { .. }
            | Self::Stalled { .. }
            | Self::Over(_)
            | Self::NoJob => StepName::Job,
            Self::NotShared { .. } => StepName::SharedFolder,
            Self::Disconnected { .. } => StepName::Keeper,
        }
    }
}
