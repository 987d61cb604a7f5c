//! Start and shutdown of the engine, and clients that disconnect in between.

use std::time::Duration;

use anyhow::Result;
use forge_tests::patience::until_there;
use reqwest::Method;
use serde_json::{Value, json};

use crate::answers::good;
use forge_testkit::{
    Folder,
    board::{text, until_exists},
    script,
};

#[tokio::test(flavor = "multi_thread")]
async fn second_engine_is_refused_and_names_the_first() -> Result<()> {
    let sandbox = Folder::new()?;
    let server = sandbox.serve()?;
    assert_eq!(server.line["pid"], server.pid());
    assert_eq!(server.line["data_dir"], sandbox.data_dir().to_string_lossy().as_ref());
    let second = sandbox.run(&["serve", "--port", "0"])?;
    assert_eq!(second.code, Some(4), "{second:?}");
    assert!(second.stdout.is_empty());
    assert!(second.stderr.starts_with("engine_running: "), "{second:?}");
    for known in [server.pid().to_string(), server.url.clone()] {
        assert!(second.stderr.contains(&known), "{known}: {second:?}");
    }
    assert!(server.get("/meta").await.is_ok(), "the first one is none the worse for it");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn engine_shuts_down_in_order_with_open_work() -> Result<()> {
    let sandbox = Folder::new()?;
    let mut server = sandbox.serve()?;
    let go = sandbox.dir.path().join("go");
    let settings = json!({ "review_config": { "ci_steps": [until_exists(&go)] } });
    let (project, agent) = server.project(&sandbox.repo, settings).await?;
    // A check that goes on, a client that waits for it, an agent that does not listen, a reader of events.
    let checked = server.task(&project, json!({})).await?;
    let claim = json!({ "agent_id": "user", "version": checked["version"] });
    server.post(&format!("/tasks/{}/claim", text(&checked, "id")), claim).await?;
    let checked = server.until(&checked, is_ready).await?;
    let moved = json!({ "to": "review", "version": checked["version"] });
    let waiting = server.request(Method::POST, &format!("/tasks/{}/transition", text(&checked, "id")));
    let waiting = tokio::spawn(waiting.json(&moved).send());
    let hung = server.task(&project, json!({ "description": script(&["ignore-sigterm", "hang"]) })).await?;
    let claim = json!({ "agent_id": agent, "version": hung["version"] });
    server.post(&format!("/tasks/{}/claim", text(&hung, "id")), claim).await?;
    server.until(&hung, |task| task["live"].is_object()).await?;
    server.until(&checked, |task| task["status"] == "review").await?;
    let mut events = server.request(Method::GET, "/events").send().await?;

    let (status, rest) = server.terminate().await?;
    assert_eq!(status.code(), Some(0));
    assert_eq!(rest, "", "standard output carries one line");
    while events.chunk().await?.is_some() {}
    let answer = waiting.await??;
    assert!(matches!(answer.status().as_u16(), 200 | 503), "{}", answer.status());

    // The same folder opens again, with the same token, and what was pending goes on.
    std::fs::write(&go, "")?;
    let again = sandbox.serve()?;
    assert_eq!(again.token, server.token);
    let now = again.until(&checked, |task| task["review"]["status"] == "awaiting_human").await?;
    assert_eq!(now["status"], "review");
    again.until(&hung, |task| task["live"].is_object()).await?;
    Ok(())
}

/// A validation ends with the engine and is not resumed, so the caller is told to send it again.
#[tokio::test(flavor = "multi_thread")]
async fn validation_cut_off_by_shutdown_is_reported_as_ended() -> Result<()> {
    let sandbox = Folder::new()?;
    let mut server = sandbox.serve()?;
    server.project(&sandbox.repo, json!({})).await?;
    let begun = sandbox.dir.path().join("begun");
    let command = format!("touch {}; exec sleep 600", begun.display());
    let asked = json!({ "moduleId": "m", "commands": [command], "cwd": sandbox.repo.path() });
    let answer = tokio::spawn(server.request(Method::POST, "/validate").json(&asked).send());
    until_there(&begun).await?;
    assert_eq!(server.terminate().await?.0.code(), Some(0));
    let answer = answer.await??;
    assert_eq!(answer.status(), 503);
    let said = text(&answer.json::<Value>().await?, "message");
    assert!(said.contains("send the request again"), "{said}");
    Ok(())
}

/// Whether a person can work on a task: its worktree exists and its state is entered.
fn is_ready(task: &Value) -> bool {
    task["workspace"]["status"] == "active" && task["entry_barrier"].is_null()
}

/// A move away from an agent ends the agent first, which takes seconds when it ignores the signal.
#[tokio::test(flavor = "multi_thread")]
async fn move_of_a_disconnected_client_is_completed() -> Result<()> {
    let sandbox = Folder::new()?;
    let server = sandbox.serve()?;
    let (project, agent) = server.project(&sandbox.repo, json!({})).await?;
    let stubborn = script(&["ignore-sigterm", "say I am busy", "hang"]);
    let task = server.task(&project, json!({ "description": stubborn })).await?;
    let id = text(&task, "id");
    let claim = json!({ "agent_id": agent, "version": task["version"] });
    server.post(&format!("/tasks/{id}/claim"), claim).await?;
    let task = server.until(&task, |task| task["live"].is_object()).await?;
    let run = text(&task["live"], "execution_id");
    loop {
        let log = server.get(&format!("/executions/{run}/logs")).await?;
        if log["entries"].as_array().into_iter().flatten().any(|entry| entry["kind"] == "assistant_text") {
            break;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    // Read again: that its run began is a change of the task, too.
    let task = server.get(&format!("/tasks/{id}")).await?;
    let away = server
        .request(Method::POST, &format!("/tasks/{id}/transition"))
        .json(&json!({ "to": "todo", "version": task["version"] }))
        .timeout(Duration::from_secs(1))
        .send()
        .await;
    let cut_off = away.as_ref().is_err_and(reqwest::Error::is_timeout);
    assert!(cut_off, "it was to be cut off: {away:?}");
    let now = server.until(&task, |task| task["status"] == "todo").await?;
    assert!(now["live"].is_null());
    let transitions: Value =
        good(server.request(Method::GET, &format!("/tasks/{id}/transitions")).send().await?).await?;
    assert_eq!(transitions["items"].as_array().map(Vec::len), Some(2), "claimed once, moved once");
    Ok(())
}
