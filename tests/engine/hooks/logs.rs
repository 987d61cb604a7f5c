//! Logs of hook runs, and test runs of hooks without a move.

use super::*;
use forge_testkit::{board::until_exists, caller::PATIENCE};

#[tokio::test(flavor = "multi_thread")]
async fn hook_run_leaves_a_log_that_can_be_followed_and_read() -> Result<()> {
    let board = hooked(json!({})).await?;
    let go = board.file("go");
    let command = format!(
        "echo early; {}; i=0; while [ $i -lt 2000 ]; do echo 0123456789; i=$((i+1)); done; echo late; echo odd >&2",
        until_exists(&go)
    );
    set_hooks(&board, json!({ "before_work": [{ "type": "script", "command": command, "blocking": true }] }))
        .await?;
    let task = board.task(&["hang"], json!({})).await?;
    let id = text(&task, "id");
    let body = json!({ "agent_id": board.agent, "version": task["version"] });
    board.engine.post(&format!("/tasks/{id}/claim"), body).await?;
    // While it runs the timeline names its log, and the log grows.
    let grown = async || {
        let hooks = board.hooks(&task).await?;
        let Some(log) = hooks.first().and_then(|hook| hook["log_id"].as_str()) else { return Ok(None) };
        let page = board.engine.get(&format!("/executions/{log}/logs")).await?;
        let has_grown = page["entries"][0]["body"]["text"] == "early\n";
        ensure!(!has_grown || hooks[0]["status"] == "running", "{hooks:#?}");
        Ok(has_grown.then(|| log.to_owned()))
    };
    let log = board.engine.watch(grown).await?.context("the log never grew")?;
    std::fs::write(&go, "")?;
    board.engine.until(&task, |task| task["live"].is_object()).await?;
    assert!(log.starts_with("hook-before_work-0-"), "{log}");
    let record = record(&board, &task, &log).await?;
    assert_eq!(
        (&record["event"], &record["index"], &record["type"]),
        (&json!("before_work"), &json!(0), &json!("script"))
    );
    assert_eq!(
        (&record["status"], &record["exit_code"], &record["stderr"]),
        (&json!("ok"), &json!(0), &json!("odd\n"))
    );
    assert!(record["duration_ms"].as_u64().is_some(), "{record}");
    let stdout = text(&record, "stdout");
    assert!(stdout.starts_with("early\n") && stdout.ends_with("late\n"), "{stdout}");
    assert!(stdout.contains("bytes left out") && stdout.len() < 11 * 1024, "{} bytes", stdout.len());
    let project = &board.project;
    let file = board.folder.data_dir().join(format!("logs/{project}/{id}/{log}.jsonl"));
    let lines = std::fs::read_to_string(&file)?;
    let last: Value = serde_json::from_str(lines.lines().last().context("no line")?)?;
    assert_eq!(last["body"], record);
    let page = board.engine.get(&format!("/executions/{log}/logs?limit=200")).await?;
    assert_eq!(
        page["entries"].as_array().and_then(|all| all.last()).map(|last| last["body"].clone()),
        Some(record)
    );
    let (status, _) =
        refused(board.engine.request(Method::GET, "/executions/hook-before_work-0-1/logs")).await?;
    assert_eq!(status, 404);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn hook_test_needs_no_move_and_no_agent() -> Result<()> {
    let board = hooked(json!({ "on_work_stop": [
        { "type": "plugin", "name": "publish_task_blocked" },
        { "type": "script", "command": "pwd; echo $FORGE_EVENT:$FORGE_TASK_TITLE; exit 4" },
    ] }))
    .await?;
    let task = board.task(&["hang"], json!({})).await?;
    let path = format!("/projects/{}/hooks/test", board.project);
    let ask = json!({ "task_id": task["id"], "event": "on_work_stop", "hook_index": 1, "log_id": "hook-test-mine" });
    let shown = board.engine.post(&path, ask).await?;
    assert_eq!(
        (&shown["status"], &shown["exit_code"], &shown["timed_out"]),
        (&json!("failed"), &json!(4), &json!(false))
    );
    let repo = board.folder.repo.path().canonicalize()?;
    assert_eq!(text(&shown, "stdout"), format!("{}\non_work_stop:Do it\n", repo.display()));
    assert_eq!(Path::new(&text(&shown, "working_dir")).canonicalize()?, repo, "there is no worktree yet");
    assert_eq!(shown["environment"]["FORGE_TASK_ID"], task["id"]);
    assert_eq!(shown["environment"]["FORGE_WORKTREE_PATH"], "");
    let names = shown["environment"].as_object().context("no environment")?.keys();
    assert!(names.into_iter().all(|name| name.starts_with("FORGE_")));
    assert!(Path::new(&text(&shown, "log_path")).is_file());
    assert_eq!(record(&board, &task, "hook-test-mine").await?["exit_code"], 4);
    let of_task = board.engine.get(&format!("/tasks/{}/logs/hook-test-mine", text(&task, "id"))).await?;
    assert_eq!(board.engine.get("/executions/hook-test-mine/logs").await?, of_task, "the route of all logs");
    let none = board.engine.request(Method::GET, "/executions/hook-test-none/logs");
    assert_eq!(refused(none).await?.0, 404);
    // Not saved yet, without a task, with its time limit.
    let hook = json!({ "type": "script", "command": "sleep 600", "timeout_seconds": 1, "blocking": true });
    let ask = json!({ "event": "before_work", "hook_index": 0, "hook": hook });
    let shown = board.engine.post(&path, ask).await?;
    assert_eq!((&shown["status"], &shown["timed_out"]), (&json!("timed_out"), &json!(true)));
    assert_eq!(shown["environment"]["FORGE_TASK_ID"], "");
    assert!(text(&shown, "log_path").contains("/_hooks/hook-test-before_work-0-"), "{shown}");
    let log = board.engine.get(&format!("/executions/{}/logs", text(&shown, "log_id"))).await?;
    assert_eq!(log["entries"].as_array().and_then(|all| all.last()).context("none")?["kind"], "hook_run");
    // A plugin says what it would do, and does nothing.
    let shown = board
        .engine
        .post(&path, json!({ "task_id": task["id"], "event": "on_work_stop", "hook_index": 0 }))
        .await?;
    assert_eq!(shown["status"], "skipped");
    assert!(text(&shown, "error").contains("Notifies the user"), "{shown}");
    for (bad, field) in [
        (json!({ "event": "on_work_stop", "hook_index": 2 }), "hook_index"),
        (json!({ "event": "on_work_stop", "hook_index": 1, "log_id": "../x" }), "log_id"),
        (
            json!({ "event": "on_work_stop", "hook_index": 0, "hook": { "type": "script", "command": "true", "blocking": true } }),
            "hook.blocking",
        ),
    ] {
        let (status, body) = refused(board.engine.request(Method::POST, &path).json(&bad)).await?;
        assert_eq!((status, body["details"]["findings"][0]["path"].as_str()), (400, Some(field)), "{body}");
    }
    let after = board.engine.get(&format!("/tasks/{}", text(&task, "id"))).await?;
    assert_eq!((&after["status"], &after["version"]), (&task["status"], &task["version"]));
    assert!(after["live"].is_null());
    assert_eq!(board.events_of("hook.run").await?.len(), 0);
    Ok(())
}

/// The output of a test run can be followed while it runs, with and without a task.
#[tokio::test(flavor = "multi_thread")]
async fn hook_test_in_the_repository_can_be_followed() -> Result<()> {
    let board = hooked(json!({})).await?;
    let go = board.file("go");
    let task = board.task(&["hang"], json!({})).await?;
    let test = format!("/projects/{}/hooks/test", board.project);
    for (log, owner) in [("hook-test-alone", Value::Null), ("hook-test-of-task", task["id"].clone())] {
        let path = if owner.is_null() {
            format!("/projects/{}/hooks/logs/{log}", board.project)
        } else {
            format!("/tasks/{}/logs/{log}", text(&task, "id"))
        };
        assert_eq!(board.engine.get(&path).await?["total"], 0, "not there yet");
        let command = format!("echo begun; {}", until_exists(&go));
        let hook = json!({ "type": "script", "command": command, "timeout_seconds": 60 });
        let mut ask = json!({ "event": "before_work", "hook_index": 0, "hook": hook, "log_id": log });
        if !owner.is_null() {
            ask["task_id"] = owner.clone();
        }
        let mut events = board.engine.serve().await?.request(Method::GET, "/events").send().await?;
        let grows = async {
            let mut all = String::new();
            loop {
                let chunk =
                    tokio::time::timeout(PATIENCE, events.chunk()).await??.context("the events end")?;
                all.push_str(&String::from_utf8_lossy(&chunk));
                let data = all.lines().filter_map(|line| line.strip_prefix("data:"));
                let mut events = data.filter_map(|data| serde_json::from_str::<Value>(data.trim()).ok());
                let found =
                    events.find(|event| event["type"] == "execution.log" && event["entity_id"] == log);
                let Some(found) = found else { continue };
                ensure!(
                    found["project_id"] == board.project.as_str() && found["task_id"] == owner,
                    "{found}"
                );
                let page = board.engine.get(&path).await?;
                if page["entries"].to_string().contains("begun") {
                    std::fs::write(&go, "")?;
                    return Ok(page);
                }
                all.clear();
            }
        };
        let (shown, page) = tokio::join!(board.engine.post(&test, ask), grows);
        let (shown, page) = (shown?, page?);
        assert!(!page["entries"].to_string().contains("exit_code"), "it ran on: {page:#}");
        assert_eq!((&shown["status"], text(&shown, "stdout")), (&json!("ok"), "begun\n".to_owned()));
        std::fs::remove_file(&go)?;
    }
    for wrong in ["hook-before_work-0-1", "..%2F..%2Fx"] {
        let path = format!("/projects/{}/hooks/logs/{wrong}", board.project);
        let (status, body) = refused(board.engine.request(Method::GET, &path)).await?;
        assert_eq!((status, &body["details"]["findings"][0]["path"]), (400, &json!("log_id")), "{body}");
    }
    let nobody = board.engine.request(Method::GET, "/projects/none/hooks/logs/hook-test-x");
    assert_eq!(refused(nobody).await?.0, 404);
    Ok(())
}
