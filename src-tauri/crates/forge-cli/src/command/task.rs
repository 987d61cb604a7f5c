//! `forge task`.

mod show;

use std::io::Read as _;

use serde_json::{Value, json};

use crate::{
    answer::{Answer, say},
    args::{CreateTask, Task, TaskRef, Wait},
    at::At,
    error::CliError,
    shown::{items, string},
    story,
};

pub(crate) async fn run(at: &At, command: Task) -> Result<Answer, CliError> {
    match command {
        Task::Create(new) => create(at, new).await,
        Task::List { status, query, limit, cursor } => {
            let mut input = json!({ "project_id": at.project().await? });
            if !status.is_empty() {
                input["status"] = json!(status);
            }
            put(&mut input, "q", query);
            put(&mut input, "limit", limit);
            put(&mut input, "cursor", cursor);
            let page = at.call("task_list", input).await?;
            let text = show::list(&page);
            Ok(Answer::new(page, text))
        }
        Task::Show(task) => shown(at, find(at, &task).await?).await,
        Task::Start { task, agent, no_queue, wait } => start(at, &task, agent, !no_queue, wait).await,
        Task::Move { task, to, reason, wait } => {
            let task = find(at, &task).await?;
            let mut input = json!({ "task_id": task["id"], "to": to, "version": task["version"] });
            put(&mut input, "reason", reason);
            act(at, "task_transition", &task, input, wait).await
        }
        Task::Approve { task, commit, reason, wait } => {
            let task = find(at, &task).await?;
            let commit = commit.map_or_else(|| task["review"]["reviewed_commit"].clone(), Value::from);
            let mut input = json!({ "task_id": task["id"], "commit": commit });
            put(&mut input, "reason", reason);
            act(at, "review_approve", &task, input, wait).await
        }
        Task::Reject { task, reason, wait } => {
            let task = find(at, &task).await?;
            let mut input = json!({ "task_id": task["id"] });
            put(&mut input, "reason", reason);
            act(at, "review_reject", &task, input, wait).await
        }
        Task::Cancel { task, reason } => {
            let task = find(at, &task).await?;
            let mut input = offer(&task, "cancel");
            put(&mut input, "reason", reason);
            let answer = at.call("task_action", input).await?;
            shown(at, answer["task"].clone()).await
        }
        Task::Action { task, verb, reason, message, wait } => {
            let task = find(at, &task).await?;
            let mut input = offer(&task, &verb);
            if verb == "approve" {
                input["commit"] = task["review"]["reviewed_commit"].clone();
            }
            put(&mut input, "reason", reason);
            put(&mut input, "message", message);
            act(at, "task_action", &task, input, wait).await
        }
        Task::Log { task, log, after, limit } => read_log(at, &task, log, after, limit).await,
    }
}

fn offer(task: &Value, verb: &str) -> Value {
    json!({ "task_id": task["id"], "verb": verb, "version": task["version"] })
}

/// Sets a field that was given.
fn put(input: &mut Value, field: &str, value: Option<impl Into<Value>>) {
    if let Some(value) = value {
        input[field] = value.into();
    }
}

/// A task by its id, or by its number with or without `#`.
pub(crate) async fn find(at: &At, reference: &TaskRef) -> Result<Value, CliError> {
    find_in(at, None, &reference.task).await
}

/// The task of an id, or of a number in a project: the one that was named, or the only one, when absent.
pub(super) async fn find_in(at: &At, project: Option<String>, named: &str) -> Result<Value, CliError> {
    let text = named.trim();
    match text.strip_prefix('#').unwrap_or(text).parse::<u32>() {
        Ok(number) => {
            let project = match project {
                Some(project) => project,
                None => at.project().await?,
            };
            at.call("task_find", json!({ "project_id": project, "number": number })).await
        }
        Err(_) => at.call("task_get", json!({ "task_id": text })).await,
    }
}

async fn create(at: &At, new: CreateTask) -> Result<Answer, CliError> {
    let project = at.project().await?;
    let mut input = json!({ "project_id": project, "title": new.title });
    let description = match new.description.as_deref() {
        Some("-") => {
            let mut text = String::new();
            std::io::stdin().read_to_string(&mut text).map_err(CliError::io("read standard input"))?;
            Some(text)
        }
        other => other.map(str::to_owned),
    };
    put(&mut input, "description", description);
    put(&mut input, "priority", new.priority);
    if !new.check.is_empty() {
        input["review_config"] = json!({ "ci_steps": new.check });
    }
    if let Some(agent) = new.agent {
        let holder = at.holder(&agent).await?;
        let role = work_role(at, &project).await?;
        input["roles"] = json!({ role: holder });
    }
    if !new.depends_on.is_empty() {
        let mut ids = Vec::new();
        for task in new.depends_on {
            ids.push(find(at, &TaskRef { task }).await?["id"].clone());
        }
        input["depends_on"] = Value::Array(ids);
    }
    let task = at.call("task_create", input).await?;
    let text = format!("Created #{} {} ({}).", task["number"], string(&task, "title"), string(&task, "id"));
    Ok(Answer::new(task, text))
}

