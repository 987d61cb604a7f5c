//! Machines that are containers, against real podman. Where this may not run one, each test says so and does nothing.

mod build;
mod cuts;
mod faults;
mod limits;
mod rootless;
mod runs;
mod trees;
mod verbs;
#[path = "../shared/worktree.rs"]
mod worktree;

use std::time::Duration;

use forge_keeper::KeptRun;
use forge_machines_testkit::kept_script;

/// Longer than any test takes.
const LONG: Duration = Duration::from_secs(3600);

/// A script to run there.
fn script(id: &str, script: &str) -> KeptRun {
    kept_script(id, std::process::id(), "/tmp", script)
}
