//! Fixture of the engine tests: a project on a running `forge serve` whose agent is a real program with a scripted
//! model.

use std::{
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError},
    time::Duration,
};

use anyhow::{Context as _, Result, bail, ensure};
use forge_testkit::serve::{Serve, Served};
use forge_testkit::{
    Repository, lasting_folder,
    models::{AgentProgram, ModelServer, Seat},
};
use forge_tests::{patience, ssh_server::Server};
use reqwest::Method;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::processes::{self, Process};

/// Much longer than any wait takes on a busy machine; reached only when something is broken.
const LIMIT: Duration = Duration::from_secs(200);

pub struct EngineFixture {
    pub server: ModelServer,
    pub repo: Repository,
    pub project: String,
    pub agent: String,
    pub program: AgentProgram,
    seat: Seat,
    served: Option<Served>,
    /// The machine that its tasks run on, if it is another one.
    machine: Option<Server>,
    dir: TempDir,
}

/// Merges one object into another.
pub fn with(mut base: Value, more: &Value) -> Value {
    if let (Some(base), Some(more)) = (base.as_object_mut(), more.as_object()) {
        base.extend(more.clone());
    }
    base
}

pub fn text(value: &Value, key: &str) -> String {
    value[key].as_str().unwrap_or_default().to_owned()
}

pub fn is(state: &'static str) -> impl Fn(&Value) -> bool {
    move |task| task["status"] == state
}

impl Drop for EngineFixture {
    fn drop(&mut self) {
        // In good order, so that a test that fails leaves no agent behind.
        if let Some(served) = &mut self.served {
            served.end_in_order();
        }
    }
}

impl EngineFixture {
    /// A project that merges passing work, and an agent of the program with a default profile.
    pub async fn new(program: AgentProgram) -> Result<Self> {
        Self::with(program, json!({}), json!({})).await
    }

    /// The same with further configuration of the agent and settings of the project.
    pub async fn with(program: AgentProgram, config: Value, settings: Value) -> Result<Self> {
        Self::in_folder(lasting_folder()?, program, config, settings).await
    }

    /// The same, with the program on the path of the login shell.
    pub async fn with_program_on_path(program: AgentProgram) -> Result<Self> {
        let dir = lasting_folder()?;
        let bin = dir.path().join("bin");
        std::fs::create_dir(&bin)?;
        std::os::unix::fs::symlink(program.path()?, bin.join(name_of(program)))?;
        // The folder is the login shell's home.
        std::fs::write(dir.path().join(".profile"), format!("export PATH=\"{}:$PATH\"\n", bin.display()))?;
        Self::in_folder(dir, program, json!({}), json!({})).await
    }

    /// The same with tasks on a machine that is reached by ssh; none where there is no ssh server.
    pub async fn on_machine(program: AgentProgram, config: Value) -> Result<Option<Self>> {
        let dir = lasting_folder()?;
        let there = dir.path().join("m");
        std::fs::create_dir(&there)?;
        let Some(machine) = Server::start(&there)? else { return Ok(None) };
        machine.make_known(dir.path(), "far")?;
        let mut fixture = Self::in_folder(dir, program, config, json!({ "machines": ["box"] })).await?;
        fixture.machine = Some(machine);
        let new = json!({ "name": "box", "ssh": { "host": "far" }, "root": there.join("forge") });
        fixture.post("/machines", new).await?;
        Ok(Some(fixture))
    }

    /// The same on this computer, with a program that runs what is given behind it and keeps a copy of what that prints
    /// for [`printed`](Self::printed).
    pub async fn overheard(program: AgentProgram, config: Value) -> Result<Self> {
        let dir = lasting_folder()?;
        let (wrapper, printed) = (dir.path().join("overheard"), dir.path().join("printed"));
        std::fs::create_dir(&printed)?;
        let real = program.path()?;
        let script = format!(
            "#!/bin/bash\nset -o pipefail\n'{}' \"$@\" | tee -i '{}'/$$\n",
            real.display(),
            printed.display()
        );
        std::fs::write(&wrapper, script)?;
        std::fs::set_permissions(&wrapper, std::os::unix::fs::PermissionsExt::from_mode(0o755))?;
        let config = with(config, &json!({ "program": wrapper }));
        // A confined program could write no copy there.
        let free = json!({ "sandbox": { "mode": "off" } });
        Self::in_folder(dir, program, config, free).await
    }

