//! The engine is killed and started again while agents work: the same process goes on, and nothing is asked, said or
//! paid twice.

use std::time::Duration;

use anyhow::{Context as _, Result};
use forge_testkit::models::{AgentProgram, Scenario, Tokens, Turn};
use serde_json::{Value, json};

use super::{
    approvals::{answer_approval, pending_approval},
    fixture::{EngineFixture, is, of_kind, text},
};

super::both!(
    run_over_twenty_kills_of_the_engine_is_the_same_as_undisturbed,
    approval_and_message_survive_kills_of_the_engine,
);
super::with!(with_opencode, OpenCode: turn_goes_on_over_kills_of_the_engine);
super::with!(with_gemini, Gemini: turn_goes_on_over_kills_of_the_engine);

const EACH: Tokens = Tokens { input_uncached: 100, cache_read: 20, cache_write: 0, output: 40, reasoning: 5 };
const STEPS: usize = 8;
/// Until the test says so.
const WAIT: &str = "touch waits; until [ -e go ]; do sleep 0.05; done; rm waits go";

/// A task in steps, the last of which waits.
fn steps(fixture: &EngineFixture) -> String {
    let mut work = Scenario::new("work");
    for step in 1..=STEPS {
        let command = format!("sleep 0.5; echo {step} >>steps.txt; cat steps.txt");
        work = work.turn(Turn::new().say(format!("Step {step}.")).run(command).tokens(EACH));
    }
    let wait = Turn::new().run(WAIT).tokens(EACH);
    fixture.server.script(work.turn(wait).turn(Turn::new().say("All steps are done.").tokens(EACH)))
}

async fn go(fixture: &EngineFixture, task: &Value) -> Result<()> {
    let waits = fixture.wait_for_file(task, "waits").await?;
    std::fs::write(waits.with_file_name("go"), "")?;
    Ok(())
}

/// The process that holds the task's worktree.
async fn agent_pid(fixture: &EngineFixture, task: &Value) -> Result<u64> {
    let lock = fixture.worktree(task).await?.with_file_name(".forge.lock");
    let lock: Value = serde_json::from_str(&std::fs::read_to_string(lock)?)?;
    lock["pid"].as_u64().context("no pid")
}

/// Waits until the same process holds the worktree: an engine that has just begun holds it itself until it has found its
/// run again.
async fn until_agent(fixture: &EngineFixture, task: &Value, pid: u64) -> Result<()> {
    let is_same = async || Ok((agent_pid(fixture, task).await? == pid).then_some(()));
    forge_tests::patience::until("the same process", is_same).await
}

/// What a log tells, without what differs from run to run.
fn told(log: &[Value]) -> Vec<Value> {
    let texts = ["text", "command", "output", "exit_code", "summary", "code"];
    let entry = |entry: &Value| {
        let body: Vec<&Value> = texts.iter().map(|name| &entry["body"][name]).collect();
        json!([entry["kind"], entry["status"], entry["turn"], body])
    };
    // Which notices a program gives depends on its caches; where a prompt lies, on the folder.
    let is_told = |entry: &&Value| !matches!(entry["kind"].as_str(), Some("notice" | "user_message" | "raw"));
    log.iter().filter(is_told).map(entry).collect()
}

