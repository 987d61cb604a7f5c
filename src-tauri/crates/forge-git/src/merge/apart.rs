//! Merging two sides that touched different paths.
//!
//! When no path was changed on both sides there is nothing to weigh: each path is as the side has it that changed
//! it. That is also what `git merge-tree` makes of it, without a message: contents are merged, drivers asked and
//! collisions found only where both sides have a path that is not the ancestor's. Renames make no difference
//! here, either: one matters when the other side changed the file where it was (then both changed that path), or
//! put something where it went (the same), or into a folder that went elsewhere (then that folder is gone on one
//! side and changed on the other). All of these, and whatever else is not certain, are left to git.

use std::collections::BTreeMap;
use std::path::Path;

use git2::{ObjectType, Odb, Oid, Repository, RepositoryOpenFlags};

use super::Tips;
use crate::error::GitError;
use crate::object::Objects;
use crate::repo::Repo;

/// Settings about how objects are written that only git follows.
const WRITING: [&str; 4] =
    ["core.sharedrepository", "core.fsync", "core.fsyncmethod", "core.fsyncobjectfiles"];
/// Deeper folders are left to git.
const DEEPEST: usize = 100;
const TREE: &[u8] = b"40000";
const MODES: [&[u8]; 5] = [TREE, b"100644", b"100755", b"120000", b"160000"];

impl Repo {
    /// The tree of a merge whose sides touched different paths; `None` when git has to merge.
    pub(super) async fn merge_apart(&self, tips: &Tips) -> Result<Option<String>, GitError> {
        let settings = self.main_worktree().settings().await?;
        if WRITING.iter().any(|name| settings.get(name).is_some()) {
            return Ok(None);
        }
        let (target, source) = (tips.target.clone(), tips.source.clone());
        let [ours, theirs] = [&tips.target_tree, &tips.source_tree].map(|tree| Oid::from_str(tree));
        let (Ok(ours), Ok(theirs)) = (ours, theirs) else { return Ok(None) };
        let repo = self.clone();
        let merged = self.locally(move |local| {
            let base = local.tree_of(&local.merge_base(&target, &source)?)?;
            let store = Store::open(repo.common_dir(), &repo.inner.objects)?;
            store.merge([Oid::from_str(&base).ok()?, ours, theirs], DEEPEST)
        });
        Ok(merged.await.map(|tree| tree.to_string()))
    }
}

/// Where trees are read and written.
struct Store<'a> {
    objects: &'a Objects,
    repository: Repository,
}

/// What a tree has under a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Entry<'a> {
    mode: &'a [u8],
    oid: &'a [u8],
}

type Named<'a> = (&'a [u8], Entry<'a>);

/// What base, ours and theirs have under one name.
type Three<'a> = [Option<Entry<'a>>; 3];

impl<'a> Store<'a> {
    fn open(common_dir: &Path, objects: &'a Objects) -> Option<Self> {
        let flags = RepositoryOpenFlags::NO_SEARCH | RepositoryOpenFlags::BARE;
        let none: [&Path; 0] = [];
        let repository = Repository::open_ext(common_dir, flags, none).ok()?;
        Some(Self { objects, repository })
    }

    /// Merges three trees that all differ.
    fn merge(&self, trees: [Oid; 3], deepest: usize) -> Option<Oid> {
        let data = trees.map(|tree| self.objects.tree(tree));
        let [base, ours, theirs] = [data[0].as_deref()?, data[1].as_deref()?, data[2].as_deref()?];
        let [base, ours, theirs] = [entries(base)?, entries(ours)?, entries(theirs)?];
        let mut merged = Vec::with_capacity(base.len().max(ours.len()).max(theirs.len()));
        for (name, three) in together(&base, &ours, &theirs) {
            if let Some((mode, oid)) = self.one(three, deepest)? {
                merged.push((name, mode, oid));
            }
        }
        // git keeps no empty folders: whoever had this one has to see it go.
        if merged.is_empty() {
            return None;
        }
        merged.sort_by(|a, b| in_tree(a.0, a.1).cmp(in_tree(b.0, b.1)));
        let mut tree = Vec::new();
        for (name, mode, oid) in merged {
            for part in [mode, b" ", name, b"\0", oid.as_bytes()] {
                tree.extend_from_slice(part);
            }
        }
        let store: Odb<'_> = self.repository.odb().ok()?;
        store.write(ObjectType::Tree, &tree).ok()
    }

    /// What comes out under one name; the inner `None` when nothing does.
    fn one<'t>(&self, three: Three<'t>, deepest: usize) -> Option<Option<(&'t [u8], Oid)>> {
        let [base, ours, theirs] = three;
        let taken = if ours == base {
            theirs
        } else if theirs == base {
            ours
        } else {
            let [Some(base), Some(ours), Some(theirs)] = three else { return None };
            let trees = [base, ours, theirs];
            if trees.iter().any(|entry| entry.mode != TREE) {
                return None;
            }
            let [base, ours, theirs] = trees.map(|entry| Oid::from_bytes(entry.oid).ok());
            return Some(Some((TREE, self.merge([base?, ours?, theirs?], deepest.checked_sub(1)?)?)));
        };
        match taken {
            Some(entry) => Some(Some((entry.mode, Oid::from_bytes(entry.oid).ok()?))),
            None => Some(None),
        }
    }
}

/// A tree's entries, in its order; `None` for what is not written as git writes it now.
fn entries(mut tree: &[u8]) -> Option<Vec<Named<'_>>> {
    let mut found = Vec::new();
    while !tree.is_empty() {
        let space = tree.iter().position(|b| *b == b' ')?;
        let (mode, rest) = (&tree[..space], &tree[space + 1..]);
        let end = rest.iter().position(|b| *b == 0)?;
        let (name, oid) = (&rest[..end], rest.get(end + 1..end + 21)?);
        if !MODES.contains(&mode) {
            return None;
        }
        found.push((name, Entry { mode, oid }));
        tree = &rest[end + 21..];
    }
    Some(found)
}

/// What stands under the same names.
fn together<'a>(base: &[Named<'a>], ours: &[Named<'a>], theirs: &[Named<'a>]) -> Vec<(&'a [u8], Three<'a>)> {
    let same_names = base.len() == ours.len()
        && base.len() == theirs.len()
        && base.iter().zip(ours).zip(theirs).all(|((a, b), c)| a.0 == b.0 && a.0 == c.0);
    if same_names {
        let sides = base.iter().zip(ours).zip(theirs);
        return sides.map(|((a, b), c)| (a.0, [Some(a.1), Some(b.1), Some(c.1)])).collect();
    }
    // By name alone, as a file and a folder of one name stand in different places of a tree.
    let mut all: BTreeMap<&[u8], Three<'_>> = BTreeMap::new();
    for (side, entries) in [base, ours, theirs].into_iter().enumerate() {
        for (name, entry) in entries {
            all.entry(name).or_default()[side] = Some(*entry);
        }
    }
    all.into_iter().collect()
}

/// The order in a tree: a folder stands where its name with a slash would.
fn in_tree<'a>(name: &'a [u8], mode: &[u8]) -> impl Iterator<Item = u8> + 'a {
    name.iter().copied().chain((mode == TREE).then_some(b'/'))
}

#[cfg(test)]
mod tests;
