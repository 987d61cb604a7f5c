//! Trust in files that run code, as agents, MCP clients and the command line ask for it.

use anyhow::{Result, ensure};
use forge_testkit::{
    Board,
    board::{is, text, until_exists},
    serve::Served,
};
use forge_tests::patience::until_there;
use reqwest::Method;
use serde_json::{Value, json};

use crate::mcp::Mcp;

const SERVERS: &str = "{ \"mcpServers\": {} }\n";

/// Waits until a task is blocked by files that nobody trusted.
async fn waits(board: &Board<Served>, task: &Value) -> Result<Value> {
    board.engine.until(task, |task| task["error_annotation"]["type"] == "trust_required").await
}

#[tokio::test(flavor = "multi_thread")]
async fn trust_by_agents_and_mcp_clients_is_refused() -> Result<()> {
    let board = Board::served(json!({ "mcp": { "inject": true } })).await?;
    let (token, go) = (board.folder.dir.path().join("token-ran"), board.folder.dir.path().join("go"));
    let lines = [
        format!("run printf %s \"$FORGE_MCP_TOKEN\" >{0}.new && mv {0}.new {0}", token.display()),
        format!("run {}", until_exists(&go)),
    ];
    let running = board.task(&lines.each_ref().map(String::as_str), json!({})).await?;
    board.claim(&running).await?;
    until_there(&token).await?;
    let run = std::fs::read_to_string(&token)?;
    board.folder.repo.write(".mcp.json", SERVERS)?;
    board.folder.repo.commit("servers")?;
    let task = board.task(&["edit a <<< \"x\""], json!({})).await?;
    board.claim(&task).await?;
    board.patch(&format!("/agents/{}", board.agent), json!({ "max_concurrent": 4 })).await?;
    let blocked = waits(&board, &task).await?;

    let take = json!({ "task_id": task["id"], "verb": "trust_files", "version": blocked["version"] });
    let refusal = Mcp::over_http(&board.engine).await?.refusal("forge_task_action", take.clone()).await?;
    ensure!(refusal.contains("only a person can trust files"), "{refusal}");
    let agent = Mcp::with_token(&board.engine, &run).await?;
    let refusal = agent.refusal("forge_task_action", take).await?;
    ensure!(refusal.starts_with("out_of_scope"), "{refusal}");
    let path = format!("/projects/{}/trust", board.project);
    let listing = board.engine.get(&path).await?;
    let file = &listing["files"][0];
    let direct = board.engine.bare(Method::POST, &format!("/api/v1{path}"));
    let answer = direct
        .bearer_auth(&run)
        .json(&json!({ "files": [{ "path": file["path"], "sha256": file["sha256"] }] }))
        .send()
        .await?;
    ensure!(matches!(answer.status().as_u16(), 401 | 403), "{}", answer.status());
    assert_eq!(board.engine.get(&path).await?["trusted"], false);
    std::fs::write(&go, "")?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn trust_command_shows_the_files_and_asks_first() -> Result<()> {
    let board = Board::served(json!({})).await?;
    board.folder.repo.write(".mcp.json", SERVERS)?;
    board.folder.repo.commit("servers")?;
    let task = board.task(&["edit a <<< \"x\""], json!({})).await?;
    board.claim(&task).await?;
    waits(&board, &task).await?;
    let name = text(&board.engine.get(&format!("/projects/{}", board.project)).await?, "name");
    let shown = board.folder.run(&["project", "trust", &name])?;
    assert_eq!(shown.code, Some(1), "{shown:?}");
    ensure!(
        shown.stdout.contains(".mcp.json (new) in commit ") && shown.stdout.contains("mcpServers"),
        "{shown:?}"
    );
    // Nobody answers.
    let asked = board.folder.run(&["project", "trust", &name, "--accept"])?;
    assert_eq!(asked.code, Some(4), "{asked:?}");
    ensure!(asked.stderr.contains("Trust 1 file?"), "{asked:?}");
    let as_agent = board
        .folder
        .command(["project", "trust", &name, "--accept", "--yes"])?
        .env("FORGE_EXECUTION_ID", "e1")
        .output()?;
    assert_eq!(as_agent.status.code(), Some(4), "{as_agent:?}");
    assert_eq!(board.get(&task).await?["status"], "blocked");
    let number = format!("#{}", task["number"]);
    let done = board.folder.run(&["project", "trust", &name, "--task", &number, "--accept", "--yes"])?;
    assert_eq!(done.code, Some(0), "{done:?}");
    board.engine.until(&task, is("done")).await?;
    let after = board.folder.run(&["project", "trust", &name])?;
    assert_eq!((after.code, after.stdout.trim()), (Some(0), "Trusted: 1 file."));
    Ok(())
}
