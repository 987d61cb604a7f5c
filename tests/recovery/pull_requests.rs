//! Kills and panics on the way to a code host and back: there is one pull request, whatever was recorded of it, and
//! the task is done.

use anyhow::{Context as _, Result, ensure};
use forge_model::pull_request::{HostKind, PullRequestState};
use forge_testkit::serve::{Serve, Served, marked_processes, scripted_agent};
use forge_testkit::{
    Repository, fault,
    hosts::{FakeHost, TOKEN},
};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::faults::{self, Fault};

struct PullRequestFixture {
    server: Served,
    dir: TempDir,
    repo: Repository,
    host: FakeHost,
    task: String,
}

fn serve(dir: &TempDir, mut env: Vec<(String, String)>) -> Result<Served> {
    env.push(("FORGE_GITHUB_TOKEN".to_owned(), TOKEN.to_owned()));
    env.push(("FORGE_HOST_PACE".to_owned(), "300".to_owned()));
    Serve { program: "forge-faulty", data: dir.path().join("data"), env }.start()
}

impl PullRequestFixture {
    /// A task on its way to the code host.
    async fn start(env: Vec<(String, String)>) -> Result<Self> {
        let dir = tempfile::tempdir()?;
        let repo = Repository::create(&dir.path().join("repo"), &[("README.md", "# Sample\n")])?;
        let bare = dir.path().join("bare.git");
        let host = FakeHost::start(HostKind::Github, &bare).await?;
        repo.git(&["remote", "add", "origin", &bare.to_string_lossy()])?;
        repo.git(&["push", "--quiet", "origin", "main"])?;
        let server = serve(&dir, env)?;
        let agent = server.post("/agents", scripted_agent("scripted")?).await?["id"].clone();
        let new = json!({
            "name": "sample", "repo_path": repo.path(), "work_mode": "pull_request",
            "settings": { "auto_approve": true, "shell": ["sh", "-c"], "code_host": host.config("origin") },
        });
        let project = server.post("/projects", new).await?;
        let path = format!("/projects/{}/tasks", project["id"].as_str().context("no id")?);
        let work = "```forge-script\nedit work.txt <<< \"done\\n\"\n```";
        let new = json!({ "title": "Proposed", "description": work, "roles": { "coder": agent } });
        let task = server.post(&path, new).await?;
        let id = task["id"].as_str().context("no id")?.to_owned();
        // The server may be killed while it answers.
        let claim = json!({ "agent_id": agent, "version": task["version"] });
        let _ = server.post(&format!("/tasks/{id}/claim"), claim).await;
        Ok(Self { dir, repo, host, server, task: id })
    }

    /// False when the server is gone, whose process may end shortly after its connection; otherwise the error.
    async fn false_if_gone(&mut self, error: anyhow::Error) -> Result<bool> {
        match self.server.until_gone().await {
            Ok(()) => Ok(false),
            Err(_) => Err(error),
        }
    }

    /// Waits until the pull request is open; false when the server is gone.
    async fn wait_until_proposed(&mut self) -> Result<bool> {
        let waits = |task: &Value| task["waiting"]["reason"] == "awaiting_merge" || task["status"] == "done";
        match self.server.wait(&self.task, "waiting for its merge", waits).await {
            Ok(_) => Ok(true),
            Err(error) => self.false_if_gone(error).await,
        }
    }

    /// Merges the pull request and waits until the task is done; false when the server is gone.
    async fn merge_and_wait(&mut self) -> Result<bool> {
        if self.host.pull_requests().last().context("none")?.state == PullRequestState::Open {
            self.host.merge(1)?;
        }
        let ended = |task: &Value| task["status"] == "done" && task["workspace"]["status"] == "cleaned";
        match self.server.wait(&self.task, "done", ended).await {
            Ok(_) => Ok(true),
            Err(error) => self.false_if_gone(error).await,
        }
    }

