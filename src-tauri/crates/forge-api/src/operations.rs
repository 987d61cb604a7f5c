//! The contract, a row each.

use std::sync::LazyLock;

use crate::{
    Method::{Delete, Get, Patch, Post, Put},
    Operation,
    ops::{
        agents, attachments, comments, costs, executions, fixes, hooks, knowledge, merges, notifications,
        projects, races, reviews, system, tasks, teaching, workflows, workspaces,
    },
};

static OPERATIONS: LazyLock<Vec<Operation>> = LazyLock::new(table);

/// Every operation of the contract.
#[must_use]
pub fn operations() -> &'static [Operation] {
    &OPERATIONS
}

#[rustfmt::skip]
fn table() -> Vec<Operation> {
    vec![
        Operation::new("meta", Get, "/meta", "What this Forge is and where it keeps its data.", system::meta).provides(&["meta"]),
        Operation::new("doctor", Get, "/doctor", "What is in order on this machine and what is not.", system::doctor).provides(&["agents", "projects"]),
        Operation::new("demo_create", Post, "/demo", "Makes a sample repository with a project, an agent and tasks.", system::demo_create).created(),

        Operation::new("project_list", Get, "/projects", "All projects, by name.", projects::list).provides(&["projects"]),
        Operation::new("project_create", Post, "/projects", "Adds a repository.", projects::create).created(),
        Operation::new("project_get", Get, "/projects/{project_id}", "One project, by id or name.", projects::get).provides(&["projects"]),
        Operation::new("project_update", Patch, "/projects/{project_id}", "Renames a project or changes its default branch.", projects::update),
        Operation::new("project_delete", Delete, "/projects/{project_id}", "Removes a project and its worktrees, never the repository.", projects::delete),
        Operation::new("project_pause", Post, "/projects/{project_id}/pause", "Starts nothing new in a project.", projects::pause),
        Operation::new("project_resume", Post, "/projects/{project_id}/resume", "Starts things again.", projects::resume),
        Operation::new("project_settings_get", Get, "/projects/{project_id}/settings", "Settings with what of them is the project's own.", projects::settings).provides(&["projects"]),
        Operation::new("project_inner_loop", Get, "/projects/{project_id}/inner-loop", "Configuration of the inner loop, and where each value comes from.", projects::inner_loop).provides(&["projects"]),
        Operation::new("inner_loop_status", Get, "/projects/{project_id}/inner-loop/status", "What each part of the inner loop did last, and what of it is open.", projects::inner_loop_status).provides(&["projects", "board:{project_id}", "knowledge:{project_id}", "costs"]),
        Operation::new("project_settings_update", Patch, "/projects/{project_id}/settings", "Changes settings by a JSON merge patch.", projects::patch_settings),
        Operation::new("project_workflow_get", Get, "/projects/{project_id}/workflow", "The workflow, its columns and the moves a person may make.", workflows::get).provides(&["projects"]),
        Operation::new("project_workflow_put", Put, "/projects/{project_id}/workflow", "Puts a workflow in force.", workflows::put),
        Operation::new("workflow_check", Post, "/workflow/check", "Looks a workflow over: everything wrong with it, each with its place.", workflows::check),
        Operation::new("workflow_presets", Get, "/workflow/presets", "The workflows that come with Forge.", workflows::preset_list).provides(&["meta"]),
        Operation::new("hook_test", Post, "/projects/{project_id}/hooks/test", "Runs a lifecycle hook apart from any task run.", hooks::test),
        Operation::new("hook_test_log", Get, "/projects/{project_id}/hooks/logs/{log_id}", "A stretch of the log of a hook that is tested in the repository itself.", hooks::test_log).provides(&["log:{log_id}"]),
        Operation::new("project_imports", Get, "/projects/{project_id}/imports", "Settings that other tools' files in the repository ask for.", workspaces::imports).provides(&["projects"]),
        Operation::new("project_check_offers", Get, "/projects/{project_id}/checks/offers", "Checks that a project's files imply, where it has none and wants to be asked.", teaching::checks).provides(&["projects"]),
        Operation::new("project_checks_take", Post, "/projects/{project_id}/checks/take", "Makes offered checks the project's own.", teaching::take_checks),
        Operation::new("check_offers", Get, "/checks/offers", "Checks that the files of a repository imply which is no project yet.", teaching::checks_of_folder),
        Operation::new("project_backups", Get, "/projects/{project_id}/backups", "What was kept before worktrees went, of all tasks.", workspaces::project_backups).provides(&["workspaces"]),
        Operation::new("project_board", Get, "/projects/{project_id}/board", "How many tasks are in each column.", projects::board).provides(&["board:{project_id}"]),

        Operation::new("knowledge_list", Get, "/projects/{project_id}/knowledge", "What a project has learned: lessons that wait for a person, then those that the branch keeps.", knowledge::list).provides(&["knowledge:{project_id}"]),
        Operation::new("knowledge_search", Get, "/projects/{project_id}/knowledge/search", "The lessons that a text finds, the best first.", knowledge::search).provides(&["knowledge:{project_id}"]),
        Operation::new("knowledge_propose", Post, "/projects/{project_id}/knowledge", "Proposes a lesson.", knowledge::propose).created(),
        Operation::new("knowledge_accept", Post, "/projects/{project_id}/knowledge/{lesson_id}/accept", "Adds a lesson to the repository.", knowledge::accept),
        Operation::new("knowledge_dismiss", Post, "/projects/{project_id}/knowledge/{lesson_id}/dismiss", "Leaves a proposed lesson out.", knowledge::dismiss),

        Operation::new("agent_list", Get, "/agents", "All agent profiles, by name.", agents::list).provides(&["agents"]),
        Operation::new("agent_create", Post, "/agents", "Adds an agent profile.", agents::create).created(),
        Operation::new("agent_get", Get, "/agents/{agent_id}", "One agent profile.", agents::get).provides(&["agents"]),
        Operation::new("agent_update", Patch, "/agents/{agent_id}", "Changes an agent profile.", agents::update),
        Operation::new("agent_delete", Delete, "/agents/{agent_id}", "Removes an agent profile that nothing names.", agents::delete),
        Operation::new("agent_pause", Post, "/agents/{agent_id}/pause", "Starts nothing new on an agent.", agents::pause),
        Operation::new("agent_resume", Post, "/agents/{agent_id}/resume", "Starts things on it again.", agents::resume),
        Operation::new("agent_known", Get, "/agents/detect", "The agent programs that Forge knows, and where they are on this machine.", agents::known).provides(&["agents"]),
        Operation::new("agent_probe", Post, "/agents/probe", "Looks for the program of a profile that need not be stored.", agents::probe),
        Operation::new("agent_models", Post, "/agents/models", "The models that a program offers.", agents::models),
        Operation::new("agent_try", Post, "/agents/{agent_id}/try", "Lets the agent answer one word; costs what that costs.", agents::trial),
        Operation::new("agent_check", Post, "/agents/{agent_id}/check", "Looks for the agent's program.", agents::check),

        Operation::new("task_list", Get, "/projects/{project_id}/tasks", "A page of tasks in board order.", tasks::list).provides(&["board:{project_id}"]),
        Operation::new("task_create", Post, "/projects/{project_id}/tasks", "Makes a task.", tasks::create).created(),
        Operation::new("task_find", Get, "/projects/{project_id}/tasks/by-number/{number}", "A task by its number.", tasks::find).provides(&["board:{project_id}"]),
        Operation::new("task_get", Get, "/tasks/{task_id}", "One task.", tasks::get).provides(&["task:{task_id}"]),
        Operation::new("task_update", Patch, "/tasks/{task_id}", "Changes what a task says.", tasks::update),
        Operation::new("task_delete", Delete, "/tasks/{task_id}", "Removes a closed task with its history.", tasks::delete),
        Operation::new("task_claim", Post, "/tasks/{task_id}/claim", "Gives a task to an agent or to the person and starts work.", tasks::claim),
        Operation::new("task_transition", Post, "/tasks/{task_id}/transition", "Moves a task to another state.", tasks::transition),
        Operation::new("task_move", Post, "/tasks/{task_id}/move", "Moves a card: state and place in one.", tasks::move_card),
        Operation::new("task_undo", Post, "/tasks/{task_id}/undo", "Takes a drag back while its agent has not been started.", tasks::undo),
        Operation::new("task_action", Post, "/tasks/{task_id}/actions/{verb}", "Takes an offer.", tasks::action),
        Operation::new("task_assign", Put, "/tasks/{task_id}/roles/{role}", "Gives a role to an agent, to the person or to nobody.", tasks::assign),
        Operation::new("task_dependency_add", Post, "/tasks/{task_id}/dependencies", "Lets a task wait for another.", tasks::add_dependency),
        Operation::new("task_dependency_remove", Delete, "/tasks/{task_id}/dependencies/{depends_on}", "Takes a dependency away.", tasks::remove_dependency),
        Operation::new("task_subtasks", Get, "/tasks/{task_id}/subtasks", "A task's parts, in their order.", tasks::subtasks).provides(&["task:{task_id}"]),
        Operation::new("task_transitions", Get, "/tasks/{task_id}/transitions", "Every move with what ran after it.", tasks::transitions).provides(&["task:{task_id}"]),
        Operation::new("task_prompt_preview", Get, "/tasks/{task_id}/prompt-preview", "What the next run of the agent would be told.", tasks::prompt_preview).provides(&["task:{task_id}"]),
        Operation::new("task_plan", Get, "/tasks/{task_id}/plan", "The plan that was written for a task.", tasks::plan).provides(&["task:{task_id}"]),
        Operation::new("task_plan_put", Put, "/tasks/{task_id}/plan", "Writes a task's plan by hand.", tasks::put_plan),
        Operation::new("attention", Get, "/attention", "Tasks that need the person, oldest first.", tasks::attention).provides(&["attention"]),

        Operation::new("task_reviews", Get, "/tasks/{task_id}/reviews", "Every attempt at passing a gate.", reviews::list).provides(&["task:{task_id}"]),
        Operation::new("review_approve", Post, "/tasks/{task_id}/review/approve", "Passes the review that waits for a person.", reviews::approve),
        Operation::new("review_reject", Post, "/tasks/{task_id}/review/reject", "Sends the work back with a reason.", reviews::reject),
        Operation::new("gate_approve", Post, "/tasks/{task_id}/gates/{state}/approve", "Passes one gate.", reviews::approve_gate),
        Operation::new("gate_reject", Post, "/tasks/{task_id}/gates/{state}/reject", "Sends the work back from one gate.", reviews::reject_gate),
        Operation::new("review_cancel", Post, "/tasks/{task_id}/review/cancel", "Stops the checks or the auditor that run.", reviews::cancel),
        Operation::new("task_comments", Get, "/tasks/{task_id}/comments", "What was said on lines of the diff, oldest first.", comments::list).provides(&["task:{task_id}", "diff:{task_id}"]),
        Operation::new("comment_create", Post, "/tasks/{task_id}/comments", "Makes a draft of a comment.", comments::create).created(),
        Operation::new("comment_update", Patch, "/comments/{comment_id}", "Rewrites a draft, or settles a comment.", comments::update),
        Operation::new("comment_delete", Delete, "/comments/{comment_id}", "Removes a draft.", comments::delete),

        Operation::new("task_debrief", Get, "/tasks/{task_id}/debrief", "What a task left behind: the note of how it went, and its postmortems.", teaching::debrief).provides(&["task:{task_id}"]),
        Operation::new("task_races", Get, "/tasks/{task_id}/races", "Every race of a task, with what is known of each entry.", races::list).provides(&["task:{task_id}"]),
        Operation::new("task_race", Get, "/tasks/{task_id}/race", "The latest race of a task.", races::last).provides(&["task:{task_id}"]),
        Operation::new("race_crown", Post, "/tasks/{task_id}/race/crown", "Says whose work is the task's.", races::crown),
        Operation::new("race_estimate", Get, "/tasks/{task_id}/race-estimate", "What a race of a task is likely to cost.", costs::race_estimate).provides(&["task:{task_id}", "costs"]),
        Operation::new("project_race_estimate", Post, "/projects/{project_id}/race-estimate", "What the race of a task to be made is likely to cost, with these strategies or the project's.", costs::new_race_estimate).provides(&["projects", "costs"]),

        Operation::new("cost_sums", Get, "/costs", "What runs cost by day, project, task, agent or model.", costs::sums).provides(&["costs"]),
        Operation::new("cost_ledger", Get, "/costs/runs", "What every run cost, a page of lines, the latest end first.", costs::ledger).provides(&["costs"]),
        Operation::new("cost_csv", Get, "/costs/runs/csv", "A page of that as comma-separated values.", costs::csv),
        Operation::new("cost_totals", Get, "/costs/totals", "What runs cost by day, project, task, agent and model.", costs::totals).provides(&["costs"]),
        Operation::new("cost_series", Get, "/costs/series", "The course of what coder runs cost, by model.", costs::series).provides(&["costs"]),
        Operation::new("cost_anomalies", Get, "/costs/anomalies", "Runs that cost more than is usual, the latest first.", costs::anomalies).provides(&["costs"]),

        Operation::new("fix_list", Get, "/tasks/{task_id}/fixes", "What was drafted to mend a task's failed checks.", fixes::list).provides(&["task:{task_id}"]),
        Operation::new("project_fixes", Get, "/projects/{project_id}/fixes", "The drafted fixes of a project.", fixes::of_project).provides(&["fixes"]),
        Operation::new("fix_apply", Post, "/fixes/{fix_id}/apply", "Applies a drafted fix and runs the failing step again; what does not help is rolled back.", fixes::apply),
        Operation::new("fix_rollback", Post, "/fixes/{fix_id}/rollback", "Takes an applied fix back.", fixes::rollback),
        Operation::new("fix_reject", Post, "/fixes/{fix_id}/reject", "Puts a drafted fix aside.", fixes::reject),

        Operation::new("task_merges", Get, "/tasks/{task_id}/merges", "Every attempt at merging.", merges::list).provides(&["task:{task_id}"]),
        Operation::new("task_conflict", Get, "/tasks/{task_id}/conflict", "What the last merge conflicts in.", merges::conflict).provides(&["task:{task_id}"]),
        Operation::new("task_conflict_file", Get, "/tasks/{task_id}/conflict/file", "One file in conflict with its three sides.", merges::conflict_file).provides(&["task:{task_id}"]),
        Operation::new("task_delivery", Get, "/tasks/{task_id}/delivery", "What a closed task delivered.", merges::delivery).provides(&["task:{task_id}"]),
        Operation::new("project_merge_queue", Get, "/projects/{project_id}/merge-queue", "Tasks that are being merged or stand in line.", merges::queue).provides(&["board:{project_id}"]),
        Operation::new("task_pull_request", Get, "/tasks/{task_id}/pull-request", "A task's pull request as last seen.", merges::pull_request).provides(&["task:{task_id}"]),
        Operation::new("pull_request_refresh", Post, "/tasks/{task_id}/pull-request/refresh", "Asks the code host now.", merges::refresh_pull_request),
        Operation::new("pull_request_send", Post, "/tasks/{task_id}/pull-request/send", "Sends comments and failed checks to the agent.", merges::send_news),
        Operation::new("project_code_host", Get, "/projects/{project_id}/code-host", "Whether the project's code host can be used.", merges::host).provides(&["projects"]),
        Operation::new("code_host_token_put", Put, "/projects/{project_id}/code-host/token", "Keeps a token in the system's keychain.", merges::put_token),
        Operation::new("code_host_token_forget", Delete, "/projects/{project_id}/code-host/token", "Takes the token out of the keychain.", merges::forget_token),

        Operation::new("task_executions", Get, "/tasks/{task_id}/executions", "Every run of an agent.", executions::list).provides(&["task:{task_id}"]),
        Operation::new("execution_get", Get, "/executions/{execution_id}", "One run of an agent.", executions::get).provides(&["executions"]),
        Operation::new("execution_logs", Get, "/executions/{execution_id}/logs", "A stretch of a run's log.", executions::logs).provides(&["log:{execution_id}"]),
        Operation::new("task_log", Get, "/tasks/{task_id}/logs/{log_id}", "A stretch of the log of a run, a check or a set-up.", executions::task_log).provides(&["log:{log_id}"]),
        Operation::new("task_log_text", Get, "/tasks/{task_id}/logs/{log_id}/texts/{seq}", "A long text that a log keeps apart.", executions::log_text),
        Operation::new("execution_stop", Post, "/executions/{execution_id}/stop", "Ends a run.", executions::stop),
        Operation::new("run_list", Get, "/runs", "What runs on this machine for tasks, with its processes.", executions::runs),
        Operation::new("approval_list", Get, "/approvals", "What agents ask, oldest first.", executions::approvals).provides(&["approvals"]),
        Operation::new("approval_answer", Post, "/executions/{execution_id}/approvals/{approval_id}", "Answers what an agent asks.", executions::answer_approval),
        Operation::new("attachment_list", Get, "/tasks/{task_id}/attachments", "Files that wait for the next message to the agent.", attachments::list).provides(&["task:{task_id}"]),
        Operation::new("attachment_add", Post, "/tasks/{task_id}/attachments", "Keeps a file for the next message to the agent.", attachments::add).created().takes_up_to(attachments::MAX_BODY),
        Operation::new("attachment_remove", Delete, "/attachments/{attachment_id}", "Takes a file back that waits for its message.", attachments::remove),
        Operation::new("execution_follow_up", Post, "/executions/{execution_id}/follow-up", "Says something to the agent.", executions::follow_up),

        Operation::new("workspace_list", Get, "/workspaces", "Worktrees that exist.", workspaces::list).provides(&["workspaces"]),
        Operation::new("workspace_disk", Get, "/workspaces/disk", "The disk space of each project's worktrees.", workspaces::disk).provides(&["workspaces"]),
        Operation::new("workspace_measure", Post, "/workspaces/measure", "Measures all worktrees anew.", workspaces::measure),
        Operation::new("workspace_orphans", Get, "/workspaces/orphans", "Folders under the workspace root that belong to no task.", workspaces::orphans).provides(&["workspaces"]),
        Operation::new("orphan_reclaim", Post, "/workspaces/orphans/reclaim", "Removes such a folder, after a backup.", workspaces::reclaim),
        Operation::new("orphan_adopt", Post, "/workspaces/orphans/adopt", "Makes such a worktree the one of a new task.", workspaces::adopt).created(),
        Operation::new("workspace_remove", Post, "/tasks/{task_id}/workspace/remove", "Removes a closed task's worktree now.", workspaces::remove),
        Operation::new("workspace_keep", Post, "/tasks/{task_id}/workspace/keep", "Keeps a closed task's worktree until a person removes it.", workspaces::keep),
        Operation::new("task_workspace", Get, "/tasks/{task_id}/workspace", "A task's latest worktree record.", workspaces::get).provides(&["task:{task_id}"]),
        Operation::new("workspace_reset", Post, "/tasks/{task_id}/workspace/reset", "A fresh worktree; the old content is backed up.", workspaces::reset),
        Operation::new("task_backups", Get, "/tasks/{task_id}/backups", "What was kept before worktrees went.", workspaces::backups).provides(&["task:{task_id}"]),
        Operation::new("backup_restore", Post, "/tasks/{task_id}/backups/restore", "Puts a backup back into the worktree.", workspaces::restore),
        Operation::new("task_diff", Get, "/tasks/{task_id}/diff", "The changed files of a task.", workspaces::diff).provides(&["diff:{task_id}"]),
        Operation::new("task_diff_file", Get, "/tasks/{task_id}/diff/file", "A page of one changed file.", workspaces::diff_file).provides(&["diff:{task_id}"]),
        Operation::new("task_diff_preview", Get, "/tasks/{task_id}/diff/preview", "One side of a changed file as a picture.", workspaces::preview).provides(&["diff:{task_id}"]),

        Operation::new("notification_list", Get, "/notifications", "What the person was told, newest first.", notifications::list).provides(&["notifications"]),
        Operation::new("notification_read", Post, "/notifications/read", "Marks notifications as seen.", notifications::read),
    ]
}
