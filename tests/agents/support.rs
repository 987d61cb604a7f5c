//! A repository, a program with a home, and its model.

use std::{fs, path::PathBuf, process::Stdio, time::Duration};

use anyhow::{Context as _, Result, ensure};
use forge_testkit::{
    Repository,
    models::{AgentProgram, ModelServer, Scenario, Seat, Tokens, Turn},
};
use serde_json::Value;
use tempfile::TempDir;
use tokio::{process::Command, time::timeout};

/// Much longer than any turn takes.
const LIMIT: Duration = Duration::from_secs(150);

/// A program with its repository and model.
pub struct ProgramFixture {
    pub server: ModelServer,
    seat: Seat,
    repository: Repository,
    _folder: TempDir,
}

/// The tokens of each turn of [`work`].
const TOKENS: Tokens =
    Tokens { input_uncached: 100, cache_read: 20, cache_write: 3, output: 40, reasoning: 5 };

/// Four turns: a thought, words and a command; an edit; a new file; the last words.
fn work() -> Scenario {
    let look = Turn::new().think("What is there?").say("I look.").run("echo from-the-shell");
    Scenario::new("work")
        .turn(look.tokens(TOKENS))
        .turn(Turn::new().edit("README.md", "hello", "goodbye").tokens(TOKENS))
        .turn(Turn::new().write("new.md", "one\ntwo\n").tokens(TOKENS))
        .turn(Turn::new().say("It is done.").tokens(TOKENS))
}

/// Three prompts and answers, the first of which is to be remembered.
pub fn three_turn_scenario() -> Scenario {
    Scenario::new("talk")
        .turn(Turn::new().say("The word is heron."))
        .turn(Turn::new().say("You asked again."))
        .turn(Turn::new().say("And a third time."))
}

/// The result of a program and its output, a JSON object per line.
pub struct ProgramOutput {
    pub succeeded: bool,
    pub events: Vec<Value>,
    pub errors: String,
}

impl ProgramFixture {
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
    pub async fn run(&self, arguments: &[&str]) -> Result<ProgramOutput> {
        let output = timeout(LIMIT, self.command(arguments).output()).await.context("it never ends")??;
        let text = String::from_utf8(output.stdout)?;
        let events = text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
        let errors = String::from_utf8_lossy(&output.stderr).into_owned();
        Ok(ProgramOutput { succeeded: output.status.success(), events, errors })
    }

    /// Lets it work through a script, and sees that the files are as they should be and that the model was shown
    /// what its command printed.
    pub async fn run_work_scenario(&self, arguments: &[&str]) -> Result<ProgramOutput> {
        let tag = self.server.script(work());
        let ended = self.run(&[arguments, &[&tag]].concat()).await?.succeeded()?;
        assert_eq!(self.text("README.md")?, "goodbye\n");
        assert_eq!(self.text("new.md")?, "one\ntwo\n");
        let requests = self.server.requests().of("work");
        assert_eq!(requests.len(), 4, "one for each turn");
        ensure!(requests[1].got_back("from-the-shell"), "the model is shown what its command printed");
        self.assert_all_understood()?;
        Ok(ended)
    }

    pub fn file(&self, name: &str) -> PathBuf {
        self.repository.path().join(name)
    }

    pub fn text(&self, name: &str) -> Result<String> {
        fs::read_to_string(self.file(name)).with_context(|| format!("failed to read {name}"))
    }

    /// Checks that the model server understood every request.
    pub fn assert_all_understood(&self) -> Result<()> {
        let refused = self.server.refused();
        ensure!(refused.is_empty(), "refused: {refused:?}");
        Ok(())
    }
}

impl ProgramOutput {
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
