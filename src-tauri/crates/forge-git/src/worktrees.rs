//! Creating, listing and removing worktrees.
//!
//! Invariants: changes of the list of worktrees take turns, checkouts do not; a worktree is made out of reach and is
//! complete when it comes to its path, so that whatever is found there beyond it is somebody's work; creating is safe to
//! repeat after being cut short at any point; only a directory that this repository registered, whose `.git` leads back to
//! it, is ever removed, and it is renamed, not deleted, while anybody waits.

use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::bytes;
use crate::command::Kind;
use crate::error::{ForeignReason, GitError};
use crate::lock::{self, Purpose, Turn, turn};
use crate::places::{dot_git_target, holds_nothing, is_same, real_path};
use crate::repo::Repo;
use crate::trash::Trash;
use crate::withdraw::{Withdrawn, lead_back};
use crate::worktree_entry::WorktreeEntry;

/// The reason git gives the lock it puts on a worktree while it is being added.
const BEING_ADDED: &str = "initializing";
/// The folder beside a worktree in which it is made.
const SITE: &str = ".making";
/// How often, and how far apart, it is looked whether a git of an earlier engine is done.
const STRAY_LOOKS: u32 = 600;
const STRAY_PAUSE: Duration = Duration::from_millis(50);
/// A git that is alive has a lock open, or is about to rename it: for so many looks it is neither.
const LEFT_LOOKS: u32 = 10;

/// A worktree to be created.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewWorktree {
    /// Where; must not exist, or be empty, or be what an earlier try left.
    pub path: PathBuf,
    /// Its branch (short name). One that exists is attached as it stands.
    pub branch: String,
    /// Where a new branch starts.
    pub base: String,
}

impl Repo {
    /// All worktrees, the main one first.
    pub async fn worktrees(&self) -> Result<Vec<WorktreeEntry>, GitError> {
        // git looks for the files of each worktree and then reads them; one that another creation finishes
        // in between makes the whole list fail. It is made again.
        for pause in [5, 10, 20, 40, 80, 160] {
            let listed = self.read().args(["worktree", "list", "--porcelain", "-z"]).ok().await;
            match listed {
                Ok(output) => return Ok(parse_list(&output)),
                Err(GitError::Failed { .. }) => tokio::time::sleep(Duration::from_millis(pause)).await,
                Err(other) => return Err(other),
            }
        }
        let output = self.read().args(["worktree", "list", "--porcelain", "-z"]).ok().await?;
        Ok(parse_list(&output))
    }

    /// Creates a worktree on its branch. Repeating it, also after a kill, leads to the same end.
    ///
    /// Creations in one repository take turns while git registers them, and check out side by side.
    pub async fn create_worktree(&self, spec: &NewWorktree) -> Result<(), GitError> {
        let path = real_path(&spec.path)?;
        let tree = turn(&path, Purpose::Tree).await;
        let list = turn(self.common_dir(), Purpose::Worktrees).await;
        let Some(prepared) = self.prepare_path(spec, &path).await? else { return Ok(()) };
        let register = async {
            let admin = self.register(spec, &prepared.site, &prepared, &[&tree, &list]).await;
            drop(list);
            admin
        };
        let (admin, rules) = tokio::join!(register, self.checkout_rules());
        let admin = admin?;
        let made = async {
            let rules = rules?;
            self.fill(&prepared.site, &admin, &prepared.start, rules, &tree).await?;
            move_in(&prepared.site, &path, &admin).map(|()| rules)
        };
        match made.await {
            Ok(rules) => self.open_for_use(&path, &admin, rules).await?,
            Err(error) => {
                self.give_up(&prepared.site).await?;
                return Err(error);
            }
        }
        for leftover in prepared.leftovers {
            leftover.delete().await?;
        }
        Ok(())
    }

