//! What names mean and how commits relate, answered without starting a program.
//!
//! Every answer here is the one git would give; where that is not certain there is none, and git is asked.
//! Not certain are: other stores of refs than files, names that need git's rules for revisions, symbolic refs,
//! histories that are cut or grafted, objects libgit2 cannot read, walks that get long, and merges that have
//! more than one base.

use std::collections::{BinaryHeap, HashMap, HashSet, VecDeque};
use std::io::ErrorKind;
use std::path::Path;

use git2::Oid;

use crate::object::{Commit, Objects};
use crate::repo::Repo;
use crate::worktrees::rebasing_branch;

/// Beyond this git, which reads larger lists in place, is faster.
const PACKED_REFS_CAP: u64 = 4 << 20;
/// Commits looked at before git is asked: it may have an index of the history.
const WALK_CAP: usize = 512;

/// The repository's files, as far as they can be read here.
#[derive(Clone, Copy)]
pub(crate) struct Local<'a> {
    common_dir: &'a Path,
    objects: &'a Objects,
}

impl Repo {
    /// Looks, away from the threads that must not wait for a disk; `None` when git has to be asked.
    pub(crate) async fn locally<T: Send + 'static>(
        &self,
        look: impl FnOnce(Local<'_>) -> Option<T> + Send + 'static,
    ) -> Option<T> {
        let repo = self.clone();
        let looked = tokio::task::spawn_blocking(move || {
            look(Local { common_dir: repo.common_dir(), objects: &repo.inner.objects })
        });
        looked.await.ok().flatten()
    }
}

