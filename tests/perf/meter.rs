//! What a process takes: memory at its peak, time on the processors.

use std::time::Duration;

use anyhow::{Context as _, Result};
use nix::time::{ClockId, clock_gettime};

/// Memory from a moment on.
#[derive(Debug)]
pub struct Peak {
    process: String,
    before: u64,
}

impl Peak {
    /// Forgets the peak of this process so far.
    pub fn from_now() -> Result<Self> {
        Self::of("self".to_owned())
    }

    /// The same for another process.
    pub fn of_process(pid: u32) -> Result<Self> {
        Self::of(pid.to_string())
    }

    fn of(process: String) -> Result<Self> {
        // 5 resets the peak of the resident memory.
        std::fs::write(format!("/proc/{process}/clear_refs"), "5").context("the peak cannot be reset")?;
        let before = status(&process, "VmRSS:")?;
        Ok(Self { process, before })
    }

    /// How far memory went beyond what it was then, in MiB. The resident memory counts, which is never less
    /// than the process' share of it.
    #[expect(clippy::cast_precision_loss, reason = "kibibytes fit")]
    pub fn grown(&self) -> Result<f64> {
        Ok(status(&self.process, "VmHWM:")?.saturating_sub(self.before) as f64 / 1024.0)
    }
}

/// The resident memory now, in MiB.
pub fn resident() -> Result<f64> {
    resident_of("self")
}

/// The resident memory of a process now, in MiB.
#[expect(clippy::cast_precision_loss, reason = "kibibytes fit")]
pub fn resident_of(process: &str) -> Result<f64> {
    Ok(status(process, "VmRSS:")? as f64 / 1024.0)
}

fn status(process: &str, field: &str) -> Result<u64> {
    let status = std::fs::read_to_string(format!("/proc/{process}/status"))?;
    let line = status.lines().find_map(|line| line.strip_prefix(field)).context("no such field")?;
    Ok(line.trim().trim_end_matches("kB").trim().parse()?)
}

/// Time that all threads of this process have spent on the processors.
pub fn processor_time() -> Result<Duration> {
    Ok(clock_gettime(ClockId::CLOCK_PROCESS_CPUTIME_ID)?.into())
}

/// Time that a process with one thread has spent on the processors.
pub fn processor_time_of(pid: u32) -> Result<Duration> {
    let text = std::fs::read_to_string(format!("/proc/{pid}/schedstat"))?;
    let nanoseconds = text.split_ascii_whitespace().next().context("no such figure")?;
    Ok(Duration::from_nanos(nanoseconds.parse()?))
}
