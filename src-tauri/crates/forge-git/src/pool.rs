//! Slots: finished worktrees that wait in a folder for the next task, since switching one costs a fraction of
//! making one.
//!
//! A slot is a registered worktree with a detached `HEAD`. To be taken it is claimed by renaming it (two never get
//! the same), given the administrative directory of a newly registered worktree, and moved to the new path; only
//! then is it reset and cleaned, and only when that is done is it unlocked. Until then it counts as half made:
//! whoever finds it makes a new one. So nothing of the earlier task can be taken for the new one's: refs of its own,
//! configuration, sparse patterns, submodules and operations lay in the old administrative directory, which is gone;
//! of its files only those pass that the index knows to be as committed (or ignored ones, when they are to stay).
//!
//! The folder is Forge's own. Slots are named `slot-<uuid>`, claimed ones `taken-<uuid>`; a claimed one that is found
//! when nobody has the turn was left by a kill, and goes.

use std::ffi::OsStr;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use crate::bytes;
use crate::command::Kind;
use crate::error::GitError;
use crate::index_paths::Paths;
use crate::lock::{Purpose, Turn, turn};
use crate::places::{dot_git_target, real_path};
use crate::repo::{Repo, operation_in};
use crate::sweep::{self, Tracked};
use crate::trash::Trash;
use crate::withdraw::{Withdrawn, lead_back};
use crate::worktree::Worktree;
use crate::worktree_entry::WorktreeEntry;
use crate::worktrees::{NewWorktree, Prepared, move_in};

const SLOT: &str = "slot-";
const TAKEN: &str = "taken-";
/// Signs of an operation that has a branch in use, beyond those that everybody shows.
const BISECTING: &str = "BISECT_LOG";

/// What of an earlier task's files stays in a slot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Keep {
    /// Tracked ones only.
    Tracked,
    /// Ignored ones too: dependencies and build caches stay warm, and so does whatever else is ignored.
    WithIgnored,
}

impl Repo {
    /// Makes a withdrawn worktree a slot in the folder `pool`: its path and its branch are free when this returns.
    /// What is worth keeping was backed up before.
    ///
    /// `false` when it is no good as one, and has to be removed: the pool holds `most` already, the directory is
    /// gone or not complete, lies on another file system, or is in the middle of a rebase, merge or the like.
    pub async fn pool_worktree(
        &self,
        withdrawn: &mut Withdrawn,
        pool: &Path,
        most: usize,
    ) -> Result<bool, GitError> {
        let _list = turn(self.common_dir(), Purpose::Worktrees).await;
        let (Some(path), Some(admin)) = (withdrawn.aside.clone(), withdrawn.admin.clone()) else {
            return Ok(false);
        };
        let busy = operation_in(&admin).is_some() || admin.join(BISECTING).exists();
        if withdrawn.entry.locked.is_some() || busy || !admin.join("index").exists() {
            return Ok(false);
        }
        let Some(head) = withdrawn.entry.head.clone() else { return Ok(false) };
        if self.slots_in(pool)?.len() >= most {
            return Ok(false);
        }
        fs::create_dir_all(pool).map_err(GitError::io("create", pool))?;
        let slot = real_path(pool)?.join(format!("{SLOT}{}", uuid::Uuid::now_v7().simple()));
        let detach = ["update-ref", "--no-deref", "-m", "forge: branch set free", "HEAD", &head];
        self.worktree_at(&path).command(Kind::Write).args(detach).ok().await?;
        match fs::rename(&path, &slot) {
            Err(e) if e.kind() == ErrorKind::CrossesDevices => return Ok(false),
            other => other.map_err(GitError::io("move", &path))?,
        }
        withdrawn.aside = None;
        lead_to_each_other(&slot, &admin)?;
        Ok(true)
    }

    /// The slots in a pool, oldest first.
    pub async fn slots(&self, pool: &Path) -> Result<Vec<PathBuf>, GitError> {
        let _list = turn(self.common_dir(), Purpose::Worktrees).await;
        self.slots_in(pool)
    }

