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

/// Options of every command.
#[derive(Debug, Args)]
pub(crate) struct Common {
    /// Data folder [default: FORGE_DATA_DIR, else the platform's folder]
    #[arg(long, global = true, value_name = "DIR")]
    pub(crate) data_dir: Option<PathBuf>,
    /// Project, by id or name; required if there are several
    #[arg(long, global = true, value_name = "ID|NAME")]
    pub(crate) project: Option<String>,
    /// Print JSON
    #[arg(long, global = true)]
    pub(crate) json: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run the engine and serve its API to programs on this machine
    Serve(Serve),
    /// Serve the Model Context Protocol over standard input and output
    Mcp(Mcp),
    /// Run scripted agents on a sample repository and print what happens
    Demo {
        /// Run the agents on a second host that the demo makes: an ssh server on this computer
        #[arg(long, value_name = "KIND")]
        machine: Option<DemoMachine>,
    },
    /// Manage projects: repositories that Forge works on
    #[command(subcommand)]
    Project(Project),
    /// Manage tasks
    #[command(subcommand)]
    Task(Task),
    /// Manage agent profiles
    #[command(subcommand)]
    Agent(Agent),
    /// Manage machines: other computers that are reached by ssh
    #[command(subcommand)]
    Machine(Machine),
    /// Validate a piece of work and count attempts; with only MODULE, repeat its last checks
    Validate(Validate),
    /// Replay a decision from JSON input; reads and writes nothing else
    #[command(subcommand)]
    Replay(Replay),
    /// Manage copies of the database
    #[command(subcommand)]
    Backup(Backup),
    /// Show and change the settings of Forge as a whole
    #[command(subcommand)]
    Settings(Settings),
    /// Check this machine for problems
    Doctor,
    /// Call any API operation; without one, list all
    Api(ApiCall),
    /// Print the completion script for a shell
    Completions {
        /// The shell
        shell: Shell,
    },
    /// Print the manual page, or write the pages of all commands to a folder
    Man {
        /// Folder for the pages
        #[arg(long, value_name = "FOLDER")]
        out: Option<PathBuf>,
    },
}

#[derive(Debug, Args)]
pub(crate) struct ApiCall {
    /// Name of the operation; the OpenAPI document describes its input and output
    pub(crate) operation: Option<String>,
    /// Input, a JSON object; `-` reads standard input
    pub(crate) input: Option<String>,
    /// Task, by id or number; sets `task_id` and `version` of the input
    #[arg(long, value_name = "ID|NUMBER")]
    pub(crate) task: Option<String>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Backup {
    /// Copy the database while Forge runs
    Create,
    /// List the copies, newest first
    List,
    /// Restore a copy, or schedule it for the next start if Forge is running
    Restore {
        /// Name of the copy
        name: String,
    },
}

#[derive(Debug, Clone, Copy, Subcommand)]
pub(crate) enum Settings {
    /// Show the settings
    Show,
    /// Change a setting
    Set {
        /// Name of the setting
        #[arg(value_enum)]
        setting: Setting,
        /// Its value
        value: u32,
    },
}

/// A setting of Forge as a whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Setting {
    /// Minutes that agents keep running while Forge is not, 0 to 10080; 0 stops them at once
    #[value(name = "orphan_minutes")]
    OrphanMinutes,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Replay {
    /// Read a reviewer's verdict from standard input: {"text": "..."} or {"log": [entries]}
    Verdict,
    /// Select the winner of a race: {"reviewerEnabled", "strategies": [{"name", "gatePassed", "reviewerScore", "costUsd"}]}
    Election(Facts),
    /// Detect a run with an unusually high cost: {"config", "history": [{"model", "costUsd"}], "current"}
    Anomaly(Facts),
    /// Decide whether repeated attempts make progress: {"attempts": [{"checks": 4, "failing": ["name"]}]}
    ValidateHistory(Facts),
}

#[derive(Debug, Args)]
pub(crate) struct Facts {
    /// Input, or {"election", "anomaly" or "validate-sequence": [{"name", "input", "expected"}]} to compare with
    /// expected results; `-` reads standard input
    #[arg(default_value = "-")]
    pub(crate) file: PathBuf,
}

#[derive(Debug, Args)]
pub(crate) struct Validate {
    /// Module whose attempts are counted
    pub(crate) module: String,
    /// Run of a plan; attempts are counted per run
    #[arg(long, value_name = "RUN")]
    pub(crate) run: Option<String>,
    /// Folder to check [default: FORGE_CWD, else the current folder]
    #[arg(long, value_name = "DIR")]
    pub(crate) cwd: Option<PathBuf>,
    /// Shell command that must pass; repeatable
    #[arg(long, value_name = "COMMAND", allow_hyphen_values = true)]
    pub(crate) command: Vec<String>,
    /// File that must exist and be well formed; repeatable
    #[arg(long, value_name = "FILE")]
    pub(crate) file: Vec<String>,
    /// File that must export what another one imports from it; repeatable
    #[arg(long, num_args = 2, value_names = ["EXPORTER", "IMPORTER"])]
    pub(crate) contract: Vec<String>,
}

impl Validate {
    /// Whether checks are given.
    pub(crate) const fn names_checks(&self) -> bool {
        !(self.command.is_empty() && self.file.is_empty() && self.contract.is_empty())
    }
}

impl Command {
    /// Whether the command runs until it is stopped.
    pub(crate) const fn serves(&self) -> bool {
        matches!(self, Self::Serve(_))
    }

