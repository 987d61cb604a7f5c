//! Objects that programs made, on their way into the repository.
//!
//! The lent object store is not handed to git: its list of alternates could name any store of the user's, and links in it
//! any file. Loose objects and packs, and nothing else, are linked into a folder of ours. From there git lists what is
//! wanted and missing, packs it, and checks the pack as it does with one from a stranger: names are computed from the
//! contents, and everything an object refers to must be there.

use std::ffi::OsStr;
use std::fs;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use cap_std::fs::Dir;
use tokio::sync::mpsc;

use super::files;
use crate::bytes;
use crate::command::{GitCommand, Kind};
use crate::error::GitError;
use crate::guard::open_folder;
use crate::worktree::Worktree;

/// Up to so many objects come as files of their own, as those of a commit do; more in a pack.
const LOOSE: usize = 100;
const CHUNK: usize = 64 << 10;
/// git says that it has the empty tree, stored or not: by both hashes.
const EMPTY_TREES: [&str; 2] = [
    "4b825dc642cb6eb9a060e54bf8d69288fbee4904",
    "6ef19b41225c5369f1c104d45d8d85efa9b057b53b14b4b9b939dd74decc5321",
];
/// Chunks that may wait between the git that packs and the one that checks.
const AHEAD: usize = 16;

/// Objects that programs made, in a folder of ours.
#[derive(Debug)]
pub(super) struct Store {
    objects: PathBuf,
    packs: Vec<PathBuf>,
    is_empty: bool,
}

/// What has to be in the repository.
#[derive(Debug, Clone, Default)]
pub(super) struct Wanted {
    /// Names of objects; with each comes all that it leads to.
    pub(super) tips: Vec<String>,
    /// An index; what it names comes, too.
    pub(super) index: Option<PathBuf>,
}

impl Wanted {
    fn is_nothing(&self) -> bool {
        self.tips.is_empty() && self.index.is_none()
    }
}

impl Store {
    /// Links the objects of a lent directory into a folder.
    pub(super) fn collect(lent: &Path, taking: &Path) -> Result<Self, GitError> {
        let objects = taking.join("objects");
        for folder in [&objects, &objects.join("pack")] {
            fs::create_dir_all(folder).map_err(GitError::io("create", folder))?;
        }
        let mut store = Self { objects, packs: Vec::new(), is_empty: true };
        let top = files::top(lent)?;
        if let Some(from) = top.and_then(|top| files::folder(&top, "objects")) {
            store.link_all(&from).map_err(GitError::io("read the objects of", lent))?;
        }
        Ok(store)
    }

    fn link_all(&mut self, from: &Dir) -> io::Result<()> {
        let is_hex = |name: &str, lengths: &[usize]| {
            lengths.contains(&name.len())
                && name.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
        };
        for name in files::names(from)? {
            let Some(part) = name.to_str().filter(|name| is_hex(name, &[2])) else { continue };
            let Ok(folder) = open_folder(from, &name) else { continue };
            let to = self.objects.join(part);
            fs::create_dir_all(&to)?;
            for file in files::names(&folder)? {
                if file.to_str().is_some_and(|file| is_hex(file, &[38, 62])) && link(&folder, &file, &to)? {
                    self.is_empty = false;
                }
            }
        }
        let Some(folder) = files::folder(from, "pack") else { return Ok(()) };
        let to = self.objects.join("pack");
        for file in files::names(&folder)? {
            let is_pack = file
                .to_str()
                .and_then(|file| file.strip_prefix("pack-")?.strip_suffix(".pack"))
                .is_some_and(files::is_oid);
            if is_pack && link(&folder, &file, &to)? {
                self.packs.push(to.join(file));
                self.is_empty = false;
            }
        }
        Ok(())
    }
}

/// Links a regular file into a folder; whether it is one.
fn link(from: &Dir, name: &OsStr, to: &Path) -> io::Result<bool> {
    let Some(mut file) = files::open(from, name)? else { return Ok(false) };
    let target = to.join(name);
    let _absent = fs::remove_file(&target);
    let linked = rustix::fs::linkat(from, name, rustix::fs::CWD, &target, rustix::fs::AtFlags::empty());
    // Between opening and linking, something else may have got the name.
    if linked.is_ok() && target.symlink_metadata()?.is_file() {
        return Ok(true);
    }
    let _absent = fs::remove_file(&target);
    io::copy(&mut file, &mut files::create(&target)?)?;
    Ok(true)
}

impl Worktree {
    /// A command on the repository, with the record of this worktree, that sees lent objects, too.
    fn beside(&self, admin: &Path, store: &Store, kind: Kind) -> GitCommand {
        let stores = bytes::path(&forge_transfer::quote::alternate(&store.objects)).as_os_str().to_owned();
        self.inside(admin, kind).env("GIT_ALTERNATE_OBJECT_DIRECTORIES", stores)
    }

    fn inside(&self, admin: &Path, kind: Kind) -> GitCommand {
        self.repo().in_record(admin, kind).env("GIT_NO_LAZY_FETCH", "1")
    }

    /// Has git make the lists of what the lent packs contain. A pack that git refuses counts for nothing.
    pub(super) async fn list_packs(&self, admin: &Path, store: &Store) -> Result<(), GitError> {
        for pack in &store.packs {
            let listed = self.inside(admin, Kind::Write).arg("index-pack").arg(pack).run().await?;
            if listed.exit != Some(0) {
                files::remove(pack)?;
            }
        }
        Ok(())
    }

