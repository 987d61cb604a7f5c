//! The steps of taking back, from objects to the unfinished operation.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use super::objects::{Store, Wanted};
use super::places::{self, Places};
use super::plan::Plan;
use super::refs::Change;
use super::sandbox_refs::update_refs;
use super::{LeftOut, TakenBack, index, reflog};
use crate::command::Kind;
use crate::error::GitError;
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

/// Why it did not come to its end.
pub(super) enum Stopped {
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

/// One taking back.
pub(super) struct Taking<'a> {
    pub(super) worktree: &'a Worktree,
    pub(super) places: &'a Places,
    pub(super) admin: &'a Path,
    pub(super) task_key: &'a str,
    pub(super) plan: &'a Plan,
    pub(super) back: TakenBack,
    pub(super) last: Step,
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
    pub(super) async fn take(&mut self) -> Result<(), Stopped> {
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

    pub(super) fn leave_out(&mut self, part: LeftOut) {
        if !self.back.left_out.contains(&part) {
            self.back.left_out.push(part);
        }
    }

    pub(super) async fn repo_keeps(&mut self, made: &[(Option<&str>, &str)]) -> Result<(), GitError> {
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

    pub(super) fn refuse(&mut self, change: &Change) {
        let name = change.shown();
        if !self.back.refused_refs.contains(&name) {
            self.back.refused_refs.push(name);
        }
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
