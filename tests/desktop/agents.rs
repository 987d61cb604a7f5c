//! Agents in the window: a real program is detected, added and tried; a run is listed with its processes and
//! stopped; an approval is answered in the conversation while messages wait.

use std::{fs, os::unix::fs::PermissionsExt as _, path::Path};

use anyhow::{Context as _, Result, ensure};
use forge_testkit::models::{AgentProgram, ModelServer, Scenario, Seat, Turn};
use forge_tests::{
    display::Display,
    patience::until,
    webdriver::{Session, keys},
    window::Window,
};
use serde_json::{Value, json};

use crate::{
    access::{load, violations},
    fixture::{ProjectFixture, go, reach, read, text},
};

pub const PROGRAM: AgentProgram = AgentProgram::Claude;

/// Installs a program on the path with the environment that leads it to the model server.
pub fn install(seat: &Seat, folder: &Path) -> Result<()> {
    let bin = folder.join("bin");
    fs::create_dir_all(&bin)?;
    let quoted = |text: &str| format!("'{}'", text.replace('\'', r"'\''"));
    let variables = seat.environment.iter().map(|(name, value)| format!("export {name}={}\n", quoted(value)));
    let script = format!(
        "#!/bin/sh\n{}exec {} \"$@\"\n",
        variables.collect::<String>(),
        quoted(&seat.program.to_string_lossy())
    );
    let path = bin.join("claude");
    fs::write(&path, script)?;
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755))?;
    let profile = format!("export PATH=\"{}:$PATH\"\n", bin.display());
    Ok(fs::write(folder.join("home/.profile"), profile)?)
}

#[tokio::test(flavor = "multi_thread")]
async fn installed_agent_program_is_detected_added_and_tried() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let server = ModelServer::start().await?;
    let seat = PROGRAM.settle(&folder.path().join("seat"), &server)?;
    let display = Display::start(folder.path()).await?;
    install(&seat, folder.path())?;
    let window = Window::open_on(display, folder).await?;
    let outcome = program_is_detected_and_tried(&window, &server).await;
    window.end("agents-found", outcome).await
}

async fn program_is_detected_and_tried(window: &Window, server: &ModelServer) -> Result<()> {
    let page = &window.page;
    page.find("main").await?;
    load(window).await?;
    page.execute("location.hash = '#/agents'", &[]).await?;
    let here = "ul[aria-label='On this machine'] li";
    let claude = page.find_with_text(here, "Claude Code").await?;
    let said = page.text(&claude).await?;
    let bin = window.display.folder().join("bin/claude");
    ensure!(said.contains(&*bin.to_string_lossy()), "where it is: {said}");
    ensure!(
        said.contains("signed in") || said.contains("sign-in unknown"),
        "whether it is signed in: {said}"
    );
    let version = said.lines().find_map(|line| line.trim().split(' ').find(|word| word.contains('.')));
    let version = version.context("no version")?;
    ensure!(version.starts_with(|c: char| c.is_ascii_digit()), "its version: {said}");

    page.press_named("button", "Add Claude Code").await?;
    page.find_with_text("ul[aria-label=Agents] li", "Claude Code").await?;
    let mut found = violations(window, "agents").await?;
    window.keep_picture("agents-added").await?;

    let trial = "Answer with the one word `ready`";
    server.script(Scenario::new("trial").untagged(trial).turn(Turn::new().say("Ready as can be.")));
    page.press_named("button", "Try Claude Code").await?;
    page.press_named("button", "Try agent").await?;
    page.find_with_text("[role=dialog] [role=status]", "The agent answered").await?;
    let told = page.text(&page.find("[role=dialog] [role=status]").await?).await?;
    ensure!(told.contains("Ready as can be.") && told.contains('$'), "what it said and cost: {told}");
    found.extend(violations(window, "a trial").await?);
    window.keep_picture("agents-tried").await?;
    ensure!(found.is_empty(), "{found:#?}");

    // Kept as the profile that tasks can be given to.
    let agents = window.call("agent_list", json!({})).await?;
    ensure!(agents["items"][0]["adapter"] == "claude", "{agents}");
    Ok(())
}

#[tokio::test]
async fn running_agent_is_listed_with_processes_and_can_be_stopped() -> Result<()> {
    let window = Window::open().await?;
    let outcome = run_is_listed_and_stopped(&window).await;
    window.end("agents-runs", outcome).await
}

