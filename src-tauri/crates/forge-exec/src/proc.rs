//! What `/proc` tells of processes: their parents, groups and times, their environment, and what they use.

use std::{collections::BTreeMap, fs::File, io::Read as _, time::Duration};

use crate::MARKER_VARIABLE;

/// Clock ticks a second in `/proc`, fixed by the kernel's interface (`USER_HZ`), whatever it ticks at.
const TICKS_PER_SECOND: u64 = 100;

/// How much is read at first of an environment. Most have a few kilobytes.
const ENVIRONMENT_BYTES: usize = 64 * 1024;

/// How often a process is looked at again that replaces its program.
const REPLACING_LOOKS: u32 = 10;

/// Flags of a process in `/proc` (`include/linux/sched.h`): it gives back what it has, having ended.
const EXITING: u32 = 0x4;
/// It is a part of the kernel.
const KERNEL_THREAD: u32 = 0x20_0000;

/// The part of `/proc/<pid>/stat` that is needed here.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Stat {
    state: u8,
    pub(crate) parent: u32,
    pub(crate) group: u32,
    pub(crate) session: u32,
    flags: u32,
    cpu_ticks: u64,
    pub(crate) start_time: u64,
    /// Where code and environment lie in its memory; zero on a system that does not tell.
    code_start: u64,
    environment_start: u64,
    environment_end: u64,
}

impl Stat {
    pub(crate) fn read(pid: u32) -> Option<Self> {
        Self::parse(&std::fs::read(format!("/proc/{pid}/stat")).ok()?)
    }

    /// The second field is the program's name in parentheses, which may itself hold any byte.
    fn parse(bytes: &[u8]) -> Option<Self> {
        let name_end = bytes.iter().rposition(|byte| *byte == b')')?;
        let rest = std::str::from_utf8(bytes.get(name_end + 1..)?).ok()?;
        let fields: Vec<&str> = rest.split_ascii_whitespace().collect();
        // The first of these is field 3 of the manual page.
        let number = |field: usize| fields.get(field - 3)?.parse::<u64>().ok();
        let small = |field: usize| u32::try_from(number(field)?).ok();
        Some(Self {
            state: *fields.first()?.as_bytes().first()?,
            parent: small(4)?,
            group: small(5)?,
            session: small(6)?,
            flags: small(9)?,
            cpu_ticks: number(14)?.saturating_add(number(15)?),
            start_time: number(22)?,
            code_start: number(26).unwrap_or(0),
            environment_start: number(50).unwrap_or(0),
            environment_end: number(51).unwrap_or(0),
        })
    }

    /// Processor time used, in milliseconds.
    pub(crate) const fn cpu_ms(&self) -> u64 {
        self.cpu_ticks * 1000 / TICKS_PER_SECOND
    }

    /// From the machine's boot to the process's start, in milliseconds.
    pub(crate) const fn started_ms(&self) -> u64 {
        self.start_time * 1000 / TICKS_PER_SECOND
    }

    pub(crate) const fn is_dead(&self) -> bool {
        matches!(self.state, b'Z' | b'X' | b'x')
    }
}

pub(crate) fn all_processes() -> BTreeMap<u32, Stat> {
    let Ok(entries) = std::fs::read_dir("/proc") else { return BTreeMap::new() };
    entries
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
        .filter_map(|pid| Some((pid, Stat::read(pid)?)))
        .collect()
}

/// The environment that a process was started with. One that may not be read is another user's, hence not ours.
///
/// A single read shows the memory of one program; a second one shows nothing if the program was replaced meanwhile.
pub(crate) fn environment_of(pid: u32) -> Option<Vec<u8>> {
    let mut file = File::open(format!("/proc/{pid}/environ")).ok()?;
    let mut environment = vec![0; ENVIRONMENT_BYTES];
    let mut length = 0;
    loop {
        let read = file.read(environment.get_mut(length..)?).ok()?;
        length += read;
        if read == 0 || length < environment.len() {
            environment.truncate(length);
            return Some(environment);
        }
        environment.resize(2 * length, 0);
    }
}

/// The marker that a process was started with. One that replaces its program just now is waited for, which takes
/// microseconds if no disk is slow. Blocks for some milliseconds at most.
pub(crate) fn marker_of(pid: u32) -> Option<Vec<u8>> {
    let mut environment = environment_of(pid)?;
    for _ in 0..REPLACING_LOOKS {
        if !environment.is_empty() || !replaces_its_program(pid) {
            break;
        }
        std::thread::sleep(Duration::from_millis(1));
        environment = environment_of(pid)?;
    }
    marker_in(&environment).map(<[u8]>::to_vec)
}

pub(crate) fn marker_in(environment: &[u8]) -> Option<&[u8]> {
    environment
        .split(|byte| *byte == 0)
        .find_map(|variable| variable.strip_prefix(MARKER_VARIABLE.as_bytes())?.strip_prefix(b"="))
}

/// Whether a process that showed no environment was about to get one. The system takes the old one away first; it says
/// where the new program's code lies once it has put the new one there. Not known on a system that does not even say it of
/// this process.
pub(crate) fn replaces_its_program(pid: u32) -> bool {
    Stat::read(pid).is_some_and(|stat| {
        let has_none = stat.code_start != 0 && stat.environment_start == stat.environment_end;
        !has_none && stat.flags & (KERNEL_THREAD | EXITING) == 0 && tells_where_code_lies()
    })
}

fn tells_where_code_lies() -> bool {
    Stat::read(std::process::id()).is_some_and(|own| own.code_start != 0)
}

pub(crate) fn resident_bytes(pid: u32) -> Option<u64> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kilobytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kilobytes * 1024)
}

pub(crate) fn boot_id() -> Option<String> {
    let id = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
    Some(id.trim().to_owned())
}

/// The name of a process.
pub(crate) fn comm_of(pid: u32) -> String {
    let name = std::fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
    name.trim_end().to_owned()
}