    /// Makes the path and the branch free for a new worktree; `None` when it is there already.
    /// The caller has both turns.
    pub(crate) async fn prepare_path(
        &self,
        spec: &NewWorktree,
        path: &Path,
    ) -> Result<Option<Prepared>, GitError> {
        let site = site_of(path);
        let mut leftovers = vec![self.clear_site(&site).await?];
        let known = self.worktrees().await?;
        if let Some(entry) = known.iter().find(|entry| is_same(&entry.path, path)) {
            match self.judge(entry, path, &spec.branch)? {
                Existing::Ready => return Ok(None),
                Existing::Locked(admin) => {
                    self.open_for_use(path, &admin, self.checkout_rules().await?).await?;
                    return Ok(None);
                }
                Existing::Gone => self.unregister(path).await?,
                Existing::Empty => {
                    leftovers.push(Trash::set_aside(path)?);
                    self.unregister(path).await?;
                }
            }
        } else if !is_free(path)? {
            // A try that was killed before git registered it left a `.git` that leads to us, and nowhere now.
            if !self.is_unregistered_leftover(path) {
                return Err(GitError::PathOccupied { path: path.to_owned() });
            }
            leftovers.push(Trash::set_aside(path)?);
        }
        let tip = self.resolve(&format!("refs/heads/{}", spec.branch)).await?;
        let branch_exists = tip.is_some();
        let start = match tip {
            Some(tip) => tip,
            None => self.must_resolve(&spec.base).await?,
        };
        if branch_exists {
            for user in known.iter().filter(|e| e.branch.as_deref() == Some(&spec.branch)) {
                if is_same(&user.path, path) {
                    continue;
                }
                if user.path.exists() {
                    let worktree = user.path.clone();
                    return Err(GitError::BranchCheckedOut { branch: spec.branch.clone(), worktree });
                }
                self.unregister(&user.path).await?;
            }
        }
        if let Some(folder) = site.parent() {
            std::fs::create_dir_all(folder).map_err(GitError::io("create", folder))?;
        }
        Ok(Some(Prepared { site, leftovers, branch_exists, start, known }))
    }

    /// Has git make a worktree without files, locked as being added; its administrative directory.
    pub(crate) async fn register(
        &self,
        spec: &NewWorktree,
        path: &Path,
        prepared: &Prepared,
        turns: &[&Turn],
    ) -> Result<PathBuf, GitError> {
        match self.try_to_register(spec, path, prepared, turns).await {
            Err(GitError::IndexLocked { path: lock, holder: None })
                if lock == self.lock_of_branch(&spec.branch) && is_left_behind(&lock).await =>
            {
                std::fs::remove_file(&lock).map_err(GitError::io("remove", &lock))?;
                self.try_to_register(spec, path, prepared, turns).await
            }
            other => other,
        }
    }

    fn lock_of_branch(&self, branch: &str) -> PathBuf {
        self.common_dir().join(format!("refs/heads/{branch}.lock"))
    }

    async fn try_to_register(
        &self,
        spec: &NewWorktree,
        path: &Path,
        prepared: &Prepared,
        turns: &[&Turn],
    ) -> Result<PathBuf, GitError> {
        let mut command = self
            .main_worktree()
            .command(Kind::User)
            // Absolute whatever the user's setting: programs of other versions open these worktrees too.
            .config("worktree.useRelativePaths=false")
            // Neither a remote's branch of that name nor tracking of the base is meant.
            .args(["worktree", "add", "--quiet", "--no-guess-remote", "--no-checkout"])
            .args(["--lock", "--reason", BEING_ADDED]);
        for turn in turns {
            // The next one must not start while this one, given up, is still cleaning up behind itself.
            command = command.during(turn);
        }
        command = if prepared.branch_exists {
            command.arg("--").arg(path).arg(&spec.branch)
        } else {
            command.args(["--no-track", "-b", &spec.branch, "--"]).arg(path).arg(&prepared.start)
        };
        let args = command.shown();
        let output = command.run().await?;
        if output.exit == Some(0) {
            let what = || GitError::Unexpected { args, what: "git created no worktree".to_owned() };
            return self.admin_dir(path).ok_or_else(what);
        }
        let others =
            ["config.lock", "packed-refs.lock", "index.lock"].map(|name| self.common_dir().join(name));
        for lock in others.into_iter().chain([self.lock_of_branch(&spec.branch)]) {
            if lock.exists() {
                return Err(GitError::IndexLocked { holder: lock::holder(&lock), path: lock });
            }
        }
        Err(output.failed(args))
    }

