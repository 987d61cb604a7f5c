//! Every MCP tool is listed and works, over stdio and HTTP.

use std::{
    collections::BTreeSet,
    sync::{Mutex, PoisonError},
};

use anyhow::{Context as _, Result, ensure};
use forge_tests::{drafter, patience::until};
use serde_json::{Value, json};

use super::Mcp;
use forge_testkit::serve::Served;
use forge_testkit::{
    Board,
    board::{text, with},
    script,
};

/// The tools by their names in the contract.
const TOOLS: [&str; 27] = [
    "apply_fix_proposal",
    "forge_add_task_dependency",
    "forge_assign_agent",
    "forge_cancel_task",
    "forge_create_sub_tasks",
    "forge_create_task",
    "forge_follow_up_execution",
    "forge_get_project",
    "forge_get_task",
    "forge_get_task_diff",
    "forge_list_agents",
    "forge_list_executions",
    "forge_list_projects",
    "forge_list_tasks",
    "forge_logs",
    "forge_remove_task_dependency",
    "forge_run_service",
    "forge_search_knowledge",
    "forge_service_log",
    "forge_stop_service",
    "forge_task_action",
    "forge_transition_task",
    "forge_update_task",
    "iteration_state",
    "list_fix_proposals",
    "rollback_fix_proposal",
    "validate",
];
/// The read-only tools.
const READERS: [&str; 11] = [
    "forge_get_project",
    "forge_get_task",
    "forge_get_task_diff",
    "forge_list_agents",
    "forge_list_executions",
    "forge_list_projects",
    "forge_list_tasks",
    "forge_search_knowledge",
    "forge_service_log",
    "list_fix_proposals",
    "forge_logs",
];

/// A check that reports the file as compilers do.
const CHECK: &str = "grep -q good total.txt || { echo 'total.txt:2:1: error: it is not good' >&2; exit 1; }";
const FIX: &str = "--- a/total.txt\n+++ b/total.txt\n@@ -1,3 +1,3 @@\n one\n-bad\n+good\n three\n";

/// A client that records its calls.
struct RecordingClient {
    mcp: Mcp,
    called: Mutex<BTreeSet<String>>,
}

impl RecordingClient {
    async fn call(&self, tool: &str, arguments: Value) -> Result<Value> {
        self.called.lock().unwrap_or_else(PoisonError::into_inner).insert(tool.to_owned());
        self.mcp.call(tool, arguments).await
    }

    async fn task(&self, task: &Value) -> Result<Value> {
        self.call("forge_get_task", json!({ "task_id": task["id"] })).await
    }

