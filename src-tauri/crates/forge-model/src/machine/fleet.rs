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
        /// An agent is at work on it, or is about to be.
        AtWork = "at_work",
        /// An agent would start now.
        Starts = "starts",
        /// It would wait.
        Waits = "waits",
        /// Nothing of it would run.
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
        /// What people call where it runs: the name of a machine, or `local`; null while it would run nowhere.
        pub machine: Option<String>,
        /// Why, in a sentence.
        pub reason: String,
        /// What it would wait for.
        pub waiting: Option<Waiting>,
        /// Every machine, by name, with why it is taken or not. Empty when it runs on this computer.
        pub machines: Vec<MachineChoice>,
    }

    /// What a machine is to a task.
    #[derive(Eq)]
    pub struct MachineChoice {
        /// The machine.
        pub machine_id: MachineId,
        /// What people call it.
        pub name: String,
        /// Whether the task could run there now.
        pub fits: bool,
        /// Why, or why not, in a sentence.
        pub reason: String,
    }
}
