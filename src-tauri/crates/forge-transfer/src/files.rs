//! The files of a worktree as a tree, by an index of the store's own, which is kept between transfers: what is unchanged is
//! neither read nor written.

use std::{
    collections::{BTreeSet, HashMap, HashSet},
    ffi::OsStr,
    fs::{self, File},
    io,
    os::unix::{ffi::OsStrExt as _, fs::MetadataExt as _},
    path::{Path, PathBuf},
};

use forge_exec::Exit;

use crate::{
    Fault, Side, Store,
    git::{joined, records},
    look::Sorted,
    names::is_oid,
    safe,
    state::State,
    store::remove,
};

/// The mode of a submodule in an index.
pub(crate) const LINK: &str = "160000";

/// Notes of which tree the store's index is.
const TREE: &str = "tree-of-index";

/// An entry of an index.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) mode: String,
    pub(crate) oid: String,
    /// Which side of a conflict it is; `0` for none.
    stage: String,
    pub(crate) path: Vec<u8>,
}

/// The tree of the worktree's files.
pub(crate) struct Files {
    pub(crate) tree: String,
    pub(crate) left_out: Vec<PathBuf>,
    /// What the index of the git directory names.
    pub(crate) staged: Vec<Entry>,
    /// Whether it names just these files.
    pub(crate) are_staged: bool,
}

/// What the index of the git directory and that of the store list, and what of the worktree the latter has not or has
/// otherwise.
struct Looked {
    staged: Vec<Entry>,
    known: Vec<Entry>,
    others: Vec<Vec<u8>>,
    changed: Vec<Vec<u8>>,
}

/// Files that are others than an index says.
enum Differing {
    These(Vec<Vec<u8>>),
    /// git could not look everywhere.
    Unknown,
}

impl Differing {
    /// Of these entries, by their paths.
    fn of(self, known: &[Entry]) -> Vec<Vec<u8>> {
        match self {
            Self::These(paths) => paths,
            Self::Unknown => known.iter().map(|entry| entry.path.clone()).collect(),
        }
    }
}

impl Store {
    /// Brings the store's index to the files of the worktree, and writes it as a tree.
    pub(crate) async fn files(&self, state: &State) -> Result<Files, Fault> {
        let real = self.path("scratch/index");
        let Looked { staged, known, others, changed } = self.look(&real, state).await?;
        let mut paths: BTreeSet<Vec<u8>> = changed.into_iter().collect();
        let mut left_out = BTreeSet::new();
        for path in others {
            match path.strip_suffix(b"/") {
                Some(repository) => drop(left_out.insert(repository.to_vec())),
                None => drop(paths.insert(path)),
            }
        }
        let known_paths: HashSet<&[u8]> = known.iter().map(|entry| entry.path.as_slice()).collect();
        let links: HashMap<&[u8], &str> = staged
            .iter()
            .filter(|entry| entry.mode == LINK)
            .map(|entry| (entry.path.as_slice(), entry.oid.as_str()))
            .collect();
        let is_looked_at =
            |entry: &&Entry| entry.mode == LINK || !known_paths.contains(entry.path.as_slice());
        paths.extend(staged.iter().chain(&known).filter(is_looked_at).map(|entry| entry.path.clone()));
        let worktree = self.tree.worktree.clone();
        let is_link = links.keys().map(|path| path.to_vec()).collect();
        let looked = tokio::task::spawn_blocking(move || Sorted::look(&worktree, paths, &is_link)).await?;
        let sorted = looked.map_err(Fault::io("read", &self.tree.worktree))?;
        left_out.extend(sorted.left_out);
        let gone = sorted.gone.iter().filter(|path| known_paths.contains(path.as_slice()));
        let gone = joined(gone.map(Vec::as_slice));
        let are_known = gone.is_empty() && sorted.links.is_empty() && sorted.present.is_empty();
        if !gone.is_empty() {
            self.update(&["update-index", "-z", "--force-remove", "--stdin"], gone).await?;
        }
        if !sorted.links.is_empty() {
            let lines = sorted.links.iter().filter_map(|path| {
                let oid = links.get(path.as_slice())?;
                Some([format!("{LINK} {oid}\t").as_bytes(), path].concat())
            });
            let lines: Vec<Vec<u8>> = lines.collect();
            self.update(&["update-index", "-z", "--index-info"], joined(lines.iter().map(Vec::as_slice)))
                .await?;
        }
        if !sorted.present.is_empty() {
            let present = joined(sorted.present.iter().map(Vec::as_slice));
            self.update(&["update-index", "-z", "--add", "--replace", "--remove", "--stdin"], present)
                .await?;
        }
        let tree = self.written_tree().await?;
        let left_out = left_out.into_iter().map(|path| PathBuf::from(OsStr::from_bytes(&path))).collect();
        let are_staged = are_known && staged == known;
        Ok(Files { tree, left_out, staged, are_staged })
    }

