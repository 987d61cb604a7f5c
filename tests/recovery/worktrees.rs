//! Kills while worktrees are created, set up, finished, reused and reset: one complete worktree remains, every byte
//! is in it or in a backup, and no lock, slot or folder is left over.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use anyhow::{Context as _, Result, ensure};
use forge_testkit::serve::{Serve, Served, marked_processes};
use forge_testkit::{Repository, fault};
use serde_json::{Value, json};
use tempfile::TempDir;

/// The steps of a person, which can be continued after an interruption.
#[derive(Clone, Copy)]
enum Scenario {
    /// A worktree is created, its task cancelled, and the next task reuses it.
    Reuse,
    /// Setup always fails, and a person resets the worktree.
    Reset,
}

struct WorktreeFixture {
    server: Served,
    dir: TempDir,
    repo: Repository,
    project: String,
    tasks: Vec<String>,
    scenario: Scenario,
}

impl WorktreeFixture {
    async fn start(scenario: Scenario, env: Vec<(String, String)>) -> Result<Self> {
        let dir = tempfile::tempdir()?;
        let files = [("README.md", "# Sample\n"), (".gitignore", ".env\nready.txt\n")];
        let repo = Repository::create(&dir.path().join("repo"), &files)?;
        repo.write(".env", "SECRET=1")?;
        let server = serve(&dir, env)?;
        let setup = match scenario {
            Scenario::Reuse => "echo ready > ready.txt",
            Scenario::Reset => "exit 1",
        };
        let settings =
            json!({ "workspace_reuse": "tracked", "copy_files": [{ "pattern": ".env" }], "setup": [setup] });
        let new = json!({ "name": "sample", "repo_path": repo.path(), "settings": settings });
        let project = id_of(&server.post("/projects", new).await?)?;
        let mut tasks = Vec::new();
        for title in ["First", "Second"] {
            let task = server.post(&format!("/projects/{project}/tasks"), json!({ "title": title })).await?;
            tasks.push(id_of(&task)?);
        }
        Ok(Self { dir, repo, server, project, tasks, scenario })
    }

    async fn get(&self, task: &str) -> Result<Value> {
        self.server.get(&format!("/tasks/{task}")).await
    }

    /// Posts with the task's version, and repeats after a version conflict.
    async fn post(&self, task: &str, path: &str, mut body: Value) -> Result<Value> {
        loop {
            body["version"] = self.get(task).await?["version"].clone();
            match self.server.post(&format!("/tasks/{task}{path}"), body.clone()).await {
                Err(error) if error.to_string().contains("version_conflict") => {}
                other => return other,
            }
        }
    }

    async fn claim(&self, task: &str) -> Result<()> {
        if self.get(task).await?["status"] == "todo" {
            self.post(task, "/claim", json!({ "agent_id": "user" })).await?;
        }
        Ok(())
    }

    async fn run(&self) -> Result<()> {
        match self.scenario {
            Scenario::Reuse => self.reuse().await,
            Scenario::Reset => self.reset().await,
        }
    }

    async fn reuse(&self) -> Result<()> {
        let [first, second] = self.tasks.as_slice() else { return Ok(()) };
        self.claim(first).await?;
        let is_made = |task: &Value| {
            matches!(task["workspace"]["status"].as_str(), Some("active" | "scheduled" | "cleaned"))
        };
        let task = self.server.wait(first, "made", is_made).await?;
        if task["status"] == "in_progress" {
            ensure!(is_good(&tree(&task)), "an active worktree is a whole one: {task:#}");
            std::fs::write(tree(&task).join("half.txt"), "half done")?;
            self.post(first, "/actions/cancel", json!({})).await?;
        }
        let is_due =
            |task: &Value| matches!(task["workspace"]["status"].as_str(), Some("scheduled" | "cleaned"));
        let task = self.server.wait(first, "due", is_due).await?;
        if task["workspace"]["status"] == "scheduled" {
            match self.server.post(&format!("/tasks/{first}/workspace/remove"), json!({})).await {
                // It went while nobody could say so.
                Err(error) if error.to_string().contains("workspace_missing") => {}
                other => drop(other?),
            }
        }
        self.claim(second).await?;
        self.server.wait(second, "ready", |task| task["workspace"]["status"] == "active").await.map(drop)
    }

    async fn reset(&self) -> Result<()> {
        let task = &self.tasks[0];
        self.claim(task).await?;
        let blocked = self.server.wait(task, "blocked", |task| task["status"] == "blocked").await?;
        if blocked["error_annotation"]["type"] == "manual" {
            return Ok(());
        }
        let tree = tree(&blocked);
        if tree.join(".git").exists() && self.backups(task).await?.is_empty() {
            std::fs::write(tree.join("half.txt"), "half done")?;
        }
        self.server.post(&format!("/tasks/{task}/workspace/reset"), json!({})).await.map(drop)
    }

    async fn backups(&self, task: &str) -> Result<Vec<String>> {
        let backups = self.server.get(&format!("/tasks/{task}/backups")).await?;
        let all = backups["items"].as_array().into_iter().flatten();
        Ok(all.filter_map(|backup| backup["commit"].as_str().map(str::to_owned)).collect())
    }

