//! The demo as a new user tries it: from the empty window to merged work, by pointer and by keyboard.

use std::path::Path;

use anyhow::{Context as _, Result, bail, ensure};
use forge_testkit::HERMETIC_GIT;
use forge_tests::{
    patience::until,
    webdriver::{Session, keys},
    window::Window,
};
use tokio::process::Command;

use crate::board::{card_in, drag_to};

const FRENCH: &str = "Greet people in French";
const FRENCH_FILE: &str = "src/greetings/fr.txt";
const FRENCH_LINE: &str = "Bonjour, NAME !";

const DAYTIME: &str = "Greet by the time of day";
const DAYTIME_FILE: &str = "src/daytime.sh";
const DAYTIME_LINE: &str = "greeting=\"Good morning\"";

#[tokio::test]
async fn demo_from_empty_window_is_merged_by_pointer() -> Result<()> {
    let window = Window::open().await?;
    let outcome = with_the_pointer(&window).await;
    window.end("newcomer-pointer", outcome).await
}

/// From the empty window to merged work, by pointer.
pub async fn with_the_pointer(window: &Window) -> Result<()> {
    let page = &window.page;
    page.press_named("button", "Try the demo").await?;
    page.find(&card_in("Todo", FRENCH)).await?;
    assert_eq!(page.find_all("[data-task]").await?.len(), 7, "every task of the demo has its card");
    window.keep_picture("newcomer-board").await?;

    // Opened before the agent is asked, so that whatever appears has come while it was looked at.
    page.click_on(&card_in("Todo", FRENCH)).await?;
    page.find(&format!("article[aria-label='Task 1: {FRENCH}']")).await?;
    assert!(!page.has("[role=log]").await?, "nothing is said before the agent starts");

    drag_to(page, &card_in("Todo", FRENCH), "In progress").await?;
    page.find(&card_in("In progress", FRENCH)).await?;
    page.named("button", "Undo").await?;
    window.keep_picture("newcomer-undo").await?;

    page.find_with_text("article [role=log]", "A language is one line").await?;
    page.find_with_text("article [role=log]", "French is in").await?;
    window.keep_picture("newcomer-conversation").await?;

    page.named("button", "Approve").await?;
    page.press_named("tab", "Review").await?;
    check_has_passed(page).await?;
    window.keep_picture("newcomer-review").await?;
    page.press_named("tab", "Diff").await?;
    show_file(page, FRENCH_FILE, async || page.press_named("button", "Next file").await).await?;
    diff_adds(page, FRENCH_FILE, FRENCH_LINE).await?;
    window.keep_picture("newcomer-diff").await?;

    page.press_named("button", "Approve").await?;
    page.find(&card_in("Done", FRENCH)).await?;
    page.press_named("button", "Close panel").await?;
    page.wait_gone("article").await?;
    window.keep_picture("newcomer-done").await?;
    work_is_merged(window, FRENCH_FILE, FRENCH_LINE).await
}

#[tokio::test]
async fn demo_from_empty_window_is_merged_by_keyboard() -> Result<()> {
    let window = Window::open().await?;
    let outcome = with_the_keyboard(&window).await;
    window.end("newcomer-keyboard", outcome).await
}

async fn with_the_keyboard(window: &Window) -> Result<()> {
    let page = &window.page;
    page.tab_to("button", "Try the demo").await?;
    page.press(&[keys::ENTER]).await?;
    page.find(&card_in("Todo", DAYTIME)).await?;
    take_to_work(window).await?;

    // The focus is still on the card, where Enter opens it.
    page.press(&[keys::ENTER]).await?;
    page.find(&format!("article[aria-label='Task 4: {DAYTIME}']")).await?;
    page.find_with_text("article [role=log]", "I have a look around first.").await?;
    page.named("button", "Stop").await.context("the agent's words are shown while it works")?;
    page.find_with_text("article [role=log]", "Done. The tests cover every border").await?;
    page.named("button", "Approve").await?;

    page.press(&["3"]).await?;
    check_has_passed(page).await?;
    page.press(&["2"]).await?;
    show_file(page, DAYTIME_FILE, async || page.press(&["n"]).await).await?;
    diff_adds(page, DAYTIME_FILE, DAYTIME_LINE).await?;

    page.tab_to("button", "Approve").await?;
    page.press(&[keys::ENTER]).await?;
    page.find(&card_in("Done", DAYTIME)).await?;
    window.keep_picture("newcomer-keyboard").await?;
    work_is_merged(window, DAYTIME_FILE, DAYTIME_LINE).await
}

