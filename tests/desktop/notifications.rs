//! Desktop notifications: those that a task, a race or an anomaly raises, and what a click on them opens.

use anyhow::Result;
use forge_testkit::program;
use forge_tests::{display::Display, notifications::NotificationService, window::Window};

use serde_json::json;

use crate::{
    fixture::{ProjectFixture, reach},
    scripted::{block, scripted},
};

/// A window whose notifications go to the test's service.
async fn window_with_notification_service() -> Result<(NotificationService, Window)> {
    let folder = tempfile::tempdir()?;
    let display = Display::start(folder.path()).await?;
    let service = NotificationService::start(&display).await?;
    let window = Window::open_on(display, folder).await?;
    window.page.find("main").await?;
    Ok((service, window))
}

#[tokio::test]
async fn blocked_task_raises_notification_that_opens_it() -> Result<()> {
    let (mut service, window) = window_with_notification_service().await?;

    let fixture = ProjectFixture::prepare(&window, "/nonexistent/<agent>", &[]).await?;
    let task = fixture.task(&window, "Sharpen the axe").await?;
    fixture.claim(&window, &task).await?;

    let told = service.next().await?;
    assert_eq!(told.summary, "#1 Sharpen the axe");
    assert!(told.body.contains("/nonexistent/&lt;agent&gt;"), "the reason is in the text: {}", told.body);
    assert!(told.actions.iter().any(|label| label == "Open task"), "{:?}", told.actions);

    service.click(told.id, "open").await?;
    window.wait_for_address(&format!("#/task/{}/1", fixture.project_id)).await?;
    window.page.close().await
}

#[tokio::test]
async fn task_ready_for_review_raises_notification_that_opens_it() -> Result<()> {
    let (mut service, window) = window_with_notification_service().await?;

    let agent = program("forge-scripted-agent")?.to_string_lossy().into_owned();
    let fixture = ProjectFixture::prepare(&window, &agent, &["--prompt-file", "{prompt_file}"]).await?;
    let task = fixture.task(&window, "Write it down").await?;
    fixture.claim(&window, &task).await?;

    let told = service.next().await?;
    assert_eq!(told.summary, "#1 Write it down");
    assert!(told.body.contains("is ready for your review"), "the reason is in the text: {}", told.body);

    service.click(told.id, "open").await?;
    window.wait_for_address(&format!("#/task/{}/1", fixture.project_id)).await?;
    window.page.close().await
}

#[tokio::test]
async fn decided_race_raises_notification_that_opens_it() -> Result<()> {
    let (mut service, window) = window_with_notification_service().await?;

    let fixture = scripted(&window).await?;
    let names = ["cheap", "dear"].map(|name| json!({ "name": name, "agent_id": fixture.agent_id }));
    let races = json!({ "enabled": true, "strategies": names });
    fixture.update_settings(&window, json!({ "innerLoop": { "competitive": races } })).await?;
    let told = [
        block(" strategy=cheap", "edit a <<< \"a\\n\"\nusage m 9 9 200000"),
        block(" strategy=dear", "edit a <<< \"b\\n\"\nusage m 9 9 300000"),
    ];
    let raced = json!({ "race": { "enabled": true, "humanCrown": true } });
    fixture.worked_on(&window, "Write the menu", &told.concat(), raced).await?;

    let told = service.next().await?;
    assert_eq!(told.summary, "#1 Write the menu");
    assert_eq!(told.body, "Choose the winner. Suggested: cheap.");
    assert!(told.actions.iter().any(|label| label == "Open race"), "{:?}", told.actions);
    service.click(told.id, "open").await?;
    window.wait_for_address(&format!("#/task/{}/1?tab=race", fixture.project_id)).await?;
    window.page.wait_for_text("main li[aria-label='Entry cheap']", "Suggested winner").await?;
    window.page.close().await
}

#[tokio::test]
async fn cost_anomaly_raises_wanted_notification_that_opens_costs() -> Result<()> {
    let (mut service, window) = window_with_notification_service().await?;

    let fixture = scripted(&window).await?;
    fixture.update_settings(&window, json!({ "auto_approve": true })).await?;
    // Off until somebody wants it: the second is dear, too, and what is told first is about the fourth.
    for (number, cost, wanted) in [(1, 100, false), (2, 900, false), (3, 100, true), (4, 900_000, true)] {
        fixture
            .update_settings(&window, json!({ "notifications": { "cost_anomaly": wanted, "done": false } }))
            .await?;
        let told = block("", &format!("edit f{number} <<< \"x\\n\"\nusage m 9 9 {cost}"));
        let task = fixture.worked_on(&window, &format!("Dish {number}"), &told, json!({})).await?;
        reach(&window, &task, |task| task["status"] == "done").await?;
    }
    let anomalies = window.call("cost_anomalies", json!({})).await?;
    assert_eq!(anomalies["items"].as_array().map(Vec::len), Some(2), "{anomalies:#}");

    let told = service.next().await?;
    assert_eq!(told.summary, "#4 Dish 4");
    assert_eq!(told.body, "A run with m cost $0.90, 9000 times the median of the 3 runs before it.");
    assert!(told.actions.iter().any(|label| label == "Open costs"), "{:?}", told.actions);
    service.click(told.id, "open").await?;
    window.wait_for_address(&format!("#/costs?of={}", fixture.project_id)).await?;
    window.page.wait_for_text("main [data-anomaly]", "Dish 4").await?;
    window.page.close().await
}
