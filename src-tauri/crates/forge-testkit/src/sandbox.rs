//! An engine in a temporary folder.

use std::{path::Path, time::Duration};

use anyhow::{Context as _, Result, bail};
use forge_api::{Api, ApiError};
use forge_engine::EngineConfig;
use forge_model::{actor::Via, settings::merge_patch};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::{
    caller::Http,
    local::LocalEngine,
    program,
    repository::{HERMETIC_GIT, Repository},
    serve::marked_processes,
};

/// A repository, an engine on it, an agent that does what its task's script says.
pub struct Sandbox {
    // Ends before its folder goes.
    engine: LocalEngine,
    /// The folder of everything.
    pub dir: TempDir,
    /// The contract.
    pub api: Api,
    /// The user's repository.
    pub repo: Repository,
    /// The project.
    pub project: String,
    /// The scripted agent.
    pub agent: String,
}

/// A description whose script the agent follows.
#[must_use]
pub fn script(lines: &[&str]) -> String {
    format!("```forge-script\n{}\n```", lines.join("\n"))
}

impl Sandbox {
    /// With these project settings on top of the defaults.
    ///
    /// # Errors
    /// When anything of it cannot be made.
    pub async fn new(settings: Value) -> Result<Self> {
        Self::with_config(settings, |_| {}).await
    }

    /// The same, with changes to the engine's configuration.
    ///
    /// # Errors
    /// When anything of it cannot be made.
    pub async fn with_config(settings: Value, change: impl FnOnce(&mut EngineConfig)) -> Result<Self> {
        Self::in_folder(tempfile::tempdir()?, settings, change).await
    }

    /// The same in a folder of the caller's.
    ///
    /// # Errors
    /// When anything of it cannot be made.
    pub async fn in_folder(
        dir: TempDir,
        settings: Value,
        change: impl FnOnce(&mut EngineConfig),
    ) -> Result<Self> {
        let repo = Repository::create(
            &dir.path().join("repo"),
            &[("README.md", "# Sample\n"), ("src/a.txt", "one\ntwo\nthree\n")],
        )?;
        let engine = start(dir.path(), change).await?;
        let api = engine.api().clone();
        let mut sandbox = Self { engine, dir, api, repo, project: String::new(), agent: String::new() };
        let agent = sandbox
            .call(
                "agent_create",
                json!({
                    "name": "scripted", "adapter": "shell", "max_concurrent": 8,
                    "config": {
                        "command": program("forge-scripted-agent")?.to_string_lossy(),
                        "args": ["--prompt-file", "{prompt_file}"],
                        "env": HERMETIC_GIT.iter().copied().collect::<std::collections::BTreeMap<_, _>>(),
                    },
                }),
            )
            .await?;
        sandbox.agent = text(&agent, "id")?;
        let path = sandbox.repo.path().to_string_lossy().into_owned();
        // A login shell reads the profile of whoever runs the tests, which may be slow or odd.
        let mut all = json!({ "shell": ["sh", "-c"] });
        merge_patch(&mut all, &settings);
        let project = sandbox
            .call("project_create", json!({ "name": "sample", "repo_path": path, "settings": all }))
            .await?;
        sandbox.project = text(&project, "id")?;
        Ok(sandbox)
    }

    /// Serves the engine that it has now: by HTTP, and to agents that use the tools.
    ///
    /// # Errors
    /// When it cannot be served.
    pub async fn serve(&self) -> Result<Http> {
        self.engine.serve().await
    }

    /// Does an operation as a person would through HTTP.
    ///
    /// # Errors
    /// What the operation refuses.
    pub async fn call(&self, op: &str, input: Value) -> Result<Value, ApiError> {
        self.api.call(Via::Api, op, input).await
    }

    /// Makes a task for the scripted agent; `extra` is merged into the request.
    ///
    /// # Errors
    /// What the operation refuses.
    pub async fn task(&self, title: &str, lines: &[&str], extra: Value) -> Result<Value> {
        self.described(title, &script(lines), extra).await
    }

