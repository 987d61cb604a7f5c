//! A project on an engine, and what tests ask of it in the words of a board.

use std::{ops::Deref, os::unix::fs::PermissionsExt as _, path::Path};

use anyhow::{Context as _, Result, bail};
use forge_api::{
    ApiError, Call, Client as _,
    operations::{ProjectRepository, ProjectRepositoryAccept, TaskCreate, TaskGet},
    ops::{
        TaskPath,
        projects::{AcceptRepository, ProjectPath},
        tasks::CreateTask,
    },
    read_input,
};
use forge_engine::EngineConfig;
use forge_model::{
    ids::{ProjectId, TaskId},
    task::Task,
};
use reqwest::Method;
use serde_json::{Value, json};

use crate::{
    Folder, Repository,
    caller::{Caller, refused},
    local::LocalEngine,
    sandbox::script,
    serve::Served,
};

/// How often an operation is called again because the task changed meanwhile.
const TRIES: u32 = 20;

/// A repository, an engine, a project on it and an agent that does what its task's script says. The engine runs in the
/// test's own process unless it was served.
pub struct Board<E = LocalEngine> {
    // Ends before its folder goes.
    /// The engine.
    pub engine: E,
    /// The folder of everything, with the user's repository.
    pub folder: Folder,
    /// The project.
    pub project: String,
    /// The scripted agent.
    pub agent: String,
}

/// Merges one object into another.
#[must_use]
pub fn with(mut base: Value, more: &Value) -> Value {
    if let (Some(base), Some(more)) = (base.as_object_mut(), more.as_object()) {
        base.extend(more.clone());
    }
    base
}

/// Whether a task is in a state.
pub fn is(state: &'static str) -> impl Fn(&Value) -> bool {
    move |task| task["status"] == state
}

/// A field of an answer as text; empty when it is none.
#[must_use]
pub fn text(value: &Value, key: &str) -> String {
    value[key].as_str().unwrap_or_default().to_owned()
}

/// A shell line that waits for a file.
#[must_use]
pub fn until_exists(file: &Path) -> String {
    format!("until [ -e '{}' ]; do sleep 0.05; done", file.display())
}

/// A state of a workflow by name.
///
/// # Panics
/// When no state has the name.
pub fn state<'a>(states: &'a mut [Value], name: &str) -> &'a mut Value {
    let place = states.iter().position(|state| state["name"] == name);
    &mut states[place.unwrap_or(usize::MAX)]
}

impl Board<Served> {
    /// A board on a `forge serve`.
    ///
    /// # Errors
    /// When anything of it cannot be made.
    pub async fn served(settings: Value) -> Result<Self> {
        let folder = Folder::new()?;
        let server = folder.serve()?;
        Self::on(folder, server, settings).await
    }
}

impl Board {
    /// A board whose project has these settings on top of the tests' own.
    ///
    /// # Errors
    /// When anything of it cannot be made.
    pub async fn new(settings: Value) -> Result<Self> {
        Self::configured(settings, |_| {}).await
    }

    /// The same, with changes to the engine's configuration.
    ///
    /// # Errors
    /// When anything of it cannot be made.
    pub async fn configured(settings: Value, change: impl FnOnce(&mut EngineConfig)) -> Result<Self> {
        let folder = Folder::new()?;
        let engine = LocalEngine::start(folder.dir.path(), change).await?;
        Self::on(folder, engine, settings).await
    }

    /// Stops the engine and starts it again on the same data.
    ///
    /// # Errors
    /// When it does not start.
    pub async fn restart(&mut self) -> Result<()> {
        self.restart_configured(|_| {}).await
    }

    /// The same, with changes to the engine's configuration.
    ///
    /// # Errors
    /// When it does not start.
    pub async fn restart_configured(&mut self, change: impl FnOnce(&mut EngineConfig)) -> Result<()> {
        self.engine.stop().await;
        self.engine = LocalEngine::start(self.folder.dir.path(), change).await?;
        Ok(())
    }

    /// A board whose repository has the submodule `lib`, which each worktree checks out; with the submodule's repository
    /// and its commit.
    ///
    /// # Errors
    /// When anything of it cannot be made.
    pub async fn with_library(settings: Value) -> Result<(Self, Repository, String)> {
        let setup = json!({ "setup": ["git -c protocol.file.allow=always submodule update --init --quiet"] });
        let board = Self::new(with(setup, &settings)).await?;
        let repo = &board.folder.repo;
        let library = Repository::create(&board.folder.dir.path().join("library"), &[("lib.txt", "one\n")])?;
        let from = library.path().display().to_string();
        repo.git(&["-c", "protocol.file.allow=always", "submodule", "--quiet", "add", &from, "lib"])?;
        repo.commit("a library")?;
        let pinned = repo.git(&["rev-parse", "main:lib"])?;
        Ok((board, library, pinned))
    }

