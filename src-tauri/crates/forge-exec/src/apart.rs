//! Starting a program that outlives this one.

use std::{ffi::OsString, fs::File, io, path::Path, process::Stdio};

use tokio::io::{AsyncBufReadExt as _, BufReader};

/// Starts a program apart from this one: without its environment, its folder and its terminal, and nothing that ends
/// this one ends it. Returns once it has printed a line, which says that it is ready. What it says as errors goes to
/// `log`.
///
/// # Errors
/// When it cannot be started, or ends before it prints a line.
pub async fn start_apart(program: &Path, args: &[OsString], log: File) -> io::Result<()> {
    let mut builder = tokio::process::Command::new(program);
    builder.args(args).env_clear().current_dir("/");
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
    Ok(())
}