    /// What the two indexes and the worktree have.
    async fn look(&self, real: &Path, state: &State) -> Result<Looked, Fault> {
        let own = self.path("index");
        let was_there = own.exists();
        let (staged, known, others, differing) = tokio::join!(
            Box::pin(self.listed(real)),
            Box::pin(self.own_entries()),
            Box::pin(self.others()),
            Box::pin(self.differing())
        );
        let (staged, known) = (staged?, known?);
        if was_there && own.exists() {
            let (others, differing) = (others?, differing?);
            return Ok(Looked { staged, changed: differing.of(&known), known, others });
        }
        let mut known = Vec::new();
        if real.exists() && self.may_seed(&staged, state) && self.seed(real, &own).await? {
            known = self.own_entries().await?;
        }
        let (others, differing) = tokio::try_join!(Box::pin(self.others()), Box::pin(self.differing()))?;
        if known.is_empty() || !others.iter().any(|path| is_attributes(path)) {
            return Ok(Looked { staged, changed: differing.of(&known), known, others });
        }
        remove(&own).map_err(Fault::io("remove", &own))?;
        Ok(Looked { staged, known: Vec::new(), others: self.others().await?, changed: Vec::new() })
    }

    /// The store's index as a tree.
    async fn written_tree(&self) -> Result<String, Fault> {
        if let Some(known) = self.tree_of_index() {
            return Ok(known);
        }
        let tree = self.git(&["write-tree", "--missing-ok"]).in_worktree(&self.tree.worktree).line().await?;
        if !is_oid(&tree) {
            return Err(Fault::damaged("git wrote no tree of the files"));
        }
        self.note_tree_of_index(&tree)?;
        Ok(tree)
    }

    /// The tree of the store's index, where it was written since the index was.
    fn tree_of_index(&self) -> Option<String> {
        let noted = fs::read_to_string(self.path(TREE)).ok()?;
        let (tree, of) = noted.trim_end().split_once(' ')?;
        (is_oid(tree) && of == identity(&self.path("index"))?).then(|| tree.to_owned())
    }

    /// Notes which tree the store's index is.
    pub(crate) fn note_tree_of_index(&self, tree: &str) -> Result<(), Fault> {
        let Some(identity) = identity(&self.path("index")) else { return Ok(()) };
        let path = self.path(TREE);
        safe::replace(&path, format!("{tree} {identity}\n").as_bytes())
            .map(drop)
            .map_err(Fault::io("write", path))
    }

    async fn update(&self, args: &[&str], input: Vec<u8>) -> Result<(), Fault> {
        self.git(args).in_worktree(&self.tree.worktree).input(input).ok().await.map(drop)
    }

    /// What an index lists; nothing for one that is not there, or that git refuses.
    async fn listed(&self, index: &Path) -> Result<Vec<Entry>, Fault> {
        if !index.exists() {
            return Ok(Vec::new());
        }
        let listed = self
            .git(&["ls-files", "-z", "--stage"])
            .in_worktree(&self.tree.worktree)
            .env("GIT_INDEX_FILE", index)
            .run()
            .await?;
        Ok(match listed.exit {
            Exit::Code(0) => records(&listed.stdout).filter_map(entry).collect(),
            _ => Vec::new(),
        })
    }

