//! The contract, a row each: the operation as a type, what it takes and what it answers, then its name, method, path,
//! summary and handler. The compiler compares the types with the handler's, so that a client that is written against
//! the row ([`crate::Client`]) asks what the handler reads and reads what the handler answers.

#[cfg(test)]
mod tests;

use std::sync::LazyLock;

use forge_model::{
    agent::Agent,
    approval::Approval,
    attachment::Attachment,
    check_offer::CheckOffer,
    comment::Comment,
    cost::{CostAnomalyEntry, CostRow, CostSum},
    debrief::Debrief,
    delivery::Delivery,
    diff::{DiffSummary, FileDiff},
    execution::Execution,
    fix::{FixProposal, Fixes},
    inner_loop::InnerLoopState,
    issue::{self, IssueListing},
    knowledge::Lesson,
    lesson::LessonView,
    log::LogPage,
    loop_status::SubsystemStatus,
    machine::{Machine, SshHost, fleet::TaskPlacement},
    merge::{ConflictFile, Merge, MergeQueueEntry},
    notification::Notification,
    preview::FilePreview,
    project::Project,
    pull_request::HostStanding,
    race::Race,
    review::Review,
    run::RunInfo,
    service::{Service, ServiceOffer, TaskService},
    storage::Backup,
    task::Task,
    terminal::{Terminal, TerminalOutput},
    transition::Transition,
    trust::TrustListing,
    validate::{IterationState, LogEvents, ValidateInput, ValidateReport},
    workspace::{
        ImportOffer, OrphanFolder, ProjectDisk, Workspace, WorkspaceBackup, WorkspacePlace, WorkspaceView,
    },
};

use crate::{
    Method::{Delete, Get, Patch, Post, Put},
    Operation,
    call::Call,
    ops::{
        Done, Empty, Page, TaskAndReview, TaskPath, access, agents, attachments, changes, comments, costs,
        diagnostics, executions, fixes, folders, hooks, issues, knowledge, machines, merges, notifications,
        projects, races, reviews, services, settings, storage, system, tasks, teaching, terminals, trust,
        validate, workflows, workspaces,
    },
};

static OPERATIONS: LazyLock<Vec<Operation>> = LazyLock::new(table);

/// Every operation of the contract.
#[must_use]
pub fn operations() -> &'static [Operation] {
    &OPERATIONS
}

/// Makes a type and an entry of the table of each row.
macro_rules! table {
    ($(
        $call:ident($input:ty) -> $output:ty =
            ($name:literal, $method:ident, $path:literal, $summary:literal, $handler:path)
            $(.$more:ident($($with:tt)*))*;
    )*) => {
        $(
            #[doc = $summary]
            #[derive(Debug, Clone, Copy)]
            pub struct $call;

            impl Call for $call {
                type Input = $input;
                type Output = $output;
                const NAME: &'static str = $name;
            }
        )*

        fn table() -> Vec<Operation> {
            vec![$(
                Operation::new::<$call, _, _>($method, $path, $summary, $handler)$(.$more($($with)*))*
            ),*]
        }

        #[cfg(test)]
        const CALLS: &[TypedCall] = &[$(
            TypedCall {
                type_name: stringify!($call),
                name: $name,
                input: again::<$input>,
                output: again::<$output>,
            }
        ),*];
    };
}

#[cfg(test)]
type Again = fn(&serde_json::Value) -> serde_json::Result<serde_json::Value>;

/// A row's types, for tests.
#[cfg(test)]
struct TypedCall {
    type_name: &'static str,
    name: &'static str,
    input: Again,
    output: Again,
}

/// Reads a value as a type and writes it.
#[cfg(test)]
fn again<T: serde::Serialize + serde::de::DeserializeOwned>(
    value: &serde_json::Value,
) -> serde_json::Result<serde_json::Value> {
    serde_json::to_value(T::deserialize(value)?)
}

