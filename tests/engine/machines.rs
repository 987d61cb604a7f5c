//! Machines: adding, changing and removing them, and testing one by a real ssh server.

use std::{fs, net::TcpListener};

use anyhow::{Context as _, Result, ensure};
use forge_api::ApiError;
use forge_model::execution::{Execution, ExecutionRole};
use forge_model::machine::Machine;
use forge_model::task::Task;
use forge_model::workspace::{Workspace, WorkspaceStatus};
use forge_store::{Store, table::executions::ExecutionRow};
use serde_json::{Value, json};

use crate::ssh_server::{Server, board};

fn refusal(answer: Result<Value, ApiError>) -> Result<Value> {
    let error = answer.err().context("it was not refused")?;
    Ok(serde_json::to_value(error)?)
}

#[tokio::test]
async fn machines_are_added_changed_found_by_name_and_removed() -> Result<()> {
    let board =
        board("Host near\n HostName near.example\n User me\nHost *.lan\n Port 1\n", json!({})).await?;
    let new = json!({ "name": "box", "ssh": { "host": "near" }, "labels": ["gpu"] });
    let added = board.call("machine_create", new.clone()).await?;
    assert_eq!((&added["root"], &added["contact"]), (&json!("~/.forge"), &json!("unknown")));
    let taken = refusal(board.call("machine_create", new).await)?;
    assert_eq!(taken["code"], "name_taken", "{taken:#}");
    let wrong = json!({ "name": "b", "ssh": { "host": "-oProxyCommand=x" } });
    let wrong = refusal(board.call("machine_create", wrong).await)?;
    ensure!(wrong.to_string().contains("ssh.host"), "{wrong:#}");
    let change = json!({ "machine_id": "box", "name": "crate", "caps": { "runs": 2 } });
    board.call("machine_update", change).await?;
    let found = board.call("machine_get", json!({ "machine_id": "crate" })).await?;
    assert_eq!((&found["id"], &found["caps"]["runs"]), (&added["id"], &json!(2)));
    let hosts = board.call("machine_hosts", json!({})).await?;
    assert_eq!(hosts["items"].as_array().map(Vec::len), Some(1), "patterns are no hosts: {hosts:#}");
    let host = &hosts["items"][0];
    assert_eq!((&host["target"], &host["machine_id"]), (&json!("me@near.example:22"), &added["id"]));
    board.call("machine_delete", json!({ "machine_id": "crate" })).await?;
    assert_eq!(board.call("machine_list", json!({})).await?["items"], json!([]));
    Ok(())
}

#[tokio::test]
async fn project_agent_and_task_say_which_labels_a_machine_must_have() -> Result<()> {
    let board = board("", json!({})).await?;
    let settings = json!({ "project_id": board.project, "machines": ["gpu"] });
    let view = board.call("project_settings_update", settings).await?;
    assert_eq!(view["settings"]["machines"], json!(["gpu"]));
    let agent = board.call("agent_get", json!({ "agent_id": board.agent })).await?;
    let mut config = agent["config"].clone();
    config["machines"] = json!([]);
    let change = json!({ "agent_id": board.agent, "config": config });
    assert_eq!(board.call("agent_update", change).await?["config"]["machines"], json!([]));

    let task = board.task("Train", &[], json!({ "machines": ["gpu", "box"] })).await?;
    assert_eq!(task["machines"], json!(["gpu", "box"]));
    let edit = |version: &Value, machines: Value| json!({ "task_id": task["id"], "version": version, "machines": machines });
    let local = board.call("task_update", edit(&task["version"], json!([]))).await?;
    assert_eq!(local["machines"], json!([]));
    let reset = board.call("task_update", edit(&local["version"], Value::Null)).await?;
    assert_eq!(reset["machines"], Value::Null);
    assert_eq!(board.task("Plain", &[], json!({})).await?["machines"], Value::Null);

    config["machines"] = json!(["a", ""]);
    for (operation, input, path) in [
        ("task_update", edit(&reset["version"], json!(["local"])), "machines[0]"),
        (
            "project_settings_update",
            json!({ "project_id": board.project, "machines": [" gpu"] }),
            "machines[0]",
        ),
        ("agent_update", json!({ "agent_id": board.agent, "config": config }), "config.machines[1]"),
    ] {
        let refused = refusal(board.call(operation, input).await)?;
        assert_eq!(refused["details"]["findings"][0]["path"], path, "{operation}: {refused:#}");
    }
    let part = json!({
        "project_id": board.project, "title": "Part", "machines": [], "parent_id": task["id"],
        "execution_mode": "ordered_turn",
    });
    let refused = refusal(board.call("task_create", part).await)?;
    assert_eq!(
        refused["details"]["findings"][0]["path"], "machines",
        "it runs where its parent does: {refused:#}"
    );
    Ok(())
}