    /// What a temporary engine works on: a command that waits for a task works on that task only.
    pub(crate) const fn work(&self) -> Work {
        match self {
            Self::Serve(_) | Self::Mcp(_) | Self::Demo { .. } => Work::All,
            Self::Project(_)
            | Self::Agent(_)
            | Self::Machine(_)
            | Self::Validate(_)
            | Self::Replay(_)
            | Self::Backup(_)
            | Self::Settings(_)
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
                | Task::Edit(_)
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
    /// Port on 127.0.0.1; 0 picks a free one
    #[arg(long, default_value_t = 4780)]
    pub(crate) port: u16,
    /// Require no token: any program on this machine can use the engine
    #[arg(long)]
    pub(crate) no_auth: bool,
    /// Do not serve the Model Context Protocol at /mcp
    #[arg(long)]
    pub(crate) no_mcp: bool,
}

#[derive(Debug, Clone, Copy, Args)]
pub(crate) struct Mcp {
    /// Print the configuration for this client instead of serving
    #[arg(long, value_name = "CLIENT", value_enum)]
    pub(crate) print_config: Option<Client>,
    /// How the client connects: by starting `forge mcp`, or to the running Forge
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

/// How a client connects to Forge.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Transport {
    Stdio,
    Http,
}

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
    Edit {
        /// Project, by id or name
        project: String,
        /// Label that the machine of tasks must have, or its name; repeatable; `local` for this computer
        #[arg(long, value_name = "LABEL", required = true)]
        machine: Vec<String>,
    },
    /// List the projects
    List,
    /// Show the startup files, from which programs run code when they start, and trust them
    Trust(Trust),
    /// Show changes to a repository's git configuration, and accept or undo them
    Repository {
        /// Project, by id or name
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
    pub(crate) project: String,
    /// Task whose branch and worktree are examined, by id or #number
    #[arg(long, value_name = "TASK")]
    pub(crate) task: Option<String>,
    /// Trust the files shown, after a confirmation
    #[arg(long)]
    pub(crate) accept: bool,
    /// Skip the confirmation
    #[arg(long, requires = "accept")]
    pub(crate) yes: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Task {
    /// Create a task
    Create(CreateTask),
    /// Change what a task says, and where it runs
    Edit(EditTask),
    /// List tasks in board order
    List {
        /// Only tasks in this state; repeatable
        #[arg(long, value_name = "STATE")]
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
    /// Assign a task to an agent and start work
    Start {
        #[command(flatten)]
        task: TaskRef,
        /// Agent, by id or name, or `user` for yourself [default: the task's agent]
        #[arg(long)]
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
        to: String,
        /// Reason
        #[arg(long)]
        reason: Option<String>,
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
        #[command(flatten)]
        wait: Wait,
    },
    /// Show the end of a task's log, by default of its latest run
    Log {
        #[command(flatten)]
        task: TaskRef,
        /// Log to show: a run's id, or the `log_id` of a check or step
        #[arg(long, value_name = "ID")]
        log: Option<String>,
        /// Show entries after this one instead of the end
        #[arg(long, value_name = "SEQ")]
        after: Option<u64>,
        /// Number of entries, 1 to 200
        #[arg(long)]
        limit: Option<u32>,
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
    #[arg(long)]
    pub(crate) agent: Option<String>,
    /// Shell command that must pass; repeatable
    #[arg(long, value_name = "COMMAND")]
    pub(crate) check: Vec<String>,
    /// Priority; higher runs first
    #[arg(long, allow_hyphen_values = true)]
    pub(crate) priority: Option<i32>,
    /// Task that this one depends on; repeatable
    #[arg(long, value_name = "TASK")]
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
}

#[derive(Debug, Args)]
pub(crate) struct TaskRef {
    /// Task, by id or number
    #[arg(value_name = "ID|NUMBER")]
    pub(crate) task: String,
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
    /// Whether to wait, where `by_default` decides without an option.
    pub(crate) const fn decide(self, by_default: bool) -> bool {
        self.wait || (by_default && !self.no_wait)
    }
}

#[derive(Debug, Subcommand)]
pub(crate) enum Agent {
    /// Add an agent that runs a command
    Add {
        /// Name
        name: String,
        /// Program (with arguments after `--`) or shell line (without); `{prompt_file}` is replaced by the
        /// path of the prompt
        #[arg(long)]
        command: String,
        /// Additional environment variable; repeatable
        #[arg(long, value_name = "NAME=VALUE")]
        env: Vec<String>,
        /// Model to request
        #[arg(long)]
        model: Option<String>,
        /// Maximum number of concurrent runs
        #[arg(long)]
        max_concurrent: Option<u32>,
        /// Label that the machine must have, or its name; repeatable; `local` for this computer [default: the project's]
        #[arg(long, value_name = "LABEL")]
        machine: Vec<String>,
        /// Arguments of the program
        #[arg(last = true)]
        args: Vec<String>,
    },
    /// Change where an agent runs
    Edit {
        /// Agent, by id or name
        agent: String,
        /// Label that the machine must have, or its name; repeatable; `local` for this computer
        #[arg(long, value_name = "LABEL", required_unless_present = "default_machine")]
        machine: Vec<String>,
        /// Use the machines of the project
        #[arg(long, conflicts_with = "machine")]
        default_machine: bool,
    },
    /// List the agents
    List,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Machine {
    /// Add a machine that is reached by ssh
    Add {
        /// Name
        name: String,
        /// Host name, address, or alias of `~/.ssh/config` [default: the name]
        #[arg(long)]
        host: Option<String>,
        /// User there [default: as ssh decides]
        #[arg(long)]
        user: Option<String>,
        /// Port [default: as ssh decides]
        #[arg(long)]
        port: Option<u16>,
        /// File of the key [default: as ssh decides]
        #[arg(long, value_name = "FILE")]
        identity_file: Option<String>,
        /// Option as `ssh -o` takes it; repeatable
        #[arg(long, value_name = "NAME=VALUE")]
        option: Vec<String>,
        /// Folder of Forge there [default: ~/.forge]
        #[arg(long, value_name = "DIR")]
        root: Option<String>,
        /// Label that tasks can ask for; repeatable
        #[arg(long)]
        label: Vec<String>,
        /// Maximum number of concurrent runs
        #[arg(long)]
        max_runs: Option<u32>,
    },
    /// List the machines
    List,
    /// List the hosts of the SSH configuration
    Hosts,
    /// Show a machine and what runs there
    Show {
        /// Name or id
        name: String,
    },
    /// Test a machine step by step, and bring Forge's program there
    Test {
        /// Name or id
        name: String,
    },
    /// Start nothing new on a machine; what runs there goes on
    Drain {
        /// Name or id
        name: String,
        /// Start tasks there again
        #[arg(long)]
        undo: bool,
    },
    /// Remove a machine that has no worktrees of tasks; what else is on it stays
    Remove {
        /// Name or id
        name: String,
    },
}

/// What the demo runs its agents on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum DemoMachine {
    // Without a text of its own, so that the help stays as short as that of other commands.
    Ssh,
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