    /// Takes back what could not be finished. The caller has the tree's turn only.
    pub(crate) async fn give_up(&self, site: &Path) -> Result<(), GitError> {
        let _list = turn(self.common_dir(), Purpose::Worktrees).await;
        self.clear_site(site).await?.delete().await
    }

    /// Sets aside what a try that was cut short left where it made its worktree, and has git forget it. The caller has the
    /// list's turn.
    async fn clear_site(&self, site: &Path) -> Result<Trash, GitError> {
        self.outlive_stray_git(site).await?;
        let trash = Trash::set_aside(site.parent().unwrap_or(site))?;
        if self.admin_that_leads_to(site).is_some() {
            self.unregister(site).await?;
        }
        Ok(trash)
    }

    /// A git that outlived an engine that was killed may still be checking out: its end is waited for, or it
    /// would write into what is made anew.
    async fn outlive_stray_git(&self, site: &Path) -> Result<(), GitError> {
        let Some(lock) = self.admin_dir(site).map(|admin| admin.join("index.lock")) else { return Ok(()) };
        for _ in 0..STRAY_LOOKS {
            if lock::holder(&lock).is_none() {
                return Ok(());
            }
            tokio::time::sleep(STRAY_PAUSE).await;
        }
        Err(GitError::IndexLocked { holder: lock::holder(&lock), path: lock })
    }

    fn judge(&self, entry: &WorktreeEntry, path: &Path, branch: &str) -> Result<Existing, GitError> {
        if !path.exists() {
            return Ok(Existing::Gone);
        }
        if holds_nothing(path) {
            return Ok(Existing::Empty);
        }
        let occupied = || GitError::PathOccupied { path: path.to_owned() };
        let admin = self.admin_dir(path).or_else(|| self.admin_of_lent(path));
        let admin = admin.filter(|admin| admin.join("index").exists()).ok_or_else(occupied)?;
        // An agent may have detached it for a rebase; it is still that branch's.
        let rebasing = rebasing_branch(&admin);
        if entry.branch.as_deref() != Some(branch) && rebasing.as_deref() != Some(branch) {
            return Err(occupied());
        }
        Ok(match entry.locked.as_deref() == Some(BEING_ADDED) {
            true => Existing::Locked(admin),
            false => Existing::Ready,
        })
    }

    /// Removes a withdrawn worktree: its files are gone when the answer's `delete` is done.
    pub async fn remove_worktree(&self, mut withdrawn: Withdrawn) -> Result<Trash, GitError> {
        let _list = turn(self.common_dir(), Purpose::Worktrees).await;
        let path = withdrawn.path().to_owned();
        let trash = Trash::set_aside(&path)?;
        if let Err(error) = self.unregister(&path).await {
            trash.put_back(&path)?;
            return Err(error);
        }
        withdrawn.aside = None;
        Ok(trash)
    }

    /// The entry of a worktree that may be withdrawn: registered, not the main one, not locked by anybody,
    /// and what lies there leads back here.
    pub(crate) async fn require_ours(&self, path: &Path) -> Result<WorktreeEntry, GitError> {
        let refuse = |reason| Err(GitError::NotOurWorktree { path: path.to_owned(), reason });
        let mut known = self.worktrees().await?;
        let Some(place) = known.iter().position(|entry| is_same(&entry.path, path)) else {
            return refuse(ForeignReason::NotRegistered);
        };
        if place == 0 {
            return refuse(ForeignReason::MainWorktree);
        }
        match &known[place].locked {
            Some(reason) if reason != BEING_ADDED => {
                return refuse(ForeignReason::Locked { reason: reason.clone() });
            }
            _ => {}
        }
        if path.symlink_metadata().is_ok() && self.admin_dir(path).is_none() {
            let is_lent = self.admin_of_lent(path).is_some();
            return refuse(if is_lent { ForeignReason::Lent } else { ForeignReason::ForeignDotGit });
        }
        Ok(known.swap_remove(place))
    }

