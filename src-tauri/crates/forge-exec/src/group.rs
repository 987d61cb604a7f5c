//! Process groups: a child is made to lead one, and it is signalled as a whole.

use std::{fs::File, io, sync::LazyLock};

use nix::{
    errno::Errno,
    sys::signal::{Signal, killpg},
    unistd::{Pid, setsid},
};
use rustix::{process::ioctl_tiocsctty, stdio::stdin};
use tokio::process::Command;

/// Makes the child that `builder` will start the leader of a group of its own.
pub(crate) fn lead_group(builder: &mut Command) {
    builder.process_group(0);
}

/// Whether this process has a terminal, which its children would share.
static HAS_TERMINAL: LazyLock<bool> = LazyLock::new(|| File::open("/dev/tty").is_ok());

/// Makes the child that `builder` will start the leader of a group of its own, without a terminal that anybody could be
/// asked on. A session of its own sees to that. It is made only where there is a terminal to be kept from the child:
/// it takes a fork, which copies the page tables of this process, while a plain start does not.
#[expect(unsafe_code, reason = "the standard library starts no program in a session of its own without it")]
pub(crate) fn lead_group_without_terminal(builder: &mut Command) {
    if !*HAS_TERMINAL {
        return lead_group(builder);
    }
    // SAFETY: between fork and exec only `setsid` is called, which is safe to call there and allocates nothing.
    unsafe {
        builder.pre_exec(|| setsid().map(drop).map_err(io::Error::from));
    }
}

/// Makes the child that `builder` will start the leader of a session of its own, with the terminal that it reads from as
/// the controlling one.
#[expect(unsafe_code, reason = "the standard library starts no program in a session of its own without it")]
pub(crate) fn lead_session_in_terminal(builder: &mut Command) {
    // SAFETY: between fork and exec only `setsid` and `ioctl` are called, which are safe to call there and allocate
    // nothing. The standard input is the terminal by then.
    unsafe {
        builder.pre_exec(|| {
            setsid()?;
            Ok(ioctl_tiocsctty(stdin())?)
        });
    }
}

/// The group that a child leads.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Group(Option<Pid>);

impl Group {
    /// The group of this leader; without one, signals go nowhere.
    pub(crate) fn led_by(leader: Option<u32>) -> Self {
        Self(leader.and_then(pid_of))
    }

    /// Asks every member at once to end. A stopped member is woken to hear it.
    pub(crate) fn ask(self) {
        self.signal(Signal::SIGTERM);
        self.signal(Signal::SIGCONT);
    }

    /// Tells every member at once that its terminal is gone: shells pass that on to their jobs, and end. Asked as others
    /// are, those that a person types to stay.
    pub(crate) fn hang_up(self) {
        self.signal(Signal::SIGHUP);
        self.signal(Signal::SIGCONT);
    }

    /// Kills every member at once.
    pub(crate) fn kill(self) {
        self.signal(Signal::SIGKILL);
    }

    /// Whether it has members.
    pub(crate) fn is_alive(self) -> bool {
        self.0.is_some_and(|group| killpg(group, None).is_ok())
    }

    fn signal(self, signal: Signal) {
        if let Some(group) = self.0
            && let Err(error) = killpg(group, signal)
            && error != Errno::ESRCH
        {
            tracing::warn!(%group, %signal, %error, "failed to signal a process group");
        }
    }
}

/// A number that is safe to signal: 0 and negative ones would mean whole groups, 1 is the machine's.
pub(crate) fn pid_of(pid: u32) -> Option<Pid> {
    i32::try_from(pid).ok().filter(|pid| *pid > 1).map(Pid::from_raw)
}
