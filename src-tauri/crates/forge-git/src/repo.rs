//! A repository: where it is and what its names mean.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use forge_model::environment::EnvironmentSettings;

use crate::accepted::Guard;
use crate::bytes;
use crate::command::{GitCommand, Kind};
use crate::diff::memory::ListMemory;
use crate::error::GitError;
use crate::location::Location;
use crate::object::Objects;
use crate::program::Git;
use crate::settings::SettingsMemory;
use crate::startup_file::StartupMemory;

/// A repository with at least one commit. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Repo {
    pub(crate) inner: Arc<Inner>,
    git: Git,
}

#[derive(Debug)]
pub(crate) struct Inner {
    location: Arc<Location>,
    /// Whether settings outside of the repository say so.
    hooks_set_outside: bool,
    guard: Mutex<Option<Arc<Guard>>>,
    /// When a commit was last signed.
    signed: Mutex<Option<Instant>>,
    pub(crate) objects: Objects,
    pub(crate) lists: ListMemory,
    pub(crate) startup_files: Mutex<StartupMemory>,
}

/// What a work tree is in the middle of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operation {
    /// A merge waits for its commit.
    Merge,
    /// A rebase is on its way, or patches are being applied.
    Rebase,
    /// A cherry-pick waits to be continued.
    CherryPick,
    /// A revert waits to be continued.
    Revert,
}

impl Repo {
    /// Opens the repository that holds `path`.
    pub async fn open(git: &Git, path: &Path) -> Result<Repo, GitError> {
        let asked = GitCommand::new(git, path, Kind::Read)
            .args(["rev-parse", "--path-format=absolute", "--git-common-dir", "--absolute-git-dir"])
            .args(["--git-path", "hooks"])
            .run()
            .await;
        let not_here = || GitError::NotARepository { path: path.to_owned() };
        let output = match asked {
            Err(GitError::Io { .. }) => return Err(not_here()),
            other => other?,
        };
        let mut lines = output.stdout.split(|byte| *byte == b'\n').map(bytes::path);
        let (Some(0), Some(common), Some(own), Some(hooks)) =
            (output.exit, lines.next(), lines.next(), lines.next())
        else {
            return Err(if bytes::text(&output.stderr).contains("safe.directory") {
                // git's protection against other people's repositories: its own words say what to do.
                output.failed("rev-parse --git-common-dir".to_owned())
            } else {
                not_here()
            });
        };
        let common_dir = common.canonicalize().map_err(GitError::io("find the git directory", common))?;
        let root = main_work_tree(git, path, &common_dir, own).await?;
        let objects = Objects::new(common_dir.join("objects"));
        let hooks = hooks_elsewhere(hooks, path, &root, &common_dir);
        let hooks_set_outside = hooks.is_some() && !sets_hooks_itself(git, path).await?;
        let bare = is_bare(&root, &common_dir);
        let location = Location { root, common_dir, bare, hooks, settings: SettingsMemory::default() };
        let inner = Inner {
            location: Arc::new(location),
            hooks_set_outside,
            guard: Mutex::default(),
            signed: Mutex::default(),
            objects,
            lists: ListMemory::default(),
            startup_files: Mutex::default(),
        };
        let repo = Repo { inner: Arc::new(inner), git: git.clone() };
        if repo.resolve("HEAD").await?.is_none() {
            let any = repo.read().args(["for-each-ref", "--count=1", "refs/heads"]).text().await?;
            if any.is_empty() {
                return Err(GitError::NoCommit { path: repo.root().to_owned() });
            }
        }
        Ok(repo)
    }

    /// Top of the main work tree; of a bare repository, its directory.
    pub fn root(&self) -> &Path {
        &self.inner.location.root
    }

    /// Whether it has no main work tree.
    pub fn is_bare(&self) -> bool {
        self.inner.location.bare
    }

    /// The git directory that all worktrees share.
    pub fn common_dir(&self) -> &Path {
        &self.inner.location.common_dir
    }

    /// The git program in use.
    pub fn git(&self) -> &Git {
        &self.git
    }

    /// The same repository, in which git gets what these settings pass of the user's environment.
    #[must_use]
    pub fn passing(&self, settings: &EnvironmentSettings) -> Repo {
        Repo { inner: Arc::clone(&self.inner), git: self.git.passing(settings) }
    }

    /// The branch work starts from and goes back to: the local branch of `origin/HEAD`, else
    /// `init.defaultBranch`, `main`, `master`, the current branch; the first that exists.
    pub async fn default_branch(&self) -> Result<String, GitError> {
        let mut names = Vec::new();
        let origin = self.read().args(["symbolic-ref", "-q", "refs/remotes/origin/HEAD"]).run().await?;
        if origin.exit == Some(0) {
            let name = bytes::line(&origin.stdout);
            names.extend(name.strip_prefix("refs/remotes/origin/").map(str::to_owned));
        }
        let configured = self.read().args(["config", "--get", "init.defaultBranch"]).run().await?;
        if configured.exit == Some(0) {
            names.push(bytes::line(&configured.stdout));
        }
        names.extend(["main".to_owned(), "master".to_owned()]);
        let current = self.read().args(["symbolic-ref", "-q", "--short", "HEAD"]).run().await?;
        if current.exit == Some(0) {
            names.push(bytes::line(&current.stdout));
        }
        for name in names {
            if self.resolve(&format!("refs/heads/{name}")).await?.is_some() {
                return Ok(name);
            }
        }
        Err(GitError::NoDefaultBranch { path: self.root().to_owned() })
    }

