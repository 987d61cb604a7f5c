//! The built window, driven: the program that `cargo build --workspace` leaves, on a screen of its own.

use std::{
    env, fs,
    net::TcpListener,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
};

use anyhow::{Context as _, Result, bail};
use tempfile::TempDir;
use tokio::process::Child;

use crate::{children::start, display::Display, webdriver::Session};

/// Pictures that people may look at afterwards; not in git.
const ARTEFACTS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/desktop/artefacts");

/// The window with its screen. Dropping it ends everything.
pub struct Window {
    /// The page.
    pub page: Session,
    /// The screen it is on.
    pub display: Display,
    data_dir: PathBuf,
    _driver: Child,
    _folder: TempDir,
}

impl Window {
    /// Opens the window on an empty data folder.
    ///
    /// # Errors
    /// When the program is not built, or the screen, the driver or the window does not come up.
    pub async fn open() -> Result<Self> {
        let folder = tempfile::tempdir()?;
        let display = Display::start(folder.path()).await?;
        let data_dir = folder.path().join("forge");
        let (driver, page) = drive(&display, &data_dir).await?;
        Ok(Self { page, display, data_dir, _driver: driver, _folder: folder })
    }

    /// The engine's data folder.
    pub fn data_dir(&self) -> &Path {
        &self.data_dir
    }

    /// Keeps a picture of the page as `{name}.png`.
    ///
    /// # Errors
    /// When it cannot be taken or written.
    pub async fn keep_picture(&self, name: &str) -> Result<()> {
        fs::create_dir_all(ARTEFACTS)?;
        let path = Path::new(ARTEFACTS).join(name).with_extension("png");
        fs::write(&path, self.page.screenshot().await?)
            .with_context(|| format!("failed to write {}", path.display()))
    }
}

/// The program under test, beside the test's own in the target folder.
///
/// # Errors
/// When it has not been built.
pub fn program() -> Result<PathBuf> {
    let test = env::current_exe()?;
    let folder = test.ancestors().nth(2).context("failed to find the target folder")?;
    let program = folder.join("forge-desktop");
    if !program.is_file() {
        bail!(
            "{} is not there: run `cargo build --workspace` first, as `cargo xtask test` does",
            program.display()
        );
    }
    Ok(program)
}

/// Starts the driver and, through it, the program.
async fn drive(display: &Display, data_dir: &Path) -> Result<(Child, Session)> {
    let logs = display.folder().join("logs");
    let port = free_port()?;
    let mut driver = display.program("WebKitWebDriver");
    driver
        .args([format!("--port={port}"), "--host=127.0.0.1".to_owned()])
        .env("TAURI_WEBVIEW_AUTOMATION", "true")
        .env("FORGE_DATA_DIR", data_dir);
    let driver = start(driver.stdout(fs::File::create(logs.join("app.log"))?), &logs.join("driver.log"))?;
    let binary = tied_to_the_driver(display.folder())?;
    let opened = Session::open(&format!("http://127.0.0.1:{port}"), &binary, &[]).await;
    let log = || fs::read_to_string(logs.join("driver.log")).unwrap_or_default();
    let page = opened.with_context(|| format!("failed to open the window; it said: {}", log()))?;
    Ok((driver, page))
}

/// The driver leaves the program alone when it is killed, so the program is started by one that ties them.
fn tied_to_the_driver(folder: &Path) -> Result<PathBuf> {
    let path = folder.join("forge-desktop");
    let script = format!("#!/bin/sh\nexec setpriv --pdeathsig KILL -- '{}' \"$@\"\n", program()?.display());
    fs::write(&path, script)?;
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755))?;
    Ok(path)
}

fn free_port() -> Result<u16> {
    // Free again when this returns; nothing else on a test machine hurries to take it.
    Ok(TcpListener::bind(("127.0.0.1", 0))?.local_addr()?.port())
}
