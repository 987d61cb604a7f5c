//! The command line.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};
use clap_complete::Shell;
use forge_engine::Work;

/// Forge: a board for work done by AI coding agents, without its window.
#[derive(Debug, Parser)]
#[command(name = "forge", version, propagate_version = true)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) common: Common,
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// What every command understands.
#[derive(Debug, Args)]
pub(crate) struct Common {
    /// Where Forge keeps its data [else FORGE_DATA_DIR, else the platform's folder]
    #[arg(long, global = true, value_name = "DIR")]
    pub(crate) data_dir: Option<PathBuf>,
    /// The project, by its id or name; needed where there are several
    #[arg(long, global = true, value_name = "ID|NAME")]
    pub(crate) project: Option<String>,
    /// Answer in JSON
    #[arg(long, global = true)]
    pub(crate) json: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run the engine and serve it to programs of this machine
    Serve(Serve),
    /// Serve the Model Context Protocol to the program that starts this one, by standard input and output
    Mcp(Mcp),
    /// Let scripted agents work on a sample repository, and tell what happens
    Demo,
    /// Repositories that Forge works on
    #[command(subcommand)]
    Project(Project),
    /// Tasks
    #[command(subcommand)]
    Task(Task),
    /// Agent profiles
    #[command(subcommand)]
    Agent(Agent),
    /// Check a piece of work and keep score over attempts; with a module alone, what was checked last again
    Validate(Validate),
    /// Replay a decision from JSON input; reads and writes nothing else
    #[command(subcommand)]
    Replay(Replay),
    /// Copies of the database
    #[command(subcommand)]
    Backup(Backup),
    /// Check this machine for problems
    Doctor,
    /// Ask for any operation of the contract; without one, list them
    Api(ApiCall),
    /// Print what a shell reads to complete this program's command line
    Completions {
        /// The shell
        shell: Shell,
    },
    /// Print the manual page, or write that of every command to a folder
    Man {
        /// Where to write them
        #[arg(long, value_name = "FOLDER")]
        out: Option<PathBuf>,
    },
}

#[derive(Debug, Args)]
pub(crate) struct ApiCall {
    /// Which; the OpenAPI document names what each takes and answers
    pub(crate) operation: Option<String>,
    /// Its input, a JSON object; `-` reads standard input
    pub(crate) input: Option<String>,
    /// The task that it is about, by its id or number: gives `task_id` and `version`
    #[arg(long, value_name = "ID|NUMBER")]
    pub(crate) task: Option<String>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Backup {
    /// Copy the database now, while work goes on
    Create,
    /// List the copies, newest first
    List,
    /// Restore a copy; if Forge is running, at its next start
    Restore {
        /// Name of the copy
        name: String,
    },
}

#[derive(Debug, Subcommand)]
pub(crate) enum Replay {
    /// What an auditor decided, from standard input: {"text": "..."} or {"log": [entries]}
    Verdict,
    /// Who wins a race: {"reviewerEnabled", "strategies": [{"name", "gatePassed", "reviewerScore", "costUsd"}]}
    Election(Facts),
    /// Whether a run costs more than is usual: {"config", "history": [{"model", "costUsd"}], "current"}
    Anomaly(Facts),
    /// Whether attempts get anywhere: {"attempts": [{"checks": 4, "failing": ["name"]}]}
    ValidateHistory(Facts),
}

#[derive(Debug, Args)]
pub(crate) struct Facts {
    /// The facts, or {"election", "anomaly" or "validate-sequence": [{"name", "input", "expected"}]}, which is
    /// compared; `-` reads standard input
    #[arg(default_value = "-")]
    pub(crate) file: PathBuf,
}

#[derive(Debug, Args)]
pub(crate) struct Validate {
    /// What the attempts are counted for
    pub(crate) module: String,
    /// Keeps the attempts of one run of a plan apart from those of others
    #[arg(long, value_name = "RUN")]
    pub(crate) run: Option<String>,
    /// The folder to check [else FORGE_CWD, else the current one]
    #[arg(long, value_name = "DIR")]
    pub(crate) cwd: Option<PathBuf>,
    /// A shell command that must pass; may be given several times
    #[arg(long, value_name = "COMMAND", allow_hyphen_values = true)]
    pub(crate) command: Vec<String>,
    /// A file that must be there and well formed; may be given several times
    #[arg(long, value_name = "FILE")]
    pub(crate) file: Vec<String>,
    /// A file that must export what another takes from it; may be given several times
    #[arg(long, num_args = 2, value_names = ["EXPORTER", "IMPORTER"])]
    pub(crate) contract: Vec<String>,
}

impl Validate {
    /// Whether it says what is to be checked.
    pub(crate) const fn names_checks(&self) -> bool {
        !(self.command.is_empty() && self.file.is_empty() && self.contract.is_empty())
    }
}

impl Command {
    /// Whether it runs until it is told to end.
    pub(crate) const fn serves(&self) -> bool {
        matches!(self, Self::Serve(_))
    }