    /// The commit (hex) a name leads to, `None` when it leads to none.
    pub async fn resolve(&self, rev: &str) -> Result<Option<String>, GitError> {
        let name = rev.to_owned();
        let found = match self.locally(move |local| local.resolve(&name)).await {
            Some(known) => known,
            None => self.parse(&format!("{rev}^{{commit}}")).await?,
        };
        if found.is_none() && !self.is_there() {
            // Nothing of a repository that was moved away is known; that does not make its branches missing.
            return Err(GitError::NotARepository { path: self.root().to_owned() });
        }
        Ok(found)
    }

    /// Whether the repository is still where it was opened.
    #[must_use]
    pub fn is_there(&self) -> bool {
        self.common_dir().join("HEAD").exists()
    }

    /// Makes a folder of the common folder, where it is missing, but none above it: a repository that was moved away is
    /// not made anew at its old place.
    pub(crate) fn create_within(&self, folder: &Path) -> Result<(), GitError> {
        match std::fs::create_dir(folder) {
            Ok(()) => Ok(()),
            Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(()),
            Err(_) if !self.is_there() => Err(GitError::NotARepository { path: self.root().to_owned() }),
            Err(error) => Err(GitError::io("create", folder)(error)),
        }
    }

    /// The tree (hex) of a commit.
    pub async fn tree_of(&self, rev: &str) -> Result<String, GitError> {
        let name = rev.to_owned();
        if let Some(known) = self.locally(move |local| local.tree_of(&name)).await {
            return Ok(known);
        }
        let found = self.parse(&format!("{rev}^{{tree}}")).await?;
        found.ok_or_else(|| GitError::UnknownRevision { rev: rev.to_owned() })
    }

    /// The files of a commit's root with the names of their content; folders, submodules and links are none.
    pub async fn root_files(&self, commit: &str) -> Result<Vec<(String, String)>, GitError> {
        let listed = self.read().args(["ls-tree", "-z", "--full-tree", commit]).text().await?;
        let files = listed.split('\0').filter_map(|line| {
            let (facts, name) = line.split_once('\t')?;
            let oid = facts.rsplit(' ').next()?;
            facts.starts_with("100").then(|| (name.to_owned(), oid.to_owned()))
        });
        Ok(files.collect())
    }

    /// The files below a folder as a commit has them, by path; submodules and links are none.
    pub async fn files_under(&self, commit: &str, folder: &str) -> Result<Vec<String>, GitError> {
        let folder = format!("{}/", folder.trim_end_matches('/'));
        let listed =
            self.read().args(["ls-tree", "-r", "-z", "--full-tree", commit, "--", &folder]).text().await?;
        let files = listed.split('\0').filter_map(|line| {
            let (facts, path) = line.split_once('\t')?;
            facts.starts_with("100").then(|| path.to_owned())
        });
        Ok(files.collect())
    }

    /// Whether `a` is `b` or one of its ancestors.
    pub async fn is_ancestor(&self, a: &str, b: &str) -> Result<bool, GitError> {
        let (one, other) = (a.to_owned(), b.to_owned());
        match self.locally(move |local| local.is_ancestor(&one, &other)).await {
            Some(known) => Ok(known),
            None => self.read().args(["merge-base", "--is-ancestor", "--end-of-options", a, b]).yes().await,
        }
    }

    /// The best common ancestor, `None` when the histories are unrelated.
    pub async fn merge_base(&self, a: &str, b: &str) -> Result<Option<String>, GitError> {
        let (one, other) = (a.to_owned(), b.to_owned());
        if let Some(known) = self.locally(move |local| local.merge_base(&one, &other)).await {
            return Ok(Some(known));
        }
        let command = self.read().args(["merge-base", "--end-of-options", a, b]);
        let args = command.shown();
        let output = command.run().await?;
        match output.exit {
            Some(0) => Ok(Some(bytes::line(&output.stdout))),
            Some(1) => Ok(None),
            _ => Err(output.failed(args)),
        }
    }

    pub(crate) async fn must_resolve(&self, rev: &str) -> Result<String, GitError> {
        self.resolve(rev).await?.ok_or_else(|| GitError::UnknownRevision { rev: rev.to_owned() })
    }

