//! The `forge` program, which ends at the fault point that `FORGE_TEST_FAULT` names. All other code is `forge`'s
//! own.

use std::{process::ExitCode, sync::Arc};

use forge_testkit::fault::KillAt;

fn main() -> ExitCode {
    forge_cli::run(std::env::args_os(), Some(Arc::new(KillAt::from_env())))
}
