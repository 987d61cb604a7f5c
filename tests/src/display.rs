//! A screen of the test's own: X server, window manager and session bus.

use std::{
    path::{Path, PathBuf},
    process::Stdio,
};

use anyhow::{Context as _, Result, bail};
use tokio::{
    io::{AsyncBufReadExt as _, BufReader},
    process::{Child, Command},
};

use crate::{
    children::{program, start},
    patience::until,
};

/// The screen and its programs; gone when dropped.
pub struct Display {
    number: String,
    bus: String,
    folder: PathBuf,
    _children: [Child; 3],
}

impl Display {
    /// Starts a screen of 1600 by 1000; homes and logs go below `folder`.
    ///
    /// # Errors
    /// When one of the programs is missing or does not come up.
    pub async fn start(folder: &Path) -> Result<Self> {
        for name in ["home", "run", "data", "config", "cache", "logs"] {
            std::fs::create_dir_all(folder.join(name))?;
        }
        private(&folder.join("run"))?;

        // Without `-noreset` the server starts anew when its last client leaves, which throws out whoever
        // connects at that moment. Xvfb picks a free number itself and says it once it can be used.
        let screen =
            ["-displayfd", "1", "-screen", "0", "1600x1000x24", "-dpi", "96", "-nolisten", "tcp", "-noreset"];
        let mut xvfb = program("Xvfb");
        let (xvfb, number) = announced(xvfb.args(screen), &folder.join("logs/xvfb.log")).await?;

        let address = format!("--address=unix:path={}", folder.join("run/bus").display());
        let mut bus = program("dbus-daemon");
        bus.args(["--session", "--nofork", "--print-address=1", &address]);
        let (bus_daemon, bus) = announced(&mut bus, &folder.join("logs/dbus.log")).await?;

        let environment = environment(folder, &number, &bus);
        let mut openbox = program("openbox");
        let openbox = start(openbox.envs(environment), &folder.join("logs/openbox.log"))?;

        let display = Self { number, bus, folder: folder.to_owned(), _children: [xvfb, bus_daemon, openbox] };
        until("the window manager", async || {
            let check = display.program("xprop").args(["-root", "_NET_SUPPORTING_WM_CHECK"]).output().await?;
            Ok(String::from_utf8_lossy(&check.stdout).contains("window id").then_some(()))
        })
        .await?;
        Ok(display)
    }

    /// A program on this screen, with a home of its own and no configuration of the machine's user.
    pub fn program(&self, name: &str) -> Command {
        let mut command = program(name);
        command.envs(environment(&self.folder, &self.number, &self.bus));
        // Whoever runs the tests may have set these; the window must work without.
        for name in ["LANG", "LANGUAGE", "LC_ALL", "LC_MESSAGES", "WAYLAND_DISPLAY", "FORGE_DATA_DIR"] {
            command.env_remove(name);
        }
        command
    }

    /// The windows with a title.
    ///
    /// # Errors
    /// When the screen cannot be asked.
    pub async fn windows_titled(&self, title: &str) -> Result<Vec<String>> {
        // A regular expression to xdotool; in brackets every character stands for itself.
        let literal: String = title
            .chars()
            .map(|c| if c == ' ' || c.is_alphanumeric() { c.to_string() } else { format!("[{c}]") })
            .collect();
        let pattern = format!("^{literal}$");
        let found =
            self.program("xdotool").args(["search", "--onlyvisible", "--name", &pattern]).output().await?;
        // It ends with 1 when there is none.
        Ok(String::from_utf8_lossy(&found.stdout).lines().map(str::to_owned).collect())
    }

    /// Presses keys in the focused window, by their `xdotool` names: `alt+F4`.
    ///
    /// # Errors
    /// When the screen cannot be asked.
    pub async fn press(&self, keys: &str) -> Result<()> {
        let done = self.program("xdotool").args(["key", keys]).status().await?;
        if !done.success() {
            bail!("failed to press {keys}");
        }
        Ok(())
    }

    /// Types into the focused window.
    ///
    /// # Errors
    /// When the screen cannot be asked.
    pub async fn write(&self, text: &str) -> Result<()> {
        let done = self.program("xdotool").args(["type", "--delay", "5", "--", text]).status().await?;
        if !done.success() {
            bail!("failed to type {text}");
        }
        Ok(())
    }

    /// Waits until a number of windows with a title is visible.
    ///
    /// # Errors
    /// When that never happens.
    pub async fn wait_for_windows(&self, title: &str, count: usize) -> Result<Vec<String>> {
        until(&format!("{count} windows titled {title:?}"), async || {
            let windows = self.windows_titled(title).await?;
            Ok((windows.len() == count).then_some(windows))
        })
        .await
    }

    /// Gives a window the focus.
    ///
    /// # Errors
    /// When it is gone.
    pub async fn focus(&self, window: &str) -> Result<()> {
        let done = self.program("xdotool").args(["windowactivate", "--sync", window]).status().await?;
        if !done.success() {
            bail!("failed to focus the window {window}");
        }
        Ok(())
    }

    /// The folder of homes and logs.
    pub fn folder(&self) -> &Path {
        &self.folder
    }
}

fn environment(folder: &Path, number: &str, bus: &str) -> Vec<(&'static str, String)> {
    let below = |name: &str| folder.join(name).display().to_string();
    vec![
        ("DISPLAY", format!(":{number}")),
        ("DBUS_SESSION_BUS_ADDRESS", bus.to_owned()),
        ("HOME", below("home")),
        ("XDG_RUNTIME_DIR", below("run")),
        ("XDG_DATA_HOME", below("data")),
        ("XDG_CONFIG_HOME", below("config")),
        ("XDG_CACHE_HOME", below("cache")),
        ("GIT_CONFIG_GLOBAL", "/dev/null".to_owned()),
        ("GIT_CONFIG_NOSYSTEM", "1".to_owned()),
        ("NO_AT_BRIDGE", "1".to_owned()),
        ("GDK_BACKEND", "x11".to_owned()),
        ("LIBGL_ALWAYS_SOFTWARE", "1".to_owned()),
    ]
}

/// Starts a program that prints its address in its first line.
async fn announced(command: &mut Command, log: &Path) -> Result<(Child, String)> {
    let mut child = start(command.stdout(Stdio::piped()), log)?;
    let output = child.stdout.take().context("failed to read what a program prints")?;
    let mut line = String::new();
    BufReader::new(output).read_line(&mut line).await?;
    if line.trim().is_empty() {
        let why = std::fs::read_to_string(log).unwrap_or_default();
        bail!("a program of the screen did not come up: {why}");
    }
    Ok((child, line.trim().to_owned()))
}

fn private(folder: &Path) -> Result<()> {
    use std::os::unix::fs::PermissionsExt as _;
    Ok(std::fs::set_permissions(folder, std::fs::Permissions::from_mode(0o700))?)
}
