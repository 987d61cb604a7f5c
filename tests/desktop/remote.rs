//! The window on the engine of another computer: a newcomer's way, by a real ssh server whose connections are cut.

use std::{
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context as _, Result, ensure};
use forge_testkit::{Repository, program};
use forge_tests::{
    display::Display, notifications::NotificationService, patience::until, ssh_server::Server, window::Window,
};
use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};
use serde_json::{Value, json};

use crate::{
    board::card_in,
    fixture::{reach, text},
};

/// A computer with Forge, which the user of the window reaches as `far`.
struct Far {
    server: Server,
    folder: PathBuf,
}

impl Far {
    /// None where there is no ssh server.
    fn new(display: &Display) -> Result<Option<(Self, PathBuf)>> {
        let folder = display.folder().join("there");
        fs::create_dir(&folder)?;
        let Some(server) = Server::start(&folder)? else { return Ok(None) };
        let ssh = server.make_known(&display.folder().join("home"), "far")?;
        let programs = program("forge")?.parent().context("no folder")?.to_owned();
        let profile = format!("export PATH=\"{}:/usr/bin:/bin\"\n", programs.display());
        fs::write(folder.join("home/.profile"), profile)?;
        Repository::create(&folder.join("home/code/shop"), &[("README.md", "# Shop\n")])?;
        Ok(Some((Self { server, folder }, ssh)))
    }

    /// Ends the engine there, and its agents. Nobody can start it again then.
    fn end(&mut self) {
        self.server.stop();
        let lock = self.folder.join("home/.local/share/forge/engine.lock");
        let text = fs::read_to_string(lock).unwrap_or_default();
        let line: Value = serde_json::from_str(&text).unwrap_or_default();
        let Some(pid) = line["pid"].as_i64().and_then(|pid| i32::try_from(pid).ok()) else { return };
        let runs = || {
            let line = fs::read_to_string(format!("/proc/{pid}/cmdline")).unwrap_or_default();
            line.contains("serve")
        };
        if !runs() {
            return;
        }
        let _ = kill(Pid::from_raw(pid), Signal::SIGINT);
        for _ in 0..200 {
            if !runs() {
                break;
            }
            std::thread::sleep(std::time::Duration::from_millis(50));
        }
    }
}

impl Drop for Far {
    fn drop(&mut self) {
        self.end();
    }
}

#[tokio::test]
async fn newcomer_works_on_another_computer_whose_connection_is_cut_twice() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let display = Display::start(folder.path()).await?;
    let Some((mut far, ssh)) = Far::new(&display)? else { return Ok(()) };
    let mut service = NotificationService::start(&display).await?;
    let window = Window::open_connected(display, folder, "far", &ssh).await?;
    let outcome = newcomer(&window, &mut far, &mut service).await;
    far.end();
    window.end("remote", outcome).await
}

async fn newcomer(window: &Window, far: &mut Far, service: &mut NotificationService) -> Result<()> {
    let page = &window.page;
    window.display.wait_for_windows("far - Forge", 1).await?;
    ensure!(!window.data_dir().exists(), "an engine of this computer was started");

    // A project of a folder there.
    page.press_named("button", "Add project").await?;
    page.press_named("button", "Choose").await?;
    page.press_named("button", "code").await?;
    page.press_named("button", "shop").await?;
    page.click_on("[role=dialog] footer button[data-variant=primary]").await?;
    page.find_with_text("main", "No tasks yet").await?;
    let projects = window.call("project_list", json!({})).await?;
    let project = &projects["items"][0];
    let there = far.folder.join("home/code/shop");
    assert_eq!(project["repo_path"].as_str().map(Path::new), Some(fs::canonicalize(there)?.as_path()));
    let agent = program("forge-scripted-agent")?;
    let config = json!({ "command": agent, "args": ["--prompt-file", "{prompt_file}"] });
    let agent =
        window.call("agent_create", json!({ "name": "Bot", "adapter": "shell", "config": config })).await?;
    let new = |title: &str| json!({ "project_id": project["id"], "title": title });
    let dragged = window.call("task_create", new("Dragged")).await?;
    let written = window.call("task_create", new("Written")).await?;

    // The first cut comes while a card hangs at the pointer: it is dropped while nobody can be reached.
    let (card, column) = (card_in("Todo", "Dragged"), "section[aria-label^='Backlog,']");
    let (from, to) = (page.place_of(&card).await?.centre(), page.place_of(column).await?.centre());
    page.take_up(from, to).await?;
    page.find("[data-task][data-lifted]").await?;
    far.server.stop();
    page.find_with_text("[role=alert]", "far has been unreachable since").await?;
    page.let_go().await?;
    window.keep_picture("remote-unreachable").await?;
    far.server.start_again()?;
    page.wait_gone("[role=alert]").await?;
    page.find(&card_in("Backlog", "Dragged")).await?;
    page.wait_for_announcement("Moved task 1 to Backlog.").await?;
    let moves = window.call("task_transitions", json!({ "task_id": dragged["id"] })).await?;
    let moves = moves["items"].as_array().context("no moves")?;
    let to_backlog = moves.iter().filter(|it| it["to"] == "backlog").count();
    assert_eq!(to_backlog, 1, "it was moved once: {moves:?}");

    // The second one comes while an agent works; what it does meanwhile is shown afterwards, here.
    let claim = json!({ "task_id": written["id"], "agent_id": agent["id"], "version": written["version"] });
    window.call("task_claim", claim).await?;
    far.server.cut();
    let told = service.next().await?;
    assert_eq!(told.summary, "#2 Written");
    assert!(told.body.contains("is ready for your review"), "{}", told.body);
    let now = reach(window, &written, |task| task["review"]["status"] == "awaiting_human").await?;
    page.find(&card_in("Review", "Written")).await?;
    service.click(told.id, "open").await?;
    window.wait_for_address(&format!("#/task/{}/2", text(project, "id")?)).await?;
    assert_eq!(text(&now, "status")?, "review");

    // The switcher leads to other computers; what cannot be used says why.
    page.press_named("button", "Project: ").await?;
    page.find_with_text("[role=menuitem]", "This computer").await?;
    let connect = page.find_with_text("[role=menuitem]", "Connect to another computer").await?;
    page.click(&connect).await?;
    let nowhere = page.find("[role=dialog] input").await?;
    page.type_into(&nowhere, "-nowhere").await?;
    page.press_named("button", "Connect").await?;
    page.find_with_text("[role=alert]", "is no name of a machine").await?;
    window.keep_picture("remote-refused").await
}

#[tokio::test]
async fn window_says_why_there_is_no_connection_and_tries_again() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let display = Display::start(folder.path()).await?;
    let Some((mut far, ssh)) = Far::new(&display)? else { return Ok(()) };
    far.server.stop();
    let window = Window::open_connected(display, folder, "far", &ssh).await?;
    let outcome = async {
        let dialog = window.display.wait_for_windows("Could not connect", 1).await?;
        far.server.start_again()?;
        window.display.focus(dialog.first().context("no dialog")?).await?;
        window.display.press("Return").await?;
        window.page.find_with_text("main", "No project open").await?;
        let meta = until("the engine", async || Ok(window.call("meta", json!({})).await.ok())).await?;
        ensure!(text(&meta, "data_dir")?.contains("there/home"), "{meta}");
        Ok(())
    };
    let outcome = outcome.await;
    far.end();
    window.end("remote-again", outcome).await
}
