//! A repository, a program with a home, and a model for it.

use std::{fs, path::PathBuf, process::Stdio, time::Duration};

use anyhow::{Context as _, Result, ensure};
use forge_testkit::{
    Repository,
    models::{AgentProgram, ModelServer, Seat},
};
use serde_json::Value;
use tempfile::TempDir;
use tokio::{process::Command, time::timeout};

/// Far more than any turn takes.
const LIMIT: Duration = Duration::from_secs(150);

/// What a test has around a program.
pub struct Stage {
    pub server: ModelServer,
    seat: Seat,
    repository: Repository,
    _folder: TempDir,
}

/// How a program ended, and what it printed: a JSON object a line.
pub struct Ended {
    pub succeeded: bool,
    pub events: Vec<Value>,
    pub errors: String,
}

impl Stage {
    /// A repository with a `README.md` that says hello.
    pub async fn new(program: AgentProgram) -> Result<Self> {
        let folder = TempDir::new()?;
        let server = ModelServer::start().await?;
        let seat = program.settle(&folder.path().join("a"), &server)?;
        let repository = Repository::create(&folder.path().join("repository"), &[("README.md", "hello\n")])?;
        Ok(Self { server, seat, repository, _folder: folder })
    }

    /// The program with these arguments, in the repository.
    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::from(self.seat.command(self.repository.path()));
        command.args(arguments).kill_on_drop(true);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    /// Runs it to its end.
    pub async fn run(&self, arguments: &[&str]) -> Result<Ended> {
        let output = timeout(LIMIT, self.command(arguments).output()).await.context("it never ends")??;
        let text = String::from_utf8(output.stdout)?;
        let events = text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
        let errors = String::from_utf8_lossy(&output.stderr).into_owned();
        Ok(Ended { succeeded: output.status.success(), events, errors })
    }

    pub fn file(&self, name: &str) -> PathBuf {
        self.repository.path().join(name)
    }

    pub fn text(&self, name: &str) -> Result<String> {
        fs::read_to_string(self.file(name)).with_context(|| format!("failed to read {name}"))
    }

    /// Nothing came that the model did not understand.
    pub fn understood_all(&self) -> Result<()> {
        let refused = self.server.refused();
        ensure!(refused.is_empty(), "refused: {refused:?}");
        Ok(())
    }
}

impl Ended {
    pub fn of_type(&self, kind: &str) -> Vec<&Value> {
        self.events.iter().filter(|event| event["type"] == kind).collect()
    }

    /// The only event of a kind.
    pub fn only(&self, kind: &str) -> Result<&Value> {
        let found = self.of_type(kind);
        ensure!(found.len() == 1, "{} events `{kind}` in {:#?}\n{}", found.len(), self.events, self.errors);
        Ok(found[0])
    }

    pub fn succeeded(self) -> Result<Self> {
        ensure!(self.succeeded, "it failed: {:#?}\n{}", self.events, self.errors);
        Ok(self)
    }
}
