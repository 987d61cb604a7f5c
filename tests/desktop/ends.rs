//! How the window ends, and when it does not.

use std::process::Stdio;

use anyhow::{Context as _, Result};
use forge_engine::{Engine, EngineConfig};
use forge_tests::{
    display::Display,
    patience::until,
    window::{self, Window},
};

use crate::work::Work;

#[tokio::test]
async fn closing_without_agents_ends_everything() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let display = Display::start(folder.path()).await?;
    let data_dir = folder.path().join("forge");
    let mut forge = window::on_data(&display, &data_dir)?.spawn()?;
    let windows = display.wait_for_windows("Forge", 1).await?;
    until("the engine", async || Ok(Engine::holder_of(&data_dir).and_then(|holder| holder.url))).await?;

    display.focus(&windows[0]).await?;
    display.press("alt+F4").await?;
    assert_eq!(forge.wait().await?.code(), Some(0));
    assert_eq!(Engine::holder_of(&data_dir), None);
    Ok(())
}

#[tokio::test]
async fn closing_while_an_agent_works_hides_the_window_until_the_next_start() -> Result<()> {
    let window = Window::open().await?;
    let work = Work::prepare(&window, "sleep", &["600"]).await?;
    let task = work.task(&window, "Wait").await?;
    work.claim(&window, &task).await?;
    until("the agent", async || {
        let agents = window.call("agent_list", serde_json::json!({})).await?;
        Ok((agents["items"][0]["running"] == 1).then_some(()))
    })
    .await?;

    let windows = window.display.wait_for_windows("Forge", 1).await?;
    window.display.focus(&windows[0]).await?;
    window.display.press("alt+F4").await?;
    window.display.wait_for_windows("Forge", 0).await?;
    assert!(Engine::holder_of(window.data_dir()).is_some(), "the engine goes on");

    let second = window.another_start()?.output().await?;
    assert_eq!(second.status.code(), Some(0));
    window.display.wait_for_windows("Forge", 1).await?;
    window.page.close().await
}

#[tokio::test]
async fn a_signal_stops_the_engine_in_good_order() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let display = Display::start(folder.path()).await?;
    let data_dir = folder.path().join("forge");
    let mut forge = window::on_data(&display, &data_dir)?.spawn()?;
    until("the engine", async || Ok(Engine::holder_of(&data_dir).and_then(|holder| holder.url))).await?;

    let id = forge.id().context("it has already ended")?.to_string();
    display.program("kill").args(["-TERM", &id]).status().await?;
    assert_eq!(forge.wait().await?.code(), Some(0));
    assert_eq!(Engine::holder_of(&data_dir), None);
    Ok(())
}

#[tokio::test]
async fn a_taken_data_folder_is_refused_in_words() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let display = Display::start(folder.path()).await?;
    let data_dir = folder.path().join("forge");
    let engine = Engine::start(EngineConfig::new(data_dir.clone())).await?;

    let forge = window::on_data(&display, &data_dir)?.stderr(Stdio::piped()).spawn()?;
    let dialogs = display.wait_for_windows("Forge cannot start", 1).await?;
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
