//! Repositories inside a worktree: submodules, which `.gitmodules` lists, and embedded ones, which it does not.
//!
//! Both have a configuration of their own that whoever works in the worktree can write, so no command of Forge's runs
//! in them that would run a program it names: what is uncommitted there is listed from a scratch git directory
//! with their index and objects and nobody's settings, and only commands without filters, hooks and network
//! see the real one. Their content is kept in backups ([`KEPT`]), their commits as bundles.

use std::collections::HashSet;
use std::ffi::OsStr;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use crate::bytes;
use crate::command::{GitCommand, Kind};
use crate::dot_git::set_aside;
use crate::error::GitError;
use crate::index::Paths;
use crate::merge::ScratchDir;
use crate::repo::Repo;
use crate::status::{RawEntry, Uncommitted, parse_all};

/// Where a backup has what would not be found at its own path when it is put back.
pub(crate) const KEPT: &str = ".forge/kept";
/// The mode of a link to a commit of another repository.
const LINK: &str = "160000";
/// The protocols that git may use there: none, whatever a configuration allows. An older git fetches what is missing
/// although it was told not to, and has the remote's `uploadpack` run for that.
const NO_PROTOCOL: &str = "";
/// Repositories in each other beyond this are not looked into.
const DEPTH: usize = 16;

/// What a repository inside a worktree is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NestedKind {
    /// `.gitmodules` lists it.
    Submodule,
    /// Nothing says that it belongs there.
    Embedded,
}

/// A repository inside a worktree, or what is left of one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NestedRepository {
    /// Its folder, from the top of the worktree.
    pub path: String,
    /// What it is.
    pub kind: NestedKind,
    /// The commit that the index names; `None` when nothing of it is staged.
    pub commit: Option<String>,
}

/// What of the repositories inside a worktree goes into a backup.
#[derive(Debug, Default)]
pub(crate) struct NestedContent {
    /// Files, from the top of the worktree, and where the backup has them.
    pub(crate) files: Vec<(PathBuf, PathBuf)>,
    /// Bundles, and where the backup has them.
    pub(crate) bundles: Vec<(PathBuf, PathBuf)>,
    /// What is gone with this value: the bundles.
    scratch: Option<ScratchDir>,
}

impl NestedContent {
    pub(crate) fn is_empty(&self) -> bool {
        self.files.is_empty() && self.bundles.is_empty()
    }
}

/// Where the history of an embedded repository, or what only a submodule holds of its own, is in a backup.
pub(crate) fn bundle_of(path: &Path) -> PathBuf {
    let mut name = Path::new(KEPT).join(path).into_os_string();
    name.push(".bundle");
    name.into()
}

impl Repo {
    /// The folders of this worktree that the index has as links to other repositories and that hold one.
    pub(crate) async fn checked_out_links(&self, worktree: &Path) -> Result<Vec<PathBuf>, GitError> {
        let mut links = self.link_paths(worktree).await?;
        links.retain(|path| worktree.join(path).join(".git").symlink_metadata().is_ok());
        Ok(links)
    }

    async fn link_paths(&self, worktree: &Path) -> Result<Vec<PathBuf>, GitError> {
        let index = self.git_dir(worktree).await?.join("index");
        let read = tokio::task::spawn_blocking(move || {
            let paths = Paths::read(&index).map_err(GitError::io("read", &index))?;
            let links = |paths: Paths| {
                let links = paths.iter().filter(|listed| listed.marks.submodule);
                links.map(|listed| bytes::path(listed.path).to_owned()).collect()
            };
            Ok::<Option<Vec<PathBuf>>, GitError>(paths.map(links))
        });
        match read.await?? {
            Some(links) => Ok(links),
            // An index of a kind that is not read here.
            None => Ok(self.links(worktree, &[]).await?.into_iter().map(|(path, _)| path).collect()),
        }
    }

    /// Links of the index with their commits; of some paths, or all.
    async fn links(&self, worktree: &Path, paths: &[PathBuf]) -> Result<Vec<(PathBuf, String)>, GitError> {
        let listed = self
            .at(worktree, Kind::Read)
            .env("GIT_LITERAL_PATHSPECS", "1")
            .args(["ls-files", "-z", "--stage", "--"])
            .args(paths)
            .ok()
            .await?;
        let parse = |record| {
            let (mode, commit, path) = staged(record)?;
            (mode == LINK).then(|| (path.to_owned(), commit))
        };
        Ok(bytes::records(&listed).filter_map(parse).collect())
    }

