//! The repository of our own in which git runs.

use std::{
    fs::{self, File},
    io,
    os::unix::ffi::OsStrExt as _,
    path::{Path, PathBuf},
    time::{Duration, SystemTime},
};

use crate::{
    Fault, Manner, Side, Tree,
    git::{self, Git},
    quote::{alternates, quoted},
    record::Record,
    safe,
};

/// Files travel byte for byte.
const ATTRIBUTES: &[u8] =
    b"* -text -crlf -eol -filter -ident -working-tree-encoding -diff -merge -export-subst\n";
const MANNER: &str = "manner";
/// How old what git wrote half has to be until it is removed.
const STALE: Duration = Duration::from_secs(24 * 60 * 60);

/// An open store. Nobody else uses it meanwhile.
#[derive(Debug)]
pub struct Store {
    pub(crate) tree: Tree,
    _lock: File,
}

impl Tree {
    /// Whether files of the worktree differ from what was last sent or fetched.
    ///
    /// # Errors
    /// When git or the system fails.
    pub async fn local_changes(&self) -> Result<bool, Fault> {
        self.open().await?.has_changes().await
    }

    /// The snapshot that the tree was as when it was last sent or fetched, whoever uses the store now.
    #[must_use]
    pub fn last_held(&self) -> Option<String> {
        last_held(&self.store)
    }

    /// When that was.
    #[must_use]
    pub fn last_held_at(&self) -> Option<SystemTime> {
        Record::written(&self.store)
    }

    /// Opens the store, once nobody else uses it, and finishes what was applied half.
    ///
    /// # Errors
    /// When git or the system fails.
    pub async fn open(&self) -> Result<Store, Fault> {
        Store::open(self.clone()).await
    }
}

/// The snapshot that a tree was as when it was last sent or fetched, by the folder of its store.
#[must_use]
pub fn last_held(store: &Path) -> Option<String> {
    Record::read(store).held().map(|held| held.id.clone())
}

impl Store {
    pub(crate) async fn open(mut tree: Tree) -> Result<Self, Fault> {
        if tree.manner.is_none() {
            let path = tree.store.join(MANNER);
            tree.manner = match fs::read(&path) {
                // One that cannot be understood is of another version, and comes with the next transfer.
                Ok(known) => postcard::from_bytes(&known).ok(),
                Err(error) if error.kind() == io::ErrorKind::NotFound => None,
                Err(error) => return Err(Fault::io("read", path)(error)),
            };
        }
        let prepared = tree.clone();
        let (lock, is_new) = tokio::task::spawn_blocking(move || {
            fs::create_dir_all(&prepared.store).map_err(Fault::io("create", &prepared.store))?;
            let lock = lock(&prepared.store).map_err(Fault::io("lock", &prepared.store))?;
            let is_new = !prepared.store.join("HEAD").exists();
            if !is_new {
                write(&prepared).map_err(Fault::io("write", &prepared.store))?;
            }
            Ok::<_, Fault>((lock, is_new))
        })
        .await??;
        if is_new {
            git::check(&tree).await?;
            let prepared = tree.clone();
            tokio::task::spawn_blocking(move || {
                write(&prepared).map_err(Fault::io("write", &prepared.store))
            })
            .await??;
        }
        let store = Self { tree, _lock: lock };
        if let Record::Applying(id) = store.record() {
            match store.apply(&id).await {
                // It will never be applied. Nobody knows then what the tree holds.
                Err(Fault::Damaged { .. } | Fault::Git { .. }) => {
                    Record::Nothing.write(&store.tree.store)?;
                }
                applied => applied?,
            }
        }
        Ok(store)
    }

    pub(crate) fn record(&self) -> Record {
        Record::read(&self.tree.store)
    }

    /// The snapshot that the tree was as when it was last sent or fetched.
    #[must_use]
    pub fn held(&self) -> Option<String> {
        self.record().held().map(|held| held.id.clone())
    }

    /// The tree is again as it was at the last transfer, here and at the other end.
    ///
    /// # Errors
    /// When the disk refuses.
    pub fn hold_on(&self) -> Result<(), Fault> {
        self.record().write(&self.tree.store)
    }

    pub(crate) fn git(&self, args: &[&str]) -> Git {
        Git::new(&self.tree, args)
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.tree.store.join(name)
    }

    /// What of the last transfer is here: names of objects that the other end need not send.
    ///
    /// # Errors
    /// When git fails.
    pub async fn haves(&self) -> Result<Vec<String>, Fault> {
        self.haves_of(self.held().as_slice()).await
    }

    /// What of these snapshots is here.
    ///
    /// # Errors
    /// When git fails.
    pub async fn haves_of(&self, snapshots: &[String]) -> Result<Vec<String>, Fault> {
        let mut haves = snapshots.to_vec();
        let record = self.record();
        for snapshot in snapshots {
            let held = record.held().filter(|held| held.id == *snapshot);
            if let Some(parts) = held.and_then(|held| held.parts.as_ref()) {
                haves.extend(parts.roots.iter().cloned());
                continue;
            }
            let listed = self.git(&["cat-file", "blob", &format!("{snapshot}:roots")]).run().await?;
            let roots = String::from_utf8_lossy(&listed.stdout).into_owned();
            haves.extend(roots.lines().map(str::to_owned));
        }
        haves.sort_unstable();
        haves.dedup();
        self.present(haves).await
    }

    /// Those of these objects that are here.
    ///
    /// # Errors
    /// When git fails.
    pub async fn present(&self, oids: Vec<String>) -> Result<Vec<String>, Fault> {
        self.existing(oids).await.map(|found| found.into_iter().map(|(oid, _)| oid).collect())
    }

