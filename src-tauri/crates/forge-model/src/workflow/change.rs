//! What changes when one definition takes the place of another.

use super::Workflow;
use crate::contract;

contract! {
    /// What a new definition adds and takes away. A state that holds tasks must not be among the removed ones.
    #[derive(Default)]
    pub struct WorkflowChange {
        /// States that are gone, by name, in the old order.
        pub removed_states: Vec<String>,
        /// States that are new, by name, in the new order.
        pub added_states: Vec<String>,
        /// Roles that are gone, by name, in the old order.
        pub removed_roles: Vec<String>,
    }
}

/// What changes from `old` to `new`. A renamed state is one that is gone and one that is new.
#[must_use]
pub fn differences(old: &Workflow, new: &Workflow) -> WorkflowChange {
    let missing = |of: &Workflow, from: &Workflow| {
        of.states
            .iter()
            .filter(|state| from.state(&state.name).is_none())
            .map(|state| state.name.clone())
            .collect()
    };
    WorkflowChange {
        removed_states: missing(old, new),
        added_states: missing(new, old),
        removed_roles: old
            .roles
            .iter()
            .filter(|role| new.roles.iter().all(|other| other.name != role.name))
            .map(|role| role.name.clone())
            .collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workflow::{default_workflow, preset};

    #[test]
    fn nothing_changes_from_a_definition_to_itself() {
        assert_eq!(differences(default_workflow(), default_workflow()), WorkflowChange::default());
    }

    #[test]
    fn what_goes_and_comes_is_named() {
        let manual = preset("manual").unwrap().workflow();
        let planned = preset("planned").unwrap().workflow();
        let change = differences(&planned, &manual);
        assert_eq!(change.removed_states, ["planning", "merging", "merge_failed"]);
        assert_eq!(change.removed_roles, ["planner", "coder", "reviewer"]);
        assert_eq!(change.added_states, Vec::<String>::new());
        let back = differences(&manual, &planned);
        assert_eq!(back.added_states, ["planning", "merging", "merge_failed"]);
        assert_eq!(back.removed_roles, Vec::<String>::new());
    }
}
