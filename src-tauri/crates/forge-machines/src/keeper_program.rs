//! The keeper's program as it is sent to machines.

use std::{
    fmt::Write as _,
    fs, io,
    path::{Path, PathBuf},
};

use sha2::{Digest as _, Sha256};

/// Where an ELF file says which kind of machine it is for.
const MACHINE_AT: usize = 18;

/// The numbers of kinds of machines, with the names by which `uname -m` calls them.
const MACHINES: &[(u16, &str)] = &[(0x3e, "x86_64"), (0xb7, "aarch64"), (0xf3, "riscv64")];

/// The keeper for one kind of machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeeperProgram {
    path: PathBuf,
    architecture: &'static str,
    hash: String,
    size: u64,
}

/// Why a file is not sent as a keeper.
#[derive(Debug, thiserror::Error)]
pub enum KeeperProgramError {
    /// It cannot be read.
    #[error("could not read the keeper's program {}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// It is no program of Linux for a kind of machine that is known.
    #[error("could not use {} as the keeper's program: it is not a Linux program for a supported architecture", path.display())]
    Unknown {
        /// The file.
        path: PathBuf,
    },
}

impl KeeperProgram {
    /// Looks at a file: it must be a program of its own, without libraries.
    ///
    /// # Errors
    /// When it cannot be read or is no such program.
    pub fn read(path: &Path) -> Result<Self, KeeperProgramError> {
        let bytes =
            fs::read(path).map_err(|source| KeeperProgramError::Read { path: path.to_owned(), source })?;
        let machine =
            bytes.get(MACHINE_AT..).and_then(|rest| rest.first_chunk()).copied().map(u16::from_le_bytes);
        let known = MACHINES.iter().find(|(number, _)| Some(*number) == machine);
        let Some((_, architecture)) = known.filter(|_| bytes.starts_with(b"\x7fELF\x02\x01")) else {
            return Err(KeeperProgramError::Unknown { path: path.to_owned() });
        };
        let mut hash = String::new();
        for byte in Sha256::digest(&bytes) {
            // Writing to a string does not fail.
            let _ = write!(hash, "{byte:02x}");
        }
        Ok(Self { path: path.to_owned(), architecture, hash, size: bytes.len() as u64 })
    }

    /// The kind of machine it is for, as `uname -m` there calls it.
    #[must_use]
    pub const fn architecture(&self) -> &'static str {
        self.architecture
    }

    /// What its content comes to.
    #[must_use]
    pub fn hash(&self) -> &str {
        &self.hash
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) const fn size(&self) -> u64 {
        self.size
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn program_is_known_by_its_content_and_the_machine_it_is_for() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("keeper");
        let mut elf = b"\x7fELF\x02\x01".to_vec();
        elf.resize(64, 0);
        elf[MACHINE_AT] = 0xb7;
        fs::write(&path, &elf).unwrap();
        let read = KeeperProgram::read(&path).unwrap();
        assert_eq!((read.architecture(), read.size(), read.hash().len()), ("aarch64", 64, 64));
        elf[MACHINE_AT] = 1;
        fs::write(&path, &elf).unwrap();
        assert!(matches!(KeeperProgram::read(&path), Err(KeeperProgramError::Unknown { .. })));
        fs::write(&path, b"#!/bin/sh\n").unwrap();
        assert!(matches!(KeeperProgram::read(&path), Err(KeeperProgramError::Unknown { .. })));
        assert!(matches!(
            KeeperProgram::read(&folder.path().join("no")),
            Err(KeeperProgramError::Read { .. })
        ));
    }
}
