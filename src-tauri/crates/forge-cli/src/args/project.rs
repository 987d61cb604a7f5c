//! `forge project`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};
use clap_complete::ArgValueCompleter;

use crate::complete;

#[derive(Debug, Subcommand)]
pub(crate) enum Project {
    /// Add a git repository
    Add {
        /// Repository, or a folder in it
        path: PathBuf,
        /// Name [default: name of the folder]
        #[arg(long)]
        name: Option<String>,
        /// Branch that work is merged into [default: detected]
        #[arg(long, value_name = "BRANCH")]
        default_branch: Option<String>,
        /// Label that the machine must have, or its name; repeatable; `local` for this computer [default: local]
        #[arg(long, value_name = "LABEL")]
        machine: Vec<String>,
    },
    /// Change a project
    Edit(EditProject),
    /// List the projects
    List,
    /// Show the settings, and where each value comes from
    Settings {
        /// Only this setting and those below it, such as `review_config`
        prefix: Option<String>,
        /// Only values that the project sets itself
        #[arg(long)]
        own: bool,
    },
    /// Change settings
    Set {
        /// Setting and value, such as `auto_approve=true`; dots separate the parts of a name; a value that is not JSON
        /// is taken as text
        #[arg(required = true, value_name = "SETTING=VALUE")]
        settings: Vec<String>,
    },
    /// Return settings to their defaults
    Unset {
        /// Setting (see `forge project settings`)
        #[arg(required = true, value_name = "SETTING")]
        settings: Vec<String>,
    },
    /// List the project's services, and suggestions from its files
    Services {
        /// Project, by id or name [default: the one of --project, or the only one]
        #[arg(value_name = "PROJECT", add = ArgValueCompleter::new(complete::projects))]
        named: Option<String>,
        /// Add a suggested service by its name; repeatable
        #[arg(long, value_name = "NAME")]
        add: Vec<String>,
    },
    /// Start no new runs in the project
    Pause {
        /// Project, by id or name [default: the one of --project, or the only one]
        #[arg(value_name = "PROJECT", add = ArgValueCompleter::new(complete::projects))]
        named: Option<String>,
    },
    /// Allow new runs in the project again
    Resume {
        /// Project, by id or name [default: the one of --project, or the only one]
        #[arg(value_name = "PROJECT", add = ArgValueCompleter::new(complete::projects))]
        named: Option<String>,
    },
    /// Remove a project and its worktrees, never the repository
    Remove {
        /// Project, by id or name
        #[arg(add = ArgValueCompleter::new(complete::projects))]
        project: String,
        /// Remove it without asking
        #[arg(long)]
        yes: bool,
        /// End programs that run in the terminals of its tasks
        #[arg(long)]
        end_terminals: bool,
    },
    /// Show and trust startup files, which run code as soon as a program starts
    Trust(Trust),
    /// Show changes to a repository's git configuration, and accept or undo them
    Repository {
        /// Project, by id or name
        #[arg(add = ArgValueCompleter::new(complete::projects))]
        project: String,
        /// Accept the changes with this digest, as shown
        #[arg(long, value_name = "DIGEST", conflicts_with = "undo")]
        accept: Option<String>,
        /// Restore the accepted configuration
        #[arg(long)]
        undo: bool,
    },
}

#[derive(Debug, Args)]
pub(crate) struct Trust {
    /// Project, by id or name
    #[arg(add = ArgValueCompleter::new(complete::projects))]
    pub(crate) project: String,
    /// Task whose branch and worktree to check, by id or #number
    #[arg(long, value_name = "TASK")]
    pub(crate) task: Option<String>,
    /// Trust the files shown, after a confirmation
    #[arg(long)]
    pub(crate) accept: bool,
    /// Skip the confirmation
    #[arg(long, requires = "accept")]
    pub(crate) yes: bool,
}

#[derive(Debug, Args)]
pub(crate) struct EditProject {
    /// Project, by id or name
    #[arg(add = ArgValueCompleter::new(complete::projects))]
    pub(crate) project: String,
    /// Name
    #[arg(long)]
    pub(crate) name: Option<String>,
    /// Branch that work is merged into
    #[arg(long, value_name = "BRANCH")]
    pub(crate) default_branch: Option<String>,
    /// How finished work reaches that branch
    #[arg(long, value_enum, value_name = "MODE")]
    pub(crate) work_mode: Option<WorkMode>,
    /// Label that the machine of tasks must have, or its name; repeatable; `local` for this computer
    #[arg(long, value_name = "LABEL")]
    pub(crate) machine: Vec<String>,
}

/// How finished work reaches the default branch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum WorkMode {
    /// Forge merges the task's branch
    #[value(name = "direct_commit")]
    DirectCommit,
    /// By a pull request at the code host
    #[value(name = "pull_request")]
    PullRequest,
}
