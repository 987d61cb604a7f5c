//! Forge's own tools (MCP) for agents on another machine: by the server that Forge gives them there, with the rights of
//! their run, also when the machine or the engine is away in between.

use std::fs;

use anyhow::{Context as _, Result, ensure};
use forge_testkit::lasting_folder;
use serde_json::{Value, json};

use crate::{on_machines::OnMachine, ssh_server::configuring};

/// A shell function that calls a tool with arguments and prints the answer.
const CALL: &str = r#"call() { printf '{"jsonrpc":"2.0","id":"%s","method":"tools/call","params":{"name":"%s","arguments":%s}}\n' "$1" "$1" "$2" | "$FORGE_MCP_PROGRAM" mcp "$FORGE_MCP_FOLDER"; }
"#;

/// Settings with which agents get the tools.
fn injected(sandbox: &str) -> Value {
    json!({ "mcp": { "inject": true }, "sandbox": { "mode": sandbox } })
}

fn answer(on: &OnMachine, file: &str) -> Result<Value> {
    let text = on.on_main(file)?;
    serde_json::from_str(&text).with_context(|| format!("{file} is {text:?}"))
}

async fn subtasks(on: &OnMachine, task: &Value) -> Result<Vec<Value>> {
    let parts = on.board.call("task_subtasks", json!({ "task_id": task["id"] })).await?;
    parts["items"].as_array().cloned().context("no subtasks")
}

#[tokio::test(flavor = "multi_thread")]
async fn confined_agent_on_a_machine_uses_the_tools_for_its_own_task_only() -> Result<()> {
    let support = forge_exec::sandbox_support();
    let mode = if support.files && support.network { "files_and_network" } else { "off" };
    let Some(mut on) = OnMachine::in_folder(lasting_folder()?, injected(mode)).await? else { return Ok(()) };
    on.board.serve().await?;
    let other = on.board.task("Something else", &[], json!({})).await?;
    let other = other["id"].as_str().context("an id")?;
    let script = format!(
        r#"{CALL}
printf '{{"jsonrpc":"2.0","id":1,"method":"tools/list"}}\n' | "$FORGE_MCP_PROGRAM" mcp "$FORGE_MCP_FOLDER" > tools.json
call forge_create_sub_tasks "{{\"task_id\":\"$FORGE_TASK_ID\",\"tasks\":[{{\"title\":\"What is left\"}}]}}" > own.json
call forge_get_task '{{"task_id":"{other}"}}' > other.json
FORGE_MCP_TOKEN=run_other "$FORGE_MCP_PROGRAM" mcp "$FORGE_MCP_FOLDER" </dev/null 2> refused.txt && exit 9
echo "$FORGE_MCP_TOKEN" > token.txt"#
    );
    let task = on.begin(&script).await?;
    on.board.reach(&task, "done").await?;
    let tools = answer(&on, "tools.json")?;
    let names = tools["result"]["tools"].to_string();
    ensure!(names.contains("forge_create_sub_tasks"), "{tools:#}");
    ensure!(!names.contains("forge_list_projects"), "not for a run: {tools:#}");
    let own = answer(&on, "own.json")?;
    assert_eq!((&own["id"], &own["result"]["isError"]), (&json!("forge_create_sub_tasks"), &json!(false)));
    let parts = subtasks(&on, &task).await?;
    assert_eq!((parts.len(), &parts[0]["title"]), (1, &json!("What is left")), "{parts:#?}");
    let refused = answer(&on, "other.json")?;
    ensure!(refused.to_string().contains("out_of_scope: "), "{refused:#}");
    ensure!(on.on_main("refused.txt")?.contains("Could not use the tools of Forge"), "a wrong token");
    // The token goes with the run.
    let token = on.on_main("token.txt")?;
    ensure!(
        on.board.api.engine().scope_of_token(&token).await?.is_none(),
        "its token is valid after its end"
    );
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn call_on_a_machine_waits_for_the_connection_and_for_the_next_engine() -> Result<()> {
    let Some(mut on) = OnMachine::new(injected("off")).await? else { return Ok(()) };
    on.board.serve().await?;
    let (go_on, is_there) = on.signals();
    let step = |n: u32, after: &str| {
        format!(
            "touch {there}{n}; until [ -e {go}{n} ]; do sleep 0.05; done\n\
             (sleep 1; touch {there}-called{n}) &\n\
             call forge_create_sub_tasks \"{{\\\"task_id\\\":\\\"$FORGE_TASK_ID\\\",\\\"tasks\\\":[{{\\\"title\\\":\\\"{after}\\\"}}]}}\" > {n}.json\n",
            there = is_there.display(),
            go = go_on.display(),
        )
    };
    let script = format!("{CALL}{}{}{}", step(1, "Connected"), step(2, "Cut"), step(3, "Restarted"));
    let task = on.begin(&script).await?;
    let beside = |path: &std::path::Path, n: &str| {
        path.with_file_name(format!("{}{n}", path.file_name().unwrap_or_default().to_string_lossy()))
    };
    on.until(&beside(&is_there, "1")).await?;
    on.server.cut();
    fs::write(beside(&go_on, "1"), "")?;
    on.until(&beside(&is_there, "2")).await?;
    // It calls while its machine cannot be reached.
    on.server.stop();
    fs::write(beside(&go_on, "2"), "")?;
    on.until(&beside(&is_there, "-called2")).await?;
    on.server.start_again()?;
    on.until(&beside(&is_there, "3")).await?;
    // It calls while no engine is there.
    on.board.api.engine().leave().await;
    fs::write(beside(&go_on, "3"), "")?;
    on.until(&beside(&is_there, "-called3")).await?;
    on.board.restart_with(configuring(on.board.dir.path())?).await?;
    on.board.serve().await?;
    on.board.reach(&task, "done").await?;
    for n in 1..=3 {
        let answer = answer(&on, &format!("{n}.json"))?;
        assert_eq!(answer["result"]["isError"], false, "{n}: {answer:#}");
    }
    let mut titles: Vec<String> =
        subtasks(&on, &task).await?.iter().map(|part| part["title"].to_string()).collect();
    titles.sort();
    assert_eq!(titles, ["\"Connected\"", "\"Cut\"", "\"Restarted\""], "each was made once");
    assert_eq!(on.runs(&task).await?.len(), 1);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn agent_on_a_machine_gets_no_tools_where_the_project_gives_none() -> Result<()> {
    let Some(mut on) = OnMachine::new(json!({ "mcp": { "inject": false } })).await? else { return Ok(()) };
    on.board.serve().await?;
    let task = on.begin("env | grep -c FORGE_MCP > variables.txt; true").await?;
    on.board.reach(&task, "done").await?;
    assert_eq!(on.on_main("variables.txt")?, "0");
    Ok(())
}
