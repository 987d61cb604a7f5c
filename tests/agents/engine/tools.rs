//! Forge's MCP tools used by real programs, with the token of their run and for their task only.

use anyhow::{Context as _, Result, ensure};
use forge_testkit::models::{AgentProgram, Scenario, Turn};
use serde_json::{Value, json};

use super::{
    approvals::{answer_approval, pending_approval},
    fixture::{EngineFixture, text},
};

super::both!(agent_uses_the_tools_for_its_own_task_only, agent_on_a_machine_uses_the_tools_as_here);
super::with!(
    with_opencode,
    OpenCode: agent_uses_the_tools_for_its_own_task_only, agent_on_a_machine_uses_the_tools_as_here
);
super::with!(with_gemini, Gemini: agent_uses_the_tools_for_its_own_task_only);

/// The name of the MCP server in the programs.
const SERVER: &str = "forge_task";

async fn agent_uses_the_tools_for_its_own_task_only(program: AgentProgram) -> Result<EngineFixture> {
    let (config, asked) = asking(program);
    let fixture = EngineFixture::with(program, config, json!({ "mcp": { "inject": true } })).await?;
    use_the_tools(fixture, asked, false).await
}

/// The keeper there carries the calls; what the tools see of the work in progress is what stands there.
async fn agent_on_a_machine_uses_the_tools_as_here(program: AgentProgram) -> Result<EngineFixture> {
    let (config, asked) = asking(program);
    let Some(fixture) = EngineFixture::on_machine(program, config.clone()).await? else {
        return EngineFixture::with(program, config, json!({})).await;
    };
    fixture.set(json!({ "mcp": { "inject": true } })).await?;
    use_the_tools(fixture, asked, true).await
}

/// How the agent is configured, and for which tools a person is asked then.
fn asking(program: AgentProgram) -> (Value, &'static [&'static str]) {
    // What a program asks a person about: these two that a tool runs commands, Gemini each tool of any server.
    match program {
        AgentProgram::Codex | AgentProgram::Claude => (json!({}), &["validate"][..]),
        AgentProgram::OpenCode => (json!({}), &[][..]),
        AgentProgram::Gemini => {
            let all = &["forge_get_task_diff", "forge_get_task_diff", "forge_create_sub_tasks", "validate"];
            (json!({ "permissions": "edit" }), all)
        }
    }
}

async fn use_the_tools(fixture: EngineFixture, asked: &[&str], is_on_machine: bool) -> Result<EngineFixture> {
    let other = fixture.task("Something else.", json!({})).await?;
    let checks = json!({ "review_config": { "ci_steps": ["grep -q goodbye README.md"] } });
    let task = fixture.task(&Scenario::tag("work"), checks).await?;
    let diff_of = |task: &Value| json!({ "task_id": task["id"], "path": "README.md" });
    let check = json!({ "moduleId": "m", "commands": ["grep -q goodbye README.md"] });
    let part = json!({ "task_id": task["id"], "tasks": [{ "title": "What is left" }] });
    fixture.server.script(
        Scenario::new("work")
            .turn(Turn::new().edit("README.md", "hello", "goodbye"))
            .turn(Turn::new().mcp(SERVER, "forge_get_task_diff", diff_of(&task)))
            .turn(Turn::new().mcp(SERVER, "forge_get_task_diff", diff_of(&other)))
            .turn(Turn::new().mcp(SERVER, "forge_create_sub_tasks", part))
            .turn(Turn::new().mcp(SERVER, "validate", check))
            .turn(Turn::new().say("Done.")),
    );
    fixture.act(&task, "claim", json!({ "agent_id": fixture.agent })).await?;
    let mut answered = Vec::new();
    for tool in asked {
        let but: Vec<&str> = answered.iter().map(String::as_str).collect();
        let now = pending_approval(&fixture, &but).await?;
        ensure!(now.to_string().contains(tool), "{tool}: {now:#}");
        answer_approval(&fixture, &now, "allow_once", None).await?;
        answered.push(text(&now, "id").to_owned());
    }
    fixture.wait_for_run(&task, |run| run["status"] == "finished").await?;

    let requests = fixture.server.requests().of("work");
    ensure!(requests.len() == 6, "{} requests: nothing was tried twice", requests.len());
    // Some programs show such tools only once they are searched for; none shows what is not for a run.
    let offered: Vec<&String> = requests.iter().flat_map(|request| &request.tools).collect();
    ensure!(!offered.iter().any(|name| name.contains("forge_list_projects")), "not for a run: {offered:?}");
    ensure!(requests[2].got_back("goodbye"), "it sees its own changes: {:?}", requests[2].messages);
    let refused = requests[3].messages.last().context("nothing")?;
    ensure!(refused.text.contains("out_of_scope: "), "another's are not for it: {refused:?}");

    ensure!(requests[5].got_back("PROCEED"), "it checks its own work: {:?}", requests[5].messages);
    let parts = fixture.items(&format!("/tasks/{}/subtasks", text(&task, "id"))).await?;
    assert_eq!(parts.len(), 1, "{parts:#?}");
    assert_eq!(parts[0]["title"], "What is left");
    let runs = fixture.runs(&task).await?;
    assert_eq!(runs[0]["machine_id"].is_string(), is_on_machine, "{:#}", runs[0]);
    let log = json!(fixture.log(&runs[0]).await?).to_string();
    ensure!(!log.contains("run_"), "its token is not in its log");
    ensure!(fixture.server.refused().is_empty(), "{:?}", fixture.server.refused());
    Ok(fixture)
}
