//! Kills during a task with ordered subtasks whose provider is rate limited first: each subtask runs once, its work
//! is committed once, and the wait spends no retry.

use std::collections::BTreeMap;

use anyhow::{Context as _, Result, ensure};
use forge_testkit::caller::id;
use forge_testkit::serve::{Serve, Served, marked_processes, scripted_agent};
use forge_testkit::{Repository, fault};
use serde_json::{Value, json};
use tempfile::TempDir;

const OWN: &str =
    "```forge-script\nrate-limit 300\n```\n```forge-script attempt=2\nedit own <<< \"own\\n\"\n```";
const FIRST: &str = "```forge-script\nedit a <<< \"a\\n\"\nrun git add a && git commit -qm mine || true\nedit b <<< \"b\\n\"\n```";
const SECOND: &str = "```forge-script\nedit c <<< \"c\\n\"\n```";

struct SequenceFixture {
    server: Served,
    dir: TempDir,
    repo: Repository,
}

impl SequenceFixture {
    fn start(env: Vec<(String, String)>) -> Result<Self> {
        let dir = tempfile::tempdir()?;
        let repo = Repository::create(&dir.path().join("repo"), &[("README.md", "# Sample\n")])?;
        let server = Serve { program: "forge-faulty", data: dir.path().join("data"), env }.start()?;
        Ok(Self { dir, repo, server })
    }

    /// Creates everything up to the claim, which no fault disturbs.
    async fn make(&self) -> Result<Value> {
        let agent = self.server.post("/agents", scripted_agent("scripted")?).await?;
        let settings = json!({ "auto_approve": true, "shell": ["sh", "-c"] });
        let new = json!({ "name": "sample", "repo_path": self.repo.path(), "settings": settings });
        let path = format!("/projects/{}/tasks", id(&self.server.post("/projects", new).await?)?);
        let whole = json!({ "title": "Whole", "description": OWN, "roles": { "coder": agent["id"] } });
        let parent = self.server.post(&path, whole).await?;
        for (title, description) in [("First", FIRST), ("Second", SECOND)] {
            let part = json!({
                "title": title, "description": description, "parent_id": parent["id"], "execution_mode": "ordered_turn",
            });
            self.server.post(&path, part).await?;
        }
        let claim = json!({ "agent_id": agent["id"], "version": parent["version"] });
        // The kill may come before, while or after it answers.
        let _ = self.server.post(&format!("/tasks/{}/claim", id(&parent)?), claim).await;
        Ok(parent)
    }

    async fn wait_until_done(&self, parent: &Value) -> Result<()> {
        let over = |task: &Value| {
            let cleaned = task["workspace"]["status"] == "cleaned";
            (task["status"] == "done" && cleaned) || task["status"] == "blocked"
        };
        let parent = self.server.wait(&id(parent)?, "over", over).await?;
        ensure!(parent["status"] == "done", "it ended otherwise: {parent:#}");
        ensure!(
            parent["budgets"]["execution"]["used"] == 0,
            "waiting and kills are not the agent's fault: {parent:#}"
        );
        let parts = self.server.get(&format!("/tasks/{}/subtasks", id(&parent)?)).await?;
        for part in parts["items"].as_array().context("no parts")? {
            let moves = self.server.get(&format!("/tasks/{}/transitions", id(part)?)).await?;
            let moves: Vec<&str> = moves["items"]
                .as_array()
                .into_iter()
                .flatten()
                .filter_map(|row| row["to"].as_str())
                .collect();
            ensure!(moves == ["in_progress", "done"], "a turn is told twice: {moves:?}");
            ensure!(part["commit_result"]["kind"] == "forge_commit", "{part:#}");
        }
        let subjects = self.repo.git(&["log", "--format=%s", "main"])?;
        for subject in ["First", "Second", "mine"] {
            let times = subjects.lines().filter(|line| *line == subject).count();
            ensure!(times == 1, "{subject} was committed {times} times:\n{subjects}");
        }
        ensure!(marked_processes(self.dir.path())?.is_empty(), "processes are left");
        Ok(())
    }
}

async fn survives(point: &str, times: u32) -> Result<()> {
    let mut fixture =
        SequenceFixture::start(vec![(fault::FAULT_VARIABLE.to_owned(), format!("{point}#{times}"))])?;
    let parent = fixture.make().await?;
    // The kill must happen: the undisturbed run passed this fault point, too.
    fixture.server.until_gone().await.with_context(|| format!("{point}#{times}"))?;
    let data = fixture.dir.path().join("data");
    fixture.server = Serve { program: "forge-faulty", data, env: Vec::new() }.start()?;
    fixture.wait_until_done(&parent).await
}

#[tokio::test(flavor = "multi_thread")]
async fn ordered_subtasks_each_run_once_after_a_kill_at_any_fault_point() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let trace = folder.path().join("trace.txt");
    let env = vec![(fault::TRACE_VARIABLE.to_owned(), trace.to_string_lossy().into_owned())];
    let undisturbed = SequenceFixture::start(env)?;
    let parent = undisturbed.make().await?;
    undisturbed.wait_until_done(&parent).await?;
    let mut passed: BTreeMap<String, u32> = BTreeMap::new();
    for line in std::fs::read_to_string(&trace)?.lines() {
        *passed.entry(line.to_owned()).or_default() += 1;
    }
    // Other tests cover the other fault points.
    let ours = [
        "turn.",
        "execution.",
        "step.begin:commit_work",
        "step.ran:commit_work",
        "step.begin:advance",
        "step.ran:advance",
    ];
    let mut cases = Vec::new();
    for (point, times) in &passed {
        if ours.iter().any(|prefix| point.starts_with(prefix)) {
            cases.extend((1..=*times).map(|n| (point.clone(), n)));
        }
    }
    assert!(cases.iter().any(|(point, _)| point == "turn.intended"), "{passed:?}");
    println!("{} kills", cases.len());
    crate::faults::all_survived(cases, |point, times| async move { survives(&point, times).await }).await
}
