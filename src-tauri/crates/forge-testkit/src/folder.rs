//! A folder with a home and a repository, in which the `forge` program is run.

use std::{
    ffi::OsStr,
    path::PathBuf,
    process::{Command, Stdio},
};

use anyhow::{Context as _, Result, ensure};
use serde_json::Value;
use tempfile::TempDir;

use crate::{HERMETIC_GIT, Repository, program, serve::Served};

/// A folder with a home, a repository and a data folder.
pub struct Folder {
    /// The folder itself.
    pub dir: TempDir,
    /// The user's repository.
    pub repo: Repository,
}

/// A folder that is none for temporary files, so that confined programs cannot write there by that.
///
/// # Errors
/// When it cannot be made.
pub fn lasting_folder() -> Result<TempDir> {
    let programs = program("forge")?;
    let beside = programs.parent().context("the folder of the programs")?;
    Ok(tempfile::Builder::new().prefix("lasting-").tempdir_in(beside)?)
}

/// The exit code and the output of a command.
#[derive(Debug)]
pub struct CommandOutput {
    /// The exit code; none when a signal ended it.
    pub code: Option<i32>,
    /// Standard output.
    pub stdout: String,
    /// Standard error.
    pub stderr: String,
}

impl CommandOutput {
    /// Checks that the command succeeded.
    ///
    /// # Errors
    /// When it failed.
    pub fn succeeded(&self) -> Result<()> {
        ensure!(self.code == Some(0), "{self:?}");
        Ok(())
    }

    /// Standard output as JSON.
    ///
    /// # Errors
    /// When the command failed, or printed something else.
    pub fn json(&self) -> Result<Value> {
        self.succeeded()?;
        Ok(serde_json::from_str(&self.stdout)?)
    }
}

impl Folder {
    /// One whose repository has a commit.
    ///
    /// # Errors
    /// When git or the disk refuses.
    pub fn new() -> Result<Self> {
        let dir = tempfile::tempdir()?;
        std::fs::create_dir(dir.path().join("home"))?;
        let repo = Repository::create(&dir.path().join("repo"), &[("README.md", "# Sample\n")])?;
        Ok(Self { dir, repo })
    }

    /// The data folder of its engine.
    #[must_use]
    pub fn data_dir(&self) -> PathBuf {
        self.dir.path().join("data")
    }

    /// The `forge` program with a clean environment.
    ///
    /// # Errors
    /// When it is not built.
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
    ///
    /// # Errors
    /// When it cannot be started, or prints what is no text.
    pub fn run(&self, args: &[&str]) -> Result<CommandOutput> {
        let output = self.command(args)?.output()?;
        Ok(CommandOutput {
            code: output.status.code(),
            stdout: String::from_utf8(output.stdout)?,
            stderr: String::from_utf8(output.stderr)?,
        })
    }

    /// Runs a command to its end and returns its answer as JSON.
    ///
    /// # Errors
    /// When it fails.
    pub fn json(&self, args: &[&str]) -> Result<Value> {
        self.run(&[args, &["--json"]].concat())?.json()
    }

    /// `forge serve` on a free port.
    ///
    /// # Errors
    /// When it does not start.
    pub fn serve(&self) -> Result<Served> {
        self.serve_with(&[])
    }

    /// The same, in an environment with these variables.
    ///
    /// # Errors
    /// When it does not start.
    pub fn serve_in(&self, variables: &[(&str, String)]) -> Result<Served> {
        let mut command = self.command(["serve", "--port", "0"])?;
        command.envs(variables.iter().map(|(name, value)| (name, value)));
        Served::start(command)
    }

    /// The same, with more arguments.
    ///
    /// # Errors
    /// When it does not start.
    pub fn serve_with(&self, more: &[&str]) -> Result<Served> {
        Served::start(self.command([&["serve", "--port", "0"], more].concat())?)
    }
}
