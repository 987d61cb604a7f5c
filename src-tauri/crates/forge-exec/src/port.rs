//! Who listens at a TCP port of this computer, and whether somebody is connected to it, by `/proc`.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::Path;

use crate::{
    look::owner,
    proc::{Stat, all_processes, comm_of},
    process::NamedProcess,
};

/// The files in which the kernel lists the sockets of this network namespace.
const TABLES: [&str; 2] = ["/proc/net/tcp", "/proc/net/tcp6"];

/// A state in those tables.
const ESTABLISHED: &str = "01";
const LISTENS: &str = "0A";

/// A program that listens at a port.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listener {
    /// Its process; none for one of another user, which may not be looked at.
    pub process: Option<NamedProcess>,
    /// The marker that it, or the nearest of its ancestors that has one, carries.
    pub marker: Option<String>,
}

/// All that listen at a port, on whatever address; nothing when it is free. Blocks for as long as it takes to look at
/// every process.
#[must_use]
pub fn listeners(port: u16) -> Vec<Listener> {
    let sockets: HashSet<String> = sockets(port, LISTENS).collect();
    if sockets.is_empty() {
        return Vec::new();
    }
    let living: BTreeMap<u32, Stat> = all_processes();
    let mut known = HashMap::new();
    let found = living.keys().filter(|pid| holds_one_of(**pid, &sockets));
    let found = found.map(|pid| Listener {
        process: Some(NamedProcess { pid: *pid, name: comm_of(*pid) }),
        marker: owner(*pid, &living, &mut known),
    });
    let found: Vec<Listener> = found.collect();
    if found.is_empty() { vec![Listener { process: None, marker: None }] } else { found }
}

/// Whether somebody is connected to a program that listens at this port.
#[must_use]
pub fn is_connected(port: u16) -> bool {
    sockets(port, ESTABLISHED).next().is_some()
}

/// The numbers of the sockets at a local port that are in a state.
fn sockets(port: u16, state: &'static str) -> impl Iterator<Item = String> {
    let tables = TABLES.iter().filter_map(|table| std::fs::read_to_string(table).ok());
    tables.flat_map(move |table| {
        let found: Vec<String> = table.lines().skip(1).filter_map(|line| socket(line, port, state)).collect();
        found
    })
}

/// The number of the socket in a line of the kernel's table, if it is at the port and in the state.
fn socket(line: &str, port: u16, state: &str) -> Option<String> {
    let mut fields = line.split_ascii_whitespace().skip(1);
    let (_, at) = fields.next()?.rsplit_once(':')?;
    let found = (u16::from_str_radix(at, 16).ok()? == port) && fields.nth(1)? == state;
    // Queues, timer, retransmissions, user and time-out lie between.
    if found { fields.nth(5).map(str::to_owned) } else { None }
}

fn holds_one_of(pid: u32, sockets: &HashSet<String>) -> bool {
    let Ok(files) = std::fs::read_dir(Path::new("/proc").join(pid.to_string()).join("fd")) else {
        return false;
    };
    files.flatten().filter_map(|file| std::fs::read_link(file.path()).ok()).any(|target| {
        let target = target.to_string_lossy();
        let number = target.strip_prefix("socket:[").and_then(|rest| rest.strip_suffix(']'));
        number.is_some_and(|number| sockets.contains(number))
    })
}

#[cfg(test)]
mod tests {
    use std::net::{TcpListener, TcpStream};

    use super::*;

    #[test]
    fn listener_is_named_and_a_connection_is_seen() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let found = listeners(port);
        assert_eq!(found.len(), 1, "{found:?}");
        assert_eq!(found[0].process.as_ref().map(|process| process.pid), Some(std::process::id()));
        assert!(!is_connected(port));
        let client = TcpStream::connect(("127.0.0.1", port)).unwrap();
        let accepted = listener.accept().unwrap();
        assert!(is_connected(port));
        drop((client, accepted, listener));
        assert_eq!(listeners(port), []);
    }

    #[test]
    fn line_of_the_kernels_table_is_read() {
        let line = "   0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000        0 43211 1 0 100";
        assert_eq!(socket(line, 8080, LISTENS).as_deref(), Some("43211"));
        assert_eq!(socket(line, 8081, LISTENS), None);
        assert_eq!(socket(line, 8080, ESTABLISHED), None);
        assert_eq!(socket("  sl  local_address", 8080, LISTENS), None);
    }
}
