//! What runs on this machine for a project, as it is now: agents, checks, set-ups and hooks with their processes.

use crate::{
    contract,
    ids::{AgentId, ExecutionId, MachineId, ProjectId, TaskId},
    names,
    time::Timestamp,
};

names! {
    /// Kind of a run.
    pub enum RunKind {
        /// An agent.
        Agent = "agent",
        /// A check, a setup command, a hook or another script of a task.
        Script = "script",
    }
}

contract! {
    /// One process of a run.
    #[derive(Eq)]
    pub struct RunProcess {
        /// Process number.
        pub pid: u32,
        /// The process that started it, if that belongs to the run.
        pub parent: Option<u32>,
        /// Its program and arguments, at most 200 characters.
        pub command: String,
        /// Processor time it has used, in milliseconds. What it uses now is the difference of two looks.
        #[specta(type = f64)]
        pub cpu_ms: u64,
        /// Resident memory in bytes; pages that processes share are counted for each.
        #[specta(type = f64)]
        pub rss_bytes: u64,
        /// When it started.
        pub started_at: Timestamp,
    }

    /// A running program.
    #[derive(Eq)]
    pub struct RunInfo {
        /// The marker of its processes; unique.
        pub id: String,
        /// What it is.
        pub kind: RunKind,
        /// The project, if it belongs to a task.
        pub project_id: Option<ProjectId>,
        /// The task.
        pub task_id: Option<TaskId>,
        /// The task's number.
        pub task_number: Option<u32>,
        /// Title of the task.
        pub task_title: Option<String>,
        /// The execution, for an agent.
        pub execution_id: Option<ExecutionId>,
        /// The agent.
        pub agent_id: Option<AgentId>,
        /// The machine that it runs on; none for this computer. The processes of other machines are not seen.
        pub machine_id: Option<MachineId>,
        /// Current activity, one line.
        pub activity: String,
        /// When it began.
        pub started_at: Timestamp,
        /// Its processes, parents first.
        pub processes: Vec<RunProcess>,
    }
}
