//! What leads to a run of an agent besides its task: why it is started again, and what it is told for this one turn.

use crate::{
    attachment::AttachedFile, audit::AuditFinding, comment::LineNote, contract, merge::ConflictPath,
    review::ReviewStep,
};

contract! {
    /// Why a coder is started again, with the evidence it needs.
    #[serde(tag = "kind", rename_all = "snake_case")]
    pub enum Correction {
        /// A check failed.
        CheckFailed {
            /// The failing check.
            step: ReviewStep,
            /// This is attempt n.
            attempt: u32,
            /// Of m.
            of: u32,
        },
        /// A person asked for changes.
        Rejected {
            /// Their words.
            reason: String,
            /// What they said on lines of the diff.
            #[serde(default)]
            comments: Vec<LineNote>,
        },
        /// The auditor does not pass the work.
        AuditFailed {
            /// Its reason.
            reason: String,
            /// Its result.
            findings: Vec<AuditFinding>,
            /// This is attempt n.
            attempt: u32,
            /// Of m.
            of: u32,
        },
        /// A person sent it back or said something.
        Message {
            /// Their words.
            text: String,
            /// What they, or readers of the pull request, said on lines of the diff.
            #[serde(default)]
            comments: Vec<LineNote>,
            /// Files that go with it.
            #[serde(default)]
            files: Vec<AttachedFile>,
        },
        /// The merge conflicts.
        Conflict {
            /// The target branch.
            target: String,
            /// The conflicting paths.
            paths: Vec<ConflictPath>,
            /// Whether Forge has begun the merge in the worktree, for an agent that cannot.
            #[serde(default)]
            begun: bool,
        },
        /// The repository's hooks refused the commit.
        CommitRefused {
            /// What they printed.
            output: String,
        },
        /// A guard refused the move to review.
        GuardRefused {
            /// Its reason.
            reason: String,
        },
        /// The agent crashed or was lost.
        Interrupted {
            /// What happened.
            what: String,
        },
        /// The agent finished without a change.
        NoChange {},
        /// The auditor's last answer held no verdict.
        NoVerdict {},
        /// The task's ordered subtasks, each a turn of its own after this one.
        PartsFollow {
            /// Number and title of each, in order.
            parts: Vec<String>,
        },
        /// It is the turn of an ordered subtask.
        Subtask {
            /// Its number.
            number: u32,
            /// Its title.
            title: String,
            /// Its description, Markdown.
            description: String,
        },
        /// The workflow says something to whoever works in the state that was entered.
        Workflow {
            /// Its words.
            text: String,
        },
        /// What the project has learned that fits the task.
        Lessons {
            /// The lessons, the most fitting first.
            lessons: Vec<crate::knowledge::Lesson>,
        },
    }
}

contract! {
    /// A person's message to an agent, as shown to people.
    #[derive(Eq)]
    pub struct SaidMessage {
        /// The text; may be empty when comments or files were sent.
        pub text: String,
        /// Number of diff comments sent with it.
        pub comments: u32,
        /// Names of the files sent with it.
        pub files: Vec<String>,
    }
}

impl Correction {
    /// The message that it is, if it is one.
    #[must_use]
    pub fn as_said(&self) -> Option<SaidMessage> {
        let Self::Message { text, comments, files } = self else { return None };
        Some(SaidMessage {
            text: text.clone(),
            comments: u32::try_from(comments.len()).unwrap_or(u32::MAX),
            files: files.iter().map(|file| file.name.clone()).collect(),
        })
    }

    /// Whether it says what the run at hand is about, rather than what happened before it.
    #[must_use]
    pub const fn is_of_one_turn(&self) -> bool {
        match self {
            Self::Subtask { .. }
            | Self::PartsFollow { .. }
            | Self::Lessons { .. }
            | Self::Workflow { .. } => true,
            Self::CheckFailed { .. }
            | Self::Rejected { .. }
            | Self::AuditFailed { .. }
            | Self::Message { .. }
            | Self::Conflict { .. }
            | Self::CommitRefused { .. }
            | Self::GuardRefused { .. }
            | Self::Interrupted { .. }
            | Self::NoChange {}
            | Self::NoVerdict {} => false,
        }
    }
}
