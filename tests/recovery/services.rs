//! A kill at each fault point of a service's start: the next engine has one process of it, ready, with its whole log.

use std::{
    path::Path,
    process::{Command, Stdio},
    time::Duration,
};

use anyhow::{Context as _, Result, bail, ensure};
use forge_testkit::serve::{Serve, Served, marked_processes, scripted_agent};
use forge_testkit::{HERMETIC_GIT, Repository, fault, program};
use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};
use serde_json::{Value, json};
use tempfile::TempDir;

/// How many lines the service prints before it is ready.
const LINES: usize = 30;

struct ServiceFixture {
    server: Served,
    dir: TempDir,
    task: String,
}

impl ServiceFixture {
    fn serve(dir: &Path, env: Vec<(String, String)>) -> Result<Served> {
        Serve { program: "forge-faulty", data: dir.join("data"), env }.start()
    }

    /// A task whose work waits for a person, and the start of a service that may have been cut short.
    async fn start(env: Vec<(String, String)>) -> Result<Self> {
        Self::start_ready_within(env, 120).await
    }

    /// The same with a service that is given up unless it is ready within so many seconds.
    async fn start_ready_within(env: Vec<(String, String)>, seconds: u32) -> Result<Self> {
        let dir = tempfile::tempdir()?;
        let repo = Repository::create(&dir.path().join("repo"), &[("README.md", "# Sample\n")])?;
        let server = Self::serve(dir.path(), env)?;
        let agent = server.post("/agents", scripted_agent("scripted")?).await?["id"].clone();
        let command = format!(
            "echo started >> '{}'; for n in $(seq {LINES}); do echo line $n; sleep 0.05; done; echo up; exec sleep 600",
            dir.path().join("evidence").display()
        );
        let service = json!({
            "name": "web", "command": command, "ready": { "pattern": "^up$" }, "ready_within_seconds": seconds,
        });
        let settings = json!({ "shell": ["sh", "-c"], "services": [service], "sandbox": { "mode": "off" } });
        let new = json!({ "name": "sample", "repo_path": repo.path(), "settings": settings });
        let project = server.post("/projects", new).await?;
        let path = format!("/projects/{}/tasks", project["id"].as_str().context("no id")?);
        let description = "```forge-script\nedit work.txt <<< \"done\\n\"\n```";
        let new = json!({ "title": "Serve", "description": description, "roles": { "coder": agent } });
        let task = server.post(&path, new).await?;
        let id = task["id"].as_str().context("no id")?.to_owned();
        let claim = json!({ "agent_id": agent, "version": task["version"] });
        server.post(&format!("/tasks/{id}/claim"), claim).await?;
        let waits = |task: &Value| task["review"]["status"] == "awaiting_human";
        server.wait(&id, "awaiting a person", waits).await?;
        // The server may be killed while it answers.
        let _ = server.post(&format!("/tasks/{id}/services/start"), json!({})).await;
        Ok(Self { server, dir, task: id })
    }

    async fn last(&self) -> Result<Value> {
        let page = self.server.get(&format!("/tasks/{}/services", self.task)).await?;
        Ok(page["items"][0]["last"].clone())
    }

