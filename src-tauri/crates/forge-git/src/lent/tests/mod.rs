//! Real worktrees of real repositories, lent to real gits.

use std::fs;
use std::path::{Path, PathBuf};

use super::taking::Step;
use super::{DirectReason, LeftOut, Lending, TakenBack};
use crate::error::{ForeignReason, GitError};
use crate::repo::Repo;
use crate::testing::Sandbox;
use crate::worktree::Worktree;
use crate::worktrees::NewWorktree;

mod cut_short;
mod facts;
mod histories;
mod hostile;
mod racy;
mod travel;

const KEY: &str = "7";
const PREFIX: &str = "refs/forge/sandbox/7";

/// A worktree on `forge/7`, and the folder its git directory is lent in.
struct Lent {
    sandbox: Sandbox,
    repo: Repo,
    tree: PathBuf,
    folder: PathBuf,
}

impl Lent {
    async fn new() -> Lent {
        Self::of(Sandbox::new().await).await
    }

    async fn of(sandbox: Sandbox) -> Lent {
        let repo = sandbox.repo().await;
        let tree = sandbox.dir().join("work/tree");
        let folder = sandbox.dir().join("lent/git");
        let spec = NewWorktree { path: tree.clone(), branch: "forge/7".into(), base: "main".into() };
        repo.create_worktree(&spec).await.unwrap();
        Lent { sandbox, repo, tree, folder }
    }

    fn worktree(&self) -> Worktree {
        self.repo.worktree_at(&self.tree)
    }

    async fn lend(&self) -> Vec<PathBuf> {
        match self.worktree().lend(&self.folder).await.unwrap() {
            Lending::Lent { writable, readable } => {
                assert_eq!(writable, std::slice::from_ref(&self.folder));
                readable
            }
            direct @ Lending::Direct { .. } => panic!("{direct:?}"),
        }
    }

    async fn take_back(&self) -> TakenBack {
        let back = self.worktree().take_back(&self.folder, KEY).await.unwrap();
        self.assert_over();
        back
    }

    fn assert_over(&self) {
        let names = |dir: &Path| -> Vec<String> {
            let entries = fs::read_dir(dir).unwrap().map(|it| it.unwrap().file_name());
            entries.map(|name| name.into_string().unwrap()).filter(|name| !name.contains(".kept-")).collect()
        };
        assert_eq!(names(self.folder.parent().unwrap()), Vec::<String>::new());
        assert_eq!(names(self.tree.parent().unwrap()), ["tree"]);
        let admin = self.admin();
        assert_eq!(self.repo.admin_dir(&self.tree).as_deref(), Some(admin.as_path()), ".git leads back");
        for name in names(&admin) {
            assert!(!name.contains("forge"), "left in the record: {name}");
        }
    }

    fn admin(&self) -> PathBuf {
        self.worktree().recorded_git_dir().unwrap()
    }

    /// git as a program in the worktree runs it.
    fn git(&self, args: &[&str]) -> String {
        self.sandbox.git_at(&self.tree, args)
    }

    fn write(&self, path: &str, content: &str) {
        let path = self.tree.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }

    fn value(&self, name: &str) -> Option<String> {
        let (ok, out) = self.sandbox.try_git_at(self.repo.root(), &["rev-parse", "-q", "--verify", name]);
        ok.then_some(out)
    }

    fn assert_whole(&self) {
        self.sandbox.git(&["fsck", "--strict", "--connectivity-only"]);
    }
}
