//! `forge task`.

use clap::{Args, Subcommand};
use clap_complete::ArgValueCompleter;

use crate::complete;

#[derive(Debug, Subcommand)]
pub(crate) enum Task {
    /// Create a task
    Create(CreateTask),
    /// Edit a task's title, description, priority, machines or dependencies
    Edit(EditTask),
    /// List tasks in board order
    List {
        /// Only tasks in this state; repeatable
        #[arg(long, value_name = "STATE", add = ArgValueCompleter::new(complete::states))]
        status: Vec<String>,
        /// Filter: substring of title, description or number
        #[arg(long, short, value_name = "TEXT")]
        query: Option<String>,
        /// Only tasks whose worktree is on this machine, by id or name; `local` for this computer
        #[arg(long, value_name = "NAME")]
        machine: Option<String>,
        /// Page size, 1 to 200
        #[arg(long)]
        limit: Option<u32>,
        /// Cursor from the previous page's `next_cursor`
        #[arg(long)]
        cursor: Option<String>,
    },
    /// Show a task
    Show(TaskRef),
    /// Show where a task would run now, and why
    Where(TaskRef),
    /// Assign a task to an agent and start work
    Start {
        #[command(flatten)]
        task: TaskRef,
        /// Agent, by id or name, or `user` for yourself [default: the task's agent]
        #[arg(long, add = ArgValueCompleter::new(complete::agents))]
        agent: Option<String>,
        /// Fail instead of queueing if the agent is busy
        #[arg(long)]
        no_queue: bool,
        #[command(flatten)]
        wait: Wait,
    },
    /// Move a task to another state
    Move {
        #[command(flatten)]
        task: TaskRef,
        /// State to move to
        #[arg(add = ArgValueCompleter::new(complete::states))]
        to: String,
        /// Reason
        #[arg(long)]
        reason: Option<String>,
        /// If the task is closed, end programs that run in its terminals
        #[arg(long)]
        end_terminals: bool,
        #[command(flatten)]
        wait: Wait,
    },
    /// Approve the review that waits for a person
    Approve {
        #[command(flatten)]
        task: TaskRef,
        /// Commit that you reviewed [default: the one in `forge task show`]
        #[arg(long)]
        commit: Option<String>,
        /// Reason
        #[arg(long)]
        reason: Option<String>,
        #[command(flatten)]
        wait: Wait,
    },
    /// Send the work back to the agent
    Reject {
        #[command(flatten)]
        task: TaskRef,
        /// Reason, sent to the agent
        #[arg(long)]
        reason: Option<String>,
        #[command(flatten)]
        wait: Wait,
    },
    /// Cancel a task
    Cancel {
        #[command(flatten)]
        task: TaskRef,
        /// Reason
        #[arg(long)]
        reason: Option<String>,
        /// End programs that run in the task's terminals
        #[arg(long)]
        end_terminals: bool,
    },
    /// Perform an action on a task (`task show` lists them)
    Action {
        #[command(flatten)]
        task: TaskRef,
        /// The action's `verb`
        verb: String,
        /// Reason, for actions that ask for one
        #[arg(long)]
        reason: Option<String>,
        /// Message to the agent, for actions that ask for one
        #[arg(long)]
        message: Option<String>,
        /// If the action ends the task's terminals, end programs that run in them
        #[arg(long)]
        end_terminals: bool,
        #[command(flatten)]
        wait: Wait,
    },
    /// Assign a role on a task, such as `reviewer`
    Assign {
        #[command(flatten)]
        task: TaskRef,
        /// Agent, by id or name, `user` for yourself, or `nobody`
        #[arg(add = ArgValueCompleter::new(complete::agents))]
        holder: String,
        /// Role [default: the one that does the work]
        #[arg(long)]
        role: Option<String>,
    },
    /// Send a message to the task's agent: after its current run, or in a new run
    Message {
        #[command(flatten)]
        task: TaskRef,
        /// Message; `-` reads standard input
        message: String,
        /// Send it while the agent runs, if its program supports that
        #[arg(long)]
        now: bool,
        /// Send the draft comments, too
        #[arg(long)]
        with_comments: bool,
    },
    /// Show a task's changes for reading; use git for the patch
    Diff {
        #[command(flatten)]
        task: TaskRef,
        /// Only this file
        path: Option<String>,
        /// Show line counts only
        #[arg(long, conflicts_with = "path")]
        stat: bool,
        /// Show file names only
        #[arg(long, conflicts_with_all = ["path", "stat"])]
        name_only: bool,
    },
    /// List the comments on a task's diff
    Comments(TaskRef),
    /// Write a draft comment on a task's diff; it goes to the agent with `task reject` or `task message --with-comments`
    Comment {
        #[command(flatten)]
        task: TaskRef,
        /// File with a line or range of lines, such as `src/lib.rs:12` or `src/lib.rs:12-20`
        #[arg(value_name = "PATH[:LINE[-LINE]]")]
        place: String,
        /// Comment; `-` reads standard input
        text: String,
        /// The lines are from the old version
        #[arg(long)]
        old: bool,
    },
    /// Delete a draft comment on a task's diff
    Uncomment {
        #[command(flatten)]
        task: TaskRef,
        /// Comment, by id or its first characters (see `forge task comments`)
        comment: String,
    },
    /// Show every move of a task
    Moves(TaskRef),
    /// Print the path of a task's worktree
    Path(TaskRef),
    /// Open a task's worktree in the editor set by VISUAL or EDITOR
    Open(TaskRef),
    /// Show the prompt of the task's next run
    Prompt(TaskRef),
    /// Undo a move on the window's board in the seconds before its agent starts
    Undo(TaskRef),
    /// Delete a closed task and its history
    Delete {
        #[command(flatten)]
        task: ClosedRef,
        /// Delete it without asking
        #[arg(long)]
        yes: bool,
        /// End programs that run in the task's terminals
        #[arg(long)]
        end_terminals: bool,
    },
    /// Start a service in a task's worktree, and wait until it is ready; without a running engine it runs until Ctrl+C
    Run {
        #[command(flatten)]
        task: TaskRef,
        /// Name of the service [default: the first one]
        service: Option<String>,
        /// Do not wait until it is ready
        #[arg(long)]
        no_wait: bool,
    },
    /// Stop a service of a task, or all of them
    Stop {
        #[command(flatten)]
        task: TaskRef,
        /// Name of the service [default: all]
        service: Option<String>,
    },
    /// List the services of a task
    Services(TaskRef),
    /// Show a task's terminal here, or open one if it has none (needs `terminal_remote`)
    Terminal {
        #[command(flatten)]
        task: TaskRef,
        #[command(flatten)]
        choice: TerminalChoice,
    },
    /// Show the end of a task's log: by default of its latest run, or of the winner of its race
    Log {
        #[command(flatten)]
        task: TaskRef,
        /// Log to show: a run's id, or the `log_id` of a check or step
        #[arg(long, value_name = "ID")]
        log: Option<String>,
        /// Show the log of this service's latest start
        #[arg(long, value_name = "NAME", conflicts_with = "log")]
        service: Option<String>,
        /// Show entries after this one instead of the end
        #[arg(long, value_name = "SEQ")]
        after: Option<u64>,
        /// Number of entries, 1 to 200
        #[arg(long)]
        limit: Option<u32>,
        /// Show new entries until the run, or the service, ends
        #[arg(long, short, conflicts_with_all = ["log", "after", "json"])]
        follow: bool,
    },
}