    /// Forgets a worktree that is registered though its directory is gone, unless somebody locked it; also one whose
    /// creation was cut short.
    pub async fn forget_worktree(&self, path: &Path) -> Result<(), GitError> {
        let path = &real_path(path)?;
        let _tree = turn(path, Purpose::Tree).await;
        let _turn = turn(self.common_dir(), Purpose::Worktrees).await;
        self.clear_site(&site_of(path)).await?.delete().await?;
        let admin = self.admin_that_leads_to(path);
        match admin.filter(|admin| admin.join("locked").symlink_metadata().is_err()) {
            Some(_) => self.unregister(path).await,
            None => Ok(()),
        }
    }

    /// Forgets one worktree whose directory is gone, and no other (`prune` would forget those too whose disk
    /// is not mounted just now).
    pub(crate) async fn unregister(&self, path: &Path) -> Result<(), GitError> {
        // Twice: also when a killed `add` left its lock.
        self.write().args(["worktree", "remove", "--force", "--force", "--"]).arg(path).ok().await.map(drop)
    }

    /// Worktrees that have a branch checked out, also those in the middle of rebasing it. A registered
    /// directory that is gone has nothing checked out.
    pub(crate) async fn checkouts_of(&self, branch: &str) -> Result<Vec<WorktreeEntry>, GitError> {
        let name = branch.to_owned();
        if self.locally(move |local| local.is_free(&name)).await.is_some() {
            return Ok(Vec::new());
        }
        let mut users = Vec::new();
        for (place, entry) in self.worktrees().await?.into_iter().enumerate() {
            if entry.bare || !entry.path.exists() {
                continue;
            }
            let is_user = match &entry.branch {
                Some(name) => name == branch,
                None => {
                    let admin = if place == 0 {
                        Some(self.common_dir().to_owned())
                    } else {
                        self.admin_dir(&entry.path).or_else(|| self.admin_of_lent(&entry.path))
                    };
                    admin.and_then(|dir| rebasing_branch(&dir)).as_deref() == Some(branch)
                }
            };
            if is_user {
                users.push(entry);
            }
        }
        Ok(users)
    }

    /// Where this repository keeps what it knows of the worktree, when both lead to each other.
    pub(crate) fn admin_dir(&self, worktree: &Path) -> Option<PathBuf> {
        let admin = dot_git_target(worktree)?.canonicalize().ok()?;
        let ours = self.common_dir().join("worktrees").canonicalize().ok()?;
        if admin.parent() != Some(&ours) {
            return None;
        }
        let back = std::fs::read(admin.join("gitdir")).ok()?;
        let back = admin.join(bytes::path(back.strip_suffix(b"\n").unwrap_or(&back)));
        is_same(back.parent()?, worktree).then_some(admin)
    }

    /// The same where the worktree's `.git` leads elsewhere or is gone: the repository's own record says which
    /// directory belongs to the worktree.
    pub(crate) fn admin_that_leads_to(&self, worktree: &Path) -> Option<PathBuf> {
        let ours = self.common_dir().join("worktrees").canonicalize().ok()?;
        let mut found: Vec<PathBuf> =
            std::fs::read_dir(ours).ok()?.flatten().map(|entry| entry.path()).collect();
        found.sort_unstable();
        found.into_iter().find(|admin| {
            let back = std::fs::read(admin.join("gitdir")).unwrap_or_default();
            let back = admin.join(bytes::path(back.strip_suffix(b"\n").unwrap_or(&back)));
            back.file_name().is_some_and(|name| name == ".git")
                && back.parent().is_some_and(|back| is_same(back, worktree))
        })
    }

    /// Left by an `add` that was killed: nothing but a `.git` that leads into our repository, to no worktree.
    fn is_unregistered_leftover(&self, path: &Path) -> bool {
        let leads_nowhere = dot_git_target(path).is_some_and(|target| {
            target.parent() == Some(&self.common_dir().join("worktrees")) && self.admin_dir(path).is_none()
        });
        leads_nowhere && holds_nothing(path)
    }
}