    async fn until(&self, state: &str) -> Result<Value> {
        for _ in 0..1000 {
            let last = self.last().await?;
            if last["state"] == state {
                return Ok(last);
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        bail!("the service did not become {state}: {:#}", self.last().await?)
    }

    /// One process, ready, and each line once.
    async fn check(&self) -> Result<()> {
        let ready = self.until("ready").await?;
        let starts = std::fs::read_to_string(self.dir.path().join("evidence"))?;
        ensure!(starts == "started\n", "it was started otherwise than once: {starts:?}");
        let log = ready["log_id"].as_str().context("no log")?;
        let wanted: String = (1..=LINES).map(|n| format!("line {n}\n")).chain(["up\n".to_owned()]).collect();
        // What was matched is on its way to the log.
        let mut text = String::new();
        for _ in 0..500 {
            text = self.printed(log).await?;
            if text.len() >= wanted.len() {
                break;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        ensure!(text == wanted, "the log is not whole: {text}");
        self.server.post(&format!("/tasks/{}/services/stop", self.task), json!({})).await?;
        self.check_gone()
    }

    /// What the service printed, as far as its log has it.
    async fn printed(&self, log: &str) -> Result<String> {
        let page = self.server.get(&format!("/tasks/{}/logs/{log}?limit=200", self.task)).await?;
        let entries = page["entries"].as_array().context("no entries")?;
        let printed = entries.iter().filter(|entry| entry["kind"] == "stdout");
        Ok(printed.filter_map(|entry| entry["body"]["text"].as_str()).collect())
    }

    /// Nothing of the service runs. Forge asks the login shell at its start, which is no service.
    fn check_gone(&self) -> Result<()> {
        let left = marked_processes(self.dir.path())?;
        ensure!(!left.iter().any(|process| process.contains("sleep 600")), "processes are left: {left:?}");
        Ok(())
    }
}

async fn survives(point: &str) -> Result<()> {
    let env = vec![(fault::FAULT_VARIABLE.to_owned(), point.to_owned())];
    let mut fixture = ServiceFixture::start(env).await?;
    fixture.server.until_gone().await?;
    fixture.server.kill()?;
    fixture.server = ServiceFixture::serve(fixture.dir.path(), Vec::new())?;
    fixture.check().await.with_context(|| point.to_owned())
}

#[tokio::test(flavor = "multi_thread")]
async fn kill_before_the_keeper_has_a_service_starts_it_once() -> Result<()> {
    survives("service.recorded").await
}

#[tokio::test(flavor = "multi_thread")]
async fn kill_before_the_start_is_noted_goes_on_with_the_same_process() -> Result<()> {
    survives("service.started").await
}

#[tokio::test(flavor = "multi_thread")]
async fn kill_after_the_start_is_noted_goes_on_with_the_same_process() -> Result<()> {
    survives("service.spawned").await
}

#[tokio::test(flavor = "multi_thread")]
async fn kill_of_a_ready_service_leaves_it_ready() -> Result<()> {
    survives("service.ready").await
}

/// The time without an engine does not count: the service may have been ready for long.
#[tokio::test(flavor = "multi_thread")]
async fn service_is_given_its_time_again_by_the_next_engine() -> Result<()> {
    let env = vec![(fault::FAULT_VARIABLE.to_owned(), "service.spawned".to_owned())];
    let mut fixture = ServiceFixture::start_ready_within(env, 2).await?;
    fixture.server.until_gone().await?;
    fixture.server.kill()?;
    tokio::time::sleep(Duration::from_millis(2500)).await;
    fixture.server = ServiceFixture::serve(fixture.dir.path(), Vec::new())?;
    fixture.check().await
}

#[tokio::test(flavor = "multi_thread")]
async fn command_without_an_engine_begins_what_a_kill_cut_short() -> Result<()> {
    let env = vec![(fault::FAULT_VARIABLE.to_owned(), "service.recorded".to_owned())];
    let mut fixture = ServiceFixture::start(env).await?;
    fixture.server.until_gone().await?;
    fixture.server.kill()?;
    let (dir, told) = (fixture.dir.path(), fixture.dir.path().join("told"));
    let output = std::fs::File::create(&told)?;
    let mut run = Command::new(program("forge")?);
    run.args(["task", "run", "1", "--data-dir"]).arg(dir.join("data")).envs(HERMETIC_GIT);
    run.env("HOME", dir).env("SHELL", "/bin/sh").stdin(Stdio::null());
    let mut run = run.stdout(output.try_clone()?).stderr(output).spawn()?;
    let mut said = String::new();
    for _ in 0..1000 {
        said = std::fs::read_to_string(&told)?;
        if said.contains("web of #1 is ready") || run.try_wait()?.is_some() {
            break;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    ensure!(said.contains("web of #1 is ready"), "{said}");
    kill(Pid::from_raw(run.id().try_into()?), Signal::SIGINT)?;
    run.wait()?;
    let starts = std::fs::read_to_string(dir.join("evidence"))?;
    ensure!(starts == "started\n", "it was started otherwise than once: {starts:?}");
    fixture.check_gone()
}

#[tokio::test(flavor = "multi_thread")]
async fn stop_that_was_cut_short_leaves_nothing_running() -> Result<()> {
    let env = vec![(fault::FAULT_VARIABLE.to_owned(), "service.stopped".to_owned())];
    let mut fixture = ServiceFixture::start(env).await?;
    fixture.until("ready").await?;
    let _ = fixture.server.post(&format!("/tasks/{}/services/stop", fixture.task), json!({})).await;
    fixture.server.until_gone().await?;
    fixture.server.kill()?;
    fixture.server = ServiceFixture::serve(fixture.dir.path(), Vec::new())?;
    let stopped = fixture.until("stopped").await?;
    ensure!(stopped["reason"] == "Stopped by a person", "{stopped:#}");
    fixture.check_gone()
}