    /// What an engine of its own does besides being asked: one that waits for a task works on that task alone.
    pub(crate) const fn work(&self) -> Work {
        match self {
            Self::Serve(_) | Self::Mcp(_) | Self::Demo => Work::All,
            Self::Project(_)
            | Self::Agent(_)
            | Self::Validate(_)
            | Self::Replay(_)
            | Self::Backup(_)
            | Self::Doctor
            | Self::Api(_)
            | Self::Completions { .. }
            | Self::Man { .. } => Work::Nothing,
            Self::Task(task) => match task {
                Task::Start { wait, .. }
                | Task::Move { wait, .. }
                | Task::Approve { wait, .. }
                | Task::Reject { wait, .. }
                | Task::Action { wait, .. } => {
                    if wait.no_wait {
                        Work::Nothing
                    } else {
                        Work::Named
                    }
                }
                Task::Create(_)
                | Task::List { .. }
                | Task::Show(_)
                | Task::Cancel { .. }
                | Task::Log { .. } => Work::Nothing,
            },
        }
    }
}

#[derive(Debug, Clone, Copy, Args)]
pub(crate) struct Serve {
    /// The port on 127.0.0.1; 0 takes any that is free
    #[arg(long, default_value_t = 4780)]
    pub(crate) port: u16,
    /// Ask for no token: anyone on this machine can use the engine
    #[arg(long)]
    pub(crate) no_auth: bool,
    /// Do not serve the Model Context Protocol at /mcp
    #[arg(long)]
    pub(crate) no_mcp: bool,
}

#[derive(Debug, Clone, Copy, Args)]
pub(crate) struct Mcp {
    /// Serve nothing, but print what this client's configuration must say
    #[arg(long, value_name = "CLIENT", value_enum)]
    pub(crate) print_config: Option<Client>,
    /// How that client is to talk to Forge: by starting `forge mcp`, or to the Forge that runs
    #[arg(long, value_enum, requires = "print_config", default_value_t = Transport::Stdio)]
    pub(crate) transport: Transport,
}

/// A program that uses MCP servers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Client {
    Codex,
    Claude,
    Cursor,
    Vscode,
}

/// How a client talks to Forge.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Transport {
    Stdio,
    Http,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Project {
    /// Add a git repository
    Add {
        /// The repository, or a folder in it
        path: PathBuf,
        /// What it is called; the folder's name when left out
        #[arg(long)]
        name: Option<String>,
        /// Where work is merged; found out when left out
        #[arg(long, value_name = "BRANCH")]
        default_branch: Option<String>,
    },
    /// List the projects
    List,
    /// Show the files that programs run code from as soon as they start, and trust them
    Trust(Trust),
    /// Show how a repository's configuration was changed, and accept or undo it
    Repository {
        /// The project, by its id or name
        project: String,
        /// Accept the difference of this digest, as shown
        #[arg(long, value_name = "DIGEST", conflicts_with = "undo")]
        accept: Option<String>,
        /// Put the accepted configuration back
        #[arg(long)]
        undo: bool,
    },
}

