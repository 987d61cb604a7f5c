//! `forge-keeper`: runs what engines ask for, and outlives them.

use std::{
    io,
    io::Write as _,
    os::unix::ffi::OsStrExt as _,
    path::{Path, PathBuf},
    process::ExitCode,
};

use forge_keeper::{Server, hold, mcp::carry, relay::relay};

fn main() -> ExitCode {
    let mut args = std::env::args_os().skip(1);
    let (command, root) = match (args.next(), args.next(), args.next()) {
        (Some(command), Some(root), None) => (command, PathBuf::from(root)),
        (Some(command), None, None) => return alone(command.to_str()),
        _ => return usage(),
    };
    let done = match command.to_str() {
        Some("serve") => serve(&root),
        Some("relay") => join(&root, true),
        Some("attach") => join(&root, false),
        Some("mcp") => return call(&root),
        _ => return usage(),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("Could not keep programs in {}: {error}.", root.display());
            ExitCode::FAILURE
        }
    }
}

/// What needs no folder.
fn alone(command: Option<&str>) -> ExitCode {
    let done = match command {
        Some("hold") => hold(),
        Some("environment") => tell_environment(),
        _ => return usage(),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("Could not go on: {error}.");
            ExitCode::FAILURE
        }
    }
}

/// Prints the environment, a zero byte behind each variable: not every container has a program that does.
fn tell_environment() -> io::Result<()> {
    let mut out = io::stdout().lock();
    for (name, value) in std::env::vars_os() {
        out.write_all(&[name.as_bytes(), b"=", value.as_bytes(), b"\0"].concat())?;
    }
    out.flush()
}

fn usage() -> ExitCode {
    eprintln!(
        "Usage: forge-keeper serve FOLDER\n       forge-keeper relay FOLDER\n       forge-keeper attach FOLDER\n       forge-keeper mcp FOLDER\n       \
         forge-keeper hold\n       forge-keeper environment\n\nForge starts it; it leaves by itself."
    );
    ExitCode::from(2)
}

/// Joins a session to the keeper, for as long as that session lasts. A keeper that is not there is started, unless it
/// would end with the session.
fn join(root: &Path, starts: bool) -> io::Result<()> {
    let program = std::env::current_exe()?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    // Each stream is a connection with the keeper.
    forge_exec::raise_open_file_limit()?;
    let joined = runtime.block_on(relay(root, starts.then_some(&*program)));
    // A thread may still wait for input that never comes.
    runtime.shutdown_background();
    joined
}

/// Serves the tools of Forge to the agent that started this.
fn call(root: &Path) -> ExitCode {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let carried = runtime.and_then(|runtime| {
        let carried = runtime.block_on(carry(root, |name| std::env::var_os(name)));
        // A thread may still wait for input that never comes.
        runtime.shutdown_background();
        carried
    });
    match carried {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("Could not use the tools of Forge: {error}.");
            ExitCode::FAILURE
        }
    }
}

fn serve(root: &Path) -> io::Result<()> {
    // What ends the engine's terminal or its group does not end this. One that leads a group already stays in it.
    if let Err(error) = nix::unistd::setsid()
        && error != nix::errno::Errno::EPERM
    {
        return Err(error.into());
    }
    let program = std::env::current_exe()?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        forge_exec::become_subreaper()?;
        forge_exec::survive_file_limit()?;
        forge_exec::raise_open_file_limit()?;
        Server::listen(root, &program, || {
            // Whoever started it waits for this line and may be gone.
            let mut out = io::stdout();
            let _ = out.write_all(b"ready\n").and_then(|()| out.flush());
        })
        .await
    })
}
