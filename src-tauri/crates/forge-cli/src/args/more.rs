//! Races, fixes, runs, costs, worktrees, lessons and workflows.

use std::path::PathBuf;

use clap::{ArgGroup, Args, Subcommand, ValueEnum};
use clap_complete::ArgValueCompleter;

use super::{ClosedRef, TaskRef};
use crate::complete;

#[derive(Debug, Subcommand)]
pub(crate) enum Race {
    /// Show the latest race of a task: its entries and how the winner was selected
    Show(TaskRef),
    /// Select the winner
    Pick {
        #[command(flatten)]
        task: TaskRef,
        /// Name of the entry
        entry: String,
    },
    /// Show the end of an entry's log
    Log {
        #[command(flatten)]
        task: TaskRef,
        /// Name of the entry
        entry: String,
        /// Number of log entries, 1 to 200
        #[arg(long)]
        limit: Option<u32>,
    },
    /// Estimate the cost of racing a task
    Estimate(TaskRef),
}

#[derive(Debug, Subcommand)]
pub(crate) enum Fix {
    /// List the drafted fixes of a task, or of the project
    List {
        /// Task, by id or number
        #[arg(value_name = "ID|NUMBER", add = ArgValueCompleter::new(complete::tasks))]
        task: Option<String>,
    },
    /// Show a fix and its patch
    Show(FixRef),
    /// Apply a fix and rerun the failed check; it is rolled back if the check still fails
    Apply {
        #[command(flatten)]
        fix: FixRef,
        /// Do not wait for the check; without a running engine, it runs when Forge does
        #[arg(long)]
        no_wait: bool,
    },
    /// Roll back an applied fix
    Rollback(FixRef),
    /// Reject a drafted fix
    Reject(FixRef),
}

#[derive(Debug, Args)]
pub(crate) struct FixRef {
    /// Fix, by id or its first characters
    #[arg(add = ArgValueCompleter::new(complete::fixes))]
    pub(crate) fix: String,
    /// Task of the fix, if several have the same one
    #[arg(long, value_name = "ID|NUMBER", add = ArgValueCompleter::new(complete::tasks))]
    pub(crate) task: Option<String>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Run {
    /// List running agents, checks, hooks and setup commands
    List,
    /// Stop an agent's run
    Stop {
        /// Run, by id, or its task, by number
        #[arg(add = ArgValueCompleter::new(complete::runs))]
        run: String,
    },
    /// Show the end of a run's log
    Log {
        /// Run, by id, or its task, by number
        #[arg(add = ArgValueCompleter::new(complete::runs))]
        run: String,
        /// Number of entries, 1 to 200
        #[arg(long)]
        limit: Option<u32>,
        /// Show new entries until the run ends
        #[arg(long, short, conflicts_with = "json")]
        follow: bool,
    },
    /// List the open approvals: permissions that agents ask for
    Approvals,
    /// Answer an approval
    Answer {
        /// Approval, by id (see `forge run approvals`)
        #[arg(add = ArgValueCompleter::new(complete::approvals))]
        approval: String,
        /// One of its options
        option: String,
        /// Note to the agent
        #[arg(long)]
        note: Option<String>,
    },
}

#[derive(Debug, Args)]
pub(crate) struct Cost {
    /// Group by
    #[arg(long, value_enum, default_value_t = By::Day)]
    pub(crate) by: By,
    /// Only runs that ended in the last DAYS days
    #[arg(long, value_name = "DAYS")]
    pub(crate) days: Option<u32>,
    /// Show the cost of today and its forecast for the end of the day instead
    #[arg(long, conflicts_with_all = ["by", "days", "anomalies", "runs"])]
    pub(crate) forecast: bool,
    /// List runs of unusually high cost instead
    #[arg(long, conflicts_with = "by")]
    pub(crate) anomalies: bool,
    /// List each run instead
    #[arg(long, conflicts_with_all = ["by", "anomalies"])]
    pub(crate) runs: bool,
}

/// What costs are summed by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum By {
    Day,
    Project,
    Task,
    Agent,
    Model,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Worktree {
    /// List the worktrees
    List,
    /// Replace a worktree that could not be set up with a fresh one, after a backup
    Reset {
        #[command(flatten)]
        task: TaskRef,
        /// End programs that run in the task's terminals
        #[arg(long)]
        end_terminals: bool,
    },
    /// Remove a closed task's worktree now
    Remove {
        #[command(flatten)]
        task: ClosedRef,
        /// End programs that run in the task's terminals
        #[arg(long)]
        end_terminals: bool,
    },
    /// Keep a closed task's worktree until it is removed by hand
    Keep(ClosedRef),
    /// List the backups of a task's worktree, or of the project
    Backups {
        /// Task, by id or number
        #[arg(value_name = "ID|NUMBER", add = ArgValueCompleter::new(complete::tasks))]
        task: Option<String>,
    },
    /// Restore a backup into a task's worktree
    Restore {
        #[command(flatten)]
        task: TaskRef,
        /// Backup, by its commit or ref
        backup: String,
    },
    /// List worktree folders that belong to no task
    Orphans,
    /// Back up and remove a folder that belongs to no task
    Reclaim {
        /// The folder
        path: String,
    },
    /// Create a task from a folder that belongs to no task
    Adopt {
        /// The folder
        path: String,
        /// Title of the task [default: the branch]
        #[arg(long)]
        title: Option<String>,
    },
}

#[derive(Debug, Subcommand)]
pub(crate) enum Issue {
    /// List the issues of the project's code host, newest first
    List {
        #[command(flatten)]
        filter: IssueFilterArgs,
        /// Page
        #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
        page: u32,
    },
    /// Import issues as tasks, or update the tasks that they already are
    Import {
        /// Numbers of issues of the code host [default: all that --search, --label and --state find]
        #[arg(value_name = "NUMBER", conflicts_with_all = ["file", "search", "label", "state"])]
        numbers: Vec<u32>,
        /// Import all open issues
        #[arg(long, conflicts_with_all = ["numbers", "file", "search", "label", "state"])]
        all: bool,
        #[command(flatten)]
        filter: IssueFilterArgs,
        /// Import a file instead: a Markdown task list, CSV, or the database or a JSON export of vibe-kanban
        #[arg(long, conflicts_with_all = ["search", "label", "state"])]
        file: Option<PathBuf>,
        /// Format of the file [default: by its name]
        #[arg(long, requires = "file")]
        format: Option<IssueFormat>,
        /// Project in a database of vibe-kanban, if it has several
        #[arg(long, value_name = "NAME", requires = "file")]
        board: Option<String>,
        /// State for new tasks [default: the backlog]
        #[arg(long, value_name = "STATE", add = ArgValueCompleter::new(complete::states))]
        into: Option<String>,
        /// Do not wait for the end of the import
        #[arg(long)]
        no_wait: bool,
    },
    /// List the latest imports of the project
    Imports,
    /// Stop an import; tasks that it created stay
    Cancel(ImportRef),
    /// Continue an import that failed or waits
    Continue(ImportRef),
    /// Show the issue that a task was imported from, and how it differs
    Show(TaskRef),
    /// Keep the text of the task or of its issue where they differ
    Keep {
        #[command(flatten)]
        task: TaskRef,
        /// Whose text to keep
        keep: KeepText,
    },
}

#[derive(Debug, Args)]
pub(crate) struct IssueFilterArgs {
    /// Words to search for
    #[arg(long, value_name = "TEXT")]
    pub(crate) search: Option<String>,
    /// Label that the issues must have; repeatable
    #[arg(long)]
    pub(crate) label: Vec<String>,
    /// State of the issues [default: open]
    #[arg(long)]
    pub(crate) state: Option<IssueStates>,
}

#[derive(Debug, Args)]
pub(crate) struct ImportRef {
    /// Import, by id (see `forge issue imports`)
    pub(crate) import: String,
}

/// Which issues are meant, by their state.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum IssueStates {
    Open,
    Closed,
    All,
}

