//! Forge's adapter with the real Codex.

use std::fs;

use anyhow::{Context as _, Result, ensure};
use forge_agents::{
    Adapter as _, AgentError, CodexAdapter, LimitKind, Limits, ProbeFolder, RunCommand, RunEvent,
    SessionRequest,
};
use forge_model::{
    agent::PermissionMode,
    approval::ApprovalKind,
    audit::AuditVerdict,
    execution::ExecutionRole,
    log::{EntryKind, EntryStatus},
    usage::UsageSample,
};
use forge_reading::{speech::spoken, verdict::audit};
use forge_testkit::models::{AgentProgram, Failure, Scenario, Tokens, Turn};
use forge_tests::patience;
use serde_json::json;

use crate::adapter_run::{AdapterFixture, FinishedRun, RunRequest, Running};

async fn fixture() -> Result<AdapterFixture> {
    AdapterFixture::new(AgentProgram::Codex).await
}

fn start(fixture: &AdapterFixture, order: RunRequest) -> Result<Running> {
    fixture.start(CodexAdapter, fixture.config(), order)
}

async fn run(fixture: &AdapterFixture, order: RunRequest) -> Result<FinishedRun> {
    start(fixture, order)?.end().await
}

const TOKENS: Tokens =
    Tokens { input_uncached: 100, cache_read: 20, cache_write: 3, output: 40, reasoning: 5 };

/// The cost of a number of answers with [`TOKENS`].
fn used(answers: u64) -> UsageSample {
    UsageSample {
        model: "gpt-5.5".to_owned(),
        input_uncached: 100 * answers,
        cache_read: 20 * answers,
        cache_write: 3 * answers,
        output: 40 * answers,
        reasoning: 5 * answers,
        cost_micro_usd: None,
    }
}

#[tokio::test]
async fn run_in_worktree_logs_its_entries() -> Result<()> {
    let fixture = fixture().await?;
    let tag = fixture.server.script(
        Scenario::new("work")
            .turn(
                Turn::new().think("What is there?").say("I look.").run("echo from-the-shell").tokens(TOKENS),
            )
            .turn(Turn::new().edit("README.md", "hello", "goodbye").tokens(TOKENS))
            .turn(Turn::new().run("cat no-such-file").tokens(TOKENS))
            .turn(Turn::new().say("I said goodbye.\n\nMore of it.").tokens(TOKENS)),
    );
    let ran = run(&fixture, RunRequest::new(&tag)).await?.finished()?;
    assert_eq!(fixture.text("README.md")?, "goodbye\n");
    assert_eq!(ran.outcome.summary.as_deref(), Some("I said goodbye."));
    assert_eq!(*ran.used()?, used(4));
    assert_eq!(ran.texts(EntryKind::Reasoning), ["What is there?"]);
    assert_eq!(ran.texts(EntryKind::UserMessage), [tag.as_str()], "once");
    let commands = ran.commands();
    assert_eq!(commands[0], ("echo from-the-shell", Some(EntryStatus::Completed)));
    assert_eq!(commands[1], ("cat no-such-file", Some(EntryStatus::Failed)));
    assert_eq!(ran.of(EntryKind::Command)[0].body["output"], "from-the-shell\n");
    let change = ran.of(EntryKind::FileChange)[0];
    assert_eq!((&change.body["path"], change.status), (&json!("README.md"), Some(EntryStatus::Completed)));
    ensure!(change.body["diff"].as_str().is_some_and(|diff| diff.contains("+goodbye")), "{change:?}");
    ensure!(ran.of(EntryKind::Raw).is_empty(), "not understood: {:#?}", ran.of(EntryKind::Raw));
    let session = ran.outcome.session_id.clone().context("it has no session")?;
    let model = Some("gpt-5.5".to_owned());
    ensure!(ran.events.contains(&RunEvent::Session { id: session, model }), "{:?}", ran.events);
    Ok(())
}

