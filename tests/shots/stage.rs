//! What the pictures show: the demo project after a while, and a project that is too much of everything.

use anyhow::{Context as _, Result};
use forge_testkit::{Repository, program};
use forge_tests::{patience::until, window::Window};
use serde_json::{Value, json};

/// The demo project with its tasks in different states.
pub struct Ordinary {
    /// The project.
    pub project: String,
    /// A task that is done.
    pub done: u32,
    /// One that needs a person.
    pub blocked: u32,
    /// One whose work waits for approval.
    pub awaiting: u32,
    /// One that was not started.
    pub fresh: u32,
}

/// A project that is too much of everything.
pub struct Extreme {
    /// The project.
    pub project: String,
    /// A task whose title has 300 characters.
    pub long_title: u32,
    /// A task with a long log and a diff of 5,000 lines.
    pub large: u32,
}

/// Makes the demo project and lets its agent work.
pub async fn ordinary(window: &Window) -> Result<Ordinary> {
    let project = text(&window.call("demo_create", json!({})).await?, "id")?;
    let page = window.call("task_list", json!({ "project_id": project })).await?;
    let tasks = page["items"].as_array().context("no tasks")?.clone();
    let number = |index: usize| -> Result<u32> {
        Ok(u32::try_from(tasks[index]["number"].as_u64().context("no number")?)?)
    };
    for index in [0, 1, 2, 3] {
        claim(window, &tasks[index]).await?;
    }
    let awaiting = |task: &Value| task["review"]["status"] == "awaiting_human";
    reach(window, &tasks[0], awaiting).await?;
    window.call("review_approve", json!({ "task_id": tasks[0]["id"], "reason": "Reads well." })).await?;
    reach(window, &tasks[2], |task| task["status"] == "blocked").await?;
    reach(window, &tasks[1], awaiting).await?;
    reach(window, &tasks[3], awaiting).await?;
    Ok(Ordinary { project, done: number(0)?, blocked: number(2)?, awaiting: number(3)?, fresh: number(4)? })
}

/// Makes 500 tasks and one whose agent writes far too much.
pub async fn extreme(window: &Window) -> Result<Extreme> {
    let path = window.display.folder().join("large");
    let lines: String = (0..6_000).map(|n| format!("line {n} of the old text\n")).collect();
    Repository::create(&path, &[("README.md", "# Large\n"), ("data/table.txt", &lines)])?;
    let agent = json!({ "name": "Loud agent", "adapter": "shell", "config": {
        "command": program("forge-scripted-agent")?.to_string_lossy(), "args": ["--prompt-file", "{prompt_file}"] } });
    let agent = text(&window.call("agent_create", agent).await?, "id")?;
    let new = json!({ "name": "Large project", "repo_path": path, "settings": { "shell": ["sh", "-c"] } });
    let project = text(&window.call("project_create", new).await?, "id")?;
    let long = "A title that goes on and on, as titles do when somebody pastes the whole story into them, "
        .repeat(4);
    let mut script = vec!["say I will rewrite every second line of the table.".to_owned()];
    script.extend((0..1_500).map(|n| format!("say Looked at part {n} of the table and found nothing odd.")));
    script.push("run i=0; while [ $i -lt 3000 ]; do echo \"row $i checked\"; i=$((i+1)); done".to_owned());
    script.push("run awk 'NR % 2 { $0 = \"new \" $0 } { print }' data/table.txt > data/next && mv data/next data/table.txt".to_owned());
    let description = format!("Rewrite the table.\n\n```forge-script\n{}\n```", script.join("\n"));
    let task = json!({ "project_id": project, "title": "Rewrite the large table", "description": description, "roles": { "coder": agent } });
    let large = window.call("task_create", task).await?;
    claim(window, &large).await?;
    for n in 0..499 {
        let title = if n % 10 == 0 { long[..300].to_owned() } else { format!("Task number {n} of many") };
        window
            .call(
                "task_create",
                json!({ "project_id": project, "title": title, "roles": { "coder": agent } }),
            )
            .await?;
    }
    reach(window, &large, |task| task["review"]["status"] == "awaiting_human").await?;
    Ok(Extreme { project, long_title: 2, large: 1 })
}

/// Gives a task to the agent that holds its work.
pub async fn claim(window: &Window, task: &Value) -> Result<()> {
    let agent = &task["roles"]["coder"]["id"];
    let claim = json!({ "task_id": task["id"], "agent_id": agent, "version": task["version"] });
    window.call("task_claim", claim).await.map(drop)
}

/// Waits until a task is as wanted.
pub async fn reach(window: &Window, task: &Value, wanted: impl Fn(&Value) -> bool) -> Result<()> {
    let now = async || window.call("task_get", json!({ "task_id": task["id"] })).await;
    let what = format!("task {}", task["title"]);
    match until(&what, async || Ok(wanted(&now().await?).then_some(()))).await {
        Ok(()) => Ok(()),
        Err(error) => Err(error.context(format!("it is {:#}", now().await?))),
    }
}

/// A field that holds text.
pub fn text(value: &Value, field: &str) -> Result<String> {
    value[field].as_str().map(str::to_owned).with_context(|| format!("no {field} in {value}"))
}
