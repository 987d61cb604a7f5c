//! The built window under a driver: the program of `cargo build --workspace` on a screen of its own.

use std::{
    fs,
    net::TcpListener,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
};

use anyhow::{Context as _, Result, bail, ensure};
use serde_json::Value;
use tempfile::TempDir;
use tokio::process::{Child, Command};

use crate::{children::start, clean_root::CleanRoot, display::Display, patience::until, webdriver::Session};

/// The program under test.
const PROGRAM: &str = "forge-desktop";

/// Pictures for people, not in git.
const ARTEFACTS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/desktop/artefacts");

/// Has the page remember what it logs as an error, what it throws, and what its content security policy refuses. What was
/// refused before is told, too.
const WATCH: &str = "
    const problems = (window.__problems ??= []);
    const keep = (kind, what) => problems.push(`${kind}: ${what}`);
    const log = console.error;
    console.error = (...words) => { keep('console', words.map(String).join(' ')); log(...words); };
    addEventListener('error', (event) => keep('error', event.message));
    addEventListener('unhandledrejection', (event) => keep('rejection', event.reason));
    const tell = ({ body }) => keep('policy', `${body.effectiveDirective} refused ${body.blockedURL}`);
    new ReportingObserver((reports) => reports.forEach(tell), { types: ['csp-violation'], buffered: true }).observe();";

