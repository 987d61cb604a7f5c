//! Taking back what programs did in a lent git directory.
//!
//! In this order, so that each step finds what it needs and a repetition finds what is done: objects, refs that keep what
//! is not put in its place, the log of `HEAD`, the worktree's branch, `HEAD`, the index, the unfinished operation, the
//! worktree's `.git`, and at last the folder. A step is done where the repository is as it was when it was lent; where it
//! is as programs left it already, the step was done by a try that was cut short.

use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};

use super::objects::{Store, Wanted};
use super::places::{self, Places};
use super::plan::{Head, Plan};
use super::refs::Change;
use super::sandbox_refs::update_refs;
use super::{LeftOut, TakenBack, index, lfs, reflog};
use crate::command::Kind;
use crate::error::GitError;
use crate::lock::{Purpose, turn};
use crate::places::real_path;
use crate::worktree::Worktree;

/// How far it goes; tests stop it early, as a kill would.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Step {
    Objects,
    Kept,
    Log,
    Branch,
    Head,
    Index,
    Operation,
    DotGit,
    Folder,
    All,
}

impl Worktree {
    /// Takes back what programs did in the git directory that was lent in `folder`. The `.git` of the worktree leads to
    /// the repository again, and the folder is gone. What is not put in its place is kept under
    /// `refs/forge/sandbox/<task_key>/`. The programs have ended.
    ///
    /// Nothing to do where nothing is lent. Repeating it, also after being cut short, leads to the same end. A `.git` that
    /// programs replaced stays for `rewrite_dot_git`.
    ///
    /// # Errors
    /// [`GitError::LentDamaged`] when the commits of the worktree's branch or `HEAD` are not whole: the repository is as it
    /// was, the `.git` leads to it, and the lent directory is kept where the error says. git's and the file system's
    /// errors; it can be repeated after them.
    pub async fn take_back(&self, folder: &Path, task_key: &str) -> Result<TakenBack, GitError> {
        self.take_back_until(folder, task_key, Step::All).await
    }

    pub(super) async fn take_back_until(
        &self,
        folder: &Path,
        task_key: &str,
        last: Step,
    ) -> Result<TakenBack, GitError> {
        let _turn = turn(&real_path(self.path())?, Purpose::Tree).await;
        let (worktree, places) = (self.clone(), Places::of(&real_path(folder)?));
        let read = tokio::task::spawn_blocking(move || {
            if !places.is_handed() {
                return worktree.clear_lent(&places).map(|()| None);
            }
            Plan::read(&places).map(|plan| Some((places, plan)))
        });
        let Some((places, plan)) = read.await?? else { return Ok(TakenBack::default()) };
        let admin = self.git_dir().await?;
        let mut taking = Taking {
            worktree: self,
            places: &places,
            admin: &admin,
            task_key,
            back: TakenBack { was_lent: true, ..TakenBack::default() },
            plan: &plan,
            last,
        };
        let done = if plan.is_unchanged() { Ok(()) } else { Box::pin(taking.take()).await };
        let mut back = taking.back;
        let damaged = match done {
            Ok(()) => None,
            Err(Stopped::Early) => return Ok(back),
            Err(Stopped::Failed(error)) => return Err(error),
            Err(Stopped::Damaged(reason)) => Some(reason),
        };
        if last < Step::DotGit {
            return Ok(back);
        }
        let is_kept = damaged.is_some() || !back.left_out.is_empty();
        let worktree = self.clone();
        back.rescue =
            tokio::task::spawn_blocking(move || worktree.finish(&places, &admin, is_kept, last)).await??;
        match (damaged, &back.rescue) {
            (Some(reason), Some(kept)) => {
                let (worktree, kept) = (self.path().to_owned(), kept.clone());
                Err(GitError::LentDamaged { worktree, kept, reason })
            }
            _ => Ok(back),
        }
    }

    /// Has `.git` lead to the repository, and puts the folder away; where it is kept.
    fn finish(
        &self,
        places: &Places,
        admin: &Path,
        is_kept: bool,
        last: Step,
    ) -> Result<Option<PathBuf>, GitError> {
        lfs::take_back(&places.folder, self.repo().common_dir())?;
        let is_missing = self.path().is_dir() && self.path().join(".git").symlink_metadata().is_err();
        if is_missing || places::leads_to(self.path(), &places.folder) {
            places::lead(self.path(), admin)?;
        }
        if last < Step::Folder {
            return Ok(None);
        }
        let rescue = is_kept.then(|| places.rescue());
        let target = rescue.as_ref().unwrap_or(&places.gone);
        if rescue.is_none() {
            places::remove_folder(&places.gone)?;
        }
        fs::rename(&places.folder, target).map_err(GitError::io("set aside", &places.folder))?;
        if last == Step::All {
            self.clear_lent(places)?;
        }
        Ok(rescue)
    }

