//! Looking at the program: its version, whether it is signed in, its models. Each look has a time limit, and
//! nothing of the program runs when it is over.

use std::{
    io,
    path::PathBuf,
    sync::atomic::{AtomicU64, Ordering},
    time::Duration,
};

use async_trait::async_trait;
use forge_exec::{Command, ExecError, Exit, HeadTail, Marker, OutputSink, Stdin, Stream};
use forge_model::agent::{AgentModel, ProgramConfig};
use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::{
    SERVER,
    wire::{self, Heard, Refusal, text},
};
use crate::{AgentError, Detected, end::not_run};

/// How long one look may take.
const PATIENCE: Duration = Duration::from_secs(20);

/// From the gentle signal to the kill.
const GRACE: Duration = Duration::from_secs(2);

/// The longest line of the server that is kept.
const MOST_BYTES: usize = 8 * 1024 * 1024;

/// The most pages of models that are read.
const MOST_PAGES: usize = 20;

/// Sets the looks of this process apart.
static LOOKS: AtomicU64 = AtomicU64::new(0);

/// The program's version, and whether it is signed in.
pub(super) async fn detect(
    config: &ProgramConfig,
    program: PathBuf,
    path: &str,
) -> Result<Detected, AgentError> {
    let (exit, said) = run(command(config, &program, path, &["--version"])).await?;
    if exit != Exit::Code(0) {
        return Err(AgentError::Unavailable {
            program: program.to_string_lossy().into_owned(),
            detail: format!("it cannot tell its version: {}", said.stderr.trim()),
        });
    }
    let version = said.stdout.split_whitespace().next_back().map(str::to_owned);
    let signed_in = signed_in(config, &program, path).await;
    Ok(Detected { program, version, signed_in })
}

/// Without a sign-in of its own it may still have a key of another provider: then nobody knows.
async fn signed_in(config: &ProgramConfig, program: &PathBuf, path: &str) -> Option<bool> {
    if let Ok((Exit::Code(0), _)) = run(command(config, program, path, &["login", "status"])).await {
        return Some(true);
    }
    let account = ask(config, program, path, "account/read", |_| json!({})).await.ok()?;
    let account = account.first()?;
    if account.get("account").is_some_and(Value::is_object) {
        return Some(true);
    }
    account.get("requiresOpenaiAuth").and_then(Value::as_bool).filter(|required| *required).map(|_| false)
}

/// The models that it offers.
pub(super) async fn models(
    config: &ProgramConfig,
    program: PathBuf,
    path: &str,
) -> Result<Vec<AgentModel>, AgentError> {
    let page = |cursor: Option<&str>| cursor.map_or_else(|| json!({}), |cursor| json!({ "cursor": cursor }));
    let pages = ask(config, &program, path, "model/list", page).await?;
    let models = pages.iter().filter_map(|page| page.get("data")?.as_array()).flatten();
    Ok(models.filter_map(model).collect())
}

fn model(model: &Value) -> Option<AgentModel> {
    if model.get("hidden").and_then(Value::as_bool) == Some(true) {
        return None;
    }
    let id = text(model, "model").or_else(|| text(model, "id"))?;
    let efforts = model.get("supportedReasoningEfforts").and_then(Value::as_array).into_iter().flatten();
    Some(AgentModel {
        id: id.to_owned(),
        name: text(model, "displayName").unwrap_or(id).to_owned(),
        efforts: efforts.filter_map(|effort| text(effort, "reasoningEffort")).map(str::to_owned).collect(),
        is_default: model.get("isDefault").and_then(Value::as_bool).unwrap_or_default(),
    })
}

fn command(config: &ProgramConfig, program: &PathBuf, path: &str, args: &[&str]) -> Command {
    let number = LOOKS.fetch_add(1, Ordering::Relaxed);
    let marker = Marker(format!("look-{}-{number}", std::process::id()));
    let mut command = Command::new(program, std::env::temp_dir(), marker)
        .args(args)
        .env("PATH", path)
        .envs(config.env.iter().flatten())
        .grace(GRACE);
    command.timeout = Some(PATIENCE);
    command
}

