//! Making a tree as a snapshot says.

use std::{
    ffi::OsStr,
    fs, io,
    os::unix::ffi::OsStrExt as _,
    path::Path,
    time::{Duration, SystemTime},
};

use forge_exec::Exit;

use crate::{
    Fault, Side, Store, Tree,
    names::{is_oid, is_shared_index},
    object,
    quote::{alternates, quoted},
    record::{Held, Parts, Record},
    safe::Folder,
    state::State,
    store::{format_lines, remove},
};

/// How many refs of a mirror say what it has.
const MOST_TIPS: usize = 1024;
const TIPS: &str = "refs/tips/";

/// What a snapshot says beside the files themselves.
struct Contents {
    state: State,
    /// The large files of the git directory, by name.
    large: Vec<(String, Vec<u8>)>,
    parts: Parts,
}

impl Store {
    /// Makes the tree as a snapshot says, whose objects are here: first the files, then the git directory. The store
    /// remembers that it began, and goes on when it is opened again.
    ///
    /// # Errors
    /// [`Fault::Damaged`] when the snapshot is not whole, before anything is changed; what git and the system refuse.
    pub async fn apply(&self, id: &str) -> Result<(), Fault> {
        if !is_oid(id) {
            return Err(Fault::damaged("its name is none of an object"));
        }
        let (whole, contents) = tokio::join!(Box::pin(self.check_whole(id)), Box::pin(self.contents(id)));
        whole?;
        let Contents { state, large, parts } = contents?;
        Record::Applying(id.to_owned()).write(&self.tree.store)?;
        self.apply_files(id).await?;
        self.note_tree_of_index(&parts.files)?;
        self.apply_git_dir(state, large).await?;
        self.give_objects().await?;
        Record::Holds(Held { id: id.to_owned(), parts: Some(parts) }).write(&self.tree.store)
    }

    /// Removes files that the last snapshot has not and that are not ignored: what somebody made in a tree that is only
    /// looked at.
    ///
    /// # Errors
    /// When git or the system fails.
    pub async fn remove_others(&self) -> Result<(), Fault> {
        let (worktree, others) = (self.tree.worktree.clone(), self.others().await?);
        let remove_all = move || -> io::Result<()> {
            for path in others {
                let at = worktree.join(OsStr::from_bytes(&path));
                match path.ends_with(b"/") {
                    true => crate::remove_folder(&at)?,
                    false => remove(&at)?,
                }
            }
            Ok(())
        };
        let removed = tokio::task::spawn_blocking(remove_all).await?;
        removed.map_err(Fault::io("remove files of", &self.tree.worktree))
    }

    /// An error when anything of a snapshot is missing.
    async fn check_whole(&self, id: &str) -> Result<(), Fault> {
        let reached = self.git(&["rev-list", "--objects", "--quiet", id]).run().await?;
        match reached.exit {
            Exit::Code(0) => Ok(()),
            _ => Err(Fault::damaged(String::from_utf8_lossy(&reached.stderr).trim().to_owned())),
        }
    }

    /// What a snapshot says beside the files.
    async fn contents(&self, id: &str) -> Result<Contents, Fault> {
        let mut objects = self.objects().await?;
        let unread = |what: &str| Fault::damaged(format!("{what} cannot be read"));
        let snapshot = objects.read(id).await?.ok_or_else(|| unread("it"))?;
        let named = |name: &[u8]| {
            object::entries(&snapshot, id.len())
                .into_iter()
                .find_map(|(entry, oid)| (entry == name).then_some(oid))
        };
        let files = named(b"files").ok_or_else(|| Fault::damaged("it says nothing of the files"))?;
        let git = named(b"git").ok_or_else(|| Fault::damaged("it says nothing of its git directory"))?;
        let roots = named(b"roots").ok_or_else(|| Fault::damaged("it names no roots"))?;
        let roots = objects.read(&roots).await?.ok_or_else(|| unread("its roots"))?;
        let roots =
            String::from_utf8_lossy(&roots).lines().filter(|oid| is_oid(oid)).map(str::to_owned).collect();
        let git = objects.read(&git).await?.ok_or_else(|| unread("its git directory"))?;
        let (mut state, mut large) = (None, Vec::new());
        for (name, oid) in object::entries(&git, id.len()) {
            let name = String::from_utf8_lossy(&name).into_owned();
            if !matches!(name.as_str(), "state" | "index" | "packed-refs") && !is_shared_index(&name) {
                return Err(Fault::damaged(format!("`{name}` is no file of a git directory")));
            }
            let content =
                objects.read(&oid).await?.ok_or_else(|| unread(&format!("`{name}` of its git directory")))?;
            if name == "state" {
                let read: State =
                    postcard::from_bytes(&content).map_err(|_| unread("the state of its git directory"))?;
                read.check()?;
                state = Some(read);
            } else {
                large.push((name, content));
            }
        }
        let state = state.ok_or_else(|| Fault::damaged("it says nothing of its git directory"))?;
        Ok(Contents { state, large, parts: Parts { files, roots } })
    }

