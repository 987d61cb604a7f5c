//! The steps of a test.

use serde::{Deserialize, Serialize};

/// What a step looks at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StepName {
    /// Whether an ssh server answers.
    Reach,
    /// Whether it is the one that is known.
    HostKey,
    /// Whether it accepts the user.
    SignIn,
    /// Whether a program that runs containers is there and can be used.
    ContainerEngine,
    /// Whether the limits of a container are kept to.
    Limits,
    /// Whether the image is there, or can be had.
    Image,
    /// Whether a container of it runs.
    Container,
    /// Whether Slurm answers.
    Slurm,
    /// Whether the API server of Kubernetes answers.
    Kubernetes,
    /// Whether a job begins.
    Job,
    /// Whether the nodes and the computer that submits jobs share the folder.
    SharedFolder,
    /// Whether the keeper is and runs there.
    Keeper,
    /// Whether git is there, and recent enough.
    Git,
    /// Whether there is space.
    Disk,
    /// Whether a program is on the search path of the user's login.
    Program,
    /// Whether programs go on when the session ends.
    Lingering,
    /// Whether its clock agrees with this computer's.
    Clock,
}

/// A step that was taken.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Step {
    /// What it looked at.
    pub name: StepName,
    /// Which program, where it looked for one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub subject: Option<String>,
    /// Whether it is as it should be.
    pub ok: bool,
    /// What was found, in a sentence.
    pub message: String,
    /// What a person can do about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub remedy: Option<String>,
}

impl Step {
    pub(crate) fn good(name: StepName, message: impl Into<String>) -> Self {
        Self { name, subject: None, ok: true, message: message.into(), remedy: None }
    }

    pub(crate) fn bad(name: StepName, message: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self { name, subject: None, ok: false, message: message.into(), remedy: Some(remedy.into()) }
    }

    pub(crate) fn about(mut self, subject: &str) -> Self {
        self.subject = Some(subject.to_owned());
        self
    }
}
