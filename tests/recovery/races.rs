//! Kills and panics during a race of three entries, one of which fails its checks: the race elects a winner from
//! all results or a person selects one, the winner's work lands once, and nothing of the race is left.

use std::collections::BTreeMap;

use anyhow::{Context as _, Result, ensure};
use forge_testkit::caller::id;
use forge_testkit::serve::{Serve, Served, marked_processes, scripted_agent};
use forge_testkit::{Repository, fault};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::faults::{Fault, all_survived, panicked};

struct RaceFixture {
    server: Served,
    dir: TempDir,
    repo: Repository,
}

/// The script of each entry; an interrupted run counts as an attempt.
const ENTRIES: [(&str, &str); 3] = [
    ("cheap", "edit good <<< \"cheap\\n\"\nusage m 1 1 10"),
    ("dear", "edit good <<< \"dear\\n\"\nusage m 1 1 1000"),
    ("broken", "edit bad <<< \"x\\n\"\nusage m 1 1 1"),
];

impl RaceFixture {
    fn start(env: Vec<(String, String)>) -> Result<Self> {
        let dir = tempfile::tempdir()?;
        let repo = Repository::create(&dir.path().join("repo"), &[("README.md", "# Sample\n")])?;
        let server = Serve { program: "forge-faulty", data: dir.path().join("data"), env }.start()?;
        Ok(Self { dir, repo, server })
    }

