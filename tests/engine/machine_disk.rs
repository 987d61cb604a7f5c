//! The disk of a machine is full: the task says so, with the machine's name and what to do; nothing is lost, and once there
//! is space it goes on.

use std::fs;

use anyhow::{Context as _, Result, ensure};
use serde_json::{Value, json};

use crate::{on_machines::OnMachine, ssh_server::Server};

/// More than a keeper and a small worktree take.
const DISK_BYTES: u64 = 48 * 1024 * 1024;

/// How many lines the agent prints: more than fits into its pipe.
const LINES: u64 = 100_000;

/// A board whose machine has a small disk; none where there can be none.
async fn on_small_disk() -> Result<Option<OnMachine>> {
    let folder = tempfile::tempdir()?;
    let Some(server) = Server::start_on_small_disk(folder.path(), DISK_BYTES)? else { return Ok(None) };
    let configuration = server.configuration("far");
    OnMachine::by_way(folder, server, &configuration, json!({}), |_| {}).await.map(Some)
}

/// Waits until the task needs a person because the disk there is full, and checks what that is told.
async fn blocked_by_the_disk(on: &OnMachine, task: &Value) -> Result<Value> {
    let over = |now: &Value| now["status"] == "blocked" || now["status"] == "done";
    let blocked = on.board.wait(task, "blocked", over).await?;
    let message = blocked["error_annotation"]["message"].as_str().unwrap_or_default();
    for part in ["machine `box`", "the disk is full", "Free some space there"] {
        ensure!(message.contains(part), "{part}: {blocked:#}");
    }
    Ok(blocked)
}

async fn retry(on: &OnMachine, task: &Value) -> Result<()> {
    on.board.act(task, "retry", json!({})).await.map(drop)
}

#[tokio::test(flavor = "multi_thread")]
async fn worktree_that_does_not_fit_on_a_machine_is_sent_when_there_is_space() -> Result<()> {
    let Some(mut on) = on_small_disk().await? else { return Ok(()) };
    on.board.call("machine_test", json!({ "machine_id": "box" })).await?;
    let given: String = (0..200_000_u64).map(|line| format!("{}\n", line * 7919 % 1_000_003)).collect();
    on.board.repo.write("given.txt", &given)?;
    on.board.repo.commit("given")?;
    on.server.fill_disk()?;
    let starts = on.folder.path().join("starts");
    let script = format!("echo begun >> {}; cp given.txt copy.txt; echo work > work.txt", starts.display());
    let task = on.begin(&script).await?;
    blocked_by_the_disk(&on, &task).await?;
    ensure!(!starts.exists(), "the agent ran on half a worktree");
    on.server.make_space()?;
    retry(&on, &task).await?;
    on.board.reach(&task, "done").await?;
    assert_eq!(on.on_main("copy.txt")?, given.trim_end());
    assert_eq!(fs::read_to_string(starts)?, "begun\n");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn output_that_does_not_fit_on_a_machine_waits_there_until_it_does() -> Result<()> {
    let Some(mut on) = on_small_disk().await? else { return Ok(()) };
    let (go_on, is_there) = on.signals();
    let script = format!(
        "echo work > work.txt; touch {}; until [ -e {} ]; do sleep 0.05; done; seq {LINES}",
        is_there.display(),
        go_on.display()
    );
    let task = on.begin(&script).await?;
    on.until(&is_there).await?;
    on.server.fill_disk()?;
    fs::write(&go_on, "")?;
    let run = on.runs(&task).await?.remove(0);
    let note = until_noted(&on, &run, "disk_full").await?;
    for part in ["machine `box`", "The program waits, and nothing is lost", "Free some space there"] {
        ensure!(note.contains(part), "{part}: {note}");
    }
    let runs = on.runs(&task).await?;
    ensure!(runs.len() == 1 && runs[0]["status"] == "running", "the machine said of no end: {runs:#?}");
    on.server.make_space()?;
    on.board.reach(&task, "done").await?;
    let runs = on.runs(&task).await?;
    ensure!(runs.len() == 1 && runs[0]["status"] == "finished", "{runs:#?}");
    let expected: String = (1..=LINES).map(|line| format!("{line}\n")).collect();
    ensure!(on.printed(&run).await? == expected, "lines were lost or doubled");
    until_noted(&on, &run, "disk_free").await?;
    assert_eq!(on.on_main("work.txt")?, "work");
    Ok(())
}

/// Waits for a notice in a run's log, and gives its text.
async fn until_noted(on: &OnMachine, run: &Value, code: &str) -> Result<String> {
    forge_tests::patience::until(code, async || {
        let mut after = json!(0);
        loop {
            let asked = json!({ "execution_id": run["id"], "after": after, "limit": 200 });
            let page = on.board.call("execution_logs", asked).await?;
            let entries = page["entries"].as_array().context("no entries")?;
            let Some(last) = entries.last() else { return Ok(None) };
            if let Some(note) = entries.iter().find(|entry| entry["body"]["code"] == code) {
                return Ok(note["body"]["text"].as_str().map(str::to_owned));
            }
            after = last["seq"].clone();
        }
    })
    .await
}

#[tokio::test(flavor = "multi_thread")]
async fn work_that_a_full_disk_keeps_on_a_machine_is_fetched_when_there_is_space() -> Result<()> {
    let Some(mut on) = on_small_disk().await? else { return Ok(()) };
    let (go_on, is_there) = on.signals();
    let starts = on.folder.path().join("starts");
    let script = format!(
        "echo begun >> {}; for i in 1 2 3 4 5 6 7 8; do seq $i 20000 > work-$i.txt; done; touch {}; \
         until [ -e {} ]; do sleep 0.05; done",
        starts.display(),
        is_there.display(),
        go_on.display()
    );
    let task = on.begin(&script).await?;
    on.until(&is_there).await?;
    on.server.fill_disk()?;
    fs::write(&go_on, "")?;
    let waits = |now: &Value| !now["waiting"].is_null() || now["status"] != "in_progress";
    let waiting = on.board.wait(&task, "waiting", waits).await?;
    ensure!(waiting["waiting"]["reason"] == "machine_disk_full", "{waiting:#}");
    let message = waiting["waiting"]["message"].as_str().unwrap_or_default();
    for part in ["waits for box", "the disk is full", "free some space there"] {
        ensure!(message.contains(part), "{part}: {waiting:#}");
    }
    let run = on.runs(&task).await?.remove(0);
    until_noted(&on, &run, "fetch_disk_full").await?;
    on.server.make_space()?;
    let done = on.board.reach(&task, "done").await?;
    ensure!(done["waiting"].is_null(), "{done:#}");
    assert_eq!(fs::read_to_string(starts)?, "begun\n", "the agent ran once more");
    for i in 1..=8 {
        let expected: Vec<String> = (i..=20_000).map(|line| line.to_string()).collect();
        assert_eq!(on.on_main(&format!("work-{i}.txt"))?, expected.join("\n"));
    }
    Ok(())
}
