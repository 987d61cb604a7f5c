//! Two ends on one disk, with real repositories.

use std::{
    ffi::OsStr,
    fs,
    os::unix::{ffi::OsStrExt as _, fs::PermissionsExt as _},
    path::{Path, PathBuf},
    process::Command,
    sync::Arc,
    time::SystemTime,
};

use tempfile::TempDir;

use crate::{Fault, Manner, Side, Snapshot, Tree};

mod contents;
mod cut_short;
mod operations;
mod untrusted;

/// A worktree here, and what becomes of it there.
struct Ends {
    temp: TempDir,
    here: Tree,
    there: Tree,
}

/// How a transfer is cut short.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Cut {
    Never,
    /// After so many bytes of the pack.
    Pack(usize),
    /// After the record says that it is applied.
    Record,
    /// After the files.
    Files,
}

fn git_at(dir: &Path, args: &[&str]) -> (bool, String) {
    let output = Command::new("git")
        .args(args)
        .current_dir(dir)
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap())
        .envs([
            ("GIT_CONFIG_GLOBAL", "/dev/null"),
            ("GIT_CONFIG_NOSYSTEM", "1"),
            ("GIT_AUTHOR_NAME", "Tester"),
            ("GIT_AUTHOR_EMAIL", "tester@example.com"),
            ("GIT_COMMITTER_NAME", "Tester"),
            ("GIT_COMMITTER_EMAIL", "tester@example.com"),
            ("GIT_COMMITTER_DATE", "1700000000 +0000"),
            ("GIT_AUTHOR_DATE", "1700000000 +0000"),
            ("GIT_EDITOR", "true"),
        ])
        .output()
        .unwrap();
    let mut out = String::from_utf8_lossy(&output.stdout).trim_end().to_owned();
    if !output.status.success() {
        out.push_str(&String::from_utf8_lossy(&output.stderr));
    }
    (output.status.success(), out)
}

impl Ends {
    /// A repository with one commit of these files.
    fn new(files: &[(&str, &str)]) -> Ends {
        let ends = Self::empty();
        for (path, content) in files {
            ends.write(&ends.here, path, content);
        }
        ends.git(&["add", "-A"]);
        ends.git(&["commit", "-q", "--allow-empty", "-m", "first"]);
        ends
    }

    /// A repository without a commit.
    fn empty() -> Ends {
        let temp = tempfile::tempdir().unwrap();
        let base = temp.path().canonicalize().unwrap();
        let worktree = base.join("here/tree");
        fs::create_dir_all(&worktree).unwrap();
        assert!(git_at(&worktree, &["init", "-q", "-b", "main"]).0);
        let variables = [("PATH".into(), std::env::var_os("PATH").unwrap())];
        let here = Tree {
            git_dir: worktree.join(".git"),
            objects: vec![worktree.join(".git/objects")],
            worktree,
            store: base.join("here/store"),
            program: "git".into(),
            environment: Arc::new(variables.into()),
            manner: Some(Manner {
                settings: vec![
                    ("user.name".into(), "Tester".into()),
                    ("merge.conflictstyle".into(), "diff3".into()),
                ],
                ..Manner::default()
            }),
            side: Side::Lent,
        };
        let there = Tree {
            worktree: base.join("there/tree"),
            git_dir: base.join("there/tree/.git"),
            store: base.join("there/store"),
            objects: Vec::new(),
            side: Side::Far { mirror: base.join("there/mirror.git") },
            ..here.clone()
        };
        Ends { temp, here, there }
    }

    fn base(&self) -> PathBuf {
        self.temp.path().canonicalize().unwrap()
    }

    fn write(&self, tree: &Tree, path: impl AsRef<Path>, content: impl AsRef<[u8]>) {
        let path = tree.worktree.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }

    fn read(&self, tree: &Tree, path: &str) -> Option<String> {
        fs::read(tree.worktree.join(path)).ok().map(|content| String::from_utf8(content).unwrap())
    }

    fn git(&self, args: &[&str]) -> String {
        let (is_done, out) = git_at(&self.here.worktree, args);
        assert!(is_done, "git {args:?} here: {out}");
        out
    }

