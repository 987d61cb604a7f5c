//! Failures of the program: one example of every kind with its output and exit code.

use std::{
    fs::File,
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::TcpListener,
    process::Stdio,
};

use anyhow::{Context as _, Result};
use nix::{
    fcntl::{Flock, FlockArg},
    sys::signal::{Signal, kill},
    unistd::Pid,
};
use serde_json::json;

use forge_testkit::{Folder, folder::CommandOutput, script};

/// The commands and their output, without details that differ between machines or days.
struct Transcript {
    sandbox: Folder,
    text: String,
}

impl Transcript {
    fn run(&mut self, args: &[&str]) -> Result<()> {
        let output = self.sandbox.command(args)?.env("COLUMNS", "100").output()?;
        let ended = CommandOutput {
            code: output.status.code(),
            stdout: String::from_utf8(output.stdout)?,
            stderr: String::from_utf8(output.stderr)?,
        };
        self.record(args, &ended, &[])
    }

    fn record(&mut self, args: &[&str], ended: &CommandOutput, also: &[(String, &str)]) -> Result<()> {
        assert_eq!(ended.stdout, "", "{args:?}: {ended:?}");
        assert!(ended.stderr.contains("\nhint: "), "{args:?}: {ended:?}");
        let code = ended.code.context("ended by a signal")?;
        let folder = self.sandbox.dir.path().to_string_lossy().into_owned();
        let mut text =
            format!("$ forge {}\n{}[{code}]\n\n", args.join(" "), ended.stderr).replace(&folder, "[DIR]");
        for (known, name) in also {
            text = text.replace(known, name);
        }
        self.text.push_str(&text);
        Ok(())
    }

    /// Runs a command while another process interferes.
    fn run_beside(&mut self, args: &[&str], also: &[(String, &str)]) -> Result<()> {
        let ended = self.sandbox.run(args)?;
        self.record(args, &ended, also)
    }
}

#[test]
fn failure_of_each_kind_has_a_code_a_message_and_a_hint() -> Result<()> {
    let mut transcript = Transcript { sandbox: Folder::new()?, text: String::new() };
    command_lines(&mut transcript)?;
    refusals(&mut transcript)?;
    machines(&mut transcript)?;
    engines(&mut transcript)?;
    insta::assert_snapshot!("failures", transcript.text.trim_end());
    Ok(())
}

/// Failures of the command line.
fn command_lines(transcript: &mut Transcript) -> Result<()> {
    transcript.run(&["frobnicate"])?;
    transcript.run(&["task", "show"])?;
    transcript.run(&["task", "start", "1", "--wait", "--no-wait"])?;
    transcript.run(&["serve", "--port", "many"])?;
    transcript.run(&["api", "task_list", "[]"])
}

/// Refusals by the engine.
fn refusals(transcript: &mut Transcript) -> Result<()> {
    transcript.run(&["task", "list"])?;
    transcript.run(&["task", "list", "--project", "none"])?;
    transcript.run(&["project", "add", "home"])?;
    for good in [
        &["project", "add", "repo", "--name", "One"][..],
        &["task", "create", "First"],
        &["task", "create", "Second", "--depends-on", "1"],
        &["agent", "add", "Bot", "--command", "true"],
    ] {
        transcript.sandbox.run(good)?.succeeded()?;
    }
    transcript.run(&["project", "add", "repo", "--name", "One"])?;
    transcript.run(&["task", "list", "--limit", "0"])?;
    transcript.run(&["task", "show", "7"])?;
    transcript.run(&["task", "start", "1", "--agent", "nobody"])?;
    transcript.run(&["task", "start", "2", "--agent", "user"])?;
    transcript.run(&["task", "move", "1", "nowhere"])?;
    transcript.run(&["task", "action", "1", "retry"])?;
    transcript.run(&["task", "approve", "1"])
}

