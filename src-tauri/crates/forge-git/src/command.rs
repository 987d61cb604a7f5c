//! The one place where git is started: its options, its environment, what it must not do, and what its failures mean.
//!
//! Every command has a time limit, a limit on what it may print, no standard input unless bytes are given, and an
//! environment without secrets and without whatever would lead it to another repository. It runs in a session of its own
//! without a terminal, so nothing it starts can ask anybody a question: what would ask fails.
//! A command on a worktree is told its git directory and its common directory by [`GitCommand::placed`]; git
//! discovers neither, so a `.git` that somebody put there counts for nothing.
//! When the caller loses interest (drops the future) git is asked to end, so that it can remove its lock files.
//! How that is done, and all else about processes, is `forge_exec::collect`'s.

use std::ffi::{OsStr, OsString};
use std::io::PipeWriter;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use forge_exec::{Caps, CollectError, Command, ExecError, Exit, Stdin, Unmarked, collect};
use tokio::sync::mpsc;

use crate::accepted::Guard;
use crate::bytes;
use crate::error::GitError;
use crate::location::Location;
use crate::lock::{self, Turn};
use crate::program::Git;
pub use environment::REPOSITORY_VARIABLES;
use environment::{COMMON_OPTIONS, SCREENS, SILENCE};
use inside::Inside;
pub(crate) use inside::read_settings;

mod environment;
mod inside;

/// Time for an ordinary command.
const ORDINARY: Duration = Duration::from_secs(120);
/// Time for a command that runs the user's hooks or filters, or checks out a tree.
const LONG: Duration = Duration::from_secs(30 * 60);
/// Between asking git to end and killing it; also how long a hook's leftover children may keep the pipes.
const GRACE: Duration = Duration::from_secs(2);
const STDOUT_CAP: usize = 256 << 20;
const STDERR_CAP: usize = 64 << 10;

/// What a command does to the repository.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Reads only; must not take a lock, not even to refresh the index.
    Read,
    /// Writes objects, refs or the index.
    Write,
    /// Runs what the user configured: hooks, filters, signing.
    User,
}

/// What a finished command left.
#[derive(Debug)]
pub(crate) struct Output {
    pub(crate) exit: Option<i32>,
    pub(crate) stdout: Vec<u8>,
    pub(crate) stderr: Vec<u8>,
    /// Where it ran: paths in its messages may be relative.
    dir: PathBuf,
}

/// A git command to be run.
#[derive(Debug)]
pub(crate) struct GitCommand {
    git: Git,
    dir: PathBuf,
    kind: Kind,
    config: Vec<OsString>,
    global: Vec<OsString>,
    args: Vec<OsString>,
    env: Vec<(OsString, OsString)>,
    input: Stdin,
    output: Option<PipeWriter>,
    timeout: Duration,
    cap: usize,
    turns: Vec<Turn>,
    /// Why it must not be started.
    refused: Option<GitError>,
    /// Looks before the start and after the end whether the repository still is as it was accepted.
    guard: Option<Arc<Guard>>,
    /// Nothing that signs may ask on a screen.
    blind: bool,
    /// It talks to a remote.
    remote: bool,
    /// The worktree whose settings may name programs by relative paths.
    inside: Option<Inside>,
}

impl GitCommand {
    pub(crate) fn new(git: &Git, dir: &Path, kind: Kind) -> Self {
        Self {
            git: git.clone(),
            dir: dir.to_owned(),
            kind,
            config: Vec::new(),
            global: Vec::new(),
            args: Vec::new(),
            env: Vec::new(),
            input: Stdin::Null,
            output: None,
            timeout: if kind == Kind::User { LONG } else { ORDINARY },
            cap: STDOUT_CAP,
            turns: Vec::new(),
            refused: None,
            guard: None,
            blind: false,
            remote: false,
            inside: None,
        }
    }

    /// A command in a worktree with this git directory. Programs and hooks are those of the user's own checkout.
    pub(crate) fn at(
        git: &Git,
        location: &Arc<Location>,
        worktree: &Path,
        git_dir: &Path,
        kind: Kind,
    ) -> Self {
        let is_bare = location.bare && git_dir == location.common_dir;
        let command = Self::new(git, worktree, kind).of(location, worktree, git_dir);
        command.placed(git_dir, &location.common_dir, (!is_bare).then_some(worktree))
    }

