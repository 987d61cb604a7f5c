//! A newcomer tries the demo: from the empty window to work that is merged, by pointer and by keyboard.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, ensure};
use forge_testkit::HERMETIC_GIT;
use forge_tests::{
    patience::until,
    webdriver::{Element, Session},
    window::Window,
};
use tokio::process::Command;

const TITLE: &str = "Greet people in French";

#[tokio::test]
async fn by_pointer() -> Result<()> {
    let window = Window::open().await?;
    let outcome = with_the_pointer(&window).await;
    window.end("newcomer-pointer", outcome).await
}

async fn with_the_pointer(window: &Window) -> Result<()> {
    let page = &window.page;
    page.press_named("button", "Try the demo project").await?;
    let card = page.find(&card_in("Todo", TITLE)).await?;
    assert_eq!(page.find_all("[data-task]").await?.len(), 6, "every task of the demo has its card");
    window.keep_picture("newcomer-board").await?;

    drag_to(page, &card, "In progress").await?;
    page.find(&card_in("In progress", TITLE)).await?;
    page.named("button", "Undo").await?;
    window.keep_picture("newcomer-undo").await?;

    // Opened before the agent starts, so that whatever appears has come while it was looked at.
    page.click(&page.find(&card_in("In progress", TITLE)).await?).await?;
    page.find(&format!("article[aria-label='Task 1: {TITLE}']")).await?;
    assert!(!page.has("[role=log]").await?, "nothing is said before the agent starts");
    page.wait_for_text("article [role=log]", "A language is one line").await?;
    page.wait_for_text("article [role=log]", "French is in").await?;
    window.keep_picture("newcomer-conversation").await?;

    page.named("button", "Approve").await?;
    look_at_the_work(page).await?;
    window.keep_picture("newcomer-diff").await?;
    page.press_named("button", "Approve").await?;
    page.find(&card_in("Done", TITLE)).await?;
    window.keep_picture("newcomer-done").await?;
    work_is_merged(&demo_repository(window)).await
}

/// The review has passed its check, and the diff shows what is new.
async fn look_at_the_work(page: &Session) -> Result<()> {
    page.press_named("tab", "Review").await?;
    page.named("listitem", "sh test.sh").await?;
    page.find("article li [role=img][aria-label=Passed]").await?;

    page.press_named("tab", "Diff").await?;
    page.click(&page.find("article button[title='src/greetings/fr.txt']").await?).await?;
    page.find("article section[aria-label='src/greetings/fr.txt']").await?;
    until("the added line", async || {
        let added = page.texts_everywhere("[data-line-type=change-addition], [data-kind=added]").await?;
        Ok(added.iter().any(|line| line.contains("Bonjour, NAME !")).then_some(()))
    })
    .await
}

/// The selector of a card in a column.
fn card_in(column: &str, title: &str) -> String {
    format!("section[aria-label^='{column},'] [data-task][aria-label*='{title}']")
}

async fn drag_to(page: &Session, card: &Element, column: &str) -> Result<()> {
    let target = page.find(&format!("section[aria-label^='{column},']")).await?;
    let (from, to) = (page.rect(card).await?.centre(), page.rect(&target).await?.centre());
    page.drag(from, to).await
}

fn demo_repository(window: &Window) -> PathBuf {
    window.data_dir().join("demo/greetings")
}

/// As git sees it: the work is on `main`, which is checked out, and nothing lies about.
async fn work_is_merged(repository: &Path) -> Result<()> {
    assert_eq!(git(repository, &["show", "main:src/greetings/fr.txt"]).await?, "Bonjour, NAME !\n");
    assert_eq!(git(repository, &["branch", "--show-current"]).await?, "main\n");
    assert_eq!(git(repository, &["status", "--porcelain"]).await?, "");
    assert!(repository.join("tests/french.sh").is_file(), "the checkout follows its branch");
    Ok(())
}

async fn git(repository: &Path, args: &[&str]) -> Result<String> {
    let output = Command::new("git").args(args).current_dir(repository).envs(HERMETIC_GIT).output().await?;
    ensure!(output.status.success(), "git {args:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).context("failed to read what git printed")
}
