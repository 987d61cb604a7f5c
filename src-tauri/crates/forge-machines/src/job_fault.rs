//! What keeps a job of a cluster from being had or used: each fault in one sentence, with what a person can do about it.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::steps::StepName;

/// What a cluster calls a job: a number of Slurm, or a name of Kubernetes.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct JobRef(pub String);

impl fmt::Display for JobRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// How a job ended, as its cluster says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum JobEnd {
    /// At its time limit.
    TimeLimit,
    /// It took more memory than it asked for.
    OutOfMemory,
    /// Somebody cancelled it.
    Cancelled,
    /// Somebody deleted it, or what it ran in.
    Deleted,
    /// What it ran in was taken away: its node was drained or shut down, or somebody deleted the pod.
    Taken,
    /// Its node put it out.
    Evicted,
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
    /// The cluster does not know the job any more.
    Unknown,
}

/// A job that is over.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct JobOver {
    /// What the cluster calls it; none when that was never known.
    pub job: Option<JobRef>,
    /// How it ended.
    pub end: JobEnd,
    /// The node that it was on; empty when it was on none.
    #[serde(default)]
    pub node: String,
    /// The limit that it reached, in words; empty where the cluster does not tell.
    #[serde(default)]
    pub limit: String,
    /// What the cluster said of its end; empty where the end says all.
    #[serde(default)]
    pub said: String,
    /// Whether its node does not answer: something of it may go on there.
    #[serde(default)]
    pub may_go_on: bool,
}

/// Why the job of a task cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum JobFault {
    /// What is known of jobs cannot be read or written here. Nothing is submitted then.
    #[error("Could not read or write the record of jobs: {said}.")]
    Unwritten {
        /// What the database said.
        said: String,
    },
    /// The cluster did not answer when the job was submitted, and may have taken it.
    #[error("Could not tell whether the cluster took the job: it has not said so yet.")]
    Unsure,
    /// The job has not begun.
    #[error("Could not start job {job} yet: {why}.")]
    Waiting {
        /// What the cluster calls it.
        job: JobRef,
        /// Why, in words.
        why: String,
        /// What a person can do about it; empty where waiting helps.
        remedy: String,
    },
    /// The job has begun and does not go on for now.
    #[error("Could not continue in job {job} for now: {why}.")]
    Stalled {
        /// What the cluster calls it.
        job: JobRef,
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
    #[error("Could not stay connected to job {job}: {said}.")]
    Disconnected {
        /// What the cluster calls it.
        job: JobRef,
        /// What was said.
        said: String,
    },
}

fn told(over: &JobOver) -> String {
    let JobOver { job, end, node, limit, said, may_go_on } = over;
    let job = job.as_ref().map_or_else(|| "the job".to_owned(), |job| format!("job {job}"));
    let node = if node.is_empty() { String::new() } else { format!(" on {node}") };
    let of = if limit.is_empty() { String::new() } else { format!(" of {limit}") };
    let said = if said.is_empty() { String::new() } else { format!(" ({said})") };
    let why = match end {
        JobEnd::TimeLimit => format!("it reached its time limit{of}"),
        JobEnd::OutOfMemory => format!("it was killed at its memory limit{of}"),
        JobEnd::Cancelled => "somebody cancelled it".to_owned(),
        JobEnd::Deleted => "somebody deleted it".to_owned(),
        JobEnd::Taken => "its pod was removed".to_owned(),
        JobEnd::Evicted => "its node evicted it".to_owned(),
        JobEnd::NodeFailed => {
            "its node failed, and the cluster cannot tell whether programs still run there".to_owned()
        }
        JobEnd::NodeCameBack => "its node failed, and came back without the job".to_owned(),
        JobEnd::Preempted => "a job with a higher priority preempted it".to_owned(),
        JobEnd::BootFailed => "its node did not start".to_owned(),
        JobEnd::Ended => "it ended".to_owned(),
        JobEnd::Unknown => "the cluster no longer knows it, so the reason is unknown".to_owned(),
    };
    let silent = match end {
        JobEnd::NodeFailed | JobEnd::NodeCameBack => "",
        JobEnd::Taken | JobEnd::Evicted if *may_go_on => ", and it has not ended yet",
        JobEnd::Preempted if *may_go_on => ", and it may not have ended yet",
        _ if *may_go_on => ", but its node does not answer, so it may still be running there",
        _ => "",
    };
    format!("Could not continue in {job}{node}: {why}{said}{silent}.")
}