    /// What the program of an [overheard](Self::overheard) run printed. There was one run; whoever asked for a version
    /// printed less.
    pub fn printed(&self) -> Result<Vec<u8>> {
        let files = std::fs::read_dir(self.path("printed"))?.flatten();
        let texts: std::io::Result<Vec<Vec<u8>>> = files.map(|file| std::fs::read(file.path())).collect();
        texts?.into_iter().max_by_key(Vec::len).context("nothing was printed")
    }

    async fn in_folder(dir: TempDir, program: AgentProgram, config: Value, settings: Value) -> Result<Self> {
        let server = ModelServer::start().await?;
        let seat = program.settle(&dir.path().join("a"), &server)?;
        let repo = Repository::create(&dir.path().join("repo"), &[("README.md", "hello\n")])?;
        let served = serve(dir.path())?;
        let none = String::new();
        let mut fixture = Self {
            server,
            repo,
            project: none.clone(),
            agent: none,
            program,
            seat,
            served: Some(served),
            machine: None,
            dir,
        };
        let all = with(json!({ "auto_approve": true, "shell": ["sh", "-c"] }), &settings);
        let new = json!({ "repo_path": fixture.repo.path(), "settings": all });
        fixture.project = text(&fixture.served()?.post("/projects", new).await?, "id");
        fixture.agent = fixture.another_agent("Robot", config).await?;
        Ok(fixture)
    }

    pub fn served(&self) -> Result<&Served> {
        self.served.as_ref().context("it is not served now")
    }

    /// The profile's configuration: the program's path and its whole environment.
    pub fn config(&self, more: &Value) -> Value {
        let own = json!({ "program": self.seat.program, "env": self.seat.environment });
        let own = match self.program {
            // It has no sandbox: what it may do without being asked is no command at all, or any.
            AgentProgram::OpenCode => with(own, &json!({ "args": ["acp"], "permissions": "unattended" })),
            AgentProgram::Gemini => {
                let args = ["--acp", "-m", "gemini-2.5-flash"];
                with(own, &json!({ "args": args, "permissions": "unattended" }))
            }
            AgentProgram::Codex | AgentProgram::Claude => own,
        };
        with(own, more)
    }

