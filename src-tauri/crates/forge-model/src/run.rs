//! What runs on this machine for a project, as it is now: agents, checks, set-ups and hooks with their processes.

use crate::{
    contract,
    ids::{AgentId, ExecutionId, MachineId, ProjectId, TaskId},
    names,
    time::Timestamp,
};

names! {
    /// What a run is.
    pub enum RunKind {
        /// An agent.
        Agent = "agent",
        /// A check, a set-up command, a hook or another script of a task.
        Script = "script",
    }
}

contract! {
    /// One process of a run.
    #[derive(Eq)]
    pub struct RunProcess {
        /// Process number.
        pub pid: u32,
        /// The process that started it, when that is one of the run's.
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

    /// Something that runs.
    #[derive(Eq)]
    pub struct RunInfo {
        /// The mark that its processes carry; unique.
        pub id: String,
        /// What it is.
        pub kind: RunKind,
        /// The project, when it is a task's.
        pub project_id: Option<ProjectId>,
        /// The task.
        pub task_id: Option<TaskId>,
        /// The task's number.
        pub task_number: Option<u32>,
        /// What the task is called.
        pub task_title: Option<String>,
        /// The execution, for an agent.
        pub execution_id: Option<ExecutionId>,
        /// The agent.
        pub agent_id: Option<AgentId>,
        /// The machine that it runs on; none for this computer. The processes of other machines are not seen.
        pub machine_id: Option<MachineId>,
        /// What it is doing, in one line.
        pub activity: String,
        /// When it began.
        pub started_at: Timestamp,
        /// Its processes, parents first.
        pub processes: Vec<RunProcess>,
    }
}