    async fn parse(&self, rev: &str) -> Result<Option<String>, GitError> {
        let command = self.read().args(["rev-parse", "-q", "--verify", "--end-of-options", rev]);
        let args = command.shown();
        let output = command.run().await?;
        match output.exit {
            Some(0) => Ok(Some(bytes::line(&output.stdout))),
            // 1: no such name. 128: a name that cannot be one, or an object that is not there.
            Some(1 | 128) => Ok(None),
            _ => Err(output.failed(args)),
        }
    }

    /// A command in the git directory that all worktrees share: no work tree in reach.
    pub(crate) fn bare(&self, kind: Kind) -> GitCommand {
        GitCommand::bare(self.git(), &self.inner.location, kind).guarded(self.guard())
    }

    pub(crate) fn read(&self) -> GitCommand {
        self.at_root(Kind::Read)
    }

    pub(crate) fn write(&self) -> GitCommand {
        self.at_root(Kind::Write)
    }

    fn at_root(&self, kind: Kind) -> GitCommand {
        let location = self.location();
        GitCommand::at(self.git(), location, self.root(), self.common_dir(), kind).guarded(self.guard())
    }

    pub(crate) fn location(&self) -> &Arc<Location> {
        &self.inner.location
    }

    /// Where the user's hooks are, when not in the common directory.
    pub(crate) fn hooks_elsewhere(&self) -> Option<&Path> {
        self.inner.location.hooks.as_deref()
    }

    /// The same when it is not for the repository's own settings to say.
    pub(crate) fn hooks_set_outside(&self) -> Option<&Path> {
        self.hooks_elsewhere().filter(|_| self.inner.hooks_set_outside)
    }

    pub(crate) fn last_signed(&self) -> MutexGuard<'_, Option<Instant>> {
        self.inner.signed.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn guard_slot(&self) -> MutexGuard<'_, Option<Arc<Guard>>> {
        self.inner.guard.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether a repository has no files of its own: git believes its settings, and only where it is asked from.
fn is_bare(root: &Path, common_dir: &Path) -> bool {
    let said = |name: &str| git2::Config::open(&common_dir.join(name))?.snapshot()?.get_bool("core.bare");
    root == common_dir || ["config", "config.worktree"].iter().any(|name| said(name).unwrap_or(false))
}

/// Where hooks are, as git says in `asked`, when that is not in the common directory.
fn hooks_elsewhere(hooks: &Path, asked: &Path, root: &Path, common_dir: &Path) -> Option<PathBuf> {
    let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
    if real(hooks) == real(&common_dir.join("hooks")) || hooks == common_dir.join("hooks") {
        return None;
    }
    // A relative setting was answered from where git was asked.
    let top = real(asked);
    let tops = top.ancestors().find(|folder| folder.join(".git").symlink_metadata().is_ok());
    let inside = tops.and_then(|top| hooks.strip_prefix(top).ok());
    Some(inside.map_or_else(|| hooks.to_owned(), |inside| root.join(inside)))
}

/// Whether the repository's own settings say where its hooks are.
async fn sets_hooks_itself(git: &Git, path: &Path) -> Result<bool, GitError> {
    let asked = GitCommand::new(git, path, Kind::Read);
    let output = asked.args(["config", "--show-scope", "--get", "core.hooksPath"]).run().await?;
    Ok([&b"local"[..], b"worktree"].iter().any(|scope| output.stdout.starts_with(scope)))
}

/// What the worktree with this git directory is in the middle of.
pub(crate) fn operation_in(git_dir: &Path) -> Option<Operation> {
    let signs = [
        ("rebase-merge", Operation::Rebase),
        ("rebase-apply", Operation::Rebase),
        ("MERGE_HEAD", Operation::Merge),
        ("CHERRY_PICK_HEAD", Operation::CherryPick),
        ("REVERT_HEAD", Operation::Revert),
    ];
    signs.into_iter().find(|(sign, _)| git_dir.join(sign).exists()).map(|(_, operation)| operation)
}

async fn main_work_tree(
    git: &Git,
    path: &Path,
    common_dir: &Path,
    own_dir: &Path,
) -> Result<PathBuf, GitError> {
    let own_dir = own_dir.canonicalize().unwrap_or_else(|_| own_dir.to_owned());
    if own_dir == common_dir {
        let top = GitCommand::new(git, path, Kind::Read).args(["rev-parse", "--show-toplevel"]).run().await?;
        if top.exit == Some(0) {
            let top = top.stdout.strip_suffix(b"\n").unwrap_or(&top.stdout);
            return Ok(bytes::path(top).to_owned());
        }
        // Inside `.git`, or a bare repository: the list of worktrees knows.
    }
    let list =
        GitCommand::new(git, path, Kind::Read).args(["worktree", "list", "--porcelain", "-z"]).ok().await?;
    let first = bytes::records(&list).next().and_then(|record| record.strip_prefix(b"worktree "));
    Ok(first.map_or_else(|| common_dir.to_owned(), |first| bytes::path(first).to_owned()))
}

#[cfg(test)]
mod tests;
