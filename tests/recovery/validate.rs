//! Kills during `validate`: the stored attempts are whole, no command runs on, and the next call continues the
//! count.

use std::path::Path;

use anyhow::{Context as _, Result, ensure};
use forge_testkit::serve::{Serve, Served, marked_processes};
use forge_testkit::{Repository, fault};
use serde_json::{Value, json};

use crate::faults::all_survived;

/// The fault points, each with the number of attempts stored afterwards; one was made before.
const POINTS: [(&str, usize); 4] =
    [("process.started", 1), ("validate.checked", 1), ("validate.counting", 1), ("validate.counted", 2)];

fn serve(dir: &Path, env: Vec<(String, String)>) -> Result<Served> {
    Serve { program: "forge-faulty", data: dir.join("data"), env }.start()
}

fn call(repo: &Repository, commands: &[&str]) -> Value {
    json!({ "moduleId": "m1", "runId": "r1", "cwd": repo.path(), "commands": commands })
}

/// Processes left by a call, without the login shell that a starting engine asks for its path.
fn leftover_processes(dir: &Path) -> Result<Vec<String>> {
    Ok(marked_processes(dir)?.into_iter().filter(|line| line.contains("sleep")).collect())
}

async fn attempts(server: &Served, repo: &Repository) -> Result<Value> {
    let state =
        server.get(&format!("/validate/state?moduleId=m1&runId=r1&cwd={}", repo.path().display())).await?;
    ensure!(state["unreadable"].is_null(), "{state:#}");
    Ok(state["attempts"].clone())
}

async fn survives(point: String, kept: usize) -> Result<()> {
    let dir = tempfile::tempdir()?;
    let repo = Repository::create(&dir.path().join("repo"), &[("README.md", "# Sample\n")])?;
    let mut server = serve(dir.path(), Vec::new())?;
    server.post("/projects", json!({ "name": "sample", "repo_path": repo.path() })).await?;
    server.post("/validate", call(&repo, &["false"])).await?;
    server.kill()?;
    let cuts_short = point == "process.started";
    let mut server = serve(dir.path(), vec![(fault::FAULT_VARIABLE.to_owned(), point)])?;
    // A command that is cut short would go on for long.
    let commands: &[&str] = if cuts_short { &["sleep 600"] } else { &["false"] };
    ensure!(server.post("/validate", call(&repo, commands)).await.is_err(), "it was not ended");
    server.until_gone().await?;

    let server = serve(dir.path(), Vec::new())?;
    ensure!(
        leftover_processes(dir.path())?.is_empty(),
        "something runs on: {:?}",
        leftover_processes(dir.path())?
    );
    let found = attempts(&server, &repo).await?;
    let numbers: Vec<u64> =
        found.as_array().context("no attempts")?.iter().filter_map(|it| it["attempt"].as_u64()).collect();
    ensure!(numbers == (1..=kept as u64).collect::<Vec<_>>(), "{numbers:?} are kept, not {kept}");
    let next = server.post("/validate", call(&repo, &["false"])).await?;
    ensure!(next["attempt"] == kept as u64 + 1 && next["notice"].is_null(), "{next:#}");
    ensure!(next["sameAsPrev"] == true, "{next:#}");
    let log = server.get(&format!("/validate/log?runId=r1&cwd={}", repo.path().display())).await?;
    ensure!(log["unreadable"] == 0, "{log:#}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn validate_attempts_survive_a_kill() -> Result<()> {
    let cases = POINTS.map(|(point, _)| (point.to_owned(), 1)).to_vec();
    all_survived(cases, |point, _| async move {
        let kept = POINTS.iter().find(|(name, _)| *name == point).map_or(0, |(_, kept)| *kept);
        survives(point, kept).await
    })
    .await
}