#[tokio::test]
async fn home_below_temporary_folder_is_accepted() -> Result<()> {
    let mut fixture = fixture().await?;
    let above = fixture.task_folder().parent().context("there is one above")?.to_owned();
    // As it is inherited, not set by the profile.
    fixture.seat.environment.remove("TMPDIR");
    ensure!(
        fixture.seat.environment["CODEX_HOME"].starts_with(&*above.to_string_lossy()),
        "the home is below it"
    );
    ensure!(above.starts_with(std::env::temp_dir()), "which is below the folder for temporary files");
    let tag = fixture
        .server
        .script(Scenario::new("made").turn(Turn::new().run("echo made > made.txt; echo $TMPDIR")));
    let ran = run(&fixture, RunRequest::new(tag)).await?.finished()?;
    assert_eq!(fixture.text("made.txt")?, "made\n");
    let output = ran.of(EntryKind::Command)[0].body["output"].as_str().unwrap_or_default().trim().to_owned();
    ensure!(output.starts_with(&*fixture.task_folder().to_string_lossy()), "{output}");
    ensure!(!fs::exists(&output)?, "what it left there is gone");
    Ok(())
}

#[tokio::test]
async fn approval_allowed_or_declined_has_its_effect() -> Result<()> {
    let fixture = fixture().await?;
    let tag = fixture.server.script(
        Scenario::new("asks")
            .turn(Turn::new().run("touch allowed.txt"))
            .turn(Turn::new().run("touch declined.txt"))
            .turn(Turn::new().say("One of two.")),
    );
    let mut running = start(&fixture, RunRequest::new(tag).permissions(PermissionMode::Ask))?;
    let ask = running.asked().await?;
    assert_eq!((ask.kind, ask.title.as_str()), (ApprovalKind::Command, "touch allowed.txt"));
    ensure!(fixture.text("allowed.txt").is_err(), "it waits");
    running.answer(&ask, "accept")?;
    let ask = running.asked().await?;
    running.answer(&ask, "decline")?;
    let ran = running.end().await?.finished()?;
    ensure!(
        fixture.text("allowed.txt").is_ok() && fixture.text("declined.txt").is_err(),
        "as it was answered"
    );
    let expected = [
        ("touch allowed.txt", Some(EntryStatus::Completed)),
        ("touch declined.txt", Some(EntryStatus::Declined)),
    ];
    assert_eq!(ran.commands(), expected);
    let answers = ran.of(EntryKind::ApprovalResolved);
    let statuses: Vec<_> = answers.iter().filter_map(|entry| entry.status).collect();
    assert_eq!(statuses, [EntryStatus::Completed, EntryStatus::Declined]);
    Ok(())
}

#[tokio::test]
async fn approval_answered_with_stop_ends_the_run() -> Result<()> {
    let fixture = fixture().await?;
    let tag = fixture.server.script(Scenario::new("stop").turn(Turn::new().run("touch never.txt")));
    let mut running = start(&fixture, RunRequest::new(tag).permissions(PermissionMode::Ask))?;
    let ask = running.asked().await?;
    running.answer(&ask, "cancel")?;
    let ran = running.end().await?;
    assert_eq!(ran.outcome.result, Err(AgentError::Cancelled));
    Ok(())
}

#[tokio::test]
async fn access_beyond_the_sandbox_asks_or_is_refused() -> Result<()> {
    let fixture = fixture().await?;
    let scenario = |name: &str| {
        Scenario::new(name).turn(Turn::new().run_outside("echo out")).turn(Turn::new().say("I tried."))
    };
    let tag = fixture.server.script(scenario("edit"));
    let mut running = start(&fixture, RunRequest::new(tag))?;
    let ask = running.asked().await?;
    assert_eq!(ask.detail["reason"], "the script wants it");
    running.answer(&ask, "decline")?;
    running.end().await?.finished()?;

    for permissions in [PermissionMode::Unattended, PermissionMode::ReadOnly] {
        let name = permissions.as_str().replace('_', "-");
        let tag = fixture.server.script(
            Scenario::new(&name)
                .turn(Turn::new().run(format!("touch {name}.txt")).run_outside("echo out"))
                .turn(Turn::new().say("x")),
        );
        let ran = run(&fixture, RunRequest::new(tag).permissions(permissions)).await?.finished()?;
        ensure!(!ran.events.iter().any(|event| matches!(event, RunEvent::Asked(_))), "nobody is asked");
        let is_there = fixture.text(&format!("{name}.txt")).is_ok();
        assert_eq!(is_there, permissions == PermissionMode::Unattended, "{permissions:?} writes");
    }
    Ok(())
}

