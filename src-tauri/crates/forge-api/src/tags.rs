//! Which cached answers an event makes stale. Declared here, so that no window guesses.

use forge_model::event::{Event, EventType};

/// The tags of an event.
pub(crate) fn of(event: &Event) -> Vec<String> {
    let mut tags = Vec::new();
    if let Some(task) = &event.task_id {
        tags.push(format!("task:{task}"));
    }
    if let Some(project) = &event.project_id
        && event.task_id.is_some()
    {
        tags.push(format!("board:{project}"));
        tags.push("attention".to_owned());
    }
    use EventType as E;
    if let Some(project) = &event.project_id
        && event.kind == E::ProjectChanged
    {
        // Another workflow has other columns.
        tags.push(format!("board:{project}"));
    }
    if let Some(project) = &event.project_id
        && matches!(event.kind, E::ProjectChanged | E::MergeSucceeded)
    {
        // A merge may bring lessons, too.
        tags.push(format!("knowledge:{project}"));
    }
    let more: &[&str] = match event.kind {
        E::AgentChanged => &["agents"],
        E::MachineChanged => &["machines"],
        E::ServiceChanged => &["services"],
        E::ProjectChanged => &["projects", "attention", "workspaces", "costs", "scoreboard"],
        E::NotificationCreated => &["notifications"],
        E::ExecutionStarted => &["agents", "executions", "machines"],
        // What it cost is known with its end.
        E::ExecutionFinished | E::ExecutionWaiting => {
            &["agents", "executions", "approvals", "costs", "machines", "scoreboard"]
        }
        E::ApprovalResolved => &["agents", "executions", "approvals"],
        E::RaceElected => &["costs", "scoreboard"],
        E::TaskDeleted => &["costs", "machines", "scoreboard"],
        // A review that is decided and a merge move their task.
        E::TaskStatusChanged => &["scoreboard"],
        E::HookRun => &["workspaces"],
        E::TaskUpdated if concerns_worktree(event) => &["workspaces"],
        E::WorkspaceCreated | E::WorkspaceCleaned | E::WorkspaceError | E::WorkspaceRecovered => {
            &["workspaces", "machines"]
        }
        E::CostAnomaly => &["costs"],
        E::IssueImportChanged => &["issues"],
        E::ValidateFinished => &["validate"],
        E::FixDrafted
        | E::FixApplied
        | E::FixVerified
        | E::FixRolledBack
        | E::FixRejected
        | E::FixSuperseded => &["fixes"],
        E::RacePromoted => &["workspaces", "executions", "costs", "scoreboard"],
        E::RaceStarted
        | E::RaceEntryStarted
        | E::RaceEntryFinished
        | E::RaceCrowned
        | E::RaceFailed
        | E::TaskCreated
        | E::TaskUpdated
        | E::TaskMoved
        | E::TaskAssigned
        | E::TaskBlocked
        | E::TaskUnblocked
        | E::TaskAwaitingHuman
        | E::TaskDependencySatisfied
        | E::ExecutionLog
        | E::ReviewStarted
        | E::ReviewStep
        | E::ReviewPassed
        | E::ReviewFailed
        | E::ReviewAwaitingHuman
        | E::MergeStarted
        | E::MergeSucceeded
        | E::MergeConflict
        | E::TransitionGuardRejected
        | E::TransitionEffectFailed
        | E::TerminalChanged
        | E::EventsResync => &[],
    };
    tags.extend(more.iter().map(|tag| (*tag).to_owned()));
    if changes_files(event.kind)
        && let Some(task) = &event.task_id
    {
        tags.push(format!("diff:{task}"));
    }
    tags
}

/// Whether something about a task's worktree changed: its size, or when it goes.
fn concerns_worktree(event: &Event) -> bool {
    ["disk_bytes", "cleanup_at", "kept"].iter().any(|fact| event.data.get(fact).is_some())
}

const fn changes_files(kind: EventType) -> bool {
    use EventType as E;
    matches!(
        kind,
        E::ExecutionStarted
            | E::ExecutionFinished
            | E::ReviewStep
            | E::MergeSucceeded
            | E::RacePromoted
            | E::FixApplied
            | E::FixVerified
            | E::FixRolledBack
            | E::FixRejected
            | E::FixSuperseded
            | E::WorkspaceCreated
            | E::WorkspaceCleaned
            | E::WorkspaceRecovered
            | E::TaskStatusChanged
            | E::TaskUpdated
    )
}