    /// Makes a slot the new worktree; `false` when there is none, and one has to be created.
    ///
    /// The worktree is what [`Repo::create_worktree`] would have made, with ignored files of the earlier task beside
    /// if they are to be kept. A slot that does not come out so is dropped, and the next one taken. Repeating it,
    /// also after a kill and also by `create_worktree`, leads to the same end.
    pub async fn take_slot(&self, pool: &Path, spec: &NewWorktree, keep: Keep) -> Result<bool, GitError> {
        let path = real_path(&spec.path)?;
        let tree = turn(&path, Purpose::Tree).await;
        loop {
            let list = turn(self.common_dir(), Purpose::Worktrees).await;
            if self.slots_in(pool)?.is_empty() {
                return Ok(false);
            }
            let pool = real_path(pool)?;
            let Some(mut prepared) = self.prepare_path(spec, &path).await? else { return Ok(true) };
            self.clear_leftovers(&pool, &prepared.known).await?;
            let Some(claimed) = self.claim(&pool)? else {
                delete_later(prepared.leftovers);
                return Ok(false);
            };
            let turns = [&tree, &list];
            let register = self.register(spec, &prepared.site, &prepared, &turns);
            let (admin, rules) = tokio::join!(register, self.checkout_rules());
            let admin = match admin {
                Ok(admin) => admin,
                Err(error) => {
                    fs::rename(&claimed.now, &claimed.slot)
                        .map_err(GitError::io("put back", &claimed.slot))?;
                    return Err(error);
                }
            };
            delete_later(std::mem::take(&mut prepared.leftovers));
            let settled = self.place_claimed(&claimed, &prepared, &admin, list, &pool, keep, &tree).await;
            match settled.and_then(|()| move_in(&prepared.site, &path, &admin)) {
                Ok(()) => {
                    self.open_for_use(&path, &admin, rules?).await?;
                    return Ok(true);
                }
                Err(error) => {
                    tracing::warn!(slot = %claimed.slot.display(), %error, "dropped a slot");
                    self.give_up(&prepared.site).await?;
                }
            }
        }
    }

    /// Removes the oldest slots until `keep` are left, and what was left in the pool by kills.
    pub async fn drop_slots(&self, pool: &Path, keep: usize) -> Result<(), GitError> {
        let list = turn(self.common_dir(), Purpose::Worktrees).await;
        let slots = self.slots_in(pool)?;
        if slots.is_empty() && !pool.exists() {
            return Ok(());
        }
        let pool = real_path(pool)?;
        for slot in &slots[..slots.len().saturating_sub(keep)] {
            // Deleted below, with what earlier runs set aside.
            let _lies_in_the_pool = Trash::set_aside(slot)?;
            self.unregister(slot).await?;
        }
        self.clear_leftovers(&pool, &self.worktrees().await?).await?;
        drop(list);
        for trash in Trash::left_in(&pool)? {
            trash.delete().await?;
        }
        Ok(())
    }

    fn slots_in(&self, pool: &Path) -> Result<Vec<PathBuf>, GitError> {
        let mut slots = named_in(pool, SLOT)?;
        slots.retain(|slot| self.admin_dir(slot).is_some_and(|admin| admin.join("index").exists()));
        slots.sort_unstable();
        Ok(slots)
    }

    /// Takes the newest slot out of everybody's reach.
    fn claim(&self, pool: &Path) -> Result<Option<Claimed>, GitError> {
        while let Some(slot) = self.slots_in(pool)?.pop() {
            let Some(admin) = self.admin_dir(&slot) else { continue };
            let now = pool.join(format!("{TAKEN}{}", uuid::Uuid::new_v4().simple()));
            match fs::rename(&slot, &now) {
                Ok(()) => return Ok(Some(Claimed { slot, now, admin })),
                Err(e) if e.kind() == ErrorKind::NotFound => {}
                Err(source) => return Err(GitError::Io { doing: "claim", path: slot, source }),
            }
        }
        Ok(None)
    }

    /// Makes the claimed directory the worktree that was just registered at `site`.
    #[expect(clippy::too_many_arguments, reason = "one caller; each is a thing of its own")]
    async fn place_claimed(
        &self,
        claimed: &Claimed,
        prepared: &Prepared,
        admin: &Path,
        list: Turn,
        pool: &Path,
        keep: Keep,
        tree: &Turn,
    ) -> Result<(), GitError> {
        let site = &prepared.site;
        for entry in fs::read_dir(&claimed.admin).map_err(GitError::io("list", &claimed.admin))?.flatten() {
            let name = entry.file_name();
            // The index knows what the files held when it was written; a split one has a part beside it.
            if name == OsStr::new("index") || bytes::of(Path::new(&name)).starts_with(b"sharedindex.") {
                fs::rename(entry.path(), admin.join(&name)).map_err(GitError::io("move", entry.path()))?;
            }
        }
        fs::rename(site.join(".git"), claimed.now.join(".git"))
            .map_err(GitError::io("connect", &claimed.now))?;
        fs::remove_dir(site).map_err(GitError::io("make room at", site))?;
        fs::rename(&claimed.now, site).map_err(GitError::io("move", &claimed.now))?;
        let forget = async {
            let forgotten = self.unregister(&claimed.slot).await;
            drop(list);
            forgotten
        };
        let (forgotten, switched) =
            tokio::join!(forget, self.switch_and_clean(prepared, admin, pool, keep, tree));
        forgotten.and(switched)
    }

