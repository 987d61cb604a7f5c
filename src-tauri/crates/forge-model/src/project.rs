//! Projects: a repository, its workflow and its settings.

use crate::{contract, ids::ProjectId, names, time::Timestamp, workflow::Finding};

names! {
    /// How finished work reaches the target branch.
    pub enum WorkMode {
        /// Forge merges the task branch itself.
        DirectCommit = "direct_commit",
        /// By a pull request at the project's code host.
        PullRequest = "pull_request",
    }
}

contract! {
    /// A project.
    pub struct Project {
        /// Identity.
        pub id: ProjectId,
        /// Display name; unique.
        pub name: String,
        /// Absolute path of the repository's main work tree.
        pub repo_path: String,
        /// Default target branch of tasks.
        pub default_branch: String,
        /// How finished work reaches the target branch.
        pub work_mode: WorkMode,
        /// While true, no new runs start in it.
        pub paused: bool,
        /// Increases with every change.
        pub version: u32,
        /// When it was created.
        pub created_at: Timestamp,
        /// When it last changed.
        pub updated_at: Timestamp,
    }

    /// Differences from the accepted configuration, in the files that determine which programs git runs.
    pub struct RepositoryDifference {
        /// Identifies the differences shown: accepting it accepts nothing else.
        pub digest: String,
        /// The differences, by path.
        pub files: Vec<RepositoryFileChange>,
    }

    /// A file of a repository that differs from the accepted one.
    pub struct RepositoryFileChange {
        /// From the repository's git directory; absolute when it lies elsewhere.
        pub path: String,
        /// Removed and added lines.
        pub diff: String,
    }

    /// Source of a workflow that is kept in the repository.
    #[serde(deny_unknown_fields)]
    pub struct WorkflowOrigin {
        /// The commit of the default branch whose definition is active.
        pub commit: String,
        /// The newest commit that was checked.
        pub looked_at: String,
        /// Why the definition there is not active; empty if it is.
        pub findings: Vec<Finding>,
    }
}
