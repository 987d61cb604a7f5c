//! What this process takes: memory at its peak, time on the processors.

use std::time::Duration;

use anyhow::{Context as _, Result};
use nix::time::{ClockId, clock_gettime};

/// Memory from a moment on.
#[derive(Debug)]
pub struct Peak {
    before: u64,
}

impl Peak {
    /// Forgets the peak so far.
    pub fn from_now() -> Result<Self> {
        // 5 resets the peak of the resident memory.
        std::fs::write("/proc/self/clear_refs", "5").context("the peak cannot be reset")?;
        Ok(Self { before: status("VmRSS:")? })
    }

    /// How far memory went beyond what it was then, in MiB. The resident memory counts, which is never less
    /// than this process' share of it.
    #[expect(clippy::cast_precision_loss, reason = "kibibytes fit")]
    pub fn grown(&self) -> Result<f64> {
        Ok(status("VmHWM:")?.saturating_sub(self.before) as f64 / 1024.0)
    }
}

/// The resident memory now, in MiB.
#[expect(clippy::cast_precision_loss, reason = "kibibytes fit")]
pub fn resident() -> Result<f64> {
    Ok(status("VmRSS:")? as f64 / 1024.0)
}

fn status(field: &str) -> Result<u64> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix(field)).context("no such field")?;
    Ok(line.trim().trim_end_matches("kB").trim().parse()?)
}

/// Time that all threads of this process have spent on the processors.
pub fn processor_time() -> Result<Duration> {
    Ok(clock_gettime(ClockId::CLOCK_PROCESS_CPUTIME_ID)?.into())
}