    /// The links of a commit among these paths.
    async fn links_in(&self, commit: &str, paths: &[PathBuf]) -> Result<Vec<(PathBuf, String)>, GitError> {
        if paths.is_empty() {
            return Ok(Vec::new());
        }
        let listed = self
            .read()
            .global("--literal-pathspecs")
            .args(["ls-tree", "-z", "--full-tree", commit, "--"])
            .args(paths)
            .ok()
            .await?;
        let parse = |record: &[u8]| {
            let tab = record.iter().position(|b| *b == b'\t')?;
            let fields = bytes::text(&record[..tab]);
            let mut fields = fields.split(' ');
            let is_link = fields.next()? == LINK;
            let commit = fields.nth(1)?.to_owned();
            is_link.then(|| (bytes::path(&record[tab + 1..]).to_owned(), commit))
        };
        Ok(bytes::records(&listed).filter_map(parse).collect())
    }

    /// Repositories inside a worktree that nothing says belong there: folders with a `.git` of their own that are not
    /// ignored, and links that `.gitmodules` does not list. Links that the commit `base` has already are left out.
    pub async fn embedded_repositories(
        &self,
        worktree: &Path,
        seen: &Uncommitted,
        base: &str,
    ) -> Result<Vec<NestedRepository>, GitError> {
        let paths = self.link_paths(worktree).await?;
        let listed = submodule_paths(worktree);
        let unlisted: Vec<PathBuf> = paths.into_iter().filter(|path| !listed.contains(path)).collect();
        let mut found = Vec::new();
        if !unlisted.is_empty() {
            let before: HashSet<PathBuf> =
                self.links_in(base, &unlisted).await?.into_iter().map(|(path, _)| path).collect();
            for (path, commit) in self.links(worktree, &unlisted).await? {
                if !before.contains(&path) && worktree.join(&path).is_dir() {
                    found.push(embedded(&path, Some(commit)));
                }
            }
        }
        for nested in seen.changes.iter().filter(|raw| raw.is_nested_repository()) {
            let path: PathBuf = nested.path.components().collect();
            found.push(embedded(&path, None));
        }
        Ok(found)
    }

    /// Submodules whose commit in the index is another than in `base`, and on no branch that was pushed or fetched.
    pub async fn unpushed_submodules(
        &self,
        worktree: &Path,
        base: &str,
    ) -> Result<Vec<NestedRepository>, GitError> {
        let listed = submodule_paths(worktree);
        let paths: Vec<PathBuf> =
            self.link_paths(worktree).await?.into_iter().filter(|path| listed.contains(path)).collect();
        if paths.is_empty() {
            return Ok(Vec::new());
        }
        let before = self.links_in(base, &paths).await?;
        let mut unpushed = Vec::new();
        for link in self.links(worktree, &paths).await? {
            if before.contains(&link) {
                continue;
            }
            // A worktree that was just made has no submodules: the checkout of the user may know.
            let is_pushed = self.is_pushed(&worktree.join(&link.0), &link.1).await?
                || self.is_pushed(&self.root().join(&link.0), &link.1).await?;
            if !is_pushed {
                let path = link.0.to_string_lossy().into_owned();
                unpushed.push(NestedRepository { path, kind: NestedKind::Submodule, commit: Some(link.1) });
            }
        }
        Ok(unpushed)
    }

    /// Whether a commit has links to other repositories that differ from those where it left `target`.
    pub async fn has_new_links(&self, target: &str, commit: &str) -> Result<bool, GitError> {
        let base = self.merge_base(target, commit).await?;
        let base = base.as_deref().unwrap_or(target);
        let changed = self.read().args(["diff-tree", "-r", "-z", "--raw", "--no-renames", base, commit]).ok();
        // `:<mode> <mode> <oid> <oid> <status>`, then the path.
        Ok(bytes::records(&changed.await?).any(|record| {
            record.first() == Some(&b':')
                && record.split(|byte| *byte == b' ').nth(1) == Some(LINK.as_bytes())
        }))
    }