    /// Removes what is left of a lending: of one that was taken back, or that no program was in.
    fn clear_lent(&self, places: &Places) -> Result<(), GitError> {
        if let Some(admin) = self.recorded_git_dir() {
            if places::leads_to(self.path(), &places.folder) {
                places::lead(self.path(), &admin)?;
            }
            places::forget(&admin, &places.folder)?;
        }
        if places.was.symlink_metadata().is_ok() {
            places::remove_folder(&places.folder)?;
            places::remove_folder(&places.was)?;
        }
        places.clear()
    }
}

/// Why it did not come to its end.
enum Stopped {
    /// As asked for.
    Early,
    /// The commits of the branch or `HEAD` are not whole.
    Damaged(String),
    Failed(GitError),
}

impl From<GitError> for Stopped {
    fn from(error: GitError) -> Self {
        Self::Failed(error)
    }
}

impl From<tokio::task::JoinError> for Stopped {
    fn from(error: tokio::task::JoinError) -> Self {
        Self::Failed(error.into())
    }
}

struct Taking<'a> {
    worktree: &'a Worktree,
    places: &'a Places,
    admin: &'a Path,
    task_key: &'a str,
    plan: &'a Plan,
    back: TakenBack,
    last: Step,
}

/// What is in the repository, whole.
struct Brought {
    /// Whether the objects of refs besides the branch and `HEAD` are.
    others: bool,
    /// The copy of the index, when its objects are.
    index: Option<PathBuf>,
    /// The part of the log of `HEAD` whose objects are.
    log: Vec<u8>,
}

