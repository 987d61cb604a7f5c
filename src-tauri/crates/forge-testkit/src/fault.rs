//! Ending a process, or panicking, at a named boundary.

use std::sync::atomic::{AtomicU32, Ordering};

use forge_engine::Observer;

/// The variable that names the boundary: `NAME` or `NAME#n` for the n-th time it is passed. Behind `panic:` the thread
/// panics there, and without `#n` every time.
pub const FAULT_VARIABLE: &str = "FORGE_TEST_FAULT";
/// The variable that names a file to which every passed boundary is appended.
pub const TRACE_VARIABLE: &str = "FORGE_TEST_TRACE";

/// What is put before a boundary's name to panic there.
pub const PANIC: &str = "panic:";

/// Kills this process with SIGKILL, or panics, when the boundary is passed for the n-th time, and can write down which
/// boundaries are passed.
#[derive(Debug)]
pub struct KillAt {
    point: Option<String>,
    left: AtomicU32,
    panics: bool,
    always: bool,
    trace: Option<std::path::PathBuf>,
}

impl KillAt {
    /// Reads what to do from the environment; does nothing when it says nothing.
    #[must_use]
    pub fn from_env() -> Self {
        let wanted = std::env::var(FAULT_VARIABLE).unwrap_or_default();
        let panics = wanted.starts_with(PANIC);
        let wanted = wanted.strip_prefix(PANIC).unwrap_or(&wanted);
        let (point, times) = wanted.rsplit_once('#').unwrap_or((wanted, ""));
        Self {
            point: Some(point.to_owned()).filter(|point| !point.is_empty()),
            left: AtomicU32::new(times.parse().unwrap_or(1)),
            panics,
            always: panics && times.is_empty(),
            trace: std::env::var_os(TRACE_VARIABLE).map(Into::into),
        }
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
        if self.point.as_deref() != Some(point) {
            return;
        }
        if self.left.fetch_sub(1, Ordering::SeqCst) == 1 || self.always {
            if self.panics {
                panic_at(point);
            }
            let killed = nix::sys::signal::kill(nix::unistd::Pid::this(), nix::sys::signal::Signal::SIGKILL);
            eprintln!("fault at {point}: {killed:?}");
            loop {
                std::thread::park();
            }
        }
    }
}

#[expect(clippy::panic, reason = "a panic is what is asked for")]
fn panic_at(point: &str) -> ! {
    panic!("fault at {point}")
}
