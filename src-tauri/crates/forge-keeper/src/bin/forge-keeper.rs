//! `forge-keeper`: runs what engines ask for, and outlives them.

use std::{io, io::Write as _, path::PathBuf, process::ExitCode};

use forge_keeper::Server;

fn main() -> ExitCode {
    let mut args = std::env::args_os().skip(1);
    let root = match (args.next(), args.next(), args.next()) {
        (Some(command), Some(root), None) if command == "serve" => PathBuf::from(root),
        _ => {
            eprintln!("Usage: forge-keeper serve FOLDER\n\nForge starts it; it leaves by itself.");
            return ExitCode::from(2);
        }
    };
    match serve(&root) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("Could not keep programs in {}: {error}.", root.display());
            ExitCode::FAILURE
        }
    }
}

fn serve(root: &std::path::Path) -> io::Result<()> {
    // What ends the engine's terminal or its group does not end this. One that leads a group already stays in it.
    if let Err(error) = nix::unistd::setsid()
        && error != nix::errno::Errno::EPERM
    {
        return Err(error.into());
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        forge_exec::become_subreaper()?;
        forge_exec::survive_file_limit()?;
        forge_exec::raise_open_file_limit()?;
        Server::listen(root, || {
            // Whoever started it waits for this line and may be gone.
            let mut out = io::stdout();
            let _ = out.write_all(b"ready\n").and_then(|()| out.flush());
        })
        .await
    })
}
