//! Forge's adapter of the Agent Client Protocol with the real opencode. It takes seconds to start, so few runs
//! cover all cases.

use anyhow::{Context as _, Result, ensure};
use forge_agents::{AcpAdapter, Adapter as _, AgentError, ProbeFolder, SessionRequest};
use forge_model::{
    agent::PermissionMode,
    approval::ApprovalKind,
    log::{EntryKind, EntryStatus},
};
use forge_testkit::models::{AgentProgram, Failure, Scenario, Turn};
use serde_json::{Value, json};

use crate::adapter_run::{AdapterFixture, RunRequest};

/// The cost of a model call by the prices of the program's settings, in micro-dollars.
const CALL: u64 = 548;

async fn fixture() -> Result<(AdapterFixture, Value)> {
    forge_exec::become_subreaper()?;
    let fixture = AdapterFixture::new(AgentProgram::OpenCode).await?;
    let mut config = fixture.config();
    config["args"] = json!(["acp"]);
    Ok((fixture, config))
}

#[tokio::test]
async fn run_asks_edits_remembers_and_reports_usage() -> Result<()> {
    let (fixture, config) = fixture().await?;
    let tag = fixture.server.script(
        Scenario::new("work")
            .turn(Turn::new().say("I look.").run("echo from-the-shell"))
            .turn(Turn::new().edit("README.md", "hello", "goodbye"))
            .turn(Turn::new().say("It is done.").fails(Failure::RateLimited { seconds: 0 }, 1))
            .turn(Turn::new().say("A second prompt.").fails(Failure::Status(500), 1))
            .turn(Turn::new().say("A branch.")),
    );
    let mut run =
        fixture.start(AcpAdapter, config.clone(), RunRequest::new(&*tag).permissions(PermissionMode::Ask))?;
    let command = run.asked().await?;
    assert_eq!((command.kind, command.title.as_str()), (ApprovalKind::Command, "echo from-the-shell"));
    run.answer(&command, "once")?;
    let edit = run.asked().await?;
    assert_eq!((edit.kind, edit.title.as_str()), (ApprovalKind::FileChange, "README.md"));
    assert_eq!(fixture.text("README.md")?, "hello\n", "not before the answer");
    run.answer(&edit, "once")?;
    let first = run.end().await?.finished()?;

    assert_eq!(fixture.text("README.md")?, "goodbye\n");
    assert_eq!(first.commands(), [("echo from-the-shell", Some(EntryStatus::Completed))]);
    assert_eq!(first.of(EntryKind::Command)[0].body["output"], "from-the-shell\n");
    let changes = first.of(EntryKind::FileChange);
    let diff = "--- a/README.md\n+++ b/README.md\n@@ -1 +1 @@\n-hello\n+goodbye\n";
    assert_eq!((&changes[0].body["path"], &changes[0].body["diff"]), (&json!("README.md"), &json!(diff)));
    assert_eq!(first.texts(EntryKind::AssistantText), ["I look.", "It is done."]);
    assert_eq!(first.outcome.summary.as_deref(), Some("It is done."));
    let used = first.used()?;
    assert_eq!((used.model.as_str(), used.cost_micro_usd), ("fake/fake-model", Some(3 * CALL)));

    let order = RunRequest::new("And now?").after(&first, SessionRequest::Resume)?;
    let second = fixture.start(AcpAdapter, config.clone(), order)?.end().await?.finished()?;
    assert_eq!(second.outcome.session_id, first.outcome.session_id);
    assert_eq!(second.texts(EntryKind::AssistantText), ["A second prompt."], "nothing is said twice");
    ensure!(
        second.of(EntryKind::Command).is_empty() && second.notices().is_empty(),
        "{:?}",
        second.notices()
    );
    assert_eq!(second.used()?.cost_micro_usd, Some(CALL));

    let order = RunRequest::new("And there?").after(&second, SessionRequest::Fork)?;
    let fork = fixture.start(AcpAdapter, config, order)?.end().await?.finished()?;
    assert_ne!(fork.outcome.session_id, first.outcome.session_id);
    assert_eq!(fork.texts(EntryKind::AssistantText), ["A branch."]);
    assert_eq!(fork.used()?.cost_micro_usd, Some(CALL));

    let requests = fixture.server.requests().of("work");
    let last = requests.last().context("no requests")?;
    ensure!(last.remembers("A second prompt.") && last.got_back("from-the-shell"), "{:?}", last.messages);
    ensure!(fixture.server.refused().is_empty(), "{:?}", fixture.server.refused());
    Ok(())
}

#[tokio::test]
async fn stopped_run_ends_all_its_processes() -> Result<()> {
    let (fixture, config) = fixture().await?;
    let for_ever = r#"python3 -c "import time; time.sleep(300)""#;
    let both = format!("{for_ever} & {for_ever}");
    let tag = fixture.server.script(Scenario::new("long").turn(Turn::new().run(&*both)));
    let mut run = fixture.start(
        AcpAdapter,
        config.clone(),
        RunRequest::new(tag).permissions(PermissionMode::Unattended),
    )?;
    run.until_doing("Running python3").await?;
    run.cancel();
    let ran = run.end().await?;
    assert_eq!(ran.outcome.result, Err(AgentError::Cancelled));
    ensure!(ran.outcome.session_id.is_some(), "it can be resumed");

    // It tries again by itself and says nothing of it; stopped meanwhile, it ends its turn as if all were well.
    let failing = Turn::new().always_fails(Failure::Status(500));
    let tag = fixture.server.script(Scenario::new("failing").turn(failing));
    let run = fixture.start(AcpAdapter, config.clone(), RunRequest::new(tag))?;
    fixture.server.asked("failing", 1).await?;
    run.cancel();
    assert_eq!(run.end().await?.outcome.result, Err(AgentError::Cancelled));

    // The protocol tells no status, but the program's record of the session does.
    let refused = Turn::new().always_fails(Failure::Status(401));
    let tag = fixture.server.script(Scenario::new("refused").turn(refused));
    let ran = fixture.start(AcpAdapter, config, RunRequest::new(tag))?.end().await?;
    let result = &ran.outcome.result;
    ensure!(matches!(result, Err(AgentError::Auth { .. })), "{result:?}");
    Ok(())
}

#[tokio::test]
async fn installed_program_is_detected_with_its_models() -> Result<()> {
    let (fixture, config) = fixture().await?;
    let folder = tempfile::tempdir()?;
    let probed = ProbeFolder::new(forge_exec::variables_of(std::env::vars_os()), folder.path())?;
    let found = AcpAdapter.detect(&config, &probed).await?;
    assert_eq!(found.version.as_deref(), Some("1.18.33"));
    let models = AcpAdapter.models(&config, &probed).await?;
    let model = models.iter().find(|model| model.id == "fake/fake-model").context("its model")?;
    ensure!(model.is_default, "{models:?}");
    ensure!(fixture.server.requests().is_empty(), "the model is not called");
    Ok(())
}
