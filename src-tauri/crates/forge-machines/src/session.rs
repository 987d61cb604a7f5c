//! One session with a machine: it puts the keeper there when it is missing, and then carries all streams.

use std::{
    fmt,
    path::PathBuf,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use forge_exec::{Piped, start_piped};
use forge_keeper::{Greeting, Mux, PROTOCOL};
use tokio::{
    io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader},
    process::{ChildStderr, ChildStdin, ChildStdout},
    sync::{mpsc::UnboundedSender, watch},
    task::JoinHandle,
};
use tokio_util::sync::{CancellationToken, DropGuard};

use crate::{
    Fault, KeeperProgram,
    shell::MARK,
    way::{Sharing, Way},
};

/// How long a machine may take from the first packet to the first word of its shell. `ssh` itself gives up earlier, but
/// for a server that stops in the middle of the greeting.
const CONNECTS_WITHIN: Duration = Duration::from_secs(60);

/// How long the keeper's program may take to arrive.
const SENT_WITHIN: Duration = Duration::from_secs(600);

/// How long the end of `ssh` is waited for when its streams have ended.
const ENDS_WITHIN: Duration = Duration::from_secs(3);

/// How much of what `ssh` prints as errors is kept.
const ERRORS_KEPT: u64 = 64 * 1024;

/// How much is read of `ssh` at once: as much as its pipe holds.
const READ_BYTES: usize = 64 * 1024;

/// The most that is printed before the first word that is meant for here.
const NOISE: u64 = 256 * 1024;

/// A session that is open. It ends when this is dropped.
#[derive(Debug)]
pub(crate) struct Session {
    pub(crate) mux: Mux,
    pub(crate) greeting: Greeting,
    /// Where others find its connection.
    pub(crate) control_path: Option<PathBuf>,
    /// Whether the keeper's program was sent by this.
    pub(crate) was_sent: bool,
    lost: watch::Receiver<Option<Fault>>,
    _ends: DropGuard,
}

/// How far a session is, as `ssh` tells when it is asked to tell more.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Stage {
    /// An SSH server answers.
    Reached,
    /// Its host key is the one that is known.
    Trusted,
    /// It accepts the user, by this method.
    SignedIn(String),
}

impl Stage {
    fn read(line: &str) -> Option<Self> {
        if line.contains("Remote protocol version") {
            return Some(Self::Reached);
        }
        if line.contains("is known and matches the") {
            return Some(Self::Trusted);
        }
        let (_, rest) = line.split_once("Authenticated to ")?;
        Some(Self::SignedIn(rest.rsplit_once("using ")?.1.trim().trim_end_matches('.').replace('"', "")))
    }
}

impl Session {
    /// Opens a session. Somebody who wants to know how far it is gets `stages`.
    pub(crate) async fn begin<W: Way>(
        way: &Arc<W>,
        stages: Option<UnboundedSender<Stage>>,
    ) -> Result<Self, Fault> {
        way.prepare().await?;
        // Each session has its own: `ssh` removes it when it ends, which may be after the next one began.
        let control_path = way.new_control_path();
        let sharing = control_path.as_deref().map_or(Sharing::Alone, Sharing::Master);
        let (process, pipes) = start_piped(way.shell(sharing, stages.is_some())).await.map_err(|error| {
            let said =
                std::error::Error::source(&error).map_or_else(|| error.to_string(), ToString::to_string);
            way.not_started(said)
        })?;
        let errors = Errors::follow(pipes.stderr, stages);
        let stdout = BufReader::with_capacity(READ_BYTES, pipes.stdout);
        let mut beginning = Beginning { way: &**way, stdin: pipes.stdin, stdout, was_sent: false };
        let greeting = match beginning.greeting().await {
            Ok(greeting) => greeting,
            Err(Failed::Known(fault)) => return Err(fault),
            Err(Failed::Ended) => return Err(why_it_ended(&**way, process, errors, control_path).await),
        };
        let Beginning { stdin, stdout, was_sent, .. } = beginning;
        if greeting.protocol != PROTOCOL {
            return Err(Fault::Protocol { host: way.name().to_owned(), theirs: greeting.protocol });
        }
        if let Some(before) = way.known_as().filter(|before| *before != greeting.machine) {
            let (host, before, now) = (way.name().to_owned(), before.to_owned(), greeting.machine);
            return Err(Fault::OtherMachine { host, before, now });
        }
        let mux = Mux::new(tokio::io::join(stdout, stdin));
        let (tell, lost) = watch::channel(None);
        let ends = CancellationToken::new();
        let watched = watch_over(
            Arc::clone(way),
            mux.when_closed(),
            process,
            errors,
            control_path.clone(),
            ends.clone(),
        );
        tokio::spawn(async move {
            let fault = watched.await;
            tell.send_replace(Some(fault));
        });
        Ok(Self { mux, greeting, control_path, was_sent, lost, _ends: ends.drop_guard() })
    }

