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
        /// What people call it; unique.
        pub name: String,
        /// Absolute path of the repository's main work tree.
        pub repo_path: String,
        /// Where work is merged to unless a task says otherwise.
        pub default_branch: String,
        /// How finished work reaches the target branch.
        pub work_mode: WorkMode,
        /// While true, nothing new starts in it.
        pub paused: bool,
        /// Rises with every change.
        pub version: u32,
        /// When it was made.
        pub created_at: Timestamp,
        /// When it last changed.
        pub updated_at: Timestamp,
    }

    /// How a repository differs from what was accepted of it, in what decides which programs git runs.
    pub struct RepositoryDifference {
        /// Names what is shown: accepting it accepts nothing else.
        pub digest: String,
        /// What differs, by path.
        pub files: Vec<RepositoryFileChange>,
    }

    /// One file of a repository that is not as accepted.
    pub struct RepositoryFileChange {
        /// From the repository's git directory; absolute when it lies elsewhere.
        pub path: String,
        /// Lines that went and came.
        pub diff: String,
    }

    /// Where a workflow that is kept in the repository was read.
    #[serde(deny_unknown_fields)]
    pub struct WorkflowOrigin {
        /// The commit of the default branch whose definition is in force.
        pub commit: String,
        /// The newest commit that was looked at.
        pub looked_at: String,
        /// Why the definition there is not in force; empty when it is.
        pub findings: Vec<Finding>,
    }
}
