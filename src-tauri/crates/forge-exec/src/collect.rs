//! Running one tool: its output is kept as bytes, up to a limit, and its time is bounded.
//!
//! A tool such as git starts thousands of times, so nothing is looked up in `/proc` and no task of the runtime is started
//! for it. It ends by itself, with whatever it left in its group: what a hook of git starts in the background is meant
//! to stay. When it is given up (its time is over, it prints too much, or the caller drops the future) its whole group is
//! asked to end, so that it can remove its lock files, and is killed when it does not.

use std::{
    any::Any, convert::Infallible, ffi::OsString, io, pin::pin, process::ExitStatus, sync::Arc,
    time::Duration,
};

use tokio::{
    io::{AsyncRead, AsyncReadExt},
    process::Child,
    runtime::Handle,
};

use crate::child::{escalate, feed, spawn};
use crate::command::Unmarked;
use crate::error::ExecError;
use crate::exit::Exit;
use crate::group::Group;
use crate::process::exit_of;
use crate::{Command, Stdin};

/// Between two looks whether a group that was asked to end is gone.
const LOOK_AGAIN: Duration = Duration::from_millis(5);

/// The least room for what is read at once from a pipe.
const READ_BYTES: usize = 4096;

/// The most bytes that are kept of each stream.
#[derive(Debug, Clone, Copy)]
pub struct Caps {
    /// Of standard output: more is an error.
    pub stdout: usize,
    /// Of standard error: more is left out.
    pub stderr: usize,
}

/// What a tool left.
#[derive(Debug)]
pub struct Collected {
    /// How it ended.
    pub exit: Exit,
    /// What it printed; nothing when that went elsewhere.
    pub stdout: Vec<u8>,
    /// What it printed as errors, the beginning of it.
    pub stderr: Vec<u8>,
}

/// Why a tool did not come to its end.
#[derive(Debug, thiserror::Error)]
pub enum CollectError {
    /// It could not be run.
    #[error(transparent)]
    Run(#[from] ExecError),
    /// Its time was over, and it was stopped.
    #[error("could not run `{}`: it did not finish within {} s", program.display(), after.as_secs())]
    TimedOut {
        /// What ran.
        program: OsString,
        /// The time it had.
        after: Duration,
    },
    /// It printed more than is kept, and was stopped.
    #[error("could not run `{}`: it printed more than {cap} bytes", program.display())]
    TooMuchOutput {
        /// What ran.
        program: OsString,
        /// The limit in bytes.
        cap: usize,
    },
}

/// Runs a tool to its end; any exit is an answer. Children that it leaves behind and that hold its pipes are waited for
/// no longer than the grace period; what the tool itself printed is in the pipes already.
///
/// # Errors
/// When it cannot be started or read, takes too long, or prints too much; nothing of its group runs any more then.
pub async fn collect(mut command: Command<Unmarked>, caps: Caps) -> Result<Collected, CollectError> {
    let mut leader = Leader::start(&mut command).await?;
    let Command { program, stdin, timeout, .. } = command;
    let (mut stdout, mut stderr) = (Vec::new(), Vec::new());
    let after = timeout.unwrap_or(Duration::MAX);
    let driven = tokio::time::timeout(after, leader.drive(stdin, caps, &mut stdout, &mut stderr)).await;
    let error = match driven {
        Ok(Ok(Some(status))) => return Ok(Collected { exit: exit_of(status), stdout, stderr }),
        Ok(Ok(None)) => CollectError::TooMuchOutput { program, cap: caps.stdout },
        Ok(Err(source)) => ExecError::Output { program, source }.into(),
        Err(_) => CollectError::TimedOut { program, after },
    };
    leader.end().await;
    Err(error)
}

/// How far the end of a program is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    /// It may end by itself.
    Running,
    /// Somebody waits for its group to end.
    Ending,
    /// A task of its own sees to its end: nobody comes after that one.
    Forsaken,
}

/// A program whose group ends gently when it is given up.
#[derive(Debug)]
pub(crate) struct Leader {
    pub(crate) child: Option<Child>,
    group: Group,
    grace: Duration,
    kept: Vec<Arc<dyn Any + Send + Sync>>,
    stage: Stage,
}

