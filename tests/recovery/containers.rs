//! SIGKILL of the engine while a task works in its container: the agent runs once, and the container goes with the
//! worktree.

use std::{fs, path::PathBuf};

use anyhow::{Context as _, Result, ensure};
use forge_machines_testkit::{BASE, Podman};
use forge_testkit::{
    Repository,
    serve::{Serve, Served},
};
use forge_tests::patience;
use serde_json::{Value, json};
use tempfile::TempDir;

/// The user of the test: data, repository, and podman on the search path of a login.
struct User {
    here: TempDir,
    podman: Podman,
    repo: Repository,
}

impl User {
    /// None where podman may not run, which is told.
    fn new() -> Result<Option<Self>> {
        let Some(podman) = tokio::task::block_in_place(Podman::rootful) else { return Ok(None) };
        let here = tempfile::tempdir()?;
        fs::create_dir(here.path().join("data"))?;
        fs::write(here.path().join("data/keeper-owner"), podman.owner())?;
        let bin = podman.folder.path().display();
        fs::write(here.path().join(".profile"), format!("export PATH=\"{bin}:$PATH\"\n"))?;
        let repo = Repository::create(&here.path().join("repo"), &[("README.md", "# Sample\n")])?;
        Ok(Some(Self { here, podman, repo }))
    }

    fn data(&self) -> PathBuf {
        self.here.path().join("data")
    }

    fn serve(&self) -> Result<Served> {
        Serve { program: "forge", data: self.data(), env: Vec::new() }.start()
    }

    fn containers(&self) -> Result<Vec<String>> {
        let owner = format!("label=forge.owner={}", self.podman.owner());
        let all = self.podman.podman(&["ps", "--all", "--format", "{{.Names}}", "--filter", &owner])?;
        Ok(all.lines().map(str::to_owned).collect())
    }

    /// Has a shell do something in the only container.
    fn inside(&self, script: &str) -> Result<String> {
        let all = self.containers()?;
        ensure!(all.len() == 1, "{all:?}");
        self.podman.podman(&["exec", &all[0], "sh", "-c", script])
    }
}

fn id_of(value: &Value) -> Result<String> {
    Ok(value["id"].as_str().with_context(|| format!("no id in {value}"))?.to_owned())
}

#[tokio::test(flavor = "multi_thread")]
async fn run_in_a_container_goes_on_over_kills_of_its_engine() -> Result<()> {
    let Some(user) = User::new()? else { return Ok(()) };
    let engine = user.serve()?;
    let container = json!({ "engine": "podman", "image": BASE, "network": "none" });
    engine.post("/machines", json!({ "name": "box", "container": container })).await?;
    let script = "echo begun >> /starts; i=0; while [ $i -lt 3 ]; do i=$((i+1)); echo step $i; touch /at-$i; \
                  until [ -e /go-$i ]; do sleep 0.05; done; echo $i >> work.txt; done; cp /starts starts.txt";
    let agent = json!({ "name": "writer", "adapter": "shell", "config": { "command": script } });
    let agent = engine.post("/agents", agent).await?;
    let settings = json!({
        "machines": ["box"], "auto_approve": true, "shell": ["sh", "-c"], "sandbox": { "mode": "off" },
    });
    let new = json!({ "name": "sample", "repo_path": user.repo.path(), "settings": settings });
    let project = id_of(&engine.post("/projects", new).await?)?;
    let new = json!({ "title": "Write", "description": "", "roles": { "coder": agent["id"] } });
    let task = engine.post(&format!("/projects/{project}/tasks"), new).await?;
    let id = id_of(&task)?;
    let claim = json!({ "agent_id": agent["id"], "version": task["version"] });
    engine.post(&format!("/tasks/{id}/claim"), claim).await?;
    let mut engine = engine;
    for step in 1..=3 {
        patience::until("the agent waits", async || {
            Ok(user.inside(&format!("test -e /at-{step}")).is_ok().then_some(()))
        })
        .await?;
        engine.kill()?;
        // It goes on while no engine is there.
        user.inside(&format!("touch /go-{step}"))?;
        engine = user.serve()?;
    }
    let over = |now: &Value| {
        (now["status"] == "done" && now["workspace"]["status"] == "cleaned") || now["status"] == "blocked"
    };
    let end = engine.wait(&id, "done and cleaned", over).await?;
    ensure!(end["status"] == "done", "{end:#}");
    let runs = engine.items(&format!("/tasks/{id}/executions")).await?;
    ensure!(runs.len() == 1 && runs[0]["status"] == "finished", "{runs:#?}");
    ensure!(user.repo.show("main", "work.txt").as_deref() == Some("1\n2\n3"), "its work is on main");
    ensure!(user.repo.show("main", "starts.txt").as_deref() == Some("begun"), "it was started once");
    patience::until("no container is left", async || Ok(user.containers()?.is_empty().then_some(()))).await?;
    drop(engine);
    user.podman.close()
}
