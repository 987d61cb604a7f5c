//! Whether files are as they were, told by what the file system keeps about them.
//!
//! A file system says when a file last changed, but not finer than it counts time: two changes in one of its ticks
//! look like one. A stamp younger than the look it is compared with, or about as young, therefore proves
//! nothing, as in git's own index. The time of change counts beside that of the content: nobody can set it back.
//! Where another machine gives out the times nothing is proven, either.

use std::collections::HashMap;
use std::ffi::{CStr, CString};
use std::os::fd::BorrowedFd;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

use nix::errno::Errno;
use nix::fcntl::AtFlags;
use nix::sys::stat::{FileStat, fstatat};
use sha1::{Digest as _, Sha1};

use crate::bytes;

/// Longer than a tick of any file system that counts below seconds, and than clocks drift apart unnoticed.
const TICK: Duration = Duration::from_millis(100);
/// The same where whole seconds are counted.
const COARSE_TICK: Duration = Duration::from_secs(2);
/// How far the two clocks may disagree about the time that passed before one was set.
const CLOCKS_AGREE: Duration = Duration::from_millis(20);

/// One path on each file system.
pub(crate) type Devices = HashMap<libc::dev_t, PathBuf>;

/// What stamps come to.
pub(crate) type Print = [u8; 20];

/// A moment that later looks are compared with.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Moment {
    at: SystemTime,
    since: Instant,
}

impl Moment {
    pub(crate) fn now() -> Self {
        Self { at: SystemTime::now(), since: Instant::now() }
    }

    /// What was last changed before this was surely so before the moment; `None` when the clock was set since.
    pub(crate) fn bound(self) -> Option<Bound> {
        let by_clock = SystemTime::now().duration_since(self.at).ok()?;
        let apart = by_clock.abs_diff(self.since.elapsed());
        let since_1970 = self.at.duration_since(SystemTime::UNIX_EPOCH).ok()?;
        (apart < CLOCKS_AGREE).then_some(Bound {
            fine: since_1970.checked_sub(TICK)?,
            coarse: since_1970.checked_sub(COARSE_TICK)?,
        })
    }
}

/// The youngest that a stamp may be to prove something.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Bound {
    fine: Duration,
    coarse: Duration,
}

impl Bound {
    fn is_before(self, seconds: i64, nanos: i64) -> bool {
        let (Ok(seconds), Ok(nanos)) = (u64::try_from(seconds), u32::try_from(nanos)) else { return false };
        let bound = if nanos == 0 { self.coarse } else { self.fine };
        Duration::new(seconds, nanos) < bound
    }
}

/// Takes stamps; in the end they come to one print.
pub(crate) struct Stamps {
    hash: Sha1,
    bound: Option<Bound>,
    /// Looked at when everything has to be old.
    devices: Devices,
    devices_at: PathBuf,
}

/// Something is too young, or lies where stamps prove nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Unproven;

impl Stamps {
    /// With a bound, whatever is not older than that ends the taking.
    pub(crate) fn new(bound: Option<Bound>, below: &Path) -> Self {
        Self { hash: Sha1::new(), bound, devices: HashMap::new(), devices_at: below.to_owned() }
    }

    /// The stamp of a path below a folder, not following a link there; what it is, `None` when it is not there.
    pub(crate) fn at(&mut self, folder: BorrowedFd<'_>, path: &CStr) -> Result<Option<FileStat>, Unproven> {
        let found = fstatat(folder, path, AtFlags::AT_SYMLINK_NOFOLLOW);
        self.take(found, bytes::path(path.to_bytes()))
    }

    /// The stamp of what a path leads to.
    pub(crate) fn of(&mut self, path: &Path) -> Result<Option<FileStat>, Unproven> {
        self.take(nix::sys::stat::stat(path), path)
    }

    fn take(&mut self, found: Result<FileStat, Errno>, path: &Path) -> Result<Option<FileStat>, Unproven> {
        let found = match found {
            Ok(found) => found,
            Err(Errno::ENOENT | Errno::ENOTDIR) => {
                self.hash.update(b"absent");
                return Ok(None);
            }
            Err(_) => return Err(Unproven),
        };
        if let Some(bound) = self.bound {
            let old = bound.is_before(found.st_mtime, found.st_mtime_nsec)
                && bound.is_before(found.st_ctime, found.st_ctime_nsec);
            if !old {
                return Err(Unproven);
            }
            if !self.devices.contains_key(&found.st_dev) {
                self.devices.insert(found.st_dev, self.devices_at.join(path));
            }
        }
        let numbers = [
            found.st_mtime,
            found.st_mtime_nsec,
            found.st_ctime,
            found.st_ctime_nsec,
            found.st_size,
            i64::from_ne_bytes(found.st_ino.to_ne_bytes()),
            i64::from(found.st_mode),
            i64::from_ne_bytes(found.st_dev.to_ne_bytes()),
        ];
        // As long as a block of the hash, which then copies nothing aside.
        let mut bytes = [0; 64];
        for (place, number) in bytes.chunks_exact_mut(8).zip(numbers) {
            place.copy_from_slice(&number.to_le_bytes());
        }
        self.hash.update(bytes);
        Ok(Some(found))
    }

    /// Adds what others took.
    pub(crate) fn add(&mut self, print: Print, devices: Devices) {
        self.hash.update(print);
        self.devices.extend(devices);
    }

    /// What all came to, and where it lies.
    pub(crate) fn parts(self) -> (Print, Devices) {
        (self.hash.finalize().into(), self.devices)
    }

    /// What all came to.
    pub(crate) fn print(self) -> Result<Print, Unproven> {
        if self.devices.values().all(|path| is_local(path)) {
            Ok(self.hash.finalize().into())
        } else {
            Err(Unproven)
        }
    }
}

/// A path as the system takes it.
pub(crate) fn c_path(path: &[u8]) -> Result<CString, Unproven> {
    CString::new(path).map_err(|_| Unproven)
}

/// Whether this machine's own clock stamps the files there.
#[cfg(target_os = "linux")]
fn is_local(path: &Path) -> bool {
    /// ext2 to ext4, XFS, btrfs, tmpfs, F2FS, ZFS, overlay, bcachefs.
    const LOCAL: [u32; 8] =
        [0xef53, 0x5846_5342, 0x9123_683e, 0x0102_1994, 0xf2f5_2010, 0x2fc1_2fc1, 0x794c_7630, 0xca45_1a4e];
    let kind = rustix::fs::statfs(path).map(|found| u32::try_from(found.f_type));
    matches!(kind, Ok(Ok(kind)) if LOCAL.contains(&kind))
}

#[cfg(not(target_os = "linux"))]
fn is_local(_: &Path) -> bool {
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_older_than_the_tick_before_proves_something() {
        let bound = Bound { fine: Duration::new(99, 900_000_000), coarse: Duration::from_secs(98) };
        let cases = [
            ((99, 899_999_999), true),
            ((99, 900_000_000), false),
            ((99, 0), false),
            ((98, 0), false),
            ((97, 0), true),
            ((98, 1), true),
            ((100, 1), false),
            ((-1, 1), false),
        ];
        for ((seconds, nanos), old) in cases {
            assert_eq!(bound.is_before(seconds, nanos), old, "{seconds}.{nanos:09}");
        }
    }

    #[test]
    fn a_clock_that_was_set_proves_nothing() {
        let now = Moment::now();
        assert!(now.bound().is_some());
        for set in [Duration::from_secs(60), Duration::from_millis(500)] {
            assert!(Moment { at: now.at - set, ..now }.bound().is_none());
            assert!(Moment { at: now.at + set, ..now }.bound().is_none());
        }
    }
}
