//! `codex exec --json`.

use anyhow::{Context as _, Result, ensure};
use forge_testkit::models::{AgentProgram, Failure, Scenario, Turn};
use serde_json::{Value, json};

use crate::support::{ProgramFixture, ProgramOutput, three_turn_scenario};

const EXEC: &[&str] = &["exec", "--json", "-s", "danger-full-access"];

fn items<'a>(ended: &'a ProgramOutput, kind: &str) -> Vec<&'a Value> {
    let completed = ended.of_type("item.completed").into_iter().map(|event| &event["item"]);
    completed.filter(|item| item["type"] == kind).collect()
}

fn thread(ended: &ProgramOutput) -> Result<String> {
    let id = ended.only("thread.started")?["thread_id"].as_str().context("the thread has no id")?;
    Ok(id.to_owned())
}

#[tokio::test]
async fn run_with_script_edits_files_and_runs_commands() -> Result<()> {
    let fixture = ProgramFixture::new(AgentProgram::Codex).await?;
    let ended = fixture.run_work_scenario(EXEC).await?;
    let command = items(&ended, "command_execution");
    assert_eq!(command[0]["aggregated_output"], "from-the-shell\n");
    assert_eq!(items(&ended, "reasoning")[0]["text"], "What is there?");
    assert_eq!(items(&ended, "agent_message")[1]["text"], "It is done.");
    let usage = &ended.only("turn.completed")?["usage"];
    let expected = json!({
        "input_tokens": 492, "cached_input_tokens": 80, "cache_write_input_tokens": 12,
        "output_tokens": 160, "reasoning_output_tokens": 20,
    });
    assert_eq!(usage, &expected);
    assert_eq!(fixture.server.requests().of("work")[0].model, "gpt-5.5");
    Ok(())
}

#[tokio::test]
async fn model_calls_of_one_turn_count_as_one_turn() -> Result<()> {
    let fixture = ProgramFixture::new(AgentProgram::Codex).await?;
    let tag = fixture.server.script(
        Scenario::new("both")
            .turn(Turn::new().run("echo first").run("echo second"))
            .turn(Turn::new().say("Both.")),
    );
    let ended = fixture.run(&[EXEC, &[&tag]].concat()).await?.succeeded()?;
    assert_eq!(items(&ended, "command_execution").len(), 2);
    let requests = fixture.server.requests().of("both");
    assert_eq!(requests.len(), 2);
    ensure!(requests[1].got_back("first") && requests[1].got_back("second"), "both came back at once");
    Ok(())
}

#[tokio::test]
async fn resumed_and_forked_threads_remember() -> Result<()> {
    let fixture = ProgramFixture::new(AgentProgram::Codex).await?;
    let tag = fixture.server.script(three_turn_scenario());
    let other = fixture.server.script(Scenario::new("other").turn(Turn::new().say("Elsewhere.")));
    let first = fixture.run(&[EXEC, &[&tag]].concat()).await?.succeeded()?;
    let id = thread(&first)?;

    let again = fixture.run(&["exec", "resume", &id, "--json", "what was it?"]).await?.succeeded()?;
    assert_eq!(thread(&again)?, id);
    assert_eq!(items(&again, "agent_message")[0]["text"], "You asked again.");
    let fork = fixture.run(&["exec", "fork", &id, "--json", "and here?"]).await?.succeeded()?;
    assert_ne!(thread(&fork)?, id);
    assert_eq!(items(&fork, "agent_message")[0]["text"], "And a third time.");
    let resumed = fixture.run(&["exec", "resume", &id, "--json", &other]).await?.succeeded()?;
    assert_eq!(items(&resumed, "agent_message")[0]["text"], "Elsewhere.");

    let requests = fixture.server.requests();
    assert_eq!(requests.len(), 4);
    for request in &requests[1..] {
        ensure!(request.remembers("The word is heron."), "{} forgot", request.number);
    }
    ensure!(!requests[3].remembers("And a third time."), "what a fork says stays there");
    fixture.assert_all_understood()
}

#[tokio::test]
async fn run_after_rate_limit_and_cut_connection_retries() -> Result<()> {
    let fixture = ProgramFixture::new(AgentProgram::Codex).await?;
    let limited = Turn::new().say("Now it goes.").fails(Failure::RateLimited { seconds: 0 }, 1);
    let cut = Turn::new().think("A thought that is never whole.").say("All of it.").fails(Failure::Cut, 1);
    let tag = fixture.server.script(Scenario::new("limited").turn(limited));
    let ended = fixture.run(&[EXEC, &[&tag]].concat()).await?.succeeded()?;
    assert_eq!(items(&ended, "agent_message")[0]["text"], "Now it goes.");
    let tag = fixture.server.script(Scenario::new("cut").turn(cut));
    let ended = fixture.run(&[EXEC, &[&tag]].concat()).await?.succeeded()?;
    assert_eq!(items(&ended, "agent_message")[0]["text"], "All of it.");
    for name in ["limited", "cut"] {
        let attempts: Vec<usize> = fixture.server.requests().of(name).iter().map(|it| it.attempt).collect();
        assert_eq!(attempts, [0, 1], "{name}");
    }

    let tag =
        fixture.server.script(Scenario::new("never").turn(Turn::new().always_fails(Failure::Status(500))));
    let ended = fixture.run(&[EXEC, &[&tag]].concat()).await?;
    ensure!(!ended.succeeded && ended.of_type("turn.failed").len() == 1, "{:?}", ended.events);
    Ok(())
}

#[tokio::test]
async fn unreachable_model_server_fails_the_turn() -> Result<()> {
    let fixture = ProgramFixture::new(AgentProgram::Codex).await?;
    let tag = fixture.server.script(Scenario::new("alone").turn(Turn::new().say("Never said.")));
    fixture.server.go_offline().await;
    let ended = fixture.run(&[EXEC, &[&tag]].concat()).await?;
    ensure!(!ended.succeeded, "{:?}", ended.events);
    ended.only("turn.failed")?;
    fixture.server.come_back().await?;
    fixture.run(&[EXEC, &[&tag]].concat()).await?.succeeded()?;
    Ok(())
}
