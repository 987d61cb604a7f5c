//! A look at what runs now: the processes of every marker with what they use, in one pass over `/proc`.

use std::collections::{BTreeMap, HashMap};

use crate::proc::{Stat, all_processes, marker_of, resident_bytes};

/// The longest command line that is told, in characters.
const COMMAND_CHARS: usize = 200;

/// A process as it is now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SeenProcess {
    /// Process number.
    pub pid: u32,
    /// The number of the process that started it.
    pub parent: u32,
    /// Program and arguments, cut to 200 characters.
    pub command: String,
    /// Processor time used, in milliseconds.
    pub cpu_ms: u64,
    /// Resident memory in bytes; shared pages are counted for each process.
    pub rss_bytes: u64,
    /// When it started, in Unix milliseconds.
    pub started_ms: i64,
}

/// All living processes that carry a marker, by its text, or descend from one that does; parents first. Blocks for as
/// long as it takes to look at every process.
#[must_use]
pub fn look() -> HashMap<String, Vec<SeenProcess>> {
    let own = std::process::id();
    let living: BTreeMap<u32, Stat> =
        all_processes().into_iter().filter(|(pid, stat)| *pid != own && !stat.is_dead()).collect();
    let booted = boot_time_ms();
    let mut owners: HashMap<u32, Option<String>> = HashMap::new();
    let mut seen: HashMap<String, Vec<SeenProcess>> = HashMap::new();
    for (pid, stat) in &living {
        if let Some(marker) = owner(*pid, &living, &mut owners) {
            seen.entry(marker).or_default().push(SeenProcess {
                pid: *pid,
                parent: stat.parent,
                command: command_of(*pid),
                cpu_ms: stat.cpu_ms(),
                rss_bytes: resident_bytes(*pid).unwrap_or(0),
                started_ms: booted.saturating_add_unsigned(stat.started_ms()),
            });
        }
    }
    for processes in seen.values_mut() {
        processes.sort_by_key(|process| (process.started_ms, process.pid));
    }
    seen
}

/// Whose process it is: its own marker, else that of the nearest ancestor with one.
pub(crate) fn owner(
    pid: u32,
    living: &BTreeMap<u32, Stat>,
    known: &mut HashMap<u32, Option<String>>,
) -> Option<String> {
    let mut line = Vec::new();
    let mut at = pid;
    let found = loop {
        if let Some(owner) = known.get(&at) {
            break owner.clone();
        }
        line.push(at);
        if let Some(marker) = marker_of(at) {
            break Some(String::from_utf8_lossy(&marker).into_owned());
        }
        match living.get(&at) {
            // A number that was reused meanwhile could lead round in a circle.
            Some(stat) if stat.parent > 1 && !line.contains(&stat.parent) => at = stat.parent,
            _ => break None,
        }
    };
    for pid in line {
        known.insert(pid, found.clone());
    }
    found
}

fn command_of(pid: u32) -> String {
    let line = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    let words: Vec<_> =
        line.split(|byte| *byte == 0).filter(|word| !word.is_empty()).map(String::from_utf8_lossy).collect();
    if words.is_empty() {
        return std::fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default().trim().to_owned();
    }
    words.join(" ").chars().take(COMMAND_CHARS).collect()
}

/// When the machine was started, in Unix milliseconds.
fn boot_time_ms() -> i64 {
    let stat = std::fs::read_to_string("/proc/stat").unwrap_or_default();
    let seconds = stat.lines().find_map(|line| line.strip_prefix("btime ")?.trim().parse::<i64>().ok());
    seconds.unwrap_or(0).saturating_mul(1000)
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;
    use crate::MARKER_VARIABLE;

    #[test]
    fn sees_a_tree_with_a_child_that_shed_its_marker() {
        let marker = format!("look-{}", std::process::id());
        let mut child = Command::new("sh")
            .args(["-c", "env -i sleep 60 & wait"])
            .env(MARKER_VARIABLE, &marker)
            .spawn()
            .expect("a shell");
        let tree = loop {
            let seen = look().remove(&marker).unwrap_or_default();
            if seen.iter().any(|process| process.command == "sleep 60") {
                break seen;
            }
            std::thread::yield_now();
        };
        let sleeper = tree.iter().find(|process| process.command == "sleep 60").expect("the sleeper");
        assert_eq!(tree[0].pid, child.id(), "{tree:?}");
        assert_eq!(sleeper.parent, child.id());
        assert!(sleeper.rss_bytes > 0);
        let age = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).expect("a time");
        let age = i64::try_from(age.as_millis()).expect("a number") - sleeper.started_ms;
        assert!((-2_000..600_000).contains(&age), "started {age} ms ago");
        nix::sys::signal::kill(
            nix::unistd::Pid::from_raw(i32::try_from(sleeper.pid).expect("a number")),
            nix::sys::signal::Signal::SIGKILL,
        )
        .expect("the sleeper ends");
        child.wait().expect("the shell ends");
    }
}
