//! Starting other programs: each is shown before it runs, and a failure names it.

use std::{
    ffi::OsStr,
    path::Path,
    process::{Command, Output, Stdio},
};

use anyhow::{Context as _, Result, bail};

/// The program with its arguments as somebody would type it.
pub fn shown(command: &Command) -> String {
    std::iter::once(command.get_program())
        .chain(command.get_args())
        .map(OsStr::to_string_lossy)
        .collect::<Vec<_>>()
        .join(" ")
}

/// A program in a folder, with these arguments.
pub fn program<I: AsRef<OsStr>>(
    name: &str,
    arguments: impl IntoIterator<Item = I>,
    folder: &Path,
) -> Command {
    let mut command = Command::new(name);
    command.args(arguments).current_dir(folder);
    // What cargo tells this program of its own package. A build script that looks at it would run again, and with it half
    // of the build, whenever cargo is started from here after it was started by hand.
    for (variable, _) in std::env::vars_os() {
        let name = variable.to_string_lossy();
        if ["CARGO_PKG_", "CARGO_MANIFEST_"].iter().any(|prefix| name.starts_with(prefix)) {
            command.env_remove(&variable);
        }
    }
    command
}

/// Runs a program to its end with its output on the terminal; anything but success is an error.
pub fn run(command: &mut Command) -> Result<()> {
    let line = shown(command);
    eprintln!("$ {line}");
    let status = command.status().with_context(|| format!("failed to start `{line}`"))?;
    if !status.success() {
        bail!("`{line}` failed: {status}");
    }
    Ok(())
}

/// Runs a program quietly and gives its output; anything but success is an error that shows stderr.
pub fn output(command: &mut Command) -> Result<String> {
    let line = shown(command);
    let Output { status, stdout, stderr } =
        command.stdin(Stdio::null()).output().with_context(|| format!("failed to start `{line}`"))?;
    if !status.success() {
        bail!("`{line}` failed: {status}\n{}", String::from_utf8_lossy(&stderr).trim_end());
    }
    String::from_utf8(stdout).with_context(|| format!("`{line}` did not print text"))
}

/// Whether a program is there and ends well.
pub fn answers(name: &str, arguments: &[&str]) -> bool {
    Command::new(name)
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success())
}