/// Failures of the machine.
fn machines(transcript: &mut Transcript) -> Result<()> {
    transcript.run(&["replay", "election", "missing.json"])?;
    std::fs::write(transcript.sandbox.dir.path().join("file"), "")?;
    transcript.run(&["task", "list", "--data-dir", "file"])?;
    let taken = TcpListener::bind("127.0.0.1:0")?;
    let port = taken.local_addr()?.port().to_string();
    transcript.run_beside(&["serve", "--port", &port], &[(port.clone(), "[PORT]")])
}

/// Failures caused by another engine: running, gone, or not an engine.
fn engines(transcript: &mut Transcript) -> Result<()> {
    interrupted(transcript)?;
    let server = transcript.sandbox.serve()?;
    let known = [(server.pid().to_string(), "[PID]"), (server.url.clone(), "[URL]")];
    transcript.run_beside(&["serve", "--port", "0"], &known)?;
    let token = transcript.sandbox.data_dir().join("token");
    let right = std::fs::read_to_string(&token)?;
    std::fs::write(&token, "x".repeat(right.len()))?;
    transcript.run_beside(&["task", "list"], &known)?;
    std::fs::write(&token, "cut")?;
    transcript.run_beside(&["task", "list"], &known)?;
    std::fs::write(&token, right)?;
    drop(server);

    let lock = transcript.sandbox.data_dir().join("engine.lock");
    let _held =
        Flock::lock(File::open(&lock)?, FlockArg::LockExclusiveNonblock).map_err(|(_, error)| error)?;
    let announce = |url: Option<&str>| std::fs::write(&lock, json!({ "pid": 7, "url": url }).to_string());
    announce(Some("http://127.0.0.1:1"))?;
    transcript.run(&["task", "list"])?;
    let other = TcpListener::bind("127.0.0.1:0")?;
    let url = format!("http://{}", other.local_addr()?);
    announce(Some(&url))?;
    let other = std::thread::spawn(move || answer_strangely(&other));
    transcript.run_beside(&["task", "list"], &[(url, "[URL]")])?;
    other.join().map_err(|_| anyhow::anyhow!("nobody asked"))??;
    announce(None)?;
    transcript.run(&["task", "list"])
}

/// Another program that answers over HTTP.
fn answer_strangely(listener: &TcpListener) -> Result<()> {
    let (mut stream, _) = listener.accept()?;
    let mut lines = BufReader::new(stream.try_clone()?).lines();
    while lines.next().transpose()?.is_some_and(|line| !line.is_empty()) {}
    let body = json!({ "short": "stout" }).to_string();
    let head =
        format!("HTTP/1.1 418 I'm a teapot\r\ncontent-length: {}\r\nconnection: close\r\n\r\n", body.len());
    Ok(stream.write_all((head + &body).as_bytes())?)
}

/// A signal that ends a waiting command.
fn interrupted(transcript: &mut Transcript) -> Result<()> {
    let hang = script(&["hang"]);
    let forge = forge_testkit::program("forge")?;
    let forge = forge.to_str().context("no text")?.to_owned();
    let agent = [
        "agent",
        "add",
        "Slow",
        "--command",
        &forge,
        "--",
        "scripted-agent",
        "--prompt-file",
        "{prompt_file}",
    ];
    transcript.sandbox.run(&agent)?.succeeded()?;
    transcript
        .sandbox
        .run(&["task", "create", "Third", "--agent", "Slow", "--description", &hang])?
        .succeeded()?;
    let args = ["task", "start", "3", "--wait"];
    let mut child =
        transcript.sandbox.command(args)?.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
    let mut stderr = BufReader::new(child.stderr.take().context("no stderr")?);
    let mut line = String::new();
    stderr.read_line(&mut line)?;
    kill(Pid::from_raw(i32::try_from(child.id())?), Signal::SIGTERM)?;
    let mut rest = String::new();
    stderr.read_to_string(&mut rest)?;
    let code = child.wait()?.code();
    // How far it came by then is told, too.
    let from = rest.find("interrupted: ").context(rest.clone())?;
    transcript.record(
        &args,
        &CommandOutput { code, stdout: String::new(), stderr: rest[from..].to_owned() },
        &[],
    )
}