#[derive(Debug, Args)]
pub(crate) struct Trust {
    /// The project, by its id or name
    pub(crate) project: String,
    /// The task whose branch and worktree are looked at, by its id or #number
    #[arg(long, value_name = "TASK")]
    pub(crate) task: Option<String>,
    /// Trust what is shown, after a question
    #[arg(long)]
    pub(crate) accept: bool,
    /// Trust without the question
    #[arg(long, requires = "accept")]
    pub(crate) yes: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Task {
    /// Create a task
    Create(CreateTask),
    /// List tasks in board order
    List {
        /// Only those in this state; may be given several times
        #[arg(long, value_name = "STATE")]
        status: Vec<String>,
        /// Filter: substring of title, description or number
        #[arg(long, short, value_name = "TEXT")]
        query: Option<String>,
        /// How many, 1 to 200
        #[arg(long)]
        limit: Option<u32>,
        /// Cursor from the previous page's `next_cursor`
        #[arg(long)]
        cursor: Option<String>,
    },
    /// Show a task
    Show(TaskRef),
    /// Give a task to an agent and start work
    Start {
        #[command(flatten)]
        task: TaskRef,
        /// The agent, by its id or name, or `user` for yourself; the task's own when left out
        #[arg(long)]
        agent: Option<String>,
        /// Fail when the agent has no free place, instead of queueing
        #[arg(long)]
        no_queue: bool,
        #[command(flatten)]
        wait: Wait,
    },
    /// Move a task to another state
    Move {
        #[command(flatten)]
        task: TaskRef,
        /// The state
        to: String,
        /// Why
        #[arg(long)]
        reason: Option<String>,
        #[command(flatten)]
        wait: Wait,
    },
    /// Pass the review that waits for a person
    Approve {
        #[command(flatten)]
        task: TaskRef,
        /// The reviewed commit that you looked at; the one that `forge task show` names when absent
        #[arg(long)]
        commit: Option<String>,
        /// Why
        #[arg(long)]
        reason: Option<String>,
        #[command(flatten)]
        wait: Wait,
    },
    /// Send the work back to the agent
    Reject {
        #[command(flatten)]
        task: TaskRef,
        /// Why; the agent reads it
        #[arg(long)]
        reason: Option<String>,
        #[command(flatten)]
        wait: Wait,
    },
    /// Cancel a task
    Cancel {
        #[command(flatten)]
        task: TaskRef,
        /// Why
        #[arg(long)]
        reason: Option<String>,
    },
    /// Perform an action on a task (`task show` lists them)
    Action {
        #[command(flatten)]
        task: TaskRef,
        /// Which
        verb: String,
        /// Why, for those that ask
        #[arg(long)]
        reason: Option<String>,
        /// What to tell the agent, for those that ask
        #[arg(long)]
        message: Option<String>,
        #[command(flatten)]
        wait: Wait,
    },
    /// Show the end of a log: the latest run's, or another of the task's
    Log {
        #[command(flatten)]
        task: TaskRef,
        /// Another log: a run's id, or the `log_id` of a check or step
        #[arg(long, value_name = "ID")]
        log: Option<String>,
        /// Entries after this one, instead of the end
        #[arg(long, value_name = "SEQ")]
        after: Option<u64>,
        /// How many entries, 1 to 200
        #[arg(long)]
        limit: Option<u32>,
    },
}

#[derive(Debug, Args)]
pub(crate) struct CreateTask {
    /// One line
    pub(crate) title: String,
    /// What is to be done, in Markdown; `-` reads standard input
    #[arg(long, short, value_name = "TEXT")]
    pub(crate) description: Option<String>,
    /// Who does it: an agent's id or name, or `user` for yourself
    #[arg(long)]
    pub(crate) agent: Option<String>,
    /// A shell command that must pass; may be given several times
    #[arg(long, value_name = "COMMAND")]
    pub(crate) check: Vec<String>,
    /// Higher goes first
    #[arg(long, allow_hyphen_values = true)]
    pub(crate) priority: Option<i32>,
    /// A task that must be done before; may be given several times
    #[arg(long, value_name = "TASK")]
    pub(crate) depends_on: Vec<String>,
}

#[derive(Debug, Args)]
pub(crate) struct TaskRef {
    /// The task, by its id or number
    #[arg(value_name = "ID|NUMBER")]
    pub(crate) task: String,
}

/// Whether the answer waits for agents, too. Without an engine that runs elsewhere it does, since agents end
/// with the program that runs them.
#[derive(Debug, Clone, Copy, Args)]
pub(crate) struct Wait {
    /// Wait until the task is done, or needs a person
    #[arg(long)]
    wait: bool,
    /// Do not wait: without a running engine, the agent starts with the next one
    #[arg(long, conflicts_with = "wait")]
    no_wait: bool,
}

impl Wait {
    /// Whether to wait, where that is what one does unless told otherwise.
    pub(crate) const fn decide(self, unless_told: bool) -> bool {
        self.wait || (unless_told && !self.no_wait)
    }
}

#[derive(Debug, Subcommand)]
pub(crate) enum Agent {
    /// Add an agent that is driven by a command
    Add {
        /// What it is called
        name: String,
        /// A program (with arguments after `--`) or a shell line (without); `{prompt_file}` stands for the
        /// prompt's path
        #[arg(long)]
        command: String,
        /// Environment on top of yours
        #[arg(long, value_name = "NAME=VALUE")]
        env: Vec<String>,
        /// The model it is asked to use
        #[arg(long)]
        model: Option<String>,
        /// Maximum number of concurrent runs
        #[arg(long)]
        max_concurrent: Option<u32>,
        /// The program's arguments
        #[arg(last = true)]
        args: Vec<String>,
    },
    /// List the agents
    List,
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;

    #[test]
    fn the_command_line_is_sound() {
        Cli::command().debug_assert();
    }

    #[test]
    fn options_may_stand_anywhere() {
        let cli = Cli::try_parse_from(["forge", "task", "--json", "show", "7", "--project", "x"]).unwrap();
        assert!(cli.common.json);
        assert_eq!(cli.common.project.as_deref(), Some("x"));
        assert!(Cli::try_parse_from(["forge", "task", "start", "1", "--wait", "--no-wait"]).is_err());
    }
}
