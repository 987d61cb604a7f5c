//! Identities. All of them are opaque strings (UUIDs, version 7) made by the engine's id source.

use serde::{Deserialize, Serialize};

macro_rules! id {
    ($($(#[$meta:meta])* $name:ident),+ $(,)?) => {$(
        $(#[$meta])*
        #[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, specta::Type, schemars::JsonSchema)]
        #[serde(transparent)]
        pub struct $name(pub String);

        impl $name {
            /// The id as text.
            #[must_use]
            pub fn as_str(&self) -> &str { &self.0 }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result { f.write_str(&self.0) }
        }

        impl From<&str> for $name {
            fn from(text: &str) -> Self { Self(text.to_owned()) }
        }

        impl From<String> for $name {
            fn from(text: String) -> Self { Self(text) }
        }
    )+};
}

id! {
    /// A project: one repository and its rules.
    ProjectId,
    /// A task on a project's board.
    TaskId,
    /// An agent profile.
    AgentId,
    /// A machine that tasks may run on.
    MachineId,
    /// One run of one agent.
    ExecutionId,
    /// One attempt at passing a gate with checks.
    ReviewId,
    /// One recorded move of a task.
    TransitionId,
    /// A task's worktree record.
    WorkspaceId,
    /// One in-app notification.
    NotificationId,
    /// One lesson that was proposed.
    LessonId,
    /// A comment on a line of a diff.
    CommentId,
    /// One question of an agent.
    ApprovalId,
    /// A file that goes with a message to an agent.
    AttachmentId,
    /// One attempt at merging a task's branch.
    MergeId,
    /// One race between agents.
    RaceId,
    /// One start of a service.
    ServiceId,
    /// One terminal of a task.
    TerminalId,
    /// One import of issues.
    IssueImportId,
    /// One thing to be written to an issue.
    IssueReportId,
}
