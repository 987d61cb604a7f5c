//! One engine per data folder, held by a lock on `engine.lock`. The content of that file tells others the process
//! and the address of the engine.

use std::{
    fs::{File, OpenOptions},
    io::{Read as _, Seek as _, Write as _},
    os::unix::fs::OpenOptionsExt as _,
    path::{Path, PathBuf},
};

use nix::fcntl::{Flock, FlockArg};
use serde::{Deserialize, Serialize};

/// Where a running engine can be reached.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EngineAddress {
    /// Its process.
    pub pid: u32,
    /// Its HTTP address, once it serves one.
    pub url: Option<String>,
    /// The socket that it also serves at, if it does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub socket: Option<PathBuf>,
}

/// Why an engine cannot have its data folder.
#[derive(Debug, thiserror::Error)]
pub enum InstanceError {
    /// Another engine has it.
    #[error("another Forge (process {pid}{at}) uses this data folder", pid = .0.pid, at = .0.url.as_deref().map(|url| format!(" at {url}")).unwrap_or_default())]
    Taken(EngineAddress),
    /// The folder cannot be used.
    #[error("could not use {}: {source}", path.display())]
    Io {
        /// The folder or file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
}

/// How often the lock is tried while somebody may only look who has it.
const TRIES: u32 = 5;
/// How often it is tried when the engine that had it was killed: a program that was being started at that moment keeps
/// the lock until it runs, which takes seconds where a computer is very busy.
const TRIES_AFTER_A_KILL: u32 = 2000;
const BETWEEN_TRIES: std::time::Duration = std::time::Duration::from_millis(10);

/// Takes the lock; one refusal is not yet an answer.
fn lock_patiently(mut file: File) -> Result<Flock<File>, File> {
    for tried in 0..TRIES_AFTER_A_KILL {
        match Flock::lock(file, FlockArg::LockExclusiveNonblock) {
            Ok(lock) => return Ok(lock),
            Err((refused, _)) => file = refused,
        }
        if tried >= TRIES && holder_lives(&file) {
            break;
        }
        std::thread::sleep(BETWEEN_TRIES);
    }
    Err(file)
}

/// Whether the engine that wrote the file is still there. An engine that has just taken the lock has written nothing yet.
fn holder_lives(mut file: &File) -> bool {
    let mut text = String::new();
    let read = file.rewind().and_then(|()| file.read_to_string(&mut text));
    let holder = read.ok().and_then(|_| address_in(&text));
    holder.is_none_or(|holder| is_alive(holder.pid))
}

/// Whether a process is there and has not ended. One that was killed stays in the list until its parent looks.
fn is_alive(pid: u32) -> bool {
    let Ok(pid) = i32::try_from(pid) else { return false };
    if nix::sys::signal::kill(nix::unistd::Pid::from_raw(pid), None).is_err() {
        return false;
    }
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat"));
    let state = stat.ok().and_then(|stat| Some(stat.rsplit_once(") ")?.1.chars().next()));
    // Other systems have no such file.
    !matches!(state, Some(Some('Z' | 'X')))
}

/// The address that the file begins with. What follows is left of an earlier one whose writer was killed.
fn address_in(text: &str) -> Option<EngineAddress> {
    serde_json::Deserializer::from_str(text).into_iter().next()?.ok()
}

/// The hold on a data folder; gone with the process, however it ends.
#[derive(Debug)]
pub(crate) struct Instance {
    lock: Flock<File>,
}

impl Instance {
    pub(crate) fn take(data_dir: &Path) -> Result<Self, InstanceError> {
        let path = data_dir.join("engine.lock");
        let io = |source| InstanceError::Io { path: path.clone(), source };
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o600)
            .open(&path)
            .map_err(io)?;
        match lock_patiently(file) {
            Ok(lock) => {
                let instance = Self { lock };
                instance.announce(None, None).map_err(io)?;
                Ok(instance)
            }
            Err(mut file) => {
                let mut text = String::new();
                file.rewind().and_then(|()| file.read_to_string(&mut text)).map_err(io)?;
                let unknown = EngineAddress { pid: 0, url: None, socket: None };
                Err(InstanceError::Taken(address_in(&text).unwrap_or(unknown)))
            }
        }
    }

    /// Writes where this engine can be reached.
    pub(crate) fn announce(&self, url: Option<String>, socket: Option<PathBuf>) -> std::io::Result<()> {
        let text = serde_json::to_string(&EngineAddress { pid: std::process::id(), url, socket })?;
        let mut file: &File = &self.lock;
        file.rewind()?;
        // Never empty, so that whoever finds the lock taken learns whose it is, wherever this engine is killed.
        file.write_all(text.as_bytes())?;
        file.set_len(u64::try_from(text.len()).unwrap_or(u64::MAX))?;
        file.sync_data()
    }

    /// Who holds a data folder, if somebody does.
    pub(crate) fn holder(data_dir: &Path) -> Option<EngineAddress> {
        let mut file = File::open(data_dir.join("engine.lock")).ok()?;
        let mut text = String::new();
        file.read_to_string(&mut text).ok()?;
        // A lock that can be had means that whoever wrote the text is gone.
        match Flock::lock(file, FlockArg::LockSharedNonblock) {
            Ok(_) => None,
            Err(_) => address_in(&text),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn address_is_read_in_front_of_what_a_killed_writer_left() {
        let text = r#"{"pid":7,"url":null}p://127.0.0.1:1"}"#;
        assert_eq!(address_in(text).map(|address| address.pid), Some(7));
        assert_eq!(address_in(""), None);
    }

    #[test]
    fn folder_of_an_engine_that_was_killed_is_free_though_nobody_looked_at_its_end() {
        let mut ended = std::process::Command::new("true").spawn().unwrap();
        let stat = format!("/proc/{}/stat", ended.id());
        while std::fs::read_to_string(&stat).is_ok_and(|stat| !stat.contains(") Z")) {
            std::thread::yield_now();
        }
        assert!(!is_alive(ended.id()), "it ended");
        ended.wait().unwrap();
        assert!(is_alive(std::process::id()));
    }
}
