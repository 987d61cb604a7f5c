//! A sandbox for the `forge` program, as a server and as a command.

use std::{
    ffi::OsStr,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use anyhow::{Context as _, Result, ensure};
pub use forge_testkit::serve::{PATIENCE, Served};
use forge_testkit::{HERMETIC_GIT, Repository, program};
use reqwest::{RequestBuilder, Response};
use serde_json::Value;
use tempfile::TempDir;

/// A folder with a home, a repository and a data folder.
pub struct Sandbox {
    pub dir: TempDir,
    pub repo: Repository,
}

/// The exit code and the output of a command.
#[derive(Debug)]
pub struct CommandOutput {
    pub code: Option<i32>,
    pub stdout: String,
    pub stderr: String,
}

impl CommandOutput {
    /// Standard output as JSON; fails unless the command succeeded.
    pub fn json(&self) -> Result<Value> {
        ensure!(self.code == Some(0), "{self:?}");
        Ok(serde_json::from_str(&self.stdout)?)
    }
}

impl Sandbox {
    pub fn new() -> Result<Self> {
        let dir = tempfile::tempdir()?;
        std::fs::create_dir(dir.path().join("home"))?;
        let repo = Repository::create(&dir.path().join("repo"), &[("README.md", "# Sample\n")])?;
        Ok(Self { dir, repo })
    }

    pub fn data_dir(&self) -> PathBuf {
        self.dir.path().join("data")
    }

    /// The program with a clean environment.
    pub fn command(&self, args: impl IntoIterator<Item = impl AsRef<OsStr>>) -> Result<Command> {
        let mut command = Command::new(program("forge")?);
        command
            .args(args)
            .env_clear()
            .env("PATH", std::env::var_os("PATH").context("no PATH")?)
            .env("HOME", self.dir.path().join("home"))
            .env("SHELL", "/bin/sh")
            .env("FORGE_DATA_DIR", self.data_dir())
            .envs(HERMETIC_GIT)
            .current_dir(self.dir.path())
            .stdin(Stdio::null());
        Ok(command)
    }

    /// Runs the program to its end.
    pub fn run(&self, args: &[&str]) -> Result<CommandOutput> {
        let output = self.command(args)?.output()?;
        Ok(CommandOutput {
            code: output.status.code(),
            stdout: String::from_utf8(output.stdout)?,
            stderr: String::from_utf8(output.stderr)?,
        })
    }

    /// `forge serve` on a free port.
    pub fn serve(&self) -> Result<Served> {
        self.serve_with(&[])
    }

    pub fn serve_with(&self, more: &[&str]) -> Result<Served> {
        Served::start(self.command([&["serve", "--port", "0"], more].concat())?)
    }
}

/// The JSON answer of a successful request.
pub async fn good(response: Response) -> Result<Value> {
    let status = response.status();
    let body: Value = response.json().await?;
    ensure!(status.is_success(), "{status}: {body:#}");
    Ok(body)
}

/// Status and body of a refused request, whose id is the same in body and header.
pub async fn refused(request: RequestBuilder) -> Result<(u16, Value)> {
    let response = request.send().await?;
    let status = response.status().as_u16();
    let id = response.headers().get("x-request-id").context("no request id")?.to_str()?.to_owned();
    let kind = response.headers().get("content-type").context("no content type")?.to_str()?.to_owned();
    ensure!(kind.starts_with("application/json"), "{kind}");
    let body: Value = response.json().await?;
    ensure!(body["request_id"] == id.as_str(), "{id}: {body}");
    ensure!(body["message"].is_string() && body["hints"].is_array(), "{body}");
    Ok((status, body))
}

pub fn text(value: &Value, key: &str) -> String {
    value[key].as_str().unwrap_or_default().to_owned()
}

/// A description whose script the agent follows.
pub fn script(lines: &[&str]) -> String {
    forge_testkit::script(lines)
}

/// A shell line that waits for a file.
pub fn until_exists(file: &Path) -> String {
    format!("until [ -e '{}' ]; do sleep 0.05; done", file.display())
}
