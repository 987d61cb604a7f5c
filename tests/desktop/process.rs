//! A project's process changed in the window, its workflow and its hooks, and the effect on its tasks.

use anyhow::{Result, ensure};
use forge_tests::{
    patience::until,
    webdriver::{Session, keys},
    window::Window,
};
use serde_json::{Value, json};

use crate::board::{card_in, drag_to};
use crate::fixture::ProjectFixture;

#[tokio::test]
async fn state_added_in_editor_takes_tasks_and_invalid_one_shows_field_error() -> Result<()> {
    let window = Window::open().await?;
    let outcome = workflow_is_edited(&window).await;
    window.end("process-workflow", outcome).await
}

async fn workflow_is_edited(window: &Window) -> Result<()> {
    let page = &window.page;
    let fixture = ProjectFixture::prepare(window, "true", &[]).await?;
    fixture.task(window, "Goes through it").await?;
    // The first project leads the window to its board by itself.
    page.find(&card_in("Todo", "Goes through it")).await?;
    go(page, &format!("#/settings/project/{}?tab=workflow&view=form", fixture.project_id)).await?;

    page.press_named("button", "Add state").await?;
    page.type_into(&page.find("[role=dialog] input").await?, "Acceptance").await?;
    page.press(&[keys::ENTER]).await?;
    page.wait_gone("[role=dialog]").await?;
    page.find_with_text("[role=toolbar]", "Valid").await?;
    page.press_named("button", "Save").await?;
    page.find_with_text("[role=tab]", "Workflow").await?;
    let path = json!({ "project_id": fixture.project_id });
    until("the saved workflow", async || {
        let view = window.call("project_workflow_get", path.clone()).await?;
        Ok(view["workflow"]["states"]
            .as_array()
            .filter(|states| {
                states.iter().any(|state| state["name"] == "acceptance" && state["column"] == "Acceptance")
            })
            .map(drop))
    })
    .await?;

    go(page, &format!("#/settings/project/{}?tab=workflow", fixture.project_id)).await?;
    page.find_with_text(".react-flow__node", "Acceptance").await?;
    page.drawn().await?;
    window.keep_picture("process-graph").await?;

    go(page, &format!("#/board/{}", fixture.project_id)).await?;
    page.find(&card_in("Todo", "Goes through it")).await?;
    drag_to(page, &card_in("Todo", "Goes through it"), "Acceptance").await?;
    page.find(&card_in("Acceptance", "Goes through it")).await?;
    drag_to(page, &card_in("Acceptance", "Goes through it"), "Todo").await?;
    page.find(&card_in("Todo", "Goes through it")).await?;

    // Broken: said at the field, in the list and at the line; the engine refuses it, the draft stays.
    go(page, &format!("#/settings/project/{}?tab=workflow&view=form", fixture.project_id)).await?;
    page.click(&page.find("li[data-path='states[3]'] button[aria-expanded]").await?).await?;
    let column = page.find("[data-path='states[3].column'] input").await?;
    page.click(&column).await?;
    page.press(&[keys::CONTROL, "a"]).await?;
    page.press(&["\u{E017}"]).await?;
    page.find_with_text("[data-path='states[3].column']", "Must not be empty").await?;
    page.find_with_text("section[aria-label=Problems]", "Acceptance › column").await?;
    window.keep_picture("process-finding").await?;
    page.click(&page.find("[role=radio][aria-label=JSON]").await?).await?;
    page.click(&page.find_with_text("section[aria-label=Problems] button", "Must not be empty").await?)
        .await?;
    page.find(".cm-lintRange-error").await?;
    page.drawn().await?;
    window.keep_picture("process-json").await?;
    page.press_named("button", "Save").await?;
    page.find_with_text("section[aria-label=Problems]", "Must not be empty").await?;
    let view = window.call("project_workflow_get", path).await?;
    ensure!(view["workflow"]["states"][3]["column"] == "Acceptance", "nothing broken is put in force");
    Ok(())
}

/// A hook that fails whenever it runs.
const HOOK: &str = "echo no licence found >&2; exit 3";

#[tokio::test]
async fn blocking_hook_added_in_settings_holds_agent_until_skipped() -> Result<()> {
    let window = Window::open().await?;
    let outcome = hook_holds_work(&window).await;
    window.end("process-hook", outcome).await
}

async fn hook_holds_work(window: &Window) -> Result<()> {
    let page = &window.page;
    let fixture = ProjectFixture::prepare(window, "sh", &["-c", "echo done > work.txt"]).await?;
    let task = fixture.task(window, "Needs a licence").await?;
    page.find(&card_in("Todo", "Needs a licence")).await?;
    go(page, &format!("#/settings/project/{}?tab=hooks", fixture.project_id)).await?;

    page.press_named("button", "Add script").await?;
    page.type_into(&page.find("[data-path='before_work[0].command'] textarea").await?, HOOK).await?;
    page.click(&page.find("[data-path='before_work[0].blocking'] [role=switch]").await?).await?;
    page.press_named("button", "Test").await?;
    page.press_named("button", "Run test").await?;
    page.find_with_text("section[aria-label=Test]", "Exit code 3").await?;
    page.find_with_text("section[aria-label=Test]", "no licence found").await?;
    window.keep_picture("process-hook-test").await?;
    page.press_named("button", "Save").await?;
    until("the saved hook", async || {
        let view = window.call("project_settings_get", json!({ "project_id": fixture.project_id })).await?;
        let hook = &view["settings"]["lifecycle_hooks"]["before_work"][0];
        Ok((hook["command"] == HOOK && hook["blocking"] == true).then_some(()))
    })
    .await?;

    fixture.claim(window, &task).await?;
    go(page, &format!("#/task/{}/1", fixture.project_id)).await?;
    page.find_with_text("main", "no licence found").await?;
    let first = failure(window, &task, "").await?;
    window.keep_picture("process-hook-failed").await?;

    page.press_named("button", "Rerun hook").await?;
    failure(window, &task, &first).await?;
    page.press_named("button", "Skip hook once").await?;
    page.type_into(&page.find("main form textarea").await?, "the licence comes tomorrow").await?;
    // The page may learn only now that the hook ran and failed again: the form comes back with its words.
    page.click(&page.find_with_text("main form button", "Skip hook once").await?).await?;
    let done = |task: &Value| task["review"]["status"] == "awaiting_human" || task["diff_stat"]["files"] == 1;
    until("the agent's work", async || {
        let now = window.call("task_get", json!({ "task_id": task["id"] })).await?;
        Ok(done(&now).then_some(()))
    })
    .await?;
    page.named("button", "Approve").await.map(drop)
}

/// The time of the hook's failure, once it differs from `before`.
async fn failure(window: &Window, task: &Value, before: &str) -> Result<String> {
    until("the hook's failure", async || {
        let now = window.call("task_get", json!({ "task_id": task["id"] })).await?;
        let trouble = &now["error_annotation"];
        let at = trouble["at"].as_str().filter(|_| trouble["type"] == "before_work_hook_failed");
        Ok(at.filter(|at| *at != before).map(str::to_owned))
    })
    .await
}

/// Goes to an address, as a link would.
async fn go(page: &Session, address: &str) -> Result<()> {
    page.execute("location.hash = arguments[0]", &[address.into()]).await.map(drop)
}
