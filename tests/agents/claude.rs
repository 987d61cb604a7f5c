//! `claude -p`.

use std::process::Stdio;

use anyhow::{Context as _, Result, ensure};
use forge_testkit::models::{AgentProgram, Failure, Scenario, Turn};
use serde_json::{Value, json};
use tokio::{
    io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader},
    time::{Duration, timeout},
};

use crate::support::{ProgramFixture, ProgramOutput, three_turn_scenario};

const PRINT: &[&str] =
    &["-p", "--output-format", "stream-json", "--verbose", "--permission-mode", "acceptEdits"];

fn session(ended: &ProgramOutput) -> Result<String> {
    Ok(ended.only("result")?["session_id"].as_str().context("the session has no id")?.to_owned())
}

#[tokio::test]
async fn run_with_script_edits_files_and_runs_commands() -> Result<()> {
    let fixture = ProgramFixture::new(AgentProgram::Claude).await?;
    let ended = fixture.run_work_scenario(PRINT).await?;
    let result = ended.only("result")?;
    assert_eq!((&result["is_error"], &result["result"]), (&json!(false), &json!("It is done.")));
    let usage = &result["usage"];
    for (field, expected) in [
        ("input_tokens", 400),
        ("cache_read_input_tokens", 80),
        ("cache_creation_input_tokens", 12),
        ("output_tokens", 160),
    ] {
        assert_eq!(usage[field], expected, "{field} in {usage}");
    }
    assert_eq!(usage["output_tokens_details"]["thinking_tokens"], 20, "{usage}");
    Ok(())
}

#[tokio::test]
async fn resumed_and_forked_sessions_remember() -> Result<()> {
    let fixture = ProgramFixture::new(AgentProgram::Claude).await?;
    let tag = fixture.server.script(three_turn_scenario());
    let first = fixture.run(&[PRINT, &[&tag]].concat()).await?.succeeded()?;
    let id = session(&first)?;
    let again = fixture.run(&[PRINT, &["--resume", &id, "what was it?"]].concat()).await?.succeeded()?;
    assert_eq!(
        (session(&again)?, &again.only("result")?["result"]),
        (id.clone(), &json!("You asked again."))
    );
    let fork = fixture
        .run(&[PRINT, &["--resume", &id, "--fork-session", "and here?"]].concat())
        .await?
        .succeeded()?;
    assert_ne!(session(&fork)?, id);
    assert_eq!(fork.only("result")?["result"], "And a third time.");

    let requests = fixture.server.requests().of("talk");
    assert_eq!(requests.len(), 3);
    ensure!(requests[1].remembers("The word is heron.") && requests[2].remembers("You asked again."));
    fixture.assert_all_understood()
}

#[tokio::test]
async fn run_after_rate_limit_and_cut_connection_retries() -> Result<()> {
    let fixture = ProgramFixture::new(AgentProgram::Claude).await?;
    let limited = Turn::new().say("Now it goes.").fails(Failure::RateLimited { seconds: 0 }, 1);
    let tag = fixture.server.script(Scenario::new("limited").turn(limited));
    let ended = fixture.run(&[PRINT, &[&tag]].concat()).await?.succeeded()?;
    assert_eq!(ended.only("result")?["result"], "Now it goes.");
    let notices = ended.of_type("system");
    let retry = notices.iter().find(|event| event["subtype"] == "api_retry").context("no notice")?;
    assert_eq!(retry["error_status"], 429);

    let cut = Turn::new().say("A sentence that is long enough to have a middle.").fails(Failure::Cut, 1);
    let tag = fixture.server.script(Scenario::new("cut").turn(cut));
    let ended = fixture.run(&[PRINT, &[&tag]].concat()).await?.succeeded()?;
    assert_eq!(ended.only("result")?["result"], "A sentence that is long enough to have a middle.");
    assert_eq!(fixture.server.requests().of("cut").len(), 2);

    let tag = fixture.server.script(Scenario::new("no").turn(Turn::new().always_fails(Failure::Status(401))));
    let ended = fixture.run(&[PRINT, &[&tag]].concat()).await?;
    let result = ended.only("result")?;
    assert_eq!((&result["is_error"], &result["api_error_status"]), (&json!(true), &json!(401)));
    Ok(())
}

#[tokio::test]
async fn answer_in_form_reaches_its_tool() -> Result<()> {
    let fixture = ProgramFixture::new(AgentProgram::Claude).await?;
    let tag = fixture.server.script(Scenario::new("form").turn(Turn::new().answer(json!({ "ok": true }))));
    let schema = r#"{"type":"object","properties":{"ok":{"type":"boolean"}},"required":["ok"]}"#;
    let ended = fixture.run(&[PRINT, &["--json-schema", schema, &tag]].concat()).await?.succeeded()?;
    assert_eq!(ended.only("result")?["structured_output"], json!({ "ok": true }));
    Ok(())
}

/// A held answer can be released, and one that the program abandoned is noticed.
#[tokio::test]
async fn held_answer_waits_for_the_test() -> Result<()> {
    let fixture = ProgramFixture::new(AgentProgram::Claude).await?;
    let tag = fixture.server.script(
        Scenario::new("wait")
            .turn(Turn::new().say("A sentence in two halves, one of them late.").hold_midway("first"))
            .turn(Turn::new().say("Never said.").hold("never")),
    );
    let mut child = fixture
        .command(&[PRINT, &["--input-format", "stream-json"]].concat())
        .stdin(Stdio::piped())
        .spawn()?;
    let mut input = child.stdin.take().context("no stdin")?;
    let mut lines = BufReader::new(child.stdout.take().context("no stdout")?).lines();
    let mut result = async || -> Result<Value> {
        loop {
            let line = timeout(Duration::from_secs(90), lines.next_line()).await??.context("it ended")?;
            let event: Value = serde_json::from_str(&line)?;
            if event["type"] == "result" {
                return Ok(event);
            }
        }
    };
    let prompt = |text: &str| {
        let message = json!({ "role": "user", "content": [{ "type": "text", "text": text }] });
        format!(
            "{}\n",
            json!({ "type": "user", "message": message, "session_id": "", "parent_tool_use_id": null })
        )
    };
    input.write_all(prompt(&tag).as_bytes()).await?;
    fixture.server.asked("wait", 1).await?;
    fixture.server.release("first");
    assert_eq!(result().await?["result"], "A sentence in two halves, one of them late.");

    input.write_all(prompt("go on").as_bytes()).await?;
    fixture.server.asked("wait", 2).await?;
    let interrupt =
        json!({ "type": "control_request", "request_id": "1", "request": { "subtype": "interrupt" } });
    input.write_all(format!("{interrupt}\n").as_bytes()).await?;
    assert_eq!(result().await?["subtype"], "error_during_execution");
    fixture.server.given_up(1).await?;
    child.kill().await?;
    Ok(())
}
