//! Moves of tasks: what a move by a person ends, and what a move by an agent is refused for.

use anyhow::{Context as _, Result};
use forge_testkit::{
    Board,
    board::{is, text},
};
use serde_json::{Value, json};

#[tokio::test(flavor = "multi_thread")]
async fn undecided_review_is_cancelled_when_its_task_moves() -> Result<()> {
    let board = Board::new(json!({ "auto_approve": false })).await?;
    let go = board.folder.dir.path().join("go");
    let wait = format!("wait-for {}", go.display());
    let task = board.task(&[&wait, "edit a <<< \"x\""], json!({})).await?;
    board.claim(&task).await?;
    let at_work = board.engine.until(&task, |task| task["live"].is_object()).await?;
    assert_eq!(at_work["health"], "ok");
    std::fs::write(&go, "")?;
    let reviewed = board.engine.until(&task, |task| task["review"]["status"] == "awaiting_human").await?;
    assert_eq!(reviewed["health"], "idle");
    board.move_to(&task, "backlog").await?;
    let reviews = board.items(&format!("/tasks/{}/reviews", text(&task, "id"))).await?;
    let ends: Vec<(&str, bool)> = reviews
        .iter()
        .map(|review| (review["status"].as_str().unwrap_or_default(), review["finished_at"].is_null()))
        .collect();
    assert_eq!(ends, [("cancelled", false)]);
    let path = format!("/tasks/{}/review/approve", text(&task, "id"));
    let (status, body) = board.refuse(&path, json!({})).await?;
    assert_eq!((status, text(&body, "code").as_str()), (409, "not_awaiting"));
    Ok(())
}

/// The answer holds the review that the move created, never an earlier one.
#[tokio::test(flavor = "multi_thread")]
async fn move_into_review_answers_the_review_that_it_created() -> Result<()> {
    let board = Board::new(json!({ "auto_approve": false })).await?;
    let task = board.task(&[], json!({})).await?;
    let claim = json!({ "agent_id": "user", "version": task["version"] });
    board.engine.post(&format!("/tasks/{}/claim", text(&task, "id")), claim).await?;
    let ready = |task: &Value| task["workspace"]["status"] == "active" && task["entry_barrier"].is_null();
    for attempt in 1..=2 {
        let begun = board.engine.until(&task, ready).await?;
        assert_eq!(begun["health"], "idle", "a person is to act");
        let entered = board.move_to(&task, "review").await?;
        assert_eq!(entered["review"]["attempt_number"], attempt, "{entered:#}");
        board.engine.until(&task, |task| task["review"]["status"] == "awaiting_human").await?;
        let left = board.move_to(&task, "in_progress").await?;
        assert_eq!((&left["task"]["status"], &left["review"]), (&json!("in_progress"), &Value::Null));
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn move_against_the_workflow_is_recorded_as_an_override() -> Result<()> {
    let board = Board::new(json!({ "auto_approve": false })).await?;
    let task = board.task(&[], json!({})).await?;
    let mut expected = Vec::new();
    for (to, trigger) in [
        ("backlog", "move"),
        ("todo", "move"),
        ("merge_failed", "override"),
        ("todo", "override"),
        ("done", "override"),
        ("todo", "reopen"),
    ] {
        board.move_to(&task, to).await?;
        expected.push((to.to_owned(), trigger.to_owned()));
    }
    let rows = board.history(&task).await?;
    let told: Vec<(String, String)> =
        rows.iter().map(|row| (text(row, "to"), text(row, "trigger"))).collect();
    assert_eq!(told, expected);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn move_by_a_person_after_a_failed_merge_revokes_the_pass() -> Result<()> {
    let board = Board::new(json!({})).await?;
    let repo = board.folder.repo.path().display().to_string();
    let conflict = format!("run cd '{repo}' && echo main >>c && git add c && git commit -qm main");
    let budget = json!({ "task_state_config": { "retry_budgets": { "merge_fix": 0 } } });
    let task = board.task(&[&conflict, "append c <<< \"task\\n\""], budget).await?;
    board.claim(&task).await?;
    let failed = board.engine.until(&task, is("merge_failed")).await?;
    assert_eq!(failed["health"], "trouble");
    assert!(failed["review_passed_at"].is_string(), "it was judged before it was merged: {failed:#}");
    board.move_to(&task, "todo").await?;
    assert!(board.get(&task).await?["review_passed_at"].is_null());
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn agent_refused_by_a_guard_is_told_the_reason_and_spends_an_execution() -> Result<()> {
    let board = Board::new(json!({})).await?;
    let markers = "printf '%s\\n' '<<<<<<< ours' a ======= b '>>>>>>> theirs' > left.txt";
    let line = format!("run if test -e left.txt; then echo mended > left.txt; else {markers}; fi");
    let task = board.task(&[&line], json!({})).await?;
    board.claim(&task).await?;
    let done = board.engine.until(&task, |task| task["status"] == "done").await?;
    assert_eq!(done["budgets"]["execution"]["used"], 0, "the pass is a boundary");
    let runs = board.runs(&task).await?;
    let causes: Vec<String> = runs.iter().map(|run| text(run, "cause")).collect();
    assert_eq!(causes, ["started", "a guard refused"]);
    let log = board.engine.get(&format!("/executions/{}/logs", text(&runs[1], "id"))).await?;
    let entries = log["entries"].as_array().context("no log")?;
    let told = entries.iter().find(|entry| entry["kind"] == "user_message").context("told nothing")?;
    let told = text(&told["body"], "text");
    assert!(told.contains("conflict markers are left in left.txt"), "{told}");
    assert_eq!(board.folder.repo.git(&["show", "main:left.txt"])?, "mended");
    // Without a budget for it, a person has to see to it.
    let none = json!({ "task_state_config": { "retry_budgets": { "execution": 1 } } });
    let stubborn = board.task(&[&format!("run {markers}")], none).await?;
    board.claim(&stubborn).await?;
    let blocked = board.engine.until(&stubborn, is("blocked")).await?;
    assert_eq!(blocked["error_annotation"]["type"], "guard_rejected");
    assert_eq!(blocked["budgets"]["execution"], json!({ "used": 1, "limit": 1 }));
    assert_eq!(board.runs(&stubborn).await?.len(), 2);
    Ok(())
}
