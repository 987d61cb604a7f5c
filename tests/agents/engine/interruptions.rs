//! Runs that are interrupted by a person, a signal or the end of the engine: no process stays behind, and the
//! session continues where it was.

use std::os::unix::process::CommandExt as _;

use anyhow::{Context as _, Result, ensure};
use forge_exec::ProcessIdentity;
use forge_store::Store;
use forge_store::table::processes::ProcessRow;
use forge_testkit::models::{AgentProgram, Request, Scenario, Tokens, Turn};
use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};
use serde_json::{Value, json};

use super::fixture::{EngineFixture, is, of_kind, text};
use crate::processes::Process;

super::both!(
    stopped_run_leaves_no_process_and_is_resumed,
    message_during_turn_reaches_the_model,
    killed_agent_is_restarted_in_its_session,
    killed_keeper_leaves_no_orphan_and_the_run_is_resumed,
    run_is_resumed_after_a_machine_restart,
);
super::with!(with_opencode, OpenCode:
    stopped_run_leaves_no_process_and_is_resumed,
    killed_agent_is_restarted_in_its_session,
    killed_keeper_leaves_no_orphan_and_the_run_is_resumed,
);

/// A command that never ends, and starts another one in a session of its own.
const ENDLESS: &str =
    "setsid sh -c 'touch aside && exec tail -f /dev/null' & touch begun && tail -f /dev/null";
const EACH: Tokens = Tokens { input_uncached: 100, cache_read: 20, cache_write: 0, output: 40, reasoning: 5 };

async fn stopped_run_leaves_no_process_and_is_resumed(program: AgentProgram) -> Result<EngineFixture> {
    let fixture = EngineFixture::with(program, json!({ "permissions": "unattended" }), json!({})).await?;
    let tag =
        fixture.server.script(Scenario::new("work").turn(Turn::new().say("The word is heron.").run(ENDLESS)));
    let next = fixture.server.script(
        Scenario::new("next")
            .turn(Turn::new().edit("README.md", "hello", "goodbye"))
            .turn(Turn::new().say("That was short.")),
    );
    let task = fixture.started(&tag, json!({})).await?;
    fixture.wait_for_file(&task, "begun").await?;
    fixture.wait_for_file(&task, "aside").await?;
    let run = fixture.wait_for_run(&task, |run| run["status"] == "running").await?;
    // The file is there a moment before its maker becomes the endless command.
    forge_tests::patience::until("both commands", async || {
        Ok((count_endless_commands(&fixture)? >= 2).then_some(()))
    })
    .await?;
    // A program may tell of a command a moment after it began.
    forge_tests::patience::until("the command in the log", async || {
        let log = fixture.log(&run).await?;
        Ok((!of_kind(&log, "command").is_empty()).then_some(()))
    })
    .await?;
    fixture.post(&format!("/executions/{}/stop", text(&run, "id")), json!({})).await?;
    let stopped = fixture.wait_for_run(&task, |run| run["status"] == "cancelled").await?;
    fixture.wait_until_no_process().await?;
    let log = fixture.log(&stopped).await?;
    let command = of_kind(&log, "command").into_iter().next_back().context("no command")?.clone();
    ensure!(command["status"] != "running" && command["status"] != "completed", "{command:#}");

    fixture.follow_up(&run, &next, json!({})).await?;
    fixture.wait_for_task(&task, is("done")).await?;
    let runs = fixture.runs(&task).await?;
    assert_eq!(runs.len(), 2, "{runs:#?}");
    assert_eq!((&runs[1]["session_mode"], &runs[1]["from_session"]), (&json!("resume"), &run["session_id"]));
    assert_eq!(runs[1]["session_id"], run["session_id"]);
    ensure!(fixture.server.requests().of("next")[0].remembers("The word is heron."), "it forgot");
    Ok(fixture)
}

