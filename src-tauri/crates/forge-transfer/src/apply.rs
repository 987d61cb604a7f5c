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
    quote::{alternates, quoted},
    record::Record,
    safe::Folder,
    state::State,
    store::{format_lines, remove},
};

/// How many refs of a mirror say what it has.
const MOST_TIPS: usize = 1024;
const TIPS: &str = "refs/tips/";

impl Store {
    /// Makes the tree as a snapshot says, whose objects are here: first the files, then the git directory. The store
    /// remembers that it began, and goes on when it is opened again.
    ///
    /// # Errors
    /// [`Fault::Damaged`] when the snapshot is not whole, before anything is changed; what git and the system refuse.
    pub async fn apply(&self, id: &str) -> Result<(), Fault> {
        let (state, large) = self.read_snapshot(id).await?;
        Record::Applying(id.to_owned()).write(&self.tree.store)?;
        self.apply_files(id).await?;
        self.apply_git_dir(state, large).await?;
        self.give_objects().await?;
        Record::Holds(id.to_owned()).write(&self.tree.store)
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

    /// The files of the git directory; an error when anything of the snapshot is missing.
    async fn read_snapshot(&self, id: &str) -> Result<(State, Vec<(String, Vec<u8>)>), Fault> {
        if !is_oid(id) {
            return Err(Fault::damaged("its name is none of an object"));
        }
        let reached = self.git(&["rev-list", "--objects", "--quiet", id]).run().await?;
        if reached.exit != Exit::Code(0) {
            return Err(Fault::damaged(String::from_utf8_lossy(&reached.stderr).trim().to_owned()));
        }
        let listed = self.git(&["ls-tree", "-z", "--name-only", &format!("{id}:git")]).ok().await?;
        let names: Vec<String> =
            crate::git::records(&listed).map(|name| String::from_utf8_lossy(name).into_owned()).collect();
        if let Some(name) = names.iter().find(|name| {
            !matches!(name.as_str(), "state" | "index" | "packed-refs") && !is_shared_index(name)
        }) {
            return Err(Fault::damaged(format!("`{name}` is no file of a git directory")));
        }
        let asked: String = names.iter().map(|name| format!("{id}:git/{name}\n")).collect();
        let told = self.git(&["cat-file", "--batch", "--buffer"]).input(asked.into_bytes()).ok().await?;
        let (mut state, mut large, mut rest) = (None, Vec::new(), told.as_slice());
        for name in names {
            let content = next_content(&mut rest)
                .ok_or_else(|| Fault::damaged(format!("`{name}` of its git directory cannot be read")))?;
            if name == "state" {
                let read: State = postcard::from_bytes(content)
                    .map_err(|_| Fault::damaged("the state of its git directory cannot be read"))?;
                read.check()?;
                state = Some(read);
            } else {
                large.push((name, content.to_vec()));
            }
        }
        let state = state.ok_or_else(|| Fault::damaged("it says nothing of its git directory"))?;
        Ok((state, large))
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
        let known = self.tips().await?;
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
    /// When git fails.
    pub async fn tips(&self) -> Result<Vec<String>, Fault> {
        self.tree.tips().await
    }

    fn in_mirror(&self, mirror: &Path, args: &[&str]) -> crate::git::Git {
        self.git(args).env("GIT_DIR", mirror)
    }
}

impl Tree {
    /// What the mirror has, also when nothing of this tree is there.
    ///
    /// # Errors
    /// When git fails.
    pub async fn tips(&self) -> Result<Vec<String>, Fault> {
        let Side::Far { mirror } = &self.side else { return Ok(Vec::new()) };
        if !mirror.join("HEAD").exists() {
            return Ok(Vec::new());
        }
        let listed = crate::git::Git::new(self, &["for-each-ref", "--format=%(objectname)", TIPS])
            .in_mirror(mirror)
            .ok()
            .await?;
        let listed = String::from_utf8_lossy(&listed).into_owned();
        Ok(listed.lines().filter(|line| is_oid(line)).map(str::to_owned).collect())
    }
}

/// The next object of what `git cat-file --batch` prints: `<name> <type> <size>`, a line break, the content, a line break.
fn next_content<'t>(told: &mut &'t [u8]) -> Option<&'t [u8]> {
    let end = told.iter().position(|byte| *byte == b'\n')?;
    let size = std::str::from_utf8(told.get(..end)?).ok()?.rsplit(' ').next()?.parse::<usize>().ok()?;
    let content = told.get(end + 1..end + 1 + size)?;
    *told = told.get(end + 2 + size..)?;
    Some(content)
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