/// Moves the card to the agent by keyboard; the live region announces each step.
async fn take_to_work(window: &Window) -> Result<()> {
    let page = &window.page;
    page.tab_into("[data-task]").await?;
    page.press(&[keys::HOME]).await?;
    page.wait_for_focus(&card_in("Todo", FRENCH)).await?;
    page.press_each(&[keys::DOWN; 3]).await?;
    page.wait_for_focus(&card_in("Todo", DAYTIME)).await?;

    page.press(&[keys::SPACE]).await?;
    page.wait_for_announcement("Picked up task 4. Todo, position 4 of 7.").await?;
    page.press(&[keys::RIGHT]).await?;
    page.wait_for_announcement("Task 4: In progress, position 1 of 1.").await?;
    window.keep_picture("newcomer-carried").await?;
    page.press(&[keys::SPACE]).await?;
    page.wait_for_announcement("Moved task 4 to In progress.").await?;
    page.find(&card_in("In progress", DAYTIME)).await?;
    page.named("button", "Undo").await?;
    page.wait_for_focus(&card_in("In progress", DAYTIME)).await
}

async fn check_has_passed(page: &Session) -> Result<()> {
    page.named("listitem", "sh test.sh").await?;
    page.find("article li [role=img][aria-label=Passed]").await.map(drop)
}

/// Goes to a file of the diff step by step, until its head is in the scroll.
async fn show_file(page: &Session, file: &str, step: impl AsyncFn() -> Result<()>) -> Result<()> {
    const SHOWN: &str =
        "return [...document.querySelectorAll('article [data-head]')].map((it) => it.dataset.head)";
    page.find("article [data-head]").await?;
    for _ in 0..4 {
        let shown = page.execute(SHOWN, &[]).await?;
        if shown.as_array().is_some_and(|names| names.iter().any(|name| name == file)) {
            return Ok(());
        }
        step().await?;
        until(&format!("a file after {shown}"), async || {
            Ok((page.execute(SHOWN, &[]).await? != shown).then_some(()))
        })
        .await?;
    }
    bail!("failed to reach {file} in the diff")
}

async fn diff_adds(page: &Session, file: &str, wanted: &str) -> Result<()> {
    page.find(&format!("article [data-head='{file}']")).await?;
    until(&format!("the added line {wanted:?}"), async || {
        let added = page.texts_everywhere("[data-kind=added]").await?;
        Ok(added.iter().any(|line| line.contains(wanted)).then_some(()))
    })
    .await
}

/// Checks with git that the work is on `main`, which is checked out, and that the checkout is clean.
async fn work_is_merged(window: &Window, file: &str, wanted: &str) -> Result<()> {
    let repository = window.data_dir().join("demo/greetings");
    let merged = git(&repository, &["show", &format!("main:{file}")]).await?;
    assert!(merged.contains(wanted), "{merged}");
    assert_eq!(git(&repository, &["branch", "--show-current"]).await?, "main\n");
    assert_eq!(git(&repository, &["status", "--porcelain"]).await?, "");
    assert!(repository.join(file).is_file(), "the checkout follows its branch");
    Ok(())
}

async fn git(repository: &Path, args: &[&str]) -> Result<String> {
    let output = Command::new("git").args(args).current_dir(repository).envs(HERMETIC_GIT).output().await?;
    ensure!(output.status.success(), "git {args:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).context("failed to read what git printed")
}
