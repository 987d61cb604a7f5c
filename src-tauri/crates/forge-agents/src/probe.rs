//! A short talk with a program about itself, the same for every adapter: its version, its models.
//!
//! The model is never called. Each look has a time limit, what it says is kept up to a limit, and nothing of the
//! program runs when the look is over.

use std::{io, path::Path, sync::Arc, time::Duration};

use async_trait::async_trait;
use forge_exec::{Command, Exit, Marker, OutputSink, Stdin, Stream, run};
use forge_model::agent::ProgramConfig;
use serde_json::Value;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use crate::probe_folder::ProbeFolder;
use crate::{AgentError, end::not_run};

/// From the gentle signal to the kill.
const GRACE: Duration = Duration::from_secs(1);

/// More than any answer takes.
const MAX_ANSWER: usize = 8 * 1024 * 1024;

/// How much of a program's last line is kept to say how it failed, in characters.
const LAST_LINE_CHARS: usize = 300;

/// How many messages wait for a program that does not read.
const MESSAGES_AHEAD: usize = 8;

/// The program with the profile's environment, in the folder of the probe.
pub(crate) fn command(
    config: &ProgramConfig,
    program: &Path,
    place: &ProbeFolder,
    patience: Duration,
) -> Command {
    let marker = Marker(format!("probe-{}", Uuid::new_v4()));
    Command::new(program, place.folder(), marker)
        .base(Arc::clone(&place.variables))
        .envs(config.env.iter().flatten())
        .timeout(patience)
        .grace(GRACE)
}

/// What a program said of itself, and how it ended.
#[derive(Debug)]
pub(crate) struct Heard {
    pub(crate) exit: Exit,
    stdout: Vec<u8>,
    stderr: Vec<u8>,
}

impl Heard {
    /// What it printed, when nobody talked with it.
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.stdout
    }

    /// The same as text.
    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.stdout).into_owned()
    }

    /// The last line of its errors.
    pub(crate) fn last_words(&self) -> String {
        let errors = String::from_utf8_lossy(&self.stderr);
        let line = errors.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or_default();
        line.chars().take(LAST_LINE_CHARS).collect()
    }
}

/// The input of a program that is talked with, until it is ended.
#[derive(Debug, Default)]
pub(crate) struct Input(Option<mpsc::Sender<Vec<u8>>>);

impl Input {
    /// Says one line. A program that takes none any more has ended the talk.
    pub(crate) fn say(&mut self, message: &Value) {
        let line = format!("{message}\n").into_bytes();
        if self.0.as_ref().is_some_and(|input| input.try_send(line).is_err()) {
            self.end();
        }
    }

    /// The talk is over.
    pub(crate) fn end(&mut self) {
        self.0 = None;
    }

    pub(crate) const fn is_open(&self) -> bool {
        self.0.is_some()
    }
}

/// Runs the program to its end without telling it anything.
///
/// # Errors
/// `Unavailable` when it cannot be run or does not end in time.
pub(crate) async fn listen(command: Command) -> Result<Heard, AgentError> {
    let mut sink = ProbeSink { hear: None, ..ProbeSink::default() };
    let (exit, timed_out) = sink.listen(command).await?;
    if let Some(late) = timed_out {
        return Err(late);
    }
    Ok(Heard { exit, stdout: sink.stdout, stderr: sink.stderr })
}

/// Talks with the program by lines: says `first`, and lets `hear` take each line and say more or end the talk.
///
/// # Errors
/// `Unavailable` when it cannot be run, or the talk does not end in time.
pub(crate) async fn talk(
    command: Command,
    first: &Value,
    hear: &mut (dyn FnMut(&[u8], &mut Input) + Send),
) -> Result<Heard, AgentError> {
    let (sender, receiver) = mpsc::channel(MESSAGES_AHEAD);
    let mut sink = ProbeSink { input: Input(Some(sender)), hear: Some(hear), ..ProbeSink::default() };
    sink.input.say(first);
    let (exit, timed_out) = sink.listen(command.stdin(Stdin::Stream(receiver))).await?;
    sink.hear_rest();
    match timed_out {
        Some(late) if sink.input.is_open() => Err(late),
        Some(_) | None => Ok(Heard { exit, stdout: sink.stdout, stderr: sink.stderr }),
    }
}

type Hear<'h> = &'h mut (dyn FnMut(&[u8], &mut Input) + Send);

/// Takes what a program prints.
#[derive(Default)]
struct ProbeSink<'h> {
    /// All of it; of a program that is talked with, the line that has no end yet.
    stdout: Vec<u8>,
    stderr: Vec<u8>,
    input: Input,
    hear: Option<Hear<'h>>,
}

