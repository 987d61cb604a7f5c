//! Kills around every run of a lifecycle hook: none is lost or run twice, and an interrupted blocking hook waits
//! for a person.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use anyhow::{Context as _, Result, ensure};
use forge_testkit::serve::{Serve, Served, marked_processes, scripted_agent};
use forge_testkit::{Repository, fault};
use serde_json::{Value, json};
use tempfile::TempDir;

/// Every hook of the project, in the order of an undisturbed task.
const HOOKS: [&str; 7] = [
    "before_work[0]",
    "before_work[1]",
    "before_work[2]",
    "on_work_start[0]",
    "on_work_stop[0]",
    "on_task_done[0]",
    "on_task_done[1]",
];

struct HookFixture {
    server: Served,
    dir: TempDir,
    repo: Repository,
    task: String,
}

fn evidence(dir: &Path) -> PathBuf {
    dir.join("evidence")
}

/// A hook script that records its name and then waits.
fn script(dir: &Path, name: &str, blocking: bool) -> Value {
    let command = format!("echo '{name}' >> '{}'; sleep 0.2", evidence(dir).display());
    json!({ "type": "script", "command": command, "blocking": blocking })
}

impl HookFixture {
    fn serve(dir: &Path, env: Vec<(String, String)>) -> Result<Served> {
        Serve { program: "forge-faulty", data: dir.join("data"), env }.start()
    }

    /// A project with hooks and a task whose claim may have been interrupted.
    async fn start(env: Vec<(String, String)>, hooks: Option<Value>) -> Result<Self> {
        let dir = tempfile::tempdir()?;
        let repo = Repository::create(&dir.path().join("repo"), &[("README.md", "# Sample\n")])?;
        let at = dir.path();
        let server = Self::serve(at, env)?;
        let agent = server.post("/agents", scripted_agent("scripted")?).await?["id"].clone();
        let all = json!({
            "before_work": [
                script(at, HOOKS[0], true), script(at, HOOKS[1], true), script(at, HOOKS[2], false),
            ],
            "on_work_start": [script(at, HOOKS[3], false)],
            "on_work_stop": [script(at, HOOKS[4], false)],
            "on_task_done": [script(at, HOOKS[5], false), script(at, HOOKS[6], false)],
        });
        let settings = json!({
            "auto_approve": true, "shell": ["sh", "-c"], "lifecycle_hooks": hooks.unwrap_or(all),
        });
        let new = json!({ "name": "sample", "repo_path": repo.path(), "settings": settings });
        let project = server.post("/projects", new).await?;
        let path = format!("/projects/{}/tasks", project["id"].as_str().context("no id")?);
        let description = "```forge-script\nedit work.txt <<< \"done\\n\"\n```";
        let new = json!({ "title": "Hooked", "description": description, "roles": { "coder": agent } });
        let task = server.post(&path, new).await?;
        let id = task["id"].as_str().context("no id")?.to_owned();
        // The server may be killed while it answers.
        let claim = json!({ "agent_id": agent, "version": task["version"] });
        let _ = server.post(&format!("/tasks/{id}/claim"), claim).await;
        Ok(Self { dir, repo, server, task: id })
    }

    async fn until_killed(&mut self) -> Result<()> {
        self.server.until_gone().await
    }

    fn restart(&mut self) -> Result<()> {
        self.server.kill()?;
        self.server = Self::serve(self.dir.path(), Vec::new())?;
        Ok(())
    }

    /// Continues to the end, retries hooks that hold the task, and returns the number of retries.
    async fn run_to_done(&self) -> Result<u32> {
        let task = &self.task;
        let mut retried = 0;
        loop {
            let over = |task: &Value| task["workspace"]["status"] == "cleaned" && task["status"] == "done";
            let held = |task: &Value| task["error_annotation"].is_object();
            let now = self.server.wait(task, "done or held", |task| over(task) || held(task)).await?;
            if over(&now) {
                return Ok(retried);
            }
            let annotation = &now["error_annotation"];
            ensure!(annotation["type"] == "before_work_hook_failed", "{annotation:#}");
            ensure!(now["status"] == "in_progress" && now["live"].is_null(), "{now:#}");
            ensure!(annotation["hook"]["event"] == "before_work", "{annotation:#}");
            retried += 1;
            let body = json!({ "version": now["version"] });
            self.server.post(&format!("/tasks/{task}/actions/retry_hook"), body).await?;
        }
    }

