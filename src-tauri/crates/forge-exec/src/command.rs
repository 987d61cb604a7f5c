//! What is to be started: a description without effects.

use std::{
    ffi::{OsStr, OsString},
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use tokio::sync::mpsc;

use crate::Variables;
use crate::marker::Marker;

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

/// A program to start. Its environment is `base`, less `env_remove`, plus `env` and the marker.
#[derive(Debug)]
pub struct Command {
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
    /// How long it may run before it is stopped.
    pub timeout: Option<Duration>,
    /// From the gentle signal to the kill.
    pub grace: Duration,
    /// How its descendants are recognised.
    pub marker: Marker,
}

impl Command {
    /// A program with no arguments, closed stdin and no timeout.
    pub fn new(program: impl Into<OsString>, cwd: impl Into<PathBuf>, marker: Marker) -> Self {
        Self {
            program: program.into(),
            args: Vec::new(),
            cwd: cwd.into(),
            base: None,
            env: Vec::new(),
            env_remove: Vec::new(),
            stdin: Stdin::Null,
            timeout: None,
            grace: DEFAULT_GRACE,
            marker,
        }
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
}