    /// The default workflow with changed states.
    ///
    /// # Errors
    /// When the default workflow has no states.
    pub fn workflow(change: impl FnOnce(&mut Vec<Value>)) -> Result<Value> {
        let mut workflow: Value = serde_json::from_str(forge_model::workflow::default_workflow_json())?;
        change(workflow["states"].as_array_mut().context("no states")?);
        Ok(workflow)
    }
}

impl<E: Deref<Target = Caller>> Board<E> {
    /// A board on an engine that runs already.
    ///
    /// # Errors
    /// When the project is refused.
    pub async fn on(folder: Folder, engine: E, settings: Value) -> Result<Self> {
        let all = with(json!({ "auto_approve": true, "shell": ["sh", "-c"] }), &settings);
        let (project, agent) = engine.project(&folder.repo, all).await?;
        Ok(Self { engine, folder, project, agent })
    }

    /// A further project on the same repository.
    ///
    /// # Errors
    /// When it is refused.
    pub async fn project(&self, name: &str, settings: Value, more: Value) -> Result<String> {
        let all = with(json!({ "auto_approve": true, "shell": ["sh", "-c"] }), &settings);
        let new = json!({ "name": name, "repo_path": self.folder.repo.path(), "settings": all });
        Ok(text(&self.engine.post("/projects", with(new, &more)).await?, "id"))
    }

    /// A task whose agent follows a script.
    ///
    /// # Errors
    /// When it is refused.
    pub async fn task(&self, lines: &[&str], more: Value) -> Result<Value> {
        let new = json!({ "title": "Do it", "description": script(lines), "roles": { "coder": self.agent } });
        self.engine.task(&self.project, with(new, &more)).await
    }

    /// Calls an operation.
    ///
    /// # Errors
    /// When it is refused.
    pub async fn call<C: Call>(&self, call: C, input: C::Input) -> Result<C::Output> {
        Ok(self.engine.call(call, input).await?.value)
    }

    /// Calls an operation on a task with its current version.
    ///
    /// # Errors
    /// When it is refused.
    pub async fn call_at_version<C: Call + Copy>(
        &self,
        call: C,
        task: &TaskId,
        input: impl Fn(u32) -> C::Input,
    ) -> Result<C::Output> {
        for _ in 0..TRIES {
            let version = self.see(task).await?.version;
            let called = self.call(call, input(version)).await;
            let refused = called.as_ref().err().and_then(|error| error.downcast_ref::<ApiError>());
            if refused.is_none_or(|refused| refused.code != "version_conflict") {
                return called;
            }
        }
        bail!("its version never stood still")
    }

    /// Creates a task with a scripted description; `more` holds further fields of the operation.
    ///
    /// # Errors
    /// When it is refused.
    pub async fn make(&self, description: &str, more: Value) -> Result<Task> {
        let new = json!({
            "project_id": self.project, "title": "Do it", "description": description,
            "roles": { "coder": self.agent },
        });
        let new: CreateTask = read_input(with(new, &more))?;
        self.call(TaskCreate, new).await
    }

    /// The current task.
    ///
    /// # Errors
    /// When there is none.
    pub async fn see(&self, task: &TaskId) -> Result<Task> {
        self.call(TaskGet, TaskPath { task_id: task.clone() }).await
    }

    /// Waits until a task satisfies a condition.
    ///
    /// # Errors
    /// When it never does.
    pub async fn until(&self, task: &TaskId, what: &str, wanted: impl Fn(&Task) -> bool) -> Result<Task> {
        let found = self.engine.watch(async || Ok(Some(self.see(task).await?).filter(&wanted))).await?;
        found.with_context(|| format!("waited in vain for {what}"))
    }

    /// The current task as an answer.
    ///
    /// # Errors
    /// When there is none.
    pub async fn get(&self, task: &Value) -> Result<Value> {
        self.engine.get(&format!("/tasks/{}", text(task, "id"))).await
    }

    /// Patches what a route names.
    ///
    /// # Errors
    /// When it is refused.
    pub async fn patch(&self, path: &str, body: Value) -> Result<Value> {
        self.engine.patch(path, body).await
    }

    /// Posts to a task's route with its current version.
    ///
    /// # Errors
    /// When it is refused.
    pub async fn act(&self, task: &Value, path: &str, body: Value) -> Result<Value> {
        let (status, answer) = self.act_or_refuse(task, path, body).await?;
        anyhow::ensure!(status < 400, "{path}: {status} {answer:#}");
        Ok(answer)
    }

    /// Posts to a task's route with its current version; a refusal is an answer, too.
    async fn act_or_refuse(&self, task: &Value, path: &str, body: Value) -> Result<(u16, Value)> {
        for _ in 0..TRIES {
            let now = self.get(task).await?;
            let body = with(body.clone(), &json!({ "version": now["version"] }));
            let path = format!("/tasks/{}/{path}", text(task, "id"));
            let answer = self.engine.answer(Method::POST, &path, Some(body)).await?;
            if answer.1["code"] != "version_conflict" {
                return Ok(answer);
            }
        }
        bail!("its version never stood still")
    }