    async fn check(&self) -> Result<()> {
        let pulls = self.host.pull_requests();
        ensure!(pulls.len() == 1 && pulls[0].state == PullRequestState::Merged, "{pulls:#?}");
        ensure!(pulls[0].body.contains("Forge task 1: Proposed"), "{pulls:#?}");
        let merges = self.server.get(&format!("/tasks/{}/merges", self.task)).await?;
        let landed = merges["items"].as_array().context("no merges")?;
        ensure!(landed.len() == 1 && landed[0]["status"] == "landed", "{merges:#}");
        let moves = self.server.get(&format!("/tasks/{}/transitions", self.task)).await?;
        let moves = moves["items"].as_array().context("no moves")?;
        let ended = moves.iter().filter(|one| one["actor"] == "system:host").count();
        ensure!(ended == 1, "{ended} moves by the host: {moves:#?}");
        self.repo.git(&["fetch", "--quiet", "origin"])?;
        ensure!(self.repo.show("origin/main", "work.txt").as_deref() == Some("done"));
        ensure!(self.repo.show("main", "work.txt").is_none(), "main here was moved");
        ensure!(marked_processes(self.dir.path())?.is_empty(), "processes are left");
        Ok(())
    }
}

/// The fault points from the push to the end of an undisturbed task.
async fn fault_points() -> Result<Vec<(String, u32)>> {
    let folder = tempfile::tempdir()?;
    let trace = folder.path().join("trace.txt");
    let env = vec![(fault::TRACE_VARIABLE.to_owned(), trace.to_string_lossy().into_owned())];
    let mut fixture = PullRequestFixture::start(env).await?;
    ensure!(fixture.wait_until_proposed().await? && fixture.merge_and_wait().await?, "it ended by itself");
    fixture.check().await?;
    let mut passed = std::collections::BTreeMap::<String, u32>::new();
    for line in std::fs::read_to_string(trace)?.lines() {
        *passed.entry(line.to_owned()).or_default() += 1;
    }
    let mut cases = Vec::new();
    for (point, times) in passed {
        if point.starts_with("pr.") || point.ends_with(":run_merge") {
            cases.push((point.clone(), 1));
            // How often it looks until the merge is seen differs; the second look is there in any case.
            cases.extend((times > 1).then_some((point, 2)));
        }
    }
    Ok(cases)
}

async fn survives(fault: Fault, point: String, times: u32) -> Result<()> {
    let mut fixture = PullRequestFixture::start(fault.at(&point, times)).await?;
    if fault == Fault::Panic {
        ensure!(fixture.wait_until_proposed().await? && fixture.merge_and_wait().await?, "the server ended");
        fixture.check().await?;
        return faults::panicked(&fixture.dir.path().join("data"), &point);
    }
    let killed = !fixture.wait_until_proposed().await? || !fixture.merge_and_wait().await?;
    ensure!(killed, "the fault point was not passed again");
    fixture.server = serve(&fixture.dir, Vec::new())?;
    ensure!(fixture.wait_until_proposed().await? && fixture.merge_and_wait().await?, "it was killed again");
    fixture.check().await
}

#[tokio::test(flavor = "multi_thread")]
async fn kill_on_the_way_to_a_code_host_opens_no_second_pull_request() -> Result<()> {
    let cases = fault_points().await?;
    for expected in ["pr.intended", "pr.pushed", "pr.created", "pr.seen"] {
        ensure!(cases.iter().any(|(point, _)| point == expected), "{expected} is not among {cases:?}");
    }
    faults::all_survived(cases, |point, times| survives(Fault::Kill, point, times)).await
}

#[tokio::test(flavor = "multi_thread")]
async fn panic_on_the_way_to_a_code_host_opens_no_second_pull_request() -> Result<()> {
    let cases = fault_points().await?.into_iter().filter(|(_, times)| *times == 1).collect();
    faults::all_survived(cases, |point, times| survives(Fault::Panic, point, times)).await
}
