//! Which keeper is asked on behalf of a task.

use forge_model::ids::{MachineId, TaskId};
use forge_model::machine::Machine;

/// Which keeper is asked.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct KeeperId {
    pub machine: MachineId,
    /// The task whose container or job it is in; none where the machine has one keeper for all.
    pub task: Option<TaskId>,
}

impl KeeperId {
    /// The id of the keeper that a task on this machine uses.
    pub(crate) fn of(machine: &Machine, task: &TaskId) -> Self {
        let task = machine.kind.is_of_tasks().then(|| task.clone());
        Self { machine: machine.id.clone(), task }
    }

    /// Whether it is asked on behalf of a task that is on its machine.
    pub(crate) fn serves(&self, task: &TaskId) -> bool {
        self.task.as_ref().is_none_or(|own| own == task)
    }
}