    /// Starts the task's agent.
    ///
    /// # Errors
    /// When it is refused.
    pub async fn claim(&self, task: &Value) -> Result<Value> {
        self.act(task, "claim", json!({ "agent_id": self.agent })).await
    }

    /// Moves a task.
    ///
    /// # Errors
    /// When it is refused.
    pub async fn move_to(&self, task: &Value, to: &str) -> Result<Value> {
        self.act(task, "transition?wait=none", json!({ "to": to })).await
    }

    /// A refused post: status and body.
    ///
    /// # Errors
    /// When it is not refused.
    pub async fn refuse(&self, path: &str, body: Value) -> Result<(u16, Value)> {
        refused(self.engine.request(Method::POST, path).json(&body)).await
    }

    /// A refused post with the task's current version: status and body.
    ///
    /// # Errors
    /// When it is not refused.
    pub async fn refused(&self, task: &Value, path: &str, body: Value) -> Result<(u16, Value)> {
        let (status, refusal) = self.act_or_refuse(task, path, body).await?;
        anyhow::ensure!(status >= 400, "{path} was not refused: {status} {refusal:#}");
        Ok((status, refusal))
    }

    /// The items of the first page of a list.
    ///
    /// # Errors
    /// When it is refused, or no list.
    pub async fn items(&self, path: &str) -> Result<Vec<Value>> {
        self.engine.items(path).await
    }

    /// The moves of a task, as rows.
    ///
    /// # Errors
    /// When they cannot be read.
    pub async fn history(&self, task: &Value) -> Result<Vec<Value>> {
        self.items(&format!("/tasks/{}/transitions", text(task, "id"))).await
    }

    /// The moves of a task as `from>to`.
    ///
    /// # Errors
    /// When they cannot be read.
    pub async fn moves(&self, task: &Value) -> Result<Vec<String>> {
        let rows = self.history(task).await?;
        Ok(rows.iter().map(|row| format!("{}>{}", text(row, "from"), text(row, "to"))).collect())
    }

    /// The runs of a task.
    ///
    /// # Errors
    /// When they cannot be read.
    pub async fn runs(&self, task: &Value) -> Result<Vec<Value>> {
        self.items(&format!("/tasks/{}/executions", text(task, "id"))).await
    }

    /// The first `count` events of a kind.
    ///
    /// # Errors
    /// When they do not come.
    pub async fn events(&self, kind: &str, count: usize) -> Result<Vec<Value>> {
        let all = self.events_through(kind, count).await?;
        Ok(all.into_iter().filter(|event| event["type"] == kind).collect())
    }

    /// All events up to the `count`th of a kind.
    ///
    /// # Errors
    /// When they do not come.
    pub async fn events_through(&self, kind: &str, count: usize) -> Result<Vec<Value>> {
        let enough = |all: &[Value]| all.iter().filter(|event| event["type"] == kind).count() >= count;
        self.events_until(enough, &format!("{count} {kind}")).await
    }

    /// All events until `enough` accepts them.
    ///
    /// # Errors
    /// When they do not come.
    pub async fn events_until(&self, enough: impl Fn(&[Value]) -> bool, what: &str) -> Result<Vec<Value>> {
        self.engine.events_until(enough, what).await
    }

    /// Installs a hook that refuses commits with a file of this name.
    ///
    /// # Errors
    /// When the disk refuses.
    pub fn forbid_to_commit(&self, file: &str) -> Result<()> {
        let line = format!("git diff --cached --name-only | grep -q {file}");
        self.git_hook("pre-commit", &format!("if {line}; then echo never; exit 1; fi"))
    }

    /// Installs a git hook of the user.
    ///
    /// # Errors
    /// When the disk refuses.
    pub fn git_hook(&self, name: &str, line: &str) -> Result<()> {
        let hook = self.folder.repo.path().join(".git/hooks").join(name);
        std::fs::create_dir_all(hook.parent().context("no folder")?)?;
        std::fs::write(&hook, format!("#!/bin/sh\n{line}\n"))?;
        Ok(std::fs::set_permissions(&hook, std::fs::Permissions::from_mode(0o755))?)
    }

    /// Accepts the repository's current configuration, as a person does after changing it.
    ///
    /// # Errors
    /// When it is refused.
    pub async fn accept_configuration(&self) -> Result<()> {
        let project_id = ProjectId::from(self.project.as_str());
        let now = self.call(ProjectRepository, ProjectPath { project_id: project_id.clone() }).await?;
        if let Some(difference) = now.difference {
            let seen = AcceptRepository { project_id, digest: difference.digest };
            self.call(ProjectRepositoryAccept, seen).await?;
        }
        Ok(())
    }
}
