//! Cleanup policies of closed tasks' worktrees: the state's own, else the environment's, else the default. A delay
//! survives a restart, and a person can always remove or keep a worktree.

use anyhow::{Context as _, Result};
use forge_testkit::{
    Board,
    board::{state, text},
};
use serde_json::{Value, json};

use super::fixture::{WorkspaceFixture, tree};

/// A project whose closed states, one of them custom, have this cleanup policy.
async fn project(fixture: &WorkspaceFixture, name: &str, cleanup: &Value) -> Result<String> {
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
    let new = json!({ "name": name, "repo_path": fixture.folder.repo.path(), "workflow": workflow });
    Ok(text(&fixture.engine.post("/projects", new).await?, "id"))
}

fn set(state: &mut Value, cleanup: &Value) {
    if let Some(state) = state.as_object_mut() {
        state.remove("cleanup");
        if !cleanup.is_null() {
            state.insert("cleanup".to_owned(), cleanup.clone());
        }
    }
}

/// A task with a worktree, closed by a person.
async fn closed(fixture: &WorkspaceFixture, project: &str, to: &str) -> Result<Value> {
    let task = fixture.engine.task(project, json!({ "title": to })).await?;
    let claim = json!({ "agent_id": "user", "version": task["version"] });
    fixture.post(&task, "/claim", claim).await?;
    fixture.engine.until(&task, super::fixture::is_ready).await?;
    let answer = fixture.engine.act(&task, "transition", json!({ "to": to })).await?;
    Ok(answer["task"].clone())
}

/// The seconds between closing a task and the cleanup of its worktree.
fn delay(task: &Value) -> Result<i64> {
    let time = |value: &Value| -> Result<i64> {
        Ok(serde_json::from_value::<forge_model::time::Timestamp>(value.clone()).context("no time")?.0)
    };
    Ok((time(&task["workspace"]["cleanup_at"])? - time(&task["status_since"])?) / 1000)
}

#[tokio::test(flavor = "multi_thread")]
async fn policy_of_the_state_comes_first() -> Result<()> {
    let mut fixture = WorkspaceFixture::new(json!({})).await?;
    // Another delay of the environment's makes no difference to a state that says for itself.
    fixture.restart_with_delay(7200).await?;
    for (name, cleanup) in [
        ("now", json!("immediate")),
        ("keep", json!("keep")),
        ("later", json!({ "delayed": { "seconds": 3600 } })),
    ] {
        let project = project(&fixture, name, &cleanup).await?;
        for to in ["done", "cancelled", "shelved"] {
            let task = closed(&fixture, &project, to).await?;
            match name {
                "now" => {
                    let gone = fixture.cleaned(&task).await?;
                    assert!(!tree(&gone).exists(), "{to}");
                }
                "keep" => {
                    let kept = fixture.get(&task).await?;
                    let workspace = &kept["workspace"];
                    assert_eq!(
                        (workspace["status"].as_str(), &workspace["cleanup_at"]),
                        (Some("active"), &Value::Null)
                    );
                    assert!(tree(&kept).exists(), "{to}");
                }
                _ => {
                    let due = fixture
                        .engine
                        .until(&task, |task| task["workspace"]["status"] == "scheduled")
                        .await?;
                    let seconds = delay(&due)?;
                    assert!((3590..3700).contains(&seconds), "{to}: {seconds}");
                }
            }
        }
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn state_without_a_policy_uses_its_default() -> Result<()> {
    let mut fixture = WorkspaceFixture::new(json!({})).await?;
    fixture.restart_with_delay(7200).await?;
    let project = project(&fixture, "silent", &Value::Null).await?;
    for to in ["done", "shelved"] {
        let task = closed(&fixture, &project, to).await?;
        fixture.cleaned(&task).await?;
    }
    let given_up = closed(&fixture, &project, "cancelled").await?;
    let due = fixture.engine.until(&given_up, |task| task["workspace"]["status"] == "scheduled").await?;
    let seconds = delay(&due)?;
    assert!((7190..7300).contains(&seconds), "{seconds}");
    Ok(())
}

/// Forge is stopped when the delay ends, so the next start removes the worktree.
#[tokio::test(flavor = "multi_thread")]
async fn delay_expired_while_forge_was_stopped_is_applied_at_start() -> Result<()> {
    let mut fixture = WorkspaceFixture::new(json!({})).await?;
    let project = project(&fixture, "soon", &json!({ "delayed": { "seconds": 3 } })).await?;
    for to in ["done", "cancelled", "shelved"] {
        let task = closed(&fixture, &project, to).await?;
        let due = fixture.get(&task).await?;
        fixture.restart().await?;
        let gone = fixture.cleaned(&task).await?;
        assert!(!tree(&gone).exists(), "{due:#}");
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn keep_and_remove_by_a_person_override_the_cleanup_policy() -> Result<()> {
    let fixture = WorkspaceFixture::new(json!({})).await?;
    for cleanup in [json!("keep"), json!({ "delayed": { "seconds": 3600 } })] {
        let project = project(&fixture, &cleanup.to_string(), &cleanup).await?;
        for to in ["done", "cancelled", "shelved"] {
            let task = closed(&fixture, &project, to).await?;
            let kept = fixture.post(&task, "/workspace/keep", json!({})).await?;
            assert_eq!(
                (kept["status"].as_str(), &kept["cleanup_at"]),
                (Some("active"), &Value::Null),
                "{to}"
            );
            let gone = fixture.post(&task, "/workspace/remove", json!({})).await?;
            assert_eq!(gone["status"], "cleaned", "{to}");
            assert!(!tree(&task).exists(), "{to}");
        }
    }
    Ok(())
}
