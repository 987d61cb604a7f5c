//! Machines that are reached by ssh, against a real sshd on a second host. Where this may not make one, each test says
//! so and does nothing.

mod cuts;
mod faults;
mod long_way;
mod runs;
mod steps;
mod trees;
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
