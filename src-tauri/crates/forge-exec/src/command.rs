//! What is to be started: a description without effects.

use std::{
    any::Any,
    ffi::{OsStr, OsString},
    io::PipeWriter,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use tokio::sync::mpsc;

use crate::marker::Marker;
use crate::{Sandbox, Terminal, Variables};

/// How long a child has between the gentle signal and the kill, unless said otherwise.
const DEFAULT_GRACE: Duration = Duration::from_secs(5);

/// What the child reads.
#[derive(Debug, Default)]
pub enum Stdin {
    /// Nothing: `/dev/null`.
    #[default]
    Null,
    /// These bytes, then end of file.
    Bytes(Vec<u8>),
    /// What arrives, as it arrives; end of file when the sender is dropped.
    Stream(mpsc::Receiver<Vec<u8>>),
}

/// Where what the child prints goes.
#[derive(Debug, Default)]
pub enum Stdout {
    /// To whoever runs it.
    #[default]
    Read,
    /// Into a pipe that somebody else reads.
    Pipe(PipeWriter),
}

/// Says that a program carries no [`Marker`].
#[derive(Debug)]
pub struct Unmarked;

/// A program to start. Its environment is `base`, less `env_remove`, plus `env` and the marker.
///
/// `M` says whether its descendants are recognised wherever they are: programs of a task carry a [`Marker`] and are for
/// [`run`](crate::run()), short tools are [`Unmarked`] and for [`collect`](crate::collect()).
#[derive(Debug)]
pub struct Command<M = Marker> {
    /// Name, looked up on the `PATH` that the child will have, or path.
    pub program: OsString,
    /// Arguments, without the program.
    pub args: Vec<OsString>,
    /// Where it runs.
    pub cwd: PathBuf,
    /// What the environment starts from; this process's own environment when absent.
    pub base: Option<Arc<Variables>>,
    /// Variables to set.
    pub env: Vec<(OsString, OsString)>,
    /// Variables not to pass on. Setting wins over removing.
    pub env_remove: Vec<OsString>,
    /// What it reads.
    pub stdin: Stdin,
    /// Where what it prints goes.
    pub stdout: Stdout,
    /// The terminal that it reads from and prints to, instead of pipes; for [`run`](crate::run()) alone.
    pub terminal: Option<Terminal>,
    /// Whether it has no terminal that anybody could be asked on, even where the engine has one.
    pub without_terminal: bool,
    /// How long it may run before it is stopped.
    pub timeout: Option<Duration>,
    /// From the gentle signal to the kill.
    pub grace: Duration,
    /// What it and its descendants may touch; anything when absent.
    pub sandbox: Option<Sandbox>,
    /// What is kept until the process is gone, also when nobody waits for that any more: locks, for example.
    pub kept: Vec<Arc<dyn Any + Send + Sync>>,
    /// How its descendants are recognised.
    pub marker: M,
}

impl Command {
    /// A program with no arguments, closed stdin and no timeout.
    pub fn new(program: impl Into<OsString>, cwd: impl Into<PathBuf>, marker: Marker) -> Self {
        Self::bare(program.into(), cwd.into(), marker)
    }

    /// `script` run by `shell`, which is a program with its arguments (`["bash", "-lc"]`).
    #[must_use]
    pub fn shell(shell: &[String], script: &str, cwd: &Path, marker: Marker) -> Self {
        let (program, args) = match shell.split_first() {
            Some((program, args)) => (program.as_str(), args),
            None => ("", shell),
        };
        Self::new(program, cwd, marker).args(args).arg(script)
    }
}

impl Command<Unmarked> {
    /// A tool with no arguments, closed stdin and no timeout.
    pub fn tool(program: impl Into<OsString>, cwd: impl Into<PathBuf>) -> Self {
        Self::bare(program.into(), cwd.into(), Unmarked)
    }
}

impl<M> Command<M> {
    const fn bare(program: OsString, cwd: PathBuf, marker: M) -> Self {
        Self {
            program,
            args: Vec::new(),
            cwd,
            base: None,
            env: Vec::new(),
            env_remove: Vec::new(),
            stdin: Stdin::Null,
            stdout: Stdout::Read,
            terminal: None,
            without_terminal: false,
            timeout: None,
            grace: DEFAULT_GRACE,
            sandbox: None,
            kept: Vec::new(),
            marker,
        }
    }

    /// Adds one argument.
    #[must_use]
    pub fn arg(mut self, arg: impl Into<OsString>) -> Self {
        self.args.push(arg.into());
        self
    }

    /// Adds arguments.
    #[must_use]
    pub fn args<A: AsRef<OsStr>>(mut self, args: impl IntoIterator<Item = A>) -> Self {
        self.args.extend(args.into_iter().map(|arg| arg.as_ref().to_owned()));
        self
    }

    /// Sets what the environment starts from, instead of this process's own.
    #[must_use]
    pub fn base(mut self, variables: Arc<Variables>) -> Self {
        self.base = Some(variables);
        self
    }

    /// Sets a variable.
    #[must_use]
    pub fn env(mut self, name: impl Into<OsString>, value: impl Into<OsString>) -> Self {
        self.env.push((name.into(), value.into()));
        self
    }

    /// Sets variables.
    #[must_use]
    pub fn envs<N, V>(mut self, variables: impl IntoIterator<Item = (N, V)>) -> Self
    where
        N: Into<OsString>,
        V: Into<OsString>,
    {
        self.env.extend(variables.into_iter().map(|(name, value)| (name.into(), value.into())));
        self
    }

    /// Keeps a variable of the engine from the child.
    #[must_use]
    pub fn env_remove(mut self, name: impl Into<OsString>) -> Self {
        self.env_remove.push(name.into());
        self
    }

    /// Sets what the child reads.
    #[must_use]
    pub fn stdin(mut self, stdin: Stdin) -> Self {
        self.stdin = stdin;
        self
    }

    /// Has what it prints go into a pipe that somebody else reads.
    #[must_use]
    pub fn stdout_to(mut self, pipe: PipeWriter) -> Self {
        self.stdout = Stdout::Pipe(pipe);
        self
    }

    /// Has it read from a terminal, and print to it.
    #[must_use]
    pub fn in_terminal(mut self, terminal: Terminal) -> Self {
        self.terminal = Some(terminal);
        self
    }

    /// Keeps the engine's terminal from it, so that it asks nobody there.
    #[must_use]
    pub const fn without_terminal(mut self) -> Self {
        self.without_terminal = true;
        self
    }

    /// Keeps a value until the process is gone.
    #[must_use]
    pub fn keep(mut self, value: Arc<dyn Any + Send + Sync>) -> Self {
        self.kept.push(value);
        self
    }

    /// Sets how long it may run.
    #[must_use]
    pub const fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = Some(timeout);
        self
    }

    /// Sets the time from the gentle signal to the kill.
    #[must_use]
    pub const fn grace(mut self, grace: Duration) -> Self {
        self.grace = grace;
        self
    }

    /// Confines it and its descendants. Where the kernel cannot (see [`sandbox_support`](crate::sandbox_support)), it is
    /// not started.
    #[must_use]
    pub fn sandboxed(mut self, sandbox: Sandbox) -> Self {
        self.sandbox = Some(sandbox);
        self
    }
}
