//! A folder in memory for the files that tests make.
//!
//! The tests make thousands of small repositories and databases and remove them again; on a disk they wait for
//! every write to be synchronized, which proves nothing about Forge.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use nix::sys::statvfs::statvfs;

/// Where Linux keeps files in memory.
const SHARED_MEMORY: &str = "/dev/shm";
/// What the tests may need at once, in bytes, with room to spare. Containers often have 64 MiB there.
const NEEDED: u64 = 4 << 30;

/// A folder in memory, removed when it is dropped.
pub struct MemoryFolder(PathBuf);

impl MemoryFolder {
    /// A new one, or nothing where the machine offers no file system in memory that is large enough.
    ///
    /// # Errors
    /// When there is one, but no folder can be made in it.
    pub fn create() -> Result<Option<Self>> {
        let memory = Path::new(SHARED_MEMORY);
        let free = statvfs(memory).map_or(0, |disk| disk.blocks_available() * disk.fragment_size());
        if free < NEEDED {
            return Ok(None);
        }
        let folder = memory.join(format!("forge-tests-{}", std::process::id()));
        std::fs::create_dir(&folder).with_context(|| format!("could not create {}", folder.display()))?;
        Ok(Some(Self(folder)))
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for MemoryFolder {
    fn drop(&mut self) {
        if let Err(error) = std::fs::remove_dir_all(&self.0) {
            eprintln!("{} is left: {error}", self.0.display());
        }
    }
}
