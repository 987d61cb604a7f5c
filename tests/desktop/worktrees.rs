//! Worktrees in the window: a missing one is reset and used again, orphans are reclaimed, and the subtasks of a
//! task run in order.

use std::path::Path;

use anyhow::{Context as _, Result, ensure};
use forge_testkit::HERMETIC_GIT;
use forge_tests::{
    patience::until,
    webdriver::{Session, keys},
    window::Window,
};
use serde_json::{Value, json};
use tokio::process::Command;

use crate::fixture::{ProjectFixture, go, reach, read, text};

/// Adds a line to a file, so that every run has a change to commit.
const WRITES: &[&str] = &["-c", "echo done >> made.txt"];

#[tokio::test]
async fn missing_worktree_is_reset_and_used_again() -> Result<()> {
    let window = Window::open().await?;
    let outcome = reset(&window).await;
    window.end("spaces-reset", outcome).await
}

async fn reset(window: &Window) -> Result<()> {
    let page = &window.page;
    let fixture = ProjectFixture::prepare(window, "sh", WRITES).await?;
    let task = fixture.task(window, "Lost and found").await?;
    delete_worktree(window, &task).await?;
    // The person gives the work back first: a claim replaces nobody.
    let now = read(window, &task).await?;
    let assign = json!({
        "task_id": task["id"], "role": "coder", "holder": fixture.agent_id, "version": now["version"],
    });
    window.call("task_assign", assign).await?;
    fixture.claim(window, &read(window, &task).await?).await?;

    go(page, &format!("#/board/{}?task=1", fixture.project_id)).await?;
    page.find("[role=alert][aria-label='The worktree and its branch are missing']").await?;
    window.keep_picture("spaces-gone").await?;
    page.press_named("button", "Reset worktree").await?;
    page.wait_for_text("[role=alertdialog]", "Earlier commits are not included.").await?;
    window.keep_picture("spaces-reset-dialog").await?;
    confirm(page).await?;
    page.wait_for_text("article [role=alert]", "The workspace was reset").await?;

    page.press_named("button", "Start over").await?;
    confirm(page).await?;
    page.named("button", "State: Todo").await?;
    page.press_named("button", "Start").await?;
    page.named("button", "Approve").await?;
    let now = read(window, &task).await?;
    let path = text(&now["workspace"], "path")?;
    ensure!(Path::new(&path).join("made.txt").is_file(), "the agent worked in the new worktree");

    page.press(&["g"]).await?;
    page.press(&["w"]).await?;
    window.wait_for_address("#/workspaces").await?;
    let listed = "section[aria-label='Worktrees of sample'] li";
    page.wait_for_text(listed, "Lost and found").await?;
    page.wait_for_text(listed, &text(&now["workspace"], "branch")?).await?;
    window.keep_picture("spaces-page").await
}

/// Claims the task and moves it back, then deletes its worktree and branch outside Forge.
async fn delete_worktree(window: &Window, task: &Value) -> Result<()> {
    let claim = json!({ "task_id": task["id"], "agent_id": "user", "version": task["version"] });
    window.call("task_claim", claim).await?;
    // Entered, not only made: the engine writes on the task until then.
    let entered = |now: &Value| now["workspace"]["status"] == "active" && now["entry_barrier"].is_null();
    let now = reach(window, task, entered).await?;
    let back = json!({ "task_id": task["id"], "to": "todo", "version": now["version"] });
    window.call("task_transition", back).await?;
    tokio::fs::remove_dir_all(text(&now["workspace"], "path")?).await?;
    git(window, &["worktree", "prune"]).await?;
    git(window, &["branch", "-D", &text(&now["workspace"], "branch")?]).await
}

#[tokio::test]
async fn orphaned_folder_is_reclaimed_after_backup() -> Result<()> {
    let window = Window::open().await?;
    let outcome = reclaim(&window).await;
    window.end("spaces-reclaim", outcome).await
}

async fn reclaim(window: &Window) -> Result<()> {
    let page = &window.page;
    ProjectFixture::prepare(window, "true", &[]).await?.task(window, "Something else").await?;
    let folder = window.data_dir().join("workspaces/sample/left-behind");
    let tree = folder.join("tree");
    let at = tree.to_str().context("a path that is text")?;
    git(window, &["worktree", "add", "-b", "forge/left-behind", at]).await?;
    tokio::fs::write(tree.join("notes.txt"), "not committed\n").await?;

    go(page, "#/workspaces").await?;
    let listed = "section[aria-label='Orphaned folders'] li";
    page.wait_for_text(listed, "1 uncommitted file").await?;
    window.keep_picture("spaces-orphan").await?;
    page.press_named("button", "Remove sample/left-behind").await?;
    page.wait_for_text("[role=alertdialog]", "Backs up uncommitted work").await?;
    confirm(page).await?;
    page.wait_gone(listed).await?;
    ensure!(!tree.exists(), "the folder is gone");

    page.press_named("button", "1 backup").await?;
    page.wait_for_text("[aria-label=Backups] li", "Orphaned folder left-behind").await?;
    window.keep_picture("spaces-reclaimed").await
}

#[tokio::test]
async fn subtasks_added_in_panel_run_in_order() -> Result<()> {
    let window = Window::open().await?;
    let outcome = subtasks_run_in_order(&window).await;
    window.end("spaces-parts", outcome).await
}

async fn subtasks_run_in_order(window: &Window) -> Result<()> {
    const ROW: &str = "[aria-label=Subtasks] li";
    let page = &window.page;
    let fixture = ProjectFixture::prepare(window, "sh", WRITES).await?;
    let task = fixture.task(window, "The whole").await?;
    fixture.assign(window, &task).await?;
    go(page, &format!("#/task/{}/1", fixture.project_id)).await?;

    page.press_named("button", "Add subtask").await?;
    let field = "input[placeholder='Subtask title']";
    for title in ["First part", "Second part"] {
        let input = page.find(field).await?;
        page.type_into(&input, title).await?;
        page.press(&[keys::ENTER]).await?;
        page.wait_for_text(ROW, title).await?;
    }
    page.press(&[keys::ESCAPE]).await?;
    page.wait_gone(field).await?;
    window.keep_picture("spaces-parts-added").await?;

    page.press_named("button", "Start").await?;
    until("both parts", async || {
        let rows = page.texts_everywhere(ROW).await?;
        let done = rows.iter().filter(|row| row.contains("Committed by Forge")).count();
        Ok((done == 2).then_some(()))
    })
    .await?;
    page.named("button", "Approve").await.context("it goes on to review by itself")?;
    page.wait_for_text("[aria-label=Subtasks] button[aria-expanded]", "2 of 2").await?;
    window.keep_picture("spaces-parts-done").await?;

    let whole = read(window, &task).await?;
    let path = text(&whole["workspace"], "path")?;
    let made = tokio::fs::read_to_string(Path::new(&path).join("made.txt")).await?;
    assert_eq!(made.lines().count(), 3, "the task's own turn and one for each part, in one worktree");
    Ok(())
}

/// Confirms the open dialog.
async fn confirm(page: &Session) -> Result<()> {
    let button = page.find("[role=alertdialog] button[data-variant=danger]").await?;
    page.click(&button).await?;
    page.wait_gone("[role=alertdialog]").await
}

async fn git(window: &Window, args: &[&str]) -> Result<()> {
    let repository = window.display.folder().join("repository");
    let output = Command::new("git").args(args).current_dir(repository).envs(HERMETIC_GIT).output().await?;
    ensure!(output.status.success(), "git {args:?}: {}", String::from_utf8_lossy(&output.stderr));
    Ok(())
}
