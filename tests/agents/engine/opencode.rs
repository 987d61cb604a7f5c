//! What differs with opencode: it retries without reporting it, and only the record of its session has the answers
//! of the model's service.

use anyhow::{Result, ensure};
use forge_testkit::models::{AgentProgram, Failure, Scenario, Turn};
use serde_json::json;

use super::{
    failures::{block_reason, wait_until_failed},
    fixture::{EngineFixture, is, of_kind, text},
};

super::with!(with_opencode, OpenCode:
    refused_key_is_distinguished_from_other_failures,
    unreachable_model_server_is_a_model_error,
    temporary_failure_is_retried_by_the_program,
    rate_limit_is_waited_for_and_spends_no_retry,
    run_at_its_call_limit_is_stopped,
);

/// A refused key and an invalid request.
async fn refused_key_is_distinguished_from_other_failures(program: AgentProgram) -> Result<EngineFixture> {
    let fixture = EngineFixture::with(program, json!({}), json!({})).await?;
    let tag = |name: &str, status: u16| {
        let turn = Turn::new().say("A long sentence.").always_fails(Failure::Status(status));
        fixture.server.script(Scenario::new(name).turn(turn))
    };
    let (task, run) = wait_until_failed(&fixture, &tag("key", 401), "auth").await?;
    assert_eq!(block_reason(&task), "executor_failed");
    ensure!(text(&run["error"], "remedy").contains("Sign in"), "{run:#}");
    assert_eq!(fixture.runs(&task).await?.len(), 1, "trying again does not help");
    let log = fixture.log(&run).await?;
    ensure!(of_kind(&log, "notice").iter().any(|it| it["body"]["status"] == 401), "{log:#?}");

    let (task, run) = wait_until_failed(&fixture, &tag("bad", 400), "model_error").await?;
    assert_eq!(block_reason(&task), "executor_failed");
    ensure!(fixture.runs(&task).await?.len() > 1, "it is tried again within the budget: {run:#}");
    Ok(fixture)
}

/// The program retries for more than a minute.
async fn unreachable_model_server_is_a_model_error(program: AgentProgram) -> Result<EngineFixture> {
    let fixture = EngineFixture::new(program).await?;
    let tag = fixture.server.script(Scenario::new("alone").turn(Turn::new().say("Never said.")));
    fixture.server.go_offline().await;
    let once = json!({ "task_state_config": { "retry_budgets": { "execution": 0 } } });
    let task = fixture.started(&tag, once).await?;
    let task = fixture.wait_for_task(&task, is("blocked")).await?;
    let runs = fixture.runs(&task).await?;
    let error = &runs[0]["error"];
    assert_eq!((runs.len(), &error["code"]), (1, &json!("model_error")), "{runs:#?}");
    ensure!(!text(error, "remedy").is_empty(), "{error:#}");
    Ok(fixture)
}

/// A server error and a truncated answer, once each.
async fn temporary_failure_is_retried_by_the_program(program: AgentProgram) -> Result<EngineFixture> {
    let fixture = EngineFixture::new(program).await?;
    let tag = fixture.server.script(
        Scenario::new("work")
            .turn(Turn::new().edit("README.md", "hello", "goodbye").fails(Failure::Status(500), 1))
            .turn(Turn::new().say("It says goodbye now.").fails(Failure::Cut, 1)),
    );
    let task = fixture.started(&tag, json!({})).await?;
    fixture.wait_for_task(&task, is("done")).await?;
    let runs = fixture.runs(&task).await?;
    assert_eq!((runs.len(), &runs[0]["status"]), (1, &json!("finished")), "{runs:#?}");
    Ok(fixture)
}

/// The program itself waits six times; then Forge waits.
async fn rate_limit_is_waited_for_and_spends_no_retry(program: AgentProgram) -> Result<EngineFixture> {
    let fixture = EngineFixture::new(program).await?;
    let again = Scenario::new("limited").when("rate limited by the provider");
    let tag = fixture.server.script(
        again.turn(Turn::new().edit("README.md", "hello", "goodbye")).turn(Turn::new().say("At last.")),
    );
    let limited = Turn::new().fails(Failure::RateLimited { seconds: 1 }, 6);
    fixture.server.script(Scenario::new("limited").turn(limited));
    let task = fixture.started(&tag, json!({})).await?;
    fixture.wait_for_task(&task, is("done")).await?;
    let runs = fixture.runs(&task).await?;
    assert_eq!(runs.len(), 2, "{runs:#?}");
    assert_eq!((&runs[0]["status"], &runs[0]["error"]["code"]), (&json!("failed"), &json!("rate_limited")));
    assert_eq!(
        (&runs[1]["cause"], &runs[1]["session_mode"]),
        (&json!("the rate limit ended"), &json!("resume"))
    );
    assert_eq!(runs[1]["session_id"], runs[0]["session_id"]);
    let now = fixture.get(&format!("/tasks/{}", text(&task, "id"))).await?;
    assert_eq!(now["budgets"]["execution"]["used"], 0, "{now:#}");
    Ok(fixture)
}

async fn run_at_its_call_limit_is_stopped(program: AgentProgram) -> Result<EngineFixture> {
    let fixture = EngineFixture::with(program, json!({ "turns": 2 }), json!({})).await?;
    let long =
        (0..6).fold(Scenario::new("long"), |it, n| it.turn(Turn::new().run(format!("echo {n} >>long.txt"))));
    let tag = fixture.server.script(long);
    let (task, run) = wait_until_failed(&fixture, &tag, "limit").await?;
    ensure!(text(&run["error"], "message").contains("2 turns"), "{run:#}");
    assert_eq!(block_reason(&task), "executor_failed");
    ensure!(fixture.server.requests().of("long").len() < 6, "it was not stopped");
    Ok(fixture)
}
