//! The tools, a row each.

use crate::{
    Backend,
    compose::{
        self, AssignAgent, CancelTask, ChangesAndFile, CreateSubTasks, IterationsAction, Parts, ReadTaskDiff,
    },
    tool::{
        Effect::{Acts, Adds, AddsOnce, Changes, Reads, Runs},
        Tool,
    },
};
use forge_api::{
    operations::{
        AgentList, ExecutionFollowUp, FixApply, FixList, FixRollback, KnowledgeSearch, ProjectGet,
        ProjectList, TaskAction, TaskAssign, TaskCreate, TaskDependencyAdd, TaskDependencyRemove, TaskDiff,
        TaskExecutions, TaskGet, TaskList, TaskTransition, TaskUpdate, Validate, ValidateLog, ValidateState,
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
        Tool::of("forge_create_task", TaskCreate, Adds, "Makes a task in a project. It is not started: that is done by forge_transition_task, or by a person. Use forge_create_sub_tasks for parts of a task."),
        Tool::of("forge_list_tasks", TaskList, Reads, "A page of a project's tasks in board order, all or those in some states or with a text."),
        Tool::of("forge_get_task", TaskGet, Reads, "One task: its state, version, roles, budgets, what it waits for and what is offered to go on."),
        Tool::of("forge_update_task", TaskUpdate, Changes, "Changes what a task says: title, description, priority, its checks and limits. Needs the version that was read."),
        Tool::of("forge_transition_task", TaskTransition, Changes, "Moves a task to another state of its workflow, with all that follows: starting its agent, checks, review, merge. Needs the version that was read. The answer waits until the next to act is an agent or a person; `wait: \"none\"` answers at once."),
        Tool::composed::<AssignAgent, Task, _>("forge_assign_agent", TaskAssign, Changes, "Gives a role of a task to an agent, to the person (`user`) or to nobody (null).", compose::assign_agent),
        Tool::composed::<CancelTask, TaskAndReview, _>("forge_cancel_task", TaskAction, Changes, "Gives a task up: what runs for it is ended, its worktree is removed after a backup.", compose::cancel_task),
        Tool::composed::<CreateSubTasks, Parts, _>("forge_create_sub_tasks", TaskCreate, Adds, "Makes the parts of a task, in this order. Each is made by itself: when one is refused, the error names those that were made before.", compose::create_sub_tasks),
        Tool::of("forge_add_task_dependency", TaskDependencyAdd, AddsOnce, "Lets a task wait until another one is done."),
        Tool::of("forge_remove_task_dependency", TaskDependencyRemove, Changes, "Takes such a dependency away."),
        Tool::composed::<ReadTaskDiff, ChangesAndFile, _>("forge_get_task_diff", TaskDiff, Reads, "What a task changed: every file with its counts, and with `path` the changed lines of that file.", compose::task_diff),
        Tool::of("forge_list_executions", TaskExecutions, Reads, "Every run of an agent for a task, with its end, usage and cost."),
        Tool::of("forge_follow_up_execution", ExecutionFollowUp, Adds, "Says something to the agent of a run; it works on in the same conversation."),
        Tool::of("forge_task_action", TaskAction, Acts, "Performs an action on a task (one of its `offers`), such as retry or continue, with the fields that the action asks for."),
        Tool::of("forge_list_agents", AgentList, Reads, "The agent profiles that tasks can be given to."),
        Tool::of("forge_search_knowledge", KnowledgeSearch, Reads, "What a project has learned: the lessons that a text finds, the best first."),
        Tool::of("validate", Validate, Runs, "Checks a piece of work and keeps score over attempts: files that must exist, their syntax, names that modules take from each other, and shell commands, in `cwd`; the token of a run runs only commands that the project declares. Counts an attempt of the module. Says whether to go on (PROCEED), to try again (RETRY), or that trying again gets nowhere (ESCALATE). Use it when work on a module is done or was mended; iteration_state and forge_logs tell of earlier attempts without counting one."),
        Tool::composed::<IterationsAction, IterationState, _>("iteration_state", ValidateState, Changes, "The attempts at a module that validate counted, and with `action: \"reset\"` none any more.", compose::iteration_state),
        Tool::of("forge_logs", ValidateLog, Reads, "What was validated and how it ended, oldest first: of a run, of a module, or of today."),
        Tool::of("list_fix_proposals", FixList, Reads, "The fixes that were drafted for a task's failed checks, with their patches, and the drafts that nothing came of."),
        Tool::of("apply_fix_proposal", FixApply, Changes, "Applies a drafted fix as a commit of its own and runs the failing check again; what does not help is rolled back. Asked for by the reviewer of the task, it is applied once they send the work back."),
        Tool::of("rollback_fix_proposal", FixRollback, Changes, "Takes an applied fix back by a commit of its own; refused when its file moved on."),
    ]
}
