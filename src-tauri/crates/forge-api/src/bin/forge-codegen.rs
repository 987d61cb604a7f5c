//! Writes the generated side of the contract to the path given; `cargo xtask codegen` calls it.

use std::process::ExitCode;

fn main() -> ExitCode {
    let Some(path) = std::env::args_os().nth(1) else {
        eprintln!("usage: forge-codegen PATH");
        return ExitCode::from(2);
    };
    let text = match forge_api::typescript::generate() {
        Ok(text) => text,
        Err(error) => {
            eprintln!("{error}");
            return ExitCode::FAILURE;
        }
    };
    match std::fs::write(&path, text) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("failed to write {}: {error}", path.display());
            ExitCode::FAILURE
        }
    }
}