impl Local<'_> {
    /// The commit a git directory's `HEAD` leads to. Without one git has to say what is wrong.
    pub(crate) fn head(self, git_dir: &Path) -> Option<String> {
        let head = std::fs::read_to_string(git_dir.join("HEAD")).ok()?;
        let head = head.trim_end();
        let oid = match head.strip_prefix("ref: ") {
            Some(name) => self.reference(name)??,
            None => head.to_owned(),
        };
        self.commit_named(oid)
    }

    /// The ref that a git directory's `HEAD` names; the inner `None` when it names a commit.
    pub(crate) fn attached_to(self, git_dir: &Path) -> Option<Option<String>> {
        if self.common_dir.join("reftable").exists() {
            return None;
        }
        let head = std::fs::read_to_string(git_dir.join("HEAD")).ok()?;
        let head = head.trim_end();
        match head.strip_prefix("ref: ") {
            Some(name) => is_plain_ref(name).then(|| Some(name.to_owned())),
            None => is_full(head).then_some(None),
        }
    }

    /// How many commits `tip` has that `other` has not, when all of them come after `other`: none of them can be part of
    /// its history then. Both are full names.
    pub(crate) fn count_after(self, tip: &str, other: &str) -> Option<u32> {
        self.history_is_plain()?;
        let (tip, other) = (Oid::from_str(tip).ok()?, Oid::from_str(other).ok()?);
        let (mut seen, mut ahead) = (HashSet::from([other, tip]), vec![tip]);
        let mut count = 0;
        if tip == other {
            return Some(count);
        }
        while let Some(commit) = ahead.pop() {
            count += 1;
            let parents = self.objects.commit(commit)?.parents;
            if parents.is_empty() || seen.len() >= WALK_CAP {
                return None;
            }
            ahead.extend(parents.into_iter().filter(|parent| seen.insert(*parent)));
        }
        Some(count)
    }

    /// A commit and so many of those before it, the nearest first.
    pub(crate) fn newest_below(self, tip: &str, count: usize) -> Option<HashSet<String>> {
        self.history_is_plain()?;
        let tip = Oid::from_str(tip).ok()?;
        let (mut seen, mut ahead) = (HashSet::from([tip]), VecDeque::from([tip]));
        while let Some(commit) = ahead.pop_front() {
            if seen.len() >= count.min(WALK_CAP) {
                break;
            }
            let parents = self.objects.commit(commit)?.parents;
            ahead.extend(parents.into_iter().filter(|parent| seen.insert(*parent)));
        }
        Some(seen.iter().map(Oid::to_string).collect())
    }

    /// The commit a revision leads to; the inner `None` when there is none of that name.
    pub(crate) fn resolve(self, rev: &str) -> Option<Option<String>> {
        if is_full(rev) {
            // git prefers the object over any ref of that name.
            return self.commit_named(rev.to_owned()).map(Some);
        }
        if rev == "HEAD" {
            return self.head(self.common_dir).map(Some);
        }
        match self.reference(rev)? {
            Some(oid) => self.commit_named(oid).map(Some),
            None => Some(None),
        }
    }

    /// The object a full ref name holds. The files are looked at in git's own order: the ref's file first, as
    /// the packed list may be behind it.
    pub(crate) fn reference(self, name: &str) -> Option<Option<String>> {
        if !is_plain_ref(name) || self.common_dir.join("reftable").exists() {
            return None;
        }
        match std::fs::read_to_string(self.common_dir.join(name)) {
            Ok(held) => {
                let held = held.trim_end();
                is_full(held).then(|| Some(held.to_owned()))
            }
            Err(e) if is_absence(e.kind()) => {
                let packed = self.packed_refs()?;
                let found = packed.lines().find_map(|line| {
                    let (oid, packed_name) = line.split_once(' ')?;
                    (packed_name == name).then_some(oid)
                });
                match found {
                    Some(oid) => is_full(oid).then(|| Some(oid.to_owned())),
                    None => Some(None),
                }
            }
            Err(_) => None,
        }
    }

    /// Whether surely no worktree has a branch checked out, or is in the middle of rebasing it.
    pub(crate) fn is_free(self, branch: &str) -> Option<()> {
        let taken = format!("refs/heads/{branch}");
        if self.common_dir.join("reftable").exists() {
            return None;
        }
        let mut git_dirs = vec![self.common_dir.to_owned()];
        match std::fs::read_dir(self.common_dir.join("worktrees")) {
            Ok(entries) => {
                for entry in entries {
                    git_dirs.push(entry.ok()?.path());
                }
            }
            Err(e) if e.kind() == ErrorKind::NotFound => {}
            Err(_) => return None,
        }
        git_dirs
            .iter()
            .all(|dir| stands_elsewhere(dir, &taken) && rebasing_branch(dir).is_none())
            .then_some(())
    }

    /// Whether surely no ref lies below a name.
    pub(crate) fn has_none_below(self, name: &str) -> Option<()> {
        if !is_plain_ref(name) || self.common_dir.join("reftable").exists() {
            return None;
        }
        match self.common_dir.join(name).symlink_metadata() {
            Err(e) if e.kind() == ErrorKind::NotFound => {}
            _ => return None,
        }
        let below = format!(" {name}/");
        (!self.packed_refs()?.contains(&below)).then_some(())
    }

    fn packed_refs(self) -> Option<String> {
        let path = self.common_dir.join("packed-refs");
        match path.metadata() {
            Err(e) if e.kind() == ErrorKind::NotFound => Some(String::new()),
            Ok(found) if found.len() <= PACKED_REFS_CAP => std::fs::read_to_string(path).ok(),
            _ => None,
        }
    }

    fn commit_named(self, oid: String) -> Option<String> {
        self.objects.is_commit(Oid::from_str(&oid).ok()?).then_some(oid)
    }

    /// The tree of a commit.
    pub(crate) fn tree_of(self, rev: &str) -> Option<String> {
        let oid = self.resolve(rev)??;
        self.history_is_plain()?;
        Some(self.objects.commit(Oid::from_str(&oid).ok()?)?.tree.to_string())
    }

    /// The one best common ancestor.
    ///
    /// As git does it: from both sides, later commits first, until all that is left to look at is known to be
    /// the past of common ancestors. A best one is never such past, and the way to it from either side never
    /// leads through any, so all of them are found whatever the dates are. When a single candidate remains it
    /// is the best one; which of several git names first depends on more, and git is asked.
    pub(crate) fn merge_base(self, a: &str, b: &str) -> Option<String> {
        let (a, b) = (self.resolve(a)??, self.resolve(b)??);
        if a == b {
            return Some(a);
        }
        self.history_is_plain()?;
        let mut walk =
            Walk { objects: self.objects, seen: HashMap::new(), queue: BinaryHeap::new(), fresh: 0 };
        walk.reach(Oid::from_str(&a).ok()?, OURS)?;
        walk.reach(Oid::from_str(&b).ok()?, THEIRS)?;
        let mut candidates = Vec::new();
        while walk.fresh > 0 {
            let (_, oid) = walk.queue.pop()?;
            let (mut marks, commit) = walk.take(oid)?;
            if marks & (OURS | THEIRS) == OURS | THEIRS {
                candidates.push(oid);
                marks |= PAST;
            }
            for parent in commit.parents {
                walk.reach(parent, marks)?;
            }
        }
        candidates.sort_unstable();
        candidates.dedup();
        candidates.retain(|oid| walk.seen.get(oid).is_some_and(|(marks, ..)| marks & PAST == 0));
        match candidates.as_slice() {
            [one] => Some(one.to_string()),
            _ => None,
        }
    }

    /// Whether one commit is another or its ancestor: the only best common ancestor is then itself.
    pub(crate) fn is_ancestor(self, a: &str, b: &str) -> Option<bool> {
        let (a, b) = (self.resolve(a)??, self.resolve(b)??);
        Some(self.merge_base(&a, &b)? == a)
    }

    /// `None` when parents or trees may be other ones than the commits say.
    fn history_is_plain(self) -> Option<()> {
        let absent = |name: &str| !self.common_dir.join(name).exists();
        ["shallow", "info/grafts", "reftable"].into_iter().all(absent).then_some(())
    }
}