/// Format of a file with issues.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum IssueFormat {
    Markdown,
    Csv,
    VibeKanban,
}

/// Whose text a task keeps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum KeepText {
    Issue,
    Task,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Knowledge {
    /// List the lessons, proposed ones first
    List,
    /// Search the lessons
    Search {
        /// Text to search for
        text: String,
    },
    /// Show a lesson
    Show(LessonRef),
    /// Propose a lesson
    Propose {
        /// Title, one line
        title: String,
        /// The lesson, Markdown; `-` reads standard input
        body: String,
        /// Files the lesson applies to, such as `ui/**`; repeatable
        #[arg(long, value_name = "PATTERN")]
        path: Vec<String>,
    },
    /// Add a proposed lesson to the repository
    Accept(LessonRef),
    /// Dismiss a proposed lesson
    Dismiss(LessonRef),
}

#[derive(Debug, Args)]
pub(crate) struct LessonRef {
    /// Lesson, by id or title
    #[arg(add = ArgValueCompleter::new(complete::lessons))]
    pub(crate) lesson: String,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Workflow {
    /// Show the states, their columns, and the moves from each
    Show,
    /// List the workflows that ship with Forge
    Presets,
    /// Validate a workflow in a file, and list all problems
    Check {
        /// File with the workflow; `-` reads standard input
        file: PathBuf,
    },
    /// Replace the project's workflow with a file or a preset
    #[command(group = ArgGroup::new("source").required(true).args(["file", "preset"]))]
    Set {
        /// File with the workflow; `-` reads standard input
        file: Option<PathBuf>,
        /// Workflow that ships with Forge, by name
        #[arg(long, add = ArgValueCompleter::new(complete::presets))]
        preset: Option<String>,
    },
    /// Edit the project's workflow in the editor set by VISUAL or EDITOR
    Edit,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Hook {
    /// Test a saved hook without starting a task
    Test {
        /// Event, such as `before_work`
        event: String,
        /// Which of the event's hooks, from 0
        #[arg(default_value_t = 0)]
        index: u32,
        /// Task whose worktree and variables the hook uses [default: the repository]
        #[arg(long, value_name = "ID|NUMBER", add = ArgValueCompleter::new(complete::tasks))]
        task: Option<String>,
    },
}
