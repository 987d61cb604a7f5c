//! The platform's own part: who a process is, who descends from it, how it is stopped, what it uses.
//!
//! Linux, by `/proc`. A process is never known by its number alone: numbers are reused, so each signal
//! is preceded by a look at the start time. Descendants are found by the marker in their environment,
//! by their group or session, and by their parents; one sign is enough, since a hostile or careless
//! child can shed any single one. Nothing here waits for "any child": that would steal the exit
//! statuses of children that others wait for.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    ffi::{OsStr, OsString},
    io,
    os::unix::{ffi::OsStrExt as _, process::ExitStatusExt as _},
    path::Path,
    process::ExitStatus,
    sync::Mutex,
    time::{Duration, Instant},
};

use nix::{
    errno::Errno,
    sys::{
        signal::{Signal, kill},
        wait::{WaitPidFlag, waitpid},
    },
    unistd::{AccessFlags, access},
};
use serde::{Deserialize, Serialize};
use tokio::io::{Interest, unix::AsyncFd};

use crate::group::{Group, pid_of};
use crate::proc::{
    Stat, all_processes, boot_id, comm_of, environment_of, marker_in, marker_of, replaces_its_program,
    resident_bytes,
};
use crate::{Exit, Marker};

/// How long killing is repeated before a process that cannot die (stuck in the kernel) is given up.
const KILL_PATIENCE: Duration = Duration::from_secs(10);

/// How long a process may take to replace its program, before it is taken for a stranger that shows no environment.
const REPLACING_PATIENCE: Duration = Duration::from_secs(2);

/// How often processes are looked at to kill them all at once, while some may turn out to be meant.
const KILLING_LOOKS: u32 = 3;

/// How long a dead child may lie about before it is taken for one that nobody waits for.
const UNCLAIMED_AFTER: Duration = Duration::from_secs(60);

/// A process beyond doubt: its number, when it started, and in which run of the machine.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct ProcessIdentity {
    /// Process number.
    pub pid: u32,
    /// Start time in clock ticks since boot.
    pub start_time: u64,
    /// The machine's boot id.
    pub boot_id: String,
}

impl ProcessIdentity {
    /// The identity of a process that exists now, dead but unreaped ones included.
    #[must_use]
    pub fn of(pid: u32) -> Option<Self> {
        let stat = Stat::read(pid)?;
        Some(Self { pid, start_time: stat.start_time, boot_id: boot_id()? })
    }

    /// Whether it still runs. A zombie does not.
    #[must_use]
    pub fn is_alive(&self) -> bool {
        Stat::read(self.pid).is_some_and(|stat| stat.start_time == self.start_time && !stat.is_dead())
            && boot_id().as_deref() == Some(self.boot_id.as_str())
    }

    /// Waits until it no longer runs. The system tells; nothing is asked again and again.
    pub async fn ended(&self) -> io::Result<()> {
        let number = i32::try_from(self.pid).ok().and_then(rustix::process::Pid::from_raw);
        let Some(number) = number else { return Ok(()) };
        let handle = match rustix::process::pidfd_open(number, rustix::process::PidfdFlags::empty()) {
            Err(rustix::io::Errno::SRCH) => return Ok(()),
            other => other?,
        };
        // The handle may be that of a later process with the same number.
        if !self.is_alive() {
            return Ok(());
        }
        #[expect(
            deprecated,
            reason = "its replacement is unsafe code for the sake of handles that lie; this one is owned"
        )]
        let handle = AsyncFd::try_with_interest(handle, Interest::READABLE)?;
        handle.readable().await.map(drop)
    }
}

/// A process as people know it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NamedProcess {
    /// Process number.
    pub pid: u32,
    /// Its name.
    pub name: String,
}

impl std::fmt::Display for NamedProcess {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} (process {})", self.name, self.pid)
    }
}

/// The first process found whose working directory is `folder` or lies below it. Those that may not be looked at
/// are not seen. Blocks for as long as it takes to look at every process.
#[must_use]
pub fn working_in(folder: &Path) -> Option<NamedProcess> {
    let folder = folder.canonicalize().ok()?;
    let all = all_processes();
    all.keys().copied().find_map(|pid| {
        let there = std::fs::read_link(format!("/proc/{pid}/cwd")).ok()?;
        if !there.starts_with(&folder) || is_own_errand(pid, &all) {
            return None;
        }
        Some(NamedProcess { pid, name: comm_of(pid) })
    })
}

/// Whether a process descends from another one, by the parents that they have now. One that is gone descends from nobody
/// that is known: that counts, too.
#[must_use]
pub fn may_descend_from(pid: u32, ancestor: u32) -> bool {
    let mut at = pid;
    while at != ancestor {
        match Stat::read(at) {
            Some(stat) if stat.parent != 0 => at = stat.parent,
            Some(_) => return false,
            None => return true,
        }
    }
    true
}

