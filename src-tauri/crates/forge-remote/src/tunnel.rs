//! The way to an engine on another computer: one session of `ssh`, and a socket here that it forwards to the engine there.

use std::{
    ffi::OsString,
    path::PathBuf,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use forge_api::{Call as _, operations};
use forge_exec::{Caps, Command, Exit, Piped, Variables, collect, start_piped};
use forge_machines::{Fault, Sharing, SshConfig};
use forge_model::actor::Via;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::{
    io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader},
    process::{ChildStderr, ChildStdin, ChildStdout},
    task::JoinHandle,
};

use crate::{
    CallError, EngineClient, RemoteFault,
    fault::VERSION,
    script::{self, ShellAnswer},
};

/// How long another computer may take to say something; an engine may start meanwhile.
const SAYS_WITHIN: Duration = Duration::from_secs(120);
/// How long the forwarding may take.
const FORWARDS_WITHIN: Duration = Duration::from_secs(30);
/// How long the end of `ssh` is waited for when its output has ended.
const ENDS_WITHIN: Duration = Duration::from_secs(3);
/// How much of what `ssh` prints as errors is kept.
const ERRORS_KEPT: u64 = 64 * 1024;
/// The most that is printed there before the first word that is meant for here.
const NOISE: u64 = 256 * 1024;
const CAPS: Caps = Caps { stdout: 64 * 1024, stderr: 64 * 1024 };

/// An engine on another computer, and what is needed here to reach it.
#[derive(Debug, Clone)]
pub struct Destination {
    /// How the computer is reached.
    pub ssh: SshConfig,
    /// The program `forge` there: a path, or a name that a login shell there finds.
    pub forge: String,
    /// The `ssh` program.
    pub program: OsString,
    /// What it finds in its environment.
    pub environment: Arc<Variables>,
}

impl Destination {
    /// The engine of the user on a host that `ssh` knows: a name, `user@name`, an alias of the user's configuration, or
    /// `ssh://user@name:port`.
    #[must_use]
    pub fn new(host: String, environment: Arc<Variables>) -> Self {
        let ssh = SshConfig { host, ..SshConfig::default() };
        Self { ssh, forge: "forge".to_owned(), program: "ssh".into(), environment }
    }

    /// What the computer is called.
    #[must_use]
    pub fn host(&self) -> &str {
        &self.ssh.host
    }
}

/// A way that is open. It ends when this is dropped.
#[derive(Debug)]
pub(crate) struct Tunnel {
    pub(crate) client: EngineClient,
    /// The process of the engine there.
    pub(crate) engine: u64,
    /// What the engine says of itself.
    pub(crate) meta: Value,
    session: Session,
}

/// The session of `ssh`.
#[derive(Debug)]
struct Session {
    host: String,
    process: Piped,
    stdin: ChildStdin,
    stdout: BufReader<ChildStdout>,
    errors: Errors,
    /// Where its sockets are.
    folder: TempDir,
}

impl Tunnel {
    /// Finds or starts the engine there, and opens the way to it.
    pub(crate) async fn open(to: &Destination) -> Result<Self, RemoteFault> {
        to.ssh.check()?;
        let mut session = Session::begin(to).await?;
        let line = match session.ask(&script::find(&to.forge)).await? {
            ShellAnswer::Engine(line) => line,
            ShellAnswer::Missing => {
                return Err(RemoteFault::NoForge { host: session.host, program: to.forge.clone() });
            }
            ShellAnswer::Version(theirs) => return Err(other_version(session.host, &theirs)),
            ShellAnswer::Refused(said) => return Err(RemoteFault::Refused { host: session.host, said }),
            ShellAnswer::Token(_) => return Err(session.refused("it answered something else")),
        };
        let token = match line["token_file"].as_str() {
            None => None,
            Some(file) => match session.ask(&script::read_token(file)).await? {
                ShellAnswer::Token(token) if !token.is_empty() => Some(token),
                _ => return Err(session.refused("its token cannot be read")),
            },
        };
        let Some(url) = line["url"].as_str() else { return Err(session.refused("it does not serve")) };
        let here = session.forward(to, url, line["socket"].as_str()).await?;
        let client = EngineClient::new(url.to_owned(), token, Some(&here))
            .map_err(|error| RemoteFault::Here { said: error.to_string() })?;
        let meta = match client.call(Via::Cli, operations::Meta::NAME, json!({}), None).await {
            Ok(meta) => meta,
            Err(error) => return Err(session.unreached(&error).await),
        };
        // The program there may have been replaced while its engine runs.
        match meta["version"].as_str() {
            Some(VERSION) => {}
            theirs => return Err(other_version(session.host, theirs.unwrap_or_default())),
        }
        let engine = line["pid"].as_u64().unwrap_or_default();
        Ok(Self { client, engine, meta, session })
    }

