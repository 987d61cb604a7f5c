//! The command line.

mod agent;
mod machine;
mod more;
mod project;
mod task;

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};
use clap_complete::{ArgValueCompleter, Shell};
use forge_engine::Work;

use crate::complete;

pub(crate) use agent::{Agent, AgentScores, EditAgent, ScoresBy};
pub(crate) use machine::{EditMachine, Machine};
pub(crate) use more::{
    By, Cost, Fix, FixRef, Hook, Issue, IssueFilterArgs, IssueFormat, IssueStates, KeepText, Knowledge, Race,
    Run, Workflow, Worktree,
};
pub(crate) use project::{EditProject, Project, Trust, WorkMode};
pub(crate) use task::{ClosedRef, CreateTask, EditTask, Task, TaskRef, TerminalChoice, Wait};

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
    /// Use the engine on this host, over SSH
    #[arg(long, global = true, value_name = "HOST", conflicts_with = "data_dir")]
    pub(crate) on: Option<String>,
    /// Project, by id or name; required if there are several
    #[arg(long, global = true, value_name = "ID|NAME", add = ArgValueCompleter::new(complete::projects))]
    pub(crate) project: Option<String>,
    /// Print JSON
    #[arg(long, global = true)]
    pub(crate) json: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run the engine and serve its API to programs on this computer
    Serve(Serve),
    /// Open a window on the engine of another computer, over SSH
    Connect(Connect),
    /// Manage the engine as a systemd service that starts when you sign in
    #[command(subcommand)]
    Service(Service),
    /// Serve the Model Context Protocol over standard input and output
    Mcp(Mcp),
    /// Run scripted agents on a sample repository and print what happens
    Demo {
        /// Run the agents on a second host that the demo creates: an SSH server on this computer
        #[arg(long, value_name = "KIND")]
        machine: Option<DemoMachine>,
    },
    /// Manage projects: repositories that Forge works on
    #[command(subcommand)]
    Project(Project),
    /// Manage tasks
    #[command(subcommand)]
    Task(Task),
    /// Show running and waiting tasks, and what needs you
    Status,
    /// Show races and select their winners
    #[command(subcommand)]
    Race(Race),
    /// Show and apply drafted fixes for failed checks
    #[command(subcommand)]
    Fix(Fix),
    /// Show and stop runs, and answer approvals
    #[command(subcommand)]
    Run(Run),
    /// Show the cost of runs
    Cost(Cost),
    /// Manage the worktrees of tasks, and their backups
    #[command(subcommand)]
    Workspace(Worktree),
    /// Import issues as tasks, from a code host or a file
    #[command(subcommand)]
    Issue(Issue),
    /// Manage the lessons that agents receive
    #[command(subcommand)]
    Knowledge(Knowledge),
    /// Test lifecycle hooks
    #[command(subcommand)]
    Hook(Hook),
    /// Show, check and change a project's workflow
    #[command(subcommand)]
    Workflow(Workflow),
    /// Manage agent profiles
    #[command(subcommand)]
    Agent(Agent),
    /// Manage machines: other computers that are reached by ssh, containers, and clusters of Slurm and Kubernetes
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
    /// Show and change global settings
    #[command(subcommand)]
    Settings(Settings),
    /// Check this computer for problems
    Doctor,
    /// Print what helps to find a fault: checks, settings and the engine's log, without secrets, prompts and diffs
    Diagnostics,
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
        /// New value
        value: u32,
    },
}

