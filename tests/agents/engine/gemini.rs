//! Gemini's program over the Agent Client Protocol, from todo to done.
//!
//! It forks no session and cannot load one that it created (`Invalid session identifier`), so its runs start new
//! sessions and report that; no further tests are its own.

use anyhow::{Result, ensure};
use forge_testkit::models::{AgentProgram, Scenario, Turn};
use serde_json::json;

use super::fixture::{EngineFixture, is, of_kind, text};

super::with!(with_gemini, Gemini: failed_check_is_fixed_and_the_task_done);

const CHECK: &str = "test \"$(cat README.md)\" = goodbye || { echo 'README is rude'; exit 3; }\n";

async fn failed_check_is_fixed_and_the_task_done(program: AgentProgram) -> Result<EngineFixture> {
    let settings = json!({ "review_config": { "ci_steps": ["sh check.sh"] } });
    let fixture = EngineFixture::with(program, json!({}), settings).await?;
    fixture.repo.write("check.sh", CHECK)?;
    fixture.repo.commit("check")?;
    let tag = fixture.server.script(
        Scenario::new("work")
            .when("README is rude")
            .turn(Turn::new().edit("README.md", "get out", "goodbye"))
            .turn(Turn::new().say("Polite now.")),
    );
    fixture.server.script(
        Scenario::new("work")
            .turn(Turn::new().say("I look.").run("cat README.md"))
            .turn(Turn::new().edit("README.md", "hello", "get out"))
            .turn(Turn::new().say("Rewritten.")),
    );
    let task = fixture.started(&tag, json!({})).await?;
    fixture.wait_for_task(&task, is("done")).await?;
    assert_eq!(fixture.repo.show("main", "README.md").as_deref(), Some("goodbye"));
    let runs = fixture.runs(&task).await?;
    assert_eq!(runs.len(), 2, "{runs:#?}");
    let log = fixture.log(&runs[0]).await?;
    for kind in ["session_started", "assistant_text", "command", "file_change", "usage"] {
        ensure!(!of_kind(&log, kind).is_empty(), "no {kind} in {log:#?}");
    }
    // It does not say what a command printed.
    let command = of_kind(&log, "command").pop().map(|it| text(&it["body"], "command"));
    assert_eq!(command.as_deref(), Some("cat README.md"));
    ensure!(
        fixture.server.requests().of("work").iter().any(|it| it.got_back("hello")),
        "the model saw nothing"
    );
    ensure!(runs.iter().all(|run| run["cost_micro_usd"].as_u64().is_some_and(|cost| cost > 0)), "{runs:#?}");
    ensure!(fixture.server.refused().is_empty(), "{:?}", fixture.server.refused());
    Ok(fixture)
}