    /// Whether a branch of a remote, as the repository in a folder knows it, holds a commit.
    async fn is_pushed(&self, folder: &Path, commit: &str) -> Result<bool, GitError> {
        let Some(git_dir) = git_dir_of(folder) else { return Ok(false) };
        let asked = self
            .inside(folder, &git_dir)
            .args(["for-each-ref", "--count=1", "--format=%(refname)", "--contains", commit, "refs/remotes"])
            .run()
            .await?;
        Ok(asked.exit == Some(0) && !asked.stdout.is_empty())
    }

    /// Lines for `update-index --index-info` that stage the commits which submodules moved to.
    pub(crate) async fn moved_submodules(
        &self,
        worktree: &Path,
        changes: &[RawEntry],
        checked_out: &[PathBuf],
    ) -> Result<Vec<u8>, GitError> {
        let mut lines = Vec::new();
        if checked_out.is_empty() {
            return Ok(lines);
        }
        let listed = submodule_paths(worktree);
        for change in changes.iter().filter(|raw| raw.entry.submodule && raw.entry.worktree != '.') {
            if !checked_out.contains(&change.path) || !listed.contains(&change.path) {
                continue;
            }
            if let Some(head) = self.head_inside(&worktree.join(&change.path)).await? {
                lines.extend_from_slice(format!("{LINK} {head}\t").as_bytes());
                lines.extend_from_slice(bytes::of(&change.path));
                lines.push(0);
            }
        }
        Ok(lines)
    }

    /// The commit that the repository in a folder stands on.
    pub(crate) async fn head_inside(&self, folder: &Path) -> Result<Option<String>, GitError> {
        let Some(git_dir) = git_dir_of(folder) else { return Ok(None) };
        let asked = self
            .inside(folder, &git_dir)
            .args(["rev-parse", "-q", "--verify", "HEAD^{commit}"])
            .run()
            .await?;
        Ok((asked.exit == Some(0)).then(|| bytes::line(&asked.stdout)))
    }

    /// What is not committed in the repository of a folder: paths from there. One that cannot be read counts as such.
    pub(crate) async fn uncommitted_inside(&self, folder: &Path) -> Result<Vec<PathBuf>, GitError> {
        let Some(git_dir) = git_dir_of(folder) else { return Ok(Vec::new()) };
        let head = self.head_inside(folder).await?;
        let scratch = ScratchDir::new(self.common_dir())?;
        let write = |name: &str, content: String| {
            let path = scratch.path.join(name);
            fs::write(&path, content).map_err(GitError::io("write", path))
        };
        for name in ["objects", "refs"] {
            let path = scratch.path.join(name);
            fs::create_dir(&path).map_err(GitError::io("create", path))?;
        }
        let format =
            head.as_ref().filter(|head| head.len() > 40).map(|_| "[extensions]\n\tobjectFormat = sha256\n");
        let version = u8::from(format.is_some());
        let settings = format!("[core]\n\trepositoryFormatVersion = {version}\n\tbare = false\n");
        write("config", settings + format.unwrap_or_default())?;
        write("HEAD", head.unwrap_or_else(|| "ref: refs/heads/none".to_owned()) + "\n")?;
        let output = GitCommand::new(self.git(), folder, Kind::Read)
            .guarded(self.guard())
            .placed(&scratch.path, &scratch.path, Some(folder))
            .env("GIT_OBJECT_DIRECTORY", shared_dir(&git_dir).join("objects"))
            .env("GIT_INDEX_FILE", git_dir.join("index"))
            .env("GIT_ALLOW_PROTOCOL", NO_PROTOCOL)
            .args(["status", "--porcelain=v2", "-z", "--no-renames", "--ignore-submodules=dirty"])
            .arg("--untracked-files=all")
            .run()
            .await?;
        let listed = (output.exit == Some(0)).then(|| parse_all(&output.stdout).ok()).flatten();
        match listed {
            Some(entries) => Ok(entries.into_iter().map(|raw| raw.path).collect()),
            None => files_below(folder),
        }
    }

