//! A snapshot of a tree as one object.
//!
//! `files` is the tree of the worktree's files. `git` holds the files of the git directory: `state` all small ones,
//! `index`, `packed-refs` and `sharedindex.*` as they are. `index` holds what the index names beyond `files` and `HEAD`,
//! so that staged contents and sides of conflicts travel. `roots` lists commits, tags and trees that the git directory
//! names. The same tree always gives the same object.

use std::{
    collections::BTreeMap,
    fs::{self, File},
    io,
    path::PathBuf,
};

use forge_exec::Exit;

use crate::{
    Fault, Store,
    files::{Files, LINK},
    names::is_oid,
    object::{self, TreeEntry},
    record::{Held, Parts, Record},
    safe::{self, Folder},
    state::{State, large_names},
    store::remove,
};

const EXCLUDE: &str = "info/exclude";

/// How long the name of an object is by SHA-256.
const SHA256_NAME: usize = 64;

/// How the part of an index begins that names the sides of conflicts that were resolved.
const RESOLVED: &[u8] = b"REUC";

/// How often a snapshot is tried while programs write.
const TRIES: usize = 5;

/// A tree as it was at one moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Snapshot {
    /// The name of its object.
    pub id: String,
    /// The tree of the worktree's files.
    pub files: String,
    /// Commits, tags and trees that the git directory names.
    pub roots: Vec<String>,
    /// Repositories in the worktree, which do not travel, and files that cannot be read.
    pub left_out: Vec<PathBuf>,
}

impl Store {
    /// Takes a snapshot. No program may write meanwhile.
    ///
    /// # Errors
    /// When git or the system fails; [`Fault::NoTree`] when there is nothing.
    pub async fn snapshot(&self) -> Result<Snapshot, Fault> {
        self.take_made().await?;
        let (state, large) = self.read_git_dir().await?;
        let packed = fs::read(self.path("scratch/packed-refs")).unwrap_or_default();
        let named = state.oids(&packed);
        let (files, named) = tokio::try_join!(Box::pin(self.files(&state)), Box::pin(self.existing(named)))?;
        let roots: Vec<String> = named.into_iter().map(|(oid, _)| oid).collect();
        let extra = self.staged_beyond(&files, &state, &packed).await?;
        let index: BTreeMap<String, String> = self.existing(extra).await?.into_iter().collect();
        let state = postcard::to_stdvec(&state).map_err(|error| Fault::damaged(error.to_string()))?;
        let roots_text: String = roots.iter().flat_map(|oid| [oid.as_str(), "\n"]).collect();
        let (objects, scratch) = (self.path("objects"), self.path("scratch"));
        // As git named this one: what holds for both ends may not be known here.
        let (is_sha256, tree) = (files.tree.len() == SHA256_NAME, files.tree);
        let files_tree = tree.clone();
        let write = move || -> io::Result<String> {
            let blob = |content: &[u8]| object::write_blob(&objects, content, is_sha256);
            let tree_of = |entries: &[(&str, bool, &str)]| {
                let entries = entries.iter().map(|&(name, is_tree, oid)| TreeEntry { name, is_tree, oid });
                object::write_tree(&objects, entries.collect(), is_sha256)
            };
            let roots = blob(roots_text.as_bytes())?;
            let mut git = vec![("state".to_owned(), blob(&state)?)];
            for name in large {
                let oid = blob(&fs::read(scratch.join(&name))?)?;
                git.push((name, oid));
            }
            let git: Vec<_> = git.iter().map(|(name, oid)| (name.as_str(), false, oid.as_str())).collect();
            let index: Vec<_> = index
                .iter()
                .filter(|(_, kind)| matches!(kind.as_str(), "blob" | "tree"))
                .map(|(oid, kind)| (oid.as_str(), kind == "tree", oid.as_str()))
                .collect();
            let (git, index) = (tree_of(&git)?, tree_of(&index)?);
            tree_of(&[
                ("files", true, &files_tree),
                ("git", true, &git),
                ("index", true, &index),
                ("roots", false, &roots),
            ])
        };
        let written = tokio::task::spawn_blocking(write).await?;
        let id = written.map_err(Fault::io("write", self.path("objects")))?;
        Ok(Snapshot { id, files: tree, roots, left_out: files.left_out })
    }

    /// The tree is as this snapshot says, here and at the other end.
    ///
    /// # Errors
    /// When the disk refuses.
    pub fn hold(&self, snapshot: &Snapshot) -> Result<(), Fault> {
        let Snapshot { id, files, roots, .. } = snapshot.clone();
        Record::Holds(Held { id, parts: Some(Parts { files, roots }) }).write(&self.tree.store)
    }

    /// Takes a snapshot while programs write: files may be of slightly different moments, but the commit that `HEAD`
    /// names is whole.
    ///
    /// # Errors
    /// As for [`snapshot`](Self::snapshot); what programs are in the middle of is tried several times.
    pub async fn snapshot_amid_writes(&self) -> Result<Snapshot, Fault> {
        for _ in 1..TRIES {
            match self.snapshot().await {
                Ok(snapshot) if self.has_head().await? => return Ok(snapshot),
                // A commit that was made after its objects were looked for, or a file that changed while git read it.
                Ok(_) | Err(Fault::Git { .. } | Fault::Damaged { .. } | Fault::System { .. }) => {}
                Err(fault) => return Err(fault),
            }
        }
        self.snapshot().await
    }

