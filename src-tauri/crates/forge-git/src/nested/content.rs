//! What of the repositories inside a worktree goes into a backup.
//!
//! The files of a repository are at their paths, or below [`KEPT`] where they would not be found there when they are put
//! back. Beside them, below `KEPT`: its history (`.bundle`), what is staged and in no file (`.staged`), and the `.git` of
//! one that git cannot read (`.dot-git`).

use std::collections::{BTreeSet, HashSet};
use std::fs;
use std::path::{Path, PathBuf};

use super::{DEPTH, KEPT, WHOLE_HISTORY, files_below, git_dir_of, submodule_paths};
use crate::bytes;
use crate::error::GitError;
use crate::repo::Repo;
use crate::scratch::ScratchDir;
use crate::worktree::Worktree;

/// The commits that only a submodule holds: also those put away, and those that only a log names.
const OWN_HISTORY: [&str; 5] = ["HEAD", "--all", "--reflog", "--not", "--remotes"];

/// What of the repositories inside a worktree goes into a backup.
#[derive(Debug, Default)]
pub(crate) struct NestedContent {
    /// Files, from the top of the worktree, and where the backup has them.
    pub(crate) files: Vec<(PathBuf, PathBuf)>,
    /// Bundles and what was staged, and where the backup has them.
    pub(crate) bundles: Vec<(PathBuf, PathBuf)>,
    /// Repositories that are in it already.
    seen: HashSet<PathBuf>,
    /// What is gone with this value: the bundles and what was staged.
    scratch: Option<ScratchDir>,
}

impl NestedContent {
    pub(crate) fn is_empty(&self) -> bool {
        self.files.is_empty() && self.bundles.is_empty()
    }

    /// Adds those of a repository's files that are none of a repository in it.
    fn add_files(&mut self, folder: &Path, inner: &Inner, files: Vec<PathBuf>) {
        let is_file = |file: &PathBuf| folder.join(file).symlink_metadata().is_ok_and(|it| !it.is_dir());
        let files = files.into_iter().filter(is_file);
        self.files.extend(files.map(|file| (inner.path.join(&file), inner.kept.join(&file))));
    }

    fn scratch_dir(&mut self, repo: &Repo) -> Result<PathBuf, GitError> {
        let scratch = match self.scratch.take() {
            Some(scratch) => scratch,
            None => ScratchDir::new(repo.common_dir())?,
        };
        let path = scratch.path.clone();
        self.scratch = Some(scratch);
        Ok(path)
    }
}

/// A repository inside a worktree whose content is to be kept.
#[derive(Debug)]
struct Inner {
    /// Its folder, from the top of the worktree.
    path: PathBuf,
    /// Where the backup has its files.
    kept: PathBuf,
    is_submodule: bool,
    /// git tells of none of its files together with those around it.
    is_apart: bool,
}

/// Where the history of an embedded repository, or what only a submodule holds of its own, is in a backup.
pub(crate) fn bundle_of(path: &Path) -> PathBuf {
    kept_beside(path, "bundle")
}

/// Where a backup has something of a repository in a folder that is none of its files.
fn kept_beside(path: &Path, ending: &str) -> PathBuf {
    let mut name = Path::new(KEPT).join(path).into_os_string();
    name.push(".");
    name.push(ending);
    name.into()
}

impl Repo {
    /// Adds what is staged in a repository and is in no file: the index goes with it.
    async fn add_staged(
        &self,
        folder: &Path,
        git_dir: &Path,
        path: &Path,
        content: &mut NestedContent,
    ) -> Result<(), GitError> {
        let Some(status) = self.status_inside(folder, git_dir).await? else { return Ok(()) };
        let staged =
            status.into_iter().filter(|raw| raw.entry.is_staged_and_changed() && !raw.entry.submodule);
        for raw in staged {
            let mut name = std::ffi::OsString::from(":0:");
            name.push(&raw.path);
            let shown = self.inside(folder, git_dir).args(["cat-file", "blob"]).arg(name).run().await?;
            if shown.exit != Some(0) {
                // Its object is gone already.
                continue;
            }
            let place = content.scratch_dir(self)?.join(format!("staged-{}", content.bundles.len()));
            fs::write(&place, shown.stdout).map_err(GitError::io("write", &place))?;
            content.bundles.push((place, kept_beside(path, "staged").join(&raw.path)));
        }
        Ok(())
    }
}

impl Worktree {
    /// What of the repositories inside the worktree has to go into a backup: all of embedded ones with their history, of
    /// submodules what is uncommitted and the commits that no remote has. `with_dot_git` are the folders that have a `.git`
    /// and are no submodules.
    pub(crate) async fn nested_content(
        &self,
        with_dot_git: &[PathBuf],
        checked_out: &[PathBuf],
    ) -> Result<NestedContent, GitError> {
        let mut content = NestedContent::default();
        let overlooked = self.overlooked_repositories()?.into_iter().map(|path| (path, true));
        for (path, is_apart) in overlooked.chain(with_dot_git.iter().map(|path| (path.clone(), false))) {
            let inner = Inner { kept: path.clone(), path, is_submodule: false, is_apart };
            self.add_content(inner, &mut content).await?;
        }
        let listed = if checked_out.is_empty() { HashSet::new() } else { submodule_paths(self.path()) };
        for path in checked_out {
            let kept = Path::new(KEPT).join(path);
            let is_submodule = listed.contains(path);
            let inner = Inner { path: path.clone(), kept, is_submodule, is_apart: true };
            self.add_content(inner, &mut content).await?;
        }
        for path in self.link_paths().await?.into_iter().filter(|path| !checked_out.contains(path)) {
            // Without a `.git` git tells of nothing in it.
            let folder = self.path().join(&path);
            if folder.symlink_metadata().is_ok_and(|found| found.is_dir()) {
                let kept = Path::new(KEPT).join(&path);
                let inner = Inner { path, kept, is_submodule: false, is_apart: true };
                content.add_files(&folder, &inner, files_below(&folder)?);
            }
        }
        Ok(content)
    }

