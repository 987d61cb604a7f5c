//! Fixture of the worktree tests: a project, its tasks, and waits for their states.

use std::{
    path::{Path, PathBuf},
    time::Duration,
};

use anyhow::{Context as _, Result, bail};
use forge_engine::EngineConfig;
use forge_testkit::{Folder, LocalEngine, board::text};
use reqwest::Method;
use serde_json::{Value, json};

pub struct WorkspaceFixture {
    pub engine: LocalEngine,
    pub folder: Folder,
    pub project: String,
    pub agent: String,
}

impl WorkspaceFixture {
    pub async fn new(settings: Value) -> Result<Self> {
        Self::with(settings, &[]).await
    }

    /// The same with ignored files in the checkout.
    pub async fn with(settings: Value, ignored: &[(&str, &str)]) -> Result<Self> {
        let sandbox = Folder::new()?;
        if !ignored.is_empty() {
            let names = ignored.iter().map(|(name, _)| name.split_inclusive('/').next().unwrap_or(name));
            sandbox.repo.write(".gitignore", &names.collect::<Vec<_>>().join("\n"))?;
            sandbox.repo.commit("ignore some")?;
            for (name, content) in ignored {
                sandbox.repo.write(name, content)?;
            }
        }
        let engine = LocalEngine::start(sandbox.dir.path(), |_| {}).await?;
        let (project, agent) = engine.project(&sandbox.repo, settings).await?;
        Ok(Self { folder: sandbox, engine, project, agent })
    }

    pub async fn restart(&mut self) -> Result<()> {
        self.restart_configured(|_| {}).await
    }

    /// Restarts with another delay, in seconds, between the end of a task and the removal of its worktree.
    pub async fn restart_with_delay(&mut self, seconds: u64) -> Result<()> {
        self.restart_configured(|config| config.cleanup_delay = Duration::from_secs(seconds)).await
    }

    async fn restart_configured(&mut self, change: impl FnOnce(&mut EngineConfig)) -> Result<()> {
        self.engine.stop().await;
        self.engine = LocalEngine::start(self.folder.dir.path(), change).await?;
        Ok(())
    }

    /// A claimed task whose agent follows `script`.
    pub async fn started(&self, title: &str, script: &[&str]) -> Result<Value> {
        let task = self.task(title, script).await?;
        self.claim(&task).await?;
        Ok(task)
    }

    pub async fn task(&self, title: &str, script: &[&str]) -> Result<Value> {
        let new = json!({ "title": title, "description": forge_testkit::script(script) });
        self.engine.task(&self.project, new).await
    }

    pub async fn claim(&self, task: &Value) -> Result<Value> {
        let claim = json!({ "agent_id": self.agent, "version": self.get(task).await?["version"] });
        self.engine.post(&format!("/tasks/{}/claim", text(task, "id")), claim).await
    }

    /// A task that a person works on, with its worktree.
    pub async fn manual_task(&self, title: &str) -> Result<Value> {
        let task = self.task(title, &[]).await?;
        let claim = json!({ "agent_id": "user", "version": task["version"] });
        self.engine.post(&format!("/tasks/{}/claim", text(&task, "id")), claim).await?;
        self.engine.until(&task, is_ready).await
    }

    pub async fn get(&self, task: &Value) -> Result<Value> {
        self.engine.get(&format!("/tasks/{}", text(task, "id"))).await
    }

    /// Performs an action, offered or not.
    pub async fn act(&self, task: &Value, verb: &str, body: Value) -> Result<Value> {
        self.engine.act(task, &format!("actions/{verb}"), body).await
    }

    pub async fn post(&self, task: &Value, path: &str, body: Value) -> Result<Value> {
        self.engine.post(&format!("/tasks/{}{path}", text(task, "id")), body).await
    }

    pub async fn refused(&self, path: &str, body: Value) -> Result<(u16, Value)> {
        forge_testkit::caller::refused(self.engine.request(Method::POST, path).json(&body)).await
    }

    pub async fn state(&self, task: &Value, state: &str) -> Result<Value> {
        self.engine.until(task, |task| task["status"] == state).await
    }

