//! Failures between a program and its model: each has its code and a remedy.

use anyhow::{Context as _, Result, ensure};
use forge_testkit::models::{AgentProgram, Failure, Scenario, Turn};
use serde_json::{Value, json};

use super::fixture::{EngineFixture, is, text};

super::both!(
    model_failure_of_each_kind_has_its_code,
    missing_program_is_reported_with_a_remedy,
    unreachable_model_server_is_a_model_error,
    program_without_credentials_reports_an_auth_error,
    rate_limit_is_waited_for_and_spends_no_retry,
);

/// Waits until a task is blocked by a failure, and returns the task and its last run.
pub async fn wait_until_failed(fixture: &EngineFixture, words: &str, code: &str) -> Result<(Value, Value)> {
    let task = fixture.started(words, json!({})).await?;
    let task = fixture.wait_for_task(&task, is("blocked")).await?;
    let runs = fixture.runs(&task).await?;
    let run = runs.last().cloned().unwrap_or_default();
    assert_eq!((&run["status"], &run["error"]["code"]), (&json!("failed"), &json!(code)), "{run:#}");
    ensure!(
        !text(&run["error"], "remedy").is_empty() && !text(&run["error"], "message").is_empty(),
        "{run:#}"
    );
    assert_eq!(task["error_annotation"]["details"]["error"]["code"], code, "{task:#}");
    Ok((task, run))
}

pub fn block_reason(task: &Value) -> String {
    text(&task["error_annotation"], "type")
}

async fn model_failure_of_each_kind_has_its_code(program: AgentProgram) -> Result<EngineFixture> {
    let fixture = EngineFixture::new(program).await?;
    for (name, failure, code, runs) in [
        ("broken", Failure::Status(500), "model_error", None),
        ("cut", Failure::Cut, "model_error", None),
        ("no", Failure::Status(401), "auth", Some(1)),
    ] {
        let tag = fixture
            .server
            .script(Scenario::new(name).turn(Turn::new().say("A long sentence.").always_fails(failure)));
        let (task, _) = wait_until_failed(&fixture, &tag, code).await?;
        assert_eq!(block_reason(&task), "executor_failed", "{name}");
        let all = fixture.runs(&task).await?;
        match runs {
            Some(count) => assert_eq!(all.len(), count, "trying again does not help: {all:#?}"),
            None => ensure!(all.len() > 1, "it is tried again within the budget: {all:#?}"),
        }
    }
    Ok(fixture)
}

async fn missing_program_is_reported_with_a_remedy(program: AgentProgram) -> Result<EngineFixture> {
    let fixture = EngineFixture::with(program, json!({ "program": "/nowhere/agent" }), json!({})).await?;
    let (task, run) = wait_until_failed(&fixture, "Anything.", "unavailable").await?;
    assert_eq!(block_reason(&task), "executor_unavailable");
    ensure!(text(&run["error"], "message").contains("/nowhere/agent"), "{run:#}");
    ensure!(text(&run["error"], "remedy").contains("Install"), "{run:#}");
    Ok(fixture)
}

async fn unreachable_model_server_is_a_model_error(program: AgentProgram) -> Result<EngineFixture> {
    let fixture = EngineFixture::new(program).await?;
    let tag = fixture.server.script(Scenario::new("alone").turn(Turn::new().say("Never said.")));
    fixture.server.go_offline().await;
    let (task, _) = wait_until_failed(&fixture, &tag, "model_error").await?;
    assert_eq!(block_reason(&task), "executor_failed");
    Ok(fixture)
}

async fn program_without_credentials_reports_an_auth_error(program: AgentProgram) -> Result<EngineFixture> {
    let fixture = EngineFixture::new(program).await?;
    let mut config = fixture.config(&json!({}));
    let env = config["env"].as_object_mut().context("no environment")?;
    match program {
        // Its provider of the tests is nobody that one signs in with: a key that is refused.
        AgentProgram::Codex => drop(env.insert("FAKE_API_KEY".to_owned(), json!("another"))),
        _ => drop(env.remove("ANTHROPIC_API_KEY")),
    }
    fixture.change_agent(json!({ "config": config })).await?;
    let tag = fixture.server.script(Scenario::new("alone").turn(Turn::new().say("Never said.")));
    let (task, run) = wait_until_failed(&fixture, &tag, "auth").await?;
    assert_eq!(block_reason(&task), "executor_failed");
    ensure!(text(&run["error"], "remedy").contains("Sign in"), "{run:#}");
    assert_eq!(fixture.runs(&task).await?.len(), 1);
    Ok(fixture)
}