async fn run_is_listed_and_stopped(window: &Window) -> Result<()> {
    let page = &window.page;
    // One process that works, below one that waits for it.
    let fixture =
        ProjectFixture::prepare(window, "sh", &["-c", "sh -c 'while :; do :; done # the-child'; true"])
            .await?;
    let task = fixture.task(window, "Turn round and round").await?;
    fixture.claim(window, &task).await?;
    reach(window, &task, |task| task["live"].is_object()).await?;
    load(window).await?;
    go(page, "#/runs").await?;

    let run = "ul[aria-label=Runs] > li";
    page.find_with_text(run, "Turn round and round").await?;
    page.press_named("button", "of Turn round and round").await?;
    page.find_with_text(&format!("{run} ul li"), "the-child").await?;
    // What it uses is told once it was looked at twice.
    until("the use of the run", async || {
        let said = page.text(&page.find(run).await?).await?;
        let busy = said.split(|c: char| c.is_whitespace()).any(|word| {
            word.strip_suffix('%')
                .and_then(|share| share.parse::<f64>().ok())
                .is_some_and(|share| share > 1.0)
        });
        Ok((busy && ["kB", "MB"].iter().any(|unit| said.contains(unit))).then_some(()))
    })
    .await?;
    window.keep_picture("agents-runs").await?;
    let found = violations(window, "runs").await?;
    ensure!(found.is_empty(), "{found:#?}");

    let listed = window.call("run_list", json!({})).await?;
    let processes = listed["items"][0]["processes"].as_array().context("no processes")?.clone();
    ensure!(processes.len() >= 2, "{listed:#}");
    page.press_named("button", "Stop Turn round and round").await?;
    page.find_with_text("main", "Nothing is running").await?;
    for process in processes {
        let folder = Path::new("/proc").join(process["pid"].to_string());
        until("the end of a process", async || Ok((!folder.exists()).then_some(()))).await?;
    }
    reach(window, &task, |task| task["error_annotation"]["message"] == "You stopped the agent.").await?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn open_approval_is_answered_while_messages_wait() -> Result<()> {
    let window = Window::open().await?;
    let server = ModelServer::start().await?;
    let seat = PROGRAM.settle(&window.display.folder().join("seat"), &server)?;
    let outcome = approval_is_answered(&window, &server, &seat).await;
    window.end("agents-asks", outcome).await
}

async fn approval_is_answered(window: &Window, server: &ModelServer, seat: &Seat) -> Result<()> {
    let page = &window.page;
    let fixture = ProjectFixture::prepare(window, "true", &[]).await?;
    let config = json!({ "program": seat.program, "env": seat.environment, "permissions": "ask" });
    let agent = json!({ "name": "Careful", "adapter": "claude", "config": config });
    let agent = text(&window.call("agent_create", agent).await?, "id")?;
    let tag = server.script(
        Scenario::new("work")
            .turn(Turn::new().run("echo yes >allowed.txt"))
            .turn(Turn::new().say("It is done.")),
    );
    let next = Scenario::tag("next");
    server.script(Scenario::new("next").turn(Turn::new().say("I minded the gap.")));
    let new =
        json!({ "project_id": fixture.project_id, "title": "Ask before you write", "description": tag });
    let task = window.call("task_create", new).await?;
    let fixture = ProjectFixture { agent_id: agent, ..fixture };
    fixture.claim(window, &task).await?;
    load(window).await?;
    go(page, &format!("#/task/{}/1?tab=conversation", fixture.project_id)).await?;

    let card = "section[data-ask]";
    page.find_with_text(card, "echo yes >allowed.txt").await?;
    page.find_with_text("nav, aside", "1 task needs you").await?;

    attach(page, "gap.txt", "mind it").await?;
    page.find_with_text("ul[aria-label=Attachments] li", "gap.txt").await?;
    let box_ = page.find("textarea[aria-label='Message to the agent']").await?;
    page.type_into(&box_, &format!("Mind the gap. {next}")).await?;
    page.press(&[keys::CONTROL, keys::ENTER]).await?;
    let queued = "section[aria-label='Queued messages']";
    let waits = async || -> Result<()> {
        page.find_with_text(queued, "Mind the gap.").await?;
        page.find_with_text(queued, "gap.txt").await.map(drop)
    };
    waits().await?;
    window.keep_picture("agents-asks").await?;
    let found = violations(window, "a question, and a message that waits").await?;
    ensure!(found.is_empty(), "{found:#?}");

    // Words and question are the engine's: a window opened anew has them.
    page.execute("location.reload()", &[]).await?;
    page.find_with_text(card, "echo yes >allowed.txt").await?;
    waits().await?;

    page.press_named("button", "Allow").await?;
    page.wait_gone(card).await?;
    let done = reach(window, &task, |task| task["review"]["status"] == "awaiting_human").await?;
    page.wait_gone(queued).await?;
    page.find_with_text("[role=log]", "I minded the gap.").await?;
    window.keep_picture("agents-answered").await?;

    let tree = text(&done["workspace"], "path")?;
    ensure!(
        fs::read_to_string(Path::new(&tree).join("allowed.txt"))?.trim() == "yes",
        "it did what was allowed"
    );
    let runs = window.call("task_executions", json!({ "task_id": task["id"] })).await?;
    ensure!(
        runs["items"].as_array().is_some_and(|runs| runs.len() == 2),
        "one more run for the message: {runs}"
    );
    let told = server.requests().of("next");
    let last = told.first().context("it was not told")?;
    let given = last.messages.iter().find(|it| it.text.contains("Mind the gap.")).context("no message")?;
    let place = given.text.split('`').find(|part| part.ends_with("/gap.txt")).context("no file")?;
    ensure!(fs::read_to_string(place)? == "mind it", "the file lies where the agent was told");
    let now = read(window, &task).await?;
    ensure!(now["error_annotation"] == Value::Null, "{now:#}");
    Ok(())
}

/// Chooses a file in place of the system's dialog, which no driver reaches.
async fn attach(page: &Session, name: &str, content: &str) -> Result<()> {
    const CHOOSE: &str = "const [name, content] = arguments;
        const chosen = new DataTransfer();
        chosen.items.add(new File([content], name, { type: 'text/plain' }));
        const input = document.querySelector('form input[type=file]');
        input.files = chosen.files;
        input.dispatchEvent(new Event('change', { bubbles: true }));";
    page.find("form input[type=file]").await?;
    page.execute(CHOOSE, &[name.into(), content.into()]).await.map(drop)
}