/// A setting of Forge as a whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Setting {
    /// Minutes that agents keep running without Forge, 0 to 10080; 0 stops them immediately
    #[value(name = "orphan_minutes")]
    OrphanMinutes,
    /// Maximum number of concurrent services, 1 to 64
    #[value(name = "services_max")]
    ServicesMax,
    /// Whether terminals are available over HTTP: 1 or 0
    #[value(name = "terminal_remote")]
    TerminalRemote,
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
        matches!(self, Self::Serve(serve) if !serve.background)
    }

    /// Whether the command can be done by an engine on another computer.
    pub(crate) const fn works_elsewhere(&self) -> bool {
        match self {
            Self::Project(_)
            | Self::Task(_)
            | Self::Status
            | Self::Race(_)
            | Self::Fix(_)
            | Self::Run(_)
            | Self::Cost(_)
            | Self::Workspace(_)
            | Self::Issue(_)
            | Self::Knowledge(_)
            | Self::Hook(_)
            | Self::Workflow(_)
            | Self::Agent(_)
            | Self::Machine(_)
            | Self::Settings(_)
            | Self::Doctor
            | Self::Diagnostics
            | Self::Api(_) => true,
            // What is checked are files, and where they are is not known there.
            Self::Validate(_)
            | Self::Serve(_)
            | Self::Connect(_)
            | Self::Service(_)
            | Self::Mcp(_)
            | Self::Demo { .. }
            | Self::Replay(_)
            | Self::Backup(_)
            | Self::Completions { .. }
            | Self::Man { .. } => false,
        }
    }

    /// What a temporary engine works on: a command that waits for a task works on that task only.
    pub(crate) const fn work(&self) -> Work {
        match self {
            Self::Serve(_) | Self::Mcp(_) | Self::Demo { .. } => Work::All,
            Self::Fix(Fix::Apply { no_wait: false, .. }) => Work::Named,
            Self::Project(_)
            | Self::Status
            | Self::Race(_)
            | Self::Fix(_)
            | Self::Run(_)
            | Self::Cost(_)
            | Self::Workspace(_)
            | Self::Issue(_)
            | Self::Knowledge(_)
            | Self::Hook(_)
            | Self::Workflow(_)
            | Self::Agent(_)
            | Self::Machine(_)
            | Self::Validate(_)
            | Self::Connect(_)
            | Self::Service(_)
            | Self::Replay(_)
            | Self::Backup(_)
            | Self::Settings(_)
            | Self::Doctor
            | Self::Diagnostics
            | Self::Api(_)
            | Self::Completions { .. }
            | Self::Man { .. } => Work::Nothing,
            Self::Task(task) => match task {
                Task::Start { wait, .. }
                | Task::Move { wait, .. }
                | Task::Approve { wait, .. }
                | Task::Reject { wait, .. }
                | Task::Action { wait, .. } => {
                    if wait.is_refused() {
                        Work::Nothing
                    } else {
                        Work::Named
                    }
                }
                Task::Run { .. } => Work::Named,
                Task::Create(_)
                | Task::Edit(_)
                | Task::List { .. }
                | Task::Show(_)
                | Task::Cancel { .. }
                | Task::Assign { .. }
                | Task::Message { .. }
                | Task::Diff { .. }
                | Task::Comments(_)
                | Task::Comment { .. }
                | Task::Uncomment { .. }
                | Task::Moves(_)
                | Task::Path(_)
                | Task::Open(_)
                | Task::Prompt(_)
                | Task::Where(_)
                | Task::Undo(_)
                | Task::Delete { .. }
                | Task::Stop { .. }
                | Task::Services(_)
                | Task::Terminal { .. }
                | Task::Log { .. } => Work::Nothing,
            },
        }
    }
}

#[derive(Debug, Clone, Args)]
pub(crate) struct Serve {
    /// Port on 127.0.0.1; 0 picks a free one
    #[arg(long, default_value_t = 4780)]
    pub(crate) port: u16,
    /// Also listen on this Unix socket, which only its owner can use
    #[arg(long, value_name = "PATH")]
    pub(crate) socket: Option<PathBuf>,
    /// Start in the background unless an engine runs, and print its address; uses a free port and a socket in the data
    /// folder
    #[arg(long, conflicts_with_all = ["port", "no_auth", "no_mcp"])]
    pub(crate) background: bool,
    /// Require no token: any program on this computer can use the engine
    #[arg(long)]
    pub(crate) no_auth: bool,
    /// Do not serve the Model Context Protocol at /mcp
    #[arg(long)]
    pub(crate) no_mcp: bool,
    /// Print only errors; `forge.log` in the data folder has the whole log
    #[arg(long)]
    pub(crate) quiet: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Connect {
    /// Host name, `user@host`, alias from `~/.ssh/config`, or `ssh://user@host:port`
    pub(crate) host: String,
    /// Path of `forge` there [default: the one that a login shell finds]
    #[arg(long, value_name = "PATH")]
    pub(crate) program: Option<String>,
    /// Open no window: test the connection, and print how to use the engine
    #[arg(long)]
    pub(crate) print: bool,
}

#[derive(Debug, Clone, Copy, Subcommand)]
pub(crate) enum Service {
    /// Write the unit, enable it and start it
    Install {
        /// Port on 127.0.0.1
        #[arg(long, default_value_t = 4780)]
        port: u16,
    },
    /// Show whether the service is installed and running
    Status,
    /// Stop the service and remove its unit; agents keep running for a while
    Remove,
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
