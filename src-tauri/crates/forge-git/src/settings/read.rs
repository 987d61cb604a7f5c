//! Reads what git is set to, and finds the files that say so.

use std::path::{Path, PathBuf};

use super::{CONDITIONS, SYSTEM, Settings, expanded};
use crate::bytes;
use crate::program::Git;

impl Settings {
    /// Reads the answer of `git config --list -z --show-origin` in a worktree with this git directory.
    pub(crate) fn read(listed: &[u8], git: &Git, common_dir: &Path, worktree: &Path, git_dir: &Path) -> Self {
        let home = git.env_var("HOME").map(PathBuf::from);
        let (values, files, state) = (Vec::new(), Vec::new(), Vec::new());
        let mut settings = Self { values, files, state, complete: true };
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
        settings.add_standing(git, common_dir, worktree, git_dir, home.as_deref());
        for files in [&mut settings.files, &mut settings.state] {
            files.sort_unstable();
            files.dedup();
        }
        settings
    }

    /// Adds the files that count when they are there.
    fn add_standing(
        &mut self,
        git: &Git,
        common_dir: &Path,
        worktree: &Path,
        git_dir: &Path,
        home: Option<&Path>,
    ) {
        let conditional = self.values.iter().any(|(name, _)| name.starts_with(CONDITIONS));
        let (files, state) = (&mut self.files, &mut self.state);
        files.push(git_dir.join("config.worktree"));
        // Which branch is checked out may decide about what is included.
        if conditional { &mut *files } else { &mut *state }.push(git_dir.join("HEAD"));
        files.push(common_dir.join("config"));
        state.extend(["index", "info/sparse-checkout"].map(|name| git_dir.join(name)));
        let shared = ["info/exclude", "info/attributes", "packed-refs", "reftable/tables.list"];
        state.extend(shared.iter().map(|name| common_dir.join(name)));
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
        files.extend(variables.iter().filter_map(|name| git.env_var(name)).map(PathBuf::from));
        let config_home = git.env_var("XDG_CONFIG_HOME").map(PathBuf::from);
        for folder in [config_home, home.map(|home| home.join(".config"))].into_iter().flatten() {
            files.push(folder.join("git/config"));
            state.extend(["git/ignore", "git/attributes"].map(|name| folder.join(name)));
        }
        files.extend(home.map(|home| home.join(".gitconfig")));
    }
}