    /// The hooks in the timeline: name, outcome, reason.
    async fn hooks(&self) -> Result<Vec<(String, String, String)>> {
        let moves = self.server.get(&format!("/tasks/{}/transitions", self.task)).await?;
        let text = |step: &Value, key: &str| step[key].as_str().unwrap_or_default().to_owned();
        let steps = moves["items"].as_array().context("no moves")?.iter();
        let steps = steps.flat_map(|one| one["steps"].as_array().cloned().unwrap_or_default());
        Ok(steps
            .filter(|step| text(step, "action").ends_with(']'))
            .map(|step| (text(&step, "action"), text(&step, "outcome"), text(&step, "reason")))
            .collect())
    }

    fn runs(&self) -> BTreeMap<String, usize> {
        let mut runs = BTreeMap::new();
        for line in std::fs::read_to_string(evidence(self.dir.path())).unwrap_or_default().lines() {
            *runs.entry(line.to_owned()).or_default() += 1;
        }
        runs
    }

    async fn check(&self, retried: u32) -> Result<()> {
        let (hooks, runs) = (self.hooks().await?, self.runs());
        // A run that was lost with Forge is made up for by another, which has hooks of its own.
        let rounds = hooks.iter().filter(|(name, ..)| name == HOOKS[3]).count();
        ensure!(matches!(rounds, 1 | 2), "{rounds} runs: {hooks:?}");
        let mut interrupted = 0;
        for name in HOOKS {
            let rows: Vec<_> = hooks.iter().filter(|(hook, ..)| hook == name).collect();
            let ran = runs.get(name).copied().unwrap_or_default();
            let cut: Vec<_> = rows.iter().filter(|(_, outcome, _)| outcome == "failed").collect();
            let well = rows.iter().filter(|(_, outcome, _)| outcome == "ok").count();
            ensure!(cut.iter().all(|(_, _, reason)| reason.starts_with("interrupted")), "{rows:?}");
            ensure!(cut.len() <= 1, "{name} was cut short more than once: {rows:?}");
            ensure!(ran >= well && ran <= well + cut.len(), "{name} ran {ran} times: {rows:?}");
            let blocking = name == HOOKS[0] || name == HOOKS[1];
            let times = if name.starts_with("on_task_done") { 1 } else { rounds };
            let wanted = if blocking { times } else { times - cut.len() };
            ensure!(well == wanted, "{name} ended well {well} times, not {wanted}: {hooks:?}");
            interrupted += if blocking { cut.len() } else { 0 };
        }
        ensure!(interrupted == retried as usize, "{interrupted} barriers, {retried} retries: {hooks:?}");
        ensure!(self.repo.show("main", "work.txt").as_deref() == Some("done"), "main does not hold the work");
        ensure!(marked_processes(self.dir.path())?.is_empty(), "processes are left");
        Ok(())
    }
}

async fn survives(point: &str, times: u32) -> Result<()> {
    let env = vec![(fault::FAULT_VARIABLE.to_owned(), format!("{point}#{times}"))];
    let mut fixture = HookFixture::start(env, None).await?;
    fixture.until_killed().await?;
    fixture.restart()?;
    let retried = fixture.run_to_done().await?;
    fixture.check(retried).await
}

