//! One task from todo to done over HTTP: an agent that commits in two attempts, a check that fails once, a person
//! who approves. It can be continued after a kill at any fault point.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, ensure};
use forge_testkit::Repository;
use forge_testkit::serve::{Serve, Served, marked_processes, scripted_agent};
use serde_json::{Value, json};
use tempfile::TempDir;

const FIRST_TRY: &str = "edit feature.txt <<< \"wrong\\n\"";
const SECOND_TRY: &str = "edit feature.txt <<< \"right\\n\"";

pub struct Scenario {
    server: Option<Served>,
    dir: TempDir,
    repo: Repository,
    name: String,
}

impl Scenario {
    pub fn new(name: &str) -> Result<Self> {
        let dir = tempfile::tempdir()?;
        let repo = Repository::create(&dir.path().join("repo"), &[("README.md", "# Sample\n")])?;
        Ok(Self { dir, repo, server: None, name: name.to_owned() })
    }

    pub fn folder(&self) -> &Path {
        self.dir.path()
    }

    pub fn data(&self) -> PathBuf {
        self.dir.path().join("data")
    }

    pub fn serve(&mut self, serve: Serve<'_>) -> Result<()> {
        self.server = None;
        self.server = Some(serve.start()?);
        Ok(())
    }

    pub fn forget_server(&mut self) {
        self.server = None;
    }

    pub fn server(&self) -> Result<&Served> {
        self.server.as_ref().context("no server")
    }

    /// Runs the scenario until its fault kills the server.
    pub async fn run_until_it_ends(&mut self) -> Result<()> {
        let told = self.run_to_the_end().await;
        let server = self.server.as_mut().context("no server")?;
        for _ in 0..200 {
            if server.is_gone()? {
                return Ok(());
            }
            tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        }
        told.with_context(|| {
            format!("the fault point {} was not passed again, and the scenario did not end", self.name)
        })
    }

    /// Continues the scenario to its end.
    pub async fn run_to_the_end(&self) -> Result<()> {
        let task = self.begin().await?;
        let server = self.server()?;
        let waiting =
            |task: &Value| task["review"]["status"] == "awaiting_human" && task["status"] == "review";
        let over =
            |task: &Value| ["done", "blocked", "merge_failed"].iter().any(|state| task["status"] == *state);
        let now = server.wait(&task, "waiting or over", |task| waiting(task) || over(task)).await?;
        if waiting(&now) {
            server
                .post(&format!("/tasks/{task}/review/approve?wait=none"), json!({ "reason": "good" }))
                .await?;
        }
        let cleaned = |task: &Value| task["workspace"]["status"] == "cleaned";
        let end = server
            .wait(&task, "done and cleaned", |task| {
                (over(task) && cleaned(task)) || task["status"] == "blocked"
            })
            .await?;
        ensure!(end["status"] == "done", "it ended otherwise: {end:#}");
        Ok(())
    }

    /// Creates the project, the agent and the task unless they exist, and starts the task unless it has started.
    pub async fn begin(&self) -> Result<String> {
        let server = self.server()?;
        let first = |page: Value| page["items"][0]["id"].as_str().map(str::to_owned);
        let agent = match first(server.get("/agents").await?) {
            Some(id) => id,
            None => id_of(&server.post("/agents", scripted_agent("scripted")?).await?)?,
        };
        let project = match first(server.get("/projects").await?) {
            Some(id) => id,
            None => {
                let settings = json!({ "review_config": { "ci_steps": ["grep -q right feature.txt"] }, "shell": ["sh", "-c"] });
                id_of(
                    &server
                        .post(
                            "/projects",
                            json!({ "name": "sample", "repo_path": self.repo.path(), "settings": settings }),
                        )
                        .await?,
                )?
            }
        };
        let tasks = server.get(&format!("/projects/{project}/tasks")).await?;
        let task = match tasks["items"].get(0) {
            Some(task) => task.clone(),
            None => {
                let description = format!(
                    "```forge-script\n{FIRST_TRY}\n```\n```forge-script attempt=2\n{SECOND_TRY}\n```"
                );
                let new =
                    json!({ "title": "Feature", "description": description, "roles": { "coder": agent } });
                server.post(&format!("/projects/{project}/tasks"), new).await?
            }
        };
        let id = id_of(&task)?;
        if task["status"] == "todo" {
            server
                .post(&format!("/tasks/{id}/claim"), json!({ "agent_id": agent, "version": task["version"] }))
                .await?;
        }
        Ok(id)
    }

    /// Checks what holds after a kill at any point.
    pub async fn check(&self) -> Result<()> {
        ensure!(
            self.repo.show("main", "feature.txt").as_deref() == Some("right"),
            "main does not hold the work"
        );
        let merges = self.repo.git(&["log", "--oneline", "main", "--", "feature.txt"])?;
        ensure!(merges.lines().count() <= 2, "the work landed more than once:\n{merges}");
        ensure!(self.repo.git(&["status", "--porcelain"])?.is_empty(), "the user's checkout was touched");
        let trees = self.repo.git(&["worktree", "list"])?;
        ensure!(trees.lines().count() == 1, "a worktree is left:\n{trees}");
        let left = marked_processes(self.dir.path())?;
        ensure!(left.is_empty(), "processes are left: {left:?}");
        let locks = find(&self.data().join("workspaces"), ".forge.lock");
        ensure!(locks.is_empty(), "locks are left: {locks:?}");
        self.check_history().await
    }

    /// Checks that the history explains the state and has no effect twice.
    async fn check_history(&self) -> Result<()> {
        let server = self.server()?;
        let project =
            server.get("/projects").await?["items"][0]["id"].as_str().context("no project")?.to_owned();
        let task = server.get(&format!("/projects/{project}/tasks")).await?["items"][0].clone();
        let moves = server.get(&format!("/tasks/{}/transitions", id_of(&task)?)).await?;
        let moves = moves["items"].as_array().context("no moves")?;
        let mut at = "todo";
        for one in moves {
            ensure!(one["from"] == at, "the moves are no chain: {moves:?}");
            at = one["to"].as_str().context("no state")?;
        }
        ensure!(task["status"] == at, "the history does not explain the state");
        let count = |to: &str| moves.iter().filter(|one| one["to"] == to).count();
        ensure!(count("merging") == 1 && count("done") == 1, "merged or done more than once: {moves:?}");
        Ok(())
    }
}

fn id_of(value: &Value) -> Result<String> {
    Ok(value["id"].as_str().with_context(|| format!("no id in {value}"))?.to_owned())
}

fn find(folder: &Path, name: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        if entry.path().is_dir() && !entry.path().ends_with("tree") {
            found.extend(find(&entry.path(), name));
        } else if entry.file_name() == name {
            found.push(entry.path());
        }
    }
    found
}
