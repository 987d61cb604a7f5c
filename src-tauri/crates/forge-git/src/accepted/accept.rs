//! Accepting the files of a repository that say which programs git runs, and putting back what was accepted.

use std::fs;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use super::{Fingerprint, Guard, Place, hooks};
use crate::error::GitError;
use crate::repo::Repo;
use crate::repository_change::RepositoryChange;

impl Repo {
    /// The files that say which programs git runs, as they are now.
    pub async fn fingerprint(&self) -> Result<Fingerprint, GitError> {
        let place = self.place();
        tokio::task::spawn_blocking(move || place.take().map(|(now, _)| now)).await?
    }

    /// Starts git from now on only while these files say the same.
    pub fn accept(&self, accepted: Fingerprint) {
        *self.guard_slot() = Some(Arc::new(Guard::new(self.place(), accepted)));
    }

    /// What is accepted; `None` when nothing has to be the same yet.
    pub fn accepted(&self) -> Option<Arc<Fingerprint>> {
        self.guard().map(|guard| Arc::clone(&guard.locked().accepted))
    }

    /// How the files differ from what was accepted; `None` when they do not.
    pub async fn changed_since_accepted(&self) -> Result<Option<RepositoryChange>, GitError> {
        let Some(guard) = self.guard() else { return Ok(None) };
        match guard.check().await {
            Ok(()) => Ok(None),
            Err(GitError::RepositoryChanged { change, .. }) => Ok(Some(*change)),
            Err(other) => Err(other),
        }
    }

    /// Puts back what was accepted. What was there instead is kept in the folder `aside`.
    pub async fn undo_changes(&self, aside: &Path) -> Result<(), GitError> {
        let (Some(accepted), place, aside) = (self.accepted(), self.place(), aside.to_owned()) else {
            return Ok(());
        };
        tokio::task::spawn_blocking(move || {
            let (now, _) = place.take()?;
            for change in place.uncommitted(accepted.changes(&now), &now)?.0 {
                put_back(&place, &accepted, &change.path, &aside)?;
            }
            Ok(())
        })
        .await?
    }

    pub(crate) fn guard(&self) -> Option<Arc<Guard>> {
        self.guard_slot().clone()
    }

    /// To be called after Forge itself wrote one of the files.
    pub(crate) fn accept_own_change(&self, path: &str) -> Result<(), GitError> {
        self.guard().map_or(Ok(()), |guard| guard.accept_own(path))
    }

    fn place(&self) -> Place {
        Place {
            common_dir: self.common_dir().to_owned(),
            root: self.root().to_owned(),
            home: self.git().env_var("HOME").map(PathBuf::from),
            hooks: self.hooks_set_outside().map(Path::to_owned),
        }
    }
}

fn put_back(place: &Place, accepted: &Fingerprint, name: &str, aside: &Path) -> Result<(), GitError> {
    // An absolute name stays what it is.
    let path = place.common_dir.join(name);
    if path.symlink_metadata().is_ok() {
        let kept: PathBuf =
            Path::new(name).components().filter(|c| matches!(c, Component::Normal(_))).collect();
        let kept = aside.join(kept);
        let folder = kept.parent().unwrap_or(aside);
        fs::create_dir_all(folder).map_err(GitError::io("create", folder))?;
        fs::copy(&path, &kept).map_err(GitError::io("keep", &path))?;
    }
    let committed = place.committed_hook(name)?;
    let Some(file) = committed.as_ref().or_else(|| accepted.get(name)) else {
        return fs::remove_file(&path).map_err(GitError::io("remove", &path));
    };
    let Some(content) = &file.content else {
        return Err(GitError::Unexpected {
            args: name.to_owned(),
            what: "the file was too large to keep a copy".to_owned(),
        });
    };
    let folder = path.parent().unwrap_or(&place.common_dir);
    // A repository that was moved away is not made anew at its old place.
    place.require_repository()?;
    fs::create_dir_all(folder).map_err(GitError::io("create", folder))?;
    let fresh = folder.join(format!(".forge-{}", uuid::Uuid::new_v4().simple()));
    fs::write(&fresh, content).map_err(GitError::io("write", &fresh))?;
    fs::set_permissions(&fresh, hooks::mode_of(file)).map_err(GitError::io("set permissions of", &fresh))?;
    fs::rename(&fresh, &path).map_err(GitError::io("replace", &path))
}
