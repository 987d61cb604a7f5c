//! `forge task`.

mod change;
mod diff;
mod placement;
mod race;
mod service;
pub(super) mod show;
mod terminal;
pub(super) mod watch;

use forge_api::{
    Reply,
    operations::{
        AgentList, MachineGet, ProjectWorkflowGet, ReviewApprove, ReviewReject, TaskAction, TaskClaim,
        TaskCreate, TaskExecutions, TaskFind, TaskFixes, TaskGet, TaskList, TaskRaces, TaskReviews,
        TaskTransition, TaskUndo,
    },
    ops::{
        self, Empty, TaskPath,
        executions::ReadTaskLog,
        machines::MachinePath,
        projects::ProjectPath,
        reviews::DecideReview,
        tasks::{ClaimTask, FindTask, ListTasks, TakeOffer, TransitionTask},
    },
    read_input,
};
use forge_model::{
    ids::{ProjectId, TaskId},
    offer::Verb,
    review::ReviewConfig,
    task::{self, HolderKind, RoleHolder},
    workflow::StateKind,
    workspace::WorkspaceStatus,
};
use serde_json::json;

use crate::{
    answer::Answer,
    args::{CreateTask, Task, TaskRef, Wait},
    at::At,
    error::{CliError, Kind},
    labels,
    shown::text_or_input,
};

use self::watch::act;
use super::{approval, log};

/// A task as it was answered.
pub(super) type Found = Reply<task::Task>;

pub(crate) async fn run(at: &At, command: Task) -> Result<Answer, CliError> {
    match command {
        Task::Create(new) => create(at, new).await,
        Task::Edit(change) => change::edit(at, change).await,
        Task::List { status, query, machine, limit, cursor } => {
            let project_id = at.project().await?;
            let status = (!status.is_empty()).then_some(status);
            let list = ListTasks { project_id, status, q: query, machine, limit, cursor };
            let page = at.call(TaskList, list).await?;
            let text = show::list(&page, !at.connection.is_own());
            Ok(Answer::new(page.json, text))
        }
        Task::Show(task) => shown(at, find(at, &task).await?).await,
        Task::Where(task) => placement::of(at, &task).await,
        Task::Start { task, agent, no_queue, wait } => start(at, &task, agent, !no_queue, wait).await,
        Task::Move { task, to, reason, end_terminals, wait } => {
            let task = find(at, &task).await?;
            let input = TransitionTask {
                task_id: task.id.clone(),
                to,
                version: task.version,
                reason,
                wait: answered(at, wait),
                if_locked: None,
                end_terminals: Some(end_terminals),
            };
            act(at, TaskTransition, input, &task, wait).await
        }
        Task::Approve { task, commit, reason, wait } => {
            let task = find(at, &task).await?;
            let commit = commit.or_else(|| reviewed_commit(&task));
            let input = DecideReview { commit, ..decision(at, &task, reason, wait) };
            act(at, ReviewApprove, input, &task, wait).await
        }
        Task::Reject { task, reason, wait } => {
            let task = find(at, &task).await?;
            let input = decision(at, &task, reason, wait);
            act(at, ReviewReject, input, &task, wait).await
        }
        Task::Cancel { task, reason, end_terminals } => {
            let task = find(at, &task).await?;
            let input = TakeOffer {
                task_id: task.id.clone(),
                verb: Verb::Cancel,
                version: task.version,
                reason,
                message: None,
                entry: None,
                commit: None,
                wait: None,
                end_terminals: Some(end_terminals),
            };
            let mut answer = at.call(TaskAction, input).await?;
            shown(at, Reply { json: answer.json["task"].take(), value: answer.value.task }).await
        }
        Task::Action { task, verb, reason, message, end_terminals, wait } => {
            let task = find(at, &task).await?;
            require_offered(&task, &verb)?;
            // A verb is any text here, so it is read as the engine reads it.
            let mut input: TakeOffer = read_input(json!({
                "task_id": task.id, "verb": verb, "version": task.version, "reason": reason, "message": message,
            }))
            .map_err(CliError::Refused)?;
            if input.verb == Verb::Approve {
                input.commit = reviewed_commit(&task);
            }
            input.wait = answered(at, wait);
            input.end_terminals = Some(end_terminals);
            act(at, TaskAction, input, &task, wait).await
        }
        Task::Log { task, service: Some(name), after, limit, follow, log: _ } => {
            service_log(at, &task, &name, (after, limit), follow).await
        }
        Task::Log { task, log, service: None, after, limit, follow } => {
            read_log(at, &task, log, (after, limit), follow).await
        }
        Task::Run { task, service, no_wait } => service::run(at, &task, service, no_wait).await,
        Task::Stop { task, service } => service::stop(at, &task, service).await,
        Task::Services(task) => service::list(at, &task).await,
        Task::Terminal { task, choice } => terminal::run(at, &task, choice).await,
        Task::Assign { task, holder, role } => change::assign(at, &task, &holder, role).await,
        Task::Message { task, message, now, with_comments } => {
            change::message(at, &task, message, now, with_comments).await
        }
        Task::Prompt(task) => change::prompt(at, &task).await,
        Task::Undo(task) => {
            let task_id = find(at, &task).await?.value.id;
            shown(at, at.call(TaskUndo, TaskPath { task_id }).await?).await
        }
        Task::Delete { task, yes, end_terminals } => {
            change::delete(at, &task.into(), yes, end_terminals).await
        }
        Task::Diff { task, path, stat, name_only } => match path {
            Some(path) => diff::of_file(at, &task, path).await,
            None if stat || name_only => diff::files(at, &task, name_only).await,
            None => diff::all(at, &task).await,
        },
        Task::Uncomment { task, comment } => diff::uncomment(at, &task, &comment).await,
        Task::Comments(task) => diff::comments(at, &task).await,
        Task::Comment { task, place, text, old } => diff::comment(at, &task, &place, text, old).await,
        Task::Moves(task) => change::moves(at, &task).await,
        Task::Path(task) => {
            let place = change::place(at, &task).await?;
            let text = change::path_of(&place);
            Ok(Answer::new(place.json, text))
        }
        Task::Open(task) => change::open(at, &task).await,
    }
}