    async fn transition(&self, task: &Value, to: &str, wait: &str) -> Result<Value> {
        let version = self.task(task).await?["version"].clone();
        let input = json!({ "task_id": task["id"], "to": to, "version": version, "wait": wait });
        self.call("forge_transition_task", input).await
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_tool_works_over_http() -> Result<()> {
    let board = Board::served(json!({ "auto_approve": false })).await?;
    let mcp = Mcp::over_http(&board.engine).await?;
    every_tool(&board, mcp).await
}

#[tokio::test(flavor = "multi_thread")]
async fn every_tool_works_over_stdio() -> Result<()> {
    let board = Board::served(json!({ "auto_approve": false })).await?;
    let mcp = Mcp::over_stdio(&board.folder).await?;
    every_tool(&board, mcp).await
}

async fn every_tool(board: &Board<Served>, mcp: Mcp) -> Result<()> {
    as_listed(&mcp)?;
    let caller = RecordingClient { mcp, called: Mutex::default() };
    places(board, &caller).await?;
    tasks(board, &caller).await?;
    work(board, &caller).await?;
    fixes(board, &caller).await?;
    validations(board, &caller).await?;
    let called = caller.called.into_inner().unwrap_or_else(PoisonError::into_inner);
    let left: Vec<&String> = caller.mcp.tools.keys().filter(|name| !called.contains(*name)).collect();
    ensure!(left.is_empty(), "never called: {left:?}");
    caller.mcp.close().await?;
    Ok(())
}

/// Checks names, hints and schemas of the tools.
fn as_listed(mcp: &Mcp) -> Result<()> {
    assert_eq!(mcp.tools.keys().map(String::as_str).collect::<Vec<_>>(), TOOLS);
    ensure!(mcp.instructions()?.contains("Forge"), "it says what it is");
    let size = mcp.size()?;
    ensure!(size < 64 * 1024, "models read all of it before they work: {size} bytes");
    for (name, tool) in &mcp.tools {
        let hints = tool.annotations.as_ref().context("no hints")?;
        let reads = READERS.contains(&name.as_str());
        assert_eq!(hints.read_only_hint, Some(reads), "{name}");
        if reads {
            assert_eq!((hints.destructive_hint, hints.idempotent_hint), (Some(false), Some(true)), "{name}");
        }
        ensure!(tool.description.as_ref().is_some_and(|text| text.len() > 20), "{name}");
        for schema in [Some(&tool.input_schema), tool.output_schema.as_ref()] {
            let schema = Value::Object(schema.context("no schema")?.as_ref().clone());
            ensure!(jsonschema::meta::is_valid(&schema), "{name}: {schema:#}");
            assert_eq!(schema["type"], "object", "{name}");
        }
    }
    Ok(())
}

async fn places(board: &Board<Served>, caller: &RecordingClient) -> Result<()> {
    let projects = caller.call("forge_list_projects", json!({})).await?;
    assert_eq!(projects["items"][0]["id"], board.project.as_str());
    let project = caller.call("forge_get_project", json!({ "project_id": board.project })).await?;
    assert_eq!(project["id"], board.project.as_str());
    let agents = caller.call("forge_list_agents", json!({})).await?;
    assert_eq!(agents["items"][0]["id"], board.agent.as_str());
    let lessons = json!({ "project_id": board.project, "q": "anything" });
    assert_eq!(caller.call("forge_search_knowledge", lessons).await?["items"], json!([]));
    Ok(())
}

async fn tasks(board: &Board<Served>, caller: &RecordingClient) -> Result<()> {
    let new = json!({ "project_id": board.project, "title": "Whole", "priority": 3 });
    let task = caller.call("forge_create_task", new).await?;
    let change = json!({ "task_id": task["id"], "version": task["version"], "title": "The whole" });
    assert_eq!(caller.call("forge_update_task", change.clone()).await?["title"], "The whole");
    let stale = caller.mcp.refusal("forge_update_task", change).await?;
    ensure!(stale.starts_with("version_conflict: "), "{stale}");
    let parts = json!([
        { "title": "First", "description": "one" }, { "title": "Second", "depends_on": [task["id"]] },
    ]);
    let parts =
        caller.call("forge_create_sub_tasks", json!({ "task_id": task["id"], "tasks": parts })).await?;
    let (first, second) = (&parts["items"][0], &parts["items"][1]);
    assert_eq!((&first["parent_id"], &first["title"]), (&task["id"], &json!("First")));
    let on_first = json!({ "task_id": second["id"], "depends_on": first["id"] });
    let waits = caller.call("forge_add_task_dependency", on_first.clone()).await?;
    assert_eq!(waits["depends_on"].as_array().context("no list")?.len(), 2);
    let freed = caller.call("forge_remove_task_dependency", on_first).await?;
    assert_eq!(freed["depends_on"], json!([task["id"]]));
    let given =
        caller.call("forge_assign_agent", json!({ "task_id": first["id"], "agent_id": board.agent })).await?;
    assert_eq!(given["roles"]["coder"]["id"], board.agent.as_str());
    let held = json!({ "task_id": first["id"], "verb": "hold", "version": given["version"], "wait": "none" });
    let held = caller.call("forge_task_action", held).await?;
    ensure!(held["task"]["version"] != given["version"] || held["task"]["held"] == true, "{held:#}");
    let gone = json!({ "task_id": second["id"], "reason": "not needed" });
    assert_eq!(caller.call("forge_cancel_task", gone).await?["task"]["status"], "cancelled");
    let history = board.history(second).await?;
    let last = history.last().context("no history")?;
    assert_eq!((&last["actor"], &last["reason"]), (&json!("user:mcp"), &json!("not needed")));
    let listed = caller
        .call("forge_list_tasks", json!({ "project_id": board.project, "status": ["cancelled"] }))
        .await?;
    assert_eq!(listed["items"].as_array().context("no items")?.len(), 1);
    let bad = json!([{ "title": "Third" }, { "title": "" }]);
    let answer =
        caller.mcp.refusal("forge_create_sub_tasks", json!({ "task_id": task["id"], "tasks": bad })).await?;
    ensure!(answer.starts_with("invalid: ") && answer.contains("\"created\":[\""), "{answer}");
    Ok(())
}

async fn work(board: &Board<Served>, caller: &RecordingClient) -> Result<()> {
    let new = json!({
        "project_id": board.project, "title": "Greet", "roles": { "coder": board.agent },
        "description": script(&["edit hello.txt <<< \"hello\\n\""]),
    });
    let task = caller.call("forge_create_task", new).await?;
    let moved = caller.transition(&task, "in_progress", "settled").await?;
    assert_eq!(moved["task"]["status"], "in_progress", "an agent is at it: {moved:#}");
    board.engine.until(&task, |task| task["review"]["status"] == "awaiting_human").await?;
    let history = board.history(&task).await?;
    ensure!(history.iter().any(|row| row["actor"] == "user:mcp"), "{history:#?}");
    let diff = json!({ "task_id": task["id"], "path": "hello.txt" });
    let diff = caller.call("forge_get_task_diff", diff).await?;
    assert_eq!(diff["changes"]["files"][0]["path"], "hello.txt");
    ensure!(diff["file"].to_string().contains("hello"), "{diff:#}");
    services(board, caller, &task).await?;
    let runs = caller.call("forge_list_executions", json!({ "task_id": task["id"] })).await?;
    let say = json!({ "execution_id": runs["items"][0]["id"], "message": "Once more, please." });
    caller.call("forge_follow_up_execution", say).await?;
    until("a second run", async || Ok((board.runs(&task).await?.len() == 2).then_some(()))).await
}

async fn services(board: &Board<Served>, caller: &RecordingClient, task: &Value) -> Result<()> {
    let of = json!({ "task_id": task["id"] });
    let none = caller.mcp.refusal("forge_service_log", of.clone()).await?;
    ensure!(none.starts_with("invalid: ") && none.contains("has no services"), "{none}");
    let named = json!({ "services": [{ "name": "web", "command": "echo serves; exec sleep 600" }] });
    board.patch(&format!("/projects/{}/settings", board.project), named).await?;
    let never = caller.call("forge_service_log", of.clone()).await?;
    assert_eq!((&never["service"]["state"], &never["output"]), (&Value::Null, &json!("")), "{never:#}");
    let started = caller.call("forge_run_service", of.clone()).await?;
    ensure!(text(&started, "url").starts_with("http://localhost:"), "{started:#}");
    until("what the service prints", async || {
        let read = caller.call("forge_service_log", of.clone()).await?;
        Ok(text(&read, "output").contains("serves").then_some(()))
    })
    .await?;
    let stopped = caller.call("forge_stop_service", of).await?;
    assert_eq!(stopped["items"][0]["state"], "stopped", "{stopped:#}");
    Ok(())
}

async fn fixes(board: &Board<Served>, caller: &RecordingClient) -> Result<()> {
    let program =
        drafter::install(&board.folder.dir.path().join("drafter"), &format!("Here:\n\n```diff\n{FIX}```\n"))?;
    let drafter = json!({ "name": "Drafter", "adapter": "acp", "config": { "program": program } });
    let drafter = board.engine.post("/agents", drafter).await?;
    let settings = json!({ "innerLoop": { "autoFix": { "agentId": drafter["id"] } } });
    board.patch(&format!("/projects/{}/settings", board.project), settings).await?;
    let more = json!({
        "task_state_config": { "retry_budgets": { "review": 0 } }, "review_config": { "ci_steps": [CHECK] },
    });
    let task = board.task(&["edit total.txt <<< \"one\\nbad\\nthree\\n\""], with(more, &json!({}))).await?;
    board.claim(&task).await?;
    let fix = async |status: &'static str| {
        until(&format!("a fix that is {status}"), async || {
            let all = caller.call("list_fix_proposals", json!({ "task_id": task["id"] })).await?;
            Ok(all["proposals"].as_array().context("no list")?.first().cloned())
                .map(|one| one.filter(|fix| fix["status"] == status))
        })
        .await
    };
    board.engine.until(&task, |task| task["status"] == "blocked").await?;
    let drafted = fix("drafted").await?;
    let of = json!({ "fix_id": drafted["fixId"] });
    assert_eq!(caller.call("apply_fix_proposal", of.clone()).await?["status"], "applied");
    assert_eq!(text(&fix("verified").await?, "decidedBy"), "user:mcp");
    let refused = caller.mcp.refusal("apply_fix_proposal", of.clone()).await?;
    ensure!(refused.starts_with("fix_decided: "), "{refused}");
    assert_eq!(caller.call("rollback_fix_proposal", of).await?["status"], "rolled_back");
    Ok(())
}

async fn validations(board: &Board<Served>, caller: &RecordingClient) -> Result<()> {
    let root = board.folder.repo.path();
    let module = json!({ "moduleId": "m1", "runId": "r1", "project_id": board.project });
    let input = with(module.clone(), &json!({ "cwd": root, "files": ["README.md"], "commands": ["exit 3"] }));
    let report = caller.call("validate", input).await?;
    assert_eq!((&report["passed"], &report["attempt"]), (&json!(false), &json!(1)), "{report:#}");
    assert_eq!(report["results"][1]["exitCode"], 3);
    let nothing = caller.mcp.refusal("validate", with(module.clone(), &json!({ "commands": [] }))).await?;
    ensure!(nothing.starts_with("invalid: "), "{nothing}");
    let state = caller.call("iteration_state", with(module.clone(), &json!({ "action": "get" }))).await?;
    assert_eq!(state["attempts"].as_array().context("no attempts")?.len(), 1);
    let logged = caller.call("forge_logs", json!({ "runId": "r1", "project_id": board.project })).await?;
    ensure!(logged["items"].as_array().context("no items")?.len() >= 2, "{logged:#}");
    let state = caller.call("iteration_state", with(module, &json!({ "action": "reset" }))).await?;
    assert_eq!(state["attempts"], json!([]));
    Ok(())
}
