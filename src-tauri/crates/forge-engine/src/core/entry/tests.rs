//! The steps of entering a state, as the default workflow has them.

use forge_model::ids::TaskId;
use forge_model::task::ExecutionMode;
use insta::assert_snapshot;

use super::*;
use crate::core::testing::{NOW, by_person, lines, plain, project, task_row, transition};

/// The steps that a move queues, as lines.
fn entered(from: &str, mv: &Move, change: impl FnOnce(&mut TaskRow)) -> String {
    let context = project(plain());
    let mut task = task_row(TaskId::from("t"), 1, from, NOW);
    change(&mut task);
    let row = transition(&task, mv);
    let state = context.workflow.state(&mv.to).unwrap();
    let entering = Entering { context: &context, task: &task, left: from, state, row: &row };
    lines(&entry_steps(entering, mv, None).unwrap())
}

#[test]
fn work_begins_with_a_place_a_worktree_and_a_barrier() {
    let undoable = Move { undo_until: Some(NOW), ..by_person("in_progress") };
    assert_snapshot!(entered("todo", &undoable, |_| {}), @r"
    undo undo_window
    before_enter admit
    before_enter prepare_workspace
    before_enter run_before_work_hooks
    before_enter clear_barrier
    on_enter dispatch_role_agent
    ");
}

#[test]
fn gate_begins_with_the_commit_that_it_is_about() {
    assert_snapshot!(entered("in_progress", &by_person("review"), |_| {}), @r"
    before_enter capture
    before_enter run_ci_steps
    before_enter clear_barrier
    on_enter admit
    on_enter dispatch_role_agent
    after_enter check_retry_budget
    after_enter auto_cascade_on_review_pass
    ");
    assert_snapshot!(entered("review", &by_person("merging"), |_| {}), @r"
    before_enter capture
    on_enter run_merge
    after_enter auto_cascade_on_merge_result
    ");
}

#[test]
fn failed_merge_starts_the_agent_again() {
    assert_snapshot!(entered("merging", &by_person("merge_failed"), |_| {}), @r"
    after_enter check_retry_budget
    after_enter restart
    ");
}

#[test]
fn closed_task_is_told_of_and_cleaned_up_after() {
    assert_snapshot!(entered("merging", &by_person("done"), |_| {}), @r"
    on_enter propagate_done_to_subtasks
    on_enter satisfy_dependents
    on_enter cleanup_workspace_now
    ");
    assert_snapshot!(entered("todo", &by_person("cancelled"), |_| {}), @r"
    on_enter cancel_pending_subtasks
    on_enter schedule_workspace_cleanup
    ");
}

#[test]
fn ordered_subtask_has_no_work_of_its_own() {
    let ordered = |task: &mut TaskRow| {
        task.execution_mode = ExecutionMode::OrderedTurn;
        task.parent_id = Some(TaskId::from("parent"));
    };
    assert_snapshot!(entered("todo", &by_person("in_progress"), ordered), @"");
    assert_snapshot!(entered("in_progress", &by_person("done"), ordered), @"on_enter satisfy_dependents");
}

#[test]
fn steps_of_a_feature_take_the_place_of_the_agent_but_not_of_leaving() {
    let context = project(plain());
    let task = task_row(TaskId::from("t"), 1, "todo", NOW);
    let mv = Move { undo_until: Some(NOW), ..by_person("in_progress") };
    let row = transition(&task, &mv);
    let state = context.workflow.state("in_progress").unwrap();
    let entering = Entering { context: &context, task: &task, left: "todo", state, row: &row };
    let instead = StepRow::pending(&task.id, "in_progress", StepKind::Race, Phase::BeforeEnter.as_str());
    let found = lines(&entry_steps(entering, &mv, Some(vec![instead])).unwrap());
    assert_snapshot!(found, @r"
    undo undo_window
    before_enter race
    ");
}