/// Refuses an action that there is not, or that another command does.
fn require_offered(task: &task::Task, verb: &str) -> Result<(), CliError> {
    let known = Verb::ALL.iter().any(|known| known.as_str() == verb);
    if verb == Verb::Crown.as_str() && task.offers.iter().any(|offer| offer.verb == Verb::Crown) {
        return Err(CliError::Told {
            kind: Kind::Usage,
            message: "an action picks no winner".to_owned(),
            hint: format!("Pick the winner with `forge race pick {} ENTRY`.", task.number),
        });
    }
    if known {
        return Ok(());
    }
    let offered: Vec<&str> = task.offers.iter().map(|offer| offer.verb.as_str()).collect();
    Err(CliError::Told {
        kind: Kind::Conflict,
        message: format!("`{verb}` is no action of #{}", task.number),
        hint: match offered.as_slice() {
            [] => "The task is closed, and has no actions.".to_owned(),
            offered => format!("Offered now: {}.", offered.join(", ")),
        },
    })
}

/// When the engine answers: at once where what follows is watched anyway, else by its own rule.
fn answered(at: &At, wait: Wait) -> Option<ops::Wait> {
    wait.decide(at.connection.is_own()).then_some(ops::Wait::None)
}

fn decision(at: &At, task: &task::Task, reason: Option<String>, wait: Wait) -> DecideReview {
    DecideReview {
        task_id: task.id.clone(),
        reason,
        commit: None,
        comments: Vec::new(),
        version: None,
        wait: answered(at, wait),
    }
}

fn reviewed_commit(task: &task::Task) -> Option<String> {
    task.review.as_ref()?.reviewed_commit.clone()
}

/// A task by its id, or by its number with or without `#`.
pub(crate) async fn find(at: &At, reference: &TaskRef) -> Result<Found, CliError> {
    find_in(at, None, &reference.task).await
}

/// The task of an id, or of a number in a project: the one that was named, or the only one, when absent.
pub(super) async fn find_in(at: &At, project: Option<ProjectId>, named: &str) -> Result<Found, CliError> {
    let text = named.trim();
    match text.strip_prefix('#').unwrap_or(text).parse::<u32>() {
        Ok(number) => {
            let project_id = match project {
                Some(project) => project,
                None => at.project().await?,
            };
            at.call(TaskFind, FindTask { project_id, number }).await
        }
        Err(_) => at.call(TaskGet, TaskPath { task_id: TaskId::from(text) }).await,
    }
}

