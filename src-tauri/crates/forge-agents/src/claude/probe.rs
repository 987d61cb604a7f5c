//! Looks at the program without calling the model: its version, whether it is signed in, its models.

use std::{io, path::PathBuf, time::Duration};

use async_trait::async_trait;
use forge_exec::{Command, Exit, Marker, OutputSink, Stdin, Stream, run};
use forge_model::agent::{AgentModel, ProgramConfig};
use serde_json::Value;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use crate::{AgentError, Detected, end::not_run};

use super::{
    arguments::{ENVIRONMENT, OF_ANOTHER},
    wire::{self, list, owned, text},
};

/// Far more than the program takes to say something about itself.
const PATIENCE: Duration = Duration::from_secs(30);

/// From the gentle signal to the kill.
const GRACE: Duration = Duration::from_secs(1);

/// More than any answer takes.
const MAX_ANSWER: usize = 4 * 1024 * 1024;

/// The first version that was seen to tell whether it is signed in. Much older ones take the words for a prompt.
const TELLS_SIGN_IN: [u32; 3] = [2, 1, 330];

/// Variables that sign the program in.
const KEYS: &[&str] = &["ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN"];

/// The program, its version, and whether it is signed in.
pub(super) async fn detect(
    config: &ProgramConfig,
    program: PathBuf,
    path: &str,
) -> Result<Detected, AgentError> {
    let (exit, answer) = ask(command(config, &program, path, &["--version"]), None).await?;
    let version = version_in(&answer.text());
    if exit != Exit::Code(0) {
        return Err(AgentError::Unavailable {
            program: program.to_string_lossy().into_owned(),
            detail: format!("it does not tell its version: {}", answer.last_words()),
        });
    }
    let told = match version.as_deref() {
        Some(version) if numbers(version) >= TELLS_SIGN_IN => {
            let (_, answer) =
                ask(command(config, &program, path, &["auth", "status", "--json"]), None).await?;
            let status: Option<Value> = serde_json::from_slice(&answer.stdout).ok();
            status.and_then(|status| status.get("loggedIn")?.as_bool())
        }
        _ => None,
    };
    let has_key = || {
        let set = |name: &&str| {
            let own = config.env.as_ref().and_then(|env| env.get(*name)).cloned();
            own.or_else(|| std::env::var(name).ok()).is_some_and(|value| !value.is_empty())
        };
        KEYS.iter().any(set).then_some(true)
    };
    Ok(Detected { program, version, signed_in: told.or_else(has_key) })
}

/// The models that it offers, from its answer to a greeting.
pub(super) async fn models(
    config: &ProgramConfig,
    program: PathBuf,
    path: &str,
) -> Result<Vec<AgentModel>, AgentError> {
    const ARGS: &[&str] = &[
        "-p",
        "--input-format",
        "stream-json",
        "--output-format",
        "stream-json",
        "--verbose",
        "--no-session-persistence",
    ];
    let greeting = format!("{}\n", wire::initialize("models"));
    let (_, answer) = ask(command(config, &program, path, ARGS), Some(greeting.into_bytes())).await?;
    let lines = answer.stdout.split(|byte| *byte == b'\n');
    let response = lines.filter_map(|line| serde_json::from_slice(line).ok()).find(is_answer);
    let Some(response) = response else {
        return Err(AgentError::Protocol {
            detail: format!("it does not answer a greeting: {}", answer.last_words()),
        });
    };
    let response = response.get("response").and_then(|it| it.get("response")).cloned().unwrap_or_default();
    Ok(list(&response, "models").iter().filter_map(model).collect())
}

fn is_answer(event: &Value) -> bool {
    text(event, "type") == Some("control_response")
}

fn model(model: &Value) -> Option<AgentModel> {
    let id = owned(model, "value")?;
    let efforts = list(model, "supportedEffortLevels").iter();
    Some(AgentModel {
        name: owned(model, "displayName").unwrap_or_else(|| id.clone()),
        efforts: efforts.filter_map(|it| Some(it.as_str()?.to_owned())).collect(),
        is_default: id == "default",
        id,
    })
}

fn command(config: &ProgramConfig, program: &PathBuf, path: &str, args: &[&str]) -> Command {
    let marker = Marker(format!("probe-{}", Uuid::new_v4()));
    let command = Command::new(program, std::env::temp_dir(), marker)
        .args(args)
        .env("PATH", path)
        .envs(ENVIRONMENT.iter().copied())
        .envs(config.env.iter().flatten())
        .timeout(PATIENCE)
        .grace(GRACE);
    OF_ANOTHER.iter().fold(command, |command, name| command.env_remove(name))
}

/// Runs the program to its end; its input, when it has one, ends with the first answer to a request.
async fn ask(command: Command, input: Option<Vec<u8>>) -> Result<(Exit, Answer), AgentError> {
    let program = command.program.to_string_lossy().into_owned();
    let (sender, receiver) = mpsc::channel(1);
    let mut answer = Answer::default();
    let command = match input {
        Some(bytes) => {
            // A channel that was just made has room.
            let _ = sender.try_send(bytes);
            answer.input = Some(sender);
            command.stdin(Stdin::Stream(receiver))
        }
        None => command,
    };
    let finished = run(command, &CancellationToken::new(), |_| {}, &mut answer).await.map_err(not_run)?;
    if finished.timed_out {
        let detail = format!("it does not answer within {} s", PATIENCE.as_secs());
        return Err(AgentError::Unavailable { program, detail });
    }
    Ok((finished.exit, answer))
}

/// What it said.
#[derive(Debug, Default)]
struct Answer {
    stdout: Vec<u8>,
    stderr: Vec<u8>,
    /// Its input, which ends with this.
    input: Option<mpsc::Sender<Vec<u8>>>,
}

impl Answer {
    fn text(&self) -> String {
        String::from_utf8_lossy(&self.stdout).into_owned()
    }

    fn last_words(&self) -> String {
        let errors = String::from_utf8_lossy(&self.stderr);
        let line = errors.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or_default();
        line.chars().take(300).collect()
    }
}

#[async_trait]
impl OutputSink for Answer {
    async fn write(&mut self, stream: Stream, bytes: &[u8]) -> io::Result<()> {
        let kept = match stream {
            Stream::Stdout => &mut self.stdout,
            Stream::Stderr => &mut self.stderr,
        };
        let room = MAX_ANSWER.saturating_sub(kept.len());
        kept.extend_from_slice(bytes.get(..room.min(bytes.len())).unwrap_or_default());
        if self.input.is_some() && self.stdout.contains(&b'\n') {
            self.input = None;
        }
        Ok(())
    }
}

/// The version in `2.1.330 (Claude Code)`.
fn version_in(text: &str) -> Option<String> {
    let word = text.split_whitespace().next()?;
    word.starts_with(|c: char| c.is_ascii_digit()).then(|| word.to_owned())
}

fn numbers(version: &str) -> [u32; 3] {
    let mut parts = version.split(|c: char| !c.is_ascii_digit()).map(|part| part.parse().unwrap_or_default());
    std::array::from_fn(|_| parts.next().unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_compared_by_number() {
        assert_eq!(version_in("2.1.330 (Claude Code)\n").as_deref(), Some("2.1.330"));
        assert_eq!(version_in("error: what?"), None);
        assert!(numbers("2.1.330") >= TELLS_SIGN_IN && numbers("2.10.0") >= TELLS_SIGN_IN);
        assert!(numbers("2.1.99") < TELLS_SIGN_IN && numbers("1.0") < TELLS_SIGN_IN);
    }
}