    /// A command in a repository inside a worktree: one that runs no filter, and gets no hook and no network.
    fn inside(&self, folder: &Path, git_dir: &Path) -> GitCommand {
        GitCommand::new(self.git(), folder, Kind::Read)
            .guarded(self.guard())
            .env("GIT_DIR", git_dir)
            .env("GIT_WORK_TREE", folder)
            .env("GIT_NO_LAZY_FETCH", "1")
            .env("GIT_ALLOW_PROTOCOL", NO_PROTOCOL)
            .config("core.hooksPath=/dev/null")
    }

    /// What of the repositories inside a worktree has to go into a backup: all of embedded ones with their history, of
    /// submodules what is uncommitted and the commits that no remote has.
    pub(crate) async fn nested_content(
        &self,
        worktree: &Path,
        changes: &[RawEntry],
        checked_out: &[PathBuf],
    ) -> Result<NestedContent, GitError> {
        let mut content = NestedContent::default();
        for change in changes.iter().filter(|raw| raw.is_nested_repository()) {
            let path: PathBuf = change.path.components().collect();
            self.add_embedded_content(worktree, &path, &path, &mut content).await?;
        }
        for path in self.overlooked_repositories(worktree)? {
            self.add_embedded_content(worktree, &path, &path, &mut content).await?;
        }
        if checked_out.is_empty() {
            return Ok(content);
        }
        let listed = submodule_paths(worktree);
        for path in checked_out {
            let kept = Path::new(KEPT).join(path);
            if !listed.contains(path) {
                self.add_embedded_content(worktree, path, &kept, &mut content).await?;
                continue;
            }
            for file in self.uncommitted_inside(&worktree.join(path)).await? {
                let is_file =
                    worktree.join(path).join(&file).symlink_metadata().is_ok_and(|found| !found.is_dir());
                if is_file {
                    content.files.push((path.join(&file), kept.join(&file)));
                }
            }
            let own = ["HEAD", "--branches", "--tags", "--not", "--remotes"];
            self.add_bundle(worktree, path, &own, &mut content).await?;
        }
        Ok(content)
    }

    /// Adds an embedded repository and those in it.
    async fn add_embedded_content(
        &self,
        worktree: &Path,
        path: &Path,
        kept: &Path,
        content: &mut NestedContent,
    ) -> Result<(), GitError> {
        let mut ahead = vec![(path.to_owned(), kept.to_owned(), 0)];
        while let Some((path, kept, depth)) = ahead.pop() {
            self.add_bundle(worktree, &path, &["HEAD", "--all"], content).await?;
            let folder = worktree.join(&path);
            for file in self.files_inside(&folder).await? {
                let full = folder.join(&file);
                let Ok(found) = full.symlink_metadata() else { continue };
                if !found.is_dir() {
                    content.files.push((path.join(&file), kept.join(&file)));
                } else if depth < DEPTH && full.join(".git").symlink_metadata().is_ok() {
                    ahead.push((path.join(&file), kept.join(&file), depth + 1));
                }
            }
        }
        Ok(())
    }

    /// The files of the repository in a folder that it does not ignore; all when it cannot be asked.
    async fn files_inside(&self, folder: &Path) -> Result<Vec<PathBuf>, GitError> {
        let Some(git_dir) = git_dir_of(folder) else { return files_below(folder) };
        let listed = self
            .inside(folder, &git_dir)
            .args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"])
            .run()
            .await?;
        if listed.exit != Some(0) {
            return files_below(folder);
        }
        let path = |record| bytes::path(record).components().collect();
        let mut paths: Vec<PathBuf> = bytes::records(&listed.stdout).map(path).collect();
        paths.sort_unstable();
        paths.dedup();
        Ok(paths)
    }

    /// Bundles what these arguments name in the repository of a folder, if there is anything.
    async fn add_bundle(
        &self,
        worktree: &Path,
        path: &Path,
        what: &[&str],
        content: &mut NestedContent,
    ) -> Result<(), GitError> {
        let folder = worktree.join(path);
        let Some(git_dir) = git_dir_of(&folder) else { return Ok(()) };
        // Without a commit it has no HEAD to name.
        let has_head = self.head_inside(&folder).await?.is_some();
        let what: Vec<&str> = what.iter().copied().filter(|name| has_head || *name != "HEAD").collect();
        let counted = self
            .inside(&folder, &git_dir)
            .args(["rev-list", "--count", "--max-count=1"])
            .args(&what)
            .run()
            .await?;
        if counted.exit != Some(0) || bytes::line(&counted.stdout) == "0" {
            return Ok(());
        }
        let scratch = match &content.scratch {
            Some(scratch) => scratch,
            None => content.scratch.insert(ScratchDir::new(self.common_dir())?),
        };
        let bundle = scratch.path.join(format!("{}.bundle", content.bundles.len()));
        self.inside(&folder, &git_dir)
            .args(["bundle", "create", "--quiet"])
            .arg(&bundle)
            .args(&what)
            .ok()
            .await?;
        content.bundles.push((bundle, bundle_of(path)));
        Ok(())
    }