/// Whether it is this process, or a git that it runs: a descendant that carries nobody's marker.
fn is_own_errand(pid: u32, all: &BTreeMap<u32, Stat>) -> bool {
    let mut ancestor = pid;
    while ancestor != std::process::id() {
        match all.get(&ancestor) {
            Some(stat) if stat.parent != 0 => ancestor = stat.parent,
            _ => return false,
        }
    }
    marker_of(pid).is_none()
}

/// What the processes of one marker use now.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProcessUsage {
    /// How many there are.
    pub processes: u32,
    /// Processor time of those alive, in milliseconds.
    pub cpu_ms: u64,
    /// Resident memory, in bytes; pages they share are counted for each.
    pub rss_bytes: u64,
}

/// Makes this process the parent of descendants that lose theirs, so that they can be reaped.
pub fn become_subreaper() -> io::Result<()> {
    nix::sys::prctl::set_child_subreaper(true).map_err(io::Error::from)
}

/// Has a write beyond the limit on the size of files fail instead of ending this process. Children are as before.
///
/// # Errors
/// When the system refuses.
pub fn survive_file_limit() -> io::Result<()> {
    // A signal that is caught ends nobody; the handler stays when its listener is gone.
    tokio::signal::unix::signal(tokio::signal::unix::SignalKind::from_raw(nix::libc::SIGXFSZ)).map(drop)
}

/// Ends everything that carries the marker: gently, and after `grace` by force. Returns how many.
pub async fn sweep(marker: &Marker, grace: Duration) -> u32 {
    sweep_family(Family { marker: marker.clone(), leader: None }, grace).await
}

/// Ends a process that an earlier engine started, its group, and everything that carries the marker.
/// Returns how many. A number that now belongs to another process is left alone.
pub async fn end(identity: &ProcessIdentity, marker: &Marker, grace: Duration) -> u32 {
    let leader = identity.is_alive().then_some(identity.pid);
    sweep_family(Family { marker: marker.clone(), leader }, grace).await
}

/// What the processes that carry the marker use now.
#[must_use]
pub fn usage(marker: &Marker) -> ProcessUsage {
    let family = Family { marker: marker.clone(), leader: None };
    let mut usage = ProcessUsage::default();
    for (pid, stat) in family.look().members {
        usage.processes += 1;
        usage.cpu_ms += stat.cpu_ms();
        usage.rss_bytes += resident_bytes(pid).unwrap_or(0);
    }
    usage
}

/// How a process ended.
pub(crate) fn exit_of(status: ExitStatus) -> Exit {
    match status.code() {
        Some(code) => Exit::Code(code),
        None => Exit::Signal(status.signal().unwrap_or_default()),
    }
}

/// Whether a file is there that this user may run.
pub(crate) fn is_executable(path: &Path) -> bool {
    path.is_file() && access(path, AccessFlags::X_OK).is_ok()
}

/// Bytes that a program printed, as the name or path that they are.
pub(crate) fn os_string(bytes: &[u8]) -> OsString {
    OsStr::from_bytes(bytes).to_owned()
}

/// What is known of a family at one moment.
#[derive(Debug, Default)]
struct Look {
    /// Its living members, by number.
    members: BTreeMap<u32, Stat>,
    /// Processes, with their start times, that replace their program just now: whose they are shows when they are done.
    unsettled: BTreeSet<(u32, u64)>,
}

/// A run's processes: those that carry its marker and, while its leader is known, the leader's group.
#[derive(Debug, Clone)]
pub(crate) struct Family {
    pub(crate) marker: Marker,
    pub(crate) leader: Option<u32>,
}

impl Family {
    /// Kills whoever is there now, without waiting. For the moment when nothing can be awaited.
    pub(crate) fn kill_now(&self) {
        Group::led_by(self.leader).kill();
        for _ in 0..KILLING_LOOKS {
            let Look { members, unsettled } = self.look();
            for (pid, stat) in members {
                signal(pid, stat.start_time, Signal::SIGKILL);
            }
            if unsettled.is_empty() {
                break;
            }
        }
    }

    /// Looks at all processes. This one is never a member.
    fn look(&self) -> Look {
        let mut others = all_processes();
        others.remove(&std::process::id());
        others.retain(|_, stat| !stat.is_dead());
        let mut members = BTreeMap::new();
        let mut fresh = BTreeSet::new();
        let mut bare = BTreeSet::new();
        for (pid, stat) in &others {
            if self.leads(*pid, stat) {
                fresh.insert(*pid);
                continue;
            }
            match environment_of(*pid) {
                Some(environment) if environment.is_empty() => _ = bare.insert(*pid),
                Some(environment) if marker_in(&environment) == Some(self.marker.0.as_bytes()) => {
                    fresh.insert(*pid);
                }
                _ => {}
            }
        }
        while !fresh.is_empty() {
            for pid in &fresh {
                if let Some(stat) = others.remove(pid) {
                    members.insert(*pid, stat);
                }
            }
            fresh =
                others.iter().filter(|(_, stat)| fresh.contains(&stat.parent)).map(|(pid, _)| *pid).collect();
        }
        let unsettled = others
            .iter()
            .filter(|(pid, _)| bare.contains(*pid) && replaces_its_program(**pid))
            .map(|(pid, stat)| (*pid, stat.start_time))
            .collect();
        Look { members, unsettled }
    }

