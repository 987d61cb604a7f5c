//! The command line of `forge machine`.

use clap::{Args, Subcommand};
use clap_complete::ArgValueCompleter;

use crate::{
    amount::{self, Limit},
    complete,
    container_args::ContainerArgs,
    kubernetes_args::KubernetesArgs,
    slurm_args::SlurmArgs,
};

#[derive(Debug, Subcommand)]
pub(crate) enum Machine {
    /// Add a machine: one that is reached by ssh, with --image, --containerfile or --devcontainer a container for each
    /// task, or with --slurm or --kubernetes a job of a cluster for each task
    Add {
        /// Name
        name: String,
        /// Host name, address, or alias of `~/.ssh/config` [default: the name]
        #[arg(long, conflicts_with = "from")]
        host: Option<String>,
        /// User there [default: as ssh or the image decides]
        #[arg(long, conflicts_with_all = ["slurm", "kubernetes"])]
        user: Option<String>,
        /// Port [default: as ssh decides]
        #[arg(long, conflicts_with = "from")]
        port: Option<u16>,
        /// Key file [default: as ssh decides]
        #[arg(long, value_name = "FILE", conflicts_with = "from")]
        identity_file: Option<String>,
        /// Option for `ssh -o`; repeatable
        #[arg(long, value_name = "NAME=VALUE", conflicts_with = "from")]
        option: Vec<String>,
        #[command(flatten)]
        container: Box<ContainerArgs>,
        #[command(flatten)]
        slurm: Box<SlurmArgs>,
        #[command(flatten)]
        kubernetes: Box<KubernetesArgs>,
        /// Folder of Forge there [default: ~/.forge, and /forge in pods]
        #[arg(long, value_name = "DIR")]
        root: Option<String>,
        /// Label that tasks can require; repeatable
        #[arg(long)]
        label: Vec<String>,
        /// Maximum number of concurrent runs
        #[arg(long)]
        max_runs: Option<u32>,
        /// Maximum number of runs that begin on one day
        #[arg(long, value_name = "RUNS")]
        max_runs_per_day: Option<u32>,
        /// Maximum cost per day in dollars, such as 12.50; once reached, the next run waits for the following day
        #[arg(long, value_name = "DOLLARS", value_parser = amount::dollars)]
        max_cost_per_day: Option<u64>,
    },
    /// Change a machine's name, labels, limits or folder
    Edit(EditMachine),
    /// List the machines
    List,
    /// List the hosts of the SSH configuration
    Hosts,
    /// Show a machine and its runs
    Show {
        /// Name or id
        #[arg(add = ArgValueCompleter::new(complete::machines))]
        name: String,
    },
    /// Test a machine step by step, and copy Forge's keeper there
    Test {
        /// Name or id
        #[arg(add = ArgValueCompleter::new(complete::machines))]
        name: String,
    },
    /// Start no new runs on a machine; current runs continue
    Drain {
        /// Name or id
        #[arg(add = ArgValueCompleter::new(complete::machines))]
        name: String,
        /// Allow new runs there again
        #[arg(long)]
        undo: bool,
    },
    /// Remove a machine that has no worktrees of tasks; what else is on it stays
    Remove {
        /// Name or id
        #[arg(add = ArgValueCompleter::new(complete::machines))]
        name: String,
        /// Leave jobs of tasks on its cluster, which cannot be reached any more
        #[arg(long)]
        abandon_jobs: bool,
    },
}

#[derive(Debug, Args)]
pub(crate) struct EditMachine {
    /// Name or id
    #[arg(add = ArgValueCompleter::new(complete::machines))]
    pub(crate) machine: String,
    /// New name
    #[arg(long)]
    pub(crate) name: Option<String>,
    /// Label that tasks can require, replacing the existing ones; repeatable
    #[arg(long)]
    pub(crate) label: Vec<String>,
    /// Remove all labels
    #[arg(long, conflicts_with = "label")]
    pub(crate) no_labels: bool,
    /// Folder of Forge there
    #[arg(long, value_name = "DIR")]
    pub(crate) root: Option<String>,
    /// Maximum number of concurrent runs, or `none`
    #[arg(long, value_name = "RUNS", value_parser = amount::limit)]
    pub(crate) max_runs: Option<Limit<u32>>,
    /// Maximum number of runs that begin on one day, or `none`
    #[arg(long, value_name = "RUNS", value_parser = amount::limit)]
    pub(crate) max_runs_per_day: Option<Limit<u32>>,
    /// Maximum cost per day in dollars, such as 12.50, or `none`; once reached, the next run waits for the following
    /// day
    #[arg(long, value_name = "DOLLARS", value_parser = amount::limit_in_dollars)]
    pub(crate) max_cost_per_day: Option<Limit<u64>>,
}
