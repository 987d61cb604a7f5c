//! Fixture of the API tests: a project on a running `forge serve`.

use std::os::unix::fs::PermissionsExt as _;

use anyhow::{Context as _, Result};
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
use forge_model::{
    ids::{ProjectId, TaskId},
    task::Task,
};
use forge_testkit::Repository;
use reqwest::Method;
use serde_json::{Value, json};

use crate::forge::{PATIENCE, Sandbox, Served, good, refused, script, text};

pub struct Board {
    // Ends before its folder goes.
    pub server: Served,
    pub sandbox: Sandbox,
    pub project: String,
    pub agent: String,
}

/// Merges one object into another.
pub fn with(mut base: Value, more: &Value) -> Value {
    if let (Some(base), Some(more)) = (base.as_object_mut(), more.as_object()) {
        base.extend(more.clone());
    }
    base
}

pub fn is(state: &'static str) -> impl Fn(&Value) -> bool {
    move |task| task["status"] == state
}

impl Board {
    pub async fn new(settings: Value) -> Result<Self> {
        let sandbox = Sandbox::new()?;
        let server = sandbox.serve()?;
        let all = with(json!({ "auto_approve": true, "shell": ["sh", "-c"] }), &settings);
        let (project, agent) = server.project(&sandbox.repo, all).await?;
        Ok(Self { sandbox, server, project, agent })
    }

    /// A board whose repository has the submodule `lib`, which each worktree checks out; with the submodule's repository
    /// and its commit.
    pub async fn with_library(settings: Value) -> Result<(Self, Repository, String)> {
        let setup = json!({ "setup": ["git -c protocol.file.allow=always submodule update --init --quiet"] });
        let board = Self::new(with(setup, &settings)).await?;
        let repo = &board.sandbox.repo;
        let library = Repository::create(&board.sandbox.dir.path().join("library"), &[("lib.txt", "one\n")])?;
        let from = library.path().display().to_string();
        repo.git(&["-c", "protocol.file.allow=always", "submodule", "--quiet", "add", &from, "lib"])?;
        repo.commit("a library")?;
        let pinned = repo.git(&["rev-parse", "main:lib"])?;
        Ok((board, library, pinned))
    }

    /// A further project on the same repository.
    pub async fn project(&self, name: &str, settings: Value, more: Value) -> Result<String> {
        let all = with(json!({ "auto_approve": true, "shell": ["sh", "-c"] }), &settings);
        let new = json!({ "name": name, "repo_path": self.sandbox.repo.path(), "settings": all });
        Ok(text(&self.server.post("/projects", with(new, &more)).await?, "id"))
    }

    /// A task whose agent follows a script.
    pub async fn task(&self, lines: &[&str], more: Value) -> Result<Value> {
        let new = json!({ "title": "Do it", "description": script(lines), "roles": { "coder": self.agent } });
        self.server.task(&self.project, with(new, &more)).await
    }

    /// Calls an operation.
    pub async fn call<C: Call>(&self, call: C, input: C::Input) -> Result<C::Output> {
        Ok(self.server.api.call(call, input).await?.value)
    }

    /// Calls an operation on a task with its current version.
    pub async fn call_at_version<C: Call + Copy>(
        &self,
        call: C,
        task: &TaskId,
        input: impl Fn(u32) -> C::Input,
    ) -> Result<C::Output> {
        for _ in 0..20 {
            let version = self.see(task).await?.version;
            let called = self.call(call, input(version)).await;
            let refused = called.as_ref().err().and_then(|error| error.downcast_ref::<ApiError>());
            if refused.is_none_or(|refused| refused.code != "version_conflict") {
                return called;
            }
        }
        anyhow::bail!("its version never stood still")
    }

    /// Creates a task with a scripted description; `more` holds further fields of the operation.
    pub async fn make(&self, description: &str, more: Value) -> Result<Task> {
        let new = json!({
            "project_id": self.project, "title": "Do it", "description": description,
            "roles": { "coder": self.agent },
        });
        let new: CreateTask = read_input(with(new, &more))?;
        self.call(TaskCreate, new).await
    }

    /// The current task.
    pub async fn see(&self, task: &TaskId) -> Result<Task> {
        self.call(TaskGet, TaskPath { task_id: task.clone() }).await
    }

    /// Waits until a task satisfies a condition.
    pub async fn until(&self, task: &TaskId, what: &str, wanted: impl Fn(&Task) -> bool) -> Result<Task> {
        let found = self.server.watch(async || Ok(Some(self.see(task).await?).filter(&wanted))).await?;
        found.with_context(|| format!("waited in vain for {what}"))
    }

    pub async fn get(&self, task: &Value) -> Result<Value> {
        self.server.get(&format!("/tasks/{}", text(task, "id"))).await
    }

    pub async fn patch(&self, path: &str, body: Value) -> Result<Value> {
        good(self.server.request(Method::PATCH, path).json(&body).send().await?).await
    }

    /// Posts to a task's route with its current version.
    pub async fn act(&self, task: &Value, path: &str, body: Value) -> Result<Value> {
        for _ in 0..20 {
            let now = self.get(task).await?;
            let body = with(body.clone(), &json!({ "version": now["version"] }));
            let path = format!("/tasks/{}/{path}", text(task, "id"));
            let answer = self.server.request(Method::POST, &path).json(&body).send().await?;
            if answer.status().as_u16() != 409 {
                return good(answer).await;
            }
            let refusal: Value = answer.json().await?;
            anyhow::ensure!(refusal["code"] == "version_conflict", "{path}: {refusal:#}");
        }
        anyhow::bail!("its version never stood still")
    }

