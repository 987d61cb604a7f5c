//! What git is set to for a worktree, and which files say so.
//!
//! Known settings are trusted as long as none of those files changed: the ones that git named, those they
//! include, and those that would count if they were there.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use crate::stamp::{Moment, Print, Stamps, Unproven};

mod read;

/// Worktrees whose settings are remembered.
const KNOWN: usize = 32;
/// Where installations of git keep what holds for everybody.
const SYSTEM: [&str; 3] = ["/etc", "/usr/local/etc", "/opt/homebrew/etc"];

/// How the names of settings begin that include others under a condition.
const CONDITIONS: &str = "includeif.";

/// What git is set to.
#[derive(Debug)]
pub(crate) struct Settings {
    /// Names in git's own spelling, the last of a name counts.
    values: Vec<(String, String)>,
    /// Every file that has a say in the settings.
    files: Vec<PathBuf>,
    /// What else says what is compared and how: index, branch, ignored files and attributes outside of the worktree.
    state: Vec<PathBuf>,
    /// Whether these are all.
    complete: bool,
}

#[derive(Debug, Default)]
pub(crate) struct SettingsMemory {
    known: Mutex<VecDeque<(PathBuf, Print, Arc<Settings>)>>,
}

impl Settings {
    /// What a setting says, its name in lower case but for the middle part.
    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        self.values.iter().rev().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// Every name with its value, in the order in which git reads them.
    pub(crate) fn values(&self) -> &[(String, String)] {
        &self.values
    }

    /// Whether another worktree of the repository may be set to something else.
    pub(crate) fn differ_by_worktree(&self) -> bool {
        self.is_on("extensions.worktreeconfig")
            || self.values.iter().any(|(name, _)| name.starts_with(CONDITIONS))
    }

    /// Whether a setting is on.
    pub(crate) fn is_on(&self, name: &str) -> bool {
        let value = self.get(name).unwrap_or_default().to_ascii_lowercase();
        matches!(value.as_str(), "true" | "yes" | "on")
            || value.parse::<i64>().is_ok_and(|number| number != 0)
    }

    /// Takes the stamps of all files outside of a worktree that say what differs in it.
    pub(crate) fn stamp(&self, stamps: &mut Stamps) -> Result<(), Unproven> {
        if !self.complete {
            return Err(Unproven);
        }
        self.files.iter().chain(&self.state).try_for_each(|file| stamps.of(file).map(drop))
    }

    /// The present print of what has a say in the settings.
    fn print(&self, begun: Option<Moment>) -> Option<Print> {
        let bound = match begun {
            Some(begun) => Some(begun.bound()?),
            None => None,
        };
        let mut stamps = Stamps::new(bound, Path::new("/"));
        self.complete.then_some(())?;
        self.files.iter().try_for_each(|file| stamps.of(file).map(drop)).ok()?;
        stamps.print().ok()
    }
}

impl SettingsMemory {
    /// What is known of a worktree, as long as it still holds.
    pub(crate) fn recall(&self, worktree: &Path) -> Option<Arc<Settings>> {
        let found = self.lock().iter().find(|(dir, ..)| dir == worktree).cloned();
        let (_, print, settings) = found?;
        (settings.print(None) == Some(print)).then_some(settings)
    }

    /// Keeps what was read in a worktree since a moment, where it can be told whether it still holds.
    pub(crate) fn remember(&self, worktree: &Path, begun: Moment, settings: &Arc<Settings>) {
        let Some(print) = settings.print(Some(begun)) else { return };
        let mut known = self.lock();
        known.retain(|(dir, ..)| dir != worktree);
        known.push_front((worktree.to_owned(), print, Arc::clone(settings)));
        known.truncate(KNOWN);
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, VecDeque<(PathBuf, Print, Arc<Settings>)>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A path as git means it in its settings; `None` for what takes git to know.
pub(crate) fn expanded(value: &str, beside: &Path, home: Option<&Path>) -> Option<PathBuf> {
    match value.strip_prefix("~/") {
        Some(below) => Some(home?.join(below)),
        None if value.starts_with(['~', '%', ':']) => None,
        None => Some(beside.join(value)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_those_git_means() {
        let of = |value| expanded(value, Path::new("/etc"), Some(Path::new("/home/me")));
        assert_eq!(of("/a/b"), Some("/a/b".into()));
        assert_eq!(of("more"), Some("/etc/more".into()));
        assert_eq!(of("~/x"), Some("/home/me/x".into()));
        assert_eq!(of("~other/x"), None);
        assert_eq!(of("%(prefix)/x"), None);
        assert_eq!(expanded("~/x", Path::new("/etc"), None), None);
    }
}
