//! Where a task would run, and why: what people are told before it starts.

use crate::{
    contract,
    ids::{MachineId, TaskId},
    names,
    task::Waiting,
};

names! {
    /// Whether an agent starts on a task.
    pub enum PlacementVerdict {
        /// An agent is working on it, or is about to start.
        AtWork = "at_work",
        /// An agent would start now.
        Starts = "starts",
        /// It would wait.
        Waits = "waits",
        /// Nothing of it would start.
        Rests = "rests",
    }
}

contract! {
    /// Where a task would run now, and why.
    pub struct TaskPlacement {
        /// The task.
        pub task_id: TaskId,
        /// Whether an agent starts on it.
        pub verdict: PlacementVerdict,
        /// The machine; null for this computer, and while it would run nowhere.
        pub machine_id: Option<MachineId>,
        /// Name of the machine where it runs, or `local`; null while it would run nowhere.
        pub machine: Option<String>,
        /// Reason, one sentence.
        pub reason: String,
        /// What it would wait for.
        pub waiting: Option<Waiting>,
        /// Every machine, by name, with the reason for or against it. Empty if it runs on this computer.
        pub machines: Vec<MachineChoice>,
    }

    /// Whether a machine fits a task.
    #[derive(Eq)]
    pub struct MachineChoice {
        /// The machine.
        pub machine_id: MachineId,
        /// Display name.
        pub name: String,
        /// Whether the task can run there now.
        pub fits: bool,
        /// Why or why not, one sentence.
        pub reason: String,
    }
}
