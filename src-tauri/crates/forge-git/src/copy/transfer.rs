//! Making the files, by handle on both sides.
//!
//! A file is written under a name of its own and then renamed, so that one that was cut short is never taken for
//! whole; the renaming refuses to replace anything.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::io::{self, ErrorKind};
use std::ops::Bound;
use std::path::{Component, Path, PathBuf};

use cap_std::ambient_authority;
use cap_std::fs::{Dir, Metadata, OpenOptions, OpenOptionsExt as _, Permissions, PermissionsExt as _};
use tokio_util::sync::CancellationToken;

use super::report::{CopyProgress, CopyReport, Skipped, SkippedWhy};
use super::rule::{CopyMode, Wanted};
use crate::bytes;
use crate::error::GitError;
use crate::guard::{self, GuardError, open_folder, resolve_inside};

/// Files between two words of progress.
const PROGRESS_EVERY: u64 = 64;

pub(super) struct Transfer<'a> {
    from: &'a Path,
    to: &'a Path,
    source: Dir,
    target: Dir,
    /// Paths that git tracks in the target.
    tracked: BTreeSet<Vec<u8>>,
    cancel: &'a CancellationToken,
    progress: &'a dyn Fn(CopyProgress),
    report: CopyReport,
    /// Links to the user's own that were made.
    links: Vec<PathBuf>,
    /// How many folders of the rule's own are around what is looked at now.
    folders_deep: u32,
    can_share_blocks: bool,
}

impl<'a> Transfer<'a> {
    pub(super) fn new(
        from: &'a Path,
        to: &'a Path,
        tracked: BTreeSet<Vec<u8>>,
        cancel: &'a CancellationToken,
        progress: &'a dyn Fn(CopyProgress),
    ) -> Result<Self, GitError> {
        let open = |path: &Path| {
            Dir::open_ambient_dir(path, ambient_authority()).map_err(GitError::io("open", path))
        };
        Ok(Self {
            from,
            to,
            source: open(from)?,
            target: open(to)?,
            tracked,
            cancel,
            progress,
            report: CopyReport::default(),
            links: Vec::new(),
            folders_deep: 0,
            can_share_blocks: true,
        })
    }

    pub(super) fn done(self) -> (CopyReport, Vec<PathBuf>) {
        (self.report, self.links)
    }

    /// Brings one file or folder.
    pub(super) fn bring(&mut self, wanted: &Wanted) -> Result<(), GitError> {
        let path = wanted.path.as_path();
        self.go_on()?;
        self.tell(path);
        let found = match self.source.symlink_metadata(path) {
            Ok(found) => found,
            Err(e) if e.kind() == ErrorKind::NotFound => return self.skip(path, SkippedWhy::Gone),
            Err(e) => return Err(self.source_error(path, e)),
        };
        if found.is_symlink() {
            self.require_inside(path)?;
        }
        // Its files are looked at one by one when they are made one by one.
        if self.is_tracked(path) || (wanted.mode == CopyMode::Symlink && self.tracks_below(path)) {
            return self.skip(path, SkippedWhy::Tracked);
        }
        if !found.is_dir() || wanted.mode == CopyMode::Symlink {
            match self.target.symlink_metadata(path) {
                Ok(_) => return self.skip(path, SkippedWhy::Exists),
                Err(e) if e.kind() == ErrorKind::NotFound => {}
                Err(e) if e.kind() == ErrorKind::NotADirectory => {
                    return self.skip(path, SkippedWhy::InTheWay);
                }
                Err(e) => return Err(self.target_error(path, e)),
            }
        }
        let parent = path.parent().unwrap_or(Path::new(""));
        let Some(into) = self.folder_for(parent, path)? else {
            return self.skip(path, SkippedWhy::InTheWay);
        };
        let Some(name) = path.file_name() else { return self.skip(path, SkippedWhy::Special) };
        if wanted.mode == CopyMode::Symlink {
            return self.link_to(&into, name, path);
        }
        let here = if parent == Path::new("") { Path::new(".") } else { parent };
        let out_of = self.source.open_dir(here).map_err(|e| self.source_error(path, e))?;
        self.entry(&out_of, &into, name, path, &found, wanted.mode)
    }