/// The window with its screen. Dropping it ends everything.
pub struct Window {
    /// The page.
    pub page: Session,
    /// The screen of the window.
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
        Self::open_on(display, folder).await
    }

    /// The same on an existing screen, where other programs may already run.
    ///
    /// # Errors
    /// When the program is not built, or the driver or the window does not come up.
    pub async fn open_on(display: Display, folder: TempDir) -> Result<Self> {
        let data_dir = folder.path().join("forge");
        let (driver, page) = drive(&display, &data_dir, &[], None).await?;
        Ok(Self { page, display, data_dir, _driver: driver, _folder: folder })
    }

    /// Opens the window that is installed in a system, with the driver that is installed there.
    ///
    /// # Errors
    /// When the driver or the window does not come up.
    pub async fn open_installed(display: Display, folder: TempDir, system: &CleanRoot) -> Result<Self> {
        let data_dir = folder.path().join("forge");
        let driver = system.program(display.program("nsenter"), "WebKitWebDriver");
        let program = Path::new("/usr/bin").join(PROGRAM);
        let (driver, page) = drive_by(driver, &program, &display, &data_dir, &[]).await?;
        Ok(Self { page, display, data_dir, _driver: driver, _folder: folder })
    }

    /// Opens the window on the engine of another computer. The programs of `path` come first on its search path.
    ///
    /// # Errors
    /// When the program is not built, or the driver or the window does not come up.
    pub async fn open_connected(display: Display, folder: TempDir, host: &str, path: &Path) -> Result<Self> {
        let data_dir = folder.path().join("forge");
        let (driver, page) = drive(&display, &data_dir, &["--connect", host], Some(path)).await?;
        Ok(Self { page, display, data_dir, _driver: driver, _folder: folder })
    }

    /// Calls an operation of the host as the page does.
    ///
    /// # Errors
    /// When the operation is refused.
    pub async fn call(&self, op: &str, input: Value) -> Result<Value> {
        const SCRIPT: &str = "const [op, input, done] = arguments;
            window.__TAURI_INTERNALS__.invoke('api_call', { op, input }).then(
                (answer) => done({ answer }), (error) => done({ error }));";
        let mut outcome = self.page.execute_async(SCRIPT, &[op.into(), input]).await?;
        match outcome.get("error") {
            Some(error) => bail!("{op} was refused: {error}"),
            None => Ok(outcome["answer"].take()),
        }
    }

    /// Waits until the page is at an address: `#/task/...`.
    ///
    /// # Errors
    /// When it never gets there.
    pub async fn wait_for_address(&self, address: &str) -> Result<()> {
        until(&format!("the address {address}"), async || {
            let current = self.page.execute("return location.hash", &[]).await?;
            Ok((current == address).then_some(()))
        })
        .await
    }

    /// The program as a person would start it, with this window's data folder.
    ///
    /// # Errors
    /// When it is not built.
    pub fn another_start(&self) -> Result<Command> {
        on_data(&self.display, &self.data_dir)
    }

    /// The engine's data folder.
    pub fn data_dir(&self) -> &Path {
        &self.data_dir
    }

    /// Ends the test: closes the window, and keeps a picture of the page when the test failed.
    ///
    /// # Errors
    /// The test's own, else when the page logged or threw an error or broke its policy, or cannot be closed.
    pub async fn end(self, name: &str, outcome: Result<()>) -> Result<()> {
        if outcome.is_err() {
            // What went wrong in the test matters more than a picture that cannot be taken.
            self.keep_picture(&format!("{name}-failed")).await.ok();
        }
        outcome?;
        let problems = self.page.execute("return window.__problems ?? []", &[]).await?;
        ensure!(problems.as_array().is_some_and(Vec::is_empty), "the page had problems: {problems:#}");
        self.page.close().await
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

/// The program without a driver.
///
/// # Errors
/// When it is not built.
pub fn on_data(display: &Display, data_dir: &Path) -> Result<Command> {
    let path = forge_testkit::program(PROGRAM)?;
    let mut command = display.program(&path.to_string_lossy());
    command.env("FORGE_DATA_DIR", data_dir);
    Ok(command)
}

/// Starts the driver and, through it, the program.
async fn drive(
    display: &Display,
    data_dir: &Path,
    arguments: &[&str],
    path: Option<&Path>,
) -> Result<(Child, Session)> {
    let mut driver = display.program("WebKitWebDriver");
    if let Some(first) = path {
        let usual = std::env::var_os("PATH").unwrap_or_default();
        let all = std::iter::once(first.to_owned()).chain(std::env::split_paths(&usual));
        driver.env("PATH", std::env::join_paths(all)?);
    }
    drive_by(driver, &forge_testkit::program(PROGRAM)?, display, data_dir, arguments).await
}

/// The same by a driver and a program of one's own.
async fn drive_by(
    mut driver: Command,
    program: &Path,
    display: &Display,
    data_dir: &Path,
    arguments: &[&str],
) -> Result<(Child, Session)> {
    let logs = display.folder().join("logs");
    let port = free_port()?;
    driver
        .args([format!("--port={port}"), "--host=127.0.0.1".to_owned()])
        .env("TAURI_WEBVIEW_AUTOMATION", "true")
        .env("FORGE_DATA_DIR", data_dir);
    let driver = start(driver.stdout(fs::File::create(logs.join("app.log"))?), &logs.join("driver.log"))?;
    let binary = tied_to_the_driver(display.folder(), program)?;
    let opened = Session::open(&format!("http://127.0.0.1:{port}"), &binary, arguments).await;
    let log = || fs::read_to_string(logs.join("driver.log")).unwrap_or_default();
    let page = opened.with_context(|| format!("failed to open the window; it said: {}", log()))?;
    const IS_THERE: &str = "return document.readyState === 'complete' && location.protocol !== 'about:'";
    until("the page", async || Ok((page.execute(IS_THERE, &[]).await? == true).then_some(()))).await?;
    page.execute(WATCH, &[]).await?;
    Ok((driver, page))
}

/// A killed driver leaves the program running, so a wrapper ties the program to the driver.
fn tied_to_the_driver(folder: &Path, program: &Path) -> Result<PathBuf> {
    let path = folder.join(PROGRAM);
    let script = format!("#!/bin/sh\nexec setpriv --pdeathsig KILL -- '{}' \"$@\"\n", program.display());
    fs::write(&path, script)?;
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755))?;
    Ok(path)
}

fn free_port() -> Result<u16> {
    // Free again when this returns; nothing else on a test machine hurries to take it.
    Ok(TcpListener::bind(("127.0.0.1", 0))?.local_addr()?.port())
}
