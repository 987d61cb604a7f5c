//! One engine per data folder, held by a lock on `engine.lock`; `engine.json` tells others where it is.

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
}

/// Why an engine cannot have its data folder.
#[derive(Debug, thiserror::Error)]
pub enum InstanceError {
    /// Another engine has it.
    #[error("another Forge (process {pid}{at}) uses this data folder", pid = .0.pid, at = .0.url.as_deref().map(|url| format!(" at {url}")).unwrap_or_default())]
    Taken(EngineAddress),
    /// The folder cannot be used.
    #[error("failed to use {}: {source}", path.display())]
    Io {
        /// The folder or file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
}

/// Takes the lock; somebody who only looks has it for a moment, so one refusal is not yet an answer.
fn lock_patiently(mut file: File) -> Result<Flock<File>, File> {
    for _ in 0..5 {
        match Flock::lock(file, FlockArg::LockExclusiveNonblock) {
            Ok(lock) => return Ok(lock),
            Err((refused, _)) => file = refused,
        }
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    Err(file)
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
                instance.announce(None).map_err(io)?;
                Ok(instance)
            }
            Err(mut file) => {
                let mut text = String::new();
                file.read_to_string(&mut text).map_err(io)?;
                let unknown = EngineAddress { pid: 0, url: None };
                Err(InstanceError::Taken(serde_json::from_str(&text).unwrap_or(unknown)))
            }
        }
    }

    /// Writes where this engine can be reached.
    pub(crate) fn announce(&self, url: Option<String>) -> std::io::Result<()> {
        let text = serde_json::to_string(&EngineAddress { pid: std::process::id(), url })?;
        let mut file: &File = &self.lock;
        file.rewind()?;
        file.set_len(0)?;
        file.write_all(text.as_bytes())?;
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
            Err(_) => serde_json::from_str(&text).ok(),
        }
    }
}
