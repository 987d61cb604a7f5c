//! What is left of clusters, and what is waited for.

use std::{
    fs,
    path::{Path, PathBuf},
    thread::sleep,
    time::{Duration, Instant},
};

use anyhow::{Result, bail};

use super::{CGROUPS, ENDS_WITHIN, LOOKS_EVERY};
use crate::{processes, system::system};

/// Removes the cgroups of a node whose processes were ended. One that ended just now may be in them for a moment.
pub(super) fn remove_cgroups(node: &str) {
    let roots = CGROUPS.map(|at| PathBuf::from(at).join(format!("slurm_{node}")));
    let _ = until("cgroups are gone", ENDS_WITHIN, || {
        roots.iter().filter(|root| root.is_dir()).for_each(|root| remove_folders(root));
        Ok(!roots.iter().any(|root| root.exists()))
    });
}

fn remove_folders(folder: &Path) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    entries.flatten().filter(|entry| entry.path().is_dir()).for_each(|entry| remove_folders(&entry.path()));
    let _ = fs::remove_dir(folder);
}

/// Takes away the clusters of tests that were killed.
pub(super) fn sweep() {
    let is_gone = |name: &str| {
        let pid = name.split('x').next().unwrap_or_default();
        pid.parse::<u32>().is_ok() && !Path::new("/proc").join(pid).exists()
    };
    for (pid, _, line) in processes::all() {
        let first = line.split_once(": forge-slurm-f").filter(|_| line.starts_with("unshare "));
        if first.is_some_and(|(_, rest)| is_gone(rest)) {
            processes::end(pid);
        }
    }
    for name in system("ip netns list").unwrap_or_default().lines().filter_map(|line| line.split(' ').next())
    {
        let Some(rest) = name.strip_prefix("forge-slurm-f") else { continue };
        if is_gone(rest) {
            let _ = system(&format!("ip netns del {name}"));
        }
    }
}

pub(super) fn until(what: &str, within: Duration, mut is: impl FnMut() -> Result<bool>) -> Result<()> {
    let begun = Instant::now();
    loop {
        match is() {
            Ok(true) => return Ok(()),
            Ok(false) if begun.elapsed() > within => bail!("{what}: not within {} s", within.as_secs()),
            Err(error) if begun.elapsed() > within => return Err(error.context(what.to_owned())),
            _ => sleep(LOOKS_EVERY),
        }
    }
}
