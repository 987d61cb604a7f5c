//! Backups: what is neither committed nor ignored in a worktree, kept under a ref before the worktree goes.
//!
//! A backup is a commit on top of the worktree's `HEAD`, or of the commit that it stood on last where its branch has none.
//! Contents are stored byte for byte, past the
//! repository's filters and line-ending rules, so that they come back as they were. The worktree's own index
//! and files are not touched. Repositories inside the worktree are saved with it: the files of embedded ones at their
//! paths, their history and what only a submodule holds below `.forge/kept` (see `nested`).

use std::collections::HashSet;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use crate::bytes;
use crate::command::{GitCommand, Kind};
use crate::error::GitError;
use crate::index::PrivateIndex;
use crate::keep::Head;
use crate::nested::NestedContent;
use crate::repo::Repo;
use crate::status::RawEntry;
use crate::worktree::Worktree;

/// Tries to find a free number while others take them.
const NUMBER_TRIES: u32 = 20;

/// A saved state of a worktree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Backup {
    /// The ref that keeps it: prefix and number.
    pub ref_name: String,
    /// The commit; its first parent is what the worktree stood on.
    pub commit: String,
    /// Paths that differ from that parent.
    pub files: u32,
    /// When it was made, milliseconds since 1970.
    pub at_ms: i64,
    /// Paths whose content could not be saved: sockets and the like. Empty in lists of backups.
    pub skipped: Vec<String>,
}

impl Repo {
    /// The backup of a worktree that holds nothing but the commit it stands on.
    async fn head_alone(&self, kept: Option<String>) -> Result<Option<Backup>, GitError> {
        let Some(ref_name) = kept else { return Ok(None) };
        let commit = self.must_resolve(&ref_name).await?;
        let at_ms = self.commit_time(&commit).await?;
        self.described(Kept { ref_name, commit, at_ms }).await.map(Some)
    }

    /// How long the names of this repository's objects are.
    pub(crate) async fn name_len(&self) -> Result<usize, GitError> {
        let format = self.read().args(["rev-parse", "--show-object-format"]).text().await?;
        Ok(if format == "sha256" { 64 } else { 40 })
    }

    /// The backups under a prefix, oldest first.
    pub async fn backups(&self, ref_prefix: &str) -> Result<Vec<Backup>, GitError> {
        let mut backups = Vec::new();
        for kept in self.kept_under(ref_prefix).await? {
            backups.push(self.described(kept).await?);
        }
        Ok(backups)
    }

