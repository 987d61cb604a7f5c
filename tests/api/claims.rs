//! Claims: whose role a claim fills, whom it never replaces, and which tasks can be claimed.

use anyhow::{Context as _, Result};
use serde_json::{Value, json};

use crate::{
    board::{Board, is},
    forge::text,
};

/// Another agent that does what tasks say.
async fn second_agent(board: &Board) -> Result<String> {
    let config = board.server.get(&format!("/agents/{}", board.agent)).await?["config"].clone();
    let new = json!({ "name": "Second", "adapter": "shell", "config": config });
    Ok(text(&board.server.post("/agents", new).await?, "id"))
}

/// A project of the preset that plans first.
async fn planned(board: &Board) -> Result<String> {
    let presets = board.server.get("/workflow/presets").await?;
    let found = presets["items"].as_array().context("a list")?.iter().find(|one| one["name"] == "planned");
    let workflow = found.context("no preset")?["workflow"].clone();
    board.project("Planned", json!({}), json!({ "workflow": workflow })).await
}

#[tokio::test(flavor = "multi_thread")]
async fn claim_by_another_agent_is_a_role_conflict_and_changes_nothing() -> Result<()> {
    let board = Board::new(json!({})).await?;
    let other = second_agent(&board).await?;
    let task = board.task(&["edit a <<< \"x\""], json!({})).await?;
    let before = board.get(&task).await?;
    let (status, body) = board.refused(&task, "claim", json!({ "agent_id": other })).await?;
    assert_eq!((status, text(&body, "code").as_str()), (409, "role_conflict"), "{body:#}");
    assert_eq!(body["details"]["role"], "coder");
    assert_eq!(body["details"]["holder"]["id"], board.agent.as_str());
    assert_eq!(board.get(&task).await?, before);
    // Once the role is given to the other agent, the claim is its own.
    let path = format!("/tasks/{}/roles/coder", text(&task, "id"));
    let body = json!({ "holder": other, "version": before["version"] });
    crate::forge::good(board.server.request(reqwest::Method::PUT, &path).json(&body).send().await?).await?;
    board.act(&task, "claim", json!({ "agent_id": other })).await?;
    let done = board.server.until(&task, is("done")).await?;
    assert_eq!(done["roles"]["coder"]["id"], other.as_str());
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn claim_by_a_person_takes_a_task_over_and_says_so() -> Result<()> {
    let board = Board::new(json!({})).await?;
    let task = board.task(&[], json!({})).await?;
    let claimed = board.act(&task, "claim", json!({ "agent_id": "user" })).await?;
    assert_eq!(claimed["roles"]["coder"]["type"], "user");
    let told = board.events("task.assigned", 1).await?;
    assert_eq!(told[0]["data"]["role"], "coder", "{told:#?}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn claim_never_makes_the_coder_the_planner() -> Result<()> {
    let board = Board::new(json!({})).await?;
    let (project, planner) = (planned(&board).await?, second_agent(&board).await?);
    let new = |roles: Value| json!({ "title": "Plan it", "description": "```forge-script\nedit a <<< \"x\"\n```", "roles": roles });
    // Somebody else plans: the claim is theirs.
    let task = board.server.task(&project, new(json!({ "coder": board.agent, "planner": planner }))).await?;
    let (status, body) = board.refused(&task, "claim", json!({ "agent_id": board.agent })).await?;
    assert_eq!((status, text(&body, "code").as_str()), (409, "role_conflict"), "{body:#}");
    assert_eq!(
        (&body["details"]["role"], &body["details"]["holder"]["id"]),
        (&json!("planner"), &json!(planner))
    );
    assert_eq!(board.get(&task).await?["roles"]["planner"]["id"], planner.as_str());
    // Nobody plans: work begins at once.
    let task = board.server.task(&project, new(json!({ "coder": board.agent }))).await?;
    board.claim(&task).await?;
    let worked =
        board.server.until(&task, |task| task["status"] != "todo" && task["status"] != "planning").await?;
    assert!(worked["roles"]["planner"].is_null(), "{worked:#}");
    assert!(
        board
            .moves(&task)
            .await?
            .starts_with(&["todo>planning".to_owned(), "planning>in_progress".to_owned()])
    );
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn task_in_the_backlog_cannot_be_claimed() -> Result<()> {
    let board = Board::new(json!({})).await?;
    let task = board.task(&["edit a <<< \"x\""], json!({})).await?;
    board.move_to(&task, "backlog").await?;
    let (status, body) = board.refused(&task, "claim", json!({ "agent_id": board.agent })).await?;
    assert_eq!((status, text(&body, "code").as_str()), (409, "not_claimable"), "{body:#}");
    assert!(text(&body, "message").contains("move it to Todo first"), "{body:#}");
    assert_eq!(board.get(&task).await?["status"], "backlog");
    board.move_to(&task, "todo").await?;
    board.claim(&task).await?;
    board.server.until(&task, is("done")).await.map(drop)
}