    /// What the store's index lists. One that is damaged is made anew.
    async fn own_entries(&self) -> Result<Vec<Entry>, Fault> {
        let own = self.path("index");
        if !own.exists() {
            return Ok(Vec::new());
        }
        let listed = self.git(&["ls-files", "-z", "--stage"]).in_worktree(&self.tree.worktree).run().await?;
        if listed.exit == Exit::Code(0) {
            return Ok(records(&listed.stdout).filter_map(entry).collect());
        }
        remove(&own).map_err(Fault::io("remove", &own))?;
        Ok(Vec::new())
    }

    /// Of what the store's index has, that whose file is another one by its times or is gone.
    async fn differing(&self) -> Result<Differing, Fault> {
        if !self.path("index").exists() {
            return Ok(Differing::These(Vec::new()));
        }
        let listed = self
            .git(&["diff-files", "-z", "--name-only", "--ignore-submodules=all"])
            .in_worktree(&self.tree.worktree)
            .run()
            .await?;
        Ok(match listed.exit {
            Exit::Code(0) if listed.stderr.is_empty() => {
                Differing::These(records(&listed.stdout).map(<[u8]>::to_vec).collect())
            }
            _ => Differing::Unknown,
        })
    }

    /// Files that the store's index has not and that are not ignored, and repositories, which end in `/`.
    pub(crate) async fn others(&self) -> Result<Vec<Vec<u8>>, Fault> {
        let listed = self
            .git(&["ls-files", "-z", "--others", "--exclude-standard"])
            .in_worktree(&self.tree.worktree)
            .ok()
            .await?;
        Ok(records(&listed).map(<[u8]>::to_vec).collect())
    }

    /// Whether the index of the git directory tells what the files hold, byte for byte.
    fn may_seed(&self, staged: &[Entry], state: &State) -> bool {
        self.tree.manner.as_ref().is_some_and(|manner| !manner.converts)
            && self.tree.side == Side::Lent
            && !state.files.contains_key(&b"info/attributes"[..])
            && !staged.iter().any(|entry| is_attributes(&entry.path))
    }

    /// Begins with the index of the git directory, so that files whose times it knows need not be read. Whether it does:
    /// not where an entry is none of an ordinary file.
    async fn seed(&self, real: &Path, own: &Path) -> Result<bool, Fault> {
        let tagged = self
            .git(&["ls-files", "-z", "-v"])
            .in_worktree(&self.tree.worktree)
            .env("GIT_INDEX_FILE", real)
            .ok()
            .await?;
        if !records(&tagged).all(|record| record.starts_with(b"H ")) {
            return Ok(false);
        }
        let copy = || -> io::Result<()> {
            let fresh = own.with_extension("fresh");
            fs::copy(real, &fresh)?;
            // git trusts recorded times only when they are before the time of the index.
            let time = fs::metadata(real)?.modified()?;
            File::options().write(true).open(&fresh)?.set_modified(time)?;
            fs::rename(&fresh, own)
        };
        copy().map_err(Fault::io("copy", real))?;
        Ok(true)
    }
}

fn entry(record: &[u8]) -> Option<Entry> {
    let at = record.iter().position(|byte| *byte == b'\t')?;
    let about = std::str::from_utf8(record.get(..at)?).ok()?;
    let mut words = about.split(' ');
    let mut word = || words.next().map(str::to_owned);
    let (mode, oid, stage) = (word()?, word()?, word()?);
    Some(Entry { mode, oid, stage, path: record.get(at + 1..)?.to_vec() })
}

/// What tells a file from the one that had its name before: git writes an index as a new file.
fn identity(path: &Path) -> Option<String> {
    let found = fs::symlink_metadata(path).ok()?;
    Some(format!("{} {} {}.{:09}", found.ino(), found.size(), found.mtime(), found.mtime_nsec()))
}

fn is_attributes(path: &[u8]) -> bool {
    path == b".gitattributes" || path.ends_with(b"/.gitattributes")
}
