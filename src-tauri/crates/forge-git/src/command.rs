//! The one place where git is started.
//!
//! Every command has its own process group, a time limit, a limit on what it may print, no standard input
//! unless bytes are given, and an environment without secrets and without whatever would lead it to another
//! repository. It runs in a session of its own without a terminal, so nothing it starts can ask anybody a question: what
//! would ask fails.
//! A command on a worktree is told its git directory and its common directory by [`GitCommand::placed`]; git
//! discovers neither, so a `.git` that somebody put there counts for nothing.
//! When the caller loses interest (drops the future) the whole group is asked to end, so that git can
//! remove its lock files, and is killed when it does not.

use std::ffi::{OsStr, OsString};
use std::io::PipeWriter;
use std::path::{Path, PathBuf};
use std::pin::{Pin, pin};
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};
use tokio::process::{Child, Command};

use crate::accepted::Guard;
use crate::bytes;
use crate::error::GitError;
use crate::lock::{self, Turn};
use crate::program::Git;

/// Time for an ordinary command.
const ORDINARY: Duration = Duration::from_secs(120);
/// Time for a command that runs the user's hooks or filters, or checks out a tree.
const LONG: Duration = Duration::from_secs(30 * 60);
/// Between asking a group to end and killing it; also how long a hook's leftover children may keep the pipes.
const GRACE: Duration = Duration::from_secs(2);
const LOOK_AGAIN: Duration = Duration::from_millis(5);
const STDOUT_CAP: usize = 256 << 20;
const STDERR_CAP: usize = 64 << 10;

/// Variables that would lead git to another repository, index or object store, or change what paths mean.
/// They are set when Forge is started from a hook or an alias. The user's own configuration by environment
/// (`GIT_CONFIG_COUNT`, `GIT_CONFIG_GLOBAL`, identities, SSH) stays.
///
/// Whoever starts a program that may call git in a worktree keeps them from it, too.
pub const REPOSITORY_VARIABLES: [&str; 21] = [
    "GIT_DIR",
    "GIT_WORK_TREE",
    "GIT_INDEX_FILE",
    "GIT_OBJECT_DIRECTORY",
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    "GIT_QUARANTINE_PATH",
    "GIT_COMMON_DIR",
    "GIT_NAMESPACE",
    "GIT_PREFIX",
    "GIT_SHALLOW_FILE",
    "GIT_GRAFT_FILE",
    "GIT_REPLACE_REF_BASE",
    "GIT_IMPLICIT_WORK_TREE",
    "GIT_INTERNAL_SUPER_PREFIX",
    "GIT_CONFIG",
    "GIT_CONFIG_PARAMETERS",
    "GIT_LITERAL_PATHSPECS",
    "GIT_GLOB_PATHSPECS",
    "GIT_NOGLOB_PATHSPECS",
    "GIT_ICASE_PATHSPECS",
    "GIT_ATTR_SOURCE",
];

/// The program that is asked for passwords and passphrases: it answers nothing and fails.
const REFUSING_HELPER: &str = "false";

/// Keeps git and whatever it starts from asking anybody: nobody sits at a terminal, and a question would hang
/// until the time limit. And has it say what libgit2 says.
const SILENCE: [(&str, &str); 10] = [
    ("GIT_TERMINAL_PROMPT", "0"),
    // Empty, so that `core.askPass` is not used either.
    ("GIT_ASKPASS", ""),
    ("SSH_ASKPASS", REFUSING_HELPER),
    ("SSH_ASKPASS_REQUIRE", "force"),
    ("GCM_INTERACTIVE", "never"),
    ("GIT_EDITOR", ":"),
    ("GIT_SEQUENCE_EDITOR", ":"),
    ("GIT_MERGE_AUTOEDIT", "no"),
    ("GIT_PAGER", "cat"),
    // Whoever can write refs could have other objects shown than those that are merged; libgit2 knows no replacements.
    ("GIT_NO_REPLACE_OBJECTS", "1"),
];

/// Variables that name a terminal or a display on which a passphrase could be asked for.
const SCREENS: [&str; 3] = ["GPG_TTY", "DISPLAY", "WAYLAND_DISPLAY"];

