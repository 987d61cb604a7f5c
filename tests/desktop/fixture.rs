//! Fixture of the window tests: a repository, an agent and their project.

use anyhow::{Context as _, Result};
use forge_testkit::Repository;
use forge_tests::{patience::until, webdriver::Session, window::Window};
use serde_json::{Value, json};

/// A project with one agent that runs `command`.
pub struct ProjectFixture {
    /// The project's id.
    pub project_id: String,
    /// The agent's id.
    pub agent_id: String,
    /// The repository of the project.
    pub repository: Repository,
}

impl ProjectFixture {
    /// Creates the repository, the agent and the project.
    pub async fn prepare(window: &Window, command: &str, arguments: &[&str]) -> Result<Self> {
        let path = window.display.folder().join("repository");
        let repository = Repository::create(&path, &[("README.md", "# Sample\n")])?;
        let config = json!({ "command": command, "args": arguments });
        let agent = json!({ "name": "agent", "adapter": "shell", "config": config });
        let agent_id = text(&window.call("agent_create", agent).await?, "id")?;
        let project = json!({ "name": "sample", "repo_path": path });
        let project_id = text(&window.call("project_create", project).await?, "id")?;
        Ok(Self { project_id, agent_id, repository })
    }

    /// Changes settings of the project.
    pub async fn update_settings(&self, window: &Window, settings: Value) -> Result<()> {
        let mut input = settings;
        input["project_id"] = json!(self.project_id);
        window.call("project_settings_update", input).await.map(drop)
    }

    /// Creates a task without starting it.
    pub async fn task(&self, window: &Window, title: &str) -> Result<Value> {
        window.call("task_create", json!({ "project_id": self.project_id, "title": title })).await
    }

    /// Creates a task with further fields and starts it.
    pub async fn worked_on(&self, window: &Window, title: &str, told: &str, more: Value) -> Result<Value> {
        let mut new = json!({ "project_id": self.project_id, "title": title, "description": told });
        if let (Some(new), Some(more)) = (new.as_object_mut(), more.as_object()) {
            new.extend(more.clone());
        }
        new["roles"]["coder"] = json!(self.agent_id);
        let task = window.call("task_create", new).await?;
        self.claim(window, &task).await?;
        Ok(task)
    }

    /// Assigns the agent to a task without starting it.
    pub async fn assign(&self, window: &Window, task: &Value) -> Result<()> {
        let assign = json!({ "task_id": task["id"], "role": "coder", "holder": self.agent_id });
        window.call("task_assign", assign).await.map(drop)
    }

    /// Gives a task to the agent and starts it.
    pub async fn claim(&self, window: &Window, task: &Value) -> Result<()> {
        let claim = json!({ "task_id": task["id"], "agent_id": self.agent_id, "version": task["version"] });
        window.call("task_claim", claim).await.map(drop)
    }
}

/// Goes to an address, once the window shows the new project's board.
pub async fn go(page: &Session, address: &str) -> Result<()> {
    page.find("section[aria-label^='Todo,']").await?;
    page.execute("location.hash = arguments[0]", &[address.into()]).await.map(drop)
}

/// The current task.
pub async fn read(window: &Window, task: &Value) -> Result<Value> {
    window.call("task_get", json!({ "task_id": task["id"] })).await
}

/// Waits until a task satisfies a condition.
pub async fn reach(window: &Window, task: &Value, wanted: impl Fn(&Value) -> bool) -> Result<Value> {
    until(&format!("task {}", task["title"]), async || {
        let now = read(window, task).await?;
        Ok(wanted(&now).then_some(now))
    })
    .await
}

/// A field that holds text.
pub fn text(value: &Value, field: &str) -> Result<String> {
    value[field].as_str().map(str::to_owned).with_context(|| format!("failed to read {field} of {value}"))
}