    /// Whether the store has the commit that `HEAD` leads to, if it leads to any.
    async fn has_head(&self) -> Result<bool, Fault> {
        let (state, _) = self.read_git_dir().await?;
        let packed = fs::read(self.path("scratch/packed-refs")).unwrap_or_default();
        let Some(head) = head(&state, &packed) else { return Ok(true) };
        Ok(!self.existing(vec![head]).await?.is_empty())
    }

    /// Whether the worktree's files differ from those of the last transfer.
    ///
    /// # Errors
    /// When git or the system fails.
    pub async fn has_changes(&self) -> Result<bool, Fault> {
        let (state, _) = self.read_git_dir().await?;
        let now = self.files(&state).await?.tree;
        let Some(held) = self.record().held().cloned() else { return Ok(true) };
        if let Some(parts) = held.parts {
            return Ok(parts.files != now);
        }
        let name = format!("{}:files", held.id);
        let was = self.git(&["rev-parse", "-q", "--verify", &name]).run().await?;
        Ok(String::from_utf8_lossy(&was.stdout).trim() != now)
    }

    /// Copies what of the git directory travels into the store; the names of the large files.
    pub(crate) async fn read_git_dir(&self) -> Result<(State, Vec<String>), Fault> {
        let (git_dir, store) = (self.tree.git_dir.clone(), self.tree.store.clone());
        let path = git_dir.clone();
        let read = move || -> io::Result<Option<(State, Vec<String>)>> {
            let Some(top) = Folder::open(&git_dir)? else { return Ok(None) };
            let state = State::read(&top)?;
            let scratch = store.join("scratch");
            for entry in fs::read_dir(&scratch)? {
                remove(&entry?.path())?;
            }
            let large = large_names(&top)?;
            for name in &large {
                let Some(mut file) = top.file(name.as_bytes())? else { continue };
                let time = file.metadata()?.modified()?;
                let mut copy = File::create(scratch.join(name))?;
                io::copy(&mut file, &mut copy)?;
                copy.set_modified(time)?;
                if name.starts_with("sharedindex.") {
                    fs::copy(scratch.join(name), store.join(name))?;
                }
            }
            let own = |name: &[u8]| state.files.get(name).cloned().unwrap_or_default();
            safe::replace(&store.join(EXCLUDE), &own(EXCLUDE.as_bytes()))?;
            match state.files.get(&b"shallow"[..]) {
                Some(shallow) => safe::replace(&store.join("shallow"), shallow).map(drop)?,
                None => remove(&store.join("shallow"))?,
            }
            Ok(Some((state, large)))
        };
        let found = tokio::task::spawn_blocking(read).await?.map_err(Fault::io("read", &path))?;
        found.ok_or(Fault::NoTree)
    }

    /// Objects that the index names, and that neither the files nor `HEAD` have.
    async fn staged_beyond(&self, files: &Files, state: &State, packed: &[u8]) -> Result<Vec<String>, Fault> {
        if files.staged.is_empty() {
            return Ok(Vec::new());
        }
        let index = self.path("scratch/index");
        let content = fs::read(&index).map_err(Fault::io("read", &index))?;
        if files.are_staged && !content.windows(RESOLVED.len()).any(|at| at == RESOLVED) {
            return Ok(Vec::new());
        }
        let mut input = format!("^{}\n", files.tree);
        if let Some(head) = head(state, packed) {
            input.push_str(&format!("^{head}^{{tree}}\n"));
        }
        let listed = self
            .git(&[
                "rev-list",
                "--objects",
                "--no-object-names",
                "--ignore-missing",
                "--indexed-objects",
                "--stdin",
            ])
            .env("GIT_INDEX_FILE", &index)
            .input(input.into_bytes())
            .run()
            .await?;
        if listed.exit == Exit::Code(0) {
            let listed = String::from_utf8_lossy(&listed.stdout).into_owned();
            return Ok(listed.lines().filter(|line| is_oid(line)).map(str::to_owned).collect());
        }
        // Something is missing: what is there travels.
        let mut oids: Vec<String> =
            files.staged.iter().filter(|entry| entry.mode != LINK).map(|entry| entry.oid.clone()).collect();
        oids.sort_unstable();
        oids.dedup();
        Ok(oids)
    }
}

/// The commit that `HEAD` leads to.
pub(crate) fn head(state: &State, packed: &[u8]) -> Option<String> {
    let text = |content: &[u8]| String::from_utf8_lossy(content).trim().to_owned();
    let said = text(state.files.get(&b"HEAD"[..])?);
    let Some(name) = said.strip_prefix("ref: ") else { return is_oid(&said).then_some(said) };
    let loose = state.files.get(name.as_bytes()).map(|content| text(content));
    let listed = || {
        let packed = String::from_utf8_lossy(packed).into_owned();
        packed.lines().find_map(|line| {
            let (oid, listed) = line.split_once(' ')?;
            (listed == name).then(|| oid.to_owned())
        })
    };
    loose.or_else(listed).filter(|oid| is_oid(oid))
}