    /// What the computer is called.
    pub(crate) fn host(&self) -> &str {
        &self.session.host
    }

    /// Returns when `ssh` has ended.
    pub(crate) async fn ended(&mut self) {
        // What cannot be waited for is there no more.
        let _ = self.session.process.wait().await;
    }

    /// Ends the session, and says why it was lost.
    pub(crate) async fn close(self) -> RemoteFault {
        self.session.why_it_ended().await
    }
}

fn other_version(host: String, theirs: &str) -> RemoteFault {
    let theirs = if theirs.is_empty() { "unknown" } else { theirs };
    RemoteFault::OtherVersion { host, theirs: theirs.to_owned() }
}

impl Session {
    async fn begin(to: &Destination) -> Result<Self, RemoteFault> {
        let host = to.host().to_owned();
        // Short, since paths of sockets are; nobody else may look into it.
        let folder = tempfile::Builder::new().prefix("forge-").tempdir();
        let folder = folder.map_err(|error| RemoteFault::Here { said: error.to_string() })?;
        let control = folder.path().join("c");
        let mut ssh = to.ssh.clone();
        // A socket of the session before is replaced.
        ssh.options.push("StreamLocalBindUnlink=yes".to_owned());
        let shell = ssh.shell(&to.program, &to.environment, Sharing::Master(&control), false);
        let (process, pipes) = start_piped(shell).await.map_err(|error| {
            let said =
                std::error::Error::source(&error).map_or_else(|| error.to_string(), ToString::to_string);
            Fault::NoSsh { program: to.program.to_string_lossy().into_owned(), said }
        })?;
        let errors = Errors::follow(pipes.stderr);
        Ok(Self { host, process, stdin: pipes.stdin, stdout: BufReader::new(pipes.stdout), errors, folder })
    }

    /// Has the shell there do something, and returns what it says.
    async fn ask(&mut self, script: &str) -> Result<ShellAnswer, RemoteFault> {
        let said = tokio::time::timeout(SAYS_WITHIN, async {
            let written =
                async { self.stdin.write_all(script.as_bytes()).await.and(self.stdin.flush().await) };
            written.await.ok()?;
            said(&mut self.stdout).await
        });
        match said.await {
            Ok(Some(said)) => Ok(said),
            Ok(None) => Err(self.take_why_it_ended().await),
            Err(_) => Err(Fault::Silent { host: self.host.clone() }.into()),
        }
    }

    /// Forwards a socket here to where the engine serves there. Where that socket is.
    async fn forward(
        &self,
        to: &Destination,
        url: &str,
        socket: Option<&str>,
    ) -> Result<PathBuf, RemoteFault> {
        let here = self.folder.path().join("e");
        let there = match socket {
            // A colon would end the path.
            Some(path) if !path.contains(':') => path.to_owned(),
            _ => url.trim_start_matches("http://").to_owned(),
        };
        let forward = format!("{}:{there}", here.display());
        // The session has the connection: nothing of the configuration matters to who asks it.
        let asked = Command::tool(&to.program, "/")
            .args(["-F", "none", "-o", "ControlMaster=no", "-S"])
            .arg(self.folder.path().join("c"))
            .args(["-O", "forward", "-L", forward.as_str(), "--", "engine"])
            .base(Arc::clone(&to.environment))
            .without_terminal()
            .timeout(FORWARDS_WITHIN);
        let said = match collect(asked, CAPS).await {
            Ok(done) if done.exit == Exit::Code(0) => return Ok(here),
            Ok(done) => String::from_utf8_lossy(&done.stderr).into_owned(),
            Err(error) => error.to_string(),
        };
        let said = last_line(&said).unwrap_or("it gave no reason").to_owned();
        Err(RemoteFault::NotForwarded { host: self.host.clone(), said })
    }

    /// Why the engine does not answer over the forwarded socket.
    async fn unreached(mut self, error: &CallError) -> RemoteFault {
        let host = self.host.clone();
        let said = self.errors.now();
        if said.contains("prohibited") || said.contains("open failed") {
            let said = last_line(&said).unwrap_or("it is not allowed").to_owned();
            return RemoteFault::NotForwarded { host, said };
        }
        match error {
            CallError::Unreachable(_) if self.has_ended().await => self.why_it_ended().await,
            CallError::Refused(refused) => {
                let said = refused.message.trim_end_matches('.').to_owned();
                RemoteFault::Refused { host, said }
            }
            CallError::Unreachable(_) | CallError::Strange(_) => {
                RemoteFault::Lost { host, said: "the engine does not answer".to_owned() }
            }
        }
    }

