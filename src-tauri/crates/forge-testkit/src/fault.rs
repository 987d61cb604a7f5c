//! Ending a process at a named boundary.

use std::sync::atomic::{AtomicU32, Ordering};

use forge_engine::Observer;

/// The variable that names the boundary: `NAME` or `NAME#n` for the n-th time it is passed.
pub const FAULT_VARIABLE: &str = "FORGE_TEST_FAULT";
/// The variable that names a file to which every passed boundary is appended.
pub const TRACE_VARIABLE: &str = "FORGE_TEST_TRACE";

/// Kills this process with SIGKILL when the boundary is passed for the n-th time, and can write down which
/// boundaries are passed.
#[derive(Debug)]
pub struct KillAt {
    point: Option<String>,
    left: AtomicU32,
    trace: Option<std::path::PathBuf>,
}

impl KillAt {
    /// Reads what to do from the environment; does nothing when it says nothing.
    #[must_use]
    pub fn from_env() -> Self {
        let wanted = std::env::var(FAULT_VARIABLE).ok();
        let (point, times) = match wanted.as_deref().map(|text| text.rsplit_once('#').unwrap_or((text, "1")))
        {
            Some((point, times)) => (Some(point.to_owned()), times.parse().unwrap_or(1)),
            None => (None, 0),
        };
        Self { point, left: AtomicU32::new(times), trace: std::env::var_os(TRACE_VARIABLE).map(Into::into) }
    }
}

impl Observer for KillAt {
    fn at(&self, point: &str) {
        if let Some(trace) = &self.trace {
            use std::io::Write as _;
            let file = std::fs::OpenOptions::new().create(true).append(true).open(trace);
            if let Ok(mut file) = file {
                // A trace that cannot be written shows as a missing boundary in the test that reads it.
                let _ = file.write_all(format!("{point}\n").as_bytes());
            }
        }
        if self.point.as_deref() == Some(point) && self.left.fetch_sub(1, Ordering::SeqCst) == 1 {
            let killed = nix::sys::signal::kill(nix::unistd::Pid::this(), nix::sys::signal::Signal::SIGKILL);
            eprintln!("fault at {point}: {killed:?}");
            loop {
                std::thread::park();
            }
        }
    }
}
