//! What happened, in small records with a number each. Facts and ids, never bulk.

use serde_json::Value;

use crate::{
    contract,
    ids::{ProjectId, TaskId},
    names,
    time::Timestamp,
};

names! {
    /// What happened.
    pub enum EventType {
        /// A task was made.
        TaskCreated = "task.created",
        /// Something about a task changed.
        TaskUpdated = "task.updated",
        /// A task entered another state.
        TaskStatusChanged = "task.status_changed",
        /// A task's place in its column changed.
        TaskMoved = "task.moved",
        /// A role of a task has another holder.
        TaskAssigned = "task.assigned",
        /// A task needs a person.
        TaskBlocked = "task.blocked",
        /// It no longer does.
        TaskUnblocked = "task.unblocked",
        /// A gate waits for a person.
        TaskAwaitingHuman = "task.awaiting_human",
        /// The last prerequisite is met.
        TaskDependencySatisfied = "task.dependency_satisfied",
        /// A task is gone.
        TaskDeleted = "task.deleted",
        /// A run of an agent began.
        ExecutionStarted = "execution.started",
        /// Its log grew.
        ExecutionLog = "execution.log",
        /// It waits.
        ExecutionWaiting = "execution.waiting",
        /// It ended.
        ExecutionFinished = "execution.finished",
        /// A question of its was answered, or no longer waits for an answer.
        ApprovalResolved = "approval.resolved",
        /// A review began.
        ReviewStarted = "review.started",
        /// One of its checks began or ended.
        ReviewStep = "review.step",
        /// It passed.
        ReviewPassed = "review.passed",
        /// It failed.
        ReviewFailed = "review.failed",
        /// It waits for a person.
        ReviewAwaitingHuman = "review.awaiting_human",
        /// A merge began.
        MergeStarted = "merge.started",
        /// It is on the target.
        MergeSucceeded = "merge.succeeded",
        /// It needs help.
        MergeConflict = "merge.conflict",
        /// A race began.
        RaceStarted = "race.started",
        /// One of its entries began.
        RaceEntryStarted = "race.entry_started",
        /// One of its entries is over.
        RaceEntryFinished = "race.entry_finished",
        /// It has an election.
        RaceElected = "race.elected",
        /// A person chose the winner.
        RaceCrowned = "race.crowned",
        /// The winner's work is the task's.
        RacePromoted = "race.promoted",
        /// It came to nothing.
        RaceFailed = "race.failed",
        /// A run cost more than is usual.
        CostAnomaly = "cost.anomaly",
        /// A fix was drafted, or nothing came of it.
        FixDrafted = "fix.drafted",
        /// A drafted fix was applied.
        FixApplied = "fix.applied",
        /// The check that failed passes with it.
        FixVerified = "fix.verified",
        /// An applied fix was taken back.
        FixRolledBack = "fix.rolled_back",
        /// A drafted fix was put aside.
        FixRejected = "fix.rejected",
        /// The file of a drafted fix changed otherwise.
        FixSuperseded = "fix.superseded",
        /// An import of issues made progress or ended.
        IssueImportChanged = "issue_import.changed",
        /// A piece of work was checked.
        ValidateFinished = "validate.finished",
        /// A worktree is ready.
        WorkspaceCreated = "workspace.created",
        /// A worktree is gone.
        WorkspaceCleaned = "workspace.cleaned",
        /// An operation on one failed.
        WorkspaceError = "workspace.error",
        /// A lost one was made again.
        WorkspaceRecovered = "workspace.recovered",
        /// A lifecycle hook ran.
        HookRun = "hook.run",
        /// A guard refused a move.
        TransitionGuardRejected = "transition.guard_rejected",
        /// An action after a move failed.
        TransitionEffectFailed = "transition.effect_failed",
        /// There is something to tell the person.
        NotificationCreated = "notification.created",
        /// An agent profile changed.
        AgentChanged = "agent.changed",
        /// A service was started, became ready, or ended.
        ServiceChanged = "service.changed",
        /// A terminal was opened, ended, or was closed.
        TerminalChanged = "terminal.changed",
        /// A machine changed, or the contact with it.
        MachineChanged = "machine.changed",
        /// A project changed.
        ProjectChanged = "project.changed",
        /// Events before this one are no longer kept: read everything again.
        EventsResync = "events.resync",
    }
}

contract! {
    /// One event.
    pub struct Event {
        /// Its number; rises without gaps in what was committed.
        #[specta(type = f64)]
        pub seq: i64,
        /// What happened.
        #[serde(rename = "type")]
        pub kind: EventType,
        /// When.
        pub at: Timestamp,
        /// The project concerned.
        pub project_id: Option<ProjectId>,
        /// The task concerned.
        pub task_id: Option<TaskId>,
        /// What it is about: a task, an execution, a review, ...
        pub entity_id: String,
        /// Facts, under 4 KiB.
        #[specta(type = specta_typescript::Unknown)]
        pub data: Value,
    }
}
