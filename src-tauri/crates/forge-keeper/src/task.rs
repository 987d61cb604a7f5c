//! What a keeper is asked to run, and how it goes over the wire.

use std::{ffi::OsString, io, path::PathBuf, sync::Arc, time::Duration};

use forge_exec::{Command, ExecError, Marker, Sandbox, Stdin, Stdout, Terminal, TerminalSize};
use serde::{Deserialize, Serialize};

use crate::tools::Tools;

/// A program for a keeper to run.
#[derive(Debug)]
pub struct KeptRun {
    /// The name of this start. A keeper that knows it starts nothing.
    pub id: String,
    /// Whose turn it is to write: of the engines that work on a task the one with the highest epoch may go on.
    pub task: String,
    /// What is started. Its base environment must be given: a keeper's own is nobody's.
    pub command: Command,
    /// Limits that stand still while somebody is asked; the plain time limit of the command counts besides.
    pub limits: Limits,
    /// Given back to whoever opens the run again. The keeper has it in memory alone.
    pub memo: Vec<u8>,
    /// Whether it was started before and is to be gone on with: it is never started by this.
    pub goes_on: bool,
    /// Lets it call tools of the engine.
    pub tools: Option<Tools>,
}

/// How long a program may take and be quiet, without the time in which it [waits](crate::NoteSender::set_waiting) for
/// somebody. None means without limit.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limits {
    /// From start to end.
    pub wall_clock: Option<Duration>,
    /// From one output to the next.
    pub silence: Option<Duration>,
}

/// A limit that was reached. The engine stops the program in its own way; if nobody does, the keeper stops it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum LimitHit {
    /// [`Limits::silence`].
    Silence,
    /// [`Limits::wall_clock`].
    WallClock,
    /// What is kept of a program's output: 4 GiB, and never more than half of the free disk.
    Output,
}

/// What a program reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Input {
    Nothing,
    /// What is fed.
    Fed,
}

/// A [`KeptRun`] on the wire.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Spec {
    pub(crate) id: String,
    pub(crate) task: String,
    pub(crate) program: OsString,
    pub(crate) args: Vec<OsString>,
    pub(crate) cwd: PathBuf,
    pub(crate) base: Vec<(OsString, OsString)>,
    pub(crate) env: Vec<(OsString, OsString)>,
    pub(crate) env_remove: Vec<OsString>,
    pub(crate) input: Input,
    pub(crate) without_terminal: bool,
    pub(crate) sandbox: Option<Sandbox>,
    pub(crate) timeout: Option<Duration>,
    pub(crate) grace: Duration,
    pub(crate) marker: Marker,
    pub(crate) limits: Limits,
    pub(crate) memo: Vec<u8>,
    pub(crate) tools: Option<Tools>,
    /// The size of its terminal, which goes over the wire beside this: a keeper that is older than terminals must not take
    /// it for a program without one.
    #[serde(skip)]
    pub(crate) terminal: Option<TerminalSize>,
}

impl Spec {
    /// What goes over the wire, and what is fed afterwards.
    ///
    /// # Errors
    /// When the command is one that a keeper cannot run.
    pub(crate) fn of(run: KeptRun) -> Result<(Self, Stdin), ExecError> {
        let KeptRun { id, task, command, limits, memo, goes_on: _, tools } = run;
        let Command { program, args, cwd, base, env, env_remove, stdin, stdout, .. } = command;
        let refused = |why: &str| ExecError::Start {
            program: program.clone(),
            source: io::Error::new(io::ErrorKind::InvalidInput, why),
        };
        let Some(base) = base else { return Err(refused("a kept program needs its environment")) };
        if !matches!(stdout, Stdout::Read) || !command.kept.is_empty() {
            return Err(refused("a kept program is read by its keeper, which keeps nothing else"));
        }
        let input = if matches!(stdin, Stdin::Null) { Input::Nothing } else { Input::Fed };
        let base = base.iter().map(|(name, value)| (name.clone(), value.clone())).collect();
        let spec = Self {
            id,
            task,
            program,
            args,
            cwd,
            base,
            env,
            env_remove,
            input,
            without_terminal: command.without_terminal,
            sandbox: command.sandbox,
            timeout: command.timeout,
            grace: command.grace,
            marker: command.marker,
            limits,
            memo,
            tools,
            terminal: command.terminal.as_ref().map(Terminal::size),
        };
        Ok((spec, stdin))
    }

    /// The command, with what feeds it.
    pub(crate) fn command(&self, stdin: Stdin) -> Command {
        let mut command = Command::new(self.program.clone(), &self.cwd, self.marker.clone())
            .args(&self.args)
            .base(Arc::new(self.base.iter().cloned().collect()))
            .envs(self.env.iter().cloned())
            .stdin(stdin)
            .grace(self.grace);
        command.env_remove.clone_from(&self.env_remove);
        command.without_terminal = self.without_terminal;
        command.sandbox.clone_from(&self.sandbox);
        command.timeout = self.timeout;
        command
    }
}

/// Why a program could not be run, on the wire.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Failure {
    kind: FailureKind,
    program: OsString,
    cwd: PathBuf,
    /// The system's number of the error, where there is one.
    code: Option<i32>,
    message: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
enum FailureKind {
    NoFolder,
    NoProgram,
    Start,
    Wait,
    Output,
    Sandbox,
}

impl Failure {
    pub(crate) fn of(error: &ExecError) -> Self {
        let (kind, program, cwd, source) = match error {
            ExecError::NoFolder { program, cwd, cause } => {
                (FailureKind::NoFolder, program, cwd.clone(), Some(cause))
            }
            ExecError::NoProgram { program, cause } => {
                (FailureKind::NoProgram, program, PathBuf::new(), Some(cause))
            }
            ExecError::Start { program, source } => {
                (FailureKind::Start, program, PathBuf::new(), Some(source))
            }
            ExecError::Wait { program, source } => (FailureKind::Wait, program, PathBuf::new(), Some(source)),
            ExecError::Output { program, source } => {
                (FailureKind::Output, program, PathBuf::new(), Some(source))
            }
            ExecError::Sandbox { program, source } => {
                (FailureKind::Sandbox, program, PathBuf::new(), Some(source))
            }
        };
        let code = source.and_then(io::Error::raw_os_error);
        let message = source.map(ToString::to_string).unwrap_or_default();
        Self { kind, program: program.clone(), cwd, code, message }
    }

    pub(crate) fn into_error(self) -> ExecError {
        let Self { kind, program, cwd, code, message } = self;
        let source = code.map_or_else(|| io::Error::other(message), io::Error::from_raw_os_error);
        match kind {
            FailureKind::NoFolder => ExecError::NoFolder { program, cwd, cause: source },
            FailureKind::NoProgram => ExecError::NoProgram { program, cause: source },
            FailureKind::Start => ExecError::Start { program, source },
            FailureKind::Wait => ExecError::Wait { program, source },
            FailureKind::Output => ExecError::Output { program, source },
            FailureKind::Sandbox => ExecError::Sandbox { program, source },
        }
    }
}