    /// Those of these objects that are there.
    pub(super) async fn existing(
        &self,
        admin: &Path,
        store: &Store,
        oids: Vec<String>,
    ) -> Result<Vec<String>, GitError> {
        if oids.is_empty() {
            return Ok(oids);
        }
        let missing = missing_of(self.beside(admin, store, Kind::Read), &oids).await?;
        Ok(oids.into_iter().filter(|oid| !missing.contains(oid)).collect())
    }

    /// Brings what is wanted into the repository; the inner error says in git's words what is missing or damaged. All
    /// of it is there then, or nothing of it is any ref's.
    pub(super) async fn bring(
        &self,
        admin: &Path,
        store: &Store,
        wanted: &Wanted,
    ) -> Result<Result<(), String>, GitError> {
        if wanted.is_nothing() {
            return Ok(Ok(()));
        }
        if !store.is_empty {
            let listed = self.reached(self.beside(admin, store, Kind::Read), wanted, false).await?;
            let listed = match listed {
                Ok(listed) => listed,
                Err(said) => return Ok(Err(said)),
            };
            let mut missing = missing_of(self.inside(admin, Kind::Read), &listed).await?;
            missing.extend(listed.into_iter().filter(|oid| EMPTY_TREES.contains(&oid.as_str())));
            if !missing.is_empty()
                && let Err(said) = self.transfer(admin, store, &missing).await?
            {
                return Ok(Err(said));
            }
        }
        // Without the lent objects: what the repository has must be whole before a ref leads to it.
        Ok(self.reached(self.inside(admin, Kind::Read), wanted, true).await?.map(drop))
    }

    /// All objects that are reached from what is wanted and from no ref; an error where one is missing.
    async fn reached(
        &self,
        command: GitCommand,
        wanted: &Wanted,
        quiet: bool,
    ) -> Result<Result<Vec<String>, String>, GitError> {
        let mut command = command.args(["rev-list", "--objects", "--no-object-names", "--single-worktree"]);
        if quiet {
            command = command.arg("--quiet");
        }
        if self.settings().await?.values().iter().any(|(name, _)| name.ends_with(".promisor")) {
            command = command.arg("--exclude-promisor-objects");
        }
        if let Some(index) = &wanted.index {
            command = command.env("GIT_INDEX_FILE", index).arg("--indexed-objects");
        }
        let input: String = wanted.tips.iter().flat_map(|tip| [tip, "\n"]).collect();
        let output = command.args(["--stdin", "--not", "--all"]).input(input).run().await?;
        if output.exit != Some(0) {
            return Ok(Err(bytes::text(&output.stderr).trim_end().to_owned()));
        }
        let listed = bytes::text(&output.stdout);
        Ok(Ok(listed.lines().filter(|line| files::is_oid(line)).map(str::to_owned).collect()))
    }

    /// Has one git pack objects, and another check and store them.
    async fn transfer(
        &self,
        admin: &Path,
        store: &Store,
        oids: &[String],
    ) -> Result<Result<(), String>, GitError> {
        let (mut reader, writer) = io::pipe().map_err(GitError::io("pipe objects into", admin))?;
        let (sender, receiver) = mpsc::channel(AHEAD);
        let input: String = oids.iter().flat_map(|oid| [oid, "\n"]).collect();
        let pack = self
            .beside(admin, store, Kind::Read)
            .args(["pack-objects", "--quiet", "--stdout", "--delta-base-offset"])
            .input(input)
            .output_to(writer)
            .run();
        let pipe = tokio::task::spawn_blocking(move || {
            let mut chunk = vec![0; CHUNK];
            loop {
                match reader.read(&mut chunk) {
                    Ok(0) => return Ok(()),
                    Ok(length) => {
                        if sender.blocking_send(chunk[..length].to_vec()).is_err() {
                            return Ok(());
                        }
                    }
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                    Err(error) => return Err(error),
                }
            }
        });
        let check = self.inside(admin, Kind::Write);
        let check = match oids.len() {
            0..LOOSE => check.args(["unpack-objects", "-q", "--strict"]),
            _ => check.args(["index-pack", "--stdin", "--strict"]),
        };
        let (packed, piped, checked) = tokio::join!(pack, pipe, check.input_from(receiver).run());
        let (packed, checked) = (packed?, checked?);
        piped?.map_err(GitError::io("pipe objects into", admin))?;
        for output in [packed, checked] {
            if output.exit != Some(0) {
                return Ok(Err(bytes::text(&output.stderr).trim_end().to_owned()));
            }
        }
        Ok(Ok(()))
    }
}

/// Those of these objects that a command's repository lacks.
async fn missing_of(command: GitCommand, oids: &[String]) -> Result<Vec<String>, GitError> {
    let input: String = oids.iter().flat_map(|oid| [oid, "\n"]).collect();
    let asked = command.args(["cat-file", "--batch-check=%(objectname)"]).input(input).ok().await?;
    let asked = bytes::text(&asked);
    Ok(asked.lines().filter_map(|line| line.strip_suffix(" missing")).map(str::to_owned).collect())
}