    async fn check(&self) -> Result<()> {
        let owner = match self.scenario {
            Scenario::Reuse => 1,
            Scenario::Reset => 0,
        };
        let task = self.get(&self.tasks[owner]).await?;
        let good = tree(&task);
        match self.scenario {
            Scenario::Reuse => ensure!(is_good(&good), "the second task's worktree is not whole: {task:#}"),
            Scenario::Reset => {
                ensure!(task["error_annotation"]["type"] == "manual", "{task:#}");
                ensure!(
                    good.join("README.md").exists() && !good.join("half.txt").exists(),
                    "it is not fresh"
                );
            }
        }
        let kept = self.backups(&self.tasks[0]).await?;
        let half = |commit: &String| self.repo.show(commit, "half.txt").as_deref() == Some("half done");
        ensure!(kept.iter().any(half), "no backup holds the uncommitted file: {kept:?}");
        let list = self.repo.git(&["worktree", "list", "--porcelain"])?;
        let known: Vec<PathBuf> = list
            .lines()
            .filter_map(|line| line.strip_prefix("worktree "))
            .skip(1)
            .map(PathBuf::from)
            .collect();
        let pool = good.ancestors().nth(2).context("no project folder")?.join(".pool");
        for path in &known {
            let is_slot = path.starts_with(&pool) && path.join(".git").exists();
            ensure!(*path == good || is_slot, "{} is left over: {list}", path.display());
        }
        let in_pool = std::fs::read_dir(&pool).into_iter().flatten().flatten();
        let left: Vec<_> = in_pool.map(|entry| entry.path()).filter(|path| !known.contains(path)).collect();
        let left: Vec<_> = left.iter().filter(|path| !path.to_string_lossy().contains(".trash-")).collect();
        ensure!(left.is_empty(), "{left:?} are left over");
        for folder in good.ancestors().nth(2).context("no project folder")?.read_dir()?.flatten() {
            ensure!(!folder.path().join(".forge.lock").exists(), "{} is locked", folder.path().display());
        }
        let orphans = self.server.get("/workspaces/orphans").await?;
        ensure!(orphans["items"] == json!([]), "{orphans:#}");
        ensure!(marked_processes(self.dir.path())?.is_empty(), "processes are left");
        self.server.get(&format!("/projects/{}", self.project)).await.map(drop)
    }
}

/// Whether a worktree is complete: files of git, copied files, and files of setup.
fn is_good(tree: &Path) -> bool {
    ["README.md", ".env", "ready.txt", ".git"].iter().all(|file| tree.join(file).exists())
}

fn tree(task: &Value) -> PathBuf {
    PathBuf::from(task["workspace"]["path"].as_str().unwrap_or_default())
}

fn id_of(value: &Value) -> Result<String> {
    Ok(value["id"].as_str().context("no id")?.to_owned())
}

fn serve(dir: &TempDir, env: Vec<(String, String)>) -> Result<Served> {
    Serve { program: "forge-faulty", data: dir.path().join("data"), env }.start()
}

/// Runs a scenario undisturbed, then once for each fault point it passed, with a kill there.
async fn survives(scenario: Scenario, expected: &[&str]) -> Result<()> {
    let traces = tempfile::tempdir()?;
    let trace = traces.path().join("trace.txt");
    let env = vec![(fault::TRACE_VARIABLE.to_owned(), trace.to_string_lossy().into_owned())];
    let undisturbed = WorktreeFixture::start(scenario, env).await?;
    let before = std::fs::read_to_string(&trace).unwrap_or_default().lines().count();
    undisturbed.run().await?;
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
    for point in expected {
        assert!(passed.contains_key(*point), "{point} is not among {passed:?}");
    }
    drop(undisturbed);
    for (point, times) in cases {
        let case = format!("killed at {point}#{times}");
        let env = vec![(fault::FAULT_VARIABLE.to_owned(), format!("{point}#{times}"))];
        let mut fixture = WorktreeFixture::start(scenario, env).await.context(case.clone())?;
        // Cut off somewhere in it.
        let _ = fixture.run().await;
        fixture.server.until_gone().await.context(case.clone())?;
        fixture.server = serve(&fixture.dir, Vec::new())?;
        fixture.run().await.context(case.clone())?;
        fixture.check().await.context(case)?;
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn worktree_creation_and_reuse_survive_a_kill_at_every_fault_point() -> Result<()> {
    let expected = [
        "workspace.made",
        "workspace.copied",
        "process.started",
        "cleanup.withdrawn",
        "cleanup.backed_up",
        "cleanup.removed",
        "workspace.slot",
    ];
    survives(Scenario::Reuse, &expected).await
}

#[tokio::test(flavor = "multi_thread")]
async fn worktree_reset_survives_a_kill_at_every_fault_point() -> Result<()> {
    survives(Scenario::Reset, &["reset.removed", "reset.forgotten", "reset.made"]).await
}