    /// Makes a task with this description.
    ///
    /// # Errors
    /// What the operation refuses.
    pub async fn described(&self, title: &str, description: &str, extra: Value) -> Result<Value> {
        let mut request = json!({
            "project_id": self.project, "title": title, "description": description, "roles": { "coder": self.agent },
        });
        if let (Some(request), Value::Object(extra)) = (request.as_object_mut(), extra) {
            request.extend(extra);
        }
        Ok(self.call("task_create", request).await?)
    }

    /// Starts the task's agent.
    ///
    /// # Errors
    /// What the operation refuses.
    pub async fn claim(&self, task: &Value) -> Result<Value> {
        let id = text(task, "id")?;
        Ok(self
            .call("task_claim", json!({ "task_id": id, "agent_id": self.agent, "version": task["version"] }))
            .await?)
    }

    /// Performs an action of a task, whatever its version is then.
    ///
    /// # Errors
    /// What the operation refuses.
    pub async fn act(&self, task: &Value, verb: &str, fields: Value) -> Result<Value> {
        self.engine.act(task, &format!("actions/{verb}"), fields).await
    }

    /// The task as it is now.
    ///
    /// # Errors
    /// When there is none.
    pub async fn get(&self, task: &Value) -> Result<Value> {
        Ok(self.call("task_get", json!({ "task_id": text(task, "id")? })).await?)
    }

    /// Waits until the task is as `wanted`; the error says how it is instead.
    ///
    /// # Errors
    /// When it does not become so.
    pub async fn wait(&self, task: &Value, what: &str, wanted: impl Fn(&Value) -> bool) -> Result<Value> {
        self.engine.wait(&text(task, "id")?, what, wanted).await
    }

    /// Waits until the task is in a state and nothing is pending for it.
    ///
    /// # Errors
    /// When it does not get there.
    pub async fn reach(&self, task: &Value, state: &str) -> Result<Value> {
        let there = self.wait(task, state, |now| now["status"] == state).await?;
        let id = forge_model::ids::TaskId(text(task, "id")?);
        self.api.engine().wait_until_idle(&id).await?;
        let now = self.get(task).await?;
        if now["status"] != there["status"] {
            bail!("the task did not stay in {state}: {now:#}");
        }
        Ok(now)
    }

    /// The moves of a task as `from>to` with the trigger.
    ///
    /// # Errors
    /// When they cannot be read.
    pub async fn moves(&self, task: &Value) -> Result<Vec<String>> {
        let page = self.call("task_transitions", json!({ "task_id": text(task, "id")? })).await?;
        let items = page["items"].as_array().context("no items")?;
        let one = |item: &Value, field: &str| item[field].as_str().unwrap_or_default().to_owned();
        Ok(items
            .iter()
            .map(|item| format!("{} {}>{}", one(item, "trigger"), one(item, "from"), one(item, "to")))
            .collect())
    }

    /// Stops the engine and starts it again on the same data.
    ///
    /// # Errors
    /// When it does not start.
    pub async fn restart(&mut self) -> Result<()> {
        self.restart_with(|_| {}).await
    }

    /// The same, with changes to the engine's configuration.
    ///
    /// # Errors
    /// When it does not start.
    pub async fn restart_with(&mut self, change: impl FnOnce(&mut EngineConfig)) -> Result<()> {
        self.engine.stop().await;
        self.engine = start(self.dir.path(), change).await?;
        self.api = self.engine.api().clone();
        Ok(())
    }

    /// Every process that carries a mark of this sandbox's tasks, by its command line.
    ///
    /// # Errors
    /// When /proc cannot be read.
    pub fn processes(&self) -> Result<Vec<String>> {
        marked_processes(self.dir.path())
    }
}

async fn start(dir: &Path, change: impl FnOnce(&mut EngineConfig)) -> Result<LocalEngine> {
    LocalEngine::start(dir, |config| {
        config.undo_window = Duration::from_millis(200);
        change(config);
    })
    .await
}

fn text(value: &Value, field: &str) -> Result<String> {
    Ok(value[field].as_str().with_context(|| format!("no {field} in {value}"))?.to_owned())
}
