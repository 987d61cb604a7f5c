//! `forge agent`.

use clap::{ArgGroup, Args, Subcommand, ValueEnum};
use clap_complete::ArgValueCompleter;

use crate::complete;

#[derive(Debug, Subcommand)]
pub(crate) enum Agent {
    /// Add an agent: a supported program, or any command
    #[command(group = ArgGroup::new("driver").required(true).args(["program", "command"]))]
    Add {
        /// Name
        name: String,
        /// Supported program (see `forge agent detect`), or `acp` for any other one that speaks the Agent Client
        /// Protocol, given after `--`
        #[arg(long, add = ArgValueCompleter::new(complete::programs))]
        program: Option<String>,
        /// Program (with arguments after `--`) or shell line (without); `{prompt_file}` is replaced with the path of
        /// the prompt file
        #[arg(long)]
        command: Option<String>,
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
    /// Change an agent
    Edit(EditAgent),
    /// List the agents
    List,
    /// Show how the providers of agents limit them
    Limits,
    /// List the supported programs, and which of them are installed
    Detect,
    /// Check an agent's program: whether it is installed, its version, and whether it is signed in
    Check {
        /// Agent, by id or name
        #[arg(add = ArgValueCompleter::new(complete::agents))]
        agent: String,
    },
    /// Compare the results of agents: reviews passed, tasks merged, time and cost
    Scoreboard(AgentScores),
    /// Start no new runs of an agent
    Pause {
        /// Agent, by id or name
        #[arg(add = ArgValueCompleter::new(complete::agents))]
        agent: String,
    },
    /// Allow new runs of an agent again
    Resume {
        /// Agent, by id or name
        #[arg(add = ArgValueCompleter::new(complete::agents))]
        agent: String,
    },
    /// Remove an agent that is not in use
    Remove {
        /// Agent, by id or name
        #[arg(add = ArgValueCompleter::new(complete::agents))]
        agent: String,
    },
}

#[derive(Debug, Args)]
pub(crate) struct AgentScores {
    /// Group by agent, by its models, or by its models and efforts
    #[arg(long, value_enum, default_value_t = ScoresBy::Agent)]
    pub(crate) by: ScoresBy,
    /// Only work that ended in the last DAYS days
    #[arg(long, value_name = "DAYS")]
    pub(crate) days: Option<u32>,
    /// Print comma-separated values
    #[arg(long, conflicts_with = "json")]
    pub(crate) csv: bool,
}

/// Grouping of the scoreboard.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ScoresBy {
    Agent,
    Model,
    Effort,
}

#[derive(Debug, Args)]
pub(crate) struct EditAgent {
    /// Agent, by id or name
    #[arg(add = ArgValueCompleter::new(complete::agents))]
    pub(crate) agent: String,
    /// Name
    #[arg(long)]
    pub(crate) name: Option<String>,
    /// Model to request; '' leaves the choice to the program
    #[arg(long)]
    pub(crate) model: Option<String>,
    /// Maximum number of concurrent runs
    #[arg(long)]
    pub(crate) max_concurrent: Option<u32>,
    /// Label that the machine must have, or its name; repeatable; `local` for this computer
    #[arg(long, value_name = "LABEL")]
    pub(crate) machine: Vec<String>,
    /// Use the machines of the project
    #[arg(long, conflicts_with = "machine")]
    pub(crate) default_machine: bool,
}