async fn run(command: Command) -> Result<(Exit, forge_exec::Captured), AgentError> {
    let mut output = HeadTail::new(16 * 1024);
    let finished = forge_exec::run(command, &CancellationToken::new(), |_| {}, &mut output).await;
    let finished = finished.map_err(not_run)?;
    Ok((finished.exit, output.into_strings()))
}

/// Asks a server of its own one thing, page by page.
async fn ask(
    config: &ProgramConfig,
    program: &PathBuf,
    path: &str,
    method: &'static str,
    params: fn(Option<&str>) -> Value,
) -> Result<Vec<Value>, AgentError> {
    let mut command = command(config, program, path, &[SERVER]).args(config.args.iter().flatten());
    let (input, stdin) = mpsc::channel(8);
    command.stdin = Stdin::Stream(stdin);
    let mut talk =
        Talk { input: Some(input), line: Vec::new(), method, params, pages: Vec::new(), refusal: None };
    talk.say(&wire::request(1, "initialize", &wire::hello()));
    let finished = forge_exec::run(command, &CancellationToken::new(), |_| {}, &mut talk).await;
    let finished: Result<_, ExecError> = finished;
    let finished = finished.map_err(not_run)?;
    match (talk.refusal, talk.input) {
        (Some(Refusal { message }), _) => Err(AgentError::Protocol { detail: message }),
        (None, None) => Ok(talk.pages),
        // It went, or was ended, before it had answered.
        (None, Some(_)) => Err(AgentError::Crashed { exit: Some(finished.exit), last_line: String::new() }),
    }
}

/// A conversation with a server: hello, one request a page, the end of its input.
struct Talk {
    /// Gone when the conversation is over.
    input: Option<mpsc::Sender<Vec<u8>>>,
    line: Vec<u8>,
    method: &'static str,
    params: fn(Option<&str>) -> Value,
    pages: Vec<Value>,
    refusal: Option<Refusal>,
}

impl Talk {
    fn say(&mut self, message: &Value) {
        let sent = self.input.as_ref().map(|input| input.try_send(format!("{message}\n").into_bytes()));
        if let Some(Err(_)) = sent {
            self.input = None;
        }
    }

    fn hear(&mut self, line: &[u8]) {
        match wire::read(line) {
            Some(Heard::Answer { result: Err(refusal), .. }) => {
                self.refusal = Some(refusal);
                self.input = None;
            }
            Some(Heard::Answer { id: 1, result: Ok(_) }) => {
                self.say(&wire::notification("initialized"));
                self.say(&wire::request(2, self.method, &(self.params)(None)));
            }
            Some(Heard::Answer { result: Ok(page), .. }) => {
                let next = text(&page, "nextCursor").map(str::to_owned);
                self.pages.push(page);
                match next.filter(|_| self.pages.len() < MOST_PAGES) {
                    Some(cursor) => {
                        let id = self.pages.len() as u64 + 2;
                        self.say(&wire::request(id, self.method, &(self.params)(Some(&cursor))));
                    }
                    None => self.input = None,
                }
            }
            Some(Heard::Request { id, method, .. }) => self.say(&wire::not_served(&id, &method)),
            Some(Heard::Notification { .. }) | None => {}
        }
    }
}

#[async_trait]
impl OutputSink for Talk {
    async fn write(&mut self, stream: Stream, bytes: &[u8]) -> io::Result<()> {
        if stream == Stream::Stderr {
            return Ok(());
        }
        for piece in bytes.split_inclusive(|byte| *byte == b'\n') {
            if self.line.len() + piece.len() <= MOST_BYTES {
                self.line.extend_from_slice(piece);
            }
            if piece.ends_with(b"\n") {
                let line = std::mem::take(&mut self.line);
                self.hear(&line);
            }
        }
        Ok(())
    }
}