#[tokio::test]
async fn machine_drains_and_is_not_removed_while_a_task_is_there() -> Result<()> {
    let board = board("", json!({})).await?;
    let new = json!({ "name": "box", "ssh": { "host": "near" }, "caps": { "runs": 2 } });
    let machine: Machine = serde_json::from_value(board.call("machine_create", new).await?)?;
    assert_eq!((machine.runs, machine.tasks, machine.draining), (0, 0, false));
    let drain = |draining: bool| json!({ "machine_id": "box", "draining": draining });
    assert_eq!(board.call("machine_update", drain(true)).await?["draining"], true);
    assert_eq!(board.call("machine_update", drain(false)).await?["draining"], false);

    let task: Task = serde_json::from_value(board.task("Train", &[], json!({})).await?)?;
    let there = Workspace {
        id: "w".into(),
        task_id: task.id.clone(),
        machine_id: Some(machine.id.clone()),
        status: WorkspaceStatus::Active,
        path: "/far/tree".to_owned(),
        branch: format!("forge/{}", task.id),
        base_commit: "c".to_owned(),
        cleanup_at: None,
        disk_bytes: None,
        error: None,
        lock: None,
        port_base: 4000,
        created_at: task.created_at,
        updated_at: task.created_at,
    };
    let mut run = Execution::begun(
        "x".into(),
        task.id.clone(),
        board.agent.as_str().into(),
        ExecutionRole::Coder,
        task.created_at,
    );
    run.machine_id = Some(machine.id.clone());
    let row = ExecutionRow {
        execution: run,
        corrections: Vec::new(),
        spends: None,
        after_transition: 0,
        carry: None,
        goes_on: false,
        effort: None,
    };
    let store = Store::open(&board.dir.path().join("data")).await?;
    let mut tx = store.write().await?;
    tx.workspaces_mut().put(&there, there.updated_at).await?;
    tx.executions_mut().insert(&row).await?;
    tx.commit().await?;

    let found = board.call("machine_get", json!({ "machine_id": "box" })).await?;
    assert_eq!((&found["runs"], &found["tasks"]), (&json!(1), &json!(1)));
    let list = |machine: &str| json!({ "project_id": board.project, "machine": machine });
    let on_box = board.call("task_list", list("box")).await?;
    assert_eq!(on_box["items"][0]["workspace"]["machine_id"], json!(machine.id), "{on_box:#}");
    assert_eq!(board.call("task_list", list("local")).await?["items"], json!([]));
    assert_eq!(refusal(board.call("task_list", list("gone")).await)?["code"], "not_found");
    let kept = refusal(board.call("machine_delete", json!({ "machine_id": "box" })).await)?;
    assert_eq!(kept["code"], "in_use", "{kept:#}");
    ensure!(kept["message"].as_str().is_some_and(|message| message.contains("#1 Train")), "{kept:#}");

    let mut tx = store.write().await?;
    let gone = Workspace { status: WorkspaceStatus::Cleaned, ..there };
    tx.workspaces_mut().put(&gone, gone.updated_at).await?;
    tx.commit().await?;
    store.close().await;
    board.call("machine_delete", json!({ "machine_id": "box" })).await?;
    Ok(())
}

#[tokio::test]
async fn machine_that_does_not_answer_is_told_with_a_remedy() -> Result<()> {
    // Nobody listens on a port that was given back.
    let port = TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
    let board = board(&format!("Host gone\n HostName 127.0.0.1\n Port {port}\n"), json!({})).await?;
    board.call("machine_create", json!({ "name": "gone", "ssh": { "host": "gone" } })).await?;
    let test = board.call("machine_test", json!({ "machine_id": "gone" })).await?;
    assert_eq!(test["ok"], false);
    let step = &test["steps"][0];
    assert_eq!((&step["name"], &step["ok"]), (&json!("reach"), &json!(false)), "{test:#}");
    ensure!(step["remedy"].is_string(), "{test:#}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn machine_is_tested_through_a_real_server_and_its_keeper_is_brought_there() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let Some(server) = Server::start(folder.path())? else { return Ok(()) };
    let board = board(&server.configuration("here"), json!({})).await?;
    let root = folder.path().join("forge");
    let new = json!({ "name": "here", "ssh": { "host": "here" }, "root": root });
    board.call("machine_create", new).await?;
    let test = board.call("machine_test", json!({ "machine_id": "here" })).await?;
    let steps = test["steps"].as_array().context("no steps")?;
    let names: Vec<&str> = steps.iter().filter_map(|step| step["name"].as_str()).collect();
    ensure!(names.starts_with(&["reach", "host key", "sign-in", "keeper", "git"]), "{test:#}");
    let way = steps.iter().take(5);
    ensure!(way.into_iter().all(|step| step["ok"] == true), "{test:#}");
    ensure!(fs::read_dir(root.join("bin"))?.next().is_some(), "the keeper is there");
    Ok(())
}