impl ProbeSink<'_> {
    /// Runs the program. Also the error of being late, when it was.
    async fn listen(&mut self, command: Command) -> Result<(Exit, Option<AgentError>), AgentError> {
        let program = command.program.to_string_lossy().into_owned();
        let patience = command.timeout.unwrap_or_default();
        let finished = run(command, &CancellationToken::new(), |_| {}, self).await;
        let finished = finished.map_err(|error| not_run(error.into()))?;
        let detail = format!("it does not answer within {} s", patience.as_secs());
        Ok((finished.exit, finished.timed_out.then_some(AgentError::Unavailable { program, detail })))
    }

    /// The line that never got an end.
    fn hear_rest(&mut self) {
        let line = std::mem::take(&mut self.stdout);
        if let Some(hear) = self.hear.as_mut().filter(|_| !line.is_empty()) {
            hear(&line, &mut self.input);
        }
    }
}

#[async_trait]
impl OutputSink for ProbeSink<'_> {
    async fn write(&mut self, stream: Stream, bytes: &[u8]) -> io::Result<()> {
        let kept = match stream {
            Stream::Stdout => &mut self.stdout,
            Stream::Stderr => &mut self.stderr,
        };
        let room = MAX_ANSWER.saturating_sub(kept.len());
        kept.extend_from_slice(bytes.get(..room.min(bytes.len())).unwrap_or_default());
        let Some(hear) = &mut self.hear else { return Ok(()) };
        while let Some(end) = self.stdout.iter().position(|byte| *byte == b'\n') {
            let line: Vec<u8> = self.stdout.drain(..=end).collect();
            hear(&line, &mut self.input);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn place(parent: &Path) -> ProbeFolder {
        ProbeFolder::new(forge_exec::variables_of(std::env::vars_os()), parent).expect("a folder")
    }

    fn script(place: &ProbeFolder, script: &str) -> Command {
        command(&ProgramConfig::default(), Path::new("/bin/sh"), place, Duration::from_secs(60))
            .args(["-c", script])
    }

    #[tokio::test]
    async fn program_starts_in_an_empty_folder_that_nobody_else_writes_to() -> Result<(), AgentError> {
        use std::os::unix::fs::PermissionsExt as _;
        let parent = tempfile::tempdir().expect("a folder");
        let place = place(&parent.path().join("trials"));
        let mode = std::fs::metadata(place.folder()).expect("a folder").permissions().mode() & 0o777;
        assert_eq!(mode, 0o700);
        let heard = listen(script(&place, "pwd -P; ls -A")).await?;
        assert_eq!(heard.text().trim_end(), place.folder().canonicalize().expect("a path").to_string_lossy());
        let folder = place.folder().to_owned();
        drop(place);
        assert!(!folder.exists());
        Ok(())
    }

    #[tokio::test]
    async fn a_talk_goes_on_until_it_is_ended() -> Result<(), AgentError> {
        let folder = tempfile::tempdir().expect("a folder");
        let place = place(folder.path());
        let mut lines = Vec::new();
        let mut hear = |line: &[u8], input: &mut Input| {
            lines.push(String::from_utf8_lossy(line).trim().to_owned());
            match lines.len() {
                1 => input.say(&json!({ "second": 2 })),
                _ => input.end(),
            }
        };
        // It reads until its input ends, and says something that has no end of line.
        let echo =
            script(&place, "while read -r line; do echo \"$line\"; done; echo why >&2; printf rest; exit 3");
        let heard = talk(echo, &json!({ "first": 1 }), &mut hear).await?;
        assert_eq!(lines, [r#"{"first":1}"#, r#"{"second":2}"#, "rest"]);
        assert_eq!((heard.exit, heard.last_words().as_str()), (Exit::Code(3), "why"));
        Ok(())
    }

    #[tokio::test]
    async fn who_goes_without_a_word_is_heard_out() -> Result<(), AgentError> {
        let folder = tempfile::tempdir().expect("a folder");
        let place = place(folder.path());
        let mut hear = |_: &[u8], _: &mut Input| {};
        let heard = talk(script(&place, "echo no >&2"), &json!({}), &mut hear).await?;
        assert_eq!((heard.bytes(), heard.last_words().as_str()), (&b""[..], "no"));
        let heard = listen(script(&place, "echo one; echo two")).await?;
        assert_eq!(heard.text(), "one\ntwo\n");
        Ok(())
    }

    #[tokio::test]
    async fn who_never_answers_is_late() {
        let folder = tempfile::tempdir().expect("a folder");
        let place = place(folder.path());
        let mut hear = |_: &[u8], _: &mut Input| {};
        let silent = script(&place, "while read -r line; do :; done").timeout(Duration::from_millis(1));
        let late = talk(silent, &json!({}), &mut hear).await;
        assert!(matches!(late, Err(AgentError::Unavailable { detail, .. }) if detail.contains("0 s")));
    }
}