    async fn has_ended(&mut self) -> bool {
        tokio::time::timeout(Duration::from_millis(200), self.process.wait()).await.is_ok()
    }

    fn refused(&self, said: &str) -> RemoteFault {
        RemoteFault::Refused { host: self.host.clone(), said: said.to_owned() }
    }

    async fn take_why_it_ended(&mut self) -> RemoteFault {
        let exit = tokio::time::timeout(ENDS_WITHIN, self.process.wait()).await;
        let errors = self.errors.all().await;
        self.fault_of(exit.ok().and_then(Result::ok), &errors)
    }

    /// Ends `ssh` if it has not ended, and says why it did.
    async fn why_it_ended(self) -> RemoteFault {
        let Self { host, mut process, mut errors, stdin, .. } = self;
        let exit = tokio::time::timeout(Duration::from_millis(200), process.wait()).await;
        drop(stdin);
        process.end().await;
        let errors = errors.all().await;
        fault_of(host, exit.ok().and_then(Result::ok), &errors)
    }

    fn fault_of(&self, exit: Option<Exit>, errors: &str) -> RemoteFault {
        fault_of(self.host.clone(), exit, errors)
    }
}

fn fault_of(host: String, exit: Option<Exit>, errors: &str) -> RemoteFault {
    match exit {
        Some(Exit::Code(255)) => Fault::of_ssh(&host, errors).into(),
        Some(Exit::Code(_)) => {
            let said = last_line(errors).unwrap_or("the shell there ended").to_owned();
            RemoteFault::Refused { host, said }
        }
        // It was ended: the engine did not answer any more.
        Some(_) | None => RemoteFault::Lost { host, said: "the connection ended".to_owned() },
    }
}

async fn said(stdout: &mut BufReader<ChildStdout>) -> Option<ShellAnswer> {
    let mut noise = stdout.take(NOISE);
    let mut line = Vec::new();
    loop {
        line.clear();
        if !matches!(noise.read_until(b'\n', &mut line).await, Ok(1..)) {
            return None;
        }
        if let Some(said) = ShellAnswer::read(&String::from_utf8_lossy(&line)) {
            return Some(said);
        }
    }
}

fn last_line(text: &str) -> Option<&str> {
    text.lines().map(|line| line.trim().trim_end_matches('.')).rfind(|line| !line.is_empty())
}

/// What `ssh` prints as errors, as it comes.
#[derive(Debug)]
struct Errors {
    text: Arc<Mutex<String>>,
    reader: Option<JoinHandle<()>>,
}

impl Errors {
    fn follow(stderr: ChildStderr) -> Self {
        let text = Arc::new(Mutex::new(String::new()));
        let kept = Arc::clone(&text);
        let reader = tokio::spawn(async move {
            let mut stderr = BufReader::new(stderr);
            let mut line = Vec::new();
            loop {
                line.clear();
                // A line without an end is taken in pieces.
                let read = (&mut stderr).take(ERRORS_KEPT).read_until(b'\n', &mut line).await;
                if !matches!(read, Ok(1..)) {
                    return;
                }
                let mut text = kept.lock().unwrap_or_else(PoisonError::into_inner);
                if (text.len() + line.len()) as u64 > ERRORS_KEPT {
                    text.clear();
                }
                text.push_str(&String::from_utf8_lossy(&line));
            }
        });
        Self { text, reader: Some(reader) }
    }

    fn now(&self) -> String {
        self.text.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// All of it, once `ssh` has ended.
    async fn all(&mut self) -> String {
        if let Some(reader) = self.reader.take() {
            // A program that it left may hold the pipe.
            let _ = tokio::time::timeout(ENDS_WITHIN, reader).await;
        }
        self.now()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn end_of_ssh_is_told_by_its_exit() {
        let host = || "far".to_owned();
        let of = |exit, errors: &str| fault_of(host(), exit, errors);
        let refused = "ssh: connect to host far port 22: Connection refused\r\n";
        assert!(matches!(of(Some(Exit::Code(255)), refused), RemoteFault::Ssh(Fault::Unreachable { .. })));
        let no_shell = of(Some(Exit::Code(127)), "bash: exec: sh: not found\n");
        assert_eq!(
            no_shell,
            RemoteFault::Refused { host: host(), said: "bash: exec: sh: not found".to_owned() }
        );
        assert!(matches!(of(None, ""), RemoteFault::Lost { .. }));
    }

    #[test]
    fn host_that_is_an_option_is_refused() {
        let to = Destination::new("-oProxyCommand=x".to_owned(), Arc::default());
        assert!(to.ssh.check().is_err());
    }
}
