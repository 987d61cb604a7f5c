//! What this process asks of the system for itself: how many files it may have open, and word of a clock that jumps.

use std::{io, os::fd::OwnedFd};

use nix::sys::{
    resource::{Resource, getrlimit, setrlimit},
    time::TimeSpec,
    timerfd::{ClockId, Expiration, TimerFd, TimerFlags, TimerSetTimeFlags},
};
use tokio::io::{Interest, unix::AsyncFd};

/// The most open files that are asked for. Children inherit the limit, and some of them close every number below it.
const MOST_FILES: u64 = 1 << 20;
/// A time that never comes.
const NEVER_SECONDS: i64 = 1 << 40;

/// Raises the limit on files that are open at once to the most that the system allows this process. Gives the limit.
///
/// # Errors
/// When the system refuses.
pub fn raise_open_file_limit() -> io::Result<u64> {
    let (soft, hard) = getrlimit(Resource::RLIMIT_NOFILE)?;
    let wanted = hard.min(MOST_FILES);
    if wanted <= soft {
        return Ok(soft);
    }
    setrlimit(Resource::RLIMIT_NOFILE, wanted, hard)?;
    Ok(wanted)
}

/// Ends when the wall clock jumps: it is set, or the machine wakes from sleep.
///
/// # Errors
/// When the system does not tell.
pub async fn clock_jump() -> io::Result<()> {
    let timer = TimerFd::new(ClockId::CLOCK_REALTIME, TimerFlags::TFD_NONBLOCK | TimerFlags::TFD_CLOEXEC)?;
    let flags = TimerSetTimeFlags::TFD_TIMER_ABSTIME | TimerSetTimeFlags::TFD_TIMER_CANCEL_ON_SET;
    timer.set(Expiration::OneShot(TimeSpec::new(NEVER_SECONDS, 0)), flags)?;
    // Such a timer is readable once the clock has jumped, though its time has not come.
    #[expect(
        deprecated,
        reason = "its replacement is unsafe code for the sake of handles that lie; this one is owned"
    )]
    let timer = AsyncFd::try_with_interest(OwnedFd::from(timer), Interest::READABLE)?;
    timer.readable().await.map(drop)
}

/// Whether an error says that this process, or the system, has no room for one more open file.
#[must_use]
pub fn is_out_of_files(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(nix::libc::EMFILE | nix::libc::ENFILE))
}

/// Whether one more file cannot be opened now.
#[must_use]
pub fn has_no_file_left() -> bool {
    std::fs::File::open("/dev/null").is_err_and(|error| is_out_of_files(&error))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn soft_limit_on_open_files_is_raised_to_the_hard_one() {
        let (_, hard) = getrlimit(Resource::RLIMIT_NOFILE).unwrap();
        setrlimit(Resource::RLIMIT_NOFILE, hard.min(512), hard).unwrap();
        let raised = raise_open_file_limit().unwrap();
        assert_eq!(raised, hard.min(MOST_FILES));
        assert_eq!(getrlimit(Resource::RLIMIT_NOFILE).unwrap(), (raised, hard));
        assert_eq!(raise_open_file_limit().unwrap(), raised);
    }

    #[test]
    fn error_of_a_full_file_table_is_told_from_others() {
        assert!(is_out_of_files(&io::Error::from_raw_os_error(nix::libc::EMFILE)));
        assert!(is_out_of_files(&io::Error::from_raw_os_error(nix::libc::ENFILE)));
        assert!(!is_out_of_files(&io::Error::from_raw_os_error(nix::libc::ENOENT)));
    }
}
