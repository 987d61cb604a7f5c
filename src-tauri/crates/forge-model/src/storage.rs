//! The state of the database and its disk: whether it takes writes, what is wrong when it does not, its copies, and
//! how long old data is kept.

use crate::{contract, names, time::Timestamp};

/// Free space below this number of bytes is low, however large the disk.
pub const LOW_BYTES: u64 = 1024 * 1024 * 1024;
/// Free space below one part in this many of the disk is low.
const LOW_PART: u64 = 50;

/// How many days logs of closed tasks are kept, unless set otherwise.
pub const DEFAULT_LOGS_DAYS: u32 = 90;
/// How many days events are kept, unless set otherwise.
pub const DEFAULT_EVENTS_DAYS: u32 = 90;

names! {
    /// Why the database cannot be used.
    pub enum StorageTrouble {
        /// The disk, or the user's quota of it, is full.
        Full = "full",
        /// The file or its file system is read-only.
        ReadOnly = "read_only",
        /// The system reported an input/output error.
        Io = "io",
        /// There was not enough memory.
        Memory = "memory",
        /// The file cannot be opened.
        CannotOpen = "cannot_open",
        /// Another program holds the database locked.
        Busy = "busy",
        /// The content of the file is damaged.
        Damaged = "damaged",
    }
}

impl StorageTrouble {
    /// Whether work goes on by itself once the cause is gone.
    #[must_use]
    pub const fn passes(self) -> bool {
        !matches!(self, Self::Damaged)
    }

    /// What a person can do about it.
    #[must_use]
    pub const fn remedy(self) -> &'static str {
        match self {
            Self::Full => "Free some space on the disk of the data folder. Forge continues automatically.",
            Self::ReadOnly => "Make the data folder writable again. Forge continues automatically.",
            Self::Io => {
                "Check the disk and its connection. Forge continues automatically once writes succeed."
            }
            Self::Memory => "Close programs that need much memory. Forge continues automatically.",
            Self::CannotOpen => {
                "Make sure Forge can read and write the data folder, and that the system has open files left. Forge \
                 continues automatically."
            }
            Self::Busy => "Close other programs that have the database open. Forge continues automatically.",
            Self::Damaged => {
                "Restore a copy of the database: `forge backup list`, then `forge backup restore NAME`."
            }
        }
    }
}

impl StorageTrouble {
    /// What a person can do about it when it keeps Forge from starting.
    #[must_use]
    pub const fn remedy_at_start(self) -> &'static str {
        match self {
            Self::Full => "Free some space on the disk of the data folder, then start Forge again.",
            Self::ReadOnly => "Make the data folder writable again, then start Forge again.",
            Self::Io => "Check the disk of the data folder and its connection, then start Forge again.",
            Self::Memory => "Close programs that need much memory, then start Forge again.",
            Self::CannotOpen => {
                "Make sure Forge can read and write the data folder, and that the system has open files left, then \
                 start Forge again."
            }
            Self::Busy => "Close other programs that have the database open, then start Forge again.",
            Self::Damaged => self.remedy(),
        }
    }
}

names! {
    /// Why a copy of the database was created.
    pub enum BackupReason {
        /// Created once a day while Forge runs.
        Daily = "daily",
        /// Created before the schema changed.
        Migration = "migration",
        /// Made by a person.
        Manual = "manual",
    }
}

names! {
    /// A person's answer to a deletion of more than half of something.
    pub enum RetentionAnswer {
        /// It is done.
        Delete = "delete",
        /// It is not done.
        Keep = "keep",
    }
}

contract! {
    /// A deletion of more than half of something, which waits for a person.
    pub struct RetentionQuestion {
        /// What to delete: `logs`, `events`, or `backups:PROJECT`.
        pub kind: String,
        /// Number of them.
        pub doomed: u32,
        /// Of how many.
        pub total: u32,
        /// They were created up to this time.
        pub until: Timestamp,
        /// Start of the wait.
        pub asked_at: Timestamp,
        /// A person's answer; null while there is none.
        pub answer: Option<RetentionAnswer>,
    }

    /// A copy of the database.
    pub struct Backup {
        /// Its name, unique within the data folder.
        pub name: String,
        /// Why it was created; null for a file that Forge did not name.
        pub reason: Option<BackupReason>,
        /// When it was created.
        pub created_at: Timestamp,
        /// Its size.
        #[specta(type = f64)]
        pub bytes: u64,
        /// Its path.
        pub path: String,
    }

    /// How long old data is kept.
    #[derive(Eq)]
    #[serde(deny_unknown_fields, default)]
    pub struct Retention {
        /// Days that logs of a closed task are kept; 0 keeps them forever.
        pub logs_days: u32,
        /// Days that events are kept; 0 keeps as many as the maximum number allows.
        pub events_days: u32,
    }
}

impl Default for Retention {
    fn default() -> Self {
        Self { logs_days: DEFAULT_LOGS_DAYS, events_days: DEFAULT_EVENTS_DAYS }
    }
}

/// Whether so much free space of a disk of `total` bytes is low.
#[must_use]
pub const fn is_low(free: u64, total: u64) -> bool {
    free < LOW_BYTES || free < total / LOW_PART
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn space_is_low_below_a_gibibyte_or_two_percent() {
        let gib = LOW_BYTES;
        assert!(is_low(gib - 1, 10 * gib));
        assert!(!is_low(gib, 10 * gib));
        assert!(is_low(19 * gib, 1000 * gib));
        assert!(!is_low(20 * gib, 1000 * gib));
    }

    #[test]
    fn only_damage_needs_a_person() {
        let stuck: Vec<_> = StorageTrouble::ALL.iter().filter(|trouble| !trouble.passes()).collect();
        assert_eq!(stuck, [&StorageTrouble::Damaged]);
    }
}