    fn leads(&self, pid: u32, stat: &Stat) -> bool {
        self.leader.is_some_and(|leader| pid == leader || stat.group == leader || stat.session == leader)
    }
}

/// Ends a family and reaps what is left of it. Returns how many processes there were.
pub(crate) async fn sweep_family(family: Family, grace: Duration) -> u32 {
    let begun = Instant::now();
    let mut pause = Duration::from_millis(2);
    let mut told: BTreeSet<(u32, u64)> = BTreeSet::new();
    let mut seen = begun;
    let mut awaited: BTreeSet<(u32, u64)> = BTreeSet::new();
    loop {
        let Look { members, unsettled } = look_off_thread(&family).await;
        if members.is_empty() {
            // Who begins to replace its program later was seen before, with the environment that it had.
            let still = if awaited.is_empty() { unsettled } else { &unsettled & &awaited };
            if still.is_empty() || seen.elapsed() > REPLACING_PATIENCE {
                break;
            }
            awaited = still;
        } else {
            awaited.clear();
            seen = Instant::now();
            if begun.elapsed() > grace + KILL_PATIENCE {
                tracing::warn!(marker = %family.marker.0, left = members.len(), "failed to end all processes");
                break;
            }
        }
        let by_force = begun.elapsed() >= grace;
        for (pid, stat) in &members {
            let first = told.insert((*pid, stat.start_time));
            if by_force {
                signal(*pid, stat.start_time, Signal::SIGKILL);
            } else if first {
                signal(*pid, stat.start_time, Signal::SIGTERM);
                // A stopped process would sleep through the gentle signal.
                signal(*pid, stat.start_time, Signal::SIGCONT);
            }
        }
        tokio::time::sleep(pause).await;
        pause = (pause * 2).min(Duration::from_millis(40));
    }
    reap(&told, family.leader, UNCLAIMED_AFTER);
    u32::try_from(told.len()).unwrap_or(u32::MAX)
}

/// Reading the whole of `/proc` takes milliseconds: not on a thread that others share.
async fn look_off_thread(family: &Family) -> Look {
    let family = family.clone();
    match tokio::task::spawn_blocking(move || family.look()).await {
        Ok(look) => look,
        // The program ends, and what is left behind is looked for at the next start.
        Err(error) if error.is_cancelled() => Look::default(),
        Err(error) => {
            tracing::error!(%error, "failed to look for left-behind processes");
            Look::default()
        }
    }
}

/// Reaps dead children that nobody else waits for: those this sweep ended, those of the leader's group,
/// and those that have been dead for so long that no one can be waiting.
///
/// A child that leads a group in our own session may be one that another task started and waits for, so
/// without a leader it is left to the last rule.
fn reap(ended: &BTreeSet<(u32, u64)>, leader: Option<u32>, unclaimed_after: Duration) {
    static DEAD_SINCE: Mutex<Option<HashMap<(u32, u64), Instant>>> = Mutex::new(None);
    let own = std::process::id();
    let own_session = Stat::read(own).map(|stat| stat.session);
    let Ok(mut guard) = DEAD_SINCE.lock() else { return };
    let known = guard.take().unwrap_or_default();
    let mut unclaimed = HashMap::new();
    for (pid, stat) in all_processes() {
        if stat.parent != own || !stat.is_dead() || leader == Some(pid) {
            continue;
        }
        let key = (pid, stat.start_time);
        let may_be_awaited = leader.is_none() && stat.group == pid && Some(stat.session) == own_session;
        let ours = ended.contains(&key) && !may_be_awaited;
        let of_group = leader == Some(stat.group);
        let since = known.get(&key).copied().unwrap_or_else(Instant::now);
        if ours || of_group || since.elapsed() >= unclaimed_after {
            if let Some(pid) = pid_of(pid) {
                // An error says that it was reaped meanwhile, which is what was wanted.
                let _ = waitpid(pid, Some(WaitPidFlag::WNOHANG));
            }
        } else {
            unclaimed.insert(key, since);
        }
    }
    *guard = Some(unclaimed);
}

/// Signals one process, if it is still the one meant.
fn signal(pid: u32, start_time: u64, signal: Signal) {
    if Stat::read(pid).is_none_or(|stat| stat.start_time != start_time) {
        return;
    }
    if let Some(target) = pid_of(pid)
        && let Err(error) = kill(target, signal)
        && error != Errno::ESRCH
    {
        tracing::warn!(pid, %signal, %error, "failed to signal a process");
    }
}
