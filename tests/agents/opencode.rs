//! `opencode run`. It takes seconds to start, so one test covers all cases.

use anyhow::{Context as _, Result, ensure};
use forge_testkit::models::{AgentProgram, Failure, Scenario, Turn};
use serde_json::Value;

use crate::support::{ProgramFixture, ProgramOutput};

const RUN: &[&str] = &["run", "--format", "json"];

fn said(ended: &ProgramOutput) -> Vec<&str> {
    ended.of_type("text").into_iter().filter_map(|event| event["part"]["text"].as_str()).collect()
}

#[tokio::test]
async fn run_edits_retries_and_remembers() -> Result<()> {
    let fixture = ProgramFixture::new(AgentProgram::OpenCode).await?;
    let tag = fixture.server.script(
        Scenario::new("work")
            .turn(Turn::new().say("I look.").run("echo from-the-shell"))
            .turn(Turn::new().edit("README.md", "hello", "goodbye"))
            .turn(Turn::new().say("It is done.").fails(Failure::RateLimited { seconds: 0 }, 1))
            .turn(Turn::new().say("A second prompt, a second answer.").fails(Failure::Cut, 1)),
    );
    let ended = fixture.run(&[RUN, &[&tag]].concat()).await?.succeeded()?;
    assert_eq!(fixture.text("README.md")?, "goodbye\n");
    assert_eq!(said(&ended).last(), Some(&"It is done."));
    let tools = ended.of_type("tool_use");
    let command = tools.iter().find(|event| event["part"]["tool"] == "bash").context("no command")?;
    assert_eq!(command["part"]["state"]["output"], "from-the-shell\n");
    let finished: Vec<&Value> = ended.of_type("step_finish");
    let tokens = &finished.first().context("no step ends")?["part"]["tokens"];
    assert_eq!((&tokens["input"], &tokens["cache"]["read"]), (&400.into(), &800.into()), "{tokens}");

    let id = ended.events[0]["sessionID"].as_str().context("the session has no id")?.to_owned();
    let again = fixture.run(&[RUN, &["-s", &id, "and now?"]].concat()).await?.succeeded()?;
    assert_eq!(said(&again).last(), Some(&"A second prompt, a second answer."));

    let requests = fixture.server.requests();
    let last = requests.of("work");
    let last = last.last().context("no requests")?;
    ensure!(last.remembers("It is done.") && last.got_back("from-the-shell"), "{:?}", last.messages);
    ensure!(!requests.side().is_empty(), "the title was asked for");
    fixture.assert_all_understood()
}
