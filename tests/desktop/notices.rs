//! What the person is told outside the window.

use anyhow::Result;
use forge_testkit::program;
use forge_tests::{display::Display, notifications::NotificationService, window::Window};

use crate::work::Work;

#[tokio::test]
async fn a_blocked_task_is_told_and_a_click_opens_it() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let display = Display::start(folder.path()).await?;
    let mut service = NotificationService::start(&display).await?;
    let window = Window::open_on(display, folder).await?;
    window.page.find("main").await?;

    let work = Work::prepare(&window, "/nonexistent/agent", &[]).await?;
    let task = work.task(&window, "Sharpen the axe").await?;
    work.claim(&window, &task).await?;

    let told = service.next().await?;
    assert_eq!(told.summary, "#1 Sharpen the axe");
    assert!(told.body.contains("/nonexistent/agent"), "the reason is in the text: {}", told.body);
    assert!(told.actions.iter().any(|label| label == "Open task"), "{:?}", told.actions);

    service.click(told.id, "open").await?;
    window.wait_for_address(&format!("#/task/{}/1", work.project_id)).await?;
    window.page.close().await
}

#[tokio::test]
async fn a_task_that_waits_for_a_decision_is_told_and_a_click_opens_it() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let display = Display::start(folder.path()).await?;
    let mut service = NotificationService::start(&display).await?;
    let window = Window::open_on(display, folder).await?;
    window.page.find("main").await?;

    let agent = program("forge-scripted-agent")?.to_string_lossy().into_owned();
    let work = Work::prepare(&window, &agent, &["--prompt-file", "{prompt_file}"]).await?;
    let task = work.task(&window, "Write it down").await?;
    work.claim(&window, &task).await?;

    let told = service.next().await?;
    assert_eq!(told.summary, "#1 Write it down");
    assert!(told.body.contains("waits for your decision"), "the reason is in the text: {}", told.body);

    service.click(told.id, "open").await?;
    window.wait_for_address(&format!("#/task/{}/1", work.project_id)).await?;
    window.page.close().await
}