/// Options every command gets.
const COMMON_OPTIONS: [&str; 7] = [
    // The file system monitor would start a daemon per worktree that outlives the command.
    "core.fsmonitor=false",
    // Background maintenance would hold locks and files in worktrees that are about to be removed.
    "gc.auto=0",
    "maintenance.auto=false",
    // Commands in a submodule would run the filters and hooks that its own configuration names.
    "submodule.recurse=false",
    // "always" would put colour codes into output that is read by a program.
    "color.ui=false",
    // Another git of the user may hold a ref for a moment; the default of 100 ms gives up too early.
    "core.filesRefLockTimeout=3000",
    "core.packedRefsTimeout=5000",
];

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

/// The options that [`ProgramSettings`] finds. Boxed, since finding them may run git, too.
pub(crate) type FoundOptions<'a> = Pin<Box<dyn Future<Output = Result<Vec<OsString>, GitError>> + Send + 'a>>;

/// Knows the settings that name a program by a relative path, with the path below the user's own checkout. A repository
/// does; a command knows no more of it, since a repository is asked by commands.
pub(crate) trait ProgramSettings: std::fmt::Debug + Send + Sync {
    /// `-c` options for a command in a worktree.
    fn program_settings_for<'a>(&'a self, worktree: &'a Path) -> FoundOptions<'a>;
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
    input: Option<Vec<u8>>,
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
    /// Where the programs of relative settings are to be found.
    programs: Option<(Arc<dyn ProgramSettings>, PathBuf)>,
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
            input: None,
            output: None,
            timeout: if kind == Kind::User { LONG } else { ORDINARY },
            cap: STDOUT_CAP,
            turns: Vec::new(),
            refused: None,
            guard: None,
            blind: false,
            remote: false,
            programs: None,
        }
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

    /// Has the programs that settings name by relative paths be those of the user's own checkout.
    pub(crate) fn with_programs_of<R>(mut self, repo: &R, worktree: &Path) -> Self
    where
        R: ProgramSettings + Clone + 'static,
    {
        self.programs = Some((Arc::new(repo.clone()), worktree.to_owned()));
        self
    }

    /// For a command that starts no program.
    pub(crate) fn without_programs(mut self) -> Self {
        self.programs = None;
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
        self.input = Some(input.into());
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
        if let Some((repo, worktree)) = self.programs.take() {
            self.config.extend(repo.program_settings_for(&worktree).await?);
        }
        let args = self.shown();
        tracing::trace!(%args, dir = %self.dir.display(), "git");
        let mut child = self.spawn()?;
        let input = self.input.take();
        let (mut stdout, mut stderr) = (Vec::new(), Vec::new());
        let finished =
            tokio::time::timeout(self.timeout, drive(&mut child, input, self.cap, &mut stdout, &mut stderr))
                .await;
        if let (Some(guard), Ok(Ok(Driven::Done(_)))) = (guard, &finished) {
            // What it read may be another configuration than the one that was looked at: then it says nothing.
            guard.check().await?;
        }
        match finished {
            Ok(Ok(Driven::Done(exit))) => Ok(Output { exit, stdout, stderr, dir: self.dir }),
            Ok(Ok(Driven::TooMuch)) => {
                child.end().await;
                Err(GitError::TooMuchOutput { args, cap: self.cap })
            }
            Ok(Err(source)) => {
                child.end().await;
                Err(GitError::Io { doing: "talk to git in", path: self.dir, source })
            }
            Err(_) => {
                child.end().await;
                Err(GitError::Timeout { args, after: self.timeout })
            }
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

    fn build(&mut self) -> Command {
        let mut command = Command::new(self.git.program());
        for setting in
            COMMON_OPTIONS.iter().map(OsStr::new).chain(self.config.iter().map(OsString::as_os_str))
        {
            command.arg("-c").arg(setting);
        }
        command.args(&self.global).args(&self.args).current_dir(&self.dir);
        command.env_clear().envs(self.git.variables(self.remote));
        for variable in REPOSITORY_VARIABLES {
            command.env_remove(variable);
        }
        command.envs(SILENCE);
        if self.kind != Kind::User {
            // Errors in one language. Not where hooks run: they keep the user's locale.
            command.env("LC_ALL", "C");
        }
        if self.kind == Kind::Read {
            // A reader that refreshes the index would lock it under the agent's own git.
            command.env("GIT_OPTIONAL_LOCKS", "0");
        }
        command.envs(self.git.env().iter().map(|(k, v)| (k, v)));
        command.envs(self.env.iter().map(|(k, v)| (k, v)));
        if self.blind {
            for screen in SCREENS {
                command.env_remove(screen);
            }
        }
        command
            .stdin(if self.input.is_some() { Stdio::piped() } else { Stdio::null() })
            .stdout(self.output.take().map_or_else(Stdio::piped, Stdio::from))
            .stderr(Stdio::piped());
        own_session(&mut command);
        command
    }

    fn spawn(&mut self) -> Result<Group, GitError> {
        match self.build().spawn() {
            Ok(child) => {
                Ok(Group { pid: child.id(), child: Some(child), turns: self.turns.clone(), given_up: false })
            }
            Err(source) if !self.dir.is_dir() => {
                Err(GitError::Io { doing: "enter", path: self.dir.clone(), source })
            }
            Err(source) => Err(GitError::Missing { program: Some(self.git.program().to_owned()), source }),
        }
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

/// Makes the child the leader of a session of its own, and so of a process group, without a terminal.
#[expect(unsafe_code, reason = "the standard library starts no program in a session of its own without it")]
fn own_session(command: &mut Command) {
    // SAFETY: between fork and exec only `setsid` is called, which is safe to call there and allocates nothing.
    unsafe {
        command.pre_exec(|| nix::unistd::setsid().map(drop).map_err(std::io::Error::from));
    }
}

enum Driven {
    Done(Option<i32>),
    TooMuch,
}

async fn drive(
    group: &mut Group,
    input: Option<Vec<u8>>,
    cap: usize,
    stdout: &mut Vec<u8>,
    stderr: &mut Vec<u8>,
) -> std::io::Result<Driven> {
    let Some(child) = group.child.as_mut() else { return Ok(Driven::Done(None)) };
    let (stdin, out, err) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
    let feed = async {
        if let (Some(mut stdin), Some(input)) = (stdin, input) {
            // A broken pipe means git had enough; its exit code says whether that is an error.
            let _closed_early = stdin.write_all(&input).await;
        }
        Ok(false)
    };
    let mut pipes = pin!(async {
        let (_, too_much, _) =
            tokio::try_join!(feed, take(out, stdout, cap, false), take(err, stderr, STDERR_CAP, true))?;
        std::io::Result::Ok(too_much)
    });
    let status = tokio::select! {
        // Pipes first: usually they close before the process is reaped, and all output counts.
        biased;
        too_much = &mut pipes => {
            if too_much? { return Ok(Driven::TooMuch); }
            child.wait().await?
        }
        status = child.wait() => {
            // A hook's background child may hold the pipes for ever; what git itself wrote is in them already.
            if let Ok(too_much) = tokio::time::timeout(GRACE, &mut pipes).await && too_much? {
                return Ok(Driven::TooMuch);
            }
            status?
        }
    };
    Ok(Driven::Done(status.code()))
}

/// Reads all of a pipe; says whether there was more than `cap` (`drain`: goes on reading what it drops).
async fn take(
    pipe: Option<impl AsyncRead + Unpin>,
    into: &mut Vec<u8>,
    cap: usize,
    drain: bool,
) -> std::io::Result<bool> {
    let Some(mut pipe) = pipe else { return Ok(false) };
    let mut buffer = vec![0; 64 << 10];
    let mut too_much = false;
    loop {
        let n = pipe.read(&mut buffer).await?;
        if n == 0 {
            return Ok(too_much);
        }
        let room = cap.saturating_sub(into.len()).min(n);
        into.extend_from_slice(&buffer[..room]);
        if room < n {
            too_much = true;
            if !drain {
                return Ok(true);
            }
        }
    }
}

/// A child that leads its own process group; the group does not outlive this value.
#[derive(Debug)]
struct Group {
    pid: Option<u32>,
    child: Option<Child>,
    turns: Vec<Turn>,
    /// A task of its own sees to its end.
    given_up: bool,
}

impl Group {
    fn signal(&self, signal: Signal) {
        if let Some(pid) = self.pid.and_then(|pid| i32::try_from(pid).ok()) {
            // The group may be gone already, which is what is wanted.
            let _gone = killpg(Pid::from_raw(pid), signal);
        }
    }

    async fn end(&mut self) {
        if let Some(mut child) = self.child.take() {
            self.signal(Signal::SIGTERM);
            let _ended = tokio::time::timeout(GRACE, async {
                let _reaped = child.wait().await;
                // Programs that git started remove their lock files too, and are not ours to wait for.
                while self.is_alive() {
                    tokio::time::sleep(LOOK_AGAIN).await;
                }
            })
            .await;
            self.signal(Signal::SIGKILL);
            let _reaped = child.wait().await;
        }
    }

    fn is_alive(&self) -> bool {
        let pid = self.pid.and_then(|pid| i32::try_from(pid).ok());
        pid.is_some_and(|pid| killpg(Pid::from_raw(pid), None).is_ok())
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        let Some(child) = self.child.take() else { return };
        // The leader was waited for: whatever it left in its group is the hook author's intention.
        if child.id().is_none() {
            return;
        }
        if self.given_up {
            // The runtime ends, and took no new task or dropped it: nobody is left to wait.
            self.signal(Signal::SIGKILL);
            return;
        }
        let turns = std::mem::take(&mut self.turns);
        let mut group = Group { pid: self.pid, child: Some(child), turns, given_up: true };
        match tokio::runtime::Handle::try_current() {
            Ok(runtime) => {
                runtime.spawn(async move { group.end().await });
            }
            Err(_) => drop(group),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Sandbox;

    #[tokio::test]
    async fn a_flood_is_cut_and_ended() {
        let sandbox = Sandbox::new().await;
        let flood = GitCommand::new(&sandbox.git, sandbox.dir(), Kind::Read)
            .config("alias.flood=!yes")
            .arg("flood")
            .cap(1000)
            .run()
            .await;
        assert!(matches!(flood, Err(GitError::TooMuchOutput { cap: 1000, .. })), "{flood:?}");
    }

    #[tokio::test]
    async fn a_hang_is_ended_with_its_children() {
        let sandbox = Sandbox::new().await;
        let marker = sandbox.dir().join("pid");
        let hang = GitCommand::new(&sandbox.git, sandbox.dir(), Kind::Read)
            .config(format!("alias.hang=!echo $$ > {}; sleep 1000; true", marker.display()))
            .arg("hang")
            .timeout(Duration::from_millis(500))
            .run()
            .await;
        assert!(matches!(hang, Err(GitError::Timeout { .. })), "{hang:?}");
        if let Ok(pid) = std::fs::read_to_string(&marker) {
            let pid = Pid::from_raw(pid.trim().parse().unwrap());
            assert!(nix::sys::signal::kill(pid, None).is_err(), "the shell outlived git");
        }
    }

    #[test]
    fn one_that_was_given_up_does_not_outlive_the_runtime() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let sandbox = runtime.block_on(Sandbox::new());
        let marker = sandbox.dir().join("pid");
        let written = marker.clone();
        runtime.block_on(async {
            let hang = GitCommand::new(&sandbox.git, sandbox.dir(), Kind::Read)
                .config(format!(
                    "alias.hang=!echo $$ >{0}.new; mv {0}.new {0}; sleep 1000; true",
                    marker.display()
                ))
                .arg("hang")
                .run();
            let running = async {
                while !written.exists() {
                    tokio::time::sleep(LOOK_AGAIN).await;
                }
            };
            tokio::select! {
                _ = hang => panic!("it ended"),
                () = running => {}
            }
        });
        // Its end was left to a task that this runtime never runs.
        drop(runtime);
        let pid = Pid::from_raw(std::fs::read_to_string(&marker).unwrap().trim().parse().unwrap());
        while nix::sys::signal::kill(pid, None).is_ok() && !is_dead(pid) {
            std::thread::sleep(LOOK_AGAIN);
        }
    }

    /// Killed, and waiting for whoever takes over orphans to notice.
    fn is_dead(pid: Pid) -> bool {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        stat.rsplit(") ").next().is_none_or(|rest| rest.starts_with(['Z', 'X']) || rest.is_empty())
    }

    #[tokio::test]
    async fn inherited_repository_variables_do_not_arrive() {
        let sandbox = Sandbox::new().await;
        let leading = REPOSITORY_VARIABLES.map(|name| (name.into(), "elsewhere".into()));
        let git = sandbox.git.clone().with_variables(Arc::new(leading.into()));
        let command = GitCommand::new(&git, sandbox.dir(), Kind::Read).build();
        let set: Vec<_> = command.as_std().get_envs().collect();
        for variable in REPOSITORY_VARIABLES {
            assert!(!set.iter().any(|(name, _)| *name == variable), "{variable}");
        }
        assert!(set.contains(&(OsStr::new("LC_ALL"), Some(OsStr::new("C")))));
        assert!(set.contains(&(OsStr::new("GIT_OPTIONAL_LOCKS"), Some(OsStr::new("0")))));
        let with_hooks = GitCommand::new(&sandbox.git, sandbox.dir(), Kind::User).build();
        assert!(with_hooks.as_std().get_envs().all(|(name, _)| name != "LC_ALL"));
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
