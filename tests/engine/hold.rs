//! Tasks on hold: running work finishes, no new work starts, and no slot stays occupied.

use anyhow::Result;
use forge_testkit::{
    Board,
    board::{is, text, until_exists},
};
use serde_json::{Value, json};

const EDIT: &str = "append a <<< \"x\\n\"";

fn is_held(state: &'static str) -> impl Fn(&Value) -> bool {
    move |task| task["status"] == state && task["waiting"]["reason"] == "held" && task["live"].is_null()
}

async fn hold(board: &Board, task: &Value) -> Result<()> {
    let held = board.act(task, "actions/hold", json!({})).await?;
    assert_eq!(held["task"]["held"], true);
    Ok(())
}

async fn release(board: &Board, task: &Value) -> Result<()> {
    let free = board.act(task, "actions/release", json!({})).await?;
    assert_eq!(free["task"]["held"], false);
    assert_ne!(free["task"]["waiting"]["reason"], "held");
    Ok(())
}

/// Another task of the same agent, which has one slot, runs to its end.
async fn slot_is_free(board: &Board) -> Result<()> {
    let other = board.task(&["append other <<< \"x\\n\""], json!({ "title": "Other" })).await?;
    board.claim(&other).await?;
    board.engine.until(&other, is("done")).await?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn task_claimed_on_hold_starts_after_release() -> Result<()> {
    let mut board = Board::new(json!({})).await?;
    let task = board.task(&[EDIT], json!({})).await?;
    hold(&board, &task).await?;
    assert_eq!(board.get(&task).await?["status"], "todo");
    board.claim(&task).await?;
    board.engine.until(&task, is_held("in_progress")).await?;
    slot_is_free(&board).await?;
    // It is remembered.
    board.restart().await?;
    let now = board.engine.until(&task, is_held("in_progress")).await?;
    assert!(now["workspace"].is_null() && board.runs(&task).await?.is_empty(), "{now:#}");
    release(&board, &task).await?;
    board.engine.until(&task, is("done")).await?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn hold_during_a_run_lets_it_finish_and_starts_no_check() -> Result<()> {
    let board = Board::new(json!({ "review_config": { "ci_steps": ["true"] } })).await?;
    let go = board.folder.dir.path().join("go");
    let task = board.task(&[EDIT, &format!("wait-for {}", go.display())], json!({})).await?;
    board.claim(&task).await?;
    let live = board.engine.until(&task, |task| task["live"].is_object()).await?;
    hold(&board, &task).await?;
    let now = board.get(&task).await?;
    assert_eq!(now["live"]["execution_id"], live["live"]["execution_id"], "it goes on");
    std::fs::write(&go, "")?;
    board.engine.until(&task, is_held("review")).await?;
    slot_is_free(&board).await?;
    assert_eq!(board.runs(&task).await?[0]["status"], "finished");
    let reviews = board.items(&format!("/tasks/{}/reviews", text(&task, "id"))).await?;
    assert_eq!((reviews.len(), &reviews[0]["steps"]), (1, &json!([])), "no check was begun");
    release(&board, &task).await?;
    board.engine.until(&task, is("done")).await?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn agent_crashing_on_hold_is_not_restarted() -> Result<()> {
    let board = Board::new(json!({})).await?;
    let go = board.folder.dir.path().join("go");
    let crash = format!(
        "```forge-script\nwait-for {}\nfail 3\n```\n```forge-script attempt=2\n{EDIT}\n```",
        go.display()
    );
    let task = board.task(&[], json!({ "description": crash })).await?;
    board.claim(&task).await?;
    board.engine.until(&task, |task| task["live"].is_object()).await?;
    hold(&board, &task).await?;
    std::fs::write(&go, "")?;
    board.engine.until(&task, is_held("in_progress")).await?;
    assert_eq!(board.runs(&task).await?.len(), 1);
    release(&board, &task).await?;
    board.engine.until(&task, is("done")).await?;
    assert_eq!(board.runs(&task).await?.len(), 2);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn hold_during_a_check_lets_it_finish_and_merges_nothing() -> Result<()> {
    let probe = tempfile::tempdir()?;
    let go = probe.path().join("go");
    let board = Board::new(json!({ "review_config": { "ci_steps": [until_exists(&go)] } })).await?;
    let task = board.task(&[EDIT], json!({})).await?;
    board.claim(&task).await?;
    board
        .engine
        .until(&task, |task| text(&task["workspace"]["lock"], "execution_id").starts_with("run_ci_steps"))
        .await?;
    hold(&board, &task).await?;
    std::fs::write(&go, "")?;
    board.engine.until(&task, is_held("review")).await?;
    let reviews = board.items(&format!("/tasks/{}/reviews", text(&task, "id"))).await?;
    assert_eq!(reviews[0]["steps"][0]["exit_code"], 0, "the check that ran went on to its end");
    assert_eq!(board.folder.repo.show("main", "a"), None);
    release(&board, &task).await?;
    board.engine.until(&task, is("done")).await?;
    assert_eq!(board.folder.repo.show("main", "a").as_deref(), Some("x"));
    Ok(())
}

/// A person may decide while the task is on hold; the merge waits for the release.
#[tokio::test(flavor = "multi_thread")]
async fn approval_on_hold_merges_after_release() -> Result<()> {
    let board = Board::new(json!({ "auto_approve": false })).await?;
    let task = board.task(&[EDIT], json!({})).await?;
    board.claim(&task).await?;
    board.engine.until(&task, |task| task["review"]["status"] == "awaiting_human").await?;
    hold(&board, &task).await?;
    assert_eq!(board.get(&task).await?["review"]["status"], "awaiting_human");
    let path = format!("/tasks/{}/review/approve", text(&task, "id"));
    board.engine.post(&path, json!({})).await?;
    board.engine.until(&task, is_held("merging")).await?;
    assert_eq!(board.folder.repo.show("main", "a"), None);
    release(&board, &task).await?;
    board.engine.until(&task, is("done")).await?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn blocked_task_on_hold_is_retried_after_release() -> Result<()> {
    let board = Board::new(json!({})).await?;
    let told = format!("```forge-script\nerror auth who\n```\n```forge-script attempt=2\n{EDIT}\n```");
    let task = board.task(&[], json!({ "description": told })).await?;
    board.claim(&task).await?;
    let blocked = board.engine.until(&task, is("blocked")).await?;
    hold(&board, &task).await?;
    let now = board.get(&task).await?;
    assert_eq!(now["error_annotation"], blocked["error_annotation"], "it stays blocked");
    board.act(&task, "actions/retry", json!({})).await?;
    board.engine.until(&task, is_held("in_progress")).await?;
    assert_eq!(board.runs(&task).await?.len(), 1);
    release(&board, &task).await?;
    board.engine.until(&task, is("done")).await?;
    Ok(())
}

/// The hold comes during setup: the agent is not started, and its slot is free.
#[tokio::test(flavor = "multi_thread")]
async fn hold_during_setup_lets_it_finish_and_starts_no_agent() -> Result<()> {
    let probe = tempfile::tempdir()?;
    let go = probe.path().join("go");
    let board = Board::new(json!({ "setup": [until_exists(&go)] })).await?;
    let task = board.task(&[EDIT], json!({})).await?;
    board.claim(&task).await?;
    board.engine.until(&task, |task| task["workspace"]["lock"].is_object()).await?;
    hold(&board, &task).await?;
    std::fs::write(&go, "")?;
    let held = board.engine.until(&task, is_held("in_progress")).await?;
    assert_eq!(held["workspace"]["status"], "active", "set-up went on to its end");
    assert!(board.runs(&task).await?.is_empty());
    slot_is_free(&board).await?;
    release(&board, &task).await?;
    board.engine.until(&task, is("done")).await?;
    Ok(())
}