async fn create(at: &At, new: CreateTask) -> Result<Answer, CliError> {
    let project_id = at.project().await?;
    let description = new.description.map(text_or_input).transpose()?;
    let roles = match new.agent {
        Some(agent) => {
            let holder = at.holder(&agent).await?;
            Some([(work_role(at, &project_id).await?, Some(holder))].into())
        }
        None => None,
    };
    let mut depends_on = Vec::new();
    for task in new.depends_on {
        depends_on.push(find(at, &TaskRef { task }).await?.value.id);
    }
    let checks = (!new.check.is_empty()).then_some(new.check);
    let input = ops::tasks::CreateTask {
        project_id,
        title: new.title,
        description,
        priority: new.priority,
        review_config: checks
            .map(|checks| ReviewConfig { ci_steps: Some(checks), ..ReviewConfig::default() }),
        merge_config: None,
        task_state_config: None,
        race: race::of(at, &new.race).await?,
        machines: labels::required(new.machine)?,
        roles,
        depends_on: (!depends_on.is_empty()).then_some(depends_on),
        parent_id: None,
        execution_mode: None,
        subtask_order: None,
    };
    let task = at.call(TaskCreate, input).await?;
    let text = format!("Created #{} {} ({}).", task.number, task.title, task.id);
    Ok(Answer::new(task.json, text))
}

async fn work_role(at: &At, project: &ProjectId) -> Result<String, CliError> {
    let view = at.call(ProjectWorkflowGet, ProjectPath { project_id: project.clone() }).await?.value;
    view.work_role.ok_or_else(|| CliError::Conflict {
        message: "the project's workflow has no role that does the work".to_owned(),
        hint: "Set a role in its working state.",
    })
}

async fn start(
    at: &At,
    reference: &TaskRef,
    agent: Option<String>,
    queue: bool,
    wait: Wait,
) -> Result<Answer, CliError> {
    let task = find(at, reference).await?;
    // It was started before, and only the engine that worked on it is gone.
    if agent.is_none() && watch::is_pending(at, &task).await? && is_begun(at, &task).await? {
        if wait.is_refused() {
            return shown(at, task).await;
        }
        return watch::go_on(at, &task).await;
    }
    let agent_id = match agent {
        Some(agent) => at.holder(&agent).await?,
        None => own_holder(at, &task).await?,
    };
    let input = ClaimTask {
        task_id: task.id.clone(),
        agent_id,
        version: task.version,
        queue: Some(queue),
        if_locked: None,
    };
    act(at, TaskClaim, input, &task, wait).await
}

/// Whether work on a task was begun, so that it cannot be claimed.
async fn is_begun(at: &At, task: &task::Task) -> Result<bool, CliError> {
    let view = at.call(ProjectWorkflowGet, ProjectPath { project_id: task.project_id.clone() }).await?;
    let state = view.workflow.states.iter().find(|state| state.name == task.status);
    Ok(state.is_some_and(|state| !matches!(state.kind, StateKind::Backlog | StateKind::Initial)))
}

/// Who a task is for: the holder of the role that a claim fills, else of its working role, else the only agent there
/// is.
async fn own_holder(at: &At, task: &task::Task) -> Result<String, CliError> {
    let view = at.call(ProjectWorkflowGet, ProjectPath { project_id: task.project_id.clone() }).await?;
    for role in [&view.claim_role, &view.work_role].into_iter().flatten() {
        match task.roles.get(role).and_then(Option::as_ref) {
            Some(RoleHolder { kind: HolderKind::Agent, id: Some(id) }) => return Ok(id.0.clone()),
            Some(RoleHolder { kind: HolderKind::User, .. }) => return Ok("user".to_owned()),
            Some(RoleHolder { kind: HolderKind::Agent, id: None }) | None => {}
        }
    }
    // The entries of its race work, each by an agent of its own; the role is held by one of them.
    let race = task.race.as_ref().filter(|race| race.enabled);
    if let Some(entry) = race.and_then(|race| race.strategies.iter().flatten().next()) {
        return Ok(entry.agent_id.0.clone());
    }
    let agents = at.call(AgentList, Empty {}).await?;
    match agents.items.as_slice() {
        [only] => Ok(only.id.0.clone()),
        [] => Err(CliError::NotFound {
            message: "there are no agents".to_owned(),
            hint: "Add one with `forge agent add NAME --command COMMAND`.",
        }),
        _ => Err(CliError::Usage {
            message: "the task has no agent, and there are several".to_owned(),
            hint: "Choose one with --agent; `forge agent list` lists them.",
        }),
    }
}