async fn message_during_turn_reaches_the_model(program: AgentProgram) -> Result<EngineFixture> {
    let fixture = EngineFixture::with(program, json!({ "permissions": "unattended" }), json!({})).await?;
    let tag = fixture.server.script(
        Scenario::new("work")
            .turn(
                Turn::new()
                    .run("touch begun && until [ -e go ]; do cat README.md >/dev/null; done; rm begun go"),
            )
            .turn(Turn::new().edit("README.md", "hello", "goodbye"))
            .turn(Turn::new().say("As you wish.")),
    );
    let task = fixture.started(&tag, json!({})).await?;
    let begun = fixture.worktree_file(&task, "begun").await?;
    forge_tests::patience::until_there(&begun).await?;
    let run = fixture.wait_for_run(&task, |run| run["session_id"].is_string()).await?;
    fixture.follow_up(&run, "Please say heron.", json!({ "at_once": true })).await?;
    std::fs::write(begun.with_file_name("go"), "")?;
    fixture.wait_for_task(&task, is("done")).await?;
    let runs = fixture.runs(&task).await?;
    assert_eq!(runs.len(), 1, "no run of its own: {runs:#?}");
    let requests = fixture.server.requests().of("work");
    ensure!(!requests[0].was_told("Please say heron."), "before it was said");
    // Whichever way the program has to pass it on.
    let was_told =
        |it: &Request| it.messages.iter().any(|message| message.text.contains("Please say heron."));
    ensure!(requests[1..].iter().any(|it| was_told(it)), "it never heard: {requests:#?}");
    let said = fixture.log(&runs[0]).await?;
    let words: Vec<String> =
        of_kind(&said, "user_message").iter().map(|it| text(&it["body"], "text")).collect();
    assert_eq!(words.iter().filter(|it| it.contains("Please say heron.")).count(), 1, "{words:#?}");
    Ok(fixture)
}

/// The total tokens of a task's runs: uncached input, cached input, output.
fn used(runs: &[Value]) -> (u64, u64, u64) {
    let sum = |key: &str| runs.iter().filter_map(|run| run["usage"][key].as_u64()).sum();
    (sum("input_uncached"), sum("cache_read"), sum("output"))
}

/// A task and its run, which has answered once, knows a word and runs an endless command.
async fn working_task(fixture: &EngineFixture) -> Result<(Value, Value)> {
    let tag = fixture.server.script(
        Scenario::new("work")
            .when("An earlier run did not end well")
            .turn(Turn::new().edit("README.md", "hello", "goodbye").tokens(EACH))
            .turn(Turn::new().say("Back again.").tokens(EACH)),
    );
    fixture.server.script(
        Scenario::new("work")
            .turn(Turn::new().say("The word is heron.").run("echo once >once.txt").tokens(EACH))
            .turn(Turn::new().run("echo twice >>once.txt").tokens(EACH))
            .turn(Turn::new().run(ENDLESS).tokens(EACH)),
    );
    let task = fixture.started(&tag, json!({})).await?;
    fixture.wait_for_file(&task, "begun").await?;
    fixture.wait_for_file(&task, "aside").await?;
    // Codex tells of each call when what it asked for is done, Claude as it ends, opencode when the turn is over: that
    // is written down while the run goes on.
    let told = match fixture.program {
        AgentProgram::Codex => 2 * EACH.output,
        AgentProgram::Claude => 3 * EACH.output,
        AgentProgram::OpenCode | AgentProgram::Gemini => 0,
    };
    let run = fixture
        .wait_for_run(&task, |run| run["session_id"].is_string() && run["usage"]["output"] == told)
        .await?;
    Ok((task, run))
}

/// Waits until the session is resumed with the reason, and checks that no usage is counted twice.
async fn wait_until_resumed(fixture: &EngineFixture, task: &Value, first: &Value) -> Result<Vec<Value>> {
    fixture.wait_for_task(task, is("done")).await?;
    let runs = fixture.runs(task).await?;
    assert_eq!(runs.len(), 2, "{runs:#?}");
    assert_eq!(
        (&runs[1]["session_mode"], &runs[1]["from_session"]),
        (&json!("resume"), &first["session_id"])
    );
    assert_eq!(runs[1]["session_id"], first["session_id"]);
    let requests = fixture.server.requests().of("work");
    let last = requests.last().context("no requests")?;
    ensure!(last.remembers("The word is heron."), "it forgot: {:?}", last.messages);
    ensure!(last.was_told("An earlier run did not end well"), "it does not know: {:?}", last.messages);
    match fixture.program {
        // It tells what the session cost, which counts for the run in which it is told; of tokens those of the last call.
        // Of the call that was under way nobody knows, as with codex.
        AgentProgram::OpenCode | AgentProgram::Gemini => {
            let costs = runs.iter().filter_map(|run| run["cost_micro_usd"].as_u64()).sum::<u64>();
            let call = EACH.input_uncached + EACH.cache_read / 10 + EACH.output * 2;
            assert_eq!(costs, 4 * call, "{runs:#?}");
        }
        AgentProgram::Codex | AgentProgram::Claude => {
            let calls = if fixture.program == AgentProgram::Codex { 4 } else { 5 };
            let expected = (calls * EACH.input_uncached, calls * EACH.cache_read, calls * EACH.output);
            assert_eq!(used(&runs), expected, "{runs:#?}");
            assert_eq!(runs[0]["cost_source"], "computed");
        }
    }
    Ok(runs)
}