    /// The folder in the target, made where it is missing; `None` when a file is there.
    fn folder_for(&self, parent: &Path, path: &Path) -> Result<Option<Dir>, GitError> {
        if parent == Path::new("") {
            return self.target.try_clone().map(Some).map_err(|e| self.target_error(path, e));
        }
        let made = self.target.create_dir_all(parent);
        match made.and_then(|()| self.target.open_dir(parent)) {
            Ok(dir) => Ok(Some(dir)),
            Err(e) => {
                // A link that leads out "exists"; following it tells why that will not do.
                let e = self.target.metadata(parent).err().unwrap_or(e);
                match self.target_error(path, e) {
                    GitError::PathEscape(GuardError::Io { source, .. })
                        if matches!(source.kind(), ErrorKind::NotADirectory | ErrorKind::AlreadyExists) =>
                    {
                        Ok(None)
                    }
                    error => Err(error),
                }
            }
        }
    }

    fn entry(
        &mut self,
        out_of: &Dir,
        into: &Dir,
        name: &OsStr,
        path: &Path,
        found: &Metadata,
        mode: CopyMode,
    ) -> Result<(), GitError> {
        self.go_on()?;
        if name == ".git" {
            return self.skip(path, SkippedWhy::GitDirectory);
        }
        if self.is_tracked(path) {
            return self.skip(path, SkippedWhy::Tracked);
        }
        let made = if found.is_dir() {
            return self.folder(out_of, into, name, path, found, mode);
        } else if found.is_symlink() {
            self.keep_link(out_of, into, name, path)
        } else if found.is_file() {
            self.file(out_of, into, name, path, mode)
        } else {
            return self.skip(path, SkippedWhy::Special);
        };
        match made {
            Ok(()) => {
                self.report.files += 1;
                if self.report.files.is_multiple_of(PROGRESS_EVERY) {
                    self.tell(path);
                }
                Ok(())
            }
            Err(GitError::PathEscape(GuardError::Io { source, .. }))
                if source.kind() == ErrorKind::AlreadyExists =>
            {
                self.report.already_there += 1;
                Ok(())
            }
            Err(error) => Err(error),
        }
    }

    fn folder(
        &mut self,
        out_of: &Dir,
        into: &Dir,
        name: &OsStr,
        path: &Path,
        found: &Metadata,
        mode: CopyMode,
    ) -> Result<(), GitError> {
        let from = open_folder(out_of, name).map_err(|e| self.source_error(path, e))?;
        let fresh = match into.create_dir(name) {
            Ok(()) => true,
            Err(e) if e.kind() == ErrorKind::AlreadyExists => false,
            Err(e) => return Err(self.target_error(path, e)),
        };
        let to = match open_folder(into, name) {
            Ok(to) => to,
            // A file, or a link that is somebody's: it stays as it is.
            Err(_) if !fresh => return self.skip(path, SkippedWhy::InTheWay),
            Err(e) => return Err(self.target_error(path, e)),
        };
        self.folders_deep += 1;
        for entry in from.entries().map_err(|e| self.source_error(path, e))? {
            let entry = entry.map_err(|e| self.source_error(path, e))?;
            let name = entry.file_name();
            let below = path.join(&name);
            let found = match from.symlink_metadata(&name) {
                Ok(found) => found,
                Err(e) if e.kind() == ErrorKind::NotFound => {
                    self.skip(&below, SkippedWhy::Gone)?;
                    continue;
                }
                Err(e) => return Err(self.source_error(&below, e)),
            };
            self.entry(&from, &to, &name, &below, &found, mode)?;
        }
        self.folders_deep -= 1;
        if fresh {
            // Last: a folder that may not be written to could not have been filled.
            let mode = Permissions::from_mode(found.permissions().mode() & 0o777);
            to.set_permissions(".", mode).map_err(|e| self.target_error(path, e))?;
        }
        Ok(())
    }