    /// The program's name.
    pub fn name(&self) -> &'static str {
        name_of(self.program)
    }

    pub fn adapter(&self) -> &'static str {
        match self.program {
            AgentProgram::OpenCode | AgentProgram::Gemini => "acp",
            AgentProgram::Codex | AgentProgram::Claude => self.name(),
        }
    }

    pub async fn another_agent(&self, name: &str, config: Value) -> Result<String> {
        let new = json!({ "name": name, "adapter": self.adapter(), "config": self.config(&config) });
        Ok(text(&self.post("/agents", new).await?, "id"))
    }

    /// Kills the engine, as a power cut would.
    pub fn kill_engine(&mut self) -> Result<()> {
        let mut served = self.served.take().context("it is not served now")?;
        served.kill()
    }

    /// Starts the engine again.
    pub fn serve_again(&mut self) -> Result<()> {
        self.served = Some(serve(self.dir.path())?);
        Ok(())
    }

    pub async fn get(&self, path: &str) -> Result<Value> {
        self.served()?.get(path).await
    }

    pub async fn post(&self, path: &str, body: Value) -> Result<Value> {
        self.served()?.post(path, body).await
    }

    pub async fn items(&self, path: &str) -> Result<Vec<Value>> {
        Ok(self.get(path).await?["items"].as_array().context("no items")?.clone())
    }

    /// A task for the agent with a description.
    pub async fn task(&self, words: &str, more: Value) -> Result<Value> {
        let new = json!({ "title": "Do it", "description": words, "roles": { "coder": self.agent } });
        self.post(&format!("/projects/{}/tasks", self.project), with(new, &more)).await
    }

    /// The same, claimed.
    pub async fn started(&self, words: &str, more: Value) -> Result<Value> {
        let task = self.task(words, more).await?;
        self.act(&task, "claim", json!({ "agent_id": self.agent })).await?;
        Ok(task)
    }

    /// Posts to a task's route with its current version.
    pub async fn act(&self, task: &Value, path: &str, body: Value) -> Result<Value> {
        self.served()?.act(task, path, body).await
    }

    /// Changes the project's settings.
    pub async fn set(&self, patch: Value) -> Result<Value> {
        let path = format!("/projects/{}/settings", self.project);
        self.served()?.call_route(Method::PATCH, &path, Some(patch)).await
    }

    /// Changes a trigger of the workflow.
    pub async fn trigger(&self, state: &str, name: &str, change: Value) -> Result<Value> {
        let path = format!("/projects/{}/workflow", self.project);
        let mut now = self.get(&path).await?;
        let states = now["workflow"]["states"].as_array_mut().context("no states")?;
        let state = states.iter_mut().find(|it| it["name"] == state).context("no such state")?;
        let trigger = &mut state["triggers"][name];
        *trigger = with(trigger.take(), &change);
        let body = json!({ "workflow": now["workflow"], "version": now["version"] });
        self.served()?.call_route(Method::PUT, &path, Some(body)).await
    }

    /// Polls a route until it has the wanted value.
    pub async fn until<T>(&self, what: &str, path: &str, wanted: impl Fn(&Value) -> Option<T>) -> Result<T> {
        let seen = Mutex::new(Value::Null);
        let found = patience::until_within(LIMIT, what, async || {
            let now = self.get(path).await?;
            let found = wanted(&now);
            *seen.lock().unwrap_or_else(PoisonError::into_inner) = now;
            Ok(found)
        });
        let found = found.await;
        let seen = seen.into_inner().unwrap_or_else(PoisonError::into_inner);
        found.with_context(|| format!("{path}: {seen:#}\nthe model refused {:?}", self.server.refused()))
    }

    /// Waits until a task satisfies a condition.
    pub async fn wait_for_task(&self, task: &Value, wanted: impl Fn(&Value) -> bool) -> Result<Value> {
        let id = text(task, "id");
        let found =
            self.until("the task", &format!("/tasks/{id}"), |now| wanted(now).then(|| now.clone())).await;
        match found {
            Ok(found) => Ok(found),
            Err(error) => {
                let runs = self.runs(task).await?;
                let mut logs = String::new();
                for run in &runs {
                    for entry in self.log(run).await? {
                        logs.push_str(&format!("{} {}\n", entry["kind"], entry["body"]));
                    }
                }
                bail!("{error:#}\nruns: {runs:#?}\nlogs:\n{logs}")
            }
        }
    }

    pub async fn runs(&self, task: &Value) -> Result<Vec<Value>> {
        self.items(&format!("/tasks/{}/executions", text(task, "id"))).await
    }

    /// Waits until the last run of a task satisfies a condition.
    pub async fn wait_for_run(&self, task: &Value, wanted: impl Fn(&Value) -> bool) -> Result<Value> {
        let path = format!("/tasks/{}/executions", text(task, "id"));
        let last = |now: &Value| now["items"].as_array().and_then(|items| items.last().cloned());
        self.until("the run", &path, |now| last(now).filter(|run| wanted(run))).await
    }

    /// A run's log.
    pub async fn log(&self, run: &Value) -> Result<Vec<Value>> {
        let page = self.get(&format!("/executions/{}/logs?after=0&limit=200", text(run, "id"))).await?;
        Ok(page["entries"].as_array().context("no entries")?.clone())
    }

    /// What a run's program printed, as its log has it.
    pub fn raw_log(&self, task: &Value, run: &Value) -> Result<Vec<u8>> {
        let folder = self.path("data/logs").join(&self.project).join(text(task, "id"));
        let raw = std::fs::File::open(folder.join(format!("{}.raw.zst", text(run, "log_id"))))?;
        Ok(zstd::decode_all(raw)?)
    }

    /// Where the agent of a task works: its worktree, or the copy of that on the machine.
    pub async fn place(&self, task: &Value) -> Result<PathBuf> {
        if self.machine.is_none() {
            return self.worktree(task).await;
        }
        let copies = self.machine.as_ref().map(Server::copies).unwrap_or_default();
        let of_task = copies.into_iter().find(|copy| copy.ends_with(text(task, "id")));
        Ok(of_task.context("the machine has no copy")?.join("tree"))
    }

    /// A task's worktree.
    pub async fn worktree(&self, task: &Value) -> Result<PathBuf> {
        Ok(PathBuf::from(text(&self.get(&format!("/tasks/{}/workspace", text(task, "id"))).await?, "path")))
    }

    /// The path of a file in a task's worktree, which may not exist yet.
    pub async fn worktree_file(&self, task: &Value, name: &str) -> Result<PathBuf> {
        let path = format!("/tasks/{}", text(task, "id"));
        self.until("a worktree", &path, |now| now["workspace"].is_object().then_some(())).await?;
        Ok(self.worktree(task).await?.join(name))
    }

    /// Sends a message to a task's agent.
    pub async fn follow_up(&self, run: &Value, words: &str, more: Value) -> Result<Value> {
        let path = format!("/executions/{}/follow-up", text(run, "id"));
        self.post(&path, with(json!({ "message": words }), &more)).await
    }

    /// Changes the agent's profile.
    pub async fn change_agent(&self, change: Value) -> Result<Value> {
        self.served()?.call_route(Method::PATCH, &format!("/agents/{}", self.agent), Some(change)).await
    }

    /// Every live process of the fixture except the engine, its keepers and the way to a machine.
    pub fn processes(&self) -> Result<Vec<Process>> {
        let is_other = |it: &Process| !it.is_keeper() && !it.is_way();
        Ok(self.processes_with_keeper()?.into_iter().filter(is_other).collect())
    }

    /// Every live process of the fixture except the engine.
    pub fn processes_with_keeper(&self) -> Result<Vec<Process>> {
        let engine = self.served.as_ref().map(Served::pid);
        Ok(processes::below(self.dir.path())?.into_iter().filter(|it| Some(it.pid) != engine).collect())
    }

    /// Waits until only the engine is left.
    pub async fn wait_until_no_process(&self) -> Result<()> {
        let gone = patience::until_within(LIMIT, "the end of what runs here", async || {
            Ok(self.processes()?.is_empty().then_some(()))
        });
        let gone = gone.await;
        gone.with_context(|| format!("left behind: {:#?}", self.processes()))
    }

    /// Ends every scenario: no process is left beside the engine, and none after its regular end.
    pub async fn assert_no_leftovers(mut self) -> Result<()> {
        self.wait_until_no_process().await?;
        if let Some(mut served) = self.served.take() {
            served.end_in_order();
            ensure!(served.is_gone()?, "the engine does not end");
        }
        drop(self.machine.take());
        let left = self.processes()?;
        ensure!(left.is_empty(), "left behind by the engine's end: {left:#?}");
        patience::until("the keeper's end", async || {
            Ok(self.processes_with_keeper()?.is_empty().then_some(()))
        })
        .await
    }

    /// Waits for a file of a task's worktree.
    pub async fn wait_for_file(&self, task: &Value, name: &str) -> Result<PathBuf> {
        let file = self.worktree_file(task, name).await?;
        let path = format!("/tasks/{}", text(task, "id"));
        self.until(name, &path, |_| file.exists().then_some(())).await?;
        Ok(file)
    }

    /// The session cost that the program itself reports at the end of the raw log.
    pub fn reported_dollars(&self, task: &Value, run: &Value) -> Result<f64> {
        let raw = String::from_utf8(self.raw_log(task, run)?)?;
        let mut results = raw.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
        let last = results.rfind(|it| it["type"] == "result").context("no result")?;
        last["total_cost_usd"].as_f64().context("no cost")
    }

    /// A path below the test's folder.
    pub fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }
}

const fn name_of(program: AgentProgram) -> &'static str {
    match program {
        AgentProgram::Codex => "codex",
        AgentProgram::Claude => "claude",
        AgentProgram::OpenCode => "opencode",
        AgentProgram::Gemini => "gemini",
    }
}

fn serve(dir: &Path) -> Result<Served> {
    Serve { program: "forge", data: dir.join("data"), env: Vec::new() }.start()
}

/// Entries of a kind.
pub fn of_kind<'a>(log: &'a [Value], kind: &str) -> Vec<&'a Value> {
    log.iter().filter(|entry| entry["kind"] == kind).collect()
}
