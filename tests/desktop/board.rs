//! The board in the window: dragged cards, columns that accept or refuse them, and the reasons shown.

use anyhow::Result;
use forge_tests::{patience::until, webdriver::Session, window::Window};
use serde_json::json;

use crate::fixture::{ProjectFixture, text};

/// The selector of a card in a column.
pub fn card_in(column: &str, title: &str) -> String {
    format!("{} [data-task][aria-label*='{title}']", column_named(column))
}

fn column_named(name: &str) -> String {
    format!("section[aria-label^='{name},']")
}

/// Drags a card to a column and drops it.
pub async fn drag_to(page: &Session, card: &str, column: &str) -> Result<()> {
    hold_over(page, card, column).await?;
    page.let_go().await
}

/// Drags a card over a column and holds it there; it is seen to be lifted, and the column to take it
/// or to be closed to it.
async fn hold_over(page: &Session, card: &str, column: &str) -> Result<()> {
    let column = column_named(column);
    let (from, to) = (page.place_of(card).await?.centre(), page.place_of(&column).await?.centre());
    page.take_up(from, to).await?;
    page.find("[data-task][data-lifted]").await?;
    page.find(&format!("{column}:is([data-target], [data-closed])")).await.map(drop)
}

#[tokio::test]
async fn flicked_card_is_moved() -> Result<()> {
    let window = Window::open().await?;
    let outcome = flicked(&window).await;
    window.end("flicked", outcome).await
}

async fn flicked(window: &Window) -> Result<()> {
    let page = &window.page;
    let fixture = ProjectFixture::prepare(window, "true", &[]).await?;
    let task = fixture.task(window, "Thrown").await?;
    let from = page.place_of(&card_in("Todo", "Thrown")).await?.centre();
    let to = page.place_of(&column_named("Backlog")).await?.centre();
    page.flick(from, to).await?;
    page.find(&card_in("Backlog", "Thrown")).await?;
    page.wait_for_announcement("Moved task 1 to Backlog.").await?;
    page.wait_gone("[data-lifted]").await?;
    until("the engine's word", async || {
        let now = window.call("task_get", json!({ "task_id": task["id"] })).await?;
        Ok((now["status"] == "backlog").then_some(()))
    })
    .await?;

    assert!(!page.has("article").await?, "a flick is no click");
    page.click_on(&card_in("Backlog", "Thrown")).await?;
    page.find("article[aria-label='Task 1: Thrown']").await.map(drop)
}

#[tokio::test]
async fn refused_drop_springs_back_with_reason() -> Result<()> {
    let window = Window::open().await?;
    let outcome = refused_by_the_engine(&window).await;
    window.end("refused-by-the-engine", outcome).await
}

async fn refused_by_the_engine(window: &Window) -> Result<()> {
    let page = &window.page;
    let fixture = ProjectFixture::prepare(window, "true", &[]).await?;
    let task = fixture.task(window, "Changed meanwhile").await?;
    let card = card_in("Todo", "Changed meanwhile");
    page.find(&card).await?;

    hold_over(page, &card, "Backlog").await?;
    // Somebody else changes the task while it hangs at the pointer: what is dropped is out of date.
    let change = json!({ "task_id": task["id"], "version": task["version"], "priority": 3 });
    window.call("task_update", change).await?;
    page.let_go().await?;

    page.find_with_text("[role=alert]", "Could not move #1").await?;
    page.wait_for_announcement("Could not move task 1.").await?;
    page.find(&card).await?;
    page.wait_gone("[data-lifted]").await?;
    window.keep_picture("refused-by-the-engine").await?;
    let now = window.call("task_get", json!({ "task_id": task["id"] })).await?;
    assert_eq!(now["status"], "todo");
    Ok(())
}

#[tokio::test]
async fn closed_column_shows_reason_during_and_after_drag() -> Result<()> {
    let window = Window::open().await?;
    let outcome = refused_by_the_workflow(&window).await;
    window.end("refused-by-the-workflow", outcome).await
}

async fn refused_by_the_workflow(window: &Window) -> Result<()> {
    const WHY: &str = "Tasks cannot move from Cancelled to Review";
    let page = &window.page;
    page.resize(1560, 900).await?;
    let fixture = ProjectFixture::prepare(window, "true", &[]).await?;
    let task = fixture.task(window, "Given up").await?;
    let cancel = json!({ "task_id": task["id"], "verb": "cancel", "version": task["version"] });
    let cancelled = window.call("task_action", cancel).await?;
    assert_eq!(text(&cancelled["task"], "status")?, "cancelled");
    let address = format!("#/board/{}?hidden=1", fixture.project_id);
    page.execute("location.hash = arguments[0]", &[address.into()]).await?;
    let card = card_in("Cancelled", "Given up");
    page.find(&card).await?;
    const SEE: &str = "document.querySelector(arguments[0]).scrollIntoView({ inline: 'end' })";
    page.execute(SEE, &[card.clone().into()]).await?;

    hold_over(page, &card, "Review").await?;
    page.find_with_text(&format!("{}[data-closed]", column_named("Review")), WHY).await?;
    window.keep_picture("refused-while-dragging").await?;
    page.let_go().await?;
    page.find_with_text("[role=alert], [role=status]", WHY).await?;
    page.wait_for_announcement(WHY).await?;
    page.find(&card).await?;
    page.wait_gone("[data-lifted], [data-closed]").await?;
    window.keep_picture("refused-by-the-workflow").await
}