    /// Makes the files of an embedded repository files of this one: its history is kept as a bundle in a backup under
    /// `ref_prefix`, its `.git` is moved into the folder `aside`. Repositories inside it are treated likewise.
    pub async fn absorb_embedded(
        &self,
        worktree: &Path,
        path: &str,
        ref_prefix: &str,
        aside: &Path,
    ) -> Result<(), GitError> {
        let mut ahead = vec![(PathBuf::from(path), 0)];
        while let Some((path, depth)) = ahead.pop() {
            let folder = worktree.join(&path);
            let inner = self.files_inside(&folder).await?.into_iter().filter(|file| {
                let inner = folder.join(file).join(".git");
                inner.symlink_metadata().is_ok()
            });
            if depth < DEPTH {
                ahead.extend(inner.map(|file| (path.join(file), depth + 1)));
            }
            self.keep_history(worktree, &path, ref_prefix).await?;
            self.unstage_link(worktree, &path).await?;
            let aside = aside.to_owned();
            tokio::task::spawn_blocking(move || set_aside(&folder.join(".git"), &aside)).await??;
        }
        Ok(())
    }

    /// Has git overlook an embedded repository in all worktrees, by `info/exclude`.
    pub async fn ignore_embedded(&self, worktree: &Path, path: &str) -> Result<(), GitError> {
        self.unstage_link(worktree, Path::new(path)).await?;
        self.exclude_lines(&[&exclude_line(path.trim_end_matches('/'))]).await
    }

    /// Repositories inside a worktree that `info/exclude` names: git overlooks them, and a worktree that goes takes them
    /// along.
    fn overlooked_repositories(&self, worktree: &Path) -> Result<Vec<PathBuf>, GitError> {
        let path = self.common_dir().join("info/exclude");
        let lines = match fs::read(&path) {
            Err(e) if e.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
            other => other.map_err(GitError::io("read", &path))?,
        };
        let folders = lines.split(|byte| *byte == b'\n').filter_map(excluded_folder);
        Ok(folders.filter(|path| worktree.join(path).join(".git").symlink_metadata().is_ok()).collect())
    }

    /// Keeps the history of an embedded repository under the next number of a prefix.
    async fn keep_history(&self, worktree: &Path, path: &Path, ref_prefix: &str) -> Result<(), GitError> {
        let mut content = NestedContent::default();
        self.add_bundle(worktree, path, &["HEAD", "--all"], &mut content).await?;
        let Some((bundle, to)) = content.bundles.first() else { return Ok(()) };
        let head = self.head(worktree).await?;
        let blob = self.write().args(["hash-object", "-w", "--no-filters", "--"]).arg(bundle).text().await?;
        let line = [format!("100644 {blob}\t").as_bytes(), bytes::of(to), b"\0"].concat();
        let tree = self.tree_with(&head, &line).await?;
        let commit = self
            .write()
            .args(["commit-tree", "--no-gpg-sign", "-p", &head, &tree])
            .envs(self.identity(worktree, None).await?)
            .input(format!("History of the repository in {}\n", path.display()))
            .text()
            .await?;
        self.next_number(ref_prefix, &commit).await.map(drop)
    }

    async fn unstage_link(&self, worktree: &Path, path: &Path) -> Result<(), GitError> {
        let paths = [path.to_owned()];
        if self.links(worktree, &paths).await?.is_empty() {
            return Ok(());
        }
        let git_dir = self.git_dir(worktree).await?;
        let input = [bytes::of(path), b"\0"].concat();
        let update = self.at(worktree, Kind::Write).args(["update-index", "-z", "--force-remove", "--stdin"]);
        self.run_in_index(&git_dir, update.input(input)).await.map(drop)
    }
}

