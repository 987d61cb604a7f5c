//! The window opens, and shows what it has.

use anyhow::Result;
use forge_tests::window::Window;

#[tokio::test]
async fn an_empty_data_folder_shows_the_empty_state() -> Result<()> {
    let window = Window::open().await?;
    window.page.find("main").await?;
    window.keep_picture("empty").await?;

    assert_eq!(window.display.windows_titled("Forge").await?.len(), 1);
    assert!(window.data_dir().join("engine.lock").is_file(), "the engine runs in the window's process");
    // Under LANG=C, WebKit would answer "C" here, at which Intl throws.
    assert_eq!(window.page.execute("return navigator.language", &[]).await?, "en-US");
    window.page.close().await
}