#[derive(Debug, Args)]
pub(crate) struct CreateTask {
    /// Title, one line
    pub(crate) title: String,
    /// Description, Markdown; `-` reads standard input
    #[arg(long, short, value_name = "TEXT")]
    pub(crate) description: Option<String>,
    /// Agent, by id or name, or `user` for yourself
    #[arg(long, add = ArgValueCompleter::new(complete::agents))]
    pub(crate) agent: Option<String>,
    /// Shell command that must pass; repeatable
    #[arg(long, value_name = "COMMAND")]
    pub(crate) check: Vec<String>,
    /// Race the task: an entry with its name and agent, such as `cheap=Claude:haiku`; repeatable
    #[arg(long, value_name = "NAME=AGENT[:MODEL[:EFFORT]]")]
    pub(crate) race: Vec<String>,
    /// Priority; higher runs first
    #[arg(long, allow_hyphen_values = true)]
    pub(crate) priority: Option<i32>,
    /// Task that this one depends on; repeatable
    #[arg(long, value_name = "TASK", add = ArgValueCompleter::new(complete::tasks))]
    pub(crate) depends_on: Vec<String>,
    /// Label that the machine must have, or its name; repeatable; `local` for this computer [default: the
    /// agent's or the project's]
    #[arg(long, value_name = "LABEL")]
    pub(crate) machine: Vec<String>,
}

