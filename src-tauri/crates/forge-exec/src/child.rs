//! The start of a program, its input, and its end by escalation: the same for [`run`](crate::run()) and
//! [`collect`](crate::collect()).

use std::{
    ffi::{OsStr, OsString},
    fs::File,
    io::{self, Read as _},
    path::{Path, PathBuf},
    process::{ExitStatus, Stdio},
    thread,
    time::Duration,
};

use tokio::{
    io::{AsyncWrite, AsyncWriteExt},
    process::Child,
    runtime::Handle,
    time::Instant,
};

use crate::error::ExecError;
use crate::group::{Group, lead_group, lead_group_without_terminal, lead_session_in_terminal};
use crate::process::is_executable;
use crate::sandbox::{Confinement, SandboxError};
use crate::{Command, MARKER_VARIABLE, Marker, Stdin, Stdout, find_program};

/// The search path of programs.
const PATH: &str = "PATH";

/// Starts a program with pipes. What it is given of pipes is taken from the description, and closed here.
pub(crate) async fn spawn<M>(command: &mut Command<M>, marker: Option<&Marker>) -> Result<Child, ExecError> {
    let stdin = match &command.stdin {
        Stdin::Null => Stdio::null(),
        Stdin::Bytes(_) | Stdin::Stream(_) => Stdio::piped(),
    };
    let stdout = match std::mem::take(&mut command.stdout) {
        Stdout::Read => Stdio::piped(),
        Stdout::Pipe(pipe) => pipe.into(),
    };
    spawn_with(command, marker, [stdin, stdout, Stdio::piped()]).await
}

/// Starts a program with what it reads from, prints to, and prints errors to.
pub(crate) async fn spawn_with<M>(
    command: &Command<M>,
    marker: Option<&Marker>,
    [stdin, stdout, stderr]: [Stdio; 3],
) -> Result<Child, ExecError> {
    let confinement = confinement(command).await?;
    let file = located(command);
    let mut builder = tokio::process::Command::new(&file);
    builder.arg0(&command.program).args(&command.args).current_dir(&command.cwd);
    if let Some(base) = &command.base {
        builder.env_clear().envs(base.iter());
    }
    for name in &command.env_remove {
        builder.env_remove(name);
    }
    builder.envs(command.env.iter().map(|(name, value)| (name, value)));
    if let Some(marker) = marker {
        builder.env(MARKER_VARIABLE, &marker.0);
    }
    builder.stdin(stdin).stdout(stdout).stderr(stderr);
    builder.kill_on_drop(true);
    if command.terminal.is_some() {
        lead_session_in_terminal(&mut builder);
    } else if command.without_terminal {
        lead_group_without_terminal(&mut builder);
    } else {
        lead_group(&mut builder);
    }
    let started = match confinement {
        Some(confinement) => spawn_confined(&mut builder, confinement),
        None => builder.spawn().map_err(NotStarted::System),
    };
    started.map_err(|why| {
        let program = command.program.clone();
        let cause = match why {
            NotStarted::System(cause) => cause,
            NotStarted::Sandbox(error) => return ExecError::Sandbox { program, source: error.into() },
        };
        let is_there = || is_executable(&command.cwd.join(&file));
        // The system gives one error for a missing folder and a missing program.
        if !command.cwd.is_dir() {
            ExecError::NoFolder { program, cwd: command.cwd.clone(), cause }
        } else if cause.kind() == io::ErrorKind::NotFound {
            ExecError::NoProgram { program, cause }
        } else if cause.kind() == io::ErrorKind::PermissionDenied && command.sandbox.is_some() && is_there() {
            let file = command.cwd.join(&file);
            ExecError::Sandbox { program, source: SandboxError::NotExecutable { file }.into() }
        } else {
            ExecError::Start { program, source: cause }
        }
    })
}

/// The rules that a program is confined by. Making them reads folders, which may be slow.
async fn confinement<M>(command: &Command<M>) -> Result<Option<Confinement>, ExecError> {
    let Some(sandbox) = command.sandbox.clone() else { return Ok(None) };
    let made = tokio::task::spawn_blocking(move || Confinement::of(&sandbox)).await;
    let made = made.map_err(io::Error::from).and_then(|made| made.map_err(io::Error::from));
    made.map(Some).map_err(|source| ExecError::Sandbox { program: command.program.clone(), source })
}

/// Why a program was not started.
enum NotStarted {
    System(io::Error),
    Sandbox(SandboxError),
}

/// Starts a program from a thread that confines itself and ends: only what it starts stays confined. The wait for it is
/// as short as the start of a program, and nothing can come between a start and its being known.
fn spawn_confined(
    builder: &mut tokio::process::Command,
    confinement: Confinement,
) -> Result<Child, NotStarted> {
    let runtime = Handle::current();
    let confined = || {
        // Whoever follows the child is told of its end by this runtime.
        let _entered = runtime.enter();
        confinement.enter().map_err(NotStarted::Sandbox)?;
        builder.spawn().map_err(NotStarted::System)
    };
    thread::scope(|scope| {
        let thread = thread::Builder::new().name("confined-start".to_owned());
        let started = thread.spawn_scoped(scope, confined).map_err(NotStarted::System)?;
        started.join().unwrap_or_else(|_| Err(NotStarted::System(io::ErrorKind::Other.into())))
    })
}

/// The file of a program that is named without a folder, on the search path that it is given. Looked up here, since the
/// standard library forks when a child has a path of its own. What is found nowhere keeps its name: the start says so.
fn located<M>(command: &Command<M>) -> OsString {
    let given = command.env.iter().rev().find(|(name, _)| name == PATH).map(|(_, value)| value);
    let path = given.or_else(|| command.base.as_ref().and_then(|base| base.get(OsStr::new(PATH))));
    let name = Path::new(&command.program);
    let is_bare = name.file_name() == Some(name.as_os_str());
    let found = path.filter(|_| is_bare).and_then(|path| find_program(name, path));
    let found = found.filter(|file| !needs_a_shell(file));
    found.map_or_else(|| command.program.clone(), PathBuf::into_os_string)
}

/// Whether a file is text that does not say what runs it. A shell does, but only for programs that the fork looks up.
fn needs_a_shell(file: &Path) -> bool {
    let mut start = [0; 2];
    let read = File::open(file).and_then(|mut file| file.read_exact(&mut start));
    read.is_ok()
        && start != *b"#!"
        && start.iter().all(|byte| byte.is_ascii_graphic() || byte.is_ascii_whitespace())
}

/// Writes the child's input. A child that does not read what it is given is no error.
pub(crate) async fn feed(pipe: Option<impl AsyncWrite + Unpin>, stdin: Stdin) {
    let Some(mut pipe) = pipe else { return };
    match stdin {
        Stdin::Null => {}
        Stdin::Bytes(bytes) => {
            let _ = pipe.write_all(&bytes).await;
        }
        Stdin::Stream(mut chunks) => {
            while let Some(chunk) = chunks.recv().await {
                if pipe.write_all(&chunk).await.is_err() {
                    break;
                }
            }
        }
    }
}

/// Asks the whole group to end, in the way that its programs heed, then kills it. Returns how the leader ended, and what is left of the grace.
pub(crate) async fn escalate(
    child: &mut Child,
    (group, ask): (Group, fn(Group)),
    grace: Duration,
) -> io::Result<(ExitStatus, Duration)> {
    let asked = Instant::now();
    ask(group);
    if let Ok(status) = tokio::time::timeout(grace, child.wait()).await {
        return Ok((status?, grace.saturating_sub(asked.elapsed())));
    }
    group.kill();
    Ok((child.wait().await?, Duration::ZERO))
}
