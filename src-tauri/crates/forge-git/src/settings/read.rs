//! Reads what git is set to, and finds the files that say so.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::{CONDITIONS, SYSTEM, Settings, expanded};
use crate::bytes;
use crate::command::Kind;
use crate::error::GitError;
use crate::repo::Repo;
use crate::stamp::Moment;

impl Repo {
    /// What git is set to in a worktree (or the repository's top).
    pub(crate) async fn settings(&self, worktree: &Path) -> Result<Arc<Settings>, GitError> {
        let (repo, dir) = (self.clone(), worktree.to_owned());
        let known = tokio::task::spawn_blocking(move || repo.inner.settings.recall(&dir)).await?;
        if let Some(known) = known {
            return Ok(known);
        }
        self.read_settings_of(worktree).await
    }

    /// The same for whoever is about to start git: what is remembered is looked up without waiting for a thread.
    pub(crate) async fn settings_at_once(&self, worktree: &Path) -> Result<Arc<Settings>, GitError> {
        match self.inner.settings.recall(worktree) {
            Some(known) => Ok(known),
            None => self.read_settings_of(worktree).await,
        }
    }

    async fn read_settings_of(&self, worktree: &Path) -> Result<Arc<Settings>, GitError> {
        let begun = Moment::now();
        // It starts no program, so none has to be known yet.
        let list = self.at(worktree, Kind::Read).without_programs();
        let listed = list.args(["config", "--list", "-z", "--show-origin"]).ok().await?;
        let git_dir = self.git_dir(worktree).await?;
        let (repo, worktree) = (self.clone(), worktree.to_owned());
        let read = tokio::task::spawn_blocking(move || {
            let settings = Arc::new(repo.read_settings(&listed, &worktree, &git_dir));
            if let Some(print) = settings.print(Some(begun)) {
                repo.inner.settings.remember(&worktree, print, &settings);
            }
            settings
        });
        Ok(read.await?)
    }

    fn read_settings(&self, listed: &[u8], worktree: &Path, git_dir: &Path) -> Settings {
        let home = self.git().env_var("HOME").map(PathBuf::from);
        let (values, files, state) = (Vec::new(), Vec::new(), Vec::new());
        let mut settings = Settings { values, files, state, complete: true };
        let mut records = bytes::records(listed);
        while let (Some(origin), Some(entry)) = (records.next(), records.next()) {
            let entry = bytes::text(entry);
            // A name without a value means yes.
            let (name, value) = entry.split_once('\n').unwrap_or((&entry, "true"));
            let origin = origin.strip_prefix(b"file:").map(|path| worktree.join(bytes::path(path)));
            let is_include =
                name == "include.path" || name.starts_with(CONDITIONS) && name.ends_with(".path");
            if is_include || matches!(name, "core.excludesfile" | "core.attributesfile") {
                let beside =
                    if is_include { origin.as_deref().and_then(Path::parent) } else { Some(worktree) };
                match beside.and_then(|beside| expanded(value, beside, home.as_deref())) {
                    Some(path) if is_include => settings.files.push(path),
                    Some(path) => settings.state.push(path),
                    None => settings.complete = false,
                }
            }
            settings.files.extend(origin);
            settings.values.push((name.to_owned(), value.to_owned()));
        }
        self.add_standing(&mut settings, worktree, git_dir, home.as_deref());
        for files in [&mut settings.files, &mut settings.state] {
            files.sort_unstable();
            files.dedup();
        }
        settings
    }

    /// Adds the files that count when they are there.
    fn add_standing(&self, settings: &mut Settings, worktree: &Path, git_dir: &Path, home: Option<&Path>) {
        let conditional = settings.values.iter().any(|(name, _)| name.starts_with(CONDITIONS));
        let (files, state) = (&mut settings.files, &mut settings.state);
        files.push(git_dir.join("config.worktree"));
        // Which branch is checked out may decide about what is included.
        if conditional { &mut *files } else { &mut *state }.push(git_dir.join("HEAD"));
        files.push(self.common_dir().join("config"));
        state.extend(["index", "info/sparse-checkout"].map(|name| git_dir.join(name)));
        let shared = ["info/exclude", "info/attributes", "packed-refs", "reftable/tables.list"];
        state.extend(shared.iter().map(|name| self.common_dir().join(name)));
        let dot_git = worktree.join(".git");
        // Of the repository's own folder the files in it are told above.
        if !dot_git.is_dir() {
            state.push(dot_git);
        }
        for folder in SYSTEM.map(Path::new) {
            files.push(folder.join("gitconfig"));
            state.push(folder.join("gitattributes"));
        }
        let variables = ["GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM"];
        files.extend(variables.iter().filter_map(|name| self.git().env_var(name)).map(PathBuf::from));
        let config_home = self.git().env_var("XDG_CONFIG_HOME").map(PathBuf::from);
        for folder in [config_home, home.map(|home| home.join(".config"))].into_iter().flatten() {
            files.push(folder.join("git/config"));
            state.extend(["git/ignore", "git/attributes"].map(|name| folder.join(name)));
        }
        files.extend(home.map(|home| home.join(".gitconfig")));
    }
}
