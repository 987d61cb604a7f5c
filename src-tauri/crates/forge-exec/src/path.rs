//! Finding programs where the user's shell would find them.
//!
//! A program started from a desktop has a bare `PATH`; what the user installed is on the one that the
//! login shell sets up. It is asked once, since a profile may take a second to run.

use std::{
    ffi::{OsStr, OsString},
    io,
    path::{Path, PathBuf},
    time::Duration,
};

use tokio::sync::RwLock;
use tokio_util::sync::CancellationToken;

use crate::{
    Command, ExecError, Exit, Marker, OutputSink, Stream,
    process::{is_executable, os_string},
    run,
};

/// Stands around the answer: profiles print greetings.
const FENCE: &str = "__forge_login_path__";

/// The most of a profile's chatter that is kept; a `PATH` is far shorter.
const MAX_ANSWER: usize = 1024 * 1024;

/// Why the login shell's `PATH` is not known.
#[derive(Debug, thiserror::Error)]
pub enum LoginPathError {
    /// The shell did not run.
    #[error("failed to ask the login shell for its PATH")]
    Run(#[from] ExecError),
    /// The shell took too long, which a profile that waits for input does.
    #[error("failed to ask {shell} for its PATH: it gave no answer within {} s", timeout.as_secs())]
    TimedOut {
        /// The shell that was asked.
        shell: String,
        /// How long it had.
        timeout: Duration,
    },
    /// The shell ended without an answer.
    #[error("failed to ask {shell} for its PATH: it ended ({exit:?}) without an answer")]
    NoAnswer {
        /// The shell that was asked.
        shell: String,
        /// How it ended.
        exit: Exit,
    },
}

/// Asks `shell` for the `PATH` it sets up at login.
///
/// # Errors
/// When the shell does not run, or does not answer in time.
pub async fn login_path(shell: &OsStr, timeout: Duration) -> Result<OsString, LoginPathError> {
    let marker = Marker(format!("login-path-{}", std::process::id()));
    let command = Command::new(shell, "/", marker)
        .args(["-lc", &format!("printf '%s%s%s' {FENCE} \"$PATH\" {FENCE}")])
        .timeout(timeout)
        .grace(Duration::from_millis(200));
    let mut answer = Answer(Vec::new());
    let finished = run(command, &CancellationToken::new(), |_| {}, &mut answer).await?;
    let shell = shell.to_string_lossy().into_owned();
    match answer.path() {
        Some(path) => Ok(path),
        None if finished.timed_out => Err(LoginPathError::TimedOut { shell, timeout }),
        None => Err(LoginPathError::NoAnswer { shell, exit: finished.exit }),
    }
}

struct Answer(Vec<u8>);

impl Answer {
    fn path(&self) -> Option<OsString> {
        let fence = FENCE.as_bytes();
        let find = |from: usize| {
            let rest = self.0.get(from..)?;
            rest.windows(fence.len()).position(|window| window == fence).map(|at| from + at)
        };
        let start = find(0)? + fence.len();
        let path = self.0.get(start..find(start)?)?;
        Some(os_string(path))
    }
}

#[async_trait::async_trait]
impl OutputSink for Answer {
    async fn write(&mut self, stream: Stream, bytes: &[u8]) -> io::Result<()> {
        if stream == Stream::Stdout && self.0.len() < MAX_ANSWER {
            self.0.extend_from_slice(bytes);
        }
        Ok(())
    }
}

/// The login shell's `PATH`, asked for once and kept.
#[derive(Debug)]
pub struct LoginPath {
    shell: OsString,
    timeout: Duration,
    path: RwLock<Option<OsString>>,
}

impl LoginPath {
    /// Will ask `shell` at the first need.
    #[must_use]
    pub fn new(shell: impl Into<OsString>, timeout: Duration) -> Self {
        Self { shell: shell.into(), timeout, path: RwLock::new(None) }
    }

    /// The path, asked for when it is not known yet.
    ///
    /// # Errors
    /// As [`login_path`]; the next call asks again.
    pub async fn get(&self) -> Result<OsString, LoginPathError> {
        if let Some(path) = self.path.read().await.as_ref() {
            return Ok(path.clone());
        }
        let mut known = self.path.write().await;
        if let Some(path) = known.as_ref() {
            return Ok(path.clone());
        }
        let path = login_path(&self.shell, self.timeout).await?;
        *known = Some(path.clone());
        Ok(path)
    }

    /// Asks again, for when the user installed something.
    ///
    /// # Errors
    /// As [`login_path`]; what was known stays.
    pub async fn refresh(&self) -> Result<OsString, LoginPathError> {
        let path = login_path(&self.shell, self.timeout).await?;
        *self.path.write().await = Some(path.clone());
        Ok(path)
    }
}

/// The executable that `name` means on `path` (a `PATH` value). A name with a slash means itself;
/// relative entries of the path are passed over, since they would mean something else in each folder.
#[must_use]
pub fn find_program(name: impl AsRef<OsStr>, path: impl AsRef<OsStr>) -> Option<PathBuf> {
    let name = Path::new(name.as_ref());
    if name.components().count() > 1 || name.is_absolute() {
        return is_executable(name).then(|| name.to_owned());
    }
    std::env::split_paths(path.as_ref())
        .filter(|folder| folder.is_absolute())
        .map(|folder| folder.join(name))
        .find(|candidate| is_executable(candidate))
}