#[tokio::test]
async fn message_during_run_reaches_the_model() -> Result<()> {
    let fixture = fixture().await?;
    let tag = fixture.server.script(
        Scenario::new("listens")
            .turn(Turn::new().run("echo one").hold("steered"))
            .turn(Turn::new().say("As you say.")),
    );
    let mut running = start(&fixture, RunRequest::new(tag))?;
    fixture.server.asked("listens", 1).await?;
    running.tell(RunCommand::Say { id: "w1".to_owned(), text: "and be brief".to_owned() })?;
    running
        .until("it was heard", |event| (*event == RunEvent::Heard { id: "w1".to_owned() }).then_some(()))
        .await?;
    fixture.server.release("steered");
    let ran = running.end().await?.finished()?;
    ensure!(fixture.server.requests().of("listens")[1].was_told("and be brief"), "the model is told");
    ensure!(ran.texts(EntryKind::UserMessage).contains(&"and be brief"), "and so is the log");
    Ok(())
}

#[tokio::test]
async fn stopped_run_leaves_no_process() -> Result<()> {
    let fixture = fixture().await?;
    // The one that is waited for says that it began: codex tells one that ends while it starts as failed.
    let command = "python3 -c 'import time; time.sleep(600)' & \
                   python3 -c 'import time; open(\"begun\", \"w\"); time.sleep(601)'";
    let tag = fixture.server.script(Scenario::new("long").turn(Turn::new().run(command)));
    let mut running = start(&fixture, RunRequest::new(&tag))?;
    running.until_doing("Running python3").await?;
    patience::until_there(&fixture.file("begun")).await?;
    running.cancel();
    let ran = running.end().await?;
    assert_eq!(ran.outcome.result, Err(AgentError::Cancelled));
    assert_eq!(ran.commands()[0].1, Some(EntryStatus::Cancelled));
    assert_eq!(
        ran.of(EntryKind::TurnEnded)[0].body["status"],
        "interrupted",
        "by its protocol, not by force"
    );
    Ok(())
}

#[tokio::test]
async fn resumed_and_forked_runs_remember_and_are_counted_once() -> Result<()> {
    let fixture = fixture().await?;
    let say = |text: &str| Turn::new().say(text).tokens(TOKENS);
    let tag = fixture.server.script(
        Scenario::new("talk")
            .turn(Turn::new().run("echo a").tokens(TOKENS))
            .turn(say("The word is heron."))
            .turn(say("You asked again."))
            .turn(say("And a third time.")),
    );
    let first = run(&fixture, RunRequest::new(tag)).await?.finished()?;
    assert_eq!(*first.used()?, used(2));
    let again = RunRequest::new("what was it?").after(&first, SessionRequest::Resume)?;
    let again = run(&fixture, again).await?.finished()?;
    assert_eq!(again.outcome.session_id, first.outcome.session_id);
    assert_eq!(*again.used()?, used(1), "what was counted is not counted again");
    let fork = RunRequest::new("and here?").after(&again, SessionRequest::Fork)?;
    let fork = run(&fixture, fork).await?.finished()?;
    assert_ne!(fork.outcome.session_id, first.outcome.session_id);
    assert_eq!(*fork.used()?, used(1));
    // An engine that lost what the run before left counts no more for it.
    let mut amnesiac = RunRequest::new("once more?").after(&fork, SessionRequest::Resume)?;
    amnesiac.carry = None;
    let tokens = run(&fixture, amnesiac).await?.finished()?.used()?.input_uncached;
    assert_eq!(tokens, Tokens::default().input_uncached, "of the turn that no script has");
    for request in &fixture.server.requests().scripted()[2..] {
        ensure!(request.remembers("The word is heron."), "{} forgot", request.number);
    }
    Ok(())
}

#[tokio::test]
async fn missing_thread_starts_a_new_one() -> Result<()> {
    let fixture = fixture().await?;
    let tag = fixture.server.script(Scenario::new("new").turn(Turn::new().say("Hello.")));
    for session in [SessionRequest::Resume, SessionRequest::Fork] {
        let mut order = RunRequest::new(&tag);
        order.session = session("01a1ffef-7011-7523-a82f-53130a5c0379".to_owned());
        let ran = run(&fixture, order).await?.finished()?;
        assert_eq!(ran.notices(), ["session_lost"]);
        assert_eq!(ran.texts(EntryKind::AssistantText), ["Hello."]);
    }
    Ok(())
}