    async fn switch_and_clean(
        &self,
        prepared: &Prepared,
        admin: &Path,
        pool: &Path,
        keep: Keep,
        tree: &Turn,
    ) -> Result<(), GitError> {
        let path = &prepared.site;
        self.check_out(path, admin, &prepared.start, tree).await?;
        let worktree = self.worktree_at(path);
        let mut tracked = worktree.tracked().await?;
        if worktree.clear_marks(admin, tracked.assumed(), tracked.skipped()).await? {
            self.check_out(path, admin, &prepared.start, tree).await?;
            tracked = worktree.tracked().await?;
        }
        if keep == Keep::WithIgnored {
            // Twice the force: repositories that are not ignored go too.
            worktree.command(Kind::Write).during(tree).args(["clean", "-d", "-ff", "--quiet"]).ok().await?;
        }
        let (root, aside) = (path.to_owned(), pool.to_owned());
        let evicted = tokio::task::spawn_blocking(move || match keep {
            Keep::Tracked => sweep::all_but_tracked(&root, &tracked, &aside),
            Keep::WithIgnored => sweep::foreign_repositories(&root, &tracked, &aside),
        });
        delete_later([evicted.await??]);
        Ok(())
    }

    /// Takes away what kills left in a pool: claimed slots and broken ones. The caller has the turn.
    async fn clear_leftovers(&self, pool: &Path, known: &[WorktreeEntry]) -> Result<(), GitError> {
        let mut broken = named_in(pool, SLOT)?;
        broken.retain(|slot| {
            let leads_here = dot_git_target(slot)
                .is_none_or(|target| target.parent() == Some(&self.common_dir().join("worktrees")));
            leads_here && self.admin_dir(slot).is_none_or(|admin| !admin.join("index").exists())
        });
        broken.extend(named_in(pool, TAKEN)?);
        for left in broken {
            delete_later([Trash::set_aside(&left)?]);
        }
        for entry in known {
            if entry.path.parent() == Some(pool) && !entry.path.exists() {
                self.unregister(&entry.path).await?;
            }
        }
        Ok(())
    }
}

impl Worktree {
    async fn tracked(&self) -> Result<Tracked, GitError> {
        let index = self.git_dir().await?.join("index");
        let read = tokio::task::spawn_blocking(move || {
            let paths = Paths::read(&index).map_err(GitError::io("read", &index))?;
            Ok::<_, GitError>(paths.as_ref().map(Tracked::from_paths))
        });
        if let Some(tracked) = read.await?? {
            return Ok(tracked);
        }
        // An index of a kind that is not read here.
        let command = self.command(Kind::Read).args(["ls-files", "-z", "-v", "--stage"]);
        let args = command.shown();
        Tracked::parse(&command.ok().await?).map_err(|what| GitError::Unexpected { args, what })
    }
}

/// A slot that is nobody else's any more.
#[derive(Debug)]
struct Claimed {
    /// Where it was, and where git believes it to be.
    slot: PathBuf,
    /// Where it is.
    now: PathBuf,
    admin: PathBuf,
}

/// Directories of the pool whose names start so.
fn named_in(pool: &Path, prefix: &str) -> Result<Vec<PathBuf>, GitError> {
    let entries = match fs::read_dir(pool) {
        Err(e) if e.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        other => other.map_err(GitError::io("list", pool))?,
    };
    let pool = real_path(pool)?;
    let mut found = Vec::new();
    for entry in entries {
        let entry = entry.map_err(GitError::io("list", &pool))?;
        let is_dir = entry.file_type().is_ok_and(|kind| kind.is_dir());
        if is_dir && entry.file_name().to_string_lossy().starts_with(prefix) {
            found.push(pool.join(entry.file_name()));
        }
    }
    Ok(found)
}

/// Connects a moved worktree with its administrative directory, as `git worktree repair` does.
fn lead_to_each_other(worktree: &Path, admin: &Path) -> Result<(), GitError> {
    lead_back(admin, worktree)?;
    let dot_git = worktree.join(".git");
    let line = [b"gitdir: ", bytes::of(admin), b"\n"].concat();
    fs::write(&dot_git, line).map_err(GitError::io("write", dot_git))
}

/// Deletes in the background; what a kill leaves is deleted by [`Repo::drop_slots`] and by [`Trash::left_in`].
fn delete_later(trash: impl IntoIterator<Item = Trash>) {
    for trash in trash {
        tokio::spawn(async move {
            if let Err(error) = trash.delete().await {
                tracing::warn!(%error, "files of a slot stay until the next start");
            }
        });
    }
}

#[cfg(test)]
mod tests;
