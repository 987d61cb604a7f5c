//! A terminal of a task in the window: used, left by keyboard, reloaded and still there, closed after a question.

use std::{fs, path::PathBuf};

use anyhow::{Result, ensure};
use forge_tests::{
    patience::until,
    webdriver::{Session, keys},
    window::Window,
};
use serde_json::json;

use crate::{
    access::{clean, load, violations},
    fixture::{go, reach, text},
    scripted::{block, scripted},
};

/// What the terminal shows.
const SHOWN: &str = "[data-terminal] .xterm-rows";

#[tokio::test]
async fn terminal_is_used_reloaded_and_still_there() -> Result<()> {
    let window = Window::open().await?;
    let outcome = terminal_is_used(&window).await;
    window.end("terminal", outcome).await
}

/// Types into whatever has the focus, then Enter.
async fn enter(page: &Session, line: &str) -> Result<()> {
    let letters: Vec<String> = line.chars().map(String::from).collect();
    let letters: Vec<&str> = letters.iter().map(String::as_str).collect();
    page.press_each(&letters).await?;
    page.press(&[keys::ENTER]).await
}

async fn terminal_is_used(window: &Window) -> Result<()> {
    let page = &window.page;
    let fixture = scripted(window).await?;
    let told = block("", "edit work.txt <<< \"work\\n\"");
    let task = fixture.worked_on(window, "Try it by hand", &told, json!({})).await?;
    let task = reach(window, &task, |task| task["review"]["status"] == "awaiting_human").await?;
    let tree = PathBuf::from(text(&task["workspace"], "path")?);
    load(window).await?;
    go(page, &format!("#/task/{}/1?tab=terminal", fixture.project_id)).await?;
    page.find_with_text("[role=tabpanel]", "A terminal is a shell in this task's worktree").await?;
    window.keep_picture("terminal-none").await?;

    page.press_named("button", "New terminal").await?;
    page.wait_for_focus("[data-terminal] textarea").await?;
    enter(page, "echo answer-$((6*7)) > by-hand.txt; cat by-hand.txt").await?;
    page.wait_for_text(SHOWN, "answer-42").await?;
    ensure!(fs::read_to_string(tree.join("by-hand.txt"))? == "answer-42\n");
    enter(page, "printf '\\033[31mred-%s\\033[0m\\n' word").await?;
    page.wait_for_text(SHOWN, "red-word").await?;
    is_drawn(page).await?;
    let mut found = violations(window, "a terminal").await?;
    pictures(window).await?;

    // No trap for the keyboard.
    page.press(&[keys::CONTROL, "\u{E036}"]).await?;
    page.wait_for_focus("[aria-pressed=true]").await?;

    page.execute("location.reload()", &[]).await?;
    page.wait_for_text(SHOWN, "answer-42").await?;
    page.wait_for_text(SHOWN, "red-word").await?;
    window.keep_picture("terminal-reloaded").await?;
    load(window).await?;
    page.wait_for_focus("[data-terminal] textarea").await?;
    // The file tells that the program runs.
    enter(page, "sh -c 'cp by-hand.txt again.txt; sleep 600; true'").await?;
    until("what was typed after the reload", async || {
        Ok(fs::read_to_string(tree.join("again.txt")).is_ok_and(|it| it == "answer-42\n").then_some(()))
    })
    .await?;

    page.press_named("button", "Close Terminal 1").await?;
    page.find_with_text("[role=alertdialog]", "Terminal 1 runs sh (process").await?;
    window.keep_picture("terminal-asks").await?;
    found.extend(violations(window, "closing a terminal").await?);
    page.press_named("button", "End program").await?;
    page.find_with_text("[role=tabpanel]", "A terminal is a shell in this task's worktree").await?;
    clean(&found)
}

/// Colours and type are as the terminal sets them: nothing of it was refused by the page's policy.
async fn is_drawn(page: &Session) -> Result<()> {
    let look = "const rows = document.querySelector(arguments[0]);
        const red = [...rows.querySelectorAll('span')].find((it) => it.textContent.includes('red-word'));
        const style = getComputedStyle(rows);
        return { font: style.fontFamily, text: style.color, red: red ? getComputedStyle(red).color : null };";
    let seen = page.execute(look, &[SHOWN.into()]).await?;
    ensure!(seen["font"].as_str().is_some_and(|font| font.contains("JetBrains")), "{seen}");
    ensure!(seen["red"].is_string() && seen["red"] != seen["text"], "{seen}");
    Ok(())
}

/// The terminal in each theme, and in a narrow window.
async fn pictures(window: &Window) -> Result<()> {
    let page = &window.page;
    for (theme, contrast) in [("light", ""), ("dark", ""), ("light", "more"), ("dark", "more")] {
        let look = "const { dataset } = document.documentElement;
            dataset.theme = arguments[0];
            if (arguments[1]) dataset.contrast = arguments[1]; else delete dataset.contrast;";
        page.execute(look, &[theme.into(), contrast.into()]).await?;
        page.drawn().await?;
        window.keep_picture(&format!("terminal-{theme}{contrast}")).await?;
    }
    page.execute("delete document.documentElement.dataset.contrast", &[]).await?;
    page.resize(900, 600).await?;
    page.drawn().await?;
    window.keep_picture("terminal-narrow").await?;
    page.resize(1440, 900).await
}