    pub(crate) async fn apply_files(&self, id: &str) -> Result<(), Fault> {
        let worktree = &self.tree.worktree;
        fs::create_dir_all(worktree).map_err(Fault::io("create", worktree))?;
        let index = self.path("index");
        let files = format!("{id}:files");
        let read = ["read-tree", "--reset", "-u", &files];
        let done = self.git(&read).in_worktree(worktree).run().await?;
        if done.exit == Exit::Code(0) {
            return Ok(());
        }
        let fault = Fault::git("read-tree", &done.stderr, &self.tree.store);
        if matches!(fault, Fault::DiskFull { .. }) || !index.exists() {
            return Err(fault);
        }
        let listed = self.git(&["ls-files", "-z"]).in_worktree(worktree).run().await?;
        if listed.exit == Exit::Code(0) {
            return Err(fault);
        }
        // The index itself is damaged: everything is written anew.
        remove(&index).map_err(Fault::io("remove", &index))?;
        self.git(&read).in_worktree(worktree).ok().await.map(drop)
    }

    async fn apply_git_dir(&self, state: State, large: Vec<(String, Vec<u8>)>) -> Result<(), Fault> {
        let (git_dir, store, side) =
            (self.tree.git_dir.clone(), self.tree.store.clone(), self.tree.side.clone());
        let config = match &self.tree.side {
            Side::Far { .. } => Some(self.far_config()?),
            Side::Lent => None,
        };
        let path = git_dir.clone();
        let write = move || -> io::Result<()> {
            let top = open_git_dir(&git_dir, &side)?;
            if let Side::Far { mirror } = &side {
                for part in ["info", "pack"] {
                    top.make_folder(b"objects")?.make_folder(part.as_bytes())?;
                }
                let stores = [mirror.join("objects"), store.join("objects")];
                top.put(b"objects/info/alternates", &alternates(&stores))?;
                top.put(b"config", &config.unwrap_or_default())?;
            }
            let listed: Vec<&str> = large.iter().map(|(name, _)| name.as_str()).collect();
            for found in crate::state::large_names(&top)? {
                if !listed.contains(&found.as_str()) {
                    top.remove(found.as_bytes())?;
                }
            }
            // Shared indexes before the index that names them.
            for (name, content) in large.iter().rev() {
                if top.put(name.as_bytes(), content)?
                    && name == "index"
                    && let Some(file) = top.file(name.as_bytes())?
                {
                    // Older than every file: times that happen to be those of another file prove nothing.
                    file.set_modified(SystemTime::UNIX_EPOCH + Duration::from_secs(1))?;
                }
            }
            state.apply(&top)?;
            match state.files.get(&b"shallow"[..]) {
                Some(shallow) => crate::safe::replace(&store.join("shallow"), shallow).map(drop),
                None => remove(&store.join("shallow")),
            }
        };
        tokio::task::spawn_blocking(write).await?.map_err(Fault::io("write", path))
    }

    /// The configuration of a git directory that is made here.
    fn far_config(&self) -> Result<Vec<u8>, Fault> {
        let manner = self.tree.manner.as_ref().ok_or(Fault::NoTree)?;
        let mut config = format_lines(manner.is_sha256);
        config.extend(b"\tbare = false\n\tlogAllRefUpdates = true\n\texcludesFile = ");
        config.extend(quoted(self.path("excludes").as_os_str().as_encoded_bytes()));
        config.push(b'\n');
        for (name, value) in &manner.settings {
            config.extend(setting(name, value));
        }
        // Maintenance in the background would outlive the command that started it; keys stay at home.
        config.extend(b"[gc]\n\tauto = 0\n[maintenance]\n\tauto = false\n[commit]\n\tgpgSign = false\n[tag]\n\tgpgSign = false\n");
        Ok(config)
    }

