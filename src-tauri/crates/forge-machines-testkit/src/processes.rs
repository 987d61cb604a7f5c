//! Processes by their users and arguments.

use std::{fs, os::unix::fs::MetadataExt as _};

use forge_exec::ProcessIdentity;
use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};

/// Its number, its user, and its arguments with spaces between them.
pub(crate) type Process = (i32, u32, String);

/// All processes that have arguments.
pub(crate) fn all() -> Vec<Process> {
    let Ok(all) = fs::read_dir("/proc") else { return Vec::new() };
    all.filter_map(|entry| {
        let entry = entry.ok()?;
        let pid = entry.file_name().to_str()?.parse().ok()?;
        let uid = entry.metadata().ok()?.uid();
        let line = fs::read(entry.path().join("cmdline")).ok()?;
        Some((pid, uid, String::from_utf8_lossy(&line).replace('\0', " ")))
    })
    .filter(|(_, _, line): &Process| !line.is_empty())
    .collect()
}

/// Kills a process. Whether it was there.
pub(crate) fn end(pid: i32) -> bool {
    kill(Pid::from_raw(pid), Signal::SIGKILL).is_ok()
}

/// Returns when no process is left of those that `list` finds. The system tells when one ends.
pub(crate) async fn gone(list: impl Fn() -> Vec<(i32, String)>) -> std::io::Result<()> {
    loop {
        let left = list();
        if left.is_empty() {
            return Ok(());
        }
        for (pid, _) in left {
            let identity = u32::try_from(pid).ok().and_then(ProcessIdentity::of);
            if let Some(identity) = identity {
                identity.ended().await?;
            }
        }
    }
}

/// The resident memory of a process now, in KiB.
pub(crate) fn resident(pid: &str) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    line.trim().trim_end_matches("kB").trim().parse().ok()
}