    pub async fn claim(&self, task: &Value) -> Result<Value> {
        self.act(task, "claim", json!({ "agent_id": self.agent })).await
    }

    pub async fn move_to(&self, task: &Value, to: &str) -> Result<Value> {
        self.act(task, "transition?wait=none", json!({ "to": to })).await
    }

    pub async fn refuse(&self, path: &str, body: Value) -> Result<(u16, Value)> {
        refused(self.server.request(Method::POST, path).json(&body)).await
    }

    /// A refused post with the task's current version: status and body.
    pub async fn refused(&self, task: &Value, path: &str, body: Value) -> Result<(u16, Value)> {
        let path = format!("/tasks/{}/{path}", text(task, "id"));
        for _ in 0..20 {
            let now = self.get(task).await?;
            let refusal =
                self.refuse(&path, with(body.clone(), &json!({ "version": now["version"] }))).await?;
            if refusal.1["code"] != "version_conflict" {
                return Ok(refusal);
            }
        }
        anyhow::bail!("its version never stood still")
    }

    pub async fn items(&self, path: &str) -> Result<Vec<Value>> {
        Ok(self.server.get(path).await?["items"].as_array().context("no items")?.clone())
    }

    pub async fn history(&self, task: &Value) -> Result<Vec<Value>> {
        self.items(&format!("/tasks/{}/transitions", text(task, "id"))).await
    }

    pub async fn moves(&self, task: &Value) -> Result<Vec<String>> {
        let rows = self.history(task).await?;
        Ok(rows.iter().map(|row| format!("{}>{}", text(row, "from"), text(row, "to"))).collect())
    }

    pub async fn runs(&self, task: &Value) -> Result<Vec<Value>> {
        self.items(&format!("/tasks/{}/executions", text(task, "id"))).await
    }

    /// The first `count` events of a kind.
    pub async fn events(&self, kind: &str, count: usize) -> Result<Vec<Value>> {
        let all = self.events_through(kind, count).await?;
        Ok(all.into_iter().filter(|event| event["type"] == kind).collect())
    }

    /// All events up to the `count`th of a kind.
    pub async fn events_through(&self, kind: &str, count: usize) -> Result<Vec<Value>> {
        let enough = |all: &[Value]| all.iter().filter(|event| event["type"] == kind).count() >= count;
        self.events_until(enough, &format!("{count} {kind}")).await
    }

    /// All events until `enough` accepts them.
    pub async fn events_until(&self, enough: impl Fn(&[Value]) -> bool, what: &str) -> Result<Vec<Value>> {
        let asked = self.server.request(Method::GET, "/events").header("Last-Event-ID", "0");
        let mut response = asked.send().await?;
        let mut all = String::new();
        loop {
            let data = all.lines().filter_map(|line| line.strip_prefix("data:"));
            let events = data.filter_map(|data| serde_json::from_str::<Value>(data.trim()).ok());
            let found: Vec<Value> = events.collect();
            if enough(&found) {
                return Ok(found);
            }
            let next = tokio::time::timeout(PATIENCE, response.chunk()).await;
            let chunk = next.with_context(|| format!("{what}, not {found:#?}"))??;
            all.push_str(&String::from_utf8_lossy(&chunk.context("the events end")?));
        }
    }

    /// Installs a hook that refuses commits with a file of this name.
    pub fn forbid_to_commit(&self, file: &str) -> Result<()> {
        let line = format!("git diff --cached --name-only | grep -q {file}");
        self.git_hook("pre-commit", &format!("if {line}; then echo never; exit 1; fi"))
    }

    /// Installs a git hook of the user.
    pub fn git_hook(&self, name: &str, line: &str) -> Result<()> {
        let hook = self.sandbox.repo.path().join(".git/hooks").join(name);
        std::fs::create_dir_all(hook.parent().context("no folder")?)?;
        std::fs::write(&hook, format!("#!/bin/sh\n{line}\n"))?;
        Ok(std::fs::set_permissions(&hook, std::fs::Permissions::from_mode(0o755))?)
    }

    /// Accepts the repository's current configuration, as a person does after changing it.
    pub async fn accept_configuration(&self) -> Result<()> {
        let project_id = ProjectId::from(self.project.as_str());
        let now = self.call(ProjectRepository, ProjectPath { project_id: project_id.clone() }).await?;
        if let Some(difference) = now.difference {
            let seen = AcceptRepository { project_id, digest: difference.digest };
            self.call(ProjectRepositoryAccept, seen).await?;
        }
        Ok(())
    }

    /// The default workflow with changed states.
    pub fn workflow(change: impl FnOnce(&mut Vec<Value>)) -> Result<Value> {
        let mut workflow: Value = serde_json::from_str(forge_model::workflow::default_workflow_json())?;
        change(workflow["states"].as_array_mut().context("no states")?);
        Ok(workflow)
    }
}

/// A state of a workflow by name.
pub fn state<'a>(states: &'a mut [Value], name: &str) -> &'a mut Value {
    let place = states.iter().position(|state| state["name"] == name);
    // There is nothing beyond the end: the test ends here when no state has the name.
    &mut states[place.unwrap_or(usize::MAX)]
}
