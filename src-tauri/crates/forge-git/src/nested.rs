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
use crate::exclude::exclude_line;
use crate::hidden;
use crate::index_paths::Paths;
use crate::repo::Repo;
use crate::scratch::ScratchDir;
use crate::status::{RawEntry, Uncommitted, parse_all};
use crate::worktree::Worktree;
pub(crate) use content::NestedContent;

mod content;

/// Where a backup has what would not be found at its own path when it is put back.
pub(crate) const KEPT: &str = ".forge/kept";
/// All commits of a repository.
const WHOLE_HISTORY: [&str; 3] = ["HEAD", "--all", "--reflog"];
/// The protocols that git may use there: none, whatever a configuration allows. An older git fetches what is missing
/// although it was told not to, and has the remote's `uploadpack` run for that.
const NO_PROTOCOL: &str = "";
/// Repositories in each other beyond this are not looked into.
const DEPTH: usize = 16;
/// The mode of a link to a commit of another repository.
const LINK: &str = "160000";

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

impl Repo {
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
        match self.status_inside(folder, &git_dir).await? {
            Some(entries) => Ok(entries.into_iter().map(|raw| raw.path).collect()),
            None => files_below(folder),
        }
    }

    /// The status of the repository in a folder; `None` when it cannot be read. What its git was told to overlook is seen.
    pub(super) async fn status_inside(
        &self,
        folder: &Path,
        git_dir: &Path,
    ) -> Result<Option<Vec<RawEntry>>, GitError> {
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
        let index = revealed(git_dir, &scratch.path)?;
        let with = |kind| {
            GitCommand::new(self.git(), folder, kind)
                .guarded(self.guard())
                .placed(&scratch.path, &scratch.path, Some(folder))
                .env("GIT_OBJECT_DIRECTORY", shared_dir(git_dir).join("objects"))
                .env("GIT_INDEX_FILE", &index.file)
                .env("GIT_ALLOW_PROTOCOL", NO_PROTOCOL)
        };
        let mut marked = Vec::new();
        for (paths, option) in index.marked {
            marked.extend_from_slice(&paths);
            let update = with(Kind::Write).args(["update-index", "-z", option, "--stdin"]).input(paths);
            update.ok().await?;
        }
        if !marked.is_empty() {
            let listed = with(Kind::Read).args(hidden::LIST_STAGED).ok().await?;
            let restaged = hidden::without_times(&listed, &marked);
            with(Kind::Write).args(hidden::STAGE_LISTED).input(restaged).ok().await?;
        }
        let output = with(Kind::Read)
            .args(["status", "--porcelain=v2", "-z", "--no-renames", "--ignore-submodules=dirty"])
            .arg("--untracked-files=all")
            .run()
            .await?;
        Ok((output.exit == Some(0)).then(|| parse_all(&output.stdout).ok()).flatten())
    }

    /// A command in a repository inside a worktree: one that runs no filter, and gets no hook and no network.
    pub(super) fn inside(&self, folder: &Path, git_dir: &Path) -> GitCommand {
        GitCommand::new(self.git(), folder, Kind::Read)
            .guarded(self.guard())
            .env("GIT_DIR", git_dir)
            .env("GIT_WORK_TREE", folder)
            .env("GIT_NO_LAZY_FETCH", "1")
            .env("GIT_ALLOW_PROTOCOL", NO_PROTOCOL)
            .config("core.hooksPath=/dev/null")
    }

    /// The files of the repository in a folder that it does not ignore; all when it cannot be asked.
    pub(super) async fn files_inside(&self, folder: &Path) -> Result<Vec<PathBuf>, GitError> {
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
}

impl Worktree {
    /// The folders of this worktree that the index has as links to other repositories and that hold one.
    pub(crate) async fn checked_out_links(&self) -> Result<Vec<PathBuf>, GitError> {
        let mut links = self.link_paths().await?;
        links.retain(|path| self.path().join(path).join(".git").symlink_metadata().is_ok());
        Ok(links)
    }

