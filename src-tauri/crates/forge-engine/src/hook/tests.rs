//! Where the project's hooks stand among the steps of an entry.

use forge_model::ids::TaskId;
use insta::assert_snapshot;

use super::*;
use crate::core::testing::{NOW, lines};

fn step(kind: StepKind, phase: &str) -> StepRow {
    StepRow::pending(&TaskId::from("t"), "in_progress", kind, phase)
}

fn action(action: Action, phase: Phase) -> StepRow {
    StepRow { action: Some(action), ..step(StepKind::Action, phase.as_str()) }
}

fn hook(event: LifecycleEvent) -> StepRow {
    step(StepKind::Hook, event.as_str())
}

/// The steps of an entry that starts an agent.
fn work() -> Vec<StepRow> {
    vec![
        step(StepKind::UndoWindow, "undo"),
        step(StepKind::PrepareWorkspace, Phase::BeforeEnter.as_str()),
        step(StepKind::ClearBarrier, Phase::BeforeEnter.as_str()),
        action(Action::DispatchRoleAgent, Phase::OnEnter),
    ]
}

fn woven(mut list: Vec<StepRow>, hooks: EntryHooks) -> String {
    hooks.weave_into(&mut list);
    lines(&list)
}

#[test]
fn hooks_of_work_stand_around_the_barrier_and_the_agent() {
    let hooks = EntryHooks {
        stopped: vec![hook(LifecycleEvent::OnWorkStop)],
        blocking: vec![hook(LifecycleEvent::BeforeWork)],
        informing: vec![hook(LifecycleEvent::BeforeWork)],
        beside: vec![hook(LifecycleEvent::OnWorkStart)],
        closed: Vec::new(),
    };
    assert_snapshot!(woven(work(), hooks), @r"
    undo undo_window
    on_work_stop on_work_stop[0]
    before_enter prepare_workspace
    before_work before_work[0]
    before_enter clear_barrier
    before_work before_work[0]
    on_enter dispatch_role_agent
    on_work_start on_work_start[0]
    ");
}

#[test]
fn blocking_hooks_run_where_the_workflow_says() {
    let mut list = work();
    list.insert(1, action(Action::RunBeforeWorkHooks, Phase::BeforeEnter));
    let blocking = vec![hook(LifecycleEvent::BeforeWork)];
    let hooks = EntryHooks { blocking: blocking.clone(), ..EntryHooks::default() };
    assert_snapshot!(woven(list.clone(), hooks), @r"
    undo undo_window
    before_enter run_before_work_hooks
    before_work before_work[0]
    before_enter prepare_workspace
    before_enter clear_barrier
    on_enter dispatch_role_agent
    ");

    // The action answers to none of these moves: neither do the hooks.
    list[1].status = StepStatus::Done;
    list[1].reason = Some("answers to agent_only moves".to_owned());
    list[1].finished_at = Some(NOW);
    let hooks = EntryHooks { blocking, ..EntryHooks::default() };
    assert_snapshot!(woven(list, hooks), @r"
    undo undo_window
    before_enter run_before_work_hooks (answers to agent_only moves)
    before_work before_work[0] (answers to agent_only moves)
    before_enter prepare_workspace
    before_enter clear_barrier
    on_enter dispatch_role_agent
    ");
}

#[test]
fn state_without_a_barrier_gets_one_for_blocking_hooks() {
    let list = vec![action(Action::DispatchRoleAgent, Phase::OnEnter)];
    let hooks = EntryHooks { blocking: vec![hook(LifecycleEvent::BeforeWork)], ..EntryHooks::default() };
    assert_snapshot!(woven(list, hooks), @r"
    before_work before_work[0]
    before_enter clear_barrier
    on_enter dispatch_role_agent
    ");
}

#[test]
fn hooks_of_a_closed_task_run_before_its_worktree_goes() {
    for (cleanup, name) in [
        (step(StepKind::Cleanup, Phase::OnEnter.as_str()), "cleanup"),
        (action(Action::ScheduleWorkspaceCleanup, Phase::OnEnter), "schedule_workspace_cleanup"),
    ] {
        let list = vec![action(Action::SatisfyDependents, Phase::OnEnter), cleanup];
        let hooks = EntryHooks { closed: vec![hook(LifecycleEvent::OnTaskDone)], ..EntryHooks::default() };
        let expected = format!("on_enter satisfy_dependents\non_task_done on_task_done[0]\non_enter {name}");
        assert_eq!(woven(list, hooks), expected);
    }
}
