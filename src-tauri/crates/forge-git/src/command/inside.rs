//! The worktree that a command runs in, and what git is set to there.
//!
//! A command is told where the programs of relative settings are (`relative`). To know these settings takes another
//! command, which starts no program itself and hence needs none of this.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::Arc;

use super::{GitCommand, Kind};
use crate::accepted::Guard;
use crate::error::GitError;
use crate::location::Location;
use crate::program::Git;
use crate::relative;
use crate::settings::Settings;
use crate::stamp::Moment;

/// A worktree, and where the repository keeps what it knows of it.
#[derive(Debug)]
pub(super) struct Inside {
    pub(super) location: Arc<Location>,
    pub(super) worktree: PathBuf,
    pub(super) git_dir: PathBuf,
}

impl Inside {
    /// `-c` options for a command: the settings that name a program by a relative path, with the path below the user's
    /// own checkout.
    pub(super) async fn programs(
        &self,
        git: &Git,
        guard: Option<&Arc<Guard>>,
    ) -> Result<Vec<OsString>, GitError> {
        let Location { root, common_dir, .. } = &*self.location;
        let shared = self.settings_of(git, guard, root, common_dir).await?;
        let settings = if self.worktree == *root || !shared.differ_by_worktree() {
            shared
        } else {
            self.settings_of(git, guard, &self.worktree, &self.git_dir).await?
        };
        relative::options(&settings, root, &self.worktree)
    }

    /// What is remembered is looked up without waiting for a thread.
    async fn settings_of(
        &self,
        git: &Git,
        guard: Option<&Arc<Guard>>,
        worktree: &Path,
        git_dir: &Path,
    ) -> Result<Arc<Settings>, GitError> {
        match self.location.settings.recall(worktree) {
            Some(known) => Ok(known),
            None => read_settings(git, guard, &self.location, worktree, git_dir).await,
        }
    }
}

/// Asks git what it is set to in a worktree with this git directory, and remembers it.
pub(crate) async fn read_settings(
    git: &Git,
    guard: Option<&Arc<Guard>>,
    location: &Arc<Location>,
    worktree: &Path,
    git_dir: &Path,
) -> Result<Arc<Settings>, GitError> {
    let begun = Moment::now();
    let mut list = GitCommand::at(git, location, worktree, git_dir, Kind::Read).guarded(guard.cloned());
    // It starts no program, so none has to be known yet.
    list.inside = None;
    let listed = answer(list.args(["config", "--list", "-z", "--show-origin"])).await?;
    let (git, location) = (git.clone(), Arc::clone(location));
    let (worktree, git_dir) = (worktree.to_owned(), git_dir.to_owned());
    let read = tokio::task::spawn_blocking(move || {
        let settings = Arc::new(Settings::read(&listed, &git, &location.common_dir, &worktree, &git_dir));
        location.settings.remember(&worktree, begun, &settings);
        settings
    });
    Ok(read.await?)
}

/// Boxed, since commands run this one.
fn answer(command: GitCommand) -> Pin<Box<dyn Future<Output = Result<Vec<u8>, GitError>> + Send>> {
    Box::pin(command.ok())
}
