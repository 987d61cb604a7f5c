//! The lists asked for last, so that a file in one of them opens without asking git again.
//!
//! What depends on commits alone (the old side, and both of a diff between commits) cannot change. The new side
//! of a worktree's file is always read from the disk. A memory that no longer fits what lies there is not used.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};

use super::{DiffScope, Ends, RawChange};

const LISTS: usize = 32;

/// Changed files by path.
pub(super) type Changes = HashMap<String, RawChange>;

#[derive(Debug, Default)]
pub(crate) struct ListMemory {
    lists: Mutex<VecDeque<(DiffScope, Ends, Arc<Changes>)>>,
}

impl ListMemory {
    pub(super) fn remember(&self, scope: &DiffScope, ends: &Ends, changes: Changes) -> Arc<Changes> {
        let changes = Arc::new(changes);
        let mut lists = self.lists.lock().unwrap_or_else(PoisonError::into_inner);
        lists.retain(|(known, ..)| known != scope);
        lists.push_front((scope.clone(), ends.clone(), Arc::clone(&changes)));
        lists.truncate(LISTS);
        changes
    }

    /// `None` when the scope was not listed since its commits changed.
    pub(super) fn recall(&self, scope: &DiffScope, ends: &Ends) -> Option<Arc<Changes>> {
        let lists = self.lists.lock().unwrap_or_else(PoisonError::into_inner);
        let found = lists.iter().find(|(known, at, _)| known == scope && at == ends);
        found.map(|(.., changes)| Arc::clone(changes))
    }
}
