//! The closed registry of workflow actions: which phases each may stand in, which lifecycle events it also
//! answers to, and what it leans on.
//!
//! Invariant: what is not declared here does not exist. A definition that names anything else is refused, and
//! the engine's matches over [`Action`] are exhaustive.

use super::Audience;
use crate::names;

names! {
    /// A point of a transition at which actions run.
    pub enum Phase {
        /// Before anything is written; may refuse.
        BeforeExit = "before_exit",
        /// The old state is being left.
        OnExit = "on_exit",
        /// The barrier of the new state.
        BeforeEnter = "before_enter",
        /// The new state is entered.
        OnEnter = "on_enter",
        /// May move the task to another state.
        AfterEnter = "after_enter",
    }
}

names! {
    /// A moment of a task's work at which a project's own lifecycle hooks run.
    pub enum LifecycleEvent {
        /// The barrier of every active state.
        BeforeWork = "before_work",
        /// An agent was dispatched.
        OnWorkStart = "on_work_start",
        /// A task leaves an active state without being closed, or an agent's run ends without leaving the state.
        OnWorkStop = "on_work_stop",
        /// A task is done; its worktree is still there.
        OnTaskDone = "on_task_done",
        /// A task is given up.
        OnTaskCancel = "on_task_cancel",
    }
}

names! {
    /// A built-in action of workflows.
    pub enum Action {
        /// Refuses while a dependency is open.
        DependencyGate = "dependency_gate",
        /// Refuses while the worktree has uncommitted changes.
        RequireCleanWorktree = "require_clean_worktree",
        /// Refuses while there is no plan.
        RequirePlanComplete = "require_plan_complete",
        /// Refuses while conflict markers are left.
        RequireNoConflictMarkers = "require_no_conflict_markers",
        /// Refuses while an ordered subtask is open.
        SubtaskSequenceComplete = "subtask_sequence_complete",
        /// Runs the project's `before_work` hooks.
        RunBeforeWorkHooks = "run_before_work_hooks",
        /// Runs the configured checks.
        RunCiSteps = "run_ci_steps",
        /// Starts the agent assigned to the state's role.
        DispatchRoleAgent = "dispatch_role_agent",
        /// Merges the task's branch.
        RunMerge = "run_merge",
        /// Shows the remaining budget.
        CheckRetryBudget = "check_retry_budget",
        /// Moves the task forward when its review passes.
        AutoCascadeOnReviewPass = "auto_cascade_on_review_pass",
        /// Moves the task forward when its role is unassigned.
        AutoCascadeOnUnassignedRole = "auto_cascade_on_unassigned_role",
        /// Moves the task according to the merge result.
        AutoCascadeOnMergeResult = "auto_cascade_on_merge_result",
        /// Removes the worktree now.
        CleanupWorkspaceNow = "cleanup_workspace_now",
        /// Removes the worktree later.
        ScheduleWorkspaceCleanup = "schedule_workspace_cleanup",
        /// Tells dependents that this dependency is done.
        SatisfyDependents = "satisfy_dependents",
        /// Closes ordered subtasks with their parent.
        PropagateDoneToSubtasks = "propagate_done_to_subtasks",
        /// Cancels ordered subtasks with their parent.
        CancelPendingSubtasks = "cancel_pending_subtasks",
        /// Notifies the person that the task is blocked.
        PublishTaskBlocked = "publish_task_blocked",
        /// Gives the agent the project's lessons.
        KnowledgeInject = "knowledge-inject",
        /// Proposes lessons from the task.
        KnowledgeCapture = "knowledge-capture",
    }
}

