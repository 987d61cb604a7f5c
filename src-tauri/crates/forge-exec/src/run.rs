//! Running one program: output pumped to a sink, stop by token or timeout, nothing left behind.
//!
//! Two things go on side by side: the *pump* moves bytes from the pipes to the sink and stops reading
//! while the sink is busy; the *supervisor* waits for the leader, escalates, and sweeps. A pipe that a
//! descendant holds open past the leader's end does not hold up the end: after the sweep, what is in
//! the pipe is taken and the rest given up.

use std::{convert::Infallible, io, pin::pin, time::Duration};

use serde::{Deserialize, Serialize};
use tokio::{
    io::{AsyncRead, AsyncReadExt, AsyncWrite},
    process::Child,
    time::Instant,
};
use tokio_util::sync::CancellationToken;

use crate::child::{escalate, feed, spawn, spawn_with};
use crate::error::ExecError;
use crate::exit::Exit;
use crate::group::Group;
use crate::output::{OutputSink, Stream};
use crate::process::{Family, exit_of, sweep_family};
use crate::{Command, Marker, ProcessIdentity, Terminal};

/// How much is read at once from a pipe; what a pipe holds by default.
const READ_BYTES: usize = 64 * 1024;

/// How long both pipes must be quiet, once nobody of the family lives, to count as empty.
const QUIET: Duration = Duration::from_millis(50);

/// The most taken from the pipes once nobody of the family lives. A pipe holds at most 1 MiB unless the
/// machine's owner raised it; more than both hold comes from a stranger to whom the pipe was handed.
const MAX_DRAINED: usize = 2 * 1024 * 1024;

/// How a run ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finished {
    /// How the leader ended.
    pub exit: Exit,
    /// Whether it was stopped because its time was over.
    pub timed_out: bool,
    /// Whether it was stopped because the token asked for it.
    pub cancelled: bool,
    /// From start to the end of everything.
    pub duration: Duration,
    /// Descendants that outlived the leader and were ended.
    pub left_behind: u32,
}

impl Finished {
    /// Whether it ended by itself, with code 0.
    #[must_use]
    pub fn is_success(&self) -> bool {
        self.exit == Exit::Code(0) && !self.timed_out && !self.cancelled
    }
}

/// Runs a program to its end and ends whatever it left behind.
///
/// `started` gets the leader's identity as soon as there is one, to be recorded for the case that this
/// engine dies. Cancelling stops the whole group gently, then by force. Dropping the future kills it.
///
/// # Errors
/// When the program cannot be started or waited for, or when the sink fails; in the last two cases
/// nothing of it runs any more.
pub async fn run(
    mut command: Command,
    cancel: &CancellationToken,
    started: impl FnOnce(ProcessIdentity) + Send,
    output: &mut (dyn OutputSink + Send),
) -> Result<Finished, ExecError> {
    let begun = Instant::now();
    let program = command.program.clone();
    let marker = command.marker.clone();
    let Started { mut child, input, stdout, stderr } = start(&mut command, &marker).await?;
    let mut guard = KillOnDrop::of(&child, marker);
    let terminal = command.terminal.clone().map(CloseOnDrop);
    if let Some(identity) = child.id().and_then(ProcessIdentity::of) {
        started(identity);
    }
    let stdin = std::mem::take(&mut command.stdin);
    // The end of the child ends it.
    let fed = async {
        feed(input, stdin).await;
        std::future::pending::<Infallible>().await
    };
    let family_gone = CancellationToken::new();
    let stop = cancel.child_token();

    let pump = async {
        let pumped = pump(stdout, stderr, &family_gone, output).await;
        if pumped.is_err() {
            stop.cancel();
        }
        pumped
    };
    let supervise = async {
        let ended = tokio::select! {
            ended = supervise(&mut child, &command, &guard.family, &stop) => ended,
            never = fed => match never {},
        };
        family_gone.cancel();
        ended
    };
    let (pumped, ended) = join_within_patience(pump, supervise, cancel, command.grace).await;
    guard.armed = ended.is_err();
    drop(terminal);
    let Ended { exit, timed_out, stopped, left_behind } =
        ended.map_err(|source| ExecError::Wait { program: program.clone(), source })?;
    pumped.map_err(|source| ExecError::Output { program, source })?;
    Ok(Finished { exit, timed_out, cancelled: stopped, duration: begun.elapsed(), left_behind })
}

/// A program that runs, and the ends of its pipes, or of its terminal.
struct Started {
    child: Child,
    input: Option<Box<dyn AsyncWrite + Send + Unpin>>,
    stdout: Option<Box<dyn AsyncRead + Send + Unpin>>,
    stderr: Option<Box<dyn AsyncRead + Send + Unpin>>,
}

