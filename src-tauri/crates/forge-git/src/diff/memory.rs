//! The lists asked for last: shown again while nothing changed, and for opening a file without asking git.
//!
//! What depends on commits alone (the old side, and both of a diff between commits) cannot change. The new side
//! of a worktree's file is always read from the disk. A memory that no longer fits what lies there is not used.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::change::Changes;
use super::key::{Ends, ScopeKey};
use super::watch::{Begun, Watch};

const LISTS: usize = 32;
/// Changes remembered over all lists, however many the latest has.
const CHANGES: usize = 50_000;

#[derive(Debug, Default)]
pub(crate) struct ListMemory {
    lists: Mutex<VecDeque<List>>,
}

#[derive(Debug, Clone)]
struct List {
    scope: ScopeKey,
    ends: Ends,
    changes: Arc<Changes>,
    known: Known,
}

/// What tells whether a list still holds.
#[derive(Debug, Clone)]
pub(super) enum Known {
    /// Nothing does.
    Nothing,
    /// All it depends on has to be older than when it was asked for.
    Begun(Begun),
    /// All it depends on has to be as it was.
    Watched(Arc<Watch>),
}

impl ListMemory {
    pub(super) fn remember(
        &self,
        scope: ScopeKey,
        ends: &Ends,
        changes: Changes,
        begun: Option<Begun>,
    ) -> Arc<Changes> {
        let changes = Arc::new(changes);
        let known = begun.map_or(Known::Nothing, Known::Begun);
        let mut lists = self.lock();
        lists.retain(|list| list.scope != scope);
        lists.push_front(List { scope, ends: ends.clone(), changes: Arc::clone(&changes), known });
        lists.truncate(LISTS);
        let mut room = CHANGES;
        let mut first = true;
        lists.retain(|list| {
            let fits = first || list.changes.len() <= room;
            room = room.saturating_sub(list.changes.len());
            first = false;
            fits
        });
        changes
    }

    /// `None` when the scope was not listed since its commits changed.
    pub(super) fn recall(&self, scope: &ScopeKey, ends: &Ends) -> Option<(Arc<Changes>, Known)> {
        let lists = self.lock();
        let found = lists.iter().find(|list| list.scope == *scope && list.ends == *ends);
        found.map(|list| (Arc::clone(&list.changes), list.known.clone()))
    }

    /// What is known of a list from now on, if it is still the one that is remembered.
    pub(super) fn know(&self, scope: &ScopeKey, changes: &Arc<Changes>, known: Known) {
        let mut lists = self.lock();
        if let Some(list) =
            lists.iter_mut().find(|list| list.scope == *scope && Arc::ptr_eq(&list.changes, changes))
        {
            list.known = known;
        }
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<List>> {
        self.lists.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
