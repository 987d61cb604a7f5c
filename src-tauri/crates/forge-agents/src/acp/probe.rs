//! Looks at a program without calling the model: its version, its models.

use std::{
    fs, io,
    path::{Path, PathBuf},
    time::Duration,
};

use async_trait::async_trait;
use forge_exec::{Command, Exit, Marker, OutputSink, Stdin, Stream, run};
use forge_model::agent::{AgentModel, ProgramConfig};
use serde_json::Value;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use crate::{AgentError, Detected, end::not_run};

use super::{
    outcome,
    wire::{self, Greeted, Line, Options, RpcError},
};

/// Far more than a program takes to say something about itself.
const PATIENCE: Duration = Duration::from_secs(60);

/// From the gentle signal to the kill.
const GRACE: Duration = Duration::from_secs(1);

/// More than any answer takes.
const MAX_ANSWER: usize = 4 * 1024 * 1024;

const GREETING: u64 = 1;
const SESSION: u64 = 2;

/// The program and its version, when it tells one. Whether it is signed in only a session would show.
pub(super) async fn detect(
    config: &ProgramConfig,
    program: PathBuf,
    path: &str,
) -> Result<Detected, AgentError> {
    let command = command(config, &program, path, &std::env::temp_dir()).arg("--version");
    let (exit, talk) = listen(command, Talk::default()).await?;
    let version = version_in(&String::from_utf8_lossy(&talk.stdout)).filter(|_| exit == Exit::Code(0));
    Ok(Detected { program, version, signed_in: None })
}

/// The models that it offers in a session, opened in an empty folder and left at once.
pub(super) async fn models(
    config: &ProgramConfig,
    program: PathBuf,
    path: &str,
) -> Result<Vec<AgentModel>, AgentError> {
    let folder = Folder::new()?;
    let (sender, receiver) = mpsc::channel(2);
    // A channel that was just made has room.
    let _ = sender.try_send(line_of(&wire::initialize(GREETING)));
    let talk = Talk { input: Some(sender), folder: folder.0.clone(), ..Talk::default() };
    let command = command(config, &program, path, &folder.0)
        .args(config.args.iter().flatten())
        .stdin(Stdin::Stream(receiver));
    let (_, talk) = listen(command, talk).await?;
    match (talk.session, talk.error) {
        (Some(session), _) => Ok(offered(&Options::read(&session))),
        (None, Some(error)) => Err(outcome::failure(&error, &talk.sign_in, 0)),
        (None, None) => {
            Err(AgentError::Protocol { detail: format!("it opens no session: {}", last_line(&talk.stderr)) })
        }
    }
}

fn offered(options: &Options) -> Vec<AgentModel> {
    let Some(models) = &options.model else { return Vec::new() };
    let efforts: Vec<String> =
        options.effort.iter().flat_map(|it| &it.offered).map(|(value, _)| value.clone()).collect();
    let model = |(id, name): &(String, String)| AgentModel {
        id: id.clone(),
        name: name.clone(),
        efforts: efforts.clone(),
        is_default: *id == models.current,
    };
    models.offered.iter().map(model).collect()
}

fn command(config: &ProgramConfig, program: &Path, path: &str, folder: &Path) -> Command {
    let marker = Marker(format!("probe-{}", Uuid::new_v4()));
    Command::new(program, folder, marker)
        .env("PATH", path)
        .envs(config.env.iter().flatten())
        .timeout(PATIENCE)
        .grace(GRACE)
}

async fn listen(command: Command, mut talk: Talk) -> Result<(Exit, Talk), AgentError> {
    let program = command.program.to_string_lossy().into_owned();
    let finished = run(command, &CancellationToken::new(), |_| {}, &mut talk).await.map_err(not_run)?;
    if finished.timed_out && talk.session.is_none() {
        let detail = format!("it does not answer within {} s", PATIENCE.as_secs());
        return Err(AgentError::Unavailable { program, detail });
    }
    Ok((finished.exit, talk))
}

/// A short conversation: greeting, session, end.
#[derive(Debug, Default)]
struct Talk {
    /// What was printed and is not read as lines yet; all of it when there is no input.
    stdout: Vec<u8>,
    stderr: Vec<u8>,
    /// Its input, which ends with this.
    input: Option<mpsc::Sender<Vec<u8>>>,
    folder: PathBuf,
    sign_in: Vec<String>,
    session: Option<Value>,
    error: Option<RpcError>,
}

impl Talk {
    fn hear(&mut self, line: &[u8]) {
        let Line::Answer { id, result } = Line::read(line) else { return };
        match (id, result) {
            (GREETING, Ok(answer)) => {
                self.sign_in = Greeted::read(&answer).unwrap_or_default().sign_in;
                if let Some(input) = &self.input {
                    let _ = input.try_send(line_of(&wire::new_session(SESSION, &self.folder)));
                }
            }
            (SESSION, Ok(answer)) => {
                self.session = Some(answer);
                self.input = None;
            }
            (_, Err(error)) => {
                self.error = Some(error);
                self.input = None;
            }
            (_, Ok(_)) => {}
        }
    }
}

#[async_trait]
impl OutputSink for Talk {
    async fn write(&mut self, stream: Stream, bytes: &[u8]) -> io::Result<()> {
        let kept = match stream {
            Stream::Stdout => &mut self.stdout,
            Stream::Stderr => &mut self.stderr,
        };
        let room = MAX_ANSWER.saturating_sub(kept.len());
        kept.extend_from_slice(bytes.get(..room.min(bytes.len())).unwrap_or_default());
        while self.input.is_some()
            && let Some(end) = self.stdout.iter().position(|byte| *byte == b'\n')
        {
            let line: Vec<u8> = self.stdout.drain(..=end).collect();
            self.hear(&line);
        }
        Ok(())
    }
}

/// An empty folder that goes with its value.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Result<Self, AgentError> {
        let folder = std::env::temp_dir().join(format!("forge-probe-{}", Uuid::new_v4()));
        fs::create_dir(&folder).map_err(|error| AgentError::Unavailable {
            program: "acp".to_owned(),
            detail: format!("a temporary folder cannot be made: {error}"),
        })?;
        Ok(Self(folder))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        if let Err(error) = fs::remove_dir_all(&self.0) {
            tracing::warn!(%error, folder = %self.0.display(), "failed to remove a temporary folder");
        }
    }
}

fn line_of(message: &Value) -> Vec<u8> {
    format!("{message}\n").into_bytes()
}

fn last_line(errors: &[u8]) -> String {
    let errors = String::from_utf8_lossy(errors);
    let line = errors.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or_default();
    line.chars().take(300).collect()
}

/// The first word that is a version: `1.18.33`, `v2.0`.
fn version_in(text: &str) -> Option<String> {
    let words = text.split_whitespace().take(20).map(|word| word.strip_prefix('v').unwrap_or(word));
    let is_version = |word: &&str| word.starts_with(|c: char| c.is_ascii_digit()) && word.contains('.');
    words.into_iter().find(is_version).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_is_found_among_words() {
        assert_eq!(version_in("1.18.33\n").as_deref(), Some("1.18.33"));
        assert_eq!(version_in("gemini v0.61.0 (node 20)").as_deref(), Some("0.61.0"));
        assert_eq!(version_in("unknown flag\n"), None);
    }
}