impl Action {
    /// The phases it may stand in.
    #[must_use]
    pub const fn phases(self) -> &'static [Phase] {
        match self {
            Self::DependencyGate
            | Self::RequireCleanWorktree
            | Self::RequirePlanComplete
            | Self::RequireNoConflictMarkers
            | Self::SubtaskSequenceComplete => &[Phase::BeforeExit],
            Self::RunBeforeWorkHooks | Self::RunCiSteps => &[Phase::BeforeEnter],
            Self::KnowledgeInject => &[Phase::BeforeEnter, Phase::OnEnter],
            Self::DispatchRoleAgent
            | Self::RunMerge
            | Self::CleanupWorkspaceNow
            | Self::ScheduleWorkspaceCleanup
            | Self::SatisfyDependents
            | Self::PropagateDoneToSubtasks
            | Self::CancelPendingSubtasks
            | Self::PublishTaskBlocked
            | Self::KnowledgeCapture => &[Phase::OnEnter],
            Self::CheckRetryBudget
            | Self::AutoCascadeOnReviewPass
            | Self::AutoCascadeOnUnassignedRole
            | Self::AutoCascadeOnMergeResult => &[Phase::AfterEnter],
        }
    }

    /// The lifecycle events at which it may also stand as a plugin.
    #[must_use]
    pub const fn lifecycle_events(self) -> &'static [LifecycleEvent] {
        match self {
            Self::CheckRetryBudget => &[LifecycleEvent::OnWorkStart],
            Self::CleanupWorkspaceNow
            | Self::ScheduleWorkspaceCleanup
            | Self::SatisfyDependents
            | Self::PropagateDoneToSubtasks
            | Self::CancelPendingSubtasks => &[LifecycleEvent::OnTaskDone, LifecycleEvent::OnTaskCancel],
            Self::PublishTaskBlocked => &[LifecycleEvent::OnWorkStop],
            Self::KnowledgeInject => &[LifecycleEvent::BeforeWork],
            Self::KnowledgeCapture => &[LifecycleEvent::OnTaskDone],
            Self::DependencyGate
            | Self::RequireCleanWorktree
            | Self::RequirePlanComplete
            | Self::RequireNoConflictMarkers
            | Self::SubtaskSequenceComplete
            | Self::RunBeforeWorkHooks
            | Self::RunCiSteps
            | Self::DispatchRoleAgent
            | Self::RunMerge
            | Self::AutoCascadeOnReviewPass
            | Self::AutoCascadeOnUnassignedRole
            | Self::AutoCascadeOnMergeResult => &[],
        }
    }

    /// The `on_enter` action whose skipping leaves an `after_enter` action with nothing to say.
    ///
    /// One dependence is not static and so is not here: [`Self::AutoCascadeOnReviewPass`] leans on
    /// [`Self::DispatchRoleAgent`] while an agent holds the gate's role, and on nothing while nobody does.
    /// Who holds a role is a fact of the task, so the engine decides it.
    #[must_use]
    pub const fn depends_on(self) -> Option<Self> {
        match self {
            Self::AutoCascadeOnMergeResult => Some(Self::RunMerge),
            Self::DependencyGate
            | Self::RequireCleanWorktree
            | Self::RequirePlanComplete
            | Self::RequireNoConflictMarkers
            | Self::SubtaskSequenceComplete
            | Self::RunBeforeWorkHooks
            | Self::RunCiSteps
            | Self::DispatchRoleAgent
            | Self::RunMerge
            | Self::CheckRetryBudget
            | Self::AutoCascadeOnReviewPass
            | Self::AutoCascadeOnUnassignedRole
            | Self::CleanupWorkspaceNow
            | Self::ScheduleWorkspaceCleanup
            | Self::SatisfyDependents
            | Self::PropagateDoneToSubtasks
            | Self::CancelPendingSubtasks
            | Self::PublishTaskBlocked
            | Self::KnowledgeInject
            | Self::KnowledgeCapture => None,
        }
    }

    /// The audience an editor proposes for a new hook of this action. A definition that leaves `applies_to`
    /// out means [`Audience::All`] whatever stands here.
    #[must_use]
    pub const fn usual_audience(self) -> Audience {
        match self {
            // Guards against what agents overlook; a person who moves a card has seen it.
            Self::DependencyGate | Self::RequireNoConflictMarkers | Self::SubtaskSequenceComplete => {
                Audience::AgentOnly
            }
            Self::RequireCleanWorktree
            | Self::RequirePlanComplete
            | Self::RunBeforeWorkHooks
            | Self::RunCiSteps
            | Self::DispatchRoleAgent
            | Self::RunMerge
            | Self::CheckRetryBudget
            | Self::AutoCascadeOnReviewPass
            | Self::AutoCascadeOnUnassignedRole
            | Self::AutoCascadeOnMergeResult
            | Self::CleanupWorkspaceNow
            | Self::ScheduleWorkspaceCleanup
            | Self::SatisfyDependents
            | Self::PropagateDoneToSubtasks
            | Self::CancelPendingSubtasks
            | Self::PublishTaskBlocked
            | Self::KnowledgeInject
            | Self::KnowledgeCapture => Audience::All,
        }
    }

    /// The names of the parameters it takes in `params`. No action takes any today.
    #[must_use]
    pub const fn params(self) -> &'static [&'static str] {
        &[]
    }

    /// Description for people, one line.
    #[must_use]
    pub const fn about(self) -> &'static str {
        match self {
            Self::DependencyGate => "Keeps the task in the state while a dependency is open.",
            Self::RequireCleanWorktree => {
                "Keeps the task in the state while its worktree has uncommitted changes."
            }
            Self::RequirePlanComplete => "Keeps the task in the state while its plan is missing or empty.",
            Self::RequireNoConflictMarkers => {
                "Keeps the task in the state while changed files contain conflict markers."
            }
            Self::SubtaskSequenceComplete => "Keeps the task in the state while an ordered subtask is open.",
            Self::RunBeforeWorkHooks => "Runs the project's before_work hooks before work starts.",
            Self::RunCiSteps => "Runs the configured checks.",
            Self::DispatchRoleAgent => "Starts the agent assigned to the state's role.",
            Self::RunMerge => "Merges the task's branch into its target.",
            Self::CheckRetryBudget => "Shows the remaining retry budget in the timeline.",
            Self::AutoCascadeOnReviewPass => "Moves the task forward when its review passes.",
            Self::AutoCascadeOnUnassignedRole => {
                "Moves the task forward when the state's role is unassigned."
            }
            Self::AutoCascadeOnMergeResult => "Moves the task according to the merge result.",
            Self::CleanupWorkspaceNow => {
                "Removes the worktree immediately, after a backup of uncommitted changes."
            }
            Self::ScheduleWorkspaceCleanup => {
                "Removes the worktree after the state's delay, after a backup of uncommitted changes."
            }
            Self::SatisfyDependents => "Releases tasks that depend on this one.",
            Self::PropagateDoneToSubtasks => "Closes the ordered subtasks with their parent.",
            Self::CancelPendingSubtasks => "Cancels the open ordered subtasks with their parent.",
            Self::PublishTaskBlocked => "Notifies the user why the task is blocked.",
            Self::KnowledgeInject => "Gives the agent the project's lessons that match the task.",
            Self::KnowledgeCapture => "Proposes lessons from the finished task.",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The registry as the specification prints it: name, phases, lifecycle events.
    #[test]
    fn the_registry_is_what_is_written_down() {
        let join = |names: Vec<&str>| names.join(" ");
        let table: Vec<String> = Action::ALL
            .iter()
            .map(|action| {
                let phases = join(action.phases().iter().map(|phase| phase.as_str()).collect());
                let events = join(action.lifecycle_events().iter().map(|event| event.as_str()).collect());
                format!("{action} | {phases} | {events}").trim_end().to_owned()
            })
            .collect();
        insta::assert_snapshot!(table.join("\n"), @r"
        dependency_gate | before_exit |
        require_clean_worktree | before_exit |
        require_plan_complete | before_exit |
        require_no_conflict_markers | before_exit |
        subtask_sequence_complete | before_exit |
        run_before_work_hooks | before_enter |
        run_ci_steps | before_enter |
        dispatch_role_agent | on_enter |
        run_merge | on_enter |
        check_retry_budget | after_enter | on_work_start
        auto_cascade_on_review_pass | after_enter |
        auto_cascade_on_unassigned_role | after_enter |
        auto_cascade_on_merge_result | after_enter |
        cleanup_workspace_now | on_enter | on_task_done on_task_cancel
        schedule_workspace_cleanup | on_enter | on_task_done on_task_cancel
        satisfy_dependents | on_enter | on_task_done on_task_cancel
        propagate_done_to_subtasks | on_enter | on_task_done on_task_cancel
        cancel_pending_subtasks | on_enter | on_task_done on_task_cancel
        publish_task_blocked | on_enter | on_work_stop
        knowledge-inject | before_enter on_enter | before_work
        knowledge-capture | on_enter | on_task_done
        ");
    }

    /// What leans on something runs after it.
    #[test]
    fn a_dependent_action_stands_in_a_later_phase() {
        for action in Action::ALL {
            if let Some(on) = action.depends_on() {
                assert!(on.phases().iter().max() < action.phases().iter().min(), "{action} needs {on}");
            }
        }
    }
}
