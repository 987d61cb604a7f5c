//! An engine with a small repository and one scripted agent, in this process, for what is measured through tasks.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, ensure};
use forge_api::Api;
use forge_engine::{Engine, EngineConfig};
use forge_model::actor::Via;
use serde_json::{Value, json};

use crate::repository::{generate, git};

/// Files in the repository.
const FILES: u32 = 200;

/// The engine and its project.
pub struct Stage {
    pub api: Api,
    data: PathBuf,
    project: String,
}

/// A task that works.
#[derive(Debug, Clone)]
pub struct Work {
    pub task: String,
    /// Its run, which is also its log.
    pub run: String,
}

impl Stage {
    /// Starts an engine. Checks and reviews are out of the way.
    pub async fn start(folder: &Path, most_at_once: u32) -> Result<Self> {
        let repo = folder.join("repo");
        generate(&repo, FILES)?;
        git(&repo, &["checkout", "--quiet", "--detach"])?;
        let data = folder.join("data");
        let mut config = EngineConfig::new(data.clone(), std::env::vars_os());
        config.git_env = forge_testkit::HERMETIC_GIT
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect();
        config.keeper = forge_testkit::keeper_program()?;
        let api = Api::new(Engine::start(config).await?, std::env::current_exe()?);
        let settings = json!({
            "auto_approve": true, "review_config": { "ci_steps": ["true"] }, "max_concurrent": most_at_once,
        });
        let new = json!({ "repo_path": repo, "default_branch": "main", "settings": settings });
        let mut stage = Self { api, data, project: String::new() };
        stage.project = id(&stage.call("project_create", new).await?)?;
        Ok(stage)
    }

    pub async fn call(&self, op: &str, input: Value) -> Result<Value> {
        self.api.call(Via::Api, op, input).await.with_context(|| format!("the contract refused {op}"))
    }

    /// An agent that prints; see [`crate::printer`].
    pub async fn agent(&self, name: &str, print: &[&str], most_at_once: u32) -> Result<String> {
        let args: Vec<&str> = [&["print"], print].concat();
        let config = json!({ "command": std::env::current_exe()?, "args": args });
        let new =
            json!({ "name": name, "adapter": "shell", "config": config, "max_concurrent": most_at_once });
        id(&self.call("agent_create", new).await?)
    }

    /// Gives a new task to an agent, and waits until it runs.
    pub async fn begin(&self, agent: &str, title: &str) -> Result<Work> {
        let new = json!({ "project_id": self.project, "title": title, "roles": { "coder": agent } });
        let task = self.call("task_create", new).await?;
        let claim = json!({ "task_id": task["id"], "agent_id": agent, "version": task["version"] });
        let mut events = self.api.engine().events();
        self.call("task_claim", claim).await?;
        let task = id(&task)?;
        loop {
            events.borrow_and_update();
            let runs = self.call("task_executions", json!({ "task_id": task })).await?;
            let run = runs["items"].as_array().and_then(|runs| runs.first());
            if let Some(run) = run.filter(|run| run["status"] != "starting") {
                return Ok(Work { task, run: id(run)? });
            }
            let now = self.call("task_get", json!({ "task_id": task })).await?;
            ensure!(now["status"] != "blocked", "the task is blocked: {now}");
            events.changed().await?;
        }
    }

    /// Where a task's logs are.
    pub fn logs_of(&self, work: &Work) -> PathBuf {
        self.data.join("logs").join(&self.project).join(&work.task)
    }

    /// Waits until a task is done.
    pub async fn done(&self, work: &Work) -> Result<()> {
        let mut events = self.api.engine().events();
        loop {
            events.borrow_and_update();
            let now = self.call("task_get", json!({ "task_id": work.task })).await?;
            ensure!(now["status"] != "blocked", "the task is blocked: {now}");
            if now["status"] == "done" && now["workspace"]["status"] == "cleaned" {
                return Ok(());
            }
            events.changed().await?;
        }
    }
}

fn id(value: &Value) -> Result<String> {
    value["id"].as_str().map(str::to_owned).context("no id")
}