    /// A command in the git directory that all worktrees share: no work tree in reach.
    pub(crate) fn bare(git: &Git, location: &Arc<Location>, kind: Kind) -> Self {
        let command = Self::new(git, &location.common_dir, kind);
        command.of(location, &location.root, &location.common_dir).env("GIT_DIR", &location.common_dir)
    }

    /// Hooks lie where the user's own checkout has them. A relative `core.hooksPath` would lead into the worktree at
    /// hand, where whoever works there writes them.
    fn of(mut self, location: &Arc<Location>, worktree: &Path, git_dir: &Path) -> Self {
        if let Some(hooks) = &location.hooks {
            let mut setting = OsString::from("core.hooksPath=");
            setting.push(hooks);
            self.config.push(setting);
        }
        self.inside = Some(Inside {
            location: Arc::clone(location),
            worktree: worktree.to_owned(),
            git_dir: git_dir.to_owned(),
        });
        self
    }

    /// Names the repository, so that git does not discover one; without a work tree for a bare one.
    pub(crate) fn placed(self, git_dir: &Path, common_dir: &Path, work_tree: Option<&Path>) -> Self {
        let placed = self.env("GIT_DIR", git_dir);
        match work_tree {
            Some(work_tree) => placed.env("GIT_COMMON_DIR", common_dir).env("GIT_WORK_TREE", work_tree),
            // With a common directory named, git would not look whether the repository is bare.
            None => placed,
        }
    }

    /// Makes it fail with this error instead of being started.
    pub(crate) fn refused(mut self, error: GitError) -> Self {
        self.refused = Some(error);
        self
    }

    /// Starts it only while the repository is as it was accepted.
    pub(crate) fn guarded(mut self, guard: Option<Arc<Guard>>) -> Self {
        self.guard = guard;
        self
    }

    /// Hides terminals and displays from what it starts.
    pub(crate) fn blind(mut self, blind: bool) -> Self {
        self.blind = blind;
        self
    }

    /// Starts it from the user's whole environment: it talks to a remote, and helpers for credentials need their keys.
    pub(crate) fn with_credentials(mut self) -> Self {
        self.remote = true;
        self
    }

    pub(crate) fn arg(mut self, arg: impl AsRef<OsStr>) -> Self {
        self.args.push(arg.as_ref().to_owned());
        self
    }

    pub(crate) fn args<I: IntoIterator<Item: AsRef<OsStr>>>(mut self, args: I) -> Self {
        self.args.extend(args.into_iter().map(|a| a.as_ref().to_owned()));
        self
    }

    /// One more `-c name=value`.
    pub(crate) fn config(mut self, setting: impl Into<OsString>) -> Self {
        self.config.push(setting.into());
        self
    }

    /// An option of git itself, before the command's name.
    pub(crate) fn global(mut self, option: impl Into<OsString>) -> Self {
        self.global.push(option.into());
        self
    }

    /// Runs it in another directory.
    pub(crate) fn in_dir(mut self, dir: &Path) -> Self {
        self.dir = dir.to_owned();
        self
    }

    pub(crate) fn env(mut self, key: impl Into<OsString>, value: impl Into<OsString>) -> Self {
        self.env.push((key.into(), value.into()));
        self
    }

    pub(crate) fn envs(mut self, env: impl IntoIterator<Item = (OsString, OsString)>) -> Self {
        self.env.extend(env);
        self
    }

    /// Keeps a turn until the process is gone, also when nobody waits for it any more.
    pub(crate) fn during(mut self, turn: &Turn) -> Self {
        self.turns.push(turn.clone());
        self
    }

    pub(crate) fn input(mut self, input: impl Into<Vec<u8>>) -> Self {
        self.input = Stdin::Bytes(input.into());
        self
    }

    /// Has its input arrive in pieces, until the sender is dropped.
    pub(crate) fn input_from(mut self, input: mpsc::Receiver<Vec<u8>>) -> Self {
        self.input = Stdin::Stream(input);
        self
    }

    /// Has its output go into a pipe that somebody else reads, instead of being kept.
    pub(crate) fn output_to(mut self, pipe: PipeWriter) -> Self {
        self.output = Some(pipe);
        self
    }

    pub(crate) fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    pub(crate) fn cap(mut self, cap: usize) -> Self {
        self.cap = cap;
        self
    }

