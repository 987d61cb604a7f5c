//! Starting a program that outlives this one, replaces it, or has its terminal for a while.

use std::{ffi::OsString, fs::File, io, os::unix::process::CommandExt as _, path::Path, process::Stdio};

use tokio::{
    io::{AsyncBufReadExt as _, BufReader},
    process::Command,
};

use crate::Variables;

/// Starts a program apart from this one: without its environment, its folder and its terminal, and nothing that ends
/// this one ends it. Returns once it has printed a line, which says that it is ready. What it says as errors goes to
/// `log`.
///
/// # Errors
/// When it cannot be started, or ends before it prints a line.
pub async fn start_apart(program: &Path, args: &[OsString], log: File) -> io::Result<()> {
    // It leaves the session by itself.
    start(program, Command::new(program).args(args), Vec::new(), log).await.map(drop)
}

/// The same for a program that has an environment, and does not leave the session by itself: it leads a process group,
/// which a terminal that closes does not end. Returns the line that it printed.
///
/// # Errors
/// When it cannot be started, or ends before it prints a line.
pub async fn start_apart_in(
    variables: &Variables,
    program: &Path,
    args: &[OsString],
    log: File,
) -> io::Result<String> {
    let mut command = Command::new(program);
    command.args(args).process_group(0);
    let given = variables.iter().map(|(name, value)| (name.clone(), value.clone())).collect::<Vec<_>>();
    start(program, &mut command, given, log).await
}

/// Replaces this program by another one, which keeps its terminal and its environment. Returns only when that fails.
#[must_use]
pub fn become_program(program: &Path, args: &[OsString]) -> io::Error {
    std::process::Command::new(program).args(args).exec()
}

/// Runs a program at this one's terminal, with its environment, and waits for it. Whether it ended well.
///
/// # Errors
/// When it cannot be started.
pub async fn in_foreground(program: &Path, args: &[OsString]) -> io::Result<bool> {
    Ok(Command::new(program).args(args).status().await?.success())
}

async fn start(
    program: &Path,
    builder: &mut Command,
    variables: Vec<(OsString, OsString)>,
    log: File,
) -> io::Result<String> {
    builder.env_clear().envs(variables).current_dir("/");
    builder.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(log);
    let mut child = builder.spawn()?;
    let mut line = String::new();
    if let Some(stdout) = child.stdout.take() {
        BufReader::new(stdout).read_line(&mut line).await?;
    }
    if line.is_empty() {
        let status = child.wait().await?;
        let program = program.display();
        return Err(io::Error::other(format!("`{program}` ended before it was ready ({status})")));
    }
    // Whenever it ends, nobody shall have to look at its remains.
    tokio::spawn(async move { child.wait().await.map(drop) });
    Ok(line.trim_end().to_owned())
}
