//! Opening the window: its content, its permissions, and a second start that uses the first window.

use anyhow::Result;
use forge_tests::window::Window;

use crate::fixture::{ProjectFixture, text};

#[tokio::test]
async fn empty_data_folder_shows_empty_state() -> Result<()> {
    let window = Window::open().await?;
    window.page.find("main").await?;
    window.keep_picture("empty").await?;

    assert_eq!(window.display.windows_titled("Forge").await?.len(), 1);
    assert!(window.data_dir().join("engine.lock").is_file(), "the engine runs in the window's process");
    // Under LANG=C, WebKit would answer "C" here, at which Intl throws.
    assert_eq!(window.page.execute("return navigator.language", &[]).await?, "en-US");
    window.page.close().await
}

#[tokio::test]
async fn page_can_call_only_contract_operations() -> Result<()> {
    let window = Window::open().await?;
    let meta = window.call("meta", serde_json::json!({})).await?;
    assert_eq!(text(&meta, "data_dir")?, window.data_dir().display().to_string());

    let refused = window.call("no_such_operation", serde_json::json!({})).await.unwrap_err().to_string();
    assert!(refused.contains(r#""code":"not_found""#), "{refused}");

    const INVOKE: &str = "const [command, input, done] = arguments;
        window.__TAURI_INTERNALS__.invoke(command, input).then(() => done('allowed'), (e) => done(String(e)));";
    for command in
        ["plugin:shell|execute", "plugin:dialog|open", "plugin:window|close", "plugin:notification|notify"]
    {
        let answer = window.page.execute_async(INVOKE, &[command.into(), serde_json::json!({})]).await?;
        assert!(answer.as_str().is_some_and(|text| text.contains("not allowed")), "{command}: {answer}");
    }
    window.page.close().await
}

#[tokio::test]
async fn second_start_with_link_opens_its_task() -> Result<()> {
    let window = Window::open().await?;
    let fixture = ProjectFixture::prepare(&window, "true", &[]).await?;
    window.page.find("main").await?;
    fixture.task(&window, "First").await?;
    let task = fixture.task(&window, "Second").await?;

    let link = format!("forge://task/{}", text(&task, "id")?);
    let second = window.another_start()?.arg(link).output().await?;
    assert_eq!(second.status.code(), Some(0), "{}", String::from_utf8_lossy(&second.stderr));

    window.wait_for_address(&format!("#/task/{}/2", fixture.project_id)).await?;
    assert_eq!(window.display.windows_titled("Forge").await?.len(), 1);
    window.page.close().await
}
