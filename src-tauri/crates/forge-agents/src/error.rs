//! Why an agent's run failed, as a closed set. Errors are typed from a program's error channel or from
//! how its process ended, never by reading its prose.

use std::time::Duration;

use forge_exec::Exit;
use serde::{Deserialize, Serialize};

/// The limit that a run reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum LimitKind {
    /// It ran too long.
    WallClock(Duration),
    /// It took too many turns.
    Turns(u32),
    /// It cost too much.
    Cost {
        /// The limit in micro-dollars.
        micro_usd: u64,
        /// What the limit is for.
        of: CostScope,
    },
    /// It printed more than is kept of a run.
    Output,
}

/// What a limit of cost is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum CostScope {
    /// One run.
    Run,
    /// All runs of a task.
    Task,
    /// All runs of a project on one day.
    Day,
}

impl std::fmt::Display for LimitKind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::WallClock(limit) => write!(f, "it ran for {}", seconds(*limit)),
            Self::Turns(turns) => write!(f, "it took {turns} turns"),
            Self::Output => f.write_str("it printed more than 4 GiB, or more than half of the free disk"),
            Self::Cost { micro_usd, of } => {
                let of = match of {
                    CostScope::Run => "one run",
                    CostScope::Task => "one task",
                    CostScope::Day => "one day",
                };
                write!(f, "{of} may cost {}.{:02} $", micro_usd / 1_000_000, micro_usd % 1_000_000 / 10_000)
            }
        }
    }
}

/// Why an agent's run failed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AgentError {
    /// The program is not signed in, or its key is refused.
    #[error("the agent is not signed in: {detail}")]
    Auth {
        /// What the program said.
        detail: String,
    },
    /// The model's owner asks to wait. Not a failure: the run goes on later and spends no budget.
    #[error("the agent's model is rate limited")]
    RateLimited {
        /// When it may go on, in Unix milliseconds.
        until_ms: i64,
    },
    /// The model answered with an error.
    #[error("the agent's model failed: {detail}")]
    ModelError {
        /// What the program said.
        detail: String,
    },
    /// The model declined the task.
    #[error("the agent declined the task: {detail}")]
    Refused {
        /// What it said.
        detail: String,
    },
    /// A limit of the agent's profile was reached and the run was stopped.
    #[error("the agent reached its limit: {0}")]
    Limit(LimitKind),
    /// What the program said could not be understood.
    #[error("the agent's program violated its protocol: {detail}")]
    Protocol {
        /// What was wrong.
        detail: String,
    },
    /// The process ended without finishing.
    #[error("the agent ended {}{}", exit_text(*exit), last_words(last_line))]
    Crashed {
        /// How it ended, when that is known.
        exit: Option<Exit>,
        /// The last line it printed, to show; empty when it printed none.
        last_line: String,
    },
    /// Something of it was killed at the memory limit of its container.
    #[error("the agent reached the memory limit of its container: {limit_mb} MiB")]
    OutOfMemory {
        /// The limit, in MiB.
        limit_mb: u32,
    },
    /// It said nothing for too long and was stopped.
    #[error("the agent was silent for {}", seconds(*after))]
    Silent {
        /// How long it was waited for.
        after: Duration,
    },
    /// It was stopped on request.
    #[error("the agent was stopped")]
    Cancelled,
    /// What ran it was killed. It is no fault of the agent's: the work goes on in another run.
    #[error("the agent was lost together with the program that ran it")]
    Lost,
    /// The program cannot be started.
    #[error("could not start the agent's program `{program}`: {detail}")]
    Unavailable {
        /// The program.
        program: String,
        /// Why.
        detail: String,
    },
}

impl AgentError {
    /// The name by which the engine, the contract and the database know the error.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Auth { .. } => "auth",
            Self::RateLimited { .. } => "rate_limited",
            Self::ModelError { .. } => "model_error",
            Self::Refused { .. } => "refused",
            Self::Limit(_) => "limit",
            Self::Protocol { .. } => "protocol",
            Self::Crashed { .. } => "crashed",
            Self::OutOfMemory { .. } => "out_of_memory",
            Self::Silent { .. } => "silent",
            Self::Cancelled => "cancelled",
            Self::Lost => "lost",
            Self::Unavailable { .. } => "unavailable",
        }
    }

    /// Whether another try may help without anybody's doing.
    #[must_use]
    pub const fn is_retryable(&self) -> bool {
        match self {
            Self::Crashed { .. } | Self::Silent { .. } | Self::ModelError { .. } | Self::Protocol { .. } => {
                true
            }
            Self::Auth { .. }
            | Self::RateLimited { .. }
            | Self::Refused { .. }
            | Self::Limit(_)
            | Self::OutOfMemory { .. }
            | Self::Cancelled
            | Self::Lost
            | Self::Unavailable { .. } => false,
        }
    }

    /// What a person can do about it.
    #[must_use]
    pub const fn remedy(&self) -> &'static str {
        match self {
            Self::Auth { .. } => "Sign in with the program in a terminal, then retry.",
            Self::RateLimited { .. } => "The run resumes automatically when the rate limit ends.",
            Self::ModelError { .. } => "Retry. If the problem persists, check the provider's status page.",
            Self::Refused { .. } => "Reword the task, or assign another agent.",
            Self::Limit(LimitKind::Output) => {
                "Find at the end of the log what the agent printed, free disk space if there is little, then retry."
            }
            Self::Limit(_) => {
                "Raise the limit in the agent's profile or the project's settings, or split the task, then retry."
            }
            Self::Protocol { .. } => "Check that the program's version is supported, then retry.",
            Self::Crashed { .. } => "Find the reason at the end of the log, then retry.",
            Self::OutOfMemory { .. } => {
                "Raise the memory limit of the machine, or have the task do less at once, then retry."
            }
            Self::Silent { .. } => {
                "Check the end of the log. Raise the silence limit if the work has long silent phases."
            }
            Self::Cancelled | Self::Lost => "Retry to continue the work.",
            Self::Unavailable { .. } => "Install the program, or set its path in the agent's profile.",
        }
    }
}

fn exit_text(exit: Option<Exit>) -> String {
    match exit {
        Some(Exit::Code(code)) => format!("with exit code {code}"),
        Some(Exit::Signal(signal)) => format!("by signal {signal}"),
        None => "without an exit code".to_owned(),
    }
}

fn last_words(line: &str) -> String {
    if line.is_empty() { String::new() } else { format!(": {line}") }
}

fn seconds(duration: Duration) -> String {
    let seconds = duration.as_secs_f64();
    if seconds.fract() == 0.0 { format!("{seconds:.0} s") } else { format!("{seconds:.1} s") }
}