    /// Forgets backups. One that was replaced meanwhile stays. Answers with those that are gone.
    pub async fn forget_backups(&self, backups: Vec<MadeBackup>) -> Result<Vec<Backup>, GitError> {
        let mut gone = Vec::new();
        for MadeBackup { kept, .. } in backups {
            let (name, commit) = (kept.ref_name.clone(), kept.commit.clone());
            let backup = self.described(kept).await?;
            match self.delete_ref(&name, &commit).await {
                Ok(()) => gone.push(backup),
                Err(GitError::RefMoved { .. }) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(gone)
    }

    /// The backups under a prefix, at any depth, with the time since when each is kept, as far as that is before
    /// `before_ms` (milliseconds since 1970).
    pub async fn backups_made(&self, prefix: &str, before_ms: i64) -> Result<Vec<MadeBackup>, GitError> {
        let mut all = Vec::new();
        for kept in self.kept_under(prefix).await? {
            // What is kept may be much older than its keeping: an old branch that was reset today. Its log is read only
            // where that can make a difference.
            let at_ms = if kept.at_ms < before_ms {
                let since = self.kept_since(&kept.ref_name).await?;
                Some(since.map_or(kept.at_ms, |since| since.max(kept.at_ms))).filter(|at| *at < before_ms)
            } else {
                None
            };
            all.push(MadeBackup { kept, at_ms });
        }
        Ok(all)
    }

    /// When a ref was last written, as its log tells; `None` without one.
    async fn kept_since(&self, ref_name: &str) -> Result<Option<i64>, GitError> {
        let log = self
            .read()
            .config("log.showSignature=false")
            .args(["log", "--walk-reflogs", "--max-count=1", "--date=unix", "--format=%gd", ref_name, "--"])
            .run()
            .await?;
        let said = bytes::line(&log.stdout);
        let seconds = said.rsplit_once("@{").and_then(|(_, at)| at.strip_suffix('}')?.parse::<i64>().ok());
        Ok(seconds.map(|seconds| seconds.saturating_mul(1000)))
    }

    async fn described(&self, kept: Kept) -> Result<Backup, GitError> {
        let files = u32::try_from(self.backed_up(&kept.commit).await?.len()).unwrap_or(u32::MAX);
        let Kept { ref_name, commit, at_ms } = kept;
        Ok(Backup { ref_name, commit, files, at_ms, skipped: Vec::new() })
    }

    async fn kept_under(&self, ref_prefix: &str) -> Result<Vec<Kept>, GitError> {
        let prefix = ref_prefix.trim_end_matches('/');
        let name = prefix.to_owned();
        if self.locally(move |local| local.has_none_below(&name)).await.is_some() {
            return Ok(Vec::new());
        }
        let command = self.read().args([
            "for-each-ref",
            "--sort=version:refname",
            "--format=%(refname) %(objectname) %(committerdate:unix)",
            &format!("{prefix}/"),
        ]);
        let args = command.shown();
        let listed = command.text().await?;
        let parse = |line: &str| {
            let mut fields = line.split(' ');
            let (ref_name, commit) = (fields.next()?.to_owned(), fields.next()?.to_owned());
            let at_ms = fields.next()?.parse::<i64>().ok()?.saturating_mul(1000);
            Some(Kept { ref_name, commit, at_ms })
        };
        listed
            .lines()
            .map(|line| {
                let odd = || GitError::Unexpected { args: args.clone(), what: format!("{line:?}") };
                parse(line).ok_or_else(odd)
            })
            .collect()
    }

    /// The tree of a commit with some entries replaced.
    pub(crate) async fn tree_with(&self, commit: &str, index_lines: &[u8]) -> Result<String, GitError> {
        self.tree_from(Some(commit), index_lines).await
    }

    /// The same beginning with a commit, a tree or nothing.
    async fn tree_from(&self, start: Option<&str>, index_lines: &[u8]) -> Result<String, GitError> {
        let index = PrivateIndex::empty(self.common_dir());
        let with = |command: GitCommand| index.with(command);
        with(self.bare(Kind::Write)).args(["read-tree", start.unwrap_or("--empty")]).ok().await?;
        with(self.bare(Kind::Write))
            .args(["update-index", "-z", "--index-info"])
            .input(index_lines)
            .ok()
            .await?;
        with(self.bare(Kind::Write)).arg("write-tree").text().await
    }

    /// Has the next free number under a prefix keep a commit.
    pub async fn next_number(&self, ref_prefix: &str, commit: &str) -> Result<String, GitError> {
        let prefix = ref_prefix.trim_end_matches('/');
        let mut tries = NUMBER_TRIES;
        loop {
            let listed = self
                .read()
                .args(["for-each-ref", "--format=%(refname)", &format!("{prefix}/")])
                .text()
                .await?;
            let last = listed
                .lines()
                .filter_map(|name| name.rsplit('/').next()?.parse::<u64>().ok())
                .max()
                .unwrap_or(0);
            let name = format!("{prefix}/{}", last + 1);
            match self.update_ref(&name, commit, "", "backup").await {
                Err(GitError::RefMoved { .. }) if tries > 0 => tries -= 1,
                other => return other.map(|()| name),
            }
        }
    }

    pub(crate) async fn commit_time(&self, commit: &str) -> Result<i64, GitError> {
        let command = self.read().args(["show", "-s", "--no-show-signature", "--format=%ct", commit]);
        let args = command.shown();
        let said = command.text().await?;
        let seconds = said.parse::<i64>().map_err(|_| GitError::Unexpected { args, what: said })?;
        Ok(seconds.saturating_mul(1000))
    }
}

impl Worktree {
    /// Saves what is not committed, and what only the worktree's `HEAD` and its log hold, to the next free numbers under
    /// `ref_prefix`; `None` when all is committed and a branch holds it.
    pub async fn back_up(&self, ref_prefix: &str, message: &str) -> Result<Option<Backup>, GitError> {
        self.reveal_hidden().await?;
        let checked_out = self.checked_out_links().await?;
        let mut changes = self.status_beside(true, &checked_out).await?;
        let mut walk = self.walk(&changes, &checked_out).await?;
        if walk.opened {
            changes = self.status_beside(true, &checked_out).await?;
            walk = self.walk(&changes, &checked_out).await?;
        }
        let nested = self.nested_content(&walk.with_dot_git, &checked_out).await?;
        self.keep_put_away(ref_prefix).await?;
        // Under a ref of its own, so that a person finds and restores it apart from what is uncommitted.
        let kept = self.keep_head(ref_prefix).await?;
        self.keep_left_behind(ref_prefix).await?;
        if changes.is_empty() && nested.is_empty() && walk.unread.is_empty() {
            return self.repo().head_alone(kept).await;
        }
        let head = self.head_or_last().await?;
        let start = match &head {
            Head::Commit(commit) => Some(commit.clone()),
            Head::Unborn(_) => {
                // All that is staged counts as new; of that the index has the content.
                changes.retain(|raw| raw.entry.untracked || raw.entry.worktree != '.');
                self.staged_tree(None).await?
            }
        };
        let oid_len = match head.commit() {
            Some(commit) => commit.len(),
            None => self.repo().name_len().await?,
        };
        let mut saved = self.store_contents(oid_len, &changes, &nested).await?;
        saved.skipped.extend(walk.unread.iter().map(|folder| folder.to_string_lossy().into_owned()));
        let tree = self.repo().tree_from(start.as_deref(), &saved.index_lines).await?;
        let staged = match changes.iter().any(|raw| raw.entry.is_staged_and_changed()) {
            true => self.staged_commit(head.commit(), &tree).await?,
            false => None,
        };
        if let (Head::Unborn(Some(last)), None, []) = (&head, &staged, walk.unread.as_slice())
            && self.repo().tree_of(last).await? == tree
        {
            return self.repo().head_alone(kept).await;
        }
        let mut commit = self.repo().write().args(["commit-tree", "--no-gpg-sign"]);
        for parent in head.commit().into_iter().chain(&staged) {
            commit = commit.args(["-p", parent]);
        }
        let commit =
            commit.arg(&tree).envs(self.identity(None).await?).input(message.as_bytes()).text().await?;
        let ref_name = self.repo().next_number(ref_prefix, &commit).await?;
        let at_ms = self.repo().commit_time(&commit).await?;
        Ok(Some(Backup { ref_name, commit, files: saved.files, at_ms, skipped: saved.skipped }))
    }

    /// Writes the changed files' contents as blobs; answers with lines for `update-index --index-info`.
    async fn store_contents(
        &self,
        oid_len: usize,
        changes: &[RawEntry],
        nested: &NestedContent,
    ) -> Result<Saved, GitError> {
        let mut saved = Saved { oid_len, ..Saved::default() };
        // Where a file is, where the backup has it, and whether it may be executed.
        let mut regular: Vec<(PathBuf, PathBuf, bool)> = Vec::new();
        let own = changes
            .iter()
            // The content of these is in `nested`, and a submodule's commit is no content of this repository.
            .filter(|change| !change.is_nested_repository() && !change.entry.submodule)
            .map(|change| (&change.path, &change.path));
        for (path, to) in own.chain(nested.files.iter().map(|(path, to)| (path, to))) {
            let full = self.path().join(path);
            let found = full.symlink_metadata();
            match found {
                Ok(found) if found.is_symlink() => {
                    let target = full.read_link().map_err(GitError::io("read link", &full))?;
                    let oid = self.hash().args(["--stdin"]).input(bytes::of(&target)).text().await?;
                    saved.set("120000", &oid, to);
                }
                Ok(found) if found.is_file() => {
                    regular.push((path.clone(), to.clone(), found.permissions().mode() & 0o100 != 0));
                }
                // A directory in the place of a tracked file: what is in it has entries of its own.
                Ok(found) if found.is_dir() => saved.unset(to),
                Ok(_) => saved.skipped.push(path.to_string_lossy().into_owned()),
                Err(e)
                    if matches!(
                        e.kind(),
                        std::io::ErrorKind::NotFound | std::io::ErrorKind::NotADirectory
                    ) =>
                {
                    saved.unset(to);
                }
                Err(source) => return Err(GitError::Io { doing: "look at", path: full, source }),
            }
        }
        for (bundle, to) in &nested.bundles {
            regular.push((bundle.clone(), to.clone(), false));
        }
        if regular.is_empty() {
            return Ok(saved);
        }
        let mut names = Vec::new();
        for (path, ..) in &regular {
            names.extend(quoted(bytes::of(path)));
            names.push(b'\n');
        }
        let oids = self.hash().args(["--no-filters", "--stdin-paths"]).input(names).text().await?;
        let mut oids = oids.lines();
        for (_, to, executable) in regular {
            let oid = oids.next().ok_or_else(|| GitError::Unexpected {
                args: "hash-object --stdin-paths".to_owned(),
                what: "fewer names than files".to_owned(),
            })?;
            saved.set(if executable { "100755" } else { "100644" }, oid, &to);
        }
        Ok(saved)
    }

    fn hash(&self) -> GitCommand {
        self.command(Kind::User).args(["hash-object", "-w"])
    }

    /// Keeps what is staged, and neither committed nor in the files, at the next free number below a prefix. The folder
    /// of the worktree need not be there.
    pub(crate) async fn keep_staged(&self, ref_prefix: &str) -> Result<Option<String>, GitError> {
        let head = self.head_or_last().await?;
        let tree = match head.commit() {
            Some(commit) => self.repo().tree_of(commit).await?,
            None => self.repo().tree_from(None, b"").await?,
        };
        match self.staged_commit(head.commit(), &tree).await? {
            Some(staged) => self.repo().next_number(ref_prefix, &staged).await.map(Some),
            None => Ok(None),
        }
    }

    /// A commit of what is staged, when that is neither committed nor what the files hold.
    async fn staged_commit(
        &self,
        head: Option<&String>,
        saved_tree: &str,
    ) -> Result<Option<String>, GitError> {
        let Some(tree) = self.staged_tree(Some(saved_tree)).await? else { return Ok(None) };
        let committed = match head {
            Some(head) => Some(self.repo().tree_of(head).await?),
            None => None,
        };
        if tree == saved_tree || Some(&tree) == committed.as_ref() {
            return Ok(None);
        }
        let mut commit = self.repo().write().args(["commit-tree", "--no-gpg-sign"]);
        if let Some(head) = head {
            commit = commit.args(["-p", head]);
        }
        let place = if self.path().is_dir() { self.path() } else { self.repo().root() };
        let identity = self.repo().worktree_at(place).identity(None).await?;
        commit.arg(&tree).envs(identity).input("staged\n").text().await.map(Some)
    }

    /// The tree of what is staged; `None` without an index. Paths of an unresolved merge are as `otherwise` has them: the
    /// index has versions of commits for them, and the file has what somebody made of these.
    async fn staged_tree(&self, otherwise: Option<&str>) -> Result<Option<String>, GitError> {
        let Some(copy) = PrivateIndex::copy_of(self).await? else { return Ok(None) };
        let git_dir = self.git_dir().await?;
        let with = |kind| copy.with(self.repo().in_record(&git_dir, kind));
        let written = with(Kind::Write).arg("write-tree").run().await?;
        if written.exit == Some(0) {
            return Ok(Some(bytes::line(&written.stdout)));
        }
        let unmerged = with(Kind::Read).args(["ls-files", "--unmerged", "-z"]).ok().await?;
        let paths: HashSet<&[u8]> = bytes::records(&unmerged).filter_map(path_of_record).collect();
        let zeros = "0".repeat(self.repo().name_len().await?);
        let mut lines = Vec::new();
        for path in &paths {
            lines.extend([format!("0 {zeros}\t").as_bytes(), path, b"\0"].concat());
        }
        if let Some(tree) = otherwise {
            let listed = self.repo().read().args(["ls-tree", "-r", "-z", "--full-tree", tree]).ok().await?;
            let has = |record: &&[u8]| path_of_record(record).is_some_and(|path| paths.contains(path));
            lines.extend(bytes::records(&listed).filter(has).flat_map(|record| [record, b"\0"].concat()));
        }
        with(Kind::Write).args(["update-index", "-z", "--index-info"]).input(lines).ok().await?;
        with(Kind::Write).arg("write-tree").text().await.map(Some)
    }
}

/// A backup with its age.
#[derive(Debug)]
pub struct MadeBackup {
    kept: Kept,
    /// Since when it is kept, in milliseconds since 1970; none when that is not before the time that was asked about.
    pub at_ms: Option<i64>,
}

/// A ref that keeps a backup.
#[derive(Debug)]
struct Kept {
    ref_name: String,
    commit: String,
    at_ms: i64,
}

#[derive(Debug, Default)]
struct Saved {
    oid_len: usize,
    index_lines: Vec<u8>,
    files: u32,
    skipped: Vec<String>,
}

impl Saved {
    fn set(&mut self, mode: &str, oid: &str, path: &Path) {
        self.index_lines.extend_from_slice(format!("{mode} {oid}\t").as_bytes());
        self.end(path);
    }

    fn unset(&mut self, path: &Path) {
        // Mode 0 removes; the name is not looked at, but has to be one by its length.
        self.index_lines.extend_from_slice(format!("0 {}\t", "0".repeat(self.oid_len)).as_bytes());
        self.end(path);
    }

    fn end(&mut self, path: &Path) {
        self.index_lines.extend_from_slice(bytes::of(path));
        self.index_lines.push(0);
        self.files += 1;
    }
}

/// The path of a record of git's that has facts before a tab.
fn path_of_record(record: &[u8]) -> Option<&[u8]> {
    let tab = record.iter().position(|byte| *byte == b'\t')?;
    record.get(tab + 1..)
}

/// A path for `--stdin-paths`, quoted when it could be taken for something else.
fn quoted(path: &[u8]) -> Vec<u8> {
    if !path.contains(&b'\n') && !path.starts_with(b"\"") {
        return path.to_vec();
    }
    let mut quoted = vec![b'"'];
    for byte in path {
        match byte {
            b'\n' => quoted.extend_from_slice(b"\\n"),
            b'"' | b'\\' => quoted.extend_from_slice(&[b'\\', *byte]),
            _ => quoted.push(*byte),
        }
    }
    quoted.push(b'"');
    quoted
}

#[cfg(test)]
mod tests;
