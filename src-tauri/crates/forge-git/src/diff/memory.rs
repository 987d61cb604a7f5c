//! Which files were renamed, by the lists asked for last.
//!
//! One file's diff can be asked from git far faster than a list, but git finds a rename only when it looks at
//! both paths. The old one is remembered from the list the reader has just seen. It is a hint: git is asked
//! with both paths and decides.

use std::collections::{HashMap, VecDeque};
use std::sync::{Mutex, PoisonError};

use forge_model::diff::FileChange;

use super::DiffScope;

const SCOPES: usize = 32;

#[derive(Debug, Default)]
pub(crate) struct RenameMemory {
    lists: Mutex<VecDeque<(DiffScope, HashMap<String, String>)>>,
}

impl RenameMemory {
    pub(super) fn remember<'a>(&self, scope: &DiffScope, files: impl Iterator<Item = &'a FileChange>) {
        let renames =
            files.filter_map(|f| Some((f.path.clone(), f.old_path.clone()?))).collect::<HashMap<_, _>>();
        let mut lists = self.lists.lock().unwrap_or_else(PoisonError::into_inner);
        lists.retain(|(known, _)| known != scope);
        lists.push_front((scope.clone(), renames));
        lists.truncate(SCOPES);
    }

    /// `None` when the scope was not listed; `Some(None)` when the path was in it under its own name.
    pub(super) fn old_path(&self, scope: &DiffScope, path: &str) -> Option<Option<String>> {
        let lists = self.lists.lock().unwrap_or_else(PoisonError::into_inner);
        let (_, renames) = lists.iter().find(|(known, _)| known == scope)?;
        Some(renames.get(path).cloned())
    }
}