#[tokio::test(flavor = "multi_thread")]
async fn hooks_run_exactly_once_after_a_kill_at_any_fault_point() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let trace = folder.path().join("trace.txt");
    let env = vec![(fault::TRACE_VARIABLE.to_owned(), trace.to_string_lossy().into_owned())];
    let undisturbed = HookFixture::start(env, None).await?;
    ensure!(undisturbed.run_to_done().await? == 0);
    undisturbed.check(0).await?;
    let hooks = undisturbed.hooks().await?;
    ensure!(hooks.iter().map(|(name, ..)| name.as_str()).eq(HOOKS), "{hooks:?}");
    let mut passed: BTreeMap<String, u32> = BTreeMap::new();
    let mut cases = Vec::new();
    for point in std::fs::read_to_string(&trace)?.lines() {
        let times = passed.entry(point.to_owned()).or_default();
        *times += 1;
        let of_a_hook = point.ends_with(']') || ["hook.ran", "process.started"].contains(&point);
        let around = ["execution.recorded", "execution.finished"].contains(&point);
        if of_a_hook || around {
            cases.push((point.to_owned(), *times));
        }
    }
    for name in HOOKS {
        assert!(passed.contains_key(&format!("step.begin:{name}")), "{name} is not among {passed:?}");
    }
    println!("{} kills", cases.len());
    crate::faults::all_survived(cases, |point, times| async move { survives(&point, times).await }).await
}

/// Kills Forge during an endless script that has printed a line, then starts it again.
async fn interrupted_hook(event: &str, blocking: bool) -> Result<HookFixture> {
    let said = tempfile::NamedTempFile::new()?;
    let command = format!("echo said | tee -a '{}'; sleep 600", said.path().display());
    let hook = json!({
        "type": "script", "command": command, "blocking": blocking, "timeout_seconds": 3600,
    });
    let mut fixture = HookFixture::start(Vec::new(), Some(json!({ event: [hook] }))).await?;
    for _ in 0..1000 {
        if std::fs::read_to_string(said.path())? == "said\n" {
            break;
        }
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
    // An agent that was lost with Forge would be started again, and be told of by another hook.
    for _ in 0..1000 {
        let runs = fixture.server.get(&format!("/tasks/{}/executions", fixture.task)).await?;
        if blocking || runs["items"][0]["status"] == "finished" {
            break;
        }
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
    fixture.restart()?;
    for _ in 0..1000 {
        if fixture.hooks().await?.first().is_some_and(|(_, outcome, _)| outcome == "failed") {
            break;
        }
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
    let hooks = fixture.hooks().await?;
    ensure!(hooks.len() == 1 && hooks[0].2.starts_with("interrupted"), "{hooks:?}");
    ensure!(std::fs::read_to_string(said.path())? == "said\n", "it was run again");
    let moves = fixture.server.get(&format!("/tasks/{}/transitions", fixture.task)).await?;
    let steps = moves["items"][0]["steps"].as_array().cloned().unwrap_or_default();
    let is_hook = |step: &&Value| step["action"].as_str().is_some_and(|name| name.starts_with(event));
    let log = steps.iter().filter(is_hook).find_map(|step| step["log_id"].as_str()).context("no log")?;
    let page = fixture.server.get(&format!("/tasks/{}/logs/{log}", fixture.task)).await?;
    let last = page["entries"].as_array().and_then(|all| all.last()).context("an empty log")?;
    ensure!(last["kind"] == "hook_run" && last["body"]["status"] == "interrupted", "{page:#}");
    Ok(fixture)
}

#[tokio::test(flavor = "multi_thread")]
async fn interrupted_blocking_hook_holds_the_task_until_a_person_decides() -> Result<()> {
    let fixture = interrupted_hook("before_work", true).await?;
    let task = fixture.server.get(&format!("/tasks/{}", fixture.task)).await?;
    ensure!(task["error_annotation"]["type"] == "before_work_hook_failed", "{task:#}");
    ensure!(task["entry_barrier"].is_object() && task["live"].is_null(), "{task:#}");
    ensure!(marked_processes(fixture.dir.path())?.is_empty(), "its processes go on");
    let body = json!({ "version": task["version"], "reason": "it hangs" });
    fixture.server.post(&format!("/tasks/{}/actions/skip_hook_once", fixture.task), body).await?;
    fixture.server.wait(&fixture.task, "done", |task| task["status"] == "done").await.map(drop)
}

#[tokio::test(flavor = "multi_thread")]
async fn interrupted_non_blocking_hook_does_not_hold_the_task() -> Result<()> {
    let fixture = interrupted_hook("on_work_start", false).await?;
    fixture.server.wait(&fixture.task, "done", |task| task["status"] == "done").await.map(drop)
}
