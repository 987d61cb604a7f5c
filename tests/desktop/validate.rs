//! Validation in the window: checks that fail, pass, and are stopped while they run.

use std::{fs, path::Path};

use anyhow::{Context as _, Result};
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

const RESULTS: &str = "ol[aria-label='Latest results']";

#[tokio::test]
async fn failed_validation_is_repeated_until_it_passes() -> Result<()> {
    let window = Window::open().await?;
    let outcome = is_validated(&window).await;
    window.end("validate", outcome).await
}

/// Writes into one of the form's lists, one entry per line.
async fn write(page: &Session, list: usize, lines: &str) -> Result<()> {
    let fields = page.find_all("form textarea").await?;
    page.type_into(fields.get(list).context("no such list")?, lines).await
}

/// Not the tab of the same name.
async fn submit(page: &Session) -> Result<()> {
    let button = page.find_with_text("form button[type=submit]", "Validate").await?;
    page.click(&button).await
}

async fn is_validated(window: &Window) -> Result<()> {
    let page = &window.page;
    let fixture = scripted(window).await?;
    let told = block("", "edit total.ts <<< \"export const total = ;\\n\"");
    let task = fixture.worked_on(window, "Total the bill", &told, json!({})).await?;
    let task = reach(window, &task, |task| task["review"]["status"] == "awaiting_human").await?;
    let tree = text(&task["workspace"], "path")?;
    let tree = Path::new(&tree);
    load(window).await?;
    go(page, &format!("#/task/{}/1?tab=validate", fixture.project_id)).await?;
    page.find_with_text("h2, h3, p", "No attempts yet").await?;
    window.keep_picture("validate-none").await?;
    let mut found = violations(window, "nothing validated").await?;

    write(page, 0, "test -e ok").await?;
    write(page, 1, "total.ts").await?;
    submit(page).await?;
    page.wait_for_text("[role=status]", "Retry. Some checks failed.").await?;
    page.wait_for_text(RESULTS, "total.ts").await?;
    page.wait_for_text(RESULTS, "1:22").await?;
    page.wait_for_text(RESULTS, "exit 1").await?;
    window.keep_picture("validate-failed").await?;
    found.extend(violations(window, "a validation that failed").await?);

    // Mended, it passes: the same checks, by the key of the tab.
    fs::write(tree.join("total.ts"), "export const total = 1;\n")?;
    fs::write(tree.join("ok"), "")?;
    page.press(&[keys::SHIFT, "v"]).await?;
    page.wait_for_text("[role=status]", "Proceed. All checks passed.").await?;
    page.wait_for_text("section[aria-labelledby=validate-earlier]", "2 failures").await?;
    window.keep_picture("validate-passed").await?;
    found.extend(violations(window, "a validation that passed").await?);

    // What is stopped ends, and is no attempt.
    page.press_named("button", "Edit validation").await?;
    write(page, 0, &format!("{}echo $$ > pid; exec sleep 600", keys::ENTER)).await?;
    submit(page).await?;
    let pid = until("the command", async || {
        let pid = fs::read_to_string(tree.join("pid")).unwrap_or_default();
        Ok(pid.trim().parse::<u32>().ok())
    })
    .await?;
    page.press_named("button", "Stop").await?;
    until("the command's end", async || Ok((!Path::new(&format!("/proc/{pid}")).exists()).then_some(())))
        .await?;
    page.press_named("button", "Cancel").await?;
    page.wait_for_text("section[aria-label='Latest attempt']", "Attempt 2").await?;
    clean(&found)
}