const OURS: u8 = 1;
const THEIRS: u8 = 2;
/// An ancestor of a common ancestor.
const PAST: u8 = 4;

/// A walk into the past, later commits first.
struct Walk<'a> {
    objects: &'a Objects,
    /// Marks, whether it waits in the queue, and what it is.
    seen: HashMap<Oid, (u8, bool, Commit)>,
    queue: BinaryHeap<(i64, Oid)>,
    /// How many of the queue are not known to be past.
    fresh: usize,
}

impl Walk<'_> {
    /// Marks a commit, and has it looked at when that is news.
    fn reach(&mut self, oid: Oid, marks: u8) -> Option<()> {
        if !self.seen.contains_key(&oid) {
            if self.seen.len() >= WALK_CAP {
                return None;
            }
            self.seen.insert(oid, (0, false, self.objects.commit(oid)?));
        }
        let (known, waits, commit) = self.seen.get_mut(&oid)?;
        if *known & marks == marks {
            return Some(());
        }
        let was_fresh = *waits && *known & PAST == 0;
        *known |= marks;
        let is_fresh = *known & PAST == 0;
        if !*waits {
            *waits = true;
            self.queue.push((commit.at, oid));
        }
        self.fresh = self.fresh + usize::from(is_fresh) - usize::from(was_fresh);
        Some(())
    }

    /// A commit that was taken out of the queue.
    fn take(&mut self, oid: Oid) -> Option<(u8, Commit)> {
        let (marks, waits, commit) = self.seen.get_mut(&oid)?;
        *waits = false;
        self.fresh -= usize::from(*marks & PAST == 0);
        Some((*marks, commit.clone()))
    }
}

/// Whether a worktree's `HEAD` says that it is on another branch than this one, or on none.
fn stands_elsewhere(git_dir: &Path, branch: &str) -> bool {
    let head = git_dir.join("HEAD");
    let is_file = head.symlink_metadata().is_ok_and(|found| found.is_file());
    let said = if is_file { std::fs::read_to_string(head).ok() } else { None };
    said.is_some_and(|said| match said.trim_end().strip_prefix("ref: ") {
        Some(name) => name.trim() != branch,
        None => is_full(said.trim_end()),
    })
}

const fn is_absence(kind: ErrorKind) -> bool {
    matches!(kind, ErrorKind::NotFound | ErrorKind::NotADirectory | ErrorKind::IsADirectory)
}

/// A full SHA-1 name as git writes it.
pub(crate) fn is_full(name: &str) -> bool {
    name.len() == 40 && name.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'))
}

/// A branch, or a ref of Forge's own, whose name has no meaning beyond itself, in git's revisions or on a file system.
fn is_plain_ref(name: &str) -> bool {
    let short = name.strip_prefix("refs/heads/").or_else(|| name.strip_prefix("refs/forge/"));
    let Some(short) = short else { return false };
    let plain = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'/' | b'-' | b'_' | b'.');
    short.bytes().all(plain)
        && !short.contains("..")
        && short
            .split('/')
            .all(|part| !part.is_empty() && !part.starts_with(['.', '-']) && !part.ends_with(".lock"))
        && !short.ends_with('.')
}

#[cfg(test)]
mod tests;