#[tokio::test]
async fn review_uses_the_programs_own_command() -> Result<()> {
    let fixture = fixture().await?;
    let tag = fixture.server.script(
        Scenario::new("made").turn(Turn::new().write("new.md", "one\n")).turn(Turn::new().say("Made.")),
    );
    let coder = run(&fixture, RunRequest::new(tag)).await?.finished()?;
    let findings = json!({
        "findings": [], "overall_correctness": "patch is correct", "overall_confidence_score": 0.9,
        "overall_explanation": "All is well.\n\n===REVIEW: PASS===",
    });
    fixture.server.script(
        Scenario::new("judge")
            .untagged("Judge the work")
            .turn(Turn::new().run("ls"))
            .turn(Turn::new().say(findings.to_string())),
    );
    let order = RunRequest::new("Judge the work.")
        .role(ExecutionRole::Reviewer)
        .after(&coder, SessionRequest::Fork)?;
    let ran = run(&fixture, order).await?.finished()?;
    let audit = audit(&spoken(&ran.entries));
    assert_eq!(audit.verdict, Some(AuditVerdict::Pass), "{:#?}", ran.entries);
    assert_eq!(ran.of(EntryKind::Review).len(), 1);
    assert_eq!(ran.notices(), ["usage_unreported"]);
    assert_eq!(ran.of(EntryKind::TurnEnded).len(), 1, "its own review was enough");
    ensure!(fixture.server.requests().of("judge")[0].was_told("Judge the work."), "with the whole prompt");
    Ok(())
}

#[tokio::test]
async fn review_without_verdict_is_asked_for_one() -> Result<()> {
    let fixture = fixture().await?;
    let tag = fixture.server.script(Scenario::new("made").turn(Turn::new().say("Made.")));
    let coder = run(&fixture, RunRequest::new(tag)).await?.finished()?;
    let verdict = json!({
        "verdict": "fail", "summary": "The loop reads past the end.", "score": 40,
        "findings": [{ "file": "README.md", "line": 1, "severity": "error", "text": "Off by one." }],
    });
    fixture.server.script(
        Scenario::new("verdict")
            .untagged("You have just made a review")
            .turn(Turn::new().answer(verdict).tokens(TOKENS)),
    );
    fixture.server.script(
        Scenario::new("judge")
            .untagged("Judge the work")
            .turn(Turn::new().say("The loop reads past the end.")),
    );
    let order = RunRequest::new("Judge the work.")
        .role(ExecutionRole::Reviewer)
        .after(&coder, SessionRequest::Fork)?;
    let ran = run(&fixture, order).await?.finished()?;
    let audit = audit(&spoken(&ran.entries));
    assert_eq!(audit.verdict, Some(AuditVerdict::Fail), "{:#?}", ran.entries);
    assert_eq!((audit.score, audit.findings.len()), (Some(40), 1));
    assert_eq!(ran.outcome.summary.as_deref(), Some("The loop reads past the end."));
    assert_eq!(*ran.used()?, used(1), "of the turn that gave the verdict");
    let asked = fixture.server.requests().of("verdict");
    assert_eq!(asked[0].body["text"]["format"]["type"], "json_schema");
    ensure!(asked[0].body.to_string().contains("The loop reads past the end."), "it knows the review");
    Ok(())
}

#[tokio::test]
async fn review_in_fresh_session_uses_a_prompt() -> Result<()> {
    let fixture = fixture().await?;
    let tag = fixture.server.script(
        Scenario::new("fresh")
            .turn(Turn::new().run("touch no.txt"))
            .turn(Turn::new().say("===REVIEW: PASS===")),
    );
    let ran = run(&fixture, RunRequest::new(tag).role(ExecutionRole::Reviewer)).await?.finished()?;
    assert_eq!(audit(&spoken(&ran.entries)).verdict, Some(AuditVerdict::Pass));
    ensure!(ran.of(EntryKind::Review).is_empty() && fixture.text("no.txt").is_err(), "it only reads");
    Ok(())
}