async fn rate_limit_is_waited_for_and_spends_no_retry(program: AgentProgram) -> Result<EngineFixture> {
    let fixture = EngineFixture::new(program).await?;
    let name = match program {
        AgentProgram::Codex => "used-up",
        _ => "asked-to-wait",
    };
    // Codex learns from the account's window when it may go on; Claude from the header that every service sends.
    let (failure, times) = match program {
        AgentProgram::Codex => (Failure::UsedUp { seconds: 4 }, 1),
        _ => (Failure::RateLimited { seconds: 3 }, 2),
    };
    let limited = Turn::new().edit("README.md", "hello", "goodbye").fails(failure, times);
    let again = Scenario::new(name).when("rate limited by the provider");
    let tag = fixture.server.script(
        again.turn(Turn::new().edit("README.md", "hello", "goodbye")).turn(Turn::new().say("At last.")),
    );
    fixture.server.script(Scenario::new(name).turn(limited));
    let task = fixture.started(&tag, json!({})).await?;
    let waits = fixture.wait_for_task(&task, |task| task["waiting"]["reason"] == "rate_limited").await?;
    ensure!(waits["waiting"]["until"].is_string(), "{waits:#}");
    assert_eq!(waits["status"], "in_progress");
    fixture.wait_until_no_process().await?;
    fixture.wait_for_task(&task, is("done")).await?;
    let runs = fixture.runs(&task).await?;
    assert_eq!(runs.len(), 2, "{runs:#?}");
    assert_eq!((&runs[0]["status"], &runs[0]["error"]["code"]), (&json!("failed"), &json!("rate_limited")));
    ensure!(text(&runs[0]["error"], "remedy").contains("automatically"), "{runs:#?}");
    assert_eq!(
        (&runs[1]["cause"], &runs[1]["session_mode"]),
        (&json!("the rate limit ended"), &json!("resume"))
    );
    ensure!(text(&runs[1], "started_at") >= text(&waits["waiting"], "until"), "before its time: {runs:#?}");
    let history = fixture.items(&format!("/tasks/{}/transitions", text(&task, "id"))).await?;
    ensure!(!history.iter().any(|row| row["to"] == "blocked"), "{history:#?}");
    Ok(fixture)
}

/// Hours, not the default minute. Claude reports its limit only for signed-in accounts.
#[tokio::test(flavor = "multi_thread")]
async fn used_up_allowance_is_a_rate_limit_of_hours() -> Result<()> {
    let fixture = EngineFixture::new(AgentProgram::Codex).await?;
    let used_up = Turn::new().always_fails(Failure::UsedUp { seconds: 7200 });
    let tag = fixture.server.script(Scenario::new("used-up").turn(used_up));
    let task = fixture.started(&tag, json!({})).await?;
    let waits = fixture.wait_for_task(&task, |task| task["waiting"]["reason"] == "rate_limited").await?;
    let run = fixture.wait_for_run(&task, |run| run["status"] == "failed").await?;
    assert_eq!(run["error"]["code"], "rate_limited", "{waits:#}");
    let until = text(&waits["waiting"], "until").parse::<jiff::Timestamp>()?;
    let began = text(&run, "started_at").parse::<jiff::Timestamp>()?;
    ensure!(until.duration_since(began).as_secs() > 3600, "{waits:#}");
    let limits = fixture.items("/agents/limits").await?;
    let windows = limits.iter().find_map(|it| it["windows"].as_array().filter(|all| !all.is_empty()));
    let window = windows.and_then(|windows| windows.first()).context("no window was reported")?;
    ensure!(window["used_percent"] == 100 && window["minutes"] == 300, "{limits:#?}");
    ensure!(limits.iter().any(|it| it["limited_until"].is_string()), "{limits:#?}");
    // Whoever asks for the agent next is told the window.
    let next = fixture.started(&tag, json!({})).await?;
    let waits = fixture.wait_for_task(&next, |task| task["waiting"]["reason"] == "rate_limited").await?;
    ensure!(text(&waits["waiting"], "message").contains("its 5-hour window is 100 % used"), "{waits:#}");
    Ok(())
}