    /// Runs it; any exit code is an answer.
    pub(crate) async fn run(mut self) -> Result<Output, GitError> {
        if let Some(error) = self.refused.take() {
            return Err(error);
        }
        let guard = self.guard.take();
        if let Some(guard) = &guard {
            Arc::clone(guard).check().await?;
        }
        if let Some(inside) = self.inside.take() {
            // Boxed, since this may run a command, and is seldom more than a look into memory.
            let found = Box::pin(inside.programs(&self.git, guard.as_ref())).await?;
            self.config.extend(found);
        }
        let args = self.shown();
        tracing::trace!(%args, dir = %self.dir.display(), "git");
        let (dir, caps) = (self.dir.clone(), Caps { stdout: self.cap, stderr: STDERR_CAP });
        // Many commands are awaited in one function, whose future would hold the room for each of them.
        let collected = Box::pin(collect(self.into_command(), caps)).await;
        if let (Some(guard), Ok(_)) = (guard, &collected) {
            // What it read may be another configuration than the one that was looked at: then it says nothing.
            guard.check().await?;
        }
        match collected {
            Ok(collected) => {
                let exit = match collected.exit {
                    Exit::Code(code) => Some(code),
                    Exit::Signal(_) => None,
                };
                Ok(Output { exit, stdout: collected.stdout, stderr: collected.stderr, dir })
            }
            Err(error) => Err(not_run(error, args, dir)),
        }
    }

    /// Runs it; every exit code but 0 is an error.
    pub(crate) async fn ok(self) -> Result<Vec<u8>, GitError> {
        let args = self.shown();
        let output = self.run().await?;
        if output.exit == Some(0) { Ok(output.stdout) } else { Err(output.failed(args)) }
    }

    /// Runs it; its output is one line.
    pub(crate) async fn text(self) -> Result<String, GitError> {
        Ok(bytes::line(&self.ok().await?))
    }

    /// Runs it; exit 0 is yes, 1 is no, anything else an error.
    pub(crate) async fn yes(self) -> Result<bool, GitError> {
        let args = self.shown();
        let output = self.run().await?;
        match output.exit {
            Some(0) => Ok(true),
            Some(1) => Ok(false),
            _ => Err(output.failed(args)),
        }
    }

    /// The arguments as shown in errors.
    pub(crate) fn shown(&self) -> String {
        let mut shown = Vec::with_capacity(self.args.len());
        shown.extend(self.args.iter().map(|a| a.to_string_lossy()));
        shown.join(" ")
    }

    fn into_command(self) -> Command<Unmarked> {
        let mut command = Command::tool(self.git.program(), self.dir)
            .base(self.git.variables(self.remote))
            .timeout(self.timeout)
            .grace(GRACE)
            .without_terminal();
        let config = COMMON_OPTIONS.iter().map(OsString::from).chain(self.config);
        command.args = config.flat_map(|setting| [OsString::from("-c"), setting]).collect();
        command.args.extend(self.global);
        command.args.extend(self.args);
        command.env_remove = REPOSITORY_VARIABLES.iter().map(OsString::from).collect();
        command = command.envs(SILENCE);
        if self.kind != Kind::User {
            // Errors in one language. Not where hooks run: they keep the user's locale.
            command = command.env("LC_ALL", "C");
        }
        if self.kind == Kind::Read {
            // A reader that refreshes the index would lock it under the agent's own git.
            command = command.env("GIT_OPTIONAL_LOCKS", "0");
        }
        command.env.extend_from_slice(self.git.env());
        command.env.extend(self.env);
        if self.blind {
            // What is set wins over what is removed.
            command.env.retain(|(name, _)| !SCREENS.iter().any(|screen| name == screen));
            command.env_remove.extend(SCREENS.map(OsString::from));
        }
        command = command.stdin(self.input);
        if let Some(pipe) = self.output {
            command = command.stdout_to(pipe);
        }
        self.turns.into_iter().fold(command, |command, turn| command.keep(turn))
    }
}

