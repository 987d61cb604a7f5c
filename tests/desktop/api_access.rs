//! Access of other programs, as the window's settings show it: the token and the client configuration are reached
//! by keyboard, and the engine accepts what is shown and copied.

use anyhow::{Context as _, Result, ensure};
use forge_tests::{patience::until, webdriver::keys, window::Window};
use reqwest::StatusCode;
use serde_json::{Value, json};

use crate::{
    access::{clean, load, violations},
    fixture::text,
};

const SECTION: &str = "section[aria-label='API and MCP']";
const SHOWN: &str = "section[aria-label='API and MCP'] p code";
/// The name of a copy button shortly after the copy.
const COPIED: &str = "button[aria-label=Copied]";

#[tokio::test]
async fn token_and_configuration_are_copied_by_keyboard() -> Result<()> {
    let window = Window::open().await?;
    let outcome = token_and_configuration_are_copied(&window).await;
    window.end("api-access", outcome).await
}

async fn token_and_configuration_are_copied(window: &Window) -> Result<()> {
    let page = &window.page;
    page.find("main").await?;
    page.press_each(&["g", "s"]).await?;
    window.wait_for_address("#/settings").await?;
    page.find(&format!("{SECTION} [role=switch]")).await?;
    let first = token_in_file(window).await?;
    ensure!(!is_on_page(window, &first).await?, "the token is on the page before it is asked for");

    page.tab_to("button", "Show token").await?;
    page.press(&[keys::ENTER]).await?;
    page.wait_for_text(SHOWN, &first).await?;
    page.wait_for_focus("[aria-label='Hide token'][aria-expanded=true]").await?;
    window.keep_picture("api-access-shown").await?;
    load(window).await?;
    clean(&violations(window, "api-access").await?)?;
    page.press(&[keys::ENTER]).await?;
    page.wait_for_focus("[aria-label='Show token']").await?;
    ensure!(!is_on_page(window, &first).await?, "the token is on the page after it was hidden");
    assert_eq!(request_with(window, &first).await?, StatusCode::OK);

    let second = renew_token(window, &first).await?;
    page.tab_to("button", "Copy token").await?;
    page.press(&[keys::ENTER]).await?;
    page.wait_for_focus(COPIED).await?;
    assert_eq!(paste_clipboard(window).await?, second);
    a_configuration_is_copied(window).await
}

/// Renews the token and checks that the old one is refused.
async fn renew_token(window: &Window, first: &str) -> Result<String> {
    let page = &window.page;
    page.press(&[keys::ENTER]).await?;
    page.wait_for_text(SHOWN, first).await?;
    page.tab_to("button", "Renew token").await?;
    page.press(&[keys::ENTER]).await?;
    page.wait_for_text("[role=alertdialog]", "The current token stops working immediately").await?;
    // Its last button; the one that opened it has the same name.
    page.tab_into("[role=alertdialog] footer button:last-child").await?;
    page.press(&[keys::ENTER]).await?;
    page.wait_gone("[role=alertdialog]").await?;
    let second = token_in_file(window).await?;
    page.wait_for_text(SHOWN, &second).await?;
    ensure!(!is_on_page(window, first).await?, "the old token is still shown");
    assert_eq!(request_with(window, first).await?, StatusCode::UNAUTHORIZED);
    assert_eq!(request_with(window, &second).await?, StatusCode::OK);
    Ok(second)
}

async fn a_configuration_is_copied(window: &Window) -> Result<()> {
    let page = &window.page;
    page.tab_to("radio", "Codex").await?;
    page.press(&[keys::RIGHT]).await?;
    page.tab_to("button", "Copy Claude Code configuration").await?;
    page.press(&[keys::ENTER]).await?;
    page.wait_for_focus(COPIED).await?;
    window.keep_picture("api-access-copied").await?;
    let copied: Value =
        serde_json::from_str(&paste_clipboard(window).await?).context("what was copied is JSON")?;
    let server = &copied["mcpServers"]["forge"];
    assert_eq!(server["args"], json!(["mcp", "--data-dir", window.data_dir()]));
    ensure!(server["command"].as_str().is_some_and(|it| it.ends_with("forge")), "it starts forge: {server}");
    Ok(())
}

#[tokio::test]
async fn mcp_turned_off_removes_its_address() -> Result<()> {
    let window = Window::open().await?;
    let outcome = mcp_is_switched(&window).await;
    window.end("api-access-switch", outcome).await
}

async fn mcp_is_switched(window: &Window) -> Result<()> {
    let page = &window.page;
    page.find("main").await?;
    page.execute("location.hash = '#/settings?part=api'", &[]).await?;
    page.wait_for_focus(&format!("{SECTION} h2")).await?;
    let access = window.call("doors_get", json!({})).await?;
    page.wait_for_text(&format!("{SECTION} code"), &text(&access, "mcp_url")?).await?;
    page.click_on(&format!("{SECTION} [role=switch][aria-checked=true]")).await?;
    page.find(&format!("{SECTION} [role=switch][aria-checked=false]")).await?;
    page.wait_gone("[aria-label='Copy MCP address']").await?;
    let access = window.call("doors_get", json!({})).await?;
    ensure!(access["mcp_url"].is_null() && access["mcp_enabled"] == false, "MCP is off: {access}");
    page.press_named("radio", "HTTP").await?;
    page.wait_for_text(SECTION, "MCP over HTTP is off").await?;
    window.keep_picture("api-access-off").await
}

/// The token in its file.
async fn token_in_file(window: &Window) -> Result<String> {
    let file = window.data_dir().join("token");
    let token = tokio::fs::read_to_string(&file).await.context("failed to read the token's file")?;
    Ok(token.trim().to_owned())
}

async fn is_on_page(window: &Window, token: &str) -> Result<bool> {
    const SCRIPT: &str = "return document.documentElement.outerHTML.includes(arguments[0])";
    Ok(window.page.execute(SCRIPT, &[token.into()]).await? == json!(true))
}

/// The content of the clipboard, pasted into a text field.
async fn paste_clipboard(window: &Window) -> Result<String> {
    const FIELD: &str = "[role=dialog] input";
    let page = &window.page;
    page.press(&[keys::CONTROL, "k"]).await?;
    page.wait_for_focus(FIELD).await?;
    page.press(&[keys::CONTROL, "v"]).await?;
    let line = until("what is pasted", async || {
        let value = page.execute("return document.activeElement.value ?? ''", &[]).await?;
        Ok(value.as_str().filter(|line| !line.is_empty()).map(str::to_owned))
    })
    .await?;
    page.press(&[keys::ESCAPE]).await?;
    page.wait_gone(FIELD).await?;
    Ok(line)
}

/// The status of a request with a token.
async fn request_with(window: &Window, token: &str) -> Result<StatusCode> {
    let url = text(&window.call("doors_get", json!({})).await?, "url")?;
    let client = reqwest::Client::builder().no_proxy().build()?;
    Ok(client.get(format!("{url}/api/v1/meta")).bearer_auth(token).send().await?.status())
}