    async fn link_paths(&self) -> Result<Vec<PathBuf>, GitError> {
        let index = self.git_dir().await?.join("index");
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
            None => Ok(self.links(&[]).await?.into_iter().map(|(path, _)| path).collect()),
        }
    }

    /// Links of the index with their commits; of some paths, or all.
    async fn links(&self, paths: &[PathBuf]) -> Result<Vec<(PathBuf, String)>, GitError> {
        let listed = self
            .command(Kind::Read)
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

    /// Repositories inside the worktree that nothing says belong there: folders with a `.git` of their own that are not
    /// ignored, also beside tracked files, and links that `.gitmodules` does not list. Links that the commit `base` has already are left out.
    pub async fn embedded_repositories(
        &self,
        seen: &Uncommitted,
        base: &str,
    ) -> Result<Vec<NestedRepository>, GitError> {
        let paths = self.link_paths().await?;
        let listed = submodule_paths(self.path());
        let unlisted: Vec<PathBuf> = paths.into_iter().filter(|path| !listed.contains(path)).collect();
        let mut found = Vec::new();
        if !unlisted.is_empty() {
            let before: HashSet<PathBuf> =
                self.repo().links_in(base, &unlisted).await?.into_iter().map(|(path, _)| path).collect();
            for (path, commit) in self.links(&unlisted).await? {
                if !before.contains(&path) && self.path().join(&path).is_dir() {
                    found.push(embedded(&path, Some(commit)));
                }
            }
        }
        let overlooked: HashSet<PathBuf> = self.repo().excluded_folders()?.into_iter().collect();
        let walk = self.walk(&seen.changes, &seen.checked_out).await?;
        for path in walk.with_dot_git {
            // What is left of a repository is none: git takes its files for those of this one.
            if git_dir_of(&self.path().join(&path)).is_some() && !overlooked.contains(&path) {
                found.push(embedded(&path, None));
            }
        }
        Ok(found)
    }

    /// Submodules whose commit in the index is another than in `base`, and on no branch that was pushed or fetched.
    pub async fn unpushed_submodules(&self, base: &str) -> Result<Vec<NestedRepository>, GitError> {
        let listed = submodule_paths(self.path());
        let paths: Vec<PathBuf> =
            self.link_paths().await?.into_iter().filter(|path| listed.contains(path)).collect();
        if paths.is_empty() {
            return Ok(Vec::new());
        }
        let before = self.repo().links_in(base, &paths).await?;
        let mut unpushed = Vec::new();
        for link in self.links(&paths).await? {
            if before.contains(&link) {
                continue;
            }
            // A worktree that was just made has no submodules: the checkout of the user may know.
            let is_pushed = self.repo().is_pushed(&self.path().join(&link.0), &link.1).await?
                || self.repo().is_pushed(&self.repo().root().join(&link.0), &link.1).await?;
            if !is_pushed {
                let path = link.0.to_string_lossy().into_owned();
                unpushed.push(NestedRepository { path, kind: NestedKind::Submodule, commit: Some(link.1) });
            }
        }
        Ok(unpushed)
    }

    /// Lines for `update-index --index-info` that stage the commits which submodules moved to.
    pub(crate) async fn moved_submodules(
        &self,
        changes: &[RawEntry],
        checked_out: &[PathBuf],
    ) -> Result<Vec<u8>, GitError> {
        let mut lines = Vec::new();
        if checked_out.is_empty() {
            return Ok(lines);
        }
        let listed = submodule_paths(self.path());
        for change in changes.iter().filter(|raw| raw.entry.submodule && raw.entry.worktree != '.') {
            if !checked_out.contains(&change.path) || !listed.contains(&change.path) {
                continue;
            }
            if let Some(head) = self.repo().head_inside(&self.path().join(&change.path)).await? {
                lines.extend_from_slice(format!("{LINK} {head}\t").as_bytes());
                lines.extend_from_slice(bytes::of(&change.path));
                lines.push(0);
            }
        }
        Ok(lines)
    }

    /// Makes the files of an embedded repository files of this one: its history is kept as a bundle in a backup under
    /// `ref_prefix`, its `.git` is moved into the folder `aside`. Repositories inside it are treated likewise.
    pub async fn absorb_embedded(&self, path: &str, ref_prefix: &str, aside: &Path) -> Result<(), GitError> {
        let mut ahead = vec![(PathBuf::from(path), 0)];
        while let Some((path, depth)) = ahead.pop() {
            let folder = self.path().join(&path);
            let inner = self.repo().files_inside(&folder).await?.into_iter().filter(|file| {
                let inner = folder.join(file).join(".git");
                inner.symlink_metadata().is_ok()
            });
            if depth < DEPTH {
                ahead.extend(inner.map(|file| (path.join(file), depth + 1)));
            }
            self.keep_history(&path, ref_prefix).await?;
            self.unstage_link(&path).await?;
            let aside = aside.to_owned();
            tokio::task::spawn_blocking(move || set_aside(&folder.join(".git"), &aside)).await??;
        }
        Ok(())
    }

    /// Has git overlook an embedded repository in all worktrees, by `info/exclude`. Beside tracked files it is its `.git`
    /// alone: what comes to the folder belongs to the task.
    pub async fn ignore_embedded(&self, path: &str) -> Result<(), GitError> {
        self.unstage_link(Path::new(path)).await?;
        let folder = path.trim_end_matches('/');
        let tracked = self
            .command(Kind::Read)
            .env("GIT_LITERAL_PATHSPECS", "1")
            .args(["ls-files", "-z", "--", folder])
            .ok()
            .await?;
        let named = if tracked.is_empty() { folder.to_owned() } else { format!("{folder}/.git") };
        self.repo().exclude_lines(&[&exclude_line(&named)]).await
    }

    /// Keeps the history of an embedded repository under the next number of a prefix.
    async fn keep_history(&self, path: &Path, ref_prefix: &str) -> Result<(), GitError> {
        let mut content = NestedContent::default();
        self.add_bundle(path, &WHOLE_HISTORY, &mut content).await?;
        let Some((bundle, to)) = content.bundles.first() else { return Ok(()) };
        let head = self.head().await?;
        let blob =
            self.repo().write().args(["hash-object", "-w", "--no-filters", "--"]).arg(bundle).text().await?;
        let line = [format!("100644 {blob}\t").as_bytes(), bytes::of(to), b"\0"].concat();
        let tree = self.repo().tree_with(&head, &line).await?;
        let commit = self
            .repo()
            .write()
            .args(["commit-tree", "--no-gpg-sign", "-p", &head, &tree])
            .envs(self.identity(None).await?)
            .input(format!("History of the repository in {}\n", path.display()))
            .text()
            .await?;
        self.repo().next_number(ref_prefix, &commit).await.map(drop)
    }

    async fn unstage_link(&self, path: &Path) -> Result<(), GitError> {
        let paths = [path.to_owned()];
        if self.links(&paths).await?.is_empty() {
            return Ok(());
        }
        let git_dir = self.git_dir().await?;
        let input = [bytes::of(path), b"\0"].concat();
        let update = self.command(Kind::Write).args(["update-index", "-z", "--force-remove", "--stdin"]);
        self.run_in_index(&git_dir, update.input(input)).await.map(drop)
    }
}