impl Leader {
    pub(crate) async fn start(command: &mut Command<Unmarked>) -> Result<Self, ExecError> {
        let child = spawn(command, None).await?;
        Ok(Self {
            group: Group::led_by(child.id()),
            child: Some(child),
            grace: command.grace,
            kept: std::mem::take(&mut command.kept),
            stage: Stage::Running,
        })
    }

    /// Waits for the end, and takes the output. No status means that there was too much of it.
    async fn drive(
        &mut self,
        stdin: Stdin,
        caps: Caps,
        stdout: &mut Vec<u8>,
        stderr: &mut Vec<u8>,
    ) -> io::Result<Option<ExitStatus>> {
        let grace = self.grace;
        let Some(child) = self.child.as_mut() else { return Err(io::ErrorKind::NotFound.into()) };
        let (input, out, err) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        // The end of the child ends it.
        let fed = async {
            feed(input, stdin).await;
            std::future::pending::<Infallible>().await
        };
        let mut pipes = pin!(async {
            let (fits, ()) =
                tokio::try_join!(take(out, stdout, caps.stdout), take_beginning(err, stderr, caps.stderr))?;
            io::Result::Ok(fits)
        });
        let ended = async {
            tokio::select! {
                // Pipes first: usually they close before the process is reaped, and all output counts.
                biased;
                fits = &mut pipes => if fits? { child.wait().await.map(Some) } else { Ok(None) },
                status = child.wait() => {
                    let late = tokio::time::timeout(grace, &mut pipes).await;
                    if let Ok(fits) = late && !fits? { Ok(None) } else { status.map(Some) }
                }
            }
        };
        tokio::select! {
            biased;
            ended = ended => ended,
            never = fed => match never {},
        }
    }

    pub(crate) async fn end(&mut self) {
        let Some(child) = self.child.as_mut() else { return };
        if self.stage == Stage::Running {
            self.stage = Stage::Ending;
        }
        let left = match escalate(child, (self.group, Group::ask), self.grace).await {
            Ok((_, left)) => left,
            Err(error) => {
                tracing::warn!(%error, "failed to wait for a program that was given up");
                Duration::ZERO
            }
        };
        // Programs that it started remove their lock files too, and are not ours to wait for.
        let gone = async {
            while self.group.is_alive() {
                tokio::time::sleep(LOOK_AGAIN).await;
            }
        };
        if tokio::time::timeout(left, gone).await.is_err() {
            self.group.kill();
        }
        self.child = None;
    }
}

impl Drop for Leader {
    fn drop(&mut self) {
        let Some(child) = &self.child else { return };
        if self.stage == Stage::Running && child.id().is_none() {
            // It was waited for: what it left in its group is its author's intention.
            return;
        }
        match Handle::try_current() {
            Ok(runtime) if self.stage != Stage::Forsaken => {
                let mut leader = Self {
                    child: self.child.take(),
                    group: self.group,
                    grace: self.grace,
                    kept: std::mem::take(&mut self.kept),
                    stage: Stage::Forsaken,
                };
                runtime.spawn(async move { leader.end().await });
            }
            // The runtime ends, and took no new task or dropped it: nobody is left to wait.
            _ => self.group.kill(),
        }
    }
}

/// Reads all of a pipe; says whether it was no more than `cap` bytes, and stops where it is more.
async fn take(pipe: Option<impl AsyncRead + Unpin>, into: &mut Vec<u8>, cap: usize) -> io::Result<bool> {
    let Some(mut pipe) = pipe else { return Ok(true) };
    while into.len() <= cap {
        into.reserve(READ_BYTES);
        if pipe.read_buf(into).await? == 0 {
            return Ok(true);
        }
    }
    into.truncate(cap);
    Ok(false)
}

/// Reads all of a pipe, and keeps the beginning.
async fn take_beginning(
    pipe: Option<impl AsyncRead + Unpin>,
    into: &mut Vec<u8>,
    cap: usize,
) -> io::Result<()> {
    let Some(mut pipe) = pipe else { return Ok(()) };
    loop {
        into.reserve(READ_BYTES);
        let read = pipe.read_buf(into).await?;
        into.truncate(cap);
        if read == 0 {
            return Ok(());
        }
    }
}