async fn shown(at: &At, task: Found) -> Result<Answer, CliError> {
    let path = || TaskPath { task_id: task.id.clone() };
    let reviews = at.call(TaskReviews, path()).await?;
    let runs = at.call(TaskExecutions, path()).await?;
    let fixes = at.call(TaskFixes, path()).await?;
    // Once its worktree is gone, the machine may be, too.
    let space = task.workspace.as_ref().filter(|space| space.status != WorkspaceStatus::Cleaned);
    let machine = match space.and_then(|space| space.machine_id.clone()) {
        Some(machine_id) => Some(at.call(MachineGet, MachinePath { machine_id }).await?.value),
        None => None,
    };
    let pending = watch::is_pending(at, &task).await?;
    let mut depends = Vec::new();
    for task_id in task.depends_on.clone() {
        let on = at.call(TaskGet, TaskPath { task_id }).await?;
        depends.push(format!("#{} {} ({})", on.number, on.title, on.status));
    }
    // Without an engine that stays, nobody could pass an answer on.
    let asks = if at.connection.is_own() { Vec::new() } else { approval::open_of(at, &task).await? };
    let agents = at.call(AgentList, Empty {}).await?.value.items;
    let facts = show::Facts {
        machine: machine.as_ref(),
        review: reviews.items.last(),
        fixes: &fixes.items,
        asks: &asks,
        agents: &agents,
        depends: &depends,
        pending,
    };
    let mut text = show::task(&task, &facts);
    let last = runs.items.last();
    for told in [last.and_then(show::withheld), last.and_then(show::sandbox)].into_iter().flatten() {
        text = format!("{text}\n\n{told}");
    }
    Ok(Answer::new(task.json, text))
}

async fn service_log(
    at: &At,
    reference: &TaskRef,
    name: &str,
    (after, limit): (Option<u64>, Option<u32>),
    follow: bool,
) -> Result<Answer, CliError> {
    let task_id = find(at, reference).await?.value.id;
    let last = service::last_start(at, &task_id, name).await?;
    if follow {
        return log::follow(at, task_id, log::Followed::Service(Box::new(last)), limit).await;
    }
    log::page(at, ReadTaskLog { task_id, log_id: last.log_id, after, before: None, limit }).await
}

async fn read_log(
    at: &At,
    reference: &TaskRef,
    log: Option<String>,
    (after, limit): (Option<u64>, Option<u32>),
    follow: bool,
) -> Result<Answer, CliError> {
    let task = find(at, reference).await?;
    let task_id = task.value.id.clone();
    if let Some(log_id) = log {
        let read = ReadTaskLog { task_id, log_id: log_id.clone(), after, before: None, limit };
        return log::known_page(at, read, &log_id).await;
    }
    let runs = at.call(TaskExecutions, TaskPath { task_id: task_id.clone() }).await?.value;
    if let Some(run) = log::latest_work(runs.items) {
        if follow {
            return log::follow(at, task_id, log::Followed::Run(run.id, run.log_id), limit).await;
        }
        return log::page(at, ReadTaskLog { task_id, log_id: run.log_id, after, before: None, limit }).await;
    }
    // Of a raced task the entries worked.
    let races = at.call(TaskRaces, TaskPath { task_id }).await?.value;
    match races.items.last().and_then(log::leading) {
        Some(entry) => log::of_entry(at, entry, limit, follow).await,
        None => Err(CliError::NotFound {
            message: format!("#{} has no runs", task.number),
            hint: "Start the task with `forge task start`.",
        }),
    }
}
