//! Kills while the worktree of a cancelled task is removed: every uncommitted byte is in a backup ref afterwards.

use std::collections::BTreeMap;

use anyhow::{Context as _, Result, ensure};
use forge_testkit::serve::{Serve, Served, marked_processes, scripted_agent};
use forge_testkit::{Repository, fault};
use serde_json::json;
use tempfile::TempDir;

const WORK: &str = "```forge-script\nedit half.txt <<< \"half done\\n\"\nhang\n```";

struct CancelFixture {
    server: Served,
    dir: TempDir,
    repo: Repository,
    task: String,
}

impl CancelFixture {
    /// A task whose agent has written a file and runs endlessly.
    async fn start(env: Vec<(String, String)>) -> Result<Self> {
        let dir = tempfile::tempdir()?;
        let repo = Repository::create(&dir.path().join("repo"), &[("README.md", "# Sample\n")])?;
        let server = serve(&dir, env)?;
        let agent = server.post("/agents", scripted_agent("scripted")?).await?["id"].clone();
        let project = server.post("/projects", json!({ "name": "sample", "repo_path": repo.path() })).await?;
        let path = format!("/projects/{}/tasks", project["id"].as_str().context("no id")?);
        let new = json!({ "title": "Given up", "description": WORK, "roles": { "coder": agent } });
        let task = server.post(&path, new).await?;
        let id = task["id"].as_str().context("no id")?.to_owned();
        server
            .post(&format!("/tasks/{id}/claim"), json!({ "agent_id": agent, "version": task["version"] }))
            .await?;
        server
            .wait(&id, "at work", |task| {
                let tree = task["workspace"]["path"].as_str().unwrap_or_default();
                let holder = &task["workspace"]["lock"]["pid"];
                // Its start is over when the lock is in the name of the agent: it can write before.
                std::path::Path::new(tree).join("half.txt").exists() && *holder != server.pid()
            })
            .await?;
        Ok(Self { dir, repo, server, task: id })
    }

    /// Cancels the task; the server may be killed while it answers.
    async fn cancel(&self) -> Result<()> {
        loop {
            let task = self.server.get(&format!("/tasks/{}", self.task)).await?;
            let body = json!({ "version": task["version"] });
            match self.server.post(&format!("/tasks/{}/actions/cancel?wait=none", self.task), body).await {
                // After a restart the task is on the move: what was read is old a moment later.
                Err(error) if error.to_string().contains("version_conflict") => {}
                other => return other.map(drop),
            }
        }
    }

    async fn check(&self) -> Result<()> {
        let cleaned = |task: &serde_json::Value| task["workspace"]["status"] == "cleaned";
        let task = self.server.wait(&self.task, "cleaned", cleaned).await?;
        ensure!(task["status"] == "cancelled", "{task:#}");
        let backups = self.server.get(&format!("/tasks/{}/backups", self.task)).await?;
        let commits: Vec<&str> =
            backups["items"].as_array().into_iter().flatten().filter_map(|b| b["commit"].as_str()).collect();
        let kept =
            commits.iter().any(|commit| self.repo.show(commit, "half.txt").as_deref() == Some("half done"));
        ensure!(kept, "no backup holds the uncommitted file: {backups:#}");
        ensure!(self.repo.git(&["worktree", "list"])?.lines().count() == 1, "a worktree is left");
        ensure!(marked_processes(self.dir.path())?.is_empty(), "processes are left");
        Ok(())
    }
}

fn serve(dir: &TempDir, mut env: Vec<(String, String)>) -> Result<Served> {
    env.push(("FORGE_WORKSPACE_CLEANUP_DELAY_SECONDS".to_owned(), "0".to_owned()));
    Serve { program: "forge-faulty", data: dir.path().join("data"), env }.start()
}

#[tokio::test(flavor = "multi_thread")]
async fn uncommitted_work_of_a_cancelled_task_is_backed_up_after_a_kill() -> Result<()> {
    let trace_dir = tempfile::tempdir()?;
    let trace = trace_dir.path().join("trace.txt");
    let undisturbed =
        CancelFixture::start(vec![(fault::TRACE_VARIABLE.to_owned(), trace.to_string_lossy().into_owned())])
            .await?;
    let before = std::fs::read_to_string(&trace)?.lines().count();
    undisturbed.cancel().await?;
    undisturbed.check().await?;
    let mut passed: BTreeMap<String, u32> = BTreeMap::new();
    let mut cases = Vec::new();
    for (index, point) in std::fs::read_to_string(&trace)?.lines().enumerate() {
        let times = passed.entry(point.to_owned()).or_default();
        *times += 1;
        if index >= before {
            cases.push((point.to_owned(), *times));
        }
    }
    assert!(cases.iter().any(|(point, _)| point == "cleanup.backed_up"), "{cases:?}");
    for (point, times) in cases {
        let case = format!("killed at {point}#{times}");
        let mut fixture =
            CancelFixture::start(vec![(fault::FAULT_VARIABLE.to_owned(), format!("{point}#{times}"))])
                .await
                .context(case.clone())?;
        // The kill may come before, while or after it answers.
        let _ = fixture.cancel().await;
        fixture.server.until_gone().await.context(case.clone())?;
        fixture.server = serve(&fixture.dir, Vec::new())?;
        if fixture.server.get(&format!("/tasks/{}", fixture.task)).await?["status"] != "cancelled" {
            fixture.cancel().await.context(case.clone())?;
        }
        fixture.check().await.context(case)?;
    }
    Ok(())
}