    /// Adds a repository and those in it.
    async fn add_content(&self, inner: Inner, content: &mut NestedContent) -> Result<(), GitError> {
        let mut ahead = vec![(inner, 0)];
        while let Some((inner, depth)) = ahead.pop() {
            if !content.seen.insert(inner.path.clone()) {
                continue;
            }
            let folder = self.path().join(&inner.path);
            let Some(git_dir) = git_dir_of(&folder) else {
                add_remains(&folder.join(".git"), &inner.path, content)?;
                let files = if inner.is_apart { files_below(&folder)? } else { Vec::new() };
                content.add_files(&folder, &inner, files);
                continue;
            };
            let all = self.repo().files_inside(&folder).await?;
            let history: &[&str] = if inner.is_submodule { &OWN_HISTORY } else { &WHOLE_HISTORY };
            self.add_bundle(&inner.path, history, content).await?;
            self.repo().add_staged(&folder, &git_dir, &inner.path, content).await?;
            let files = match inner.is_submodule {
                true => self.repo().uncommitted_inside(&folder).await?,
                false => all.clone(),
            };
            content.add_files(&folder, &inner, files);
            let listed = submodule_paths(&folder);
            for below in repositories_among(&folder, &all).into_iter().filter(|_| depth < DEPTH) {
                let is_submodule = inner.is_submodule && listed.contains(&below);
                let is_apart = all.contains(&below);
                let (path, kept) = (inner.path.join(&below), inner.kept.join(&below));
                ahead.push((Inner { path, kept, is_submodule, is_apart }, depth + 1));
            }
        }
        Ok(())
    }

    /// Repositories inside a worktree that `info/exclude` names: git overlooks them, and a worktree that goes takes them
    /// along.
    fn overlooked_repositories(&self) -> Result<Vec<PathBuf>, GitError> {
        let mut folders = self.repo().excluded_folders()?;
        folders.retain(|path| self.path().join(path).join(".git").symlink_metadata().is_ok());
        Ok(folders)
    }

    /// Bundles what these arguments name in the repository of a folder, if there is anything.
    pub(super) async fn add_bundle(
        &self,
        path: &Path,
        what: &[&str],
        content: &mut NestedContent,
    ) -> Result<(), GitError> {
        let folder = self.path().join(path);
        let Some(git_dir) = git_dir_of(&folder) else { return Ok(()) };
        // Without a commit it has no HEAD to name.
        let has_head = self.repo().head_inside(&folder).await?.is_some();
        let ask = |what: &[&str]| {
            let names = what.iter().copied().filter(|name| has_head || *name != "HEAD");
            names.map(str::to_owned).collect::<Vec<_>>()
        };
        let counted = self
            .repo()
            .inside(&folder, &git_dir)
            .args(["rev-list", "--count", "--max-count=1"])
            .args(ask(what))
            .run()
            .await?;
        if counted.exit == Some(0) && bytes::line(&counted.stdout) == "0" {
            return Ok(());
        }
        let bundle = content.scratch_dir(self.repo())?.join(format!("{}.bundle", content.bundles.len()));
        // git makes no bundle of commits that only a log names; with a ref beside them it does.
        for what in [what, &WHOLE_HISTORY] {
            let create =
                self.repo().inside(&folder, &git_dir).args(["bundle", "create", "--quiet"]).arg(&bundle);
            if create.args(ask(what)).run().await?.exit == Some(0) {
                content.bundles.push((bundle, bundle_of(path)));
                return Ok(());
            }
        }
        let to = kept_beside(path, "dot-git");
        content
            .bundles
            .extend(files_below(&git_dir)?.into_iter().map(|file| (git_dir.join(&file), to.join(&file))));
        Ok(())
    }
}

/// Adds the `.git` of a folder where it is no repository: what is left of one, or what never became one.
fn add_remains(dot_git: &Path, folder: &Path, content: &mut NestedContent) -> Result<(), GitError> {
    let kept = kept_beside(folder, "dot-git");
    match dot_git.symlink_metadata() {
        Ok(found) if found.is_dir() => {
            let files = files_below(dot_git)?.into_iter();
            content.files.extend(files.map(|file| (folder.join(".git").join(&file), kept.join(&file))));
        }
        Ok(_) => content.files.push((folder.join(".git"), kept)),
        Err(_) => {}
    }
    Ok(())
}

/// The folders of repositories among what lies in another, and above its files.
fn repositories_among(folder: &Path, all: &[PathBuf]) -> Vec<PathBuf> {
    let folders: BTreeSet<&Path> =
        all.iter().flat_map(|path| path.ancestors()).filter(|path| !path.as_os_str().is_empty()).collect();
    let has_dot_git = |path: &&Path| {
        let inner = folder.join(path);
        inner.is_dir() && inner.join(".git").symlink_metadata().is_ok()
    };
    folders.into_iter().filter(has_dot_git).map(Path::to_owned).collect()
}
