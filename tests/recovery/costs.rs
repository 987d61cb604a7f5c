//! A kill between the end of an anomalous run and the export of its anomaly.

use anyhow::{Context as _, Result};
use forge_testkit::{Caller, Folder, board::text, script, serve::Serve};
use forge_tests::patience::until;
use serde_json::{Value, json};

/// An anomaly is committed with the run's end; its export follows even after a kill between the two.
#[tokio::test(flavor = "multi_thread")]
async fn anomaly_after_kill_is_reported_exactly_once() -> Result<()> {
    for point in ["execution.finished#2", "anomalies.exporting#1"] {
        let sandbox = Folder::new()?;
        let serve = |env: Vec<(String, String)>| {
            Serve { program: "forge-faulty", data: sandbox.data_dir(), env }.start()
        };
        std::fs::create_dir_all(sandbox.data_dir())?;
        let fault = (forge_testkit::fault::FAULT_VARIABLE.to_owned(), point.to_owned());
        let mut first = serve(vec![fault])?;
        two_tasks(&first, &sandbox).await?;
        first.until_gone().await?;
        let second = serve(Vec::new())?;
        let file = sandbox.repo.path().join(".forge/cost-anomalies.jsonl");
        let exported = async || Ok(std::fs::read_to_string(&file).ok());
        let lines = until("the export", exported).await.with_context(|| point.to_owned())?;
        let found = second.get("/costs/anomalies").await?;
        let items = found["items"].as_array().context("no items")?;
        assert_eq!((lines.lines().count(), items.len()), (1, 1), "{point}: {lines}\n{found:#}");
        assert_eq!(serde_json::from_str::<Value>(&lines)?, items[0]["record"], "{point}");
        assert_eq!(items[0]["record"]["costMicroUsd"], 300, "{point}");
    }
    Ok(())
}

/// A project with a cheap task and an expensive one behind it, whose agent has started on return.
async fn two_tasks(engine: &Caller, sandbox: &Folder) -> Result<()> {
    let watch = json!({ "auto_approve": true, "innerLoop": { "costAnomaly": { "enabled": true } } });
    let new = json!({ "repo_path": sandbox.repo.path(), "settings": watch });
    let project = text(&engine.post("/projects", new).await?, "id");
    let config = json!({
        "command": forge_testkit::program("forge")?,
        "args": ["scripted-agent", "--prompt-file", "{prompt_file}"],
    });
    let agent =
        engine.post("/agents", json!({ "name": "Bot", "adapter": "shell", "config": config })).await?;
    let mut before = Vec::new();
    for (title, cost) in [("cheap", 100), ("dear", 300)] {
        let edit = format!("edit {title} <<< \"x\\n\"");
        let new = json!({
            "title": title, "description": script(&[&edit, &format!("usage m 1 1 {cost}")]),
            "roles": { "coder": agent["id"] }, "depends_on": before,
        });
        let task = engine.post(&format!("/projects/{project}/tasks"), new).await?;
        before = vec![task["id"].clone()];
        if title == "cheap" {
            let claim = json!({ "agent_id": agent["id"], "version": task["version"] });
            engine.post(&format!("/tasks/{}/claim", text(&task, "id")), claim).await?;
            let path = format!("/tasks/{}", text(&task, "id"));
            until("the end of the cheap one", async || {
                Ok((engine.get(&path).await?["status"] == "done").then_some(()))
            })
            .await?;
        } else {
            let claim = json!({ "agent_id": agent["id"], "version": task["version"] });
            // It may be gone before it answers.
            let _gone = engine.post(&format!("/tasks/{}/claim", text(&task, "id")), claim).await;
        }
    }
    Ok(())
}