    /// Returns when the session has ended, with the reason.
    pub(crate) async fn lost(mut lost: watch::Receiver<Option<Fault>>) -> Option<Fault> {
        lost.wait_for(Option::is_some).await.ok().and_then(|fault| fault.clone())
    }

    pub(crate) fn loss(&self) -> watch::Receiver<Option<Fault>> {
        self.lost.clone()
    }

    pub(crate) fn is_open(&self) -> bool {
        !self.mux.is_closed() && self.lost.borrow().is_none()
    }
}

/// Why there is no greeting.
enum Failed {
    Known(Fault),
    /// The session ended: what `ssh` printed says why.
    Ended,
}

/// A session before its greeting.
struct Beginning<'w, W> {
    way: &'w W,
    stdin: ChildStdin,
    stdout: BufReader<ChildStdout>,
    was_sent: bool,
}

impl<W: Way> Beginning<'_, W> {
    async fn greeting(&mut self) -> Result<Greeting, Failed> {
        let (root, keepers) = (self.way.root(), self.way.keepers());
        let host = || self.way.name().to_owned();
        let silent = self.way.silent();
        let script = self.way.begin();
        let mut said = tokio::time::timeout(CONNECTS_WITHIN, async {
            let written =
                async { self.stdin.write_all(script.as_bytes()).await.and(self.stdin.flush().await) };
            // One that ended says why by its end.
            written.await.map_err(|_| Failed::Ended)?;
            answer(&mut self.stdout).await
        })
        .await
        .map_err(|_| Failed::Known(silent.clone()))??;
        loop {
            let needed = match said {
                Answer::Greeting(greeting) => return Ok(greeting),
                Answer::Said(said) => match said.split_once(' ').unwrap_or((&said, "")) {
                    ("need", hash) => {
                        keepers.iter().find(|keeper| keeper.hash() == hash).ok_or(Failed::Ended)?
                    }
                    ("failed", why) => return Err(Failed::Known(Fault::of_folder(&host(), root, why))),
                    ("other", there) => {
                        let have: Vec<&str> = keepers.iter().map(KeeperProgram::architecture).collect();
                        let (there, have) = (there.to_owned(), format!("Linux {}", have.join(", ")));
                        return Err(Failed::Known(Fault::WrongArchitecture { host: host(), there, have }));
                    }
                    ("damaged", _) => return Err(Failed::Known(Fault::Damaged { host: host() })),
                    _ => return Err(Failed::Ended),
                },
            };
            said = tokio::time::timeout(SENT_WITHIN, self.send(needed))
                .await
                .map_err(|_| Failed::Known(silent.clone()))??;
            self.was_sent = true;
        }
    }

    /// Sends the keeper's program. What is said meanwhile is that it does not arrive.
    async fn send(&mut self, keeper: &KeeperProgram) -> Result<Answer, Failed> {
        let (stdin, stdout) = (&mut self.stdin, &mut self.stdout);
        let sent = async {
            let mut file = tokio::fs::File::open(keeper.path()).await?.take(keeper.size());
            tokio::io::copy(&mut file, stdin).await?;
            stdin.flush().await
        };
        let (sent, said) = tokio::join!(sent, answer(stdout));
        if let Err(error) = sent {
            tracing::debug!(%error, "failed to send the keeper's program");
        }
        said
    }
}