fn embedded(path: &Path, commit: Option<String>) -> NestedRepository {
    NestedRepository { path: path.to_string_lossy().into_owned(), kind: NestedKind::Embedded, commit }
}

/// A record of `ls-files --stage -z`: `<mode> <oid> <stage>\t<path>`.
fn staged(record: &[u8]) -> Option<(&str, String, &Path)> {
    let tab = record.iter().position(|b| *b == b'\t')?;
    let mut fields = std::str::from_utf8(&record[..tab]).ok()?.split(' ');
    Some((fields.next()?, fields.next()?.to_owned(), bytes::path(&record[tab + 1..])))
}

/// The folders that `.gitmodules` of a worktree lists.
fn submodule_paths(worktree: &Path) -> HashSet<PathBuf> {
    let file = worktree.join(".gitmodules");
    // A link could lead to settings that are none of this worktree's.
    if !file.symlink_metadata().is_ok_and(|found| found.is_file()) {
        return HashSet::new();
    }
    let read = || {
        let settings = git2::Config::open(&file)?;
        let mut paths = HashSet::new();
        settings.entries(Some(r"^submodule\..*\.path$"))?.for_each(|entry| {
            paths.extend(entry.value().ok().map(|path| Path::new(path).components().collect::<PathBuf>()));
        })?;
        Ok::<_, git2::Error>(paths)
    };
    read().unwrap_or_default()
}

/// Where the repository in a folder has its git directory.
fn git_dir_of(folder: &Path) -> Option<PathBuf> {
    let dot_git = folder.join(".git");
    let target = if dot_git.is_dir() { dot_git } else { crate::repo::dot_git_target(folder)? };
    target.join("HEAD").symlink_metadata().ok()?;
    target.canonicalize().ok()
}

/// The directory that a git directory shares its objects with.
fn shared_dir(git_dir: &Path) -> PathBuf {
    match fs::read_to_string(git_dir.join("commondir")) {
        Ok(shared) => git_dir.join(shared.trim_end_matches('\n')),
        Err(_) => git_dir.to_owned(),
    }
}

/// All files below a folder, from there, without what lies in folders called `.git`. Links are not followed.
fn files_below(folder: &Path) -> Result<Vec<PathBuf>, GitError> {
    let (mut files, mut ahead) = (Vec::new(), vec![PathBuf::new()]);
    while let Some(below) = ahead.pop() {
        let here = folder.join(&below);
        let entries = match fs::read_dir(&here) {
            Err(e) if e.kind() == ErrorKind::NotFound => continue,
            other => other.map_err(GitError::io("list", &here))?,
        };
        for entry in entries {
            let entry = entry.map_err(GitError::io("list", &here))?;
            let kind = entry.file_type().map_err(GitError::io("look at", entry.path()))?;
            let path = below.join(entry.file_name());
            if entry.file_name() == OsStr::new(".git") {
                continue;
            }
            if kind.is_dir() { ahead.push(path) } else { files.push(path) }
        }
    }
    files.sort_unstable();
    Ok(files)
}

/// The line of an ignore list that means this folder alone.
fn exclude_line(folder: &str) -> Vec<u8> {
    let mut line = vec![b'/'];
    for byte in folder.bytes() {
        if matches!(byte, b'*' | b'?' | b'[' | b'\\' | b' ') {
            line.push(b'\\');
        }
        line.push(byte);
    }
    line.push(b'/');
    line
}

/// The folder that a line of an ignore list means, when it means just one.
fn excluded_folder(line: &[u8]) -> Option<PathBuf> {
    let escaped = line.strip_prefix(b"/")?.strip_suffix(b"/")?;
    let (mut folder, mut rest) = (Vec::with_capacity(escaped.len()), escaped.iter());
    while let Some(byte) = rest.next() {
        match byte {
            b'\\' => folder.push(*rest.next()?),
            b'*' | b'?' | b'[' => return None,
            byte => folder.push(*byte),
        }
    }
    let folder = bytes::path(&folder).to_owned();
    let stays_inside = folder.components().all(|part| matches!(part, std::path::Component::Normal(_)));
    (stays_inside && folder.components().next().is_some()).then_some(folder)
}

#[cfg(test)]
mod tests;
