//! Closing the window, and when its process stays.

use std::{path::Path, process::Stdio, time::Duration};

use anyhow::{Context as _, Result, bail};
use forge_engine::{Engine, EngineConfig, data_folder};
use forge_tests::{
    display::Display,
    patience::until,
    window::{self, Window},
};

use serde_json::json;

use crate::fixture::ProjectFixture;

/// How often a key is pressed.
const PRESSES: u32 = 4;
/// How long a pressed key takes at most until its window is hidden.
const HEARD_WITHIN: Duration = Duration::from_secs(8);

#[tokio::test]
async fn closed_window_without_agents_ends_the_process() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let display = Display::start(folder.path()).await?;
    let data_dir = folder.path().join("forge");
    let mut forge = window::on_data(&display, &data_dir)?.spawn()?;
    let windows = display.wait_for_windows("Forge", 1).await?;
    until("the engine", async || Ok(data_folder::holder(&data_dir).and_then(|holder| holder.url))).await?;

    display.focus(&windows[0]).await?;
    display.press("alt+F4").await?;
    assert_eq!(forge.wait().await?.code(), Some(0));
    assert_eq!(data_folder::holder(&data_dir), None);
    Ok(())
}

#[tokio::test]
async fn closed_window_with_running_agent_hides_until_next_start() -> Result<()> {
    let window = window_with_running_agent().await?;
    close(&window).await?;
    assert!(data_folder::holder(window.data_dir()).is_some(), "the engine goes on");

    let second = window.another_start()?.stderr(Stdio::piped()).output().await?;
    assert_eq!(second.status.code(), Some(0), "{second:?}");
    window.display.wait_for_windows("Forge", 1).await?;
    window.page.close().await
}

#[tokio::test]
async fn hidden_page_gets_no_changes_and_reloads_when_shown() -> Result<()> {
    const LISTEN: &str = "const [done] = arguments, tauri = window.__TAURI_INTERNALS__;
        window.heard = [];
        const handler = tauri.transformCallback(({ payload }) => window.heard.push(payload));
        tauri.invoke('plugin:event|listen', { event: 'changes', target: { kind: 'Any' }, handler }).then(() => done());";
    let window = window_with_running_agent().await?;
    window.page.execute_async(LISTEN, &[]).await?;
    let mark = |title: &str| json!({ "name": title, "adapter": "shell", "config": { "command": "true" } });
    window.call("agent_create", mark("seen")).await?;
    let heard = async || {
        window
            .page
            .execute("return window.heard.flatMap((batch) => batch.changes.map((c) => c.type))", &[])
            .await
    };
    until("the change", async || {
        Ok(heard().await?.as_array().is_some_and(|all| all.contains(&json!("agent.changed"))).then_some(()))
    })
    .await?;

    close(&window).await?;
    window.page.execute("window.heard = []", &[]).await?;
    window.call("agent_create", mark("hidden")).await?;
    window.another_start()?.output().await?;
    window.display.wait_for_windows("Forge", 1).await?;
    until("the page to hear", async || Ok((heard().await? != json!([])).then_some(()))).await?;
    assert_eq!(heard().await?, json!(["events.resync"]));
    window.page.close().await
}

#[tokio::test]
async fn quit_with_running_agent_asks_first() -> Result<()> {
    let window = window_with_running_agent().await?;
    let windows = window.display.wait_for_windows("Forge", 1).await?;
    for (answer, stays) in [("Escape", true), ("Return", false)] {
        window.display.focus(&windows[0]).await?;
        window.display.press("ctrl+q").await?;
        let dialogs = window.display.wait_for_windows("Quit Forge?", 1).await?;
        window.display.focus(&dialogs[0]).await?;
        window.display.press(answer).await?;
        window.display.wait_for_windows("Quit Forge?", 0).await?;
        if stays {
            assert_eq!(window.display.windows_titled("Forge").await?.len(), 1);
        }
    }
    until("the engine's end", async || Ok(data_folder::holder(window.data_dir()).is_none().then_some(())))
        .await?;
    // The answer that the dialog offers first keeps the agent running.
    let lines = processes_of(window.data_dir())?;
    assert_eq!(lines.iter().filter(|line| line.contains("sleep 600")).count(), 1, "{lines:#?}");
    Ok(())
}

/// The command lines of processes that work below a folder.
fn processes_of(folder: &Path) -> Result<Vec<String>> {
    let mut lines = Vec::new();
    for entry in std::fs::read_dir("/proc")?.flatten() {
        if std::fs::read_link(entry.path().join("cwd")).is_ok_and(|cwd| cwd.starts_with(folder)) {
            let line = std::fs::read(entry.path().join("cmdline")).unwrap_or_default();
            lines.push(String::from_utf8_lossy(&line).replace('\0', " "));
        }
    }
    Ok(lines)
}

/// A window with an agent that runs endlessly.
async fn window_with_running_agent() -> Result<Window> {
    let window = Window::open().await?;
    let fixture = ProjectFixture::prepare(&window, "sleep", &["600"]).await?;
    let task = fixture.task(&window, "Wait").await?;
    fixture.claim(&window, &task).await?;
    until("the agent", async || {
        let agents = window.call("agent_list", json!({})).await?;
        Ok((agents["items"][0]["running"] == 1).then_some(()))
    })
    .await?;
    Ok(window)
}

/// Closes the window as a person does, and waits until it is hidden. On a machine that is busy a key can get lost between
/// the window manager and the window, and a person presses it again.
async fn close(window: &Window) -> Result<()> {
    for _ in 0..PRESSES {
        let Some(shown) = window.display.windows_titled("Forge").await?.pop() else { return Ok(()) };
        window.display.focus(&shown).await?;
        window.display.press("alt+F4").await?;
        let hidden = window.display.wait_for_windows("Forge", 0);
        if let Ok(hidden) = tokio::time::timeout(HEARD_WITHIN, hidden).await {
            return hidden.map(drop);
        }
    }
    bail!("the window is not hidden, however often it is closed")
}

#[tokio::test]
async fn signal_stops_the_engine_in_order() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let display = Display::start(folder.path()).await?;
    let data_dir = folder.path().join("forge");
    let mut forge = window::on_data(&display, &data_dir)?.spawn()?;
    until("the engine", async || Ok(data_folder::holder(&data_dir).and_then(|holder| holder.url))).await?;

    let id = forge.id().context("it has already ended")?.to_string();
    // The shell's own: the program of that name is not on every machine.
    display.program("sh").args(["-c", r#"kill -TERM "$1""#, "sh", &id]).status().await?;
    assert_eq!(forge.wait().await?.code(), Some(0));
    assert_eq!(data_folder::holder(&data_dir), None);
    Ok(())
}

#[tokio::test]
async fn taken_data_folder_shows_error_dialog() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let display = Display::start(folder.path()).await?;
    let data_dir = folder.path().join("forge");
    let engine = Engine::start(EngineConfig::new(data_dir.clone(), std::env::vars_os())).await?;

    let forge = window::on_data(&display, &data_dir)?.stderr(Stdio::piped()).spawn()?;
    let dialogs = display.wait_for_windows("Could not start Forge", 1).await?;
    display.focus(&dialogs[0]).await?;
    display.press("Return").await?;
    let ended = forge.wait_with_output().await?;
    let said = String::from_utf8_lossy(&ended.stderr);
    assert_eq!(ended.status.code(), Some(1), "{said}");
    assert!(said.contains(&format!("another Forge (process {})", std::process::id())), "{said}");
    assert!(said.contains("FORGE_DATA_DIR"), "it says what to do: {said}");
    engine.stop().await;
    Ok(())
}
