//! The tools, a row each.

use crate::{
    Backend,
    compose::{
        self, AssignAgent, CancelTask, ChangesAndFile, CreateSubTasks, IterationsAction, Parts, ReadTaskDiff,
    },
    services::{self, OneService, ReadOutput, Seen, SeenAll, SomeServices, WithOutput},
    tool::{
        Effect::{Acts, Adds, AddsOnce, Changes, Reads, Runs},
        Tool,
    },
};
use forge_api::{
    operations::{
        AgentList, ExecutionFollowUp, FixApply, FixList, FixRollback, KnowledgeSearch, ProjectGet,
        ProjectList, ServiceStart, ServiceStop, TaskAction, TaskAssign, TaskCreate, TaskDependencyAdd,
        TaskDependencyRemove, TaskDiff, TaskExecutions, TaskGet, TaskList, TaskServices, TaskTransition,
        TaskUpdate, Validate, ValidateLog, ValidateState,
    },
    ops::TaskAndReview,
};
use forge_model::{task::Task, validate::IterationState};

/// Every tool.
#[rustfmt::skip]
pub(crate) fn table<B: Backend>() -> Vec<Tool<B>> {
    vec![
        Tool::of("forge_list_projects", ProjectList, Reads, "All projects that Forge works on, by name."),
        Tool::of("forge_get_project", ProjectGet, Reads, "One project, by its id or name."),
        Tool::of("forge_create_task", TaskCreate, Adds, "Creates a task in a project without starting it. Start it with forge_transition_task. Use forge_create_sub_tasks for subtasks."),
        Tool::of("forge_list_tasks", TaskList, Reads, "A page of a project's tasks in board order; can be filtered by state and text."),
        Tool::of("forge_get_task", TaskGet, Reads, "One task: state, version, roles, budgets, what it waits for, and the available actions (`offers`)."),
        Tool::of("forge_update_task", TaskUpdate, Changes, "Changes a task's title, description, priority, checks and limits. Needs the task's version, as read."),
        Tool::of("forge_transition_task", TaskTransition, Changes, "Moves a task to another state of its workflow and starts what follows: agent, checks, review or merge. Needs the task's version, as read. The answer waits until an agent or a person has to act next; `wait: \"none\"` returns immediately."),
        Tool::composed::<AssignAgent, Task, _>("forge_assign_agent", TaskAssign, Changes, "Assigns a role of a task to an agent or to the user (`user`), or clears it (null).", compose::assign_agent),
        Tool::composed::<CancelTask, TaskAndReview, _>("forge_cancel_task", TaskAction, Changes, "Cancels a task: stops its runs, and removes its worktree after a backup.", compose::cancel_task),
        Tool::composed::<CreateSubTasks, Parts, _>("forge_create_sub_tasks", TaskCreate, Adds, "Creates subtasks of a task, in this order. Each is created separately: if one is refused, the error names those created before it.", compose::create_sub_tasks),
        Tool::of("forge_add_task_dependency", TaskDependencyAdd, AddsOnce, "Makes a task depend on another one: it waits until that one is done."),
        Tool::of("forge_remove_task_dependency", TaskDependencyRemove, Changes, "Removes a dependency between two tasks."),
        Tool::composed::<ReadTaskDiff, ChangesAndFile, _>("forge_get_task_diff", TaskDiff, Reads, "Changed files of a task with line counts; with `path`, the changed lines of that file.", compose::task_diff),
        Tool::of("forge_list_executions", TaskExecutions, Reads, "All runs of a task, with result, usage and cost."),
        Tool::of("forge_follow_up_execution", ExecutionFollowUp, Adds, "Sends a message to the agent of a run, which continues in the same session."),
        Tool::of("forge_task_action", TaskAction, Acts, "Performs an action on a task (one of its `offers`), such as retry or continue, with the fields that the action requires."),
        Tool::composed::<OneService, Seen, _>("forge_run_service", ServiceStart, AddsOnce, "Starts a service of the project, such as its development server, in the task's worktree to try its work; a running one is left alone. Returns immediately; forge_service_log tells when it is ready.", services::run),
        Tool::composed::<SomeServices, SeenAll, _>("forge_stop_service", ServiceStop, Changes, "Stops a service of a task, or all of them.", services::stop),
        Tool::composed::<ReadOutput, WithOutput, _>("forge_service_log", TaskServices, Reads, "State of a service of a task, and the end of its output.", services::log),
        Tool::of("forge_list_agents", AgentList, Reads, "Agent profiles that tasks can be assigned to."),
        Tool::of("forge_search_knowledge", KnowledgeSearch, Reads, "Lessons of a project that match a text, best match first."),
        Tool::of("validate", Validate, Runs, "Validates a piece of work in `cwd` and counts an attempt of the module. Checks that files exist, their syntax, the names that modules import from each other, and shell commands. With the token of a run, only commands that the project declares are run. The verdict is PROCEED (continue), RETRY (try again) or ESCALATE (further attempts make no progress). Use it when work on a module is finished or fixed; iteration_state and forge_logs show earlier attempts without counting one."),
        Tool::composed::<IterationsAction, IterationState, _>("iteration_state", ValidateState, Changes, "Attempts of a module counted by validate; `action: \"reset\"` deletes them.", compose::iteration_state),
        Tool::of("forge_logs", ValidateLog, Reads, "Calls of validate and their verdicts, oldest first: of a run, of a module, or of today."),
        Tool::of("list_fix_proposals", FixList, Reads, "Drafted fixes for a task's failed checks, with their patches, and drafts that failed."),
        Tool::of("apply_fix_proposal", FixApply, Changes, "Applies a drafted fix as a separate commit and reruns the failed check; rolls back if the check still fails. If the task's reviewer calls it, the fix is applied when the reviewer sends the work back."),
        Tool::of("rollback_fix_proposal", FixRollback, Changes, "Rolls back an applied fix with a separate commit; refused if its file changed since."),
    ]
}