    fn git_there(&self, args: &[&str]) -> String {
        let (is_done, out) = git_at(&self.there.worktree, args);
        assert!(is_done, "git {args:?} there: {out}");
        out
    }

    async fn send(&self) -> Snapshot {
        transfer(&self.here, &self.there, Cut::Never).await.unwrap().0
    }

    /// Fetches; whether anything had changed.
    async fn fetch(&self) -> bool {
        self.try_fetch().await.unwrap().1
    }

    async fn try_fetch(&self) -> Result<(Snapshot, bool), Fault> {
        if self.here.local_changes().await? {
            return Err(Fault::LocalChanges);
        }
        transfer(&self.there, &self.here, Cut::Never).await
    }

    /// Both ends show the same files, index, refs and operation.
    fn assert_same(&self) {
        assert_eq!(files(&self.here.worktree), files(&self.there.worktree));
        let shown: &[&[&str]] = &[
            &["status", "--porcelain=v2", "--branch"],
            &["status"],
            &["ls-files", "--stage"],
            &["ls-files", "-v"],
            &["for-each-ref"],
            &["diff"],
            &["diff", "--cached"],
            &["fsck", "--no-dangling", "--connectivity-only"],
        ];
        for args in shown {
            let (here, there) = (git_at(&self.here.worktree, args), git_at(&self.there.worktree, args));
            assert_eq!(here, there, "{args:?}");
        }
    }
}

/// Brings one end to the other; what travelled, and whether the other end had something else.
async fn transfer(from: &Tree, to: &Tree, cut: Cut) -> Result<(Snapshot, bool), Fault> {
    let source = from.open().await?;
    let snapshot = source.snapshot().await?;
    let target = to.open().await?;
    if from.side != Side::Lent {
        source.hold(&snapshot)?;
    }
    if target.held().as_ref() == Some(&snapshot.id) {
        source.hold(&snapshot)?;
        return Ok((snapshot, false));
    }
    let mut haves = target.haves().await?;
    haves.extend(target.tips()?);
    let mut packing = source.pack(&snapshot, &haves).await?;
    let mut unpacking = target.unpack().await?;
    let mut sent = 0;
    while let Some(mut chunk) = packing.chunk().await? {
        if let Cut::Pack(at) = cut
            && sent + chunk.len() > at
        {
            chunk.truncate(at - sent);
            unpacking.write(&chunk).await?;
            return Err(Fault::damaged("cut"));
        }
        sent += chunk.len();
        unpacking.write(&chunk).await?;
    }
    unpacking.finish().await?;
    match cut {
        Cut::Record => {
            crate::record::Record::Applying(snapshot.id.clone()).write(&to.store)?;
            return Err(Fault::damaged("cut"));
        }
        Cut::Files => {
            crate::record::Record::Applying(snapshot.id.clone()).write(&to.store)?;
            target.apply_files(&snapshot.id).await?;
            return Err(Fault::damaged("cut"));
        }
        Cut::Never | Cut::Pack(_) => {}
    }
    target.apply(&snapshot.id).await?;
    target.remember_tips(&snapshot.roots).await?;
    source.hold(&snapshot)?;
    Ok((snapshot, true))
}

/// Every file and link of a worktree with its mode and content.
fn files(worktree: &Path) -> Vec<(PathBuf, bool, Vec<u8>)> {
    let mut found = Vec::new();
    let mut folders = vec![worktree.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            let about = path.symlink_metadata().unwrap();
            if about.is_dir() {
                if path.file_name() != Some(OsStr::new(".git")) {
                    folders.push(path);
                }
                continue;
            }
            let content = match about.file_type().is_symlink() {
                true => fs::read_link(&path).unwrap().as_os_str().as_bytes().to_vec(),
                false => fs::read(&path).unwrap(),
            };
            let is_program = about.permissions().mode() & 0o100 != 0;
            found.push((path.strip_prefix(worktree).unwrap().to_owned(), is_program, content));
        }
    }
    found.sort();
    found
}

fn changed_at(path: &Path) -> SystemTime {
    path.symlink_metadata().unwrap().modified().unwrap()
}
