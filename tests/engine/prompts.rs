//! Prompts: the profile's text comes first, the workflow's text follows when a task enters a state.

use anyhow::{Context as _, Result, ensure};
use forge_testkit::{Board, board::text};
use serde_json::{Value, json};

const PREFIX: &str = "You are the careful one.";
const WORDS: &str = "Mind what the reviewer said before.";

/// The prompt of a run.
async fn prompt_of(board: &Board, task: &Value, run: &Value) -> Result<String> {
    let workspace = board.engine.get(&format!("/tasks/{}/workspace", text(task, "id"))).await?;
    let tree = std::path::PathBuf::from(text(&workspace, "path"));
    let file = tree.parent().context("no folder")?.join(format!("prompt-{}.md", text(run, "id")));
    std::fs::read_to_string(&file).with_context(|| file.display().to_string())
}

#[tokio::test(flavor = "multi_thread")]
async fn prompt_contains_the_texts_of_profile_and_workflow() -> Result<()> {
    let board = Board::new(json!({ "auto_approve": false })).await?;
    let agent = board.engine.get(&format!("/agents/{}", board.agent)).await?;
    let mut config = agent["config"].clone();
    config["prompt_prefix"] = PREFIX.into();
    board.patch(&format!("/agents/{}", board.agent), json!({ "config": config })).await?;
    let path = format!("/projects/{}/workflow", board.project);
    let mut workflow = board.engine.get(&path).await?;
    let states = workflow["workflow"]["states"].as_array_mut().context("no states")?;
    let review = states.iter_mut().find(|state| state["name"] == "review").context("no review")?;
    review["triggers"]["reject"]["prompt"] = WORDS.into();
    let body = json!({ "workflow": workflow["workflow"], "version": workflow["version"] });
    board.engine.put(&path, body).await?;

    let lines = ["edit a.txt <<< \"one\\n\""];
    let task = board.task(&lines, json!({})).await?;
    let preview = board.engine.get(&format!("/tasks/{}/prompt-preview", text(&task, "id"))).await?;
    ensure!(preview.to_string().contains(PREFIX) && !preview.to_string().contains(WORDS), "{preview:#}");
    board.claim(&task).await?;
    board.engine.until(&task, |task| task["review"]["status"] == "awaiting_human").await?;
    board.act(&task, "review/reject?wait=none", json!({ "reason": "say two" })).await?;
    board.engine.until(&task, |task| task["review"]["attempt_number"] == 2).await?;
    let runs = board.runs(&task).await?;
    let (first, second) =
        (prompt_of(&board, &task, &runs[0]).await?, prompt_of(&board, &task, &runs[1]).await?);
    ensure!(first.starts_with(PREFIX) && second.starts_with(PREFIX), "{first}\n---\n{second}");
    ensure!(!first.contains(WORDS), "before it came that way: {first}");
    ensure!(second.contains(WORDS) && second.contains("say two"), "{second}");
    // A shell command has no conversation to go on with, whatever the workflow wants.
    assert_eq!((&runs[1]["session_mode"], &runs[1]["from_session"]), (&json!("new"), &Value::Null));
    Ok(())
}