    /// Those of these objects that are here, with their types.
    pub(crate) async fn existing(&self, oids: Vec<String>) -> Result<Vec<(String, String)>, Fault> {
        if oids.is_empty() {
            return Ok(Vec::new());
        }
        let input: String = oids.iter().flat_map(|oid| [oid, "\n"]).collect();
        let asked = self
            .git(&["cat-file", "--batch-check=%(objectname) %(objecttype)", "--buffer"])
            .input(input.into_bytes())
            .ok()
            .await?;
        let asked = String::from_utf8_lossy(&asked).into_owned();
        let found = asked.lines().filter_map(|line| line.split_once(' '));
        Ok(found
            .filter(|(_, kind)| matches!(*kind, "commit" | "tree" | "blob" | "tag"))
            .map(|(oid, kind)| (oid.to_owned(), kind.to_owned()))
            .collect())
    }
}

fn lock(store: &Path) -> io::Result<File> {
    let file = fs::OpenOptions::new().create(true).truncate(false).write(true).open(store.join("lock"))?;
    rustix::fs::flock(&file, rustix::fs::FlockOperation::LockExclusive)?;
    Ok(file)
}

/// Makes what of the store is missing, and removes what was left by a git that was killed.
fn write(tree: &Tree) -> io::Result<()> {
    let store = &tree.store;
    for folder in ["objects/info", "objects/pack", "refs", "info", "scratch"] {
        fs::create_dir_all(store.join(folder))?;
    }
    for left in ["index.lock", "git-index.lock"] {
        remove(&store.join(left))?;
    }
    remove_half_written(&store.join("objects/pack"))?;
    safe::replace(&store.join("info/attributes"), ATTRIBUTES)?;
    if let Some(manner) = &tree.manner {
        write_config(store, manner)?;
        let known = postcard::to_stdvec(manner).map_err(io::Error::other)?;
        safe::replace(&store.join(MANNER), &known)?;
        safe::replace(&store.join("excludes"), &manner.excludes)?;
    }
    let mut stores = tree.objects.clone();
    if let Side::Far { mirror } = &tree.side {
        make_mirror(mirror, tree.manner.as_ref())?;
        stores.push(mirror.join("objects"));
    }
    safe::replace(&store.join("objects/info/alternates"), &alternates(&stores))?;
    // Last: with it the store is complete.
    if tree.manner.is_some() || store.join("config").exists() {
        safe::replace(&store.join("HEAD"), b"ref: refs/heads/none\n")?;
    }
    Ok(())
}

fn write_config(store: &Path, manner: &Manner) -> io::Result<()> {
    let mut config = format_lines(manner.is_sha256);
    config.extend(
        b"\tbare = false\n\tfileMode = true\n\tsymlinks = true\n\tautocrlf = false\n\tsafecrlf = false\n\
          \tignoreCase = false\n\tprecomposeUnicode = false\n\tprotectNTFS = false\n\
          \tattributesFile = /dev/null\n\thooksPath = /dev/null\n\tfsmonitor = false\n\tuntrackedCache = false\n\
          \tsplitIndex = false\n\tsparseCheckout = false\n\tlogAllRefUpdates = false\n",
    );
    // Elsewhere, such names are those of ordinary files.
    if !cfg!(target_os = "macos") {
        config.extend(b"\tprotectHFS = false\n");
    }
    config.extend(b"\texcludesFile = ");
    config.extend(quoted(store.join("excludes").as_os_str().as_bytes()));
    config.extend(b"\n[gc]\n\tauto = 0\n[maintenance]\n\tauto = false\n[index]\n\tsparse = false\n");
    safe::replace(&store.join("config"), &config).map(drop)
}

/// How a configuration begins.
pub(crate) fn format_lines(is_sha256: bool) -> Vec<u8> {
    match is_sha256 {
        true => b"[extensions]\n\tobjectFormat = sha256\n[core]\n\trepositoryFormatVersion = 1\n".to_vec(),
        false => b"[core]\n\trepositoryFormatVersion = 0\n".to_vec(),
    }
}

fn make_mirror(mirror: &Path, manner: Option<&Manner>) -> io::Result<()> {
    for folder in ["objects/info", "objects/pack", "refs"] {
        fs::create_dir_all(mirror.join(folder))?;
    }
    // The tasks of a project begin at once.
    let _turn = lock(mirror)?;
    remove_half_written(&mirror.join("objects/pack"))?;
    if let Some(manner) = manner
        && !mirror.join("HEAD").exists()
    {
        let mut config = format_lines(manner.is_sha256);
        config.extend(b"\tbare = true\n\thooksPath = /dev/null\n\tlogAllRefUpdates = false\n");
        config.extend(b"[gc]\n\tauto = 0\n[maintenance]\n\tauto = false\n");
        safe::replace(&mirror.join("config"), &config)?;
        safe::replace(&mirror.join("HEAD"), b"ref: refs/heads/none\n")?;
    }
    Ok(())
}

/// Others may write packs into the same folder: what is young stays.
fn remove_half_written(packs: &Path) -> io::Result<()> {
    for entry in fs::read_dir(packs)? {
        let entry = entry?;
        if entry.file_name().as_bytes().starts_with(b"tmp_") {
            let changed = entry.metadata().and_then(|found| found.modified());
            let age = changed.ok().and_then(|changed| SystemTime::now().duration_since(changed).ok());
            if age.is_some_and(|age| age > STALE) {
                remove(&entry.path())?;
            }
        }
    }
    Ok(())
}

pub(crate) fn remove(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}