async fn run_over_twenty_kills_of_the_engine_is_the_same_as_undisturbed(
    program: AgentProgram,
) -> Result<EngineFixture> {
    let config = json!({ "permissions": "unattended" });
    let calm = EngineFixture::with(program, config.clone(), json!({})).await?;
    let task = calm.started(&steps(&calm), json!({})).await?;
    go(&calm, &task).await?;
    calm.wait_for_task(&task, is("done")).await?;
    let undisturbed = calm.runs(&task).await?;
    let expected = told(&calm.log(&undisturbed[0]).await?);
    let calls = calm.server.requests().of("work").len();
    calm.assert_no_leftovers().await?;

    let mut fixture = EngineFixture::with(program, config, json!({})).await?;
    let task = fixture.started(&steps(&fixture), json!({})).await?;
    fixture.wait_for_run(&task, |run| run["session_id"].is_string()).await?;
    let pid = agent_pid(&fixture, &task).await?;
    for kill in 0..20_u64 {
        // Spread over the boundaries without two rounds alike.
        tokio::time::sleep(Duration::from_millis(20 + kill * 97 % 350)).await;
        fixture.kill_engine()?;
        tokio::time::sleep(Duration::from_millis(kill * 53 % 200)).await;
        fixture.serve_again()?;
    }
    fixture.wait_for_file(&task, "waits").await?;
    until_agent(&fixture, &task, pid).await?;
    go(&fixture, &task).await?;
    fixture.wait_for_task(&task, is("done")).await?;
    let runs = fixture.runs(&task).await?;
    assert_eq!(runs.len(), 1, "{runs:#?}");
    assert_eq!(fixture.server.requests().of("work").len(), calls, "a call of the model was made again");
    assert_eq!(told(&fixture.log(&runs[0]).await?), expected);
    for key in ["usage", "cost_micro_usd", "cost_source", "status", "summary"] {
        assert_eq!(runs[0][key], undisturbed[0][key], "{key}");
    }
    Ok(fixture)
}

async fn approval_and_message_survive_kills_of_the_engine(program: AgentProgram) -> Result<EngineFixture> {
    let mut fixture = EngineFixture::with(program, json!({ "permissions": "ask" }), json!({})).await?;
    let tag = fixture.server.script(
        Scenario::new("work")
            .turn(Turn::new().run_outside("echo allowed >allowed.txt").tokens(EACH))
            .turn(Turn::new().say("It was allowed.").tokens(EACH)),
    );
    let task = fixture.started(&tag, json!({})).await?;
    let asked = pending_approval(&fixture, &[]).await?;
    fixture.kill_engine()?;
    fixture.serve_again()?;
    let again = pending_approval(&fixture, &[]).await?;
    assert_eq!(again["id"], asked["id"], "it was asked twice");
    answer_approval(&fixture, &again, "allow_once", None).await?;
    fixture.kill_engine()?;
    fixture.serve_again()?;
    fixture.wait_for_task(&task, is("done")).await?;
    let runs = fixture.runs(&task).await?;
    assert_eq!(runs.len(), 1, "{runs:#?}");
    let log = fixture.log(&runs[0]).await?;
    let text_of = |entry: &Value| text(&entry["body"], "text");
    let said = of_kind(&log, "assistant_text").iter().filter(|it| text_of(it) == "It was allowed.").count();
    assert_eq!(said, 1, "{log:#?}");
    Ok(fixture)
}

async fn turn_goes_on_over_kills_of_the_engine(program: AgentProgram) -> Result<EngineFixture> {
    let mut fixture = EngineFixture::with(program, json!({ "permissions": "unattended" }), json!({})).await?;
    let task = fixture.started(&steps(&fixture), json!({})).await?;
    fixture.wait_for_run(&task, |run| run["session_id"].is_string()).await?;
    let pid = agent_pid(&fixture, &task).await?;
    for _ in 0..3 {
        fixture.kill_engine()?;
        tokio::time::sleep(Duration::from_millis(300)).await;
        fixture.serve_again()?;
    }
    fixture.wait_for_file(&task, "waits").await?;
    until_agent(&fixture, &task, pid).await?;
    go(&fixture, &task).await?;
    fixture.wait_for_task(&task, is("done")).await?;
    let runs = fixture.runs(&task).await?;
    assert_eq!(runs.len(), 1, "{runs:#?}");
    assert_eq!(fixture.repo.show("main", "steps.txt").map(|text| text.lines().count()), Some(STEPS));
    let calls = fixture.server.requests().of("work").len();
    assert_eq!(calls, STEPS + 2, "a call of the model was made again");
    Ok(fixture)
}