/// What it means that git did not come to its end.
fn not_run(error: CollectError, args: String, dir: PathBuf) -> GitError {
    match error {
        CollectError::Run(ExecError::NoFolder { cause, .. }) => {
            GitError::Io { doing: "enter", path: dir, source: cause }
        }
        CollectError::Run(
            ExecError::NoProgram { program, cause: source } | ExecError::Start { program, source },
        ) => GitError::Missing { program: Some(program.into()), source },
        CollectError::Run(ExecError::Wait { source, .. } | ExecError::Output { source, .. }) => {
            GitError::Io { doing: "talk to git in", path: dir, source }
        }
        CollectError::Run(ExecError::Sandbox { source, .. }) => {
            GitError::Io { doing: "confine git in", path: dir, source }
        }
        CollectError::TimedOut { after, .. } => GitError::Timeout { args, after },
        CollectError::TooMuchOutput { cap, .. } => GitError::TooMuchOutput { args, cap },
    }
}

impl Output {
    /// The error of a command that did not do it: the lock file in its way when it names one, else its words.
    pub(crate) fn failed(self, args: String) -> GitError {
        if let Some(path) = lock::named_in(&self.stderr, &self.dir) {
            return GitError::IndexLocked { holder: lock::holder(&path), path };
        }
        GitError::Failed { args, exit: self.exit, stderr: bytes::text(&self.stderr).trim_end().to_owned() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Sandbox;

    #[tokio::test]
    async fn one_that_prints_too_much_or_takes_too_long_is_told_by_its_arguments() {
        let sandbox = Sandbox::new().await;
        let endless = |script: &str| {
            let command = GitCommand::new(&sandbox.git, sandbox.dir(), Kind::Read);
            command.config(format!("alias.endless=!{script}")).arg("endless")
        };
        let flood = endless("yes").cap(1000).run().await;
        assert!(
            matches!(&flood, Err(GitError::TooMuchOutput { args, cap: 1000 }) if args == "endless"),
            "{flood:?}"
        );
        let limit = Duration::from_millis(100);
        let hang = endless("sleep 1000").timeout(limit).run().await;
        assert!(
            matches!(&hang, Err(GitError::Timeout { args, after }) if args == "endless" && *after == limit),
            "{hang:?}"
        );
    }

    #[tokio::test]
    async fn inherited_repository_variables_do_not_arrive() {
        let sandbox = Sandbox::new().await;
        let leading = REPOSITORY_VARIABLES.map(|name| (name.into(), "elsewhere".into()));
        let git = sandbox.git.clone().with_variables(Arc::new(leading.into()));
        let command = GitCommand::new(&git, sandbox.dir(), Kind::Read).into_command();
        for variable in REPOSITORY_VARIABLES {
            assert!(command.env_remove.iter().any(|name| name == variable), "{variable}");
            assert!(!command.env.iter().any(|(name, _)| name == variable), "{variable}");
        }
        assert!(command.env.contains(&("LC_ALL".into(), "C".into())));
        assert!(command.env.contains(&("GIT_OPTIONAL_LOCKS".into(), "0".into())));
        let with_hooks = GitCommand::new(&sandbox.git, sandbox.dir(), Kind::User).into_command();
        assert!(with_hooks.env.iter().all(|(name, _)| name != "LC_ALL"));
    }

    #[tokio::test]
    async fn one_that_signs_blindly_sees_no_screen_even_if_one_is_set() {
        let sandbox = Sandbox::new().await;
        let mut variables: forge_exec::Variables = std::env::vars_os().collect();
        variables.insert("DISPLAY".into(), ":0".into());
        let git = sandbox.git.clone().with_variables(Arc::new(variables));
        let seen = async |git: &Git, blind| {
            let command = GitCommand::new(git, sandbox.dir(), Kind::User).blind(blind);
            command.config("alias.seen=!echo $DISPLAY$GPG_TTY").arg("seen").text().await.unwrap()
        };
        let git = git.with_env("GPG_TTY", "/dev/tty");
        assert_eq!(seen(&git, false).await, ":0/dev/tty");
        assert_eq!(seen(&git, true).await, "");
    }

    #[tokio::test]
    async fn input_reaches_it_and_exit_codes_are_answers() {
        let sandbox = Sandbox::new().await;
        let oid = GitCommand::new(&sandbox.git, sandbox.dir(), Kind::Read)
            .args(["hash-object", "--stdin"])
            .input("hello\n")
            .text()
            .await
            .unwrap();
        assert_eq!(oid, "ce013625030ba8dba906f756967f9e9ca394464a");
        let failed = GitCommand::new(&sandbox.git, sandbox.dir(), Kind::Read).arg("nonsense").ok().await;
        assert!(matches!(failed, Err(GitError::Failed { exit: Some(1), .. })), "{failed:?}");
    }
}
