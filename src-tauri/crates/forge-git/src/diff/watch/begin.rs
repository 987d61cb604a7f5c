//! Begins to watch what a list depends on, and looks whether it still holds.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::{Begun, PATHS, Watch, attribute_files, inside, is_older};
use crate::bytes;
use crate::command::Kind;
use crate::diff::change::Changes;
use crate::diff::scope::DiffScope;
use crate::error::GitError;
use crate::index_paths::Paths;
use crate::repo::Repo;
use crate::stamp::{Moment, Print, Stamps};
use crate::worktree::Worktree;

impl Repo {
    /// To be asked before git is: `None` when the list cannot be remembered for being shown again.
    pub(in crate::diff) async fn begin_list(&self, scope: &DiffScope) -> Result<Option<Begun>, GitError> {
        let place = scope.worktree().cloned().unwrap_or_else(|| self.main_worktree());
        // What a bare repository takes its attributes from is not looked at.
        if place.path() == self.common_dir() {
            return Ok(None);
        }
        let settings = place.settings().await?;
        let begun = tokio::task::spawn_blocking(move || {
            let moment = Moment::now();
            let mut stamps = Stamps::new(None, Path::new("/"));
            settings.stamp(&mut stamps).ok()?;
            let outside = stamps.print().ok()?;
            Some(Begun { moment, settings, outside })
        });
        Ok(begun.await?)
    }

    /// Whether nothing a list depends on has changed since `begun`, and what to look at from now on.
    pub(in crate::diff) async fn still_holds(
        &self,
        scope: &DiffScope,
        begun: Begun,
        changes: &Arc<Changes>,
    ) -> Result<Option<Watch>, GitError> {
        let paths = match scope.worktree() {
            Some(worktree) => worktree.watched(begun.moment, changes).await?,
            None => Some(attribute_files(self.root(), changes)),
        };
        let Some(paths) = paths else { return Ok(None) };
        let index = match scope.worktree() {
            Some(worktree) => Some(worktree.git_dir().await?.join("index")),
            None => None,
        };
        let worktree = scope.worktree().map(|worktree| worktree.path().to_owned());
        let listed = Arc::clone(changes);
        let held = tokio::task::spawn_blocking(move || {
            let bound = begun.moment.bound()?;
            let mut outside = Stamps::new(Some(bound), Path::new("/"));
            begun.settings.stamp(&mut outside).ok()?;
            (outside.print().ok()? == begun.outside).then_some(())?;
            let (print, first) = (Print::default(), Print::default());
            let mut watch = Watch { settings: begun.settings, worktree, index, paths, print, listed, first };
            watch.first = watch.look_at_listed(Some(bound)).ok()?;
            watch.print = watch.look(Some(bound), watch.index()).ok()?;
            Some(watch)
        });
        Ok(held.await?)
    }
}

impl Worktree {
    /// What counts in the worktree beside the files of its index.
    async fn watched(
        &self,
        moment: Moment,
        changes: &Arc<Changes>,
    ) -> Result<Option<Vec<PathBuf>>, GitError> {
        let index = self.git_dir().await?.join("index");
        let (root, list) = (self.path().to_owned(), Arc::clone(changes));
        let known = tokio::task::spawn_blocking(move || {
            // Most often something was changed right before: then the rest need not be looked at.
            is_older(&root, moment, &list)?;
            let paths = Paths::read(&index).ok()??;
            let mut folders: HashSet<PathBuf> = HashSet::from([PathBuf::new()]);
            paths.folders(|folder| {
                folders.insert(bytes::path(folder).to_owned());
            });
            Some(folders)
        });
        let Some(tracked) = known.await? else { return Ok(None) };
        let untracked =
            changes.values().filter(|raw| raw.change.untracked).map(|raw| self.path().join(&raw.path));
        let mut watched: Vec<PathBuf> = untracked.collect();
        let tracked = Arc::new(tracked);
        let mut folders: Vec<PathBuf> = tracked.iter().cloned().collect();
        while !folders.is_empty() {
            let (root, known) = (self.path().to_owned(), Arc::clone(&tracked));
            let found = tokio::task::spawn_blocking(move || inside(&root, &folders, &known)).await?;
            let Some(found) = found else { return Ok(None) };
            watched.extend(found.rules.into_iter().map(|path| self.path().join(path)));
            folders = self.not_ignored(found.folders).await?;
            watched.extend(folders.iter().map(|path| self.path().join(path)));
            if watched.len() > PATHS {
                return Ok(None);
            }
        }
        Ok(Some(watched))
    }

    /// Those of the untracked folders that git looks into.
    pub(crate) async fn not_ignored(&self, folders: Vec<PathBuf>) -> Result<Vec<PathBuf>, GitError> {
        if folders.is_empty() {
            return Ok(folders);
        }
        // Names may look like git's patterns of paths; with this in front they do not.
        let mut input = Vec::new();
        for folder in &folders {
            input.extend_from_slice(b"./");
            input.extend_from_slice(bytes::of(folder));
            input.push(0);
        }
        let asked =
            self.command(Kind::Read).args(["check-ignore", "-z", "--stdin"]).input(input).run().await?;
        // Without an answer all of them count: that is more than needed, and never less.
        let ignored = bytes::records(&asked.stdout).filter_map(|path| path.strip_prefix(b"./"));
        let ignored: HashSet<&Path> = ignored.map(bytes::path).collect();
        Ok(folders.into_iter().filter(|folder| !ignored.contains(folder.as_path())).collect())
    }
}