    pub async fn cleaned(&self, task: &Value) -> Result<Value> {
        self.engine.until(task, |task| task["workspace"]["status"] == "cleaned").await
    }

    pub async fn items(&self, path: &str) -> Result<Vec<Value>> {
        let answer = self.engine.get(path).await?;
        Ok(answer["items"].as_array().context("no list")?.clone())
    }

    /// Waits until a list satisfies a condition.
    pub async fn until_items(&self, path: &str, wanted: impl Fn(&[Value]) -> bool) -> Result<Vec<Value>> {
        let look = async || Ok(Some(self.items(path).await?).filter(|items| wanted(items)));
        match self.engine.watch(look).await? {
            Some(items) => Ok(items),
            None => bail!("{path} never came to be as wanted: {:#?}", self.items(path).await?),
        }
    }

    pub async fn step(&self, task: &Value, action: &str) -> Result<Value> {
        let moves = self.items(&format!("/tasks/{}/transitions", text(task, "id"))).await?;
        let steps = moves.iter().rev().flat_map(|m| m["steps"].as_array().into_iter().flatten());
        let found = steps.into_iter().find(|step| step["action"] == action);
        found.cloned().with_context(|| format!("no step {action}: {moves:#?}"))
    }

    /// The texts of a log, one per line.
    pub async fn log(&self, task: &Value, log_id: &str) -> Result<String> {
        let page = self.engine.get(&format!("/tasks/{}/logs/{log_id}", text(task, "id"))).await?;
        let entries = page["entries"].as_array().context("no entries")?.clone();
        let said = entries.iter().map(|entry| entry["body"]["text"].as_str().unwrap_or_default());
        Ok(said.collect::<Vec<_>>().join("\n"))
    }

    pub async fn backups(&self, task: &Value) -> Result<Vec<Value>> {
        self.items(&format!("/tasks/{}/backups", text(task, "id"))).await
    }

    pub fn branch(&self, name: &str) -> bool {
        self.folder.repo.git(&["rev-parse", "-q", "--verify", &format!("refs/heads/{name}")]).is_ok()
    }

    /// The worktrees that git lists besides the checkout.
    pub fn worktrees(&self) -> Result<Vec<String>> {
        let list = self.folder.repo.git(&["worktree", "list", "--porcelain"])?;
        Ok(list
            .lines()
            .filter_map(|line| line.strip_prefix("worktree "))
            .skip(1)
            .map(str::to_owned)
            .collect())
    }

    pub fn root(&self) -> PathBuf {
        self.folder.data_dir().join("workspaces")
    }
}

pub fn tree(task: &Value) -> PathBuf {
    PathBuf::from(task["workspace"]["path"].as_str().unwrap_or_default())
}

/// Whether a person can work on a task: its worktree exists and its state is entered.
pub fn is_ready(task: &Value) -> bool {
    task["workspace"]["status"] == "active" && task["entry_barrier"].is_null()
}

pub fn lock_file(task: &Value) -> PathBuf {
    tree(task).with_file_name(".forge.lock")
}

/// Writes the lock of a live process outside Forge.
pub fn foreign_lock(task: &Value, pid: u32) -> Result<()> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat"))?;
    let rest = stat.rsplit_once(')').context("odd")?.1;
    let start: u64 = rest.split_whitespace().nth(19).context("odd")?.parse()?;
    let host = nix::unistd::gethostname()?.to_string_lossy().into_owned();
    let lock = json!({ "execution_id": "somebody-else", "pid": pid, "start_time": start, "host": host, "acquired_at": "2026-01-01T00:00:00Z" });
    std::fs::write(lock_file(task), lock.to_string())?;
    Ok(())
}

/// A process that lives until its input is closed. Without a mark it would be taken for a program that the engine runs,
/// which is the test's own process.
pub fn bystander(folder: &Path) -> Result<std::process::Child> {
    let mut command = std::process::Command::new("cat");
    Ok(command
        .current_dir(folder)
        .env("FORGE_PROCESS", "another-forge")
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::null())
        .spawn()?)
}