#[derive(Debug, Args)]
pub(crate) struct EditTask {
    #[command(flatten)]
    pub(crate) task: TaskRef,
    /// Title, one line
    #[arg(long)]
    pub(crate) title: Option<String>,
    /// Description, Markdown; `-` reads standard input
    #[arg(long, short, value_name = "TEXT")]
    pub(crate) description: Option<String>,
    /// Priority; higher runs first
    #[arg(long, allow_hyphen_values = true)]
    pub(crate) priority: Option<i32>,
    /// Label that the machine must have, or its name; repeatable; `local` for this computer
    #[arg(long, value_name = "LABEL")]
    pub(crate) machine: Vec<String>,
    /// Use the machines of the agent or the project
    #[arg(long, conflicts_with = "machine")]
    pub(crate) default_machine: bool,
    /// Add a task that this one depends on; repeatable
    #[arg(long, value_name = "TASK", add = ArgValueCompleter::new(complete::tasks))]
    pub(crate) depends_on: Vec<String>,
    /// Remove a task that this one depends on; repeatable
    #[arg(long, value_name = "TASK")]
    pub(crate) not_depends_on: Vec<String>,
}

#[derive(Debug, Args)]
pub(crate) struct TaskRef {
    /// Task, by id or number
    #[arg(value_name = "ID|NUMBER", add = ArgValueCompleter::new(complete::tasks))]
    pub(crate) task: String,
}

#[derive(Debug, Args)]
pub(crate) struct ClosedRef {
    /// Task, by id or number
    #[arg(value_name = "ID|NUMBER", add = ArgValueCompleter::new(complete::closed_tasks))]
    pub(crate) task: String,
}

impl From<ClosedRef> for TaskRef {
    fn from(closed: ClosedRef) -> Self {
        Self { task: closed.task }
    }
}

/// Whether the command waits for agents. Without a running engine it waits by default, since agents end with the
/// program that runs them.
#[derive(Debug, Clone, Copy, Args)]
pub(crate) struct Wait {
    /// Wait until the task is done, or needs a person
    #[arg(long)]
    wait: bool,
    /// Do not wait; without a running engine, the agent starts when Forge does
    #[arg(long, conflicts_with = "wait")]
    no_wait: bool,
}

impl Wait {
    /// Whether the command must not wait.
    pub(crate) const fn is_refused(self) -> bool {
        self.no_wait
    }

    /// Whether to wait, where `by_default` decides without an option.
    pub(crate) const fn decide(self, by_default: bool) -> bool {
        self.wait || (by_default && !self.no_wait)
    }
}

/// Which terminal of a task, and what is done with it.
#[derive(Debug, Clone, Args)]
pub(crate) struct TerminalChoice {
    /// Terminal, by name, number or id [default: the latest open one, or a new one]
    pub(crate) terminal: Option<String>,
    /// Open another one
    #[arg(long, conflicts_with = "terminal")]
    pub(crate) new: bool,
    /// List the task's terminals
    #[arg(long, conflicts_with_all = ["terminal", "new"])]
    pub(crate) list: bool,
    /// Close a terminal
    #[arg(long, value_name = "TERMINAL", conflicts_with_all = ["terminal", "new", "list"])]
    pub(crate) close: Option<String>,
    /// With --close, end a program that runs in the terminal
    #[arg(long, requires = "close")]
    pub(crate) end_program: bool,
}
