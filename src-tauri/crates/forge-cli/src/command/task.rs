//! `forge task`.

mod show;

use std::io::Read as _;

use forge_api::{
    Call, Reply,
    operations::{
        AgentList, MachineGet, ProjectWorkflowGet, ReviewApprove, ReviewReject, TaskAction, TaskClaim,
        TaskCreate, TaskExecutions, TaskFind, TaskFixes, TaskGet, TaskList, TaskLog, TaskRaces, TaskReviews,
        TaskTransition, TaskTransitions, TaskUpdate,
    },
    ops::{
        self, Empty, TaskPath,
        executions::ReadTaskLog,
        machines::MachinePath,
        projects::ProjectPath,
        reviews::DecideReview,
        tasks::{ClaimTask, FindTask, ListTasks, TakeOffer, TransitionTask, UpdateTask},
    },
    read_input,
};
use forge_model::{
    ids::{ProjectId, TaskId},
    offer::Verb,
    review::ReviewConfig,
    task::{self, HolderKind, RoleHolder},
    workspace::WorkspaceStatus,
};
use serde_json::json;

use crate::{
    answer::{Answer, say},
    args::{CreateTask, EditTask, Task, TaskRef, Wait},
    at::At,
    error::CliError,
    labels, story,
};

/// A task as it was answered.
pub(super) type Found = Reply<task::Task>;

pub(crate) async fn run(at: &At, command: Task) -> Result<Answer, CliError> {
    match command {
        Task::Create(new) => create(at, new).await,
        Task::Edit(change) => edit(at, change).await,
        Task::List { status, query, machine, limit, cursor } => {
            let project_id = at.project().await?;
            let status = (!status.is_empty()).then_some(status);
            let list = ListTasks { project_id, status, q: query, machine, limit, cursor };
            let page = at.call(TaskList, list).await?;
            let text = show::list(&page);
            Ok(Answer::new(page.json, text))
        }
        Task::Show(task) => shown(at, find(at, &task).await?).await,
        Task::Start { task, agent, no_queue, wait } => start(at, &task, agent, !no_queue, wait).await,
        Task::Move { task, to, reason, wait } => {
            let task = find(at, &task).await?;
            let input = TransitionTask {
                task_id: task.id.clone(),
                to,
                version: task.version,
                reason,
                wait: answered(at, wait),
                if_locked: None,
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
        Task::Cancel { task, reason } => {
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
            };
            let mut answer = at.call(TaskAction, input).await?;
            shown(at, Reply { json: answer.json["task"].take(), value: answer.value.task }).await
        }
        Task::Action { task, verb, reason, message, wait } => {
            let task = find(at, &task).await?;
            // A verb is any text here, so it is read as the engine reads it.
            let mut input: TakeOffer = read_input(json!({
                "task_id": task.id, "verb": verb, "version": task.version, "reason": reason, "message": message,
            }))
            .map_err(CliError::Refused)?;
            if input.verb == Verb::Approve {
                input.commit = reviewed_commit(&task);
            }
            input.wait = answered(at, wait);
            act(at, TaskAction, input, &task, wait).await
        }
        Task::Log { task, log, after, limit } => read_log(at, &task, log, after, limit).await,
    }
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
    let description = described(new.description)?;
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
        race: None,
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

/// The description that was given, or that standard input has.
fn described(given: Option<String>) -> Result<Option<String>, CliError> {
    if given.as_deref() != Some("-") {
        return Ok(given);
    }
    let mut text = String::new();
    std::io::stdin().read_to_string(&mut text).map_err(CliError::io("read standard input"))?;
    Ok(Some(text))
}

async fn edit(at: &At, change: EditTask) -> Result<Answer, CliError> {
    let task = find(at, &change.task).await?;
    let machines = match labels::required(change.machine)? {
        None => change.default_machine.then_some(None),
        Some(labels) => Some(Some(labels)),
    };
    let input = UpdateTask {
        task_id: task.id.clone(),
        version: task.version,
        title: change.title,
        description: described(change.description)?.map(Some),
        priority: change.priority,
        review_config: None,
        merge_config: None,
        task_state_config: None,
        race: None,
        machines,
        subtask_order: None,
    };
    let changed = at.call(TaskUpdate, input).await?;
    shown(at, changed).await
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

/// Acts, and when asked to, tells what follows until the task comes to rest.
async fn act<C: Call>(
    at: &At,
    call: C,
    input: C::Input,
    task: &task::Task,
    wait: Wait,
) -> Result<Answer, CliError> {
    let path = || TaskPath { task_id: task.id.clone() };
    if !wait.decide(at.connection.is_own()) {
        at.call(call, input).await?;
        return shown(at, at.call(TaskGet, path()).await?).await;
    }
    let moves_before = at.call(TaskTransitions, path()).await?.items.len();
    // Listened to before the act, so that nothing of what follows is missed.
    let mut changes = at.connection.changes().await?;
    let mut moves_told = 0;
    at.call(call, input).await?;
    at.connection.work_on(&task.id);
    loop {
        // Read twice around the steps: an agent that ends in between leaves new ones behind.
        let before = at.call(TaskGet, path()).await?;
        let transitions = at.call(TaskTransitions, path()).await?;
        let now = at.call(TaskGet, path()).await?;
        let all_told = moves_before + moves_told >= transitions.items.len();
        if all_told && before.json == now.json && story::rest(&now, &transitions.items).is_some() {
            return shown(at, now).await;
        }
        // One of this task's; the others change nothing here.
        let event = loop {
            match changes.next().await {
                Some(event) if event["task_id"] == task.id.as_str() => break event,
                Some(_) => {}
                None => return Err(CliError::Interrupted),
            }
        };
        moves_told += usize::from(event["type"] == "task.status_changed");
        if let Some(sentence) = story::sentence(&event) {
            say(&format!("#{} {sentence}", now.number));
        }
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
    let mut text = show::task(&task, machine.as_ref(), reviews.items.last(), &fixes.items);
    let last = runs.items.last();
    for told in [last.and_then(show::withheld), last.and_then(show::sandbox)].into_iter().flatten() {
        text = format!("{text}\n\n{told}");
    }
    Ok(Answer::new(task.json, text))
}

/// Why a task has no run: that it was raced, or that it was not started.
async fn without_a_run(at: &At, task: &task::Task) -> Result<CliError, CliError> {
    let number = task.number;
    let races = at.call(TaskRaces, TaskPath { task_id: task.id.clone() }).await?;
    Ok(if races.items.is_empty() {
        let message = format!("#{number} has no runs");
        CliError::NotFound { message, hint: "Start the task with `forge task start`." }
    } else {
        let message = format!("#{number} was raced, and each entry is a separate task");
        let hint = "List the entries with `forge api task_race --task NUMBER`, then pass a `task_id` to `forge task log`.";
        CliError::NotFound { message, hint }
    })
}

async fn read_log(
    at: &At,
    reference: &TaskRef,
    log: Option<String>,
    after: Option<u64>,
    limit: Option<u32>,
) -> Result<Answer, CliError> {
    let task = find(at, reference).await?;
    let log_id = match log {
        Some(log) => log,
        None => {
            let runs = at.call(TaskExecutions, TaskPath { task_id: task.id.clone() }).await?.value;
            match runs.items.into_iter().next_back() {
                Some(run) => run.log_id,
                None => return Err(without_a_run(at, &task).await?),
            }
        }
    };
    let input = ReadTaskLog { task_id: task.value.id, log_id, after, before: None, limit };
    let page = at.call(TaskLog, input).await?;
    let text = show::log(&page);
    Ok(Answer::new(page.json, text))
}
