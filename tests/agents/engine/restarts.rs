//! The engine is killed and started again while agents work: the same process goes on, and nothing is asked, said or
//! paid twice.

use std::time::Duration;

use anyhow::{Context as _, Result};
use forge_testkit::models::{AgentProgram, Scenario, Tokens, Turn};
use forge_tests::sameness::{Sameness, check_offsets, ensure_same};
use serde_json::{Value, json};

use super::{
    approvals::{answer_approval, pending_approval},
    fixture::{EngineFixture, is, of_kind, text},
};

super::both!(
    run_over_twenty_kills_of_the_engine_is_the_same_as_undisturbed,
    run_on_a_machine_over_kills_is_the_same_as_undisturbed_here,
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
    until_it_waits(fixture, task).await?;
    std::fs::write(fixture.place(task).await?.join("go"), "")?;
    Ok(())
}

/// Waits until the agent has done all steps but the last one.
async fn until_it_waits(fixture: &EngineFixture, task: &Value) -> Result<()> {
    forge_tests::patience::until_within(Duration::from_secs(200), "the last step", async || {
        // There is no place before the task has begun.
        let place = fixture.place(task).await.ok();
        Ok(place.is_some_and(|place| place.join("waits").exists()).then_some(()))
    })
    .await
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

/// What a run came to, for comparison with another one of the same script.
struct Came {
    /// The log as the API gives it.
    log: String,
    run: Value,
    calls: usize,
}

/// Lets the only run of a task go on to its end.
async fn to_its_end(fixture: &EngineFixture, task: &Value) -> Result<Came> {
    go(fixture, task).await?;
    let there = fixture.place(task).await?;
    fixture.wait_for_task(task, is("done")).await?;
    let mut runs = fixture.runs(task).await?;
    assert_eq!(runs.len(), 1, "{runs:#?}");
    let run = runs.remove(0);
    let (log, raw) = (fixture.log(&run).await?, fixture.raw_log(task, &run)?);
    check_offsets(&log, &raw)?;
    let (here, board) = (fixture.worktree(task).await?, fixture.path(""));
    let around = |place: &std::path::Path| place.parent().map(std::path::Path::to_owned).unwrap_or_default();
    let (around_there, around_here) = (around(&there), around(&here));
    let folders = [
        (&there, "worktree"),
        (&here, "worktree"),
        (&around_there, "task"),
        (&around_here, "task"),
        (&board, "board"),
    ];
    let folders = folders.map(|(path, name)| (path.components().collect::<std::path::PathBuf>(), name));
    let same = Sameness::of(folders.iter().map(|(path, name)| (path.as_path(), *name)))?;
    Ok(Came { log: same.log(&log)?, run, calls: fixture.server.requests().of("work").len() })
}

impl Came {
    fn ensure_same(&self, undisturbed: &Self) -> Result<()> {
        assert_eq!(self.calls, undisturbed.calls, "a call of the model was made again");
        for key in ["usage", "cost_micro_usd", "cost_source", "models", "status", "summary"] {
            assert_eq!(self.run[key], undisturbed.run[key], "{key}");
        }
        ensure_same("the logs", &self.log, &undisturbed.log)
    }
}

/// The raw log holds to the byte what the program printed, which is compared without any allowance; two runs of a program
/// do not print the same to the byte, so that its raw logs are not compared. What the API gives of the run is what it gives
/// of one that was left alone.
async fn run_over_twenty_kills_of_the_engine_is_the_same_as_undisturbed(
    program: AgentProgram,
) -> Result<EngineFixture> {
    let config = json!({ "permissions": "unattended" });
    let calm = EngineFixture::overheard(program, config.clone()).await?;
    let task = calm.started(&steps(&calm), json!({})).await?;
    let undisturbed = to_its_end(&calm, &task).await?;
    ensure_as_printed(&calm, &task, &undisturbed.run)?;
    calm.assert_no_leftovers().await?;

    let mut fixture = EngineFixture::overheard(program, config).await?;
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
    until_it_waits(&fixture, &task).await?;
    until_agent(&fixture, &task, pid).await?;
    let came = to_its_end(&fixture, &task).await?;
    ensure_as_printed(&fixture, &task, &came.run)?;
    came.ensure_same(&undisturbed)?;
    Ok(fixture)
}

/// Nothing is lost, doubled or in another order. The texts of deltas are masked in the log, in the same length.
fn ensure_as_printed(fixture: &EngineFixture, task: &Value, run: &Value) -> Result<()> {
    let (raw, mut printed) = (fixture.raw_log(task, run)?, fixture.printed()?);
    for (printed, logged) in printed.iter_mut().zip(&raw) {
        if *logged == b'*' {
            *printed = *logged;
        }
    }
    ensure_same("raw log and output", &String::from_utf8(raw)?, &String::from_utf8(printed)?)
}

/// On a machine that is reached by ssh, and compared with a run that was left alone here.
async fn run_on_a_machine_over_kills_is_the_same_as_undisturbed_here(
    program: AgentProgram,
) -> Result<EngineFixture> {
    let config = json!({ "permissions": "unattended" });
    let calm = EngineFixture::with(program, config.clone(), json!({})).await?;
    let Some(mut fixture) = EngineFixture::on_machine(program, config).await? else { return Ok(calm) };
    let task = calm.started(&steps(&calm), json!({})).await?;
    let undisturbed = to_its_end(&calm, &task).await?;
    calm.assert_no_leftovers().await?;

    let task = fixture.started(&steps(&fixture), json!({})).await?;
    fixture.wait_for_run(&task, |run| run["session_id"].is_string()).await?;
    for kill in 0..6_u64 {
        // In mid-turn: each step takes half a second.
        tokio::time::sleep(Duration::from_millis(100 + kill * 97 % 350)).await;
        fixture.kill_engine()?;
        tokio::time::sleep(Duration::from_millis(kill * 53 % 200)).await;
        fixture.serve_again()?;
    }
    to_its_end(&fixture, &task).await?.ensure_same(&undisturbed)?;
    let steps: Vec<String> = (1..=STEPS).map(|step| step.to_string()).collect();
    assert_eq!(fixture.repo.show("main", "steps.txt"), Some(steps.join("\n")), "a step was done again");
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
    until_it_waits(&fixture, &task).await?;
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
