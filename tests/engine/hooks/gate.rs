//! Blocking hooks: the agent waits for them, and a person retries, skips or corrects them.

use super::*;

#[tokio::test(flavor = "multi_thread")]
async fn failed_blocking_hook_holds_the_agent_until_it_passes() -> Result<()> {
    let board = hooked(json!({})).await?;
    let (first, ok) = (note(board.folder.dir.path(), "first"), board.file("ok"));
    let command = format!("echo looked; echo trouble >&2; test -e '{}' || exit 3", ok.display());
    let last = note(board.folder.dir.path(), "last");
    let blocking = |mut hook: Value| {
        hook["blocking"] = json!(true);
        hook
    };
    let hooks = [blocking(first), blocking(json!({ "type": "script", "command": command })), blocking(last)];
    set_hooks(&board, json!({ "before_work": hooks })).await?;
    let task = board.task(&["hang"], json!({})).await?;
    board.claim(&task).await?;
    let held = board.engine.until(&task, |task| task["error_annotation"].is_object()).await?;
    assert_eq!(held["status"], "in_progress");
    assert_eq!(held["entry_barrier"]["state"], "in_progress");
    let annotation = &held["error_annotation"];
    assert_eq!(annotation["type"], "before_work_hook_failed");
    assert_eq!(annotation["hook"], json!({ "event": "before_work", "index": 1, "command": command }));
    assert_eq!(
        (&annotation["evidence"]["exit_code"], &annotation["evidence"]["command"]),
        (&json!(3), &json!(command))
    );
    assert_eq!(annotation["evidence"]["output"], "looked\ntrouble");
    assert_eq!(
        verbs(&held),
        ["retry_hook", "skip_hook_once", "restart", "restart_with_changes", "hold", "cancel"]
    );
    assert_eq!(board.evidence(), ["first"]);
    let id = text(&task, "id");
    assert_eq!(board.engine.get(&format!("/tasks/{id}/executions")).await?["items"], json!([]));
    let told = board.engine.get("/notifications").await?;
    assert_eq!(
        (told["items"].as_array().map(Vec::len), &told["items"][0]["kind"]),
        (Some(1), &json!("blocked"))
    );
    assert_eq!(board.events_of("task.blocked").await?.len(), 1);
    // The place of the agent is free: another task of the same agent takes it.
    let other = board.task(&["hang"], json!({})).await?;
    board.claim(&other).await?;
    board.engine.until(&other, |task| task["error_annotation"].is_object()).await?;
    // What is not offered is refused, with what is.
    let version = board.engine.get(&format!("/tasks/{id}")).await?["version"].clone();
    let retry = board.engine.request(Method::POST, &format!("/tasks/{id}/actions/retry"));
    let (status, body) = refused(retry.json(&json!({ "version": version }))).await?;
    assert_eq!((status, body["code"].as_str()), (409, Some("not_offered")));
    // Again in vain, then again and it passes.
    board.act(&task, "actions/retry_hook", json!({})).await?;
    let again = board.engine.until(&task, |task| task["error_annotation"].is_object()).await?;
    assert_ne!(again["error_annotation"]["evidence"]["log_id"], annotation["evidence"]["log_id"]);
    std::fs::write(&ok, "")?;
    board.act(&task, "actions/retry_hook", json!({})).await?;
    let at_work = board.engine.until(&task, |task| task["live"].is_object()).await?;
    assert!(at_work["error_annotation"].is_null() && at_work["entry_barrier"].is_null());
    assert_eq!(board.evidence(), ["first", "first", "last"], "what passed is not run again");
    assert_eq!(
        board.outcomes(&task).await?,
        [
            "before_work[0] ok",
            "before_work[1] failed",
            "before_work[2] skipped",
            "before_work[1] failed",
            "before_work[2] skipped",
            "before_work[1] ok",
            "before_work[2] ok",
        ]
    );
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn skipped_hook_records_the_reason_and_runs_next_time() -> Result<()> {
    let never = json!({ "type": "script", "command": "exit 1", "blocking": true });
    let board = hooked(json!({ "before_work": [never] })).await?;
    let task = board.task(&["hang"], json!({})).await?;
    board.claim(&task).await?;
    board.engine.until(&task, |task| task["error_annotation"].is_object()).await?;
    let id = text(&task, "id");
    let version = board.engine.get(&format!("/tasks/{id}")).await?["version"].clone();
    let bare = board.engine.request(Method::POST, &format!("/tasks/{id}/actions/skip_hook_once"));
    let (status, body) = refused(bare.json(&json!({ "version": version }))).await?;
    assert_eq!((status, &body["details"]["findings"][0]["path"]), (400, &json!("reason")));
    board.act(&task, "actions/skip_hook_once", json!({ "reason": "the mirror is down" })).await?;
    board.engine.until(&task, |task| task["live"].is_object()).await?;
    let hooks = board.hooks(&task).await?;
    assert_eq!(
        (&hooks[1]["outcome"], &hooks[1]["reason"]),
        (&json!("skipped"), &json!("skipped once by user:api: the mirror is down"))
    );
    // The next dispatch asks the hook again.
    board.act(&task, "transition", json!({ "to": "todo" })).await?;
    let back = board.engine.get(&format!("/tasks/{id}")).await?;
    board.claim(&back).await?;
    let held = board.engine.until(&task, |task| task["error_annotation"].is_object()).await?;
    assert_eq!(held["error_annotation"]["type"], "before_work_hook_failed");
    assert!(held["live"].is_null());
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn retry_of_a_hook_runs_the_corrected_command() -> Result<()> {
    let board =
        hooked(json!({ "before_work": [{ "type": "script", "command": "exit 1", "blocking": true }] }))
            .await?;
    let task = board.task(&["hang"], json!({})).await?;
    board.claim(&task).await?;
    board.engine.until(&task, |task| task["error_annotation"].is_object()).await?;
    set_hooks(
        &board,
        json!({ "before_work": [{ "type": "script", "command": "exit 0", "blocking": true }] }),
    )
    .await?;
    board.act(&task, "actions/retry_hook", json!({})).await?;
    board.engine.until(&task, |task| task["live"].is_object()).await?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn move_by_a_person_ends_a_blocking_hook_and_skips_the_others() -> Result<()> {
    let board = hooked(json!({})).await?;
    let dir = board.folder.dir.path();
    let hang = json!({ "type": "script", "command": "sleep 600", "blocking": true, "timeout_seconds": 3600 });
    let stop = note(dir, "stopped");
    set_hooks(&board, json!({ "before_work": [hang, note(dir, "beside")], "on_work_stop": [stop] })).await?;
    let task = board.task(&["hang"], json!({})).await?;
    let id = text(&task, "id");
    let body = json!({ "agent_id": board.agent, "version": task["version"] });
    board.engine.post(&format!("/tasks/{id}/claim"), body).await?;
    let running = async || {
        let hooks = board.hooks(&task).await?;
        Ok(hooks.first().is_some_and(|hook| hook["status"] == "running").then_some(()))
    };
    board.engine.watch(running).await?.context("the hook never ran")?;
    board.act(&task, "transition", json!({ "to": "backlog" })).await?;
    board.until_outcomes(&task, &["before_work[0] failed", "before_work[1] skipped"]).await?;
    let hooks = board.hooks(&task).await?;
    assert_eq!(hooks[0]["reason"], "interrupted");
    assert_eq!(hooks[1]["reason"], "the task left in_progress");
    assert_eq!(record(&board, &task, &text(&hooks[0], "log_id")).await?["status"], "interrupted");
    let now = board.engine.get(&format!("/tasks/{id}")).await?;
    assert_eq!((&now["status"], &now["error_annotation"]), (&json!("backlog"), &Value::Null));
    assert!(board.evidence().is_empty(), "work had not begun: {:?}", board.evidence());
    Ok(())
}