/// What is meant for here.
enum Answer {
    Greeting(Greeting),
    Said(String),
}

async fn answer(stdout: &mut BufReader<ChildStdout>) -> Result<Answer, Failed> {
    let mut noise = stdout.take(NOISE);
    let mut line = Vec::new();
    loop {
        line.clear();
        if !matches!(noise.read_until(b'\n', &mut line).await, Ok(1..)) {
            return Err(Failed::Ended);
        }
        let line = String::from_utf8_lossy(&line);
        if let Some(greeting) = Greeting::read(&line) {
            return Ok(Answer::Greeting(greeting));
        }
        if let Some((_, said)) = line.split_once(MARK) {
            return Ok(Answer::Said(said.trim_end().to_owned()));
        }
    }
}

/// What `ssh` prints as errors, as it comes.
struct Errors {
    text: Arc<Mutex<String>>,
    reader: JoinHandle<()>,
}

impl fmt::Debug for Errors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Errors").finish_non_exhaustive()
    }
}

impl Errors {
    fn follow(stderr: ChildStderr, stages: Option<UnboundedSender<Stage>>) -> Self {
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
                let line = String::from_utf8_lossy(&line);
                if let (Some(stages), Some(stage)) = (&stages, Stage::read(&line)) {
                    // Whoever wanted to know may have gone.
                    let _ = stages.send(stage);
                }
                if line.starts_with("debug") {
                    continue;
                }
                let mut text = kept.lock().unwrap_or_else(PoisonError::into_inner);
                if (text.len() + line.len()) as u64 > ERRORS_KEPT {
                    text.clear();
                }
                text.push_str(&line);
            }
        });
        Self { text, reader }
    }

    /// All of it, once `ssh` has ended.
    async fn all(self) -> String {
        // A program that it left may hold the pipe.
        let _ = tokio::time::timeout(ENDS_WITHIN, self.reader).await;
        self.text.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// Waits for the end of a session, by itself or since nobody needs it, and says why it ended.
async fn watch_over<W: Way>(
    way: Arc<W>,
    closed: impl Future<Output = ()>,
    mut process: Piped,
    errors: Errors,
    control_path: Option<PathBuf>,
    ends: CancellationToken,
) -> Fault {
    tokio::select! {
        _ = process.wait() => {}
        () = closed => {}
        () = ends.cancelled() => {}
    }
    why_it_ended(&*way, process, errors, control_path).await
}

/// Ends the program of the session if it has not ended, and says why it did.
async fn why_it_ended(
    way: &impl Way,
    mut process: Piped,
    errors: Errors,
    control_path: Option<PathBuf>,
) -> Fault {
    let exit = tokio::time::timeout(ENDS_WITHIN, process.wait()).await;
    process.end().await;
    if let Some(path) = control_path {
        // It is there when ssh was killed.
        let _ = std::fs::remove_file(path);
    }
    let errors = errors.all().await;
    way.why_it_ended(exit.ok().and_then(Result::ok), &errors).await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stage_is_read_from_what_ssh_tells() {
        for (line, stage) in [
            ("debug1: Remote protocol version 2.0, remote software version OpenSSH_9.2p1", Stage::Reached),
            ("debug1: Host '[10.0.0.2]:2222' is known and matches the ED25519 host key.", Stage::Trusted),
            (
                "Authenticated to far ([10.0.0.2]:2222) using \"publickey\".",
                Stage::SignedIn("publickey".to_owned()),
            ),
        ] {
            assert_eq!(Stage::read(line), Some(stage));
        }
        assert_eq!(Stage::read("debug1: Connecting to far"), None);
    }
}
