//! Worktree locks: one holder at a time, the others are queued or refused.

use anyhow::Result;
use forge_testkit::board::{text, until_exists};
use serde_json::{Value, json};

use super::fixture::{WorkspaceFixture, bystander, foreign_lock, is_ready, lock_file, tree};

#[tokio::test(flavor = "multi_thread")]
async fn running_agent_holds_the_lock_and_releases_it() -> Result<()> {
    let fixture = WorkspaceFixture::new(json!({})).await?;
    let go = fixture.folder.dir.path().join("go");
    let task =
        fixture.started("Locked", &[&format!("wait-for {}", go.display()), "edit a <<< \"a\""]).await?;
    let held = |task: &Value| {
        let lock = &task["workspace"]["lock"];
        lock["execution_id"] == task["live"]["execution_id"]
            && lock["pid"].as_u64().is_some_and(|pid| pid > 0)
    };
    let live = fixture.engine.until(&task, |task| task["live"].is_object() && held(task)).await?;
    let pid = live["workspace"]["lock"]["pid"].to_string();
    fixture.engine.until(&task, |task| task["workspace"]["lock"]["pid"] != std::process::id()).await?;
    assert!(std::path::Path::new("/proc").join(pid).exists());
    std::fs::write(&go, "")?;
    fixture.engine.until(&task, |task| task["review"]["status"] == "awaiting_human").await?;
    assert!(!lock_file(&live).exists());
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn locked_worktree_refuses_transition_claim_and_follow_up_without_waiting() -> Result<()> {
    let fixture = WorkspaceFixture::new(json!({})).await?;
    let task = fixture.started("Busy", &["edit a <<< \"a\"", "hang"]).await?;
    let live = fixture
        .engine
        .until(&task, |task| task["workspace"]["lock"].is_object() && task["live"].is_object())
        .await?;
    let run = text(&live["live"], "execution_id");
    let id = text(&task, "id");
    let version = fixture.get(&task).await?["version"].clone();
    let refusals = [
        (
            format!("/tasks/{id}/transition"),
            json!({ "to": "todo", "version": version, "if_locked": "reject" }),
        ),
        (format!("/executions/{run}/follow-up"), json!({ "message": "more", "if_locked": "reject" })),
    ];
    for (path, body) in refusals {
        let (status, body) = fixture.refused(&path, body).await?;
        assert_eq!((status, body["code"].as_str()), (409, Some("workspace_locked")), "{path}: {body}");
        assert_eq!(body["details"]["lock"]["execution_id"], run.as_str());
    }
    assert!(fixture.get(&task).await?["live"].is_object(), "nothing was stopped");
    // A claim meets a lock of somebody outside.
    fixture.act(&task, "cancel", json!({})).await?;
    let other = fixture.manual_task("Claimed").await?;
    let version = fixture.get(&other).await?["version"].clone();
    fixture.post(&other, "/transition", json!({ "to": "todo", "version": version })).await?;
    let mut holder = bystander(fixture.folder.dir.path())?;
    foreign_lock(&other, holder.id())?;
    let version = fixture.get(&other).await?["version"].clone();
    let claim = json!({ "agent_id": fixture.agent, "version": version, "if_locked": "reject" });
    let (status, body) = fixture.refused(&format!("/tasks/{}/claim", text(&other, "id")), claim).await?;
    assert_eq!((status, body["code"].as_str()), (409, Some("workspace_locked")), "{body}");
    assert_eq!(fixture.get(&other).await?["status"], "todo", "nothing changed");
    drop(holder.stdin.take());
    holder.wait()?;
    Ok(())
}

/// A message waits for the current run and reaches the agent before the task moves.
#[tokio::test(flavor = "multi_thread")]
async fn message_to_a_busy_agent_is_queued_and_delivered_before_the_next_move() -> Result<()> {
    let fixture = WorkspaceFixture::new(json!({})).await?;
    let go = fixture.folder.dir.path().join("go");
    let description = format!(
        "```forge-script\nwait-for {}\nedit a <<< \"one\"\n```\n```forge-script attempt=2\nedit b <<< \"two\"\n```",
        go.display()
    );
    let task = fixture.engine.task(&fixture.project, json!({ "description": description })).await?;
    fixture.claim(&task).await?;
    let live = fixture.engine.until(&task, |task| task["live"].is_object()).await?;
    let follow_up = format!("/executions/{}/follow-up", text(&live["live"], "execution_id"));
    for message in ["mind the gap", "and the step"] {
        fixture.engine.post(&follow_up, json!({ "message": message, "if_locked": "wait" })).await?;
    }
    let waiting = fixture.engine.until(&task, |task| task["waiting"]["reason"] == "workspace_locked").await?;
    assert!(waiting["live"].is_object());
    std::fs::write(&go, "")?;
    let done = fixture.engine.until(&task, |task| task["review"]["status"] == "awaiting_human").await?;
    assert!(done["waiting"].is_null());
    let runs = fixture.items(&format!("/tasks/{}/executions", text(&task, "id"))).await?;
    assert_eq!(runs.len(), 2, "one more run with both: {runs:#?}");
    let log = fixture.log(&task, &text(&runs[1], "log_id")).await?;
    assert!(log.contains("mind the gap") && log.contains("and the step"), "{log}");
    let branch = format!("forge/{}", text(&task, "id"));
    assert_eq!(fixture.folder.repo.show(&branch, "a").as_deref(), Some("one"));
    assert_eq!(fixture.folder.repo.show(&branch, "b").as_deref(), Some("two"));
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn foreign_lock_is_waited_for_until_released() -> Result<()> {
    let fixture = WorkspaceFixture::new(json!({})).await?;
    let task = fixture.manual_task("In line").await?;
    let mut holder = bystander(fixture.folder.dir.path())?;
    let version = fixture.get(&task).await?["version"].clone();
    fixture.post(&task, "/transition", json!({ "to": "todo", "version": version })).await?;
    foreign_lock(&task, holder.id())?;
    // The answer does not wait for somebody outside.
    let version = fixture.get(&task).await?["version"].clone();
    let role = json!({ "holder": fixture.agent, "version": version });
    let path = format!("/tasks/{}/roles/coder", text(&task, "id"));
    fixture.engine.put(&path, role).await?;
    let version = fixture.get(&task).await?["version"].clone();
    fixture.post(&task, "/claim", json!({ "agent_id": fixture.agent, "version": version })).await?;
    let waiting = fixture.engine.until(&task, |task| task["waiting"]["reason"] == "workspace_locked").await?;
    let message = text(&waiting["waiting"], "message");
    assert!(message.contains("somebody-else") && message.contains(&holder.id().to_string()), "{message}");
    std::fs::remove_file(lock_file(&task))?;
    let after = fixture.engine.until(&task, |task| task["review"]["status"] == "awaiting_human").await?;
    assert!(after["waiting"].is_null());
    drop(holder.stdin.take());
    holder.wait()?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn lock_of_a_holder_that_dies_is_released() -> Result<()> {
    let settings = json!({ "review_config": { "ci_steps": ["test -e README.md"] } });
    let fixture = WorkspaceFixture::new(settings).await?;
    let task = fixture.manual_task("In line").await?;
    let mut holder = bystander(fixture.folder.dir.path())?;
    foreign_lock(&task, holder.id())?;
    let version = fixture.get(&task).await?["version"].clone();
    fixture.post(&task, "/transition", json!({ "to": "review", "version": version })).await?;
    fixture.engine.until(&task, |task| task["waiting"]["reason"] == "workspace_locked").await?;
    let restore = json!({ "commit": "0000" });
    let (status, _) =
        fixture.refused(&format!("/tasks/{}/backups/restore", text(&task, "id")), restore).await?;
    assert_eq!(status, 404);
    // Its file stays behind; the system tells that it is gone.
    drop(holder.stdin.take());
    holder.wait()?;
    fixture.engine.until(&task, |task| task["review"]["status"] == "awaiting_human").await?;
    assert!(!lock_file(&task).exists());
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn locks_of_dead_processes_are_released_at_start() -> Result<()> {
    let mut fixture = WorkspaceFixture::new(json!({})).await?;
    let gone = fixture.manual_task("Gone").await?;
    let reused = fixture.manual_task("Reused").await?;
    let torn = fixture.manual_task("Torn").await?;
    let mut holder = bystander(fixture.folder.dir.path())?;
    foreign_lock(&gone, holder.id())?;
    drop(holder.stdin.take());
    holder.wait()?;
    // The number lives, but is another process.
    let host = nix::unistd::gethostname()?.to_string_lossy().into_owned();
    let lock = json!({ "execution_id": "x", "pid": std::process::id(), "start_time": 1, "host": host, "acquired_at": "2026-01-01T00:00:00Z" });
    std::fs::write(lock_file(&reused), lock.to_string())?;
    std::fs::write(lock_file(&torn), "")?;
    fixture.restart().await?;
    for task in [&gone, &reused, &torn] {
        assert!(!lock_file(task).exists(), "{}", task["title"]);
    }
    Ok(())
}

/// A check holds the lock, so requests that would change files are refused.
#[tokio::test(flavor = "multi_thread")]
async fn running_check_holds_the_lock() -> Result<()> {
    let probe = tempfile::tempdir()?;
    let go = probe.path().join("go");
    let fixture =
        WorkspaceFixture::new(json!({ "review_config": { "ci_steps": [until_exists(&go)] } })).await?;
    let task = fixture.manual_task("Checked").await?;
    let version = fixture.get(&task).await?["version"].clone();
    fixture.post(&task, "/transition", json!({ "to": "review", "version": version, "wait": "none" })).await?;
    let held = |task: &Value| {
        task["workspace"]["lock"]["execution_id"].as_str().is_some_and(|id| id.starts_with("run_ci_steps"))
    };
    fixture
        .engine
        .until(&task, |task| held(task) && task["workspace"]["lock"]["pid"] != std::process::id())
        .await?;
    std::fs::write(&go, "")?;
    let is_free = |task: &Value| is_ready(task) && !tree(task).with_file_name(".forge.lock").exists();
    fixture.engine.until(&task, |task| task["review"]["status"] == "awaiting_human" && is_free(task)).await?;
    Ok(())
}
