//! A tool that is spoken with for as long as both sides like: the connection to another machine, for example.
//!
//! Its pipes are the caller's. It leads a process group of its own; when it is dropped, the group is asked to end, and
//! killed when it does not.

use std::io;

use tokio::process::{ChildStderr, ChildStdin, ChildStdout};

use crate::collect::Leader;
use crate::command::Unmarked;
use crate::error::ExecError;
use crate::exit::Exit;
use crate::process::exit_of;
use crate::{Command, Stdin, Stdout};

/// A tool that runs, without its pipes.
#[derive(Debug)]
pub struct Piped(Leader);

/// The pipes of a tool.
#[derive(Debug)]
pub struct Pipes {
    /// What it reads.
    pub stdin: ChildStdin,
    /// What it prints.
    pub stdout: ChildStdout,
    /// What it prints as errors.
    pub stderr: ChildStderr,
}

/// Starts a tool whose input and output are the caller's; what the command says of either is not looked at.
///
/// # Errors
/// When it cannot be started.
pub async fn start_piped(mut command: Command<Unmarked>) -> Result<(Piped, Pipes), ExecError> {
    let (_, input) = tokio::sync::mpsc::channel(1);
    command.stdin = Stdin::Stream(input);
    command.stdout = Stdout::Read;
    let mut leader = Leader::start(&mut command).await?;
    let pipes = leader.child.as_mut().and_then(|child| {
        Some(Pipes { stdin: child.stdin.take()?, stdout: child.stdout.take()?, stderr: child.stderr.take()? })
    });
    let Some(pipes) = pipes else {
        let source = io::Error::from(io::ErrorKind::BrokenPipe);
        return Err(ExecError::Start { program: command.program, source });
    };
    Ok((Piped(leader), pipes))
}

impl Piped {
    /// The number of its process, while it runs.
    #[must_use]
    pub fn id(&self) -> Option<u32> {
        self.0.child.as_ref().and_then(tokio::process::Child::id)
    }

    /// Waits for its end.
    ///
    /// # Errors
    /// When the system cannot tell.
    pub async fn wait(&mut self) -> io::Result<Exit> {
        let Some(child) = self.0.child.as_mut() else { return Err(io::ErrorKind::NotFound.into()) };
        child.wait().await.map(exit_of)
    }

    /// Asks its group to end, and kills it when it does not.
    pub async fn end(mut self) {
        self.0.end().await;
    }
}
