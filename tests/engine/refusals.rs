//! Refused commands: each has its error and changes nothing.

use anyhow::Result;
use forge_testkit::Sandbox;
use serde_json::{Value, json};

#[tokio::test(flavor = "multi_thread")]
async fn refused_command_has_its_status_and_changes_nothing() -> Result<()> {
    let sandbox = Sandbox::new(json!({})).await?;
    let task = sandbox.task("Plain", &["edit a <<< \"a\""], json!({})).await?;
    let id = &task["id"];
    let refuse = async |op: &str, input: Value| sandbox.call(op, input).await.unwrap_err();

    let stale = refuse("task_update", json!({ "task_id": id, "version": 7, "title": "x" })).await;
    assert_eq!((stale.status, stale.code.as_str()), (409, "version_conflict"));
    let illegal = refuse("task_transition", json!({ "task_id": id, "version": 1, "to": "nowhere" })).await;
    assert_eq!((illegal.status, illegal.code.as_str()), (422, "illegal_transition"));
    assert!(illegal.details["allowed"].as_array().unwrap().contains(&json!("in_progress")));
    let unknown =
        refuse("task_create", json!({ "project_id": sandbox.project, "title": "x", "colour": "red" })).await;
    assert_eq!((unknown.status, unknown.details["findings"][0]["path"].as_str()), (400, Some("colour")));
    let nested = refuse(
        "task_create",
        json!({ "project_id": sandbox.project, "title": "x", "review_config": { "ci_steps": ["ok", " "] } }),
    )
    .await;
    assert_eq!(nested.details["findings"][0]["path"], "review_config.ci_steps[1]");
    let offered = refuse("task_action", json!({ "task_id": id, "version": 1, "verb": "retry" })).await;
    assert_eq!((offered.status, offered.code.as_str()), (409, "not_offered"));
    assert_eq!(offered.details["offers"].as_array().unwrap().len(), 2);
    let settings =
        refuse("project_settings_update", json!({ "project_id": sandbox.project, "max_concurrent": 0 }))
            .await;
    assert_eq!(settings.details["findings"][0]["path"], "max_concurrent");
    let nothing = refuse("project_create", json!({ "repo_path": sandbox.dir.path() })).await;
    assert_eq!((nothing.status, nothing.details["findings"][0]["path"].as_str()), (400, Some("repo_path")));
    assert_eq!(sandbox.get(&task).await?["version"], 1);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn open_dependencies_hold_agents_and_cycles_are_refused() -> Result<()> {
    let sandbox = Sandbox::new(json!({ "auto_approve": true })).await?;
    let first = sandbox.task("First", &["edit one.txt <<< \"1\\n\""], json!({})).await?;
    let second = sandbox
        .task("Second", &["edit two.txt <<< \"2\\n\""], json!({ "depends_on": [first["id"]] }))
        .await?;
    let cycle = sandbox
        .call("task_dependency_add", json!({ "task_id": first["id"], "depends_on": second["id"] }))
        .await
        .unwrap_err();
    assert_eq!((cycle.status, cycle.code.as_str()), (409, "dependency_cycle"));
    let open = sandbox
        .call("task_claim", json!({ "task_id": second["id"], "agent_id": sandbox.agent, "version": 1 }))
        .await
        .unwrap_err();
    assert_eq!((open.status, open.code.as_str()), (409, "dependency_open"));
    sandbox.claim(&first).await?;
    sandbox.reach(&first, "done").await?;
    sandbox.claim(&second).await?;
    sandbox.reach(&second, "done").await?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn concurrent_claims_stay_within_the_agents_limit() -> Result<()> {
    let sandbox = Sandbox::new(json!({ "auto_approve": true, "max_concurrent": 1 })).await?;
    let gate = sandbox.dir.path().join("go");
    let wait = format!("wait-for {}", gate.display());
    let first = sandbox.task("First", &["edit one.txt <<< \"1\\n\"", &wait], json!({})).await?;
    let second = sandbox.task("Second", &["edit two.txt <<< \"2\\n\""], json!({})).await?;
    let urgent = sandbox.task("Urgent", &["edit three.txt <<< \"3\\n\""], json!({ "priority": 5 })).await?;
    sandbox.claim(&first).await?;
    sandbox.wait(&first, "running", |task| task["live"].is_object()).await?;
    let refused = sandbox
        .call(
            "task_claim",
            json!({ "task_id": second["id"], "agent_id": sandbox.agent, "version": 1, "queue": false }),
        )
        .await
        .unwrap_err();
    assert_eq!((refused.status, refused.code.as_str()), (409, "agent_busy"));
    sandbox
        .call("task_transition", json!({ "task_id": second["id"], "to": "in_progress", "version": 1 }))
        .await?;
    let queued = sandbox.get(&second).await?;
    assert_eq!(queued["waiting"]["reason"], "project_busy", "a drag queues like everything else");
    sandbox.claim(&urgent).await?;
    sandbox.wait(&urgent, "queued", |task| task["waiting"].is_object()).await?;
    std::fs::write(&gate, "")?;
    for task in [&first, &urgent, &second] {
        sandbox.reach(task, "done").await?;
    }
    let started = async |task: &Value| -> Result<String> {
        let runs = sandbox.call("task_executions", json!({ "task_id": task["id"] })).await?;
        Ok(runs["items"][0]["started_at"].as_str().unwrap_or_default().to_owned())
    };
    assert!(started(&urgent).await? <= started(&second).await?, "the higher priority goes first");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn moved_card_stops_its_agent_and_keeps_its_work() -> Result<()> {
    let sandbox = Sandbox::new(json!({})).await?;
    let task = sandbox
        .task("Long", &["edit half.txt <<< \"half\\n\"", "ignore-sigterm", "fork", "hang"], json!({}))
        .await?;
    sandbox.claim(&task).await?;
    let running = sandbox.wait(&task, "at work", |task| {
        let path = task["workspace"]["path"].as_str().unwrap_or_default();
        task["live"].is_object() && std::path::Path::new(path).join("half.txt").exists()
    });
    let running = running.await?;
    sandbox
        .call(
            "task_transition",
            json!({ "task_id": task["id"], "to": "todo", "version": running["version"] }),
        )
        .await?;
    let back = sandbox.reach(&task, "todo").await?;
    assert!(back["live"].is_null());
    assert_eq!(sandbox.processes()?, Vec::<String>::new());
    assert!(
        std::path::Path::new(back["workspace"]["path"].as_str().unwrap()).join("half.txt").exists(),
        "leftovers stay"
    );
    let runs = sandbox.call("task_executions", json!({ "task_id": task["id"] })).await?;
    assert_eq!(runs["items"][0]["status"], "cancelled");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn cancelled_work_is_backed_up_before_worktree_removal() -> Result<()> {
    let sandbox =
        Sandbox::with_config(json!({}), |config| config.cleanup_delay = std::time::Duration::ZERO).await?;
    let task = sandbox.task("Given up", &["edit half.txt <<< \"half\\n\"", "hang"], json!({})).await?;
    sandbox.claim(&task).await?;
    let running = sandbox
        .wait(&task, "at work", |task| {
            let path = task["workspace"]["path"].as_str().unwrap_or_default();
            std::path::Path::new(path).join("half.txt").exists()
        })
        .await?;
    sandbox
        .call(
            "task_action",
            json!({ "task_id": task["id"], "verb": "cancel", "version": running["version"] }),
        )
        .await?;
    sandbox.wait(&task, "cleaned", |task| task["workspace"]["status"] == "cleaned").await?;
    let backups = sandbox.call("task_backups", json!({ "task_id": task["id"] })).await?;
    let commit = backups["items"][0]["commit"].as_str().unwrap();
    assert_eq!(sandbox.repo.show(commit, "half.txt").as_deref(), Some("half"));
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn drag_before_agent_start_can_be_undone() -> Result<()> {
    let sandbox =
        Sandbox::with_config(json!({}), |config| config.undo_window = std::time::Duration::from_secs(600))
            .await?;
    let task = sandbox.task("Dragged", &["edit a.txt <<< \"a\\n\""], json!({})).await?;
    let board = |op: &'static str, input: Value| sandbox.api.call(forge_model::actor::Via::Board, op, input);
    let moved =
        board("task_move", json!({ "task_id": task["id"], "to": "in_progress", "version": 1 })).await?;
    assert_eq!(moved["task"]["waiting"]["reason"], "undo");
    let back = board("task_undo", json!({ "task_id": task["id"] })).await?;
    assert_eq!((back["status"].as_str(), &back["waiting"]), (Some("todo"), &Value::Null));
    assert_eq!(sandbox.moves(&task).await?, ["move todo>in_progress", "undo in_progress>todo"]);
    let runs = sandbox.call("task_executions", json!({ "task_id": task["id"] })).await?;
    assert_eq!(runs["items"], json!([]));
    let again = board("task_undo", json!({ "task_id": task["id"] })).await.unwrap_err();
    assert_eq!((again.status, again.code.as_str()), (409, "nothing_to_undo"));
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn undo_window_survives_restart() -> Result<()> {
    let mut sandbox =
        Sandbox::with_config(json!({}), |config| config.undo_window = std::time::Duration::from_secs(2))
            .await?;
    let task = sandbox.task("Dragged", &["edit a.txt <<< \"a\\n\""], json!({})).await?;
    let drag = json!({ "task_id": task["id"], "to": "in_progress", "version": 1 });
    sandbox.api.call(forge_model::actor::Via::Board, "task_move", drag).await?;
    sandbox.restart().await?;
    assert_eq!(sandbox.get(&task).await?["waiting"]["reason"], "undo");
    sandbox.wait(&task, "awaiting", |task| task["review"]["status"] == "awaiting_human").await?;
    Ok(())
}
