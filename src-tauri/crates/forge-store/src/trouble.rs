//! Telling a disk or a system that refuses from a mistake of ours: only the former passes by itself.

use std::io;

use forge_model::storage::StorageTrouble;

use crate::StoreError;

/// Primary result codes of SQLite.
mod code {
    pub(super) const BUSY: u32 = 5;
    pub(super) const LOCKED: u32 = 6;
    pub(super) const NO_MEMORY: u32 = 7;
    pub(super) const READ_ONLY: u32 = 8;
    pub(super) const INTERRUPT: u32 = 9;
    pub(super) const IO: u32 = 10;
    pub(super) const CORRUPT: u32 = 11;
    pub(super) const FULL: u32 = 13;
    pub(super) const CANNOT_OPEN: u32 = 14;
    pub(super) const NOT_A_DATABASE: u32 = 26;
    /// Of the class of I/O errors, but for want of memory.
    pub(super) const IO_NO_MEMORY: u32 = IO | (12 << 8);
    /// Of the same class: the file of shared memory cannot be enlarged, as on a full disk.
    pub(super) const IO_SHM_SIZE: u32 = IO | (19 << 8);
}

impl StoreError {
    /// What keeps the database from being used; none when it is this very request that cannot be served.
    #[must_use]
    pub fn trouble(&self) -> Option<StorageTrouble> {
        match self {
            Self::Database(error) => of_sqlx(error),
            Self::Damaged { .. } => Some(StorageTrouble::Damaged),
            Self::Corrupt { .. } => None,
        }
    }
}

/// What keeps the database from being used, by an error of the driver.
pub(crate) fn of_sqlx(error: &sqlx::Error) -> Option<StorageTrouble> {
    match error {
        sqlx::Error::Database(error) => of_code(error.code()?.parse().ok()?),
        sqlx::Error::Io(error) => Some(of_io(error).unwrap_or(StorageTrouble::Io)),
        sqlx::Error::PoolTimedOut => Some(StorageTrouble::Busy),
        // A connection whose transaction is in doubt: the next one is a new one.
        sqlx::Error::WorkerCrashed | sqlx::Error::InvalidSavePointStatement | sqlx::Error::BeginFailed => {
            Some(StorageTrouble::Io)
        }
        _ => None,
    }
}

fn of_code(extended: u32) -> Option<StorageTrouble> {
    if extended == code::IO_NO_MEMORY {
        return Some(StorageTrouble::Memory);
    }
    if extended == code::IO_SHM_SIZE {
        return Some(StorageTrouble::Full);
    }
    match extended & 0xff {
        code::FULL => Some(StorageTrouble::Full),
        code::READ_ONLY => Some(StorageTrouble::ReadOnly),
        code::IO | code::INTERRUPT => Some(StorageTrouble::Io),
        code::NO_MEMORY => Some(StorageTrouble::Memory),
        code::CANNOT_OPEN => Some(StorageTrouble::CannotOpen),
        code::BUSY | code::LOCKED => Some(StorageTrouble::Busy),
        code::CORRUPT | code::NOT_A_DATABASE => Some(StorageTrouble::Damaged),
        _ => None,
    }
}

/// What keeps files from being written, by an error of the system; none for one that waiting does not cure.
#[must_use]
pub fn of_io(error: &io::Error) -> Option<StorageTrouble> {
    /// `EIO`: the device failed.
    const DEVICE_FAILED: i32 = 5;
    match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => Some(StorageTrouble::Full),
        io::ErrorKind::FileTooLarge => Some(StorageTrouble::Io),
        io::ErrorKind::ReadOnlyFilesystem => Some(StorageTrouble::ReadOnly),
        io::ErrorKind::OutOfMemory => Some(StorageTrouble::Memory),
        _ if error.raw_os_error() == Some(DEVICE_FAILED) => Some(StorageTrouble::Io),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn extended_codes_are_of_their_class() {
        let cases = [
            (13, Some(StorageTrouble::Full)),
            (778, Some(StorageTrouble::Io)),
            (3082, Some(StorageTrouble::Memory)),
            (4874, Some(StorageTrouble::Full)),
            (1032, Some(StorageTrouble::ReadOnly)),
            (270, Some(StorageTrouble::CannotOpen)),
            (267, Some(StorageTrouble::Damaged)),
            (2067, None),
            (1, None),
        ];
        for (code, trouble) in cases {
            assert_eq!(of_code(code), trouble, "{code}");
        }
    }

    #[test]
    fn a_missing_file_is_no_trouble_of_the_disk() {
        assert_eq!(of_io(&io::Error::from(io::ErrorKind::NotFound)), None);
        assert_eq!(of_io(&io::Error::from_raw_os_error(28)), Some(StorageTrouble::Full));
        assert_eq!(of_io(&io::Error::from_raw_os_error(5)), Some(StorageTrouble::Io));
        assert_eq!(of_io(&io::Error::from_raw_os_error(30)), Some(StorageTrouble::ReadOnly));
    }
}
