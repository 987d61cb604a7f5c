//! How long a closed task's worktree stays: as its state says, else as the environment says, else as the spec
//! does. A restart does not forget, and a person may always have it gone or kept.

use anyhow::{Context as _, Result};
use serde_json::{Value, json};

use super::bench::{Bench, tree};
use crate::{
    board::{Board, state},
    forge::{Served, text},
};

/// A project whose states of closed tasks have this policy, one of them its own.
async fn project(bench: &Bench, name: &str, cleanup: &Value) -> Result<String> {
    let workflow = Board::workflow(|states| {
        for closed in ["done", "cancelled"] {
            set(state(states, closed), cleanup);
        }
        state(states, "todo")["triggers"]["shelve"] = json!({ "to": "shelved" });
        let mut shelved =
            json!({ "name": "shelved", "display_name": "Shelved", "kind": "terminal", "column": "Shelved" });
        set(&mut shelved, cleanup);
        states.push(shelved);
    })?;
    let new = json!({ "name": name, "repo_path": bench.sandbox.repo.path(), "workflow": workflow });
    Ok(text(&bench.server.post("/projects", new).await?, "id"))
}

fn set(state: &mut Value, cleanup: &Value) {
    if let Some(state) = state.as_object_mut() {
        state.remove("cleanup");
        if !cleanup.is_null() {
            state.insert("cleanup".to_owned(), cleanup.clone());
        }
    }
}

/// A task with a worktree that a person closes by hand.
async fn closed(bench: &Bench, project: &str, to: &str) -> Result<Value> {
    let task = bench.server.task(project, json!({ "title": to })).await?;
    let claim = json!({ "agent_id": "user", "version": task["version"] });
    bench.post(&task, "/claim", claim).await?;
    bench.server.until(&task, super::bench::is_ready).await?;
    loop {
        let version = bench.get(&task).await?["version"].clone();
        let path = format!("/tasks/{}/transition", text(&task, "id"));
        match bench.server.post(&path, json!({ "to": to, "version": version })).await {
            Err(error) if error.to_string().contains("version_conflict") => {}
            other => return other.map(|answer| answer["task"].clone()),
        }
    }
}

/// How many seconds after it was closed a task's worktree goes.
fn delay(task: &Value) -> Result<i64> {
    let time = |value: &Value| -> Result<i64> {
        Ok(serde_json::from_value::<forge_model::time::Timestamp>(value.clone()).context("no time")?.0)
    };
    Ok((time(&task["workspace"]["cleanup_at"])? - time(&task["status_since"])?) / 1000)
}

async fn serve_with_delay(bench: &mut Bench, seconds: &str) -> Result<()> {
    bench.server.terminate().await?;
    let mut command = bench.sandbox.command(["serve", "--port", "0"])?;
    command.env("FORGE_WORKSPACE_CLEANUP_DELAY_SECONDS", seconds);
    bench.server = Served::start(command)?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn the_states_own_policy_comes_first() -> Result<()> {
    let mut bench = Bench::new(json!({})).await?;
    // Another delay of the environment's makes no difference to a state that says for itself.
    serve_with_delay(&mut bench, "7200").await?;
    for (name, cleanup) in [
        ("now", json!("immediate")),
        ("keep", json!("keep")),
        ("later", json!({ "delayed": { "seconds": 3600 } })),
    ] {
        let project = project(&bench, name, &cleanup).await?;
        for to in ["done", "cancelled", "shelved"] {
            let task = closed(&bench, &project, to).await?;
            match name {
                "now" => {
                    let gone = bench.cleaned(&task).await?;
                    assert!(!tree(&gone).exists(), "{to}");
                }
                "keep" => {
                    let kept = bench.get(&task).await?;
                    let workspace = &kept["workspace"];
                    assert_eq!(
                        (workspace["status"].as_str(), &workspace["cleanup_at"]),
                        (Some("active"), &Value::Null)
                    );
                    assert!(tree(&kept).exists(), "{to}");
                }
                _ => {
                    let due =
                        bench.server.until(&task, |task| task["workspace"]["status"] == "scheduled").await?;
                    let seconds = delay(&due)?;
                    assert!((3590..3700).contains(&seconds), "{to}: {seconds}");
                }
            }
        }
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn without_one_the_defaults_of_each_state_hold() -> Result<()> {
    let mut bench = Bench::new(json!({})).await?;
    serve_with_delay(&mut bench, "7200").await?;
    let project = project(&bench, "silent", &Value::Null).await?;
    for to in ["done", "shelved"] {
        let task = closed(&bench, &project, to).await?;
        bench.cleaned(&task).await?;
    }
    let given_up = closed(&bench, &project, "cancelled").await?;
    let due = bench.server.until(&given_up, |task| task["workspace"]["status"] == "scheduled").await?;
    let seconds = delay(&due)?;
    assert!((7190..7300).contains(&seconds), "{seconds}");
    Ok(())
}

/// Forge is not there when the time comes: it is done at the next start.
#[tokio::test(flavor = "multi_thread")]
async fn a_delay_goes_on_while_forge_does_not_run() -> Result<()> {
    let mut bench = Bench::new(json!({})).await?;
    let project = project(&bench, "soon", &json!({ "delayed": { "seconds": 3 } })).await?;
    for to in ["done", "cancelled", "shelved"] {
        let task = closed(&bench, &project, to).await?;
        let due = bench.get(&task).await?;
        bench.again().await?;
        let gone = bench.cleaned(&task).await?;
        assert!(!tree(&gone).exists(), "{due:#}");
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_person_has_the_last_word() -> Result<()> {
    let bench = Bench::new(json!({})).await?;
    for cleanup in [json!("keep"), json!({ "delayed": { "seconds": 3600 } })] {
        let project = project(&bench, &cleanup.to_string(), &cleanup).await?;
        for to in ["done", "cancelled", "shelved"] {
            let task = closed(&bench, &project, to).await?;
            let kept = bench.post(&task, "/workspace/keep", json!({})).await?;
            assert_eq!(
                (kept["status"].as_str(), &kept["cleanup_at"]),
                (Some("active"), &Value::Null),
                "{to}"
            );
            let gone = bench.post(&task, "/workspace/remove", json!({})).await?;
            assert_eq!(gone["status"], "cleaned", "{to}");
            assert!(!tree(&task).exists(), "{to}");
        }
    }
    Ok(())
}