/// An index in which git overlooks nothing, once the marks are taken off.
struct Revealed {
    file: PathBuf,
    /// Paths, and the option that takes the mark off them.
    marked: Vec<(Vec<u8>, &'static str)>,
}

/// The index of a repository inside a worktree, or a copy of it in a folder where it has marks.
fn revealed(git_dir: &Path, scratch: &Path) -> Result<Revealed, GitError> {
    let own = git_dir.join("index");
    let paths = Paths::read(&own).map_err(GitError::io("read", &own))?;
    let mut marked = Vec::new();
    if let Some(paths) = paths.filter(|_| !git_dir.join("info/sparse-checkout").exists()) {
        marked.push((hidden::list(&paths, |marks| marks.assumed), "--no-assume-unchanged"));
        marked.push((hidden::list(&paths, |marks| marks.skipped), "--no-skip-worktree"));
        marked.retain(|(paths, _)| !paths.is_empty());
    }
    if marked.is_empty() {
        return Ok(Revealed { file: own, marked });
    }
    let file = scratch.join("index");
    fs::copy(&own, &file).map_err(GitError::io("copy", &own))?;
    Ok(Revealed { file, marked })
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
    let target = if dot_git.is_dir() { dot_git } else { crate::places::dot_git_target(folder)? };
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

#[cfg(test)]
mod tests;
