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

/// Where packages put the keepers for other kinds of machines, seen from the folder of the programs.
const OF_OTHER_KINDS: &str = "../lib/forge/keepers";

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

    /// The keeper of this machine and those that were installed with it for other kinds of machines, one for each kind.
    ///
    /// # Errors
    /// When the folder of the others or one of the keepers cannot be read, or is no such program.
    pub fn installed(own: &Path) -> Result<Vec<Self>, KeeperProgramError> {
        let mut keepers = vec![Self::read(own)?];
        let folder = own.parent().unwrap_or(own).join(OF_OTHER_KINDS);
        let fault = |source| KeeperProgramError::Read { path: folder.clone(), source };
        let others = match fs::read_dir(&folder) {
            Ok(others) => others,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(keepers),
            Err(error) => return Err(fault(error)),
        };
        let mut paths =
            others.map(|entry| Ok(entry?.path())).collect::<io::Result<Vec<_>>>().map_err(fault)?;
        paths.sort();
        for path in paths {
            let other = Self::read(&path)?;
            if keepers.iter().all(|known| known.architecture != other.architecture) {
                keepers.push(other);
            }
        }
        Ok(keepers)
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
    #[test]
    fn keepers_for_other_kinds_of_machines_are_found_where_packages_put_them() {
        let folder = tempfile::tempdir().unwrap();
        let elf = |path: &str, machine: u8| {
            let path = folder.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            let mut elf = b"\x7fELF\x02\x01".to_vec();
            elf.resize(64, 0);
            elf[MACHINE_AT] = machine;
            fs::write(&path, &elf).unwrap();
            path
        };
        let kinds = |own: &Path| {
            KeeperProgram::installed(own).unwrap().iter().map(KeeperProgram::architecture).collect::<Vec<_>>()
        };
        let own = elf("bin/forge-keeper", 0x3e);
        assert_eq!(kinds(&own), ["x86_64"]);
        elf("lib/forge/keepers/forge-keeper-aarch64", 0xb7);
        elf("lib/forge/keepers/forge-keeper-x86_64", 0x3e);
        assert_eq!(kinds(&own), ["x86_64", "aarch64"]);
    }
}
