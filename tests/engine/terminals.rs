//! Terminals: shells in a task's worktree that a person types to.

use std::{fs, time::Duration};

use anyhow::{Context as _, Result, bail};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use forge_api::ApiError;
use forge_model::actor::Via;
use forge_model::ids::TerminalId;
use forge_store::Store;
use forge_testkit::Sandbox;
use serde_json::{Value, json};

/// A person at the window.
async fn at_window(sandbox: &Sandbox, op: &str, input: Value) -> Result<Value, ApiError> {
    sandbox.api.call(Via::Board, op, input).await
}

async fn open(sandbox: &Sandbox, task: &Value) -> Result<Value> {
    let size = json!({ "task_id": task["id"], "columns": 100, "rows": 30 });
    Ok(at_window(sandbox, "terminal_open", size).await?)
}

async fn types(sandbox: &Sandbox, terminal: &Value, text: &str) -> Result<()> {
    let typed = json!({ "terminal_id": terminal["id"], "bytes": STANDARD.encode(text) });
    at_window(sandbox, "terminal_input", typed).await?;
    Ok(())
}

/// Reads a terminal from the beginning until it shows something.
async fn shows(sandbox: &Sandbox, terminal: &Value, expected: &str) -> Result<String> {
    let (mut text, mut at) = (String::new(), json!({}));
    for _ in 0..200 {
        let mut read = json!({ "terminal_id": terminal["id"], "wait_ms": 500 });
        read["from"] = at["next"].clone();
        read["generation"] = at["generation"].clone();
        at = at_window(sandbox, "terminal_stream", read).await?;
        text += &String::from_utf8_lossy(&STANDARD.decode(at["bytes"].as_str().context("no bytes")?)?);
        if text.contains(expected) {
            return Ok(text);
        }
        if at["ended"] == true {
            break;
        }
    }
    bail!("it does not show {expected:?}: {text:?}")
}

async fn terminals(sandbox: &Sandbox, task: &Value) -> Result<Vec<Value>> {
    let page = at_window(sandbox, "terminal_list", json!({ "task_id": task["id"] })).await?;
    Ok(page["items"].as_array().context("no items")?.clone())
}

/// What runs of terminals.
fn shells(sandbox: &Sandbox) -> Result<usize> {
    Ok(sandbox.processes()?.into_iter().filter(|process| process.contains("sleep 600")).count())
}