    /// Has the mirror remember what it has, so that later transfers need not bring it.
    ///
    /// # Errors
    /// When git fails.
    pub async fn remember_tips(&self, roots: &[String]) -> Result<(), Fault> {
        let Side::Far { mirror } = &self.tree.side else { return Ok(()) };
        let known = self.tips()?;
        let fresh: Vec<&String> = roots
            .iter()
            .filter(|root| is_oid(root) && !known.contains(root))
            .take(MOST_TIPS.saturating_sub(known.len()))
            .collect();
        let first = fresh.first().copied();
        // What programs made may be in the task's own store only.
        let batches = [fresh, first.into_iter().collect()];
        for batch in batches.into_iter().filter(|batch| !batch.is_empty()) {
            let mut input: String = batch.iter().flat_map(|oid| [oid.as_str(), "\n"]).collect();
            input.extend(known.iter().flat_map(|oid| ["^", oid.as_str(), "\n"]));
            let whole = self
                .git(&["rev-list", "--objects", "--quiet", "--stdin"])
                .env("GIT_OBJECT_DIRECTORY", mirror.join("objects"))
                .input(input.into_bytes())
                .run()
                .await?;
            if whole.exit == Exit::Code(0) {
                let commands: String =
                    batch.iter().map(|oid| format!("update {TIPS}{oid} {oid}\n")).collect();
                let updated = self.in_mirror(mirror, &["update-ref", "--stdin"]);
                return updated.input(commands.into_bytes()).ok().await.map(drop);
            }
        }
        Ok(())
    }

    /// What the mirror has.
    ///
    /// # Errors
    /// When the disk fails.
    pub fn tips(&self) -> Result<Vec<String>, Fault> {
        self.tree.tips()
    }

    fn in_mirror(&self, mirror: &Path, args: &[&str]) -> crate::git::Git {
        self.git(args).env("GIT_DIR", mirror)
    }
}

impl Tree {
    /// What the mirror has, also when nothing of this tree is there.
    ///
    /// # Errors
    /// When the disk fails.
    pub fn tips(&self) -> Result<Vec<String>, Fault> {
        let Side::Far { mirror } = &self.side else { return Ok(Vec::new()) };
        if !mirror.join("HEAD").exists() {
            return Ok(Vec::new());
        }
        // Each is named by what it leads to.
        let folder = mirror.join(TIPS);
        let read = || -> io::Result<Vec<String>> {
            let names =
                fs::read_dir(&folder)?.map(|entry| Ok(entry?.file_name().into_string().unwrap_or_default()));
            let mut tips = names.collect::<io::Result<Vec<String>>>()?;
            tips.retain(|name| is_oid(name));
            tips.sort_unstable();
            Ok(tips)
        };
        match read() {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
            tips => tips.map_err(Fault::io("read", &folder)),
        }
    }
}

/// Opens a git directory. One that is made here takes the place of whatever has its name.
fn open_git_dir(git_dir: &Path, side: &Side) -> io::Result<Folder> {
    let missing = || io::Error::from(io::ErrorKind::NotFound);
    if *side == Side::Lent {
        return Folder::open(git_dir)?.ok_or_else(missing);
    }
    let (Some(parent), Some(name)) = (git_dir.parent(), git_dir.file_name()) else { return Err(missing()) };
    Folder::open(parent)?.ok_or_else(missing)?.make_folder(name.as_encoded_bytes())
}

/// A setting in a section of its own.
fn setting(name: &str, value: &str) -> Vec<u8> {
    let (Some((section, rest)), Some((_, key))) = (name.split_once('.'), name.rsplit_once('.')) else {
        return Vec::new();
    };
    let middle = rest.strip_suffix(key).and_then(|middle| middle.strip_suffix('.'));
    let head = match middle {
        Some(middle) => [b"[", section.as_bytes(), b" ", &quoted(middle.as_bytes()), b"]\n\t"].concat(),
        None => format!("[{section}]\n\t").into_bytes(),
    };
    [&head, key.as_bytes(), b" = ", &quoted(value.as_bytes()), b"\n"].concat()
}
