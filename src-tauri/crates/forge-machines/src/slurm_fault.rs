//! What keeps a cluster of Slurm from being used: each fault in one sentence, with what a person can do about it.

use crate::steps::StepName;

/// Why a cluster of Slurm cannot be used.
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
    #[error("Could not reach the Slurm controller: {said}.")]
    Controller {
        /// What was said.
        said: String,
    },
    /// Slurm refuses the job.
    #[error("Could not submit a job: Slurm refuses it ({said}).")]
    Refused {
        /// What it said.
        said: String,
    },
    /// What a job has is not seen where jobs are submitted.
    #[error("Could not find {folder} {place}: files that a job writes there are not visible.")]
    NotShared {
        /// The folder.
        folder: String,
        /// Where it was looked for.
        place: String,
    },
}

impl SlurmFault {
    /// What a person can do about it.
    #[must_use]
    pub fn remedy(&self) -> String {
        match self {
            Self::NoProgram { .. } => {
                "Install the Slurm client commands there, or choose a login node that has them."
            }
            Self::Controller { .. } => {
                "Check that `sinfo` works there. Jobs go on while the controller is down, and so do their tasks when it \
                 is back."
            }
            Self::Refused { .. } => {
                "Correct the machine's partition, account, time, memory, processors or GRES as the message says."
            }
            Self::NotShared { .. } => {
                "Choose a folder on a file system that the nodes and the computer that submits jobs share."
            }
        }
        .to_owned()
    }

    /// Whether time alone may mend it.
    pub(crate) const fn is_passing(&self) -> bool {
        matches!(self, Self::Controller { .. })
    }

    /// Whether it is one of a single job.
    pub(crate) const fn is_of_one(&self) -> bool {
        matches!(self, Self::NotShared { .. })
    }

    /// Which step of a test it ends.
    pub(crate) const fn step(&self) -> StepName {
        match self {
            Self::NoProgram { .. } | Self::Controller { .. } => StepName::Slurm,
            Self::Refused { .. } => StepName::Job,
            Self::NotShared { .. } => StepName::SharedFolder,
        }
    }
}