/// Has a program run in a terminal.
async fn runs_a_program(sandbox: &Sandbox, terminal: &Value) -> Result<()> {
    types(sandbox, terminal, "sleep 600\n").await?;
    while shells(sandbox)? == 0 {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    Ok(())
}

/// A task whose work waits for a person, in its worktree.
async fn in_review(sandbox: &Sandbox) -> Result<Value> {
    let task = sandbox.task("Try", &["edit work.txt <<< \"work\\n\""], json!({})).await?;
    sandbox.claim(&task).await?;
    sandbox.wait(&task, "awaiting a person", |now| now["review"]["status"] == "awaiting_human").await
}

#[expect(clippy::unwrap_used, reason = "a helper of a test")]
fn refused(refused: Result<Value, ApiError>) -> (u16, String) {
    let error = refused.unwrap_err();
    (error.status, error.code)
}

#[tokio::test(flavor = "multi_thread")]
async fn two_terminals_are_used_beside_a_running_agent() -> Result<()> {
    let sandbox = Sandbox::new(json!({})).await?;
    let gate = sandbox.dir.path().join("gate");
    let waits = format!("run while [ ! -e '{}' ]; do sleep 0.05; done", gate.display());
    let task = sandbox.task("Work", &[&waits, "edit work.txt <<< \"work\\n\""], json!({})).await?;
    let none = at_window(&sandbox, "terminal_open", json!({ "task_id": task["id"] })).await;
    assert_eq!(refused(none), (409, "workspace_missing".to_owned()));
    sandbox.claim(&task).await?;
    let task = sandbox.wait(&task, "a running agent", |now| !now["live"].is_null()).await?;

    let (first, second) = (open(&sandbox, &task).await?, open(&sandbox, &task).await?);
    assert_eq!((&first["title"], &second["title"]), (&json!("Terminal 1"), &json!("Terminal 2")));
    types(&sandbox, &first, "touch seen; echo $((40+2)) $TERM $FORGE_TASK_NUMBER; pwd; stty size\n").await?;
    let shown = shows(&sandbox, &first, "30 100\r\n").await?;
    let path = task["workspace"]["path"].as_str().context("no worktree")?;
    assert!(shown.contains("42 xterm-256color 1\r\n"), "{shown:?}");
    assert!(shown.contains(path), "{shown:?}");
    assert!(fs::exists(format!("{path}/seen"))?);
    let size = json!({ "terminal_id": second["id"], "columns": 60, "rows": 20 });
    at_window(&sandbox, "terminal_resize", size).await?;
    types(&sandbox, &second, "stty size; sleep 600\n").await?;
    shows(&sandbox, &second, "20 60\r\n").await?;
    fs::remove_file(format!("{path}/seen"))?;

    let close = json!({ "terminal_id": second["id"] });
    let busy = loop {
        // The shell may be about to start it.
        if shells(&sandbox)? > 0 {
            break at_window(&sandbox, "terminal_close", close.clone()).await.unwrap_err();
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    };
    assert_eq!((busy.status, busy.code.as_str()), (409, "terminal_busy"));
    assert!(busy.message.starts_with("Terminal 2 runs sleep (process "), "{}", busy.message);
    let ends = json!({ "terminal_id": second["id"], "end_program": true });
    at_window(&sandbox, "terminal_close", ends).await?;
    assert_eq!(shells(&sandbox)?, 0);
    types(&sandbox, &first, "exit 3\n").await?;
    shows(&sandbox, &first, "never").await.unwrap_err();
    let left = terminals(&sandbox, &task).await?;
    assert_eq!((left.len(), &left[0]["exit_code"]), (1, &json!(3)));
    assert_eq!(left[0]["reason"], "Ended with exit code 3");
    let typed = json!({ "terminal_id": first["id"], "bytes": "" });
    let ended = at_window(&sandbox, "terminal_input", typed).await;
    assert_eq!(refused(ended), (409, "terminal_ended".to_owned()));
    at_window(&sandbox, "terminal_close", json!({ "terminal_id": first["id"] })).await?;
    assert_eq!(terminals(&sandbox, &task).await?, Vec::<Value>::new());

    fs::write(gate, "")?;
    sandbox.wait(&task, "a review", |now| now["review"]["status"] == "awaiting_human").await?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn person_who_cancels_a_task_is_asked_about_a_program_in_its_terminal() -> Result<()> {
    let sandbox = Sandbox::new(json!({})).await?;
    let task = in_review(&sandbox).await?;
    let terminal = open(&sandbox, &task).await?;
    runs_a_program(&sandbox, &terminal).await?;
    let cancel = json!({ "task_id": task["id"], "verb": "cancel", "version": task["version"] });
    let asked = at_window(&sandbox, "task_action", cancel.clone()).await.unwrap_err();
    assert_eq!((asked.status, asked.code.as_str()), (409, "terminal_busy"));
    assert_eq!(asked.details["terminals"][0]["program"], "sleep");
    let to = json!({ "task_id": task["id"], "to": "cancelled", "version": task["version"] });
    assert_eq!(refused(at_window(&sandbox, "task_transition", to).await), (409, "terminal_busy".to_owned()));
    assert_eq!(sandbox.get(&task).await?["status"], task["status"], "nothing changed");
    let mut ends = cancel;
    ends["end_terminals"] = true.into();
    at_window(&sandbox, "task_action", ends).await?;
    assert_eq!(shells(&sandbox)?, 0);
    assert_eq!(terminals(&sandbox, &task).await?, Vec::<Value>::new());
    Ok(())
}

/// As after the start of an engine whose keeper did not answer.
#[tokio::test(flavor = "multi_thread")]
async fn terminal_that_nobody_follows_is_gone_on_with_by_whoever_reads_it() -> Result<()> {
    let sandbox = Sandbox::new(json!({})).await?;
    let task = in_review(&sandbox).await?;
    let terminal = open(&sandbox, &task).await?;
    let store = Store::open(&sandbox.dir.path().join("data")).await?;
    let mut tx = store.write().await?;
    let id: TerminalId = terminal["id"].as_str().context("no id")?.into();
    let mut row = tx.terminals().get(&id).await?.context("no row")?;
    row.terminal.id = "another".into();
    row.terminal.title = "Terminal 2".to_owned();
    row.spawned = false;
    tx.terminals_mut().insert(&row).await?;
    tx.commit().await?;
    store.close().await;
    let other = json!({ "id": "another" });
    types(&sandbox, &other, "echo $((6*7)) is there\n").await?;
    shows(&sandbox, &other, "42 is there\r\n").await?;
    Ok(())
}

/// A task in review, with a terminal, whose guard sends it elsewhere when a person moves it.
async fn guarded(sandbox: &Sandbox, elsewhere: &str) -> Result<(Value, Value)> {
    let of = json!({ "project_id": sandbox.project });
    let mut workflow = sandbox.call("project_workflow_get", of).await?["workflow"].take();
    let states = workflow["states"].as_array_mut().context("no states")?;
    let review = states.iter_mut().find(|state| state["name"] == "review").context("no review")?;
    review["hooks"]["before_exit"] = json!([
        { "action": "dependency_gate", "applies_to": "user_only", "on_failure": { "cascade": elsewhere } }
    ]);
    let put = json!({ "project_id": sandbox.project, "workflow": workflow });
    sandbox.call("project_workflow_put", put).await?;
    let task = in_review(sandbox).await?;
    let terminal = open(sandbox, &task).await?;
    let first = sandbox.task("First", &[], json!({})).await?;
    sandbox.call("task_dependency_add", json!({ "task_id": task["id"], "depends_on": first["id"] })).await?;
    Ok((sandbox.get(&task).await?, terminal))
}

#[tokio::test(flavor = "multi_thread")]
async fn terminal_stays_where_a_guard_keeps_its_task_open() -> Result<()> {
    let sandbox = Sandbox::new(json!({})).await?;
    let (task, terminal) = guarded(&sandbox, "backlog").await?;
    let to = json!({ "task_id": task["id"], "to": "cancelled", "version": task["version"] });
    at_window(&sandbox, "task_transition", to).await?;
    assert_eq!(sandbox.get(&task).await?["status"], "backlog");
    assert_eq!(terminals(&sandbox, &task).await?, [terminal]);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn person_is_asked_about_a_program_where_a_guard_closes_the_task() -> Result<()> {
    let sandbox = Sandbox::new(json!({})).await?;
    let (task, terminal) = guarded(&sandbox, "cancelled").await?;
    runs_a_program(&sandbox, &terminal).await?;
    let mut to = json!({ "task_id": task["id"], "to": "backlog", "version": task["version"] });
    let asked = at_window(&sandbox, "task_transition", to.clone()).await;
    assert_eq!(refused(asked), (409, "terminal_busy".to_owned()));
    assert_eq!((&sandbox.get(&task).await?["status"], shells(&sandbox)?), (&task["status"], 1));
    to["end_terminals"] = true.into();
    at_window(&sandbox, "task_transition", to).await?;
    assert_eq!((&sandbox.get(&task).await?["status"], shells(&sandbox)?), (&json!("cancelled"), 0));
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn terminal_ends_with_its_worktree_and_changes_no_review() -> Result<()> {
    let sandbox = Sandbox::new(json!({})).await?;
    let task = in_review(&sandbox).await?;
    let terminal = open(&sandbox, &task).await?;
    types(&sandbox, &terminal, "(sleep 600 &) ; echo $((6*7)) is ready\n").await?;
    shows(&sandbox, &terminal, "42 is ready\r\n").await?;
    let commit = task["review"]["reviewed_commit"].clone();
    let approve = json!({ "task_id": task["id"], "commit": commit });
    sandbox.call("review_approve", approve).await?;
    let done = sandbox.reach(&task, "done").await?;
    assert_eq!(done["workspace"]["status"], "cleaned");
    assert_eq!(terminals(&sandbox, &done).await?, Vec::<Value>::new());
    assert_eq!(shells(&sandbox)?, 0);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn worktree_in_whose_terminal_a_program_runs_is_removed_only_after_a_word() -> Result<()> {
    let sandbox = Sandbox::new(json!({})).await?;
    let task = in_review(&sandbox).await?;
    let terminal = open(&sandbox, &task).await?;
    runs_a_program(&sandbox, &terminal).await?;
    let restart = json!({ "task_id": task["id"], "to": "done", "version": task["version"] });
    assert_eq!(
        refused(at_window(&sandbox, "task_transition", restart).await),
        (409, "terminal_busy".to_owned())
    );
    let approve = json!({ "task_id": task["id"], "commit": task["review"]["reviewed_commit"] });
    sandbox.call("review_approve", approve).await?;
    let done = sandbox.reach(&task, "done").await?;
    let workspace = &done["workspace"];
    assert_ne!(workspace["status"], "cleaned", "nobody was asked: it waits");
    let told = workspace["error"].as_str().context("why it stays is not told")?;
    assert!(told.starts_with("Terminal 1 runs sleep (process "), "{told}");
    assert_eq!(shells(&sandbox)?, 1);
    let of_task = json!({ "task_id": task["id"] });
    let project = sandbox.call("project_get", json!({ "project_id": sandbox.project })).await?;
    let of_project = json!({ "project_id": sandbox.project, "confirm": project["name"] });
    for (op, input) in
        [("workspace_remove", &of_task), ("task_delete", &of_task), ("project_delete", &of_project)]
    {
        assert_eq!(
            refused(at_window(&sandbox, op, input.clone()).await),
            (409, "terminal_busy".to_owned()),
            "{op}"
        );
    }
    assert_eq!(shells(&sandbox)?, 1);
    let ends = json!({ "task_id": task["id"], "end_terminals": true });
    at_window(&sandbox, "workspace_remove", ends).await?;
    assert_eq!(shells(&sandbox)?, 0);
    assert_eq!(terminals(&sandbox, &task).await?, Vec::<Value>::new());
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn terminals_are_offered_over_http_only_when_it_is_allowed() -> Result<()> {
    let sandbox = Sandbox::new(json!({})).await?;
    let task = in_review(&sandbox).await?;
    let terminal = open(&sandbox, &task).await?;
    let of = json!({ "terminal_id": terminal["id"] });
    for (op, input) in [
        ("terminal_list", json!({ "task_id": task["id"] })),
        ("terminal_open", json!({ "task_id": task["id"] })),
        ("terminal_stream", of.clone()),
        ("terminal_input", json!({ "terminal_id": terminal["id"], "bytes": "" })),
        ("terminal_resize", json!({ "terminal_id": terminal["id"], "columns": 9, "rows": 9 })),
        ("terminal_close", of.clone()),
    ] {
        assert_eq!(refused(sandbox.call(op, input).await), (403, "terminal_remote_off".to_owned()), "{op}");
    }
    let allowed = sandbox.call("settings_update", json!({ "terminal_remote": true })).await?;
    assert_eq!(allowed["terminal_remote"], true);
    sandbox.call("terminal_stream", of).await?;
    for _ in 0..7 {
        open(&sandbox, &task).await?;
    }
    let full = at_window(&sandbox, "terminal_open", json!({ "task_id": task["id"] })).await;
    assert_eq!(refused(full), (409, "terminals_full".to_owned()));
    let large = json!({ "task_id": task["id"], "columns": 0 });
    assert_eq!(refused(at_window(&sandbox, "terminal_open", large).await).0, 400);
    Ok(())
}