#[tokio::test]
async fn failure_of_each_kind_has_its_type() -> Result<()> {
    let fixture = fixture().await?;
    for (name, failure, code) in [
        ("e401", Failure::Status(401), "auth"),
        ("e403", Failure::Status(403), "auth"),
        ("e429", Failure::RateLimited { seconds: 1 }, "rate_limited"),
        ("e500", Failure::Status(500), "model_error"),
        ("e400", Failure::Status(400), "model_error"),
        ("cut", Failure::Cut, "model_error"),
        ("dropped", Failure::Dropped, "model_error"),
    ] {
        let tag =
            fixture.server.script(Scenario::new(name).turn(Turn::new().say("Never.").always_fails(failure)));
        let ran = run(&fixture, RunRequest::new(tag)).await?;
        assert_eq!(
            ran.outcome.result.as_ref().map_err(AgentError::code),
            Err(code),
            "{name}: {:?}",
            ran.outcome
        );
        ensure!(ran.outcome.session_id.is_some(), "{name} can be resumed");
    }
    let once = Turn::new().say("Now it goes.").fails(Failure::RateLimited { seconds: 0 }, 1);
    let tag = fixture.server.script(Scenario::new("once").turn(once));
    let ran = run(&fixture, RunRequest::new(tag)).await?.finished()?;
    assert_eq!(ran.texts(EntryKind::AssistantText), ["Now it goes."]);

    let tag = fixture.server.script(Scenario::new("alone").turn(Turn::new().say("Never.")));
    fixture.server.go_offline().await;
    let ran = run(&fixture, RunRequest::new(tag)).await?;
    assert_eq!(ran.outcome.result.map_err(|error| error.code()), Err("model_error"), "nobody listens");
    Ok(())
}

#[tokio::test]
async fn run_at_its_call_limit_stops() -> Result<()> {
    let fixture = fixture().await?;
    let endless =
        (0..9).fold(Scenario::new("endless"), |it, n| it.turn(Turn::new().run(format!("echo {n}"))));
    let tag = fixture.server.script(endless);
    let mut order = RunRequest::new(tag);
    order.limits = Limits { turns: Some(2), ..Limits::default() };
    let ran = run(&fixture, order).await?;
    assert_eq!(ran.outcome.result, Err(AgentError::Limit(LimitKind::Turns(2))));
    ensure!(fixture.server.requests().of("endless").len() < 9, "it was stopped");
    Ok(())
}

#[tokio::test]
async fn missing_program_is_named_in_the_error() -> Result<()> {
    let fixture = fixture().await?;
    let config = json!({ "program": "/no/such/codex" });
    let ran = fixture.start(CodexAdapter, config.clone(), RunRequest::new("x"))?.end().await?;
    assert_eq!(ran.outcome.result.map_err(|error| error.code()), Err("unavailable"));
    let folder = tempfile::tempdir()?;
    let probed = ProbeFolder::new(forge_exec::variables_of(std::env::vars_os()), folder.path())?;
    let detected = CodexAdapter.detect(&config, &probed).await;
    assert_eq!(detected.map_err(|error| error.code()), Err("unavailable"));
    Ok(())
}

#[tokio::test]
async fn installed_program_reports_version_and_models() -> Result<()> {
    let fixture = fixture().await?;
    let folder = tempfile::tempdir()?;
    let own = &ProbeFolder::new(forge_exec::variables_of(std::env::vars_os()), folder.path())?;
    let detected = CodexAdapter.detect(&fixture.config(), own).await?;
    assert_eq!(detected.version.as_deref(), Some("0.169.0"));
    assert_eq!(detected.signed_in, None, "it has a key of another provider");
    let models = CodexAdapter.models(&fixture.config(), own).await?;
    let known = models.iter().find(|model| model.id == "gpt-5.5").context("the model is among them")?;
    ensure!(known.efforts.contains(&"high".to_owned()), "{known:?}");
    ensure!(models.iter().filter(|model| model.is_default).count() == 1, "{models:?}");

    let settings = std::path::Path::new(&fixture.seat.environment["CODEX_HOME"]).join("config.toml");
    fs::write(settings, "check_for_update_on_startup = false\n[features]\nplugins = false\n")?;
    let detected = CodexAdapter.detect(&fixture.config(), own).await?;
    assert_eq!(detected.signed_in, Some(false), "its own provider wants a sign-in");
    Ok(())
}