    /// Creates everything up to the claim, which no fault disturbs.
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
        let claimed = self.server.post(&format!("/tasks/{}/claim", id(&task)?), claim).await;
        // The kill may come before, while or after it answers; a refusal is another matter.
        match claimed {
            Err(error) if error.downcast_ref::<reqwest::Error>().is_none() => Err(error),
            _ => Ok(task),
        }
    }

    async fn wait_until_done(&self, task: &Value) -> Result<()> {
        let over = |task: &Value| {
            let cleaned = task["workspace"]["status"] == "cleaned";
            (task["status"] == "done" && cleaned) || task["status"] == "blocked"
        };
        let asks = |task: &Value| task["waiting"]["reason"] == "race_crown";
        let mut end = self.server.wait(&id(task)?, "over", |task| over(task) || asks(task)).await?;
        // What a run cost that a kill cut short is unknown, and no unknown cost decides a race: a person does.
        let asked = asks(&end);
        if asked {
            let path = format!("/tasks/{}/actions/crown?wait=none", id(task)?);
            self.server.post(&path, json!({ "entry": "cheap", "version": end["version"] })).await?;
            end = self.server.wait(&id(task)?, "over", over).await?;
        }
        ensure!(end["status"] == "done", "it ended otherwise: {end:#}");
        let races = self.server.get(&format!("/tasks/{}/races", id(task)?)).await?;
        let races = races["items"].as_array().context("no races")?;
        let [race] = races.as_slice() else { anyhow::bail!("{} races: {races:#?}", races.len()) };
        ensure!(race["status"] == "promoted", "{race:#}");
        // Broken never wins.
        let winner = race["winner"].as_str().context("no winner")?;
        ensure!(["cheap", "dear"].contains(&winner), "{race:#}");
        ensure!(asked || race["elected"] == winner, "{race:#}");
        ensure!(
            self.repo.show("main", "good").as_deref() == Some(winner),
            "main does not hold the winner's work"
        );
        let commit = race["entries"]
            .as_array()
            .into_iter()
            .flatten()
            .find(|entry| entry["strategy"] == winner)
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

async fn survives(fault: Fault, point: &str, times: u32) -> Result<()> {
    let mut fixture = RaceFixture::start(fault.at(point, times))?;
    let task = fixture.make().await?;
    let data = fixture.dir.path().join("data");
    if fault == Fault::Panic {
        fixture.wait_until_done(&task).await?;
        return panicked(&data, point);
    }
    fixture.server.until_gone().await.with_context(|| format!("{point}#{times}"))?;
    fixture.server = Serve { program: "forge-faulty", data, env: Vec::new() }.start()?;
    fixture.wait_until_done(&task).await
}

/// Every fault point that an undisturbed race passes, with its count.
async fn fault_points() -> Result<BTreeMap<String, u32>> {
    let folder = tempfile::tempdir()?;
    let trace = folder.path().join("trace.txt");
    let env = vec![(fault::TRACE_VARIABLE.to_owned(), trace.to_string_lossy().into_owned())];
    let undisturbed = RaceFixture::start(env)?;
    let task = undisturbed.make().await?;
    undisturbed.wait_until_done(&task).await?;
    let mut passed: BTreeMap<String, u32> = BTreeMap::new();
    for line in std::fs::read_to_string(&trace)?.lines() {
        *passed.entry(line.to_owned()).or_default() += 1;
    }
    Ok(passed)
}

/// Kills at every passing, or panics at the first one, of the fault points that `own_points` accepts.
/// The `named` ones must be among them.
async fn completes_after_each(fault: Fault, own_points: impl Fn(&str) -> bool, named: &[&str]) -> Result<()> {
    let passed = fault_points().await?;
    let own_points: Vec<_> = passed.iter().filter(|(point, _)| own_points(point)).collect();
    for name in named {
        ensure!(own_points.iter().any(|(point, _)| point == name), "{name} is not among {passed:?}");
    }
    let mut cases = Vec::new();
    for (point, times) in own_points {
        // How often a race looks again depends on who ends beside whom: at least as it begins, and at its end.
        let times = match fault {
            Fault::Panic => 1,
            Fault::Kill if point.ends_with(":race") => (*times).min(2),
            Fault::Kill => *times,
        };
        cases.extend((1..=times).map(|n| (point.clone(), n)));
    }
    println!("{} times {fault:?}", cases.len());
    all_survived(cases, move |point, times| async move { survives(fault, &point, times).await }).await
}

/// The steps of a race itself: it starts and ends its entries, elects, promotes, and cleans up.
const OF_RACES: [&str; 3] = [":race", ":promote", ":end_race"];

const FAULT_POINTS_OF_RACES: [&str; 10] = [
    "race.started",
    "race.entry_started",
    "race.entry_finished",
    "race.elected",
    "race.landed",
    "race.promoted",
    "race.entry_cleared",
    "race.cleared",
    "step.begin:promote",
    "step.ran:end_race",
];

fn is_of_races(point: &str) -> bool {
    point.starts_with("race.") || OF_RACES.iter().any(|step| point.ends_with(step))
}

/// Fault points of the worktrees of entries.
fn is_of_worktrees(point: &str) -> bool {
    point.starts_with("workspace.") || point.starts_with("cleanup.") || point.ends_with(":prepare_workspace")
}

/// Fault points of the work of entries; other tests cover the merge.
fn is_of_entries(point: &str) -> bool {
    let told = ["recovery.", "claim.", "merge.", "anomalies."];
    let elsewhere = told.iter().any(|told| point.starts_with(told)) || point.ends_with(":run_merge");
    !elsewhere && !is_of_races(point) && !is_of_worktrees(point)
}

#[tokio::test(flavor = "multi_thread")]
async fn race_completes_after_a_kill_at_any_of_its_fault_points() -> Result<()> {
    completes_after_each(Fault::Kill, is_of_races, &FAULT_POINTS_OF_RACES).await
}

#[tokio::test(flavor = "multi_thread")]
async fn race_completes_after_a_panic_at_any_of_its_fault_points() -> Result<()> {
    completes_after_each(Fault::Panic, is_of_races, &FAULT_POINTS_OF_RACES).await
}

#[tokio::test(flavor = "multi_thread")]
async fn race_completes_after_a_kill_around_its_worktrees() -> Result<()> {
    let named = ["workspace.made", "cleanup.removed", "step.ran:prepare_workspace"];
    completes_after_each(Fault::Kill, is_of_worktrees, &named).await
}

#[tokio::test(flavor = "multi_thread")]
async fn race_completes_after_a_kill_during_its_entries() -> Result<()> {
    let named = ["execution.started", "work.committed", "step.ran:run_ci_steps", "step.begin:advance"];
    completes_after_each(Fault::Kill, is_of_entries, &named).await
}
