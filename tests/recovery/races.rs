//! A race of three, one of which fails its checks: whatever kills Forge on the way, somebody is elected by what is
//! known of all, the task's work is exactly theirs, it lands once, and nothing of the race is left.

use std::collections::BTreeMap;

use anyhow::{Context as _, Result, ensure};
use forge_testkit::{Repository, fault};
use forge_tests::serve::{Serve, Served, marked_processes, scripted_agent};
use serde_json::{Value, json};
use tempfile::TempDir;

struct Raced {
    dir: TempDir,
    repo: Repository,
    server: Served,
}

fn id(value: &Value) -> Result<String> {
    Ok(value["id"].as_str().with_context(|| format!("no id in {value}"))?.to_owned())
}

/// What each entry does; a run that a kill cut short is another attempt of the same.
const ENTRIES: [(&str, &str); 3] = [
    ("cheap", "edit good <<< \"cheap\\n\"\nusage m 1 1 10"),
    ("dear", "edit good <<< \"dear\\n\"\nusage m 1 1 1000"),
    ("broken", "edit bad <<< \"x\\n\"\nusage m 1 1 1"),
];

impl Raced {
    fn up(env: Vec<(String, String)>) -> Result<Self> {
        let dir = tempfile::tempdir()?;
        let repo = Repository::create(&dir.path().join("repo"), &[("README.md", "# Sample\n")])?;
        let server = Serve { program: "forge-faulty", data: dir.path().join("data"), env }.start()?;
        Ok(Self { dir, repo, server })
    }

    /// Everything that is made before the claim, which no kill disturbs.
    async fn make(&self) -> Result<Value> {
        let agent = self.server.post("/agents", scripted_agent("scripted")?).await?;
        let strategies: Vec<Value> =
            ENTRIES.iter().map(|(name, _)| json!({ "name": name, "agent_id": agent["id"] })).collect();
        let settings = json!({
            "auto_approve": true, "shell": ["sh", "-c"], "review_config": { "ci_steps": ["test -e good"] },
            "innerLoop": { "competitive": { "enabled": true, "maxParallel": 3, "strategies": strategies } },
        });
        let new = json!({ "name": "sample", "repo_path": self.repo.path(), "settings": settings });
        let path = format!("/projects/{}/tasks", id(&self.server.post("/projects", new).await?)?);
        let blocks: Vec<String> = ENTRIES
            .iter()
            .map(|(name, lines)| format!("```forge-script strategy={name}\n{lines}\n```\n"))
            .collect();
        let new = json!({
            "title": "Raced", "description": blocks.concat(), "race": { "enabled": true },
            "roles": { "coder": agent["id"] },
        });
        let task = self.server.post(&path, new).await?;
        let claim = json!({ "agent_id": agent["id"], "version": task["version"] });
        // The kill may come before, while or after it answers.
        let _ = self.server.post(&format!("/tasks/{}/claim?wait=none", id(&task)?), claim).await;
        Ok(task)
    }

    async fn arrive(&self, task: &Value) -> Result<()> {
        let over = |task: &Value| {
            let cleaned = task["workspace"]["status"] == "cleaned";
            (task["status"] == "done" && cleaned) || task["status"] == "blocked"
        };
        let end = self.server.wait(&id(task)?, "over", over).await?;
        ensure!(end["status"] == "done", "it ended otherwise: {end:#}");
        let races = self.server.get(&format!("/tasks/{}/races", id(task)?)).await?;
        let races = races["items"].as_array().context("no races")?;
        let [race] = races.as_slice() else { anyhow::bail!("{} races: {races:#?}", races.len()) };
        ensure!(race["status"] == "promoted", "{race:#}");
        // Whose run was cut short may have cost more than it tells; broken never wins.
        let winner = race["winner"].as_str().context("no winner")?;
        ensure!(["cheap", "dear"].contains(&winner), "{race:#}");
        ensure!(race["election"]["winner"] == winner, "{race:#}");
        ensure!(
            self.repo.show("main", "good").as_deref() == Some(winner),
            "main does not hold the winner's work"
        );
        let commit = race["entries"]
            .as_array()
            .into_iter()
            .flatten()
            .find(|entry| entry["strategy"]["name"] == winner)
            .and_then(|entry| entry["commit"].as_str())
            .context("the winner has no commit")?;
        let branch = format!("refs/heads/forge/{}", id(task)?);
        ensure!(self.repo.git(&["rev-parse", &branch])? == commit, "the task's branch is not the winner's");
        let landed = self.repo.git(&["log", "--oneline", "main", "--", "good"])?;
        ensure!(landed.lines().count() == 1, "it landed more than once:\n{landed}");
        let trees = self.repo.git(&["worktree", "list"])?;
        ensure!(trees.lines().count() == 1, "a worktree is left:\n{trees}");
        let branches = self.repo.git(&["for-each-ref", "--format=%(refname:short)", "refs/heads"])?;
        ensure!(branches.lines().count() == 4, "main, the task's and two losers': \n{branches}");
        ensure!(self.repo.git(&["status", "--porcelain"])?.is_empty(), "the user's checkout was touched");
        ensure!(marked_processes(self.dir.path())?.is_empty(), "processes are left");
        let moves = self.server.get(&format!("/tasks/{}/transitions", id(task)?)).await?;
        let moves: Vec<&str> =
            moves["items"].as_array().into_iter().flatten().filter_map(|row| row["to"].as_str()).collect();
        ensure!(moves == ["in_progress", "review", "merging", "done"], "{moves:?}");
        Ok(())
    }
}

async fn survives(point: &str, times: u32) -> Result<()> {
    let mut raced = Raced::up(vec![(fault::FAULT_VARIABLE.to_owned(), format!("{point}#{times}"))])?;
    let task = raced.make().await?;
    raced.server.until_gone().await.with_context(|| format!("{point}#{times}"))?;
    let data = raced.dir.path().join("data");
    raced.server = Serve { program: "forge-faulty", data, env: Vec::new() }.start()?;
    raced.arrive(&task).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_race_arrives_wherever_the_kill_was() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let trace = folder.path().join("trace.txt");
    let env = vec![(fault::TRACE_VARIABLE.to_owned(), trace.to_string_lossy().into_owned())];
    let undisturbed = Raced::up(env)?;
    let task = undisturbed.make().await?;
    undisturbed.arrive(&task).await?;
    let mut passed: BTreeMap<String, u32> = BTreeMap::new();
    for line in std::fs::read_to_string(&trace)?.lines() {
        *passed.entry(line.to_owned()).or_default() += 1;
    }
    // The rest of the way is told by others; how often a race looks again depends on who ends beside whom.
    let ours =
        ["race.", "step.begin:promote", "step.ran:promote", "step.begin:end_race", "step.ran:end_race"];
    let mut cases = Vec::new();
    for (point, times) in &passed {
        if ours.iter().any(|prefix| point.starts_with(prefix)) {
            cases.extend((1..=*times).map(|n| (point.clone(), n)));
        }
    }
    for expected in [
        "race.started",
        "race.entry_started",
        "race.entry_finished",
        "race.elected",
        "race.landed",
        "race.cleared",
    ] {
        assert!(cases.iter().any(|(point, _)| point == expected), "{expected} is not among {passed:?}");
    }
    for (point, times) in
        [("step.begin:race", 1), ("step.ran:race", 1), ("work.committed", 2), ("execution.started", 3)]
    {
        cases.push((point.to_owned(), times));
    }
    println!("{} kills", cases.len());
    crate::kills::all_survived(cases, |point, times| async move { survives(&point, times).await }).await
}