    fn file(
        &mut self,
        out_of: &Dir,
        into: &Dir,
        name: &OsStr,
        path: &Path,
        mode: CopyMode,
    ) -> Result<(), GitError> {
        if mode == CopyMode::Hardlink {
            match out_of.hard_link(name, into, name) {
                Ok(()) => {
                    self.report.hardlinked += 1;
                    self.report.bytes += into.symlink_metadata(name).map_or(0, |made| made.len());
                    return Ok(());
                }
                Err(e) if e.kind() == ErrorKind::AlreadyExists => return Err(self.target_error(path, e)),
                // Another disk, too many names, or a file system without: copied.
                Err(_) => {}
            }
        }
        if into.symlink_metadata(name).is_ok() {
            return Err(self.target_error(path, ErrorKind::AlreadyExists.into()));
        }
        let temporary = format!(".forge-{}", uuid::Uuid::new_v4().simple());
        let made = self
            .copy_to(out_of, into, name, path, &temporary)
            .and_then(|()| rename_new(into, &temporary, name).map_err(|e| self.target_error(path, e)));
        if made.is_err() {
            // The first error is the one to tell.
            let _unwritten = into.remove_file(&temporary);
        }
        made
    }

    fn copy_to(
        &mut self,
        out_of: &Dir,
        into: &Dir,
        name: &OsStr,
        path: &Path,
        temporary: &str,
    ) -> Result<(), GitError> {
        let mut reading = OpenOptions::new();
        // Swapped for a link or a pipe meanwhile: neither is followed or waited for.
        reading.read(true).custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK);
        let from = out_of.open_with(name, &reading).map_err(|e| self.source_error(path, e))?;
        let found = from.metadata().map_err(|e| self.source_error(path, e))?;
        let mut writing = OpenOptions::new();
        writing.write(true).create_new(true).mode(0o600).custom_flags(libc::O_NOFOLLOW);
        let to = into.open_with(temporary, &writing).map_err(|e| self.target_error(path, e))?;
        let (mut from, mut to) = (from.into_std(), to.into_std());
        if self.can_share_blocks && share_blocks(&from, &to) {
            self.report.reflinked += 1;
        } else {
            self.can_share_blocks = false;
            io::copy(&mut from, &mut to).map_err(|e| self.target_error(path, e))?;
            self.report.copied += 1;
        }
        let mode = std::os::unix::fs::PermissionsExt::from_mode(found.permissions().mode() & 0o777);
        let modified = from.metadata().and_then(|found| found.modified());
        to.set_permissions(mode)
            // Build tools tell by it what is up to date.
            .and_then(|()| to.set_modified(modified?))
            .map_err(|e| self.target_error(path, e))?;
        self.report.bytes += found.len();
        Ok(())
    }

    fn keep_link(&mut self, out_of: &Dir, into: &Dir, name: &OsStr, path: &Path) -> Result<(), GitError> {
        let points_to = out_of.read_link_contents(name).map_err(|e| self.source_error(path, e))?;
        // A folder of dependencies is full of links to the machine's programs (`.venv/bin/python`). Such a
        // link is brought as it is and never followed, so nothing from out there comes along.
        if self.folders_deep == 0 || !points_to.is_absolute() {
            self.require_inside(path)?;
        }
        into.symlink_contents(&points_to, name).map_err(|e| self.target_error(path, e))?;
        self.report.links_kept += 1;
        Ok(())
    }

    fn link_to(&mut self, into: &Dir, name: &OsStr, path: &Path) -> Result<(), GitError> {
        match into.symlink_contents(self.from.join(path), name) {
            Ok(()) => {}
            Err(e) if e.kind() == ErrorKind::AlreadyExists => return self.skip(path, SkippedWhy::Exists),
            Err(e) => return Err(self.target_error(path, e)),
        }
        self.report.files += 1;
        self.report.symlinked += 1;
        self.links.push(path.to_owned());
        Ok(())
    }

    /// Refuses a link that leads out of the repository, or would from its new place.
    fn require_inside(&self, path: &Path) -> Result<(), GitError> {
        resolve_inside(self.from, path)?;
        let points_to = self.source.read_link_contents(path).map_err(|e| self.source_error(path, e))?;
        if points_to.is_absolute() {
            return Ok(());
        }
        let mut depth = path.components().count() - 1;
        for component in points_to.components() {
            depth = match component {
                Component::ParentDir if depth == 0 => {
                    let (root, path) = (self.to.to_owned(), path.to_owned());
                    return Err(
                        GuardError::Escape { root, path, why: "leads out through a symbolic link" }.into()
                    );
                }
                Component::ParentDir => depth - 1,
                Component::Normal(_) => depth + 1,
                Component::CurDir | Component::RootDir | Component::Prefix(_) => depth,
            };
        }
        Ok(())
    }

    fn is_tracked(&self, path: &Path) -> bool {
        self.tracked.contains(bytes::of(path))
    }

    fn tracks_below(&self, path: &Path) -> bool {
        let start = [bytes::of(path), b"/"].concat();
        let mut from = self.tracked.range::<[u8], _>((Bound::Included(start.as_slice()), Bound::Unbounded));
        from.next().is_some_and(|next| next.starts_with(&start))
    }

    fn go_on(&self) -> Result<(), GitError> {
        if self.cancel.is_cancelled() {
            return Err(GitError::Cancelled { doing: "copy files into the worktree" });
        }
        Ok(())
    }

    fn tell(&self, path: &Path) {
        let (files, bytes) = (self.report.files, self.report.bytes);
        (self.progress)(CopyProgress { path: path.to_string_lossy().into_owned(), files, bytes });
    }

    fn skip(&mut self, path: &Path, why: SkippedWhy) -> Result<(), GitError> {
        self.report.skipped.push(Skipped { path: path.to_string_lossy().into_owned(), why });
        Ok(())
    }

    fn source_error(&self, path: &Path, error: io::Error) -> GitError {
        guard::explained(self.from, path, error).into()
    }

    fn target_error(&self, path: &Path, error: io::Error) -> GitError {
        guard::explained(self.to, path, error).into()
    }
}

/// Has two files share their blocks, where the file system can.
#[cfg(target_os = "linux")]
fn share_blocks(from: &std::fs::File, to: &std::fs::File) -> bool {
    rustix::fs::ioctl_ficlone(to, from).is_ok()
}

#[cfg(not(target_os = "linux"))]
fn share_blocks(_from: &std::fs::File, _to: &std::fs::File) -> bool {
    // macOS clones by path only; `io::copy` is what is left.
    false
}

/// Renames a file to a name that must be free.
fn rename_new(dir: &Dir, from: &str, to: &OsStr) -> io::Result<()> {
    #[cfg(any(target_os = "linux", target_vendor = "apple"))]
    match rustix::fs::renameat_with(dir, from, dir, to, rustix::fs::RenameFlags::NOREPLACE) {
        // The file system does not know how to refuse.
        Err(rustix::io::Errno::INVAL | rustix::io::Errno::NOSYS | rustix::io::Errno::OPNOTSUPP) => {}
        other => return Ok(other?),
    }
    match dir.symlink_metadata(to) {
        Err(e) if e.kind() == ErrorKind::NotFound => dir.rename(from, dir, to),
        Err(e) => Err(e),
        Ok(_) => Err(ErrorKind::AlreadyExists.into()),
    }
}