table! {
    Meta(Empty) -> system::Meta = ("meta", Get, "/meta", "Version and data folder of this Forge, and the git version it uses.", system::meta).provides(&["meta"]);
    Doctor(Empty) -> system::Doctor = ("doctor", Get, "/doctor", "Checks this computer for problems.", system::doctor).provides(&["agents", "projects"]);
    Diagnostics(Empty) -> diagnostics::Diagnostics = ("diagnostics", Get, "/diagnostics", "Collects what helps to find a fault, without secrets, titles, prompts and diffs.", diagnostics::get).provides(&["agents", "projects"]);
    DemoCreate(Empty) -> Project = ("demo_create", Post, "/demo", "Creates a sample repository with a project, an agent and tasks.", system::demo_create).created();
    DoorsGet(Empty) -> access::Doors = ("doors_get", Get, "/doors", "How other programs reach this Forge, with the configuration for each of them.", access::get).provides(&["meta"]);
    DoorsUpdate(access::UpdateDoors) -> access::Doors = ("doors_update", Patch, "/doors", "Turns MCP on or off.", access::update);
    DoorsToken(Empty) -> access::AccessToken = ("doors_token", Get, "/doors/token", "The access token for other programs.", access::token);
    DoorsTokenRenew(Empty) -> access::AccessToken = ("doors_token_renew", Post, "/doors/token", "Renews the access token; the old one stops working.", access::renew_token);

    SettingsGet(Empty) -> settings::AppSettings = ("settings_get", Get, "/settings", "Global settings.", settings::get).provides(&["settings"]);
    SettingsUpdate(settings::UpdateAppSettings) -> settings::AppSettings = ("settings_update", Patch, "/settings", "Changes how long agents keep running without Forge, how many services run at once, and whether terminals are available over HTTP.", settings::update);

    ProjectList(Empty) -> Page<Project> = ("project_list", Get, "/projects", "All projects, by name.", projects::list).provides(&["projects"]).paged();
    ProjectCreate(projects::CreateProject) -> Project = ("project_create", Post, "/projects", "Adds a repository.", projects::create).created();
    ProjectGet(projects::ProjectPath) -> Project = ("project_get", Get, "/projects/{project_id}", "One project, by id or name.", projects::get).provides(&["projects"]);
    ProjectUpdate(projects::UpdateProject) -> Project = ("project_update", Patch, "/projects/{project_id}", "Renames a project or changes its default branch.", projects::update);
    ProjectDelete(projects::DeleteProject) -> Done = ("project_delete", Delete, "/projects/{project_id}", "Removes a project and its worktrees, never the repository.", projects::delete);
    ProjectPause(projects::ProjectPath) -> Project = ("project_pause", Post, "/projects/{project_id}/pause", "Pauses a project: no new runs start.", projects::pause);
    ProjectResume(projects::ProjectPath) -> Project = ("project_resume", Post, "/projects/{project_id}/resume", "Resumes a paused project.", projects::resume);
    ProjectRepository(projects::ProjectPath) -> projects::RepositoryState = ("project_repository", Get, "/projects/{project_id}/repository", "Changes to the repository's git configuration since it was accepted.", projects::repository);
    ProjectRepositoryAccept(projects::AcceptRepository) -> projects::RepositoryState = ("project_repository_accept", Post, "/projects/{project_id}/repository/accept", "Accepts the changed git configuration as shown.", projects::accept_repository);
    ProjectRepositoryUndo(projects::ProjectPath) -> projects::RepositoryState = ("project_repository_undo", Post, "/projects/{project_id}/repository/undo", "Restores the accepted git configuration.", projects::undo_repository);
    ProjectTrust(trust::TrustPath) -> TrustListing = ("project_trust", Get, "/projects/{project_id}/trust", "Startup files, which run code as soon as a program starts, and whether they are trusted.", trust::get).provides(&["projects", "board:{project_id}"]);
    ProjectTrustAccept(trust::TrustFiles) -> TrustListing = ("project_trust_accept", Post, "/projects/{project_id}/trust", "Trusts startup files as shown; tasks that waited for this continue.", trust::accept);
    ProjectSettingsGet(projects::ProjectPath) -> projects::SettingsView = ("project_settings_get", Get, "/projects/{project_id}/settings", "Settings, and which of them the project overrides.", projects::settings).provides(&["projects"]);
    ProjectInnerLoop(projects::ProjectPath) -> InnerLoopState = ("project_inner_loop", Get, "/projects/{project_id}/inner-loop", "Configuration of the inner loop, with the source of each value.", projects::inner_loop).provides(&["projects"]);
    InnerLoopStatus(projects::ProjectPath) -> Page<SubsystemStatus> = ("inner_loop_status", Get, "/projects/{project_id}/inner-loop/status", "Latest result and open items of each part of the inner loop.", projects::inner_loop_status).provides(&["projects", "board:{project_id}", "knowledge:{project_id}", "costs"]).paged();
    ProjectSettingsUpdate(projects::PatchSettings) -> projects::SettingsView = ("project_settings_update", Patch, "/projects/{project_id}/settings", "Changes settings by a JSON merge patch.", projects::patch_settings);
    ProjectWorkflowGet(projects::ProjectPath) -> workflows::WorkflowView = ("project_workflow_get", Get, "/projects/{project_id}/workflow", "The workflow, its columns, and the moves that a person can make.", workflows::get).provides(&["projects"]);
    ProjectWorkflowPut(workflows::PutWorkflow) -> workflows::WorkflowView = ("project_workflow_put", Put, "/projects/{project_id}/workflow", "Replaces the project's workflow.", workflows::put);
    WorkflowCheck(workflows::CheckWorkflow) -> workflows::WorkflowReport = ("workflow_check", Post, "/workflow/check", "Validates a workflow and lists all problems with their locations.", workflows::check);
    WorkflowPresets(Empty) -> Page<workflows::Preset> = ("workflow_presets", Get, "/workflow/presets", "The workflows that ship with Forge.", workflows::preset_list).provides(&["meta"]).paged();
    HookTest(hooks::TestHook) -> forge_model::hook::HookTest = ("hook_test", Post, "/projects/{project_id}/hooks/test", "Tests a lifecycle hook without starting a task.", hooks::test);
    HookTestLog(hooks::ReadHookTestLog) -> LogPage = ("hook_test_log", Get, "/projects/{project_id}/hooks/logs/{log_id}", "A page of the log of a hook that is tested in the repository.", hooks::test_log).provides(&["log:{log_id}"]);
    ProjectImports(projects::ProjectPath) -> Page<ImportOffer> = ("project_imports", Get, "/projects/{project_id}/imports", "Settings found in files of other tools in the repository.", workspaces::imports).provides(&["projects"]).paged();
    ProjectCheckOffers(projects::ProjectPath) -> Page<CheckOffer> = ("project_check_offers", Get, "/projects/{project_id}/checks/offers", "Suggested checks, derived from the files of a project without checks.", teaching::checks).provides(&["projects"]).paged();
    ProjectChecksTake(teaching::TakeChecks) -> Done = ("project_checks_take", Post, "/projects/{project_id}/checks/take", "Adds suggested checks to the project.", teaching::take_checks);
    CheckOffers(teaching::CheckFolder) -> Page<CheckOffer> = ("check_offers", Get, "/checks/offers", "Suggested checks for a repository that is not a project yet.", teaching::checks_of_folder).paged();
    ProjectBackups(projects::ProjectPath) -> Page<WorkspaceBackup> = ("project_backups", Get, "/projects/{project_id}/backups", "Worktree backups of all tasks of a project.", workspaces::project_backups).provides(&["workspaces"]).paged();
    ProjectBoard(projects::ProjectPath) -> projects::Board = ("project_board", Get, "/projects/{project_id}/board", "Number of tasks in each column.", projects::board).provides(&["board:{project_id}"]);

    IssueList(issues::ListIssues) -> IssueListing = ("issue_list", Get, "/projects/{project_id}/issues", "Issues of the project's code host, newest first, with the tasks that they were imported as.", issues::list).provides(&["projects"]);
    IssueImport(issues::ImportIssues) -> issue::IssueImport = ("issue_import", Post, "/projects/{project_id}/issues/import", "Imports issues of the project's code host as tasks, or updates the tasks that they already are.", issues::import).created();
    IssueImportFile(issues::ImportFile) -> issue::IssueImport = ("issue_import_file", Post, "/projects/{project_id}/issues/import-file", "Imports the issues of a file: a Markdown task list, CSV, or an export of vibe-kanban.", issues::import_file).created().takes_up_to(issues::MAX_BODY);
    IssueImports(projects::ProjectPath) -> Page<issue::IssueImport> = ("issue_imports", Get, "/projects/{project_id}/issues/imports", "The latest imports of a project, newest first.", issues::imports).provides(&["issues"]).paged();
    IssueImportGet(issues::ImportPath) -> issue::IssueImport = ("issue_import_get", Get, "/issue-imports/{import_id}", "One import.", issues::get).provides(&["issues"]);
    IssueImportCancel(issues::ImportPath) -> issue::IssueImport = ("issue_import_cancel", Post, "/issue-imports/{import_id}/cancel", "Stops an import; tasks that it created stay.", issues::cancel);
    IssueImportContinue(issues::ImportPath) -> issue::IssueImport = ("issue_import_continue", Post, "/issue-imports/{import_id}/continue", "Continues an import that failed or waits, now.", issues::resume);
    TaskIssue(TaskPath) -> issues::TaskIssueAnswer = ("task_issue", Get, "/tasks/{task_id}/issue", "The issue that a task was imported from.", issues::of_task).provides(&["task:{task_id}"]);
    TaskIssueRetry(TaskPath) -> issues::TaskIssueAnswer = ("task_issue_retry", Post, "/tasks/{task_id}/issue/retry", "Tries now what could not be written to the issue of a task.", issues::retry);
    TaskIssueResolve(issues::ResolveIssue) -> Task = ("task_issue_resolve", Post, "/tasks/{task_id}/issue/resolve", "Keeps the text of the task or of its issue where they differ.", issues::resolve);

    KnowledgeList(knowledge::ListKnowledge) -> Page<LessonView> = ("knowledge_list", Get, "/projects/{project_id}/knowledge", "Lessons of a project: proposed ones first, then those on the branch.", knowledge::list).provides(&["knowledge:{project_id}"]);
    KnowledgeSearch(knowledge::SearchKnowledge) -> Page<Lesson> = ("knowledge_search", Get, "/projects/{project_id}/knowledge/search", "Lessons that match a text, best match first.", knowledge::search).provides(&["knowledge:{project_id}"]);
    KnowledgePropose(knowledge::ProposeLesson) -> LessonView = ("knowledge_propose", Post, "/projects/{project_id}/knowledge", "Proposes a lesson.", knowledge::propose).created();
    KnowledgeAccept(knowledge::AcceptLesson) -> LessonView = ("knowledge_accept", Post, "/projects/{project_id}/knowledge/{lesson_id}/accept", "Adds a lesson to the repository.", knowledge::accept);
    KnowledgeDismiss(knowledge::LessonPath) -> LessonView = ("knowledge_dismiss", Post, "/projects/{project_id}/knowledge/{lesson_id}/dismiss", "Dismisses a proposed lesson.", knowledge::dismiss);

    MachineList(Empty) -> Page<Machine> = ("machine_list", Get, "/machines", "All machines, by name.", machines::list).provides(&["machines"]).paged();
    MachineCreate(machines::CreateMachine) -> Machine = ("machine_create", Post, "/machines", "Adds a machine: one that is reached by ssh, containers, a cluster of Slurm, or a namespace of Kubernetes.", machines::create).created();
    MachineHosts(Empty) -> Page<SshHost> = ("machine_hosts", Get, "/machines/hosts", "Hosts of the SSH configuration, which can be added as machines.", machines::hosts).provides(&["machines"]).paged();
    MachineGet(machines::MachinePath) -> Machine = ("machine_get", Get, "/machines/{machine_id}", "One machine, by id or name.", machines::get).provides(&["machines"]);
    MachineUpdate(machines::UpdateMachine) -> Machine = ("machine_update", Patch, "/machines/{machine_id}", "Changes a machine.", machines::update);
    MachineDelete(machines::DeleteMachine) -> machines::RemovedMachine = ("machine_delete", Delete, "/machines/{machine_id}", "Removes a machine that has no worktrees of tasks; what else is on it stays, and jobs only with `abandon_jobs`.", machines::delete);
    MachineTest(machines::MachinePath) -> forge_model::machine::MachineTest = ("machine_test", Post, "/machines/{machine_id}/test", "Tests a machine step by step, and copies Forge's keeper there.", machines::test);

    AgentLimits(Empty) -> Page<forge_model::agent::AgentLimits> = ("agent_limits", Get, "/agents/limits", "How the providers of agents limit them: refusals, and windows of rate limits as the programs report them.", agents::limits).provides(&["agents"]).paged();
    AgentList(Empty) -> Page<Agent> = ("agent_list", Get, "/agents", "All agent profiles, by name.", agents::list).provides(&["agents"]).paged();
    AgentCreate(agents::CreateAgent) -> Agent = ("agent_create", Post, "/agents", "Adds an agent profile.", agents::create).created();
    AgentGet(agents::AgentPath) -> Agent = ("agent_get", Get, "/agents/{agent_id}", "One agent profile.", agents::get).provides(&["agents"]);
    AgentUpdate(agents::UpdateAgent) -> Agent = ("agent_update", Patch, "/agents/{agent_id}", "Changes an agent profile.", agents::update);
    AgentDelete(agents::AgentPath) -> Done = ("agent_delete", Delete, "/agents/{agent_id}", "Removes an agent profile that is not in use.", agents::delete);
    AgentPause(agents::AgentPath) -> Agent = ("agent_pause", Post, "/agents/{agent_id}/pause", "Pauses an agent: it starts no new runs.", agents::pause);
    AgentResume(agents::AgentPath) -> Agent = ("agent_resume", Post, "/agents/{agent_id}/resume", "Resumes a paused agent.", agents::resume);
    AgentKnown(Empty) -> Page<agents::KnownAgent> = ("agent_known", Get, "/agents/detect", "Supported agent programs, and where they are installed on this computer.", agents::known).provides(&["agents"]).paged();
    AgentProbe(agents::ProbeAgent) -> agents::AgentCheck = ("agent_probe", Post, "/agents/probe", "Detects the program of a profile, saved or not.", agents::probe);
    AgentModels(agents::ProbeAgent) -> agents::AgentModels = ("agent_models", Post, "/agents/models", "The models that an agent program offers.", agents::models);
    AgentTry(agents::AgentPath) -> agents::AgentTrial = ("agent_try", Post, "/agents/{agent_id}/try", "Asks the agent for a one-word answer, at the cost of one request.", agents::trial);
    AgentCheck(agents::AgentPath) -> agents::AgentCheck = ("agent_check", Post, "/agents/{agent_id}/check", "Detects the agent's program.", agents::check);

    TaskList(tasks::ListTasks) -> Page<Task> = ("task_list", Get, "/projects/{project_id}/tasks", "A page of tasks in board order.", tasks::list).provides(&["board:{project_id}"]);
    TaskCreate(tasks::CreateTask) -> Task = ("task_create", Post, "/projects/{project_id}/tasks", "Creates a task.", tasks::create).created();
    TaskFind(tasks::FindTask) -> Task = ("task_find", Get, "/projects/{project_id}/tasks/by-number/{number}", "A task by its number.", tasks::find).provides(&["board:{project_id}"]);
    TaskGet(TaskPath) -> Task = ("task_get", Get, "/tasks/{task_id}", "One task.", tasks::get).provides(&["task:{task_id}"]);
    TaskUpdate(tasks::UpdateTask) -> Task = ("task_update", Patch, "/tasks/{task_id}", "Changes a task's fields.", tasks::update);
    TaskDelete(tasks::DeleteTask) -> Done = ("task_delete", Delete, "/tasks/{task_id}", "Deletes a closed task and its history.", tasks::delete);
    TaskClaim(tasks::ClaimTask) -> Task = ("task_claim", Post, "/tasks/{task_id}/claim", "Assigns a task to an agent or to the user, and starts work.", tasks::claim);
    TaskTransition(tasks::TransitionTask) -> TaskAndReview = ("task_transition", Post, "/tasks/{task_id}/transition", "Moves a task to another state.", tasks::transition);
    TaskMove(tasks::MoveTask) -> TaskAndReview = ("task_move", Post, "/tasks/{task_id}/move", "Moves a card to a column and a position.", tasks::move_card);
    TaskUndo(TaskPath) -> Task = ("task_undo", Post, "/tasks/{task_id}/undo", "Undoes a drag before its agent has started.", tasks::undo);
    TaskAction(tasks::TakeOffer) -> TaskAndReview = ("task_action", Post, "/tasks/{task_id}/actions/{verb}", "Performs an action on a task.", tasks::action);
    TaskAssign(tasks::AssignRole) -> Task = ("task_assign", Put, "/tasks/{task_id}/roles/{role}", "Assigns a role to an agent or to the user, or clears it.", tasks::assign);
    TaskDependencyAdd(tasks::Dependency) -> Task = ("task_dependency_add", Post, "/tasks/{task_id}/dependencies", "Makes a task depend on another one.", tasks::add_dependency);
    TaskDependencyRemove(tasks::Dependency) -> Task = ("task_dependency_remove", Delete, "/tasks/{task_id}/dependencies/{depends_on}", "Removes a dependency.", tasks::remove_dependency);
    TaskSubtasks(TaskPath) -> Page<Task> = ("task_subtasks", Get, "/tasks/{task_id}/subtasks", "Subtasks of a task, in order.", tasks::subtasks).provides(&["task:{task_id}"]).paged();
    TaskTransitions(TaskPath) -> Page<Transition> = ("task_transitions", Get, "/tasks/{task_id}/transitions", "Every move of a task, with the steps that ran after it.", tasks::transitions).provides(&["task:{task_id}"]).paged();
    TaskPlacementGet(TaskPath) -> TaskPlacement = ("task_placement_get", Get, "/tasks/{task_id}/placement", "Where a task would run now, and why.", tasks::placement).provides(&["task:{task_id}", "machines", "agents"]);
    TaskPromptPreview(TaskPath) -> tasks::Prompt = ("task_prompt_preview", Get, "/tasks/{task_id}/prompt-preview", "The prompt of the agent's next run.", tasks::prompt_preview).provides(&["task:{task_id}"]);
    TaskPlan(TaskPath) -> tasks::PlanView = ("task_plan", Get, "/tasks/{task_id}/plan", "The plan of a task.", tasks::plan).provides(&["task:{task_id}"]);
    TaskPlanPut(tasks::PutPlan) -> tasks::PlanView = ("task_plan_put", Put, "/tasks/{task_id}/plan", "Replaces the plan of a task.", tasks::put_plan);
    Attention(tasks::Limited) -> Page<Task> = ("attention", Get, "/attention", "Tasks that need the user, longest wait first.", tasks::attention).provides(&["attention"]);

    TaskReviews(TaskPath) -> Page<Review> = ("task_reviews", Get, "/tasks/{task_id}/reviews", "All reviews of a task.", reviews::list).provides(&["task:{task_id}"]).paged();
    ReviewApprove(reviews::DecideReview) -> TaskAndReview = ("review_approve", Post, "/tasks/{task_id}/review/approve", "Approves the review that waits for the user.", reviews::approve);
    ReviewReject(reviews::DecideReview) -> TaskAndReview = ("review_reject", Post, "/tasks/{task_id}/review/reject", "Sends the work back with a reason.", reviews::reject);
    GateApprove(reviews::DecideGate) -> TaskAndReview = ("gate_approve", Post, "/tasks/{task_id}/gates/{state}/approve", "Approves the work at one gate.", reviews::approve_gate);
    GateReject(reviews::DecideGate) -> TaskAndReview = ("gate_reject", Post, "/tasks/{task_id}/gates/{state}/reject", "Sends the work back from one gate.", reviews::reject_gate);
    ReviewCancel(TaskPath) -> TaskAndReview = ("review_cancel", Post, "/tasks/{task_id}/review/cancel", "Stops the running checks or reviewer.", reviews::cancel);
    TaskComments(TaskPath) -> Page<Comment> = ("task_comments", Get, "/tasks/{task_id}/comments", "Comments on lines of the diff, oldest first.", comments::list).provides(&["task:{task_id}", "diff:{task_id}"]).paged();
    CommentCreate(comments::CreateComment) -> Comment = ("comment_create", Post, "/tasks/{task_id}/comments", "Creates a draft comment.", comments::create).created();
    CommentUpdate(comments::UpdateComment) -> Comment = ("comment_update", Patch, "/comments/{comment_id}", "Edits a draft, or resolves a comment.", comments::update);
    CommentDelete(comments::CommentPath) -> Done = ("comment_delete", Delete, "/comments/{comment_id}", "Deletes a draft.", comments::delete);

    TaskDebrief(TaskPath) -> Debrief = ("task_debrief", Get, "/tasks/{task_id}/debrief", "Summary and postmortems of a task.", teaching::debrief).provides(&["task:{task_id}"]);
    TaskRaces(TaskPath) -> Page<Race> = ("task_races", Get, "/tasks/{task_id}/races", "All races of a task, with their entries.", races::list).provides(&["task:{task_id}"]).paged();
    TaskRace(TaskPath) -> Race = ("task_race", Get, "/tasks/{task_id}/race", "The latest race of a task.", races::last).provides(&["task:{task_id}"]);
    RaceCrown(races::CrownEntry) -> Race = ("race_crown", Post, "/tasks/{task_id}/race/crown", "Picks the winner of a race.", races::select_winner);
    RaceEstimate(costs::EstimateRace) -> forge_model::race::RaceEstimate = ("race_estimate", Get, "/tasks/{task_id}/race-estimate", "Estimated cost of racing a task.", costs::race_estimate).provides(&["task:{task_id}", "costs"]);
    ProjectRaceEstimate(costs::EstimateNewRace) -> forge_model::race::RaceEstimate = ("project_race_estimate", Post, "/projects/{project_id}/race-estimate", "Estimated cost of racing a new task, with the given strategies or the project's.", costs::new_race_estimate).provides(&["projects", "costs"]);

    CostSums(costs::CostsBy) -> Page<CostSum> = ("cost_sums", Get, "/costs", "Cost of runs by day, project, task, agent or model.", costs::sums).provides(&["costs"]).paged();
    CostLedger(costs::ListCosts) -> Page<CostRow> = ("cost_ledger", Get, "/costs/runs", "Cost of each run, latest end first; paginated.", costs::ledger).provides(&["costs"]);
    CostCsv(costs::ListCosts) -> costs::CsvPage = ("cost_csv", Get, "/costs/runs/csv", "The same page as comma-separated values.", costs::csv);
    CostTotals(costs::CostsOf) -> forge_model::cost::CostTotals = ("cost_totals", Get, "/costs/totals", "Total cost of runs by day, project, task, agent and model.", costs::totals).provides(&["costs"]);
    CostSeries(costs::CostsOf) -> forge_model::cost::CostSeries = ("cost_series", Get, "/costs/series", "Cost of coder runs over time, by model.", costs::series).provides(&["costs"]);
    CostForecast(projects::ProjectPath) -> forge_model::cost::CostForecast = ("cost_forecast", Get, "/projects/{project_id}/cost-forecast", "Cost of a project's runs today, and at the end of the day at the pace of the last hours.", costs::forecast).provides(&["costs", "projects"]);
    CostAnomalies(costs::ListAnomalies) -> Page<CostAnomalyEntry> = ("cost_anomalies", Get, "/costs/anomalies", "Runs with an unusually high cost, latest first.", costs::anomalies).provides(&["costs"]);
    Scoreboard(costs::ScoreboardOf) -> forge_model::scoreboard::Scoreboard = ("scoreboard", Get, "/scoreboard", "Results of agents: reviews passed, tasks merged, time and cost, by agent, model or effort.", costs::scoreboard).provides(&["scoreboard"]);
    ScoreboardCsv(costs::ScoreboardOf) -> costs::CsvPage = ("scoreboard_csv", Get, "/scoreboard/csv", "The same as comma-separated values.", costs::scoreboard_csv);

    TaskFixes(TaskPath) -> Page<FixProposal> = ("task_fixes", Get, "/tasks/{task_id}/fixes", "Drafted fixes of a task, oldest first.", fixes::of_task).provides(&["task:{task_id}"]).paged();
    FixList(TaskPath) -> Fixes = ("fix_list", Get, "/tasks/{task_id}/fixes/drafts", "Drafted fixes for a task's failed checks, with the drafting attempts.", fixes::list).provides(&["task:{task_id}"]);
    ProjectFixes(projects::ProjectPath) -> Page<FixProposal> = ("project_fixes", Get, "/projects/{project_id}/fixes", "Drafted fixes of a project.", fixes::of_project).provides(&["fixes"]).paged();
    FixApply(fixes::FixPath) -> FixProposal = ("fix_apply", Post, "/fixes/{fix_id}/apply", "Applies a drafted fix and reruns the failed check; rolls back if the check still fails.", fixes::apply);
    FixRollback(fixes::FixPath) -> FixProposal = ("fix_rollback", Post, "/fixes/{fix_id}/rollback", "Rolls back an applied fix.", fixes::rollback);
    FixReject(fixes::FixPath) -> FixProposal = ("fix_reject", Post, "/fixes/{fix_id}/reject", "Rejects a drafted fix.", fixes::reject);

    TaskMerges(TaskPath) -> Page<Merge> = ("task_merges", Get, "/tasks/{task_id}/merges", "All merge attempts of a task.", merges::list).provides(&["task:{task_id}"]).paged();
    TaskConflict(TaskPath) -> merges::ConflictAnswer = ("task_conflict", Get, "/tasks/{task_id}/conflict", "Conflicts of the latest merge attempt.", merges::conflict).provides(&["task:{task_id}"]);
    TaskConflictFile(merges::ConflictPathInput) -> ConflictFile = ("task_conflict_file", Get, "/tasks/{task_id}/conflict/file", "One file in conflict, with its three sides.", merges::conflict_file).provides(&["task:{task_id}"]);
    TaskDelivery(TaskPath) -> Delivery = ("task_delivery", Get, "/tasks/{task_id}/delivery", "What a closed task delivered.", merges::delivery).provides(&["task:{task_id}"]);
    ProjectMergeQueue(projects::ProjectPath) -> Page<MergeQueueEntry> = ("project_merge_queue", Get, "/projects/{project_id}/merge-queue", "Tasks that are merging or queued for merge.", merges::queue).provides(&["board:{project_id}"]).paged();
    TaskPullRequest(TaskPath) -> merges::PullRequestAnswer = ("task_pull_request", Get, "/tasks/{task_id}/pull-request", "A task's pull request, as last polled.", merges::pull_request).provides(&["task:{task_id}"]);
    PullRequestRefresh(TaskPath) -> merges::PullRequestAnswer = ("pull_request_refresh", Post, "/tasks/{task_id}/pull-request/refresh", "Polls the code host now.", merges::refresh_pull_request);
    PullRequestSend(merges::SendNews) -> Task = ("pull_request_send", Post, "/tasks/{task_id}/pull-request/send", "Sends new comments and failed checks of the pull request to the agent.", merges::send_news);
    ProjectCodeHost(projects::ProjectPath) -> HostStanding = ("project_code_host", Get, "/projects/{project_id}/code-host", "Whether the project's code host can be used.", merges::host).provides(&["projects"]);
    CodeHostTokenPut(merges::PutToken) -> Done = ("code_host_token_put", Put, "/projects/{project_id}/code-host/token", "Stores a token in the system's keychain.", merges::put_token);
    CodeHostTokenForget(projects::ProjectPath) -> Done = ("code_host_token_forget", Delete, "/projects/{project_id}/code-host/token", "Removes the token from the keychain.", merges::forget_token);

    TaskExecutions(TaskPath) -> Page<Execution> = ("task_executions", Get, "/tasks/{task_id}/executions", "All runs of a task.", executions::list).provides(&["task:{task_id}"]).paged();
    ExecutionGet(executions::ExecutionPath) -> Execution = ("execution_get", Get, "/executions/{execution_id}", "One run.", executions::get).provides(&["executions"]);
    ExecutionLogs(executions::ReadLog) -> LogPage = ("execution_logs", Get, "/executions/{execution_id}/logs", "A page of a run's log.", executions::logs).provides(&["log:{execution_id}"]);
    TaskLog(executions::ReadTaskLog) -> LogPage = ("task_log", Get, "/tasks/{task_id}/logs/{log_id}", "A page of the log of a run, a check or a setup command.", executions::task_log).provides(&["log:{log_id}"]);
    TaskLogText(executions::ReadLogText) -> executions::LogText = ("task_log_text", Get, "/tasks/{task_id}/logs/{log_id}/texts/{seq}", "A long text that is stored apart from its log entry.", executions::log_text);
    ExecutionStop(executions::ExecutionPath) -> Task = ("execution_stop", Post, "/executions/{execution_id}/stop", "Stops a run.", executions::stop);
    RunList(Empty) -> Page<RunInfo> = ("run_list", Get, "/runs", "Programs that run for tasks on this computer, with their processes.", executions::runs).paged();
    ApprovalList(executions::ListApprovals) -> Page<Approval> = ("approval_list", Get, "/approvals", "Open approvals, oldest first.", executions::approvals).provides(&["approvals"]).paged();
    ApprovalAnswer(executions::AnswerApproval) -> Approval = ("approval_answer", Post, "/executions/{execution_id}/approvals/{approval_id}", "Answers an approval.", executions::answer_approval);
    AttachmentList(TaskPath) -> Page<Attachment> = ("attachment_list", Get, "/tasks/{task_id}/attachments", "Files attached to the next message to the agent.", attachments::list).provides(&["task:{task_id}"]).paged();
    AttachmentAdd(attachments::AddAttachment) -> Attachment = ("attachment_add", Post, "/tasks/{task_id}/attachments", "Attaches a file to the next message to the agent.", attachments::add).created().takes_up_to(attachments::MAX_BODY);
    AttachmentRemove(attachments::AttachmentPath) -> Done = ("attachment_remove", Delete, "/attachments/{attachment_id}", "Removes a file that is not sent yet.", attachments::remove);
    ExecutionFollowUp(executions::FollowUp) -> Task = ("execution_follow_up", Post, "/executions/{execution_id}/follow-up", "Sends a message to the agent.", executions::follow_up);

    ServiceList(Empty) -> Page<Service> = ("service_list", Get, "/services", "Running services of all tasks.", services::list).provides(&["services"]).paged();
    TaskServices(TaskPath) -> Page<TaskService> = ("task_services", Get, "/tasks/{task_id}/services", "Services of the project, with their latest start in the task.", services::of_task).provides(&["task:{task_id}", "projects"]).paged();
    ServiceStart(services::StartService) -> Service = ("service_start", Post, "/tasks/{task_id}/services/start", "Starts a service in the task's worktree; a running one is left alone.", services::start);
    ProjectServiceOffers(projects::ProjectPath) -> Page<ServiceOffer> = ("project_service_offers", Get, "/projects/{project_id}/services/offers", "Suggested services from the project's files that it does not have yet.", services::offers).provides(&["projects"]).paged();
    ProjectServicesTake(services::TakeServices) -> Done = ("project_services_take", Post, "/projects/{project_id}/services/take", "Adds suggested services to the project; none is started.", services::take);
    ServiceStop(services::StopService) -> Page<TaskService> = ("service_stop", Post, "/tasks/{task_id}/services/stop", "Stops a service of the task, or all of them.", services::stop).paged();

    TerminalList(TaskPath) -> Page<Terminal> = ("terminal_list", Get, "/tasks/{task_id}/terminals", "Terminals of a task, oldest first.", terminals::list).provides(&["task:{task_id}"]).paged();
    TerminalOpen(terminals::OpenTerminal) -> Terminal = ("terminal_open", Post, "/tasks/{task_id}/terminals", "Opens a terminal in the task's worktree.", terminals::open).created();
    TerminalStream(terminals::ReadTerminal) -> TerminalOutput = ("terminal_stream", Get, "/terminals/{terminal_id}/stream", "Output of a terminal from an offset on; waits if there is none yet.", terminals::read).ends_with_caller();
    TerminalInput(terminals::TypeToTerminal) -> Done = ("terminal_input", Post, "/terminals/{terminal_id}/input", "Types into a terminal.", terminals::write);
    TerminalResize(terminals::ResizeTerminal) -> Done = ("terminal_resize", Post, "/terminals/{terminal_id}/resize", "Changes the size of a terminal.", terminals::resize);
    TerminalClose(terminals::CloseTerminal) -> Done = ("terminal_close", Delete, "/terminals/{terminal_id}", "Closes a terminal and ends the programs in it.", terminals::close);

    WorkspaceList(Empty) -> Page<WorkspaceView> = ("workspace_list", Get, "/workspaces", "All worktrees.", workspaces::list).provides(&["workspaces"]).paged();
    WorkspaceDisk(Empty) -> Page<ProjectDisk> = ("workspace_disk", Get, "/workspaces/disk", "Disk usage of the worktrees, by project.", workspaces::disk).provides(&["workspaces"]).paged();
    WorkspaceMeasure(Empty) -> Done = ("workspace_measure", Post, "/workspaces/measure", "Measures the disk usage of all worktrees.", workspaces::measure);
    WorkspaceOrphans(Empty) -> Page<OrphanFolder> = ("workspace_orphans", Get, "/workspaces/orphans", "Folders in the workspace folder that belong to no task.", workspaces::orphans).provides(&["workspaces"]).paged();
    OrphanReclaim(workspaces::OrphanPath) -> Done = ("orphan_reclaim", Post, "/workspaces/orphans/reclaim", "Removes an orphaned folder after a backup.", workspaces::reclaim);
    OrphanAdopt(workspaces::AdoptOrphan) -> Task = ("orphan_adopt", Post, "/workspaces/orphans/adopt", "Creates a task for an orphaned worktree.", workspaces::adopt).created();
    WorkspaceRemove(workspaces::LeaveWorktree) -> Workspace = ("workspace_remove", Post, "/tasks/{task_id}/workspace/remove", "Removes a closed task's worktree now.", workspaces::remove);
    WorkspaceKeep(TaskPath) -> Workspace = ("workspace_keep", Post, "/tasks/{task_id}/workspace/keep", "Keeps a closed task's worktree until it is removed by hand.", workspaces::keep);
    TaskWorkspace(TaskPath) -> Workspace = ("task_workspace", Get, "/tasks/{task_id}/workspace", "The latest workspace of a task.", workspaces::get).provides(&["task:{task_id}"]);
    TaskPlace(TaskPath) -> WorkspacePlace = ("task_place", Get, "/tasks/{task_id}/workspace/place", "Where the files are that a task's programs are working on.", workspaces::place);
    WorkspaceReset(workspaces::LeaveWorktree) -> Workspace = ("workspace_reset", Post, "/tasks/{task_id}/workspace/reset", "Replaces the worktree with a fresh one, after a backup.", workspaces::reset);
    TaskBackups(TaskPath) -> Page<WorkspaceBackup> = ("task_backups", Get, "/tasks/{task_id}/backups", "Worktree backups of a task.", workspaces::backups).provides(&["task:{task_id}"]).paged();
    BackupRestore(workspaces::RestoreBackup) -> Done = ("backup_restore", Post, "/tasks/{task_id}/backups/restore", "Restores a backup into the worktree.", workspaces::restore);
    TaskChanges(changes::ReadChanges) -> changes::Changes = ("task_changes", Get, "/tasks/{task_id}/diff", "Changed files of a task, with their lines.", changes::read).provides(&["diff:{task_id}"]);
    TaskDiff(workspaces::ReadDiff) -> DiffSummary = ("task_diff", Get, "/tasks/{task_id}/diff/files", "Changed files of a task.", workspaces::diff).provides(&["diff:{task_id}"]);
    TaskDiffFile(workspaces::ReadFileDiff) -> FileDiff = ("task_diff_file", Get, "/tasks/{task_id}/diff/file", "A page of one changed file.", workspaces::diff_file).provides(&["diff:{task_id}"]);
    TaskDiffPreview(workspaces::ReadPreview) -> FilePreview = ("task_diff_preview", Get, "/tasks/{task_id}/diff/preview", "One side of a changed file as an image.", workspaces::preview).provides(&["diff:{task_id}"]);

    Validate(ValidateInput) -> ValidateReport = ("validate", Post, "/validate", "Validates a piece of work and counts the attempt.", validate::validate).ends_with_caller();
    ValidateCancel(validate::IterationsOf) -> Done = ("validate_cancel", Post, "/validate/cancel", "Cancels a module's validation; the attempt is not counted.", validate::cancel);
    ValidateState(validate::IterationsOf) -> IterationState = ("validate_state", Get, "/validate/state", "A module's attempts, with its last checks and their results.", validate::state).provides(&["validate"]);
    ValidateReset(validate::IterationsOf) -> IterationState = ("validate_reset", Delete, "/validate/state", "Deletes a module's attempts.", validate::reset);
    ValidateLog(validate::LogOf) -> LogEvents = ("validate_log", Get, "/validate/log", "The latest calls and verdicts, oldest first.", validate::log).provides(&["validate"]);

    FolderList(folders::ListFolders) -> folders::FolderListing = ("folder_list", Get, "/folders", "Folders of the computer on which the engine runs.", folders::list);
    StorageGet(Empty) -> storage::StorageStatus = ("storage_get", Get, "/storage", "State of the database and its disk.", storage::get).provides(&["storage"]);
    StorageUsage(Empty) -> storage::StorageUsage = ("storage_usage", Get, "/storage/usage", "Disk usage of Forge's own data.", storage::usage).provides(&["storage"]);
    StorageUpdate(storage::UpdateStorage) -> storage::StorageStatus = ("storage_update", Patch, "/storage", "Sets how long old data is kept.", storage::update);
    StorageAnswer(storage::AnswerQuestion) -> storage::StorageStatus = ("storage_answer", Post, "/storage/questions/{kind}", "Confirms or declines a deletion of more than half of something.", storage::answer);
    DatabaseBackups(Empty) -> Page<Backup> = ("database_backups", Get, "/backups", "Copies of the database, newest first.", storage::backups).provides(&["storage"]).paged();
    DatabaseBackupCreate(Empty) -> Backup = ("database_backup_create", Post, "/backups", "Copies the database while Forge runs.", storage::back_up).created().without_database();
    DatabaseBackupRestore(storage::BackupPath) -> storage::BackupRestore = ("database_backup_restore", Post, "/backups/{name}/restore", "Restores a copy of the database at the next start.", storage::restore).without_database();

    NotificationList(tasks::Limited) -> Page<Notification> = ("notification_list", Get, "/notifications", "Notifications, newest first.", notifications::list).provides(&["notifications"]);
    NotificationRead(notifications::MarkRead) -> Done = ("notification_read", Post, "/notifications/read", "Marks notifications as read.", notifications::read);
}