impl Taking<'_> {
    async fn take(&mut self) -> Result<(), Stopped> {
        let plan = self.plan;
        let tip = Plan::tip(&plan.refs_now, plan.head_now.as_ref());
        if tip != Plan::tip(&plan.refs_was, plan.head_was.as_ref()) {
            self.back.head.clone_from(&tip);
        }
        let brought = self.bring(tip.as_deref()).await?;
        self.after(Step::Objects)?;
        self.keep(&brought).await?;
        self.after(Step::Kept)?;
        reflog::append(self.admin, &brought.log)?;
        self.after(Step::Log)?;
        let is_diverged = !self.move_branch().await?;
        self.after(Step::Branch)?;
        self.move_head(tip).await?;
        self.after(Step::Head)?;
        self.move_own_refs().await?;
        self.put_index(brought.index.as_deref(), is_diverged)?;
        self.after(Step::Index)?;
        if plan.state_now != plan.state_was {
            let is_applied = !plan.state_now.is_odd && plan.state_now.apply(&plan.state_was, self.admin)?;
            if !is_applied {
                self.leave_out(LeftOut::Operation);
            }
        }
        self.after(Step::Operation)
    }

    fn after(&self, step: Step) -> Result<(), Stopped> {
        if self.last == step { Err(Stopped::Early) } else { Ok(()) }
    }

    fn leave_out(&mut self, part: LeftOut) {
        if !self.back.left_out.contains(&part) {
            self.back.left_out.push(part);
        }
    }

    async fn repo_keeps(&mut self, made: &[(Option<&str>, &str)]) -> Result<(), GitError> {
        let kept = self.worktree.repo().keep_made(self.task_key, made).await?;
        for name in kept {
            if !self.back.kept_refs.contains(&name) {
                self.back.kept_refs.push(name);
            }
        }
        Ok(())
    }

    /// Brings the objects into the repository.
    async fn bring(&mut self, tip: Option<&str>) -> Result<Brought, Stopped> {
        let plan = self.plan;
        let mut tips: Vec<String> = Vec::new();
        if plan.head_now != plan.head_was || plan.own_change().is_some() {
            tips.extend(tip.map(str::to_owned));
        }
        tips.extend(plan.own_change().and_then(|change| change.now.clone()));
        let mut others: Vec<String> = plan.other_changes().filter_map(|change| change.now.clone()).collect();
        others.extend(plan.changes.iter().filter(|it| it.is_of_worktree()).filter_map(|it| it.now.clone()));
        others.extend(plan.stash.iter().cloned());
        let mut hints = reflog::oids(&plan.log);
        if plan.state_now != plan.state_was {
            hints.extend(plan.state_now.oids());
        }
        let (places, is_new) = (self.places.clone(), plan.index_now != plan.index_was);
        let (admin, oid_len) = (self.admin.to_owned(), self.oid_len());
        let index_now = plan.index_now.clone().filter(|_| is_new);
        let (store, mut index) = tokio::task::spawn_blocking(move || {
            places::remove_folder(&places.taking)?;
            let store = Store::collect(&places.folder, &places.taking)?;
            let is_whole = index_now.is_some_and(|index| index::is_whole(&index, oid_len));
            let mut copy = None;
            if is_whole && index::copy(&places.folder, &places.taking)? {
                index::copy_shared(&places.folder, &admin)?;
                copy = Some(places.taking.join("index"));
            }
            Ok::<_, GitError>((store, copy))
        })
        .await??;
        if is_new && index.is_none() {
            self.leave_out(LeftOut::Index);
        }
        self.worktree.list_packs(self.admin, &store).await?;
        let hints = self.worktree.existing(self.admin, &store, hints).await?;
        others.extend(hints.iter().cloned());
        let mut said = String::new();
        for (with_others, with_index) in [(true, true), (false, true), (true, false), (false, false)] {
            // Without these it would be a try that was made already.
            let repeats = !with_others && others.is_empty() || !with_index && index.is_none();
            if repeats {
                continue;
            }
            let mut wanted = Wanted { tips: tips.clone(), index: index.clone().filter(|_| with_index) };
            if with_others {
                wanted.tips.extend(others.iter().cloned());
            }
            match self.worktree.bring(self.admin, &store, &wanted).await? {
                Ok(()) => {
                    if !with_others && !others.is_empty() {
                        self.leave_out(LeftOut::Refs);
                    }
                    if !with_index && index.take().is_some() {
                        self.leave_out(LeftOut::Index);
                    }
                    let known: HashSet<String> = match with_others {
                        true => hints.into_iter().collect(),
                        false => HashSet::new(),
                    };
                    let log = reflog::of_known(&plan.log, &known);
                    return Ok(Brought { others: with_others, index, log });
                }
                Err(reason) => said = reason,
            }
        }
        Err(Stopped::Damaged(said))
    }

    fn oid_len(&self) -> usize {
        let named = [self.plan.head_was.as_ref(), self.plan.head_now.as_ref()];
        let tips = [&self.plan.refs_was, &self.plan.refs_now]
            .into_iter()
            .zip(named)
            .find_map(|(refs, head)| Plan::tip(refs, head));
        tips.map_or(40, |tip| tip.len())
    }

    /// Keeps what is not put in its place.
    async fn keep(&mut self, brought: &Brought) -> Result<(), GitError> {
        let plan = self.plan;
        let adopted = self.adopted().await?;
        let mut made: Vec<(Option<&str>, &str)> = Vec::new();
        for change in plan.other_changes() {
            let name = change.valid_name();
            if name.is_some() && name == adopted.as_deref() {
                continue;
            }
            // One that was there is refused; a new one is told by the ref that keeps it.
            if change.was.is_some() || change.now.is_none() || !brought.others {
                self.refuse(change);
            }
            if let (Some(now), true) = (&change.now, brought.others) {
                made.push((if change.was.is_some() { None } else { name }, now));
            }
        }
        self.repo_keeps(&made).await?;
        if brought.others {
            for oid in &plan.stash {
                let prefix = format!("{}/stash", super::sandbox_prefix(self.task_key));
                let kept = self.worktree.repo().keep(oid, &prefix).await?;
                if !self.back.kept_refs.contains(&kept) {
                    self.back.kept_refs.push(kept);
                }
            }
        }
        Ok(())
    }

    fn refuse(&mut self, change: &Change) {
        let name = change.shown();
        if !self.back.refused_refs.contains(&name) {
            self.back.refused_refs.push(name);
        }
    }

    /// The branch that programs made and that the worktree is on: it becomes one of the repository, unless that has
    /// another of the name.
    async fn adopted(&self) -> Result<Option<String>, GitError> {
        let Some(Head::Branch(name)) = &self.plan.head_now else { return Ok(None) };
        if Some(name) == self.plan.own.as_ref() || self.plan.refs_was.get(name).is_some() {
            return Ok(None);
        }
        let tip = self.plan.refs_now.get(name);
        let found = self.worktree.repo().ref_value(name).await?;
        Ok((tip.is_some() && (found.is_none() || found == tip)).then(|| name.clone()))
    }

    /// Moves the worktree's branch; whether the repository's has what programs made of it.
    async fn move_branch(&mut self) -> Result<bool, GitError> {
        let Some(change) = self.plan.own_change() else { return Ok(true) };
        let Some(name) = change.valid_name() else { return Ok(true) };
        let Some(now) = &change.now else {
            self.refuse(change);
            return Ok(true);
        };
        let repo = self.worktree.repo();
        let found = repo.ref_value(name).await?;
        if found.as_ref() == Some(now) {
            return Ok(true);
        }
        if found == change.was {
            let old = change.was.as_deref().unwrap_or_default();
            match repo.update_ref(name, now, old, "forge: from a sandbox").await {
                Ok(()) => return Ok(true),
                // No commit, or moved just now.
                Err(GitError::RefMoved { .. } | GitError::Failed { .. }) => {}
                Err(other) => return Err(other),
            }
        } else if let Some(found) = &found
            && repo.is_ancestor(now, found).await?
        {
            return Ok(true);
        }
        self.refuse(change);
        self.repo_keeps(&[(None, now)]).await?;
        Ok(false)
    }

    /// Has the worktree stand where programs left it.
    async fn move_head(&mut self, tip: Option<String>) -> Result<(), GitError> {
        let plan = self.plan;
        if plan.head_now == plan.head_was {
            return Ok(());
        }
        let real = Head::read(self.admin)?;
        let Some(now) = &plan.head_now else {
            self.leave_out(LeftOut::Head);
            return Ok(());
        };
        let wanted = self.reachable(now, tip.clone()).await?;
        if wanted.is_some() && real == wanted {
            return Ok(());
        }
        if real != plan.head_was || wanted.is_none() {
            self.leave_out(LeftOut::Head);
            if let Some(tip) = &tip {
                self.repo_keeps(&[(None, tip)]).await?;
            }
            return Ok(());
        }
        let command = self.worktree.command(Kind::Write);
        let message = ["-m", "forge: from a sandbox"];
        let command = match wanted {
            Some(Head::Branch(name)) => command.arg("symbolic-ref").args(message).args(["HEAD", &name]),
            Some(Head::Detached(oid)) => {
                command.args(["update-ref", "--no-deref"]).args(message).args(["HEAD", &oid])
            }
            None => return Ok(()),
        };
        command.ok().await.map(drop)
    }

    /// What the worktree's `HEAD` can be: on a branch only where the repository has it as programs left it, and no other
    /// worktree is on it; else on the commit.
    async fn reachable(&self, now: &Head, tip: Option<String>) -> Result<Option<Head>, GitError> {
        let Head::Branch(name) = now else { return Ok(Some(now.clone())) };
        let repo = self.worktree.repo();
        let short = name.strip_prefix("refs/heads/").unwrap_or(name);
        let found = repo.ref_value(name).await?;
        if Some(name) == self.plan.own.as_ref() {
            return Ok(Some(now.clone()));
        }
        let Some(tip) = tip else {
            // A branch that is to begin.
            return Ok((found.is_none() && self.plan.refs_was.get(name).is_none()).then(|| now.clone()));
        };
        if found.is_none() && self.plan.refs_was.get(name).is_none() {
            match repo.update_ref(name, &tip, "", "forge: from a sandbox").await {
                Ok(()) => return Ok(Some(now.clone())),
                // Another branch is in its way.
                Err(GitError::RefMoved { .. } | GitError::Failed { .. }) => {}
                Err(other) => return Err(other),
            }
        }
        let users = repo.checkouts_of(short).await?;
        let is_free = users.iter().all(|user| crate::places::is_same(&user.path, self.worktree.path()));
        Ok(Some(if found.as_ref() == Some(&tip) && is_free { now.clone() } else { Head::Detached(tip) }))
    }

    /// Sets the refs that the worktree has of its own, such as those of a bisection.
    async fn move_own_refs(&self) -> Result<(), GitError> {
        let own = self.plan.changes.iter().filter(|change| change.is_of_worktree());
        let commands: String = own
            .filter_map(|change| {
                let name = change.valid_name()?;
                Some(match &change.now {
                    Some(now) => format!("update {name} {now}\n"),
                    None => format!("delete {name}\n"),
                })
            })
            .collect();
        if let Err(said) = update_refs(self.worktree.command(Kind::Write), commands).await? {
            tracing::warn!(path = %self.worktree.path().display(), %said, "refs of a worktree stay as they were");
        }
        Ok(())
    }

    /// Puts the index in the place of the repository's, where that is as it was lent or gone.
    fn put_index(&mut self, copy: Option<&Path>, is_diverged: bool) -> Result<(), GitError> {
        let Some(copy) = copy else { return Ok(()) };
        let real = index::content(self.admin)?;
        if real == self.plan.index_now {
            return Ok(());
        }
        if is_diverged || real.is_some() && real != self.plan.index_was {
            self.leave_out(LeftOut::Index);
            return Ok(());
        }
        index::put(copy, self.admin)
    }
}