/// A path and a branch that are ready for a new worktree.
#[derive(Debug)]
pub(crate) struct Prepared {
    /// The folder in which it is made: beside its path, where nothing else looks.
    pub(crate) site: PathBuf,
    /// What tries that were cut short left.
    pub(crate) leftovers: Vec<Trash>,
    /// The branch is there already and is attached as it stands.
    pub(crate) branch_exists: bool,
    /// The commit that the worktree begins with.
    pub(crate) start: String,
    /// The worktrees that the repository knew.
    pub(crate) known: Vec<WorktreeEntry>,
}

enum Existing {
    Ready,
    /// It was cut short right after the worktree came to its path.
    Locked(PathBuf),
    Gone,
    /// There is no more than its `.git`.
    Empty,
}

fn parse_list(output: &[u8]) -> Vec<WorktreeEntry> {
    let mut list: Vec<WorktreeEntry> = Vec::new();
    for record in output.split(|b| *b == 0) {
        let (key, value) = match record.iter().position(|b| *b == b' ') {
            Some(at) => (&record[..at], &record[at + 1..]),
            None => (record, &b""[..]),
        };
        if key == b"worktree" {
            list.push(WorktreeEntry {
                path: bytes::path(value).to_owned(),
                head: None,
                branch: None,
                prunable: false,
                bare: false,
                locked: None,
            });
            continue;
        }
        let Some(entry) = list.last_mut() else { continue };
        match key {
            b"HEAD" if value.iter().any(|b| *b != b'0') => entry.head = Some(bytes::text(value)),
            b"branch" => {
                let name = value.strip_prefix(b"refs/heads/").unwrap_or(value);
                entry.branch = Some(bytes::text(name));
            }
            b"prunable" => entry.prunable = true,
            b"bare" => entry.bare = true,
            b"locked" => entry.locked = Some(bytes::text(value)),
            // `detached`, and what later versions add.
            _ => {}
        }
    }
    list
}

pub(crate) fn is_free(path: &Path) -> Result<bool, GitError> {
    match std::fs::read_dir(path) {
        Ok(mut entries) => Ok(entries.next().is_none()),
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => Ok(path.symlink_metadata().is_err()),
        Err(e) if e.kind() == std::io::ErrorKind::NotADirectory => Ok(false),
        Err(source) => Err(GitError::Io { doing: "look into", path: path.to_owned(), source }),
    }
}

/// The branch that a rebase in this git directory will move when it is done.
pub(crate) fn rebasing_branch(git_dir: &Path) -> Option<String> {
    ["rebase-merge", "rebase-apply"].iter().find_map(|dir| {
        let name = std::fs::read_to_string(git_dir.join(dir).join("head-name")).ok()?;
        Some(name.trim_end().strip_prefix("refs/heads/")?.to_owned())
    })
}

/// Where a worktree is made that will lie at a path: a folder of its own, so that git names it after the path.
fn site_of(path: &Path) -> PathBuf {
    path.with_file_name(SITE).join(path.file_name().unwrap_or_default())
}

/// Brings a worktree that is complete to its path. Locked as being added, it is told from one that is not.
pub(crate) fn move_in(site: &Path, path: &Path, admin: &Path) -> Result<(), GitError> {
    lead_back(admin, path)?;
    if let Err(error) = std::fs::rename(site, path) {
        lead_back(admin, site)?;
        return Err(match error.kind() {
            std::io::ErrorKind::DirectoryNotEmpty => GitError::PathOccupied { path: path.to_owned() },
            _ => GitError::Io { doing: "move", path: path.to_owned(), source: error },
        });
    }
    let folder = site.parent().unwrap_or(site);
    std::fs::remove_dir(folder).map_err(GitError::io("remove", folder))
}

/// Whether a lock was left by a git that was given up right when it made it, before it could note down what to remove.
async fn is_left_behind(lock: &Path) -> bool {
    let made = || lock.metadata().ok().map(|found| (found.ino(), found.modified().ok()));
    let first = made();
    for _ in 0..LEFT_LOOKS {
        tokio::time::sleep(STRAY_PAUSE).await;
        if made() != first || first.is_none() || lock::holder(lock).is_some() {
            return false;
        }
    }
    true
}

#[cfg(test)]
mod tests;