async fn killed_agent_is_restarted_in_its_session(program: AgentProgram) -> Result<EngineFixture> {
    let fixture = EngineFixture::with(program, json!({ "permissions": "unattended" }), json!({})).await?;
    let (task, first) = working_task(&fixture).await?;
    let running = fixture.items("/runs").await?;
    assert_eq!(running[0]["execution_id"], first["id"], "{running:#?}");
    let agent = &running[0]["processes"][0];
    ensure!(text(agent, "command").contains(fixture.name()), "{running:#?}");
    let pid = i32::try_from(agent["pid"].as_u64().context("no pid")?)?;
    kill(Pid::from_raw(pid), Signal::SIGKILL)?;
    let runs = wait_until_resumed(&fixture, &task, &first).await?;
    let error = &runs[0]["error"];
    assert_eq!((&runs[0]["status"], &error["code"]), (&json!("failed"), &json!("crashed")), "{error:#}");
    ensure!(text(error, "message").contains("signal 9") && !text(error, "remedy").is_empty(), "{error:#}");
    assert_eq!(runs[1]["cause"], "automatic restart");
    Ok(fixture)
}

async fn killed_keeper_leaves_no_orphan_and_the_run_is_resumed(
    program: AgentProgram,
) -> Result<EngineFixture> {
    let fixture = EngineFixture::with(program, json!({ "permissions": "unattended" }), json!({})).await?;
    let (task, first) = working_task(&fixture).await?;
    let keeper =
        fixture.processes_with_keeper()?.into_iter().find(Process::is_keeper).context("no keeper")?;
    kill(Pid::from_raw(i32::try_from(keeper.pid)?), Signal::SIGKILL)?;
    let runs = wait_until_resumed(&fixture, &task, &first).await?;
    assert_eq!(runs[0]["status"], "lost");
    assert_eq!(runs[1]["cause"], "Forge was restarted");
    let now = fixture.get(&format!("/tasks/{}", text(&task, "id"))).await?;
    assert_eq!(now["budgets"]["execution"]["used"], 0, "{now:#}");
    ensure!(count_endless_commands(&fixture)? == 0, "an orphan");
    Ok(fixture)
}

/// The number of live endless commands.
fn count_endless_commands(fixture: &EngineFixture) -> Result<usize> {
    let tail = |it: &&Process| it.command.starts_with("tail -f");
    Ok(fixture.processes()?.iter().filter(tail).count())
}

/// After a restart of the machine the old processes are gone, and their ids may belong to others.
async fn run_is_resumed_after_a_machine_restart(program: AgentProgram) -> Result<EngineFixture> {
    let mut fixture = EngineFixture::with(program, json!({ "permissions": "unattended" }), json!({})).await?;
    let (task, first) = working_task(&fixture).await?;
    let lock_file = fixture.worktree(&task).await?.with_file_name(".forge.lock");
    let mut lock: Value = serde_json::from_str(&std::fs::read_to_string(&lock_file)?)?;
    fixture.kill_engine()?;
    for process in fixture.processes_with_keeper()? {
        // It may have ended with another one.
        let _ = kill(Pid::from_raw(i32::try_from(process.pid)?), Signal::SIGKILL);
    }
    fixture.wait_until_no_process().await?;

    let stranger = std::process::Command::new("tail").args(["-f", "/dev/null"]).process_group(0).spawn()?;
    let mut stranger = UnrelatedProcess(stranger);
    let now = ProcessIdentity::of(stranger.0.id()).context("no process")?;
    let store = Store::open(&fixture.path("data")).await?;
    let mut tx = store.write().await?;
    let rows = tx.processes().list().await?;
    ensure!(!rows.is_empty(), "no process was recorded");
    let elsewhere = ProcessRow {
        pid: now.pid,
        start_time: now.start_time,
        boot_id: "earlier".to_owned(),
        ..rows[0].clone()
    };
    let earlier =
        ProcessRow { start_time: now.start_time - 1, boot_id: now.boot_id.clone(), ..elsewhere.clone() };
    tx.processes_mut().insert(&elsewhere).await?;
    tx.processes_mut().insert(&ProcessRow { marker: "execution-another".to_owned(), ..earlier }).await?;
    tx.commit().await?;
    store.close().await;
    // The worktree's lock names it as well.
    lock["pid"] = json!(now.pid);
    lock["start_time"] = json!(now.start_time - 1);
    std::fs::write(&lock_file, lock.to_string())?;

    fixture.serve_again()?;
    let runs = wait_until_resumed(&fixture, &task, &first).await?;
    assert_eq!((&runs[0]["status"], &runs[1]["cause"]), (&json!("lost"), &json!("Forge was restarted")));
    ensure!(stranger.0.try_wait()?.is_none(), "a stranger was ended");
    Ok(fixture)
}

/// An unrelated process, which ends with the test.
struct UnrelatedProcess(std::process::Child);

impl Drop for UnrelatedProcess {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
