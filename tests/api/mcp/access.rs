//! Access to the MCP server: tokens, switches, client configuration and shutdown.

use std::{io::Write as _, path::Path, process::Stdio};

use anyhow::{Context as _, Result, ensure};
use forge_tests::patience::until;
use reqwest::Method;
use serde_json::{Value, json};

use super::Mcp;
use crate::answers::{good, refused};
use forge_testkit::{Board, Folder, board::text, serve::Served};

const ACCEPTED: &str = "application/json, text/event-stream";

/// The first message of a client.
fn initialize_request() -> Value {
    json!({
        "jsonrpc": "2.0", "id": 1, "method": "initialize",
        "params": { "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": { "name": "t", "version": "1" } },
    })
}

/// The `initialize` request without a token.
fn initialize(server: &Served) -> reqwest::RequestBuilder {
    server.bare(Method::POST, "/mcp").header("accept", ACCEPTED).json(&initialize_request())
}

#[tokio::test(flavor = "multi_thread")]
async fn request_without_token_or_from_a_foreign_host_is_refused() -> Result<()> {
    let sandbox = Folder::new()?;
    let server = sandbox.serve()?;
    let token = server.token.clone().context("no token")?;
    let (status, body) = refused(initialize(&server)).await?;
    assert_eq!((status, &body["code"]), (401, &json!("unauthorized")));
    for wrong in ["nonsense", "run_nonsense", &token[1..]] {
        assert_eq!(refused(initialize(&server).bearer_auth(wrong)).await?.0, 401, "{wrong}");
    }
    let with = |name: &str, value: &str| initialize(&server).bearer_auth(&token).header(name, value);
    let (status, body) = refused(with("host", "evil.test")).await?;
    assert_eq!((status, &body["code"]), (403, &json!("forbidden_host")));
    let (status, body) = refused(with("origin", "http://evil.test")).await?;
    assert_eq!((status, &body["code"]), (403, &json!("forbidden_origin")));
    let large =
        json!({ "jsonrpc": "2.0", "id": 1, "method": "ping", "params": { "x": "y".repeat(3 << 20) } });
    let large = server.bare(Method::POST, "/mcp").bearer_auth(&token).header("accept", ACCEPTED).json(&large);
    assert_eq!(large.send().await?.status().as_u16(), 413);
    let good = initialize(&server).bearer_auth(&token).send().await?;
    ensure!(good.status().is_success() && !good.headers().contains_key("mcp-session-id"), "{good:?}");
    // There is nothing but answers, and nothing is kept: clients of older SDKs count on a clear no.
    for none in [Method::GET, Method::DELETE] {
        let asked = server.bare(none.clone(), "/mcp").bearer_auth(&token).header("accept", ACCEPTED);
        assert_eq!(asked.send().await?.status().as_u16(), 405, "{none}");
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn disconnected_client_ends_its_call() -> Result<()> {
    let board = Board::served(json!({})).await?;
    let (server, repo) = (&board.engine, board.folder.repo.path());
    let token = server.token.clone().context("no token")?;
    let check = json!({ "moduleId": "m", "cwd": repo, "commands": ["echo $$ > began; sleep 600"] });
    let call = json!({
        "jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": { "name": "validate", "arguments": check },
    });
    let asked = server.bare(Method::POST, "/mcp").bearer_auth(&token).header("accept", ACCEPTED).json(&call);
    let answer = asked.send().await?;
    let began = until("its check", async || {
        let id = std::fs::read_to_string(repo.join("began")).unwrap_or_default();
        Ok(id.strip_suffix('\n').map(|id| Path::new("/proc").join(id)))
    })
    .await?;
    ensure!(began.exists(), "its check is at work");
    drop(answer);
    until("its end", async || Ok((!began.exists()).then_some(()))).await
}

#[tokio::test(flavor = "multi_thread")]
async fn invalid_call_is_answered_with_code_and_field() -> Result<()> {
    let board = Board::served(json!({})).await?;
    let mcp = Mcp::over_http(&board.engine).await?;
    let missing = mcp.refusal("forge_get_task", json!({})).await?;
    ensure!(missing.starts_with("invalid: task_id: "), "{missing}");
    let unknown = mcp.refusal("forge_list_projects", json!({ "colour": 1 })).await?;
    ensure!(unknown.starts_with("invalid: colour: "), "{unknown}");
    let kind =
        mcp.refusal("forge_list_tasks", json!({ "project_id": board.project, "limit": "many" })).await?;
    ensure!(kind.starts_with("invalid: limit: "), "{kind}");
    let composed = mcp.refusal("forge_create_sub_tasks", json!({ "task_id": "x" })).await?;
    ensure!(composed.starts_with("invalid: tasks: "), "{composed}");
    let nobody = mcp.refusal("forge_get_task", json!({ "task_id": "nobody" })).await?;
    ensure!(nobody.starts_with("not_found: "), "{nobody}");
    ensure!(mcp.answer("forge_no_such_tool", json!({})).await.is_err(), "there is no such tool");
    // It is still there.
    mcp.call("forge_list_projects", json!({})).await?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn mcp_can_be_disabled_and_enabled() -> Result<()> {
    let sandbox = Folder::new()?;
    let mut server = sandbox.serve()?;
    let access = server.get("/doors").await?;
    let mcp_url = format!("{}/mcp", server.url);
    assert_eq!((text(&access, "mcp_url"), &access["mcp_enabled"]), (mcp_url, &json!(true)));
    assert_eq!(access["clients"].as_array().context("no clients")?.len(), 8);
    let token = server.token.clone().context("no token")?;
    ensure!(!access.to_string().contains(&token), "the token is shown on demand only");
    assert_eq!(text(&server.get("/doors/token").await?, "token"), token);

    let off = server.request(Method::PATCH, "/doors").json(&json!({ "mcp_enabled": false }));
    assert_eq!(good(off.send().await?).await?["mcp_url"], Value::Null);
    let (status, body) = refused(initialize(&server).bearer_auth(&token)).await?;
    assert_eq!((status, &body["code"]), (404, &json!("mcp_off")));
    server.terminate().await?;
    let server = sandbox.serve()?;
    assert_eq!(server.get("/doors").await?["mcp_enabled"], false, "it stays off");
    let on = server.request(Method::PATCH, "/doors").json(&json!({ "mcp_enabled": true }));
    good(on.send().await?).await?;
    Mcp::over_http(&server).await?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn engine_started_with_no_mcp_refuses_mcp() -> Result<()> {
    let sandbox = Folder::new()?;
    let server = sandbox.serve_with(&["--no-mcp"])?;
    let token = server.token.clone().context("no token")?;
    let (status, body) = refused(initialize(&server).bearer_auth(&token)).await?;
    assert_eq!((status, &body["code"]), (404, &json!("mcp_off")));
    let access = server.get("/doors").await?;
    assert_eq!((&access["mcp_allowed"], &access["mcp_enabled"]), (&json!(false), &json!(false)));
    let on = server.request(Method::PATCH, "/doors").json(&json!({ "mcp_enabled": true }));
    let (status, body) = refused(on).await?;
    assert_eq!((status, &body["code"]), (409, &json!("mcp_off")));
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn new_token_revokes_the_old_one_at_once() -> Result<()> {
    let sandbox = Folder::new()?;
    let server = sandbox.serve()?;
    let old = server.token.clone().context("no token")?;
    let new = text(&server.post("/doors/token", json!({})).await?, "token");
    assert_ne!(new, old);
    assert_eq!(refused(initialize(&server).bearer_auth(&old)).await?.0, 401);
    assert_eq!(refused(server.request(Method::GET, "/meta")).await?.0, 401);
    ensure!(initialize(&server).bearer_auth(&new).send().await?.status().is_success(), "the new one is good");
    assert_eq!(std::fs::read_to_string(sandbox.data_dir().join("token"))?, new);
    // Programs of this machine find it by themselves.
    assert_eq!(sandbox.run(&["project", "list", "--json"])?.code, Some(0));
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn mcp_ends_with_the_server() -> Result<()> {
    let sandbox = Folder::new()?;
    let mut server = sandbox.serve()?;
    let mcp = Mcp::over_http(&server).await?;
    mcp.call("forge_list_projects", json!({})).await?;
    let (status, _) = server.terminate().await?;
    assert_eq!(status.code(), Some(0));
    ensure!(mcp.answer("forge_list_projects", json!({})).await.is_err(), "nobody is there");
    Ok(())
}

/// Standard output carries only the protocol.
#[test]
fn stdio_server_prints_only_the_protocol() -> Result<()> {
    let sandbox = Folder::new()?;
    let mut child = sandbox
        .command(["mcp"])?
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .env("FORGE_LOG", "debug")
        .spawn()?;
    let mut input = child.stdin.take().context("no input")?;
    let ready = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
    let call = json!({
        "jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": { "name": "forge_list_projects", "arguments": {} },
    });
    for message in [initialize_request(), ready, call] {
        writeln!(input, "{message}")?;
    }
    drop(input);
    let output = child.wait_with_output()?;
    assert_eq!(output.status.code(), Some(0), "it ends with its input");
    let lines: Vec<Value> = std::str::from_utf8(&output.stdout)?
        .lines()
        .map(serde_json::from_str)
        .collect::<std::result::Result<_, _>>()?;
    let ids: Vec<&Value> = lines.iter().map(|line| &line["id"]).collect();
    assert_eq!(ids, [&json!(1), &json!(2)]);
    assert_eq!(lines[1]["result"]["structuredContent"]["items"], json!([]));
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn stdio_clients_share_an_engine_and_start_one_if_none_runs() -> Result<()> {
    let sandbox = Folder::new()?;
    let first = Mcp::over_stdio(&sandbox).await?;
    first.call("forge_list_projects", json!({})).await?;
    // It is there for others, too: a second client and the command line reach the same engine.
    let second = Mcp::over_stdio(&sandbox).await?;
    let repo = sandbox.repo.path().to_str().context("no text")?;
    sandbox.run(&["project", "add", repo, "--json"])?.json()?;
    assert_eq!(
        second.call("forge_list_projects", json!({})).await?["items"].as_array().map(Vec::len),
        Some(1)
    );
    assert_eq!(first.close().await?, Some(0));
    // The second one finds its engine gone and has its own.
    assert_eq!(
        second.call("forge_list_projects", json!({})).await?["items"].as_array().map(Vec::len),
        Some(1)
    );
    assert_eq!(second.close().await?, Some(0));
    Ok(())
}

#[test]
fn print_config_prints_the_configuration_of_each_client() -> Result<()> {
    let sandbox = Folder::new()?;
    let data = sandbox.data_dir();
    let codex = sandbox.run(&["mcp", "--print-config", "codex"])?;
    ensure!(codex.stdout.starts_with("[mcp_servers.forge]\ncommand = "), "{codex:?}");
    ensure!(codex.stdout.contains(data.to_str().context("no text")?), "{codex:?}");
    for client in ["claude", "cursor", "vscode"] {
        let config = sandbox.run(&["mcp", "--print-config", client])?;
        let _: Value =
            serde_json::from_str(&config.stdout).with_context(|| format!("{client}: {config:?}"))?;
    }
    let nobody = sandbox.run(&["mcp", "--print-config", "codex", "--transport", "http"])?;
    assert_eq!(nobody.code, Some(4), "nothing serves: {nobody:?}");
    let _server = sandbox.serve()?;
    let http = sandbox.run(&["mcp", "--print-config", "codex", "--transport", "http"])?;
    ensure!(http.stdout.contains("bearer_token_env_var = \"FORGE_TOKEN\""), "{http:?}");
    Ok(())
}
