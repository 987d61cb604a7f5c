//! The first hour as a developer has it: an empty window, their own repository with a check, a real agent program that is
//! installed, and a first task that ends merged. By pointer, and by keyboard alone.

use anyhow::{Result, ensure};
use forge_testkit::{
    Repository,
    models::{ModelServer, Scenario, Turn},
};
use forge_tests::{
    display::Display,
    webdriver::{Session, keys},
    window::Window,
};

use crate::{
    agents::{PROGRAM, install},
    board::{card_in, drag_to},
};

const TITLE: &str = "Say goodbye";
const CHECK: &str = "npm run test";

/// The files of the repository. Its check passes only once the work is done.
const FILES: [(&str, &str); 2] = [
    ("README.md", "hello\n"),
    ("package.json", r#"{ "name": "greeter", "scripts": { "test": "grep -q goodbye README.md" } }"#),
];

/// How the person goes about it.
#[derive(Clone, Copy)]
enum By {
    Pointer,
    Keyboard,
}

#[tokio::test(flavor = "multi_thread")]
async fn first_task_of_an_own_repository_is_merged_by_pointer() -> Result<()> {
    first_hour(By::Pointer, "own-pointer").await
}

#[tokio::test(flavor = "multi_thread")]
async fn first_task_of_an_own_repository_is_merged_by_keyboard() -> Result<()> {
    first_hour(By::Keyboard, "own-keyboard").await
}

async fn first_hour(by: By, name: &str) -> Result<()> {
    let folder = tempfile::tempdir()?;
    let server = ModelServer::start().await?;
    let seat = PROGRAM.settle(&folder.path().join("seat"), &server)?;
    let repository = Repository::create(&folder.path().join("greeter"), &FILES)?;
    let display = Display::start(folder.path()).await?;
    install(&seat, folder.path())?;
    let told = server.script(
        Scenario::new("first")
            .turn(Turn::new().edit("README.md", "hello", "goodbye"))
            .turn(Turn::new().say("The README says goodbye now.")),
    );
    let window = Window::open_on(display, folder).await?;
    let outcome = async {
        match by {
            By::Pointer => with_the_pointer(&window, &repository, &told).await?,
            By::Keyboard => with_the_keyboard(&window, &repository, &told).await?,
        }
        let merged = repository.git(&["show", "main:README.md"])?;
        ensure!(merged.trim() == "goodbye", "the work is on the branch: {merged}");
        ensure!(
            repository.git(&["status", "--porcelain"])?.trim().is_empty(),
            "the checkout is as it was left"
        );
        ensure!(server.refused().is_empty(), "{:?}", server.refused());
        window.keep_picture(name).await
    };
    let outcome = outcome.await;
    window.end(name, outcome).await
}

async fn with_the_pointer(window: &Window, repository: &Repository, told: &str) -> Result<()> {
    let page = &window.page;
    page.press_named("button", "Add Claude Code").await?;
    page.find_with_text("main", "Added").await?;
    page.press_named("button", "Add project").await?;
    let path = page.find("[role=dialog] input").await?;
    page.type_into(&path, &repository.path().to_string_lossy()).await?;
    page.press_named("checkbox", CHECK).await?;
    page.click_on("[role=dialog] footer button[data-variant=primary]").await?;

    page.find_with_text("main", "No tasks yet").await?;
    page.press_named("button", "Create first task").await?;
    page.type_into(&page.named("textbox", "Title").await?, TITLE).await?;
    page.type_into(&page.named("textbox", "Description").await?, told).await?;
    page.press_named("button", "Create task").await?;
    drag_to(page, &card_in("Todo", TITLE), "In progress").await?;
    page.click_on(&card(TITLE)).await?;
    is_reviewed(page).await?;
    page.press_named("button", "Approve").await?;
    page.find(&card_in("Done", TITLE)).await.map(drop)
}

async fn with_the_keyboard(window: &Window, repository: &Repository, told: &str) -> Result<()> {
    let page = &window.page;
    page.tab_to("button", "Add Claude Code").await?;
    page.press(&[keys::ENTER]).await?;
    page.find_with_text("main", "Added").await?;
    page.tab_to("button", "Add project").await?;
    page.press(&[keys::ENTER]).await?;
    page.wait_for_focus("[role=dialog] input").await?;
    write(page, &repository.path().to_string_lossy()).await?;
    page.tab_to("checkbox", CHECK).await?;
    page.press(&[keys::SPACE]).await?;
    page.tab_into("[role=dialog] footer button[data-variant=primary]").await?;
    page.press(&[keys::ENTER]).await?;

    page.find_with_text("main", "No tasks yet").await?;
    page.press(&["c"]).await?;
    page.wait_for_focus("[role=dialog] input").await?;
    write(page, TITLE).await?;
    page.tab_into("[role=dialog] textarea").await?;
    write(page, told).await?;
    page.press(&[keys::CONTROL, keys::SHIFT, keys::ENTER]).await?;
    page.find(&card(TITLE)).await?;
    page.tab_into("[data-task]").await?;
    page.press(&[keys::ENTER]).await?;
    is_reviewed(page).await?;
    page.tab_to("button", "Approve").await?;
    page.press(&[keys::ENTER]).await?;
    page.find(&card_in("Done", TITLE)).await.map(drop)
}

/// The agent's last words are shown, and the work waits for the person.
async fn is_reviewed(page: &Session) -> Result<()> {
    page.find_with_text("article [role=log]", "The README says goodbye now.").await?;
    page.named("button", "Approve").await.map(drop)
}

/// The card in whatever column it is.
fn card(title: &str) -> String {
    format!("[data-task][aria-label*='{title}']")
}

/// Types into what has the focus.
async fn write(page: &Session, text: &str) -> Result<()> {
    for letter in text.chars() {
        page.press(&[letter.to_string().as_str()]).await?;
    }
    Ok(())
}