async fn work_role(at: &At, project: &str) -> Result<String, CliError> {
    let view = at.call("project_workflow_get", json!({ "project_id": project })).await?;
    view["work_role"].as_str().map(str::to_owned).ok_or_else(|| CliError::Conflict {
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
    let holder = match agent {
        Some(agent) => at.holder(&agent).await?,
        None => own_holder(at, &task).await?,
    };
    let input =
        json!({ "task_id": task["id"], "agent_id": holder, "version": task["version"], "queue": queue });
    follow_after(at, &task, wait, async || at.call("task_claim", input).await).await
}

/// Who a task is for: the holder of the role that a claim fills, else of its working role, else the only agent there
/// is.
async fn own_holder(at: &At, task: &Value) -> Result<String, CliError> {
    let view = at.call("project_workflow_get", json!({ "project_id": string(task, "project_id") })).await?;
    for role in [&view["claim_role"], &view["work_role"]] {
        let holder = &task["roles"][role.as_str().unwrap_or_default()];
        match (holder["type"].as_str(), holder["id"].as_str()) {
            (Some("agent"), Some(id)) => return Ok(id.to_owned()),
            (Some("user"), _) => return Ok("user".to_owned()),
            _ => {}
        }
    }
    let agents = at.call("agent_list", json!({})).await?;
    match items(&agents) {
        [only] => Ok(string(only, "id")),
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

async fn act(at: &At, op: &str, task: &Value, mut input: Value, wait: Wait) -> Result<Answer, CliError> {
    if wait.decide(at.connection.is_own()) {
        // What follows is watched anyway.
        input["wait"] = Value::from("none");
    }
    follow_after(at, task, wait, async || at.call(op, input).await).await
}

/// Acts, and when asked to, tells what follows until the task comes to rest.
async fn follow_after(
    at: &At,
    task: &Value,
    wait: Wait,
    act: impl AsyncFnOnce() -> Result<Value, CliError>,
) -> Result<Answer, CliError> {
    let id = string(task, "id");
    if !wait.decide(at.connection.is_own()) {
        act().await?;
        return shown(at, at.call("task_get", json!({ "task_id": id })).await?).await;
    }
    let moves = async || at.call("task_transitions", json!({ "task_id": id })).await;
    let moves_before = items(&moves().await?).len();
    // Listened to before the act, so that nothing of what follows is missed.
    let mut changes = at.connection.changes().await?;
    let mut moves_told = 0;
    act().await?;
    at.connection.work_on(&id);
    loop {
        // Read twice around the steps: an agent that ends in between leaves new ones behind.
        let before = at.call("task_get", json!({ "task_id": id })).await?;
        let transitions = moves().await?;
        let task = at.call("task_get", json!({ "task_id": id })).await?;
        let all_told = moves_before + moves_told >= items(&transitions).len();
        if all_told && before == task && story::rest(&task, &transitions).is_some() {
            return shown(at, task).await;
        }
        // One of this task's; the others change nothing here.
        let event = loop {
            match changes.next().await {
                Some(event) if event["task_id"] == id.as_str() => break event,
                Some(_) => {}
                None => return Err(CliError::Interrupted),
            }
        };
        moves_told += usize::from(event["type"] == "task.status_changed");
        if let Some(sentence) = story::sentence(&event) {
            say(&format!("#{} {sentence}", task["number"]));
        }
    }
}

async fn shown(at: &At, task: Value) -> Result<Answer, CliError> {
    let reviews = at.call("task_reviews", json!({ "task_id": task["id"] })).await?;
    let runs = at.call("task_executions", json!({ "task_id": task["id"] })).await?;
    let fixes = at.call("task_fixes", json!({ "task_id": task["id"] })).await?;
    let mut text = show::task(&task, items(&reviews).last(), &fixes);
    if let Some(withheld) = items(&runs).last().and_then(show::withheld) {
        text = format!("{text}\n\n{withheld}");
    }
    Ok(Answer::new(task, text))
}

/// Why a task has no run: that it was raced, or that it was not started.
async fn without_a_run(at: &At, task: &Value) -> Result<CliError, CliError> {
    let number = &task["number"];
    let races = at.call("task_races", json!({ "task_id": task["id"] })).await?;
    Ok(if items(&races).is_empty() {
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
    let log = match log {
        Some(log) => log,
        None => {
            let runs = at.call("task_executions", json!({ "task_id": task["id"] })).await?;
            let last = items(&runs).last().map(|run| string(run, "log_id"));
            match last {
                Some(log) => log,
                None => return Err(without_a_run(at, &task).await?),
            }
        }
    };
    let mut input = json!({ "task_id": task["id"], "log_id": log });
    put(&mut input, "after", after);
    put(&mut input, "limit", limit);
    let page = at.call("task_log", input).await?;
    let text = show::log(&page);
    Ok(Answer::new(page, text))
}