async fn start(command: &mut Command, marker: &Marker) -> Result<Started, ExecError> {
    if let Some(terminal) = &command.terminal {
        let program = command.program.clone();
        let (own_end, ends) = terminal.open().map_err(|source| ExecError::Start { program, source })?;
        let child = spawn_with(command, Some(marker), ends).await.inspect_err(|_| terminal.close())?;
        let (input, stdout) = (Box::new(own_end.clone()), Box::new(own_end));
        return Ok(Started { child, input: Some(input), stdout: Some(stdout), stderr: None });
    }
    let mut child = spawn(command, Some(marker)).await?;
    let input = child.stdin.take().map(|it| Box::new(it) as _);
    let stdout = child.stdout.take().map(|it| Box::new(it) as _);
    let stderr = child.stderr.take().map(|it| Box::new(it) as _);
    Ok(Started { child, input, stdout, stderr })
}

/// Closes our end of a terminal when the run ends.
struct CloseOnDrop(Terminal);

impl Drop for CloseOnDrop {
    fn drop(&mut self) {
        self.0.close();
    }
}

/// Waits for both. A sink that takes nothing is waited for as long as nobody asks to stop, then a while.
async fn join_within_patience<P, S, E>(
    pump: P,
    supervise: S,
    cancel: &CancellationToken,
    patience: Duration,
) -> (io::Result<()>, io::Result<E>)
where
    P: Future<Output = io::Result<()>>,
    S: Future<Output = io::Result<E>>,
{
    let mut pump = pin!(pump);
    let mut supervise = pin!(supervise);
    tokio::select! {
        pumped = &mut pump => (pumped, supervise.await),
        ended = &mut supervise => {
            let stuck = async {
                cancel.cancelled().await;
                tokio::time::sleep(patience).await;
            };
            tokio::select! {
                pumped = pump => (pumped, ended),
                () = stuck => (Err(io::ErrorKind::TimedOut.into()), ended),
            }
        }
    }
}

async fn pump(
    mut stdout: Option<impl AsyncRead + Unpin>,
    mut stderr: Option<impl AsyncRead + Unpin>,
    family_gone: &CancellationToken,
    output: &mut (dyn OutputSink + Send),
) -> io::Result<()> {
    let mut out = vec![0; READ_BYTES];
    let mut err = vec![0; READ_BYTES];
    let mut drained = 0;
    while (stdout.is_some() || stderr.is_some()) && drained < MAX_DRAINED {
        let quiet = async {
            family_gone.cancelled().await;
            tokio::time::sleep(QUIET).await;
        };
        let (stream, bytes) = tokio::select! {
            read = read_some(&mut stdout, &mut out) => (Stream::Stdout, read?),
            read = read_some(&mut stderr, &mut err) => (Stream::Stderr, read?),
            // A busy engine may hear of the time and of the pipes at once: the pipes come first.
            () = quiet => tokio::select! {
                biased;
                read = read_some(&mut stdout, &mut out) => (Stream::Stdout, read?),
                read = read_some(&mut stderr, &mut err) => (Stream::Stderr, read?),
                () = std::future::ready(()) => break,
            },
        };
        if family_gone.is_cancelled() {
            drained += bytes.len();
        }
        if !bytes.is_empty() {
            output.write(stream, bytes).await?;
        }
    }
    Ok(())
}

/// Reads from an open pipe; closes it at its end and returns nothing. A closed pipe never is ready.
async fn read_some<'b>(
    pipe: &mut Option<impl AsyncRead + Unpin>,
    buffer: &'b mut [u8],
) -> io::Result<&'b [u8]> {
    let Some(open) = pipe else { return std::future::pending().await };
    let length = open.read(buffer).await?;
    if length == 0 {
        *pipe = None;
    }
    Ok(buffer.get(..length).unwrap_or_default())
}

struct Ended {
    exit: Exit,
    timed_out: bool,
    stopped: bool,
    left_behind: u32,
}

async fn supervise(
    child: &mut Child,
    command: &Command,
    family: &Family,
    stop: &CancellationToken,
) -> io::Result<Ended> {
    let expired = async {
        match command.timeout {
            Some(timeout) => tokio::time::sleep(timeout).await,
            None => std::future::pending().await,
        }
    };
    let (mut timed_out, mut stopped) = (false, false);
    let by_itself = tokio::select! {
        status = child.wait() => Some(status?),
        () = stop.cancelled() => { stopped = true; None }
        () = expired => { timed_out = true; None }
    };
    let (status, grace) = match by_itself {
        Some(status) => (status, command.grace),
        None => {
            let ask = if command.terminal.is_some() { Group::hang_up } else { Group::ask };
            let group = Group::led_by(family.leader);
            let (status, left) = escalate(child, (group, ask), command.grace).await?;
            // Descendants outside the group were not asked yet.
            (status, left.max(command.grace / 4))
        }
    };
    let left_behind = sweep_family(family.clone(), grace).await;
    Ok(Ended { exit: exit_of(status), timed_out, stopped, left_behind })
}

/// Kills the family when a run is dropped before its end.
struct KillOnDrop {
    family: Family,
    armed: bool,
}

impl KillOnDrop {
    fn of(child: &Child, marker: Marker) -> Self {
        Self { family: Family { marker, leader: child.id() }, armed: true }
    }
}

impl Drop for KillOnDrop {
    fn drop(&mut self) {
        if self.armed {
            self.family.kill_now();
        }
    }
}