impl JobOver {
    /// A job that ended so, on no node.
    #[must_use]
    pub const fn new(job: JobRef, end: JobEnd) -> Self {
        Self::of(Some(job), end)
    }

    /// The same of one that has no name, as far as is known.
    #[must_use]
    pub const fn of(job: Option<JobRef>, end: JobEnd) -> Self {
        Self { job, end, node: String::new(), limit: String::new(), said: String::new(), may_go_on: false }
    }

    /// A name of the reason for programs.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self.end {
            JobEnd::TimeLimit => "time_limit",
            JobEnd::OutOfMemory => "out_of_memory",
            JobEnd::Cancelled => "job_cancelled",
            JobEnd::Deleted => "job_deleted",
            JobEnd::Taken => "job_taken",
            JobEnd::Evicted => "job_evicted",
            JobEnd::NodeFailed | JobEnd::NodeCameBack => "node_failed",
            JobEnd::Preempted => "job_preempted",
            JobEnd::BootFailed => "boot_failed",
            JobEnd::Unknown => "job_unknown",
            JobEnd::Ended => "job_ended",
        }
    }

    /// Whether nothing of it can be at work any more. Of a node that failed only the network or the
    /// cluster's own program may have: its programs may go on.
    #[must_use]
    pub fn is_certain(&self) -> bool {
        self.end != JobEnd::NodeFailed && !self.may_go_on
    }
}

impl JobFault {
    /// What a person can do about it.
    #[must_use]
    pub fn remedy(&self) -> String {
        match self {
            Self::Unwritten { .. } => "Free space on this computer's disk.".to_owned(),
            Self::Unsure => "Wait: it is looked for again.".to_owned(),
            Self::Waiting { remedy, .. } if remedy.is_empty() => {
                "Wait: the job begins when the cluster has a place for it.".to_owned()
            }
            Self::Waiting { remedy, .. } | Self::Stalled { remedy, .. } => remedy.clone(),
            Self::Over(over) if over.may_go_on || over.end == JobEnd::NodeFailed => {
                "Wait until its cluster knows its end, or give up the machine: the task then continues in another job.".to_owned()
            }
            Self::Over(over) => match over.end {
                JobEnd::TimeLimit => "Raise the machine's time limit, or make the task smaller.",
                JobEnd::OutOfMemory => "Raise the machine's memory, or make the task use less at once.",
                JobEnd::Evicted => {
                    "Start the task again: it gets another job. If it happens again, have the machine ask for as much memory and storage as the task needs."
                }
                JobEnd::NodeFailed
                | JobEnd::NodeCameBack
                | JobEnd::Cancelled
                | JobEnd::Deleted
                | JobEnd::Taken
                | JobEnd::Preempted
                | JobEnd::BootFailed
                | JobEnd::Ended
                | JobEnd::Unknown => "Start the task again: it gets another job.",
            }
            .to_owned(),
            Self::NoJob => "Start the task over: it gets a new job.".to_owned(),
            Self::Disconnected { .. } => {
                "Try again. If it happens again, look at the job on its cluster.".to_owned()
            }
        }
    }

    /// Whether time alone may mend it.
    pub(crate) const fn is_passing(&self) -> bool {
        match self {
            Self::Unwritten { .. }
            | Self::Unsure
            | Self::Waiting { .. }
            | Self::Stalled { .. }
            | Self::Disconnected { .. } => true,
            // The node may come back, which makes it certain.
            Self::Over(over) => matches!(over.end, JobEnd::NodeFailed) || over.may_go_on,
            Self::NoJob => false,
        }
    }

    /// Whether it is one of a single job.
    pub(crate) const fn is_of_one(&self) -> bool {
        !matches!(self, Self::Unwritten { .. } | Self::Unsure)
    }

    /// Which step of a test it ends.
    pub(crate) const fn step(&self) -> StepName {
        match self {
            Self::Disconnected { .. } => StepName::Keeper,
            Self::Unwritten { .. }
            | Self::Unsure
            | Self::Waiting { .. }
            | Self::Stalled { .. }
            | Self::Over(_)
            | Self::NoJob => StepName::Job,
        }
    }
}
