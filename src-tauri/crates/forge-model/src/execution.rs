//! Executions: one run of one agent for one task.

use crate::{
    contract,
    correction::SaidMessage,
    ids::{AgentId, ExecutionId, MachineId, TaskId},
    merge::Conflict,
    names,
    sandbox::SandboxReport,
    time::Timestamp,
    usage::UsageSample,
    workflow::SessionMode,
};

names! {
    /// Purpose of an agent's run.
    pub enum ExecutionRole {
        /// To do the work.
        Coder = "coder",
        /// To judge it.
        Reviewer = "reviewer",
        /// To plan it.
        Planner = "planner",
        /// To draft a fix.
        Drafter = "drafter",
    }
}

names! {
    /// State of a run.
    pub enum ExecutionStatus {
        /// Recorded; its process has not started yet.
        Starting = "starting",
        /// Its process runs.
        Running = "running",
        /// Its process runs and waits for a person's answer.
        Waiting = "waiting",
        /// It ended well.
        Finished = "finished",
        /// It failed.
        Failed = "failed",
        /// It was stopped.
        Cancelled = "cancelled",
        /// Forge ended while it ran.
        Lost = "lost",
    }
}

impl ExecutionStatus {
    /// Whether it has ended.
    #[must_use]
    pub const fn is_over(self) -> bool {
        !matches!(self, Self::Starting | Self::Running | Self::Waiting)
    }
}

names! {
    /// Source of a cost.
    pub enum CostSource {
        /// The agent said so.
        Reported = "reported",
        /// Computed from its usage, with the prices of the model.
        Computed = "computed",
        /// Nobody knows.
        Unknown = "unknown",
    }
}

contract! {
    /// Total usage and cost of runs.
    #[derive(Default, Eq)]
    pub struct Usage {
        /// Input tokens not served from a cache.
        #[specta(type = f64)]
        pub input_uncached: u64,
        /// Input tokens read from a cache.
        #[specta(type = f64)]
        pub cache_read: u64,
        /// Input tokens written to a cache.
        #[specta(type = f64)]
        pub cache_write: u64,
        /// Output tokens, including reasoning.
        #[specta(type = f64)]
        pub output: u64,
        /// The part of `output` that was reasoning.
        #[specta(type = f64)]
        pub reasoning: u64,
        /// Cost in micro-dollars of the runs whose cost is known; null when none is.
        #[specta(type = Option<f64>)]
        pub cost_micro_usd: Option<u64>,
        /// Runs of unknown cost.
        pub runs_of_unknown_cost: u32,
    }

    /// Why a run failed.
    pub struct ExecutionError {
        /// The kind, as in the adapters' closed set.
        pub code: String,
        /// What happened.
        pub message: String,
        /// Remedy.
        pub remedy: String,
    }

    /// One run of one agent.
    pub struct Execution {
        /// Identity.
        pub id: ExecutionId,
        /// The task.
        pub task_id: TaskId,
        /// The ordered subtask whose turn it is, if it is one.
        pub subtask_id: Option<TaskId>,
        /// Purpose.
        pub role: ExecutionRole,
        /// The agent.
        pub agent_id: AgentId,
        /// The machine that it runs on; none for this computer.
        pub machine_id: Option<MachineId>,
        /// 1, 2, ... per task and role.
        pub attempt: u32,
        /// Where it is.
        pub status: ExecutionStatus,
        /// The run that it continues.
        pub parent_execution_id: Option<ExecutionId>,
        /// The agent program's own session.
        pub session_id: Option<String>,
        /// How its session started.
        pub session_mode: SessionMode,
        /// The session that it continues or copies.
        pub from_session: Option<String>,
        /// Why it was started.
        pub cause: String,
        /// Messages of people that it was started with.
        pub messages: Vec<SaidMessage>,
        /// Current activity.
        pub activity: String,
        /// The branch's commit before.
        pub before_commit: Option<String>,
        /// The branch's commit after.
        pub after_commit: Option<String>,
        /// Its usage.
        pub usage: Usage,
        /// Cost in micro-dollars.
        #[specta(type = Option<f64>)]
        pub cost_micro_usd: Option<u64>,
        /// Source of that number.
        pub cost_source: CostSource,
        /// The price data of a computed cost.
        pub price_version: Option<String>,
        /// Its usage by model, each with its cost if known.
        pub models: Vec<UsageSample>,
        /// The conflict of its work.
        pub conflict: Option<Conflict>,
        /// Why it failed.
        pub error: Option<ExecutionError>,
        /// Names of variables of the user's environment that were withheld from it.
        pub withheld: Vec<String>,
        /// Result of its sandbox; none if it ran without one.
        pub sandbox: Option<SandboxReport>,
        /// The agent's summary of its work.
        pub summary: Option<String>,
        /// Its log.
        pub log_id: String,
        /// When it began.
        pub started_at: Timestamp,
        /// When it ended.
        pub finished_at: Option<Timestamp>,
    }
}

impl Execution {
    /// A first run that is about to start, with nothing to tell yet; its log has its name.
    #[must_use]
    pub fn begun(
        id: ExecutionId,
        task_id: TaskId,
        agent_id: AgentId,
        role: ExecutionRole,
        at: Timestamp,
    ) -> Self {
        Self {
            log_id: id.0.clone(),
            id,
            task_id,
            subtask_id: None,
            role,
            agent_id,
            machine_id: None,
            attempt: 1,
            status: ExecutionStatus::Starting,
            parent_execution_id: None,
            session_id: None,
            session_mode: SessionMode::New,
            from_session: None,
            cause: String::new(),
            messages: Vec::new(),
            activity: String::new(),
            before_commit: None,
            after_commit: None,
            usage: Usage::default(),
            cost_micro_usd: None,
            cost_source: CostSource::Unknown,
            price_version: None,
            models: Vec::new(),
            conflict: None,
            error: None,
            withheld: Vec::new(),
            sandbox: None,
            summary: None,
            started_at: at,
            finished_at: None,
        }
    }
}

impl Usage {
    /// The sum over one run's samples; a run without a reported cost counts as one of unknown cost.
    #[must_use]
    pub fn of_run(samples: &[UsageSample]) -> Self {
        let mut sum = UsageSample::default();
        for sample in samples {
            sum.add(sample);
        }
        Self {
            input_uncached: sum.input_uncached,
            cache_read: sum.cache_read,
            cache_write: sum.cache_write,
            output: sum.output,
            reasoning: sum.reasoning,
            cost_micro_usd: sum.cost_micro_usd,
            runs_of_unknown_cost: u32::from(sum.cost_micro_usd.is_none()),
        }
    }

    /// Adds another run.
    pub fn add(&mut self, other: &Self) {
        self.input_uncached += other.input_uncached;
        self.cache_read += other.cache_read;
        self.cache_write += other.cache_write;
        self.output += other.output;
        self.reasoning += other.reasoning;
        self.runs_of_unknown_cost += other.runs_of_unknown_cost;
        self.cost_micro_usd = match (self.cost_micro_usd, other.cost_micro_usd) {
            (None, None) => None,
            (a, b) => Some(a.unwrap_or(0) + b.unwrap_or(0)),
        };
    }
}
