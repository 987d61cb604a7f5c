//! The scripted agent as a program of its own, for tests that have no Forge executable at hand.
//! It may be called as `forge-scripted-agent scripted-agent ...` too, as the Forge executable is.

use std::process::ExitCode;

fn main() -> ExitCode {
    let args = std::env::args_os().skip(1);
    forge_demo::scripted::main(args.skip_while(|arg| arg == "scripted-agent"))
}
