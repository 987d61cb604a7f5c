//! The list of changed files.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use forge_model::diff::{DiffSummary, FileChange, FileChangeKind};

use super::change::{Changes, RawChange};
use super::key::Ends;
use super::memory::Known;
use super::scope::{DiffCounts, DiffScope};
use crate::bytes;
use crate::command::Kind;
use crate::error::GitError;
use crate::guard::{Entry, Root};
use crate::index::PrivateIndex;
use crate::repo::Repo;
use crate::worktree::Worktree;

/// Untracked files beyond this are listed without a count of their lines.
const COUNT_CAP: u64 = 16 << 20;
/// How far git looks for a NUL before it takes a file for text.
const BINARY_WINDOW: usize = 8000;
const SUBMODULE: &str = "160000";

impl Repo {
    /// All changed files of a scope, sorted by path.
    pub async fn diff_files(&self, scope: &DiffScope) -> Result<DiffSummary, GitError> {
        let ends = self.ends(scope).await?;
        let changes = match self.unchanged(scope, &ends).await? {
            Some(changes) => changes,
            None => self.list_and_remember(scope, &ends).await?,
        };
        let mut files: Vec<FileChange> = changes.values().map(|raw| raw.change.clone()).collect();

        files.sort_by(|a, b| a.path.cmp(&b.path));
        let sum = |of: fn(&FileChange) -> u32| files.iter().map(of).fold(0, u32::saturating_add);
        let (added, removed) = (sum(|f| f.added), sum(|f| f.removed));
        Ok(DiffSummary {
            base: ends.base,
            head: ends.head,
            files,
            added,
            removed,
            outside_review: None,
            there: None,
        })
    }

    /// How much two commits differ: files, lines added, lines removed, as [`Repo::diff_files`] counts them.
    pub async fn diff_counts(&self, base: &str, head: &str) -> Result<DiffCounts, GitError> {
        let scope = DiffScope::Commits { base: base.to_owned(), head: head.to_owned() };
        let ends = self.ends(&scope).await?;
        let changes = self.list_tracked(&scope, &ends, None, &["--numstat"], &[]).await?;
        let sum = |of: fn(&FileChange) -> u32| {
            changes.iter().map(|raw| of(&raw.change)).fold(0, u32::saturating_add)
        };
        let files = u32::try_from(changes.len()).unwrap_or(u32::MAX);
        Ok(DiffCounts { files, added: sum(|f| f.added), removed: sum(|f| f.removed) })
    }

    /// The list as it was shown last, when nothing it depends on has changed since.
    pub(super) async fn unchanged(
        &self,
        scope: &DiffScope,
        ends: &Ends,
    ) -> Result<Option<Arc<Changes>>, GitError> {
        let Some((changes, known)) = self.inner.lists.recall(&scope.key(), ends) else { return Ok(None) };
        match known {
            Known::Nothing => Ok(None),
            Known::Begun(begun) => {
                let Some(watch) = self.still_holds(scope, begun, &changes).await? else { return Ok(None) };
                self.inner.lists.know(&scope.key(), &changes, Known::Watched(Arc::new(watch)));
                Ok(Some(changes))
            }
            Known::Watched(watch) => {
                let holds = tokio::task::spawn_blocking(move || watch.holds()).await?;
                Ok(holds.then_some(changes))
            }
        }
    }

    async fn list_and_remember(&self, scope: &DiffScope, ends: &Ends) -> Result<Arc<Changes>, GitError> {
        let begun = self.begin_list(scope).await?;
        let mut changes = self.list(scope, ends).await?;
        let paths: Vec<&Path> = changes.iter().map(|raw| raw.path.as_path()).collect();
        let generated = self.generated(scope, ends, &paths).await?;
        let repo = self.clone();
        let worktree = scope.worktree().cloned();
        let changes = tokio::task::spawn_blocking(move || {
            for (raw, generated) in changes.iter_mut().zip(generated) {
                raw.change.generated = generated;
                if raw.change.binary {
                    repo.add_sizes(worktree.as_ref(), raw);
                }
            }
            changes.into_iter().map(|raw| (raw.change.path.clone(), raw)).collect()
        })
        .await?;
        let changes = self.inner.lists.remember(scope.key(), ends, changes, begun);
        self.prepare_later(scope, ends);
        Ok(changes)
    }

    /// Works out what a list depends on while somebody reads it, so that showing it again is cheap at once.
    fn prepare_later(&self, scope: &DiffScope, ends: &Ends) {
        let (repo, scope, ends) = (self.clone(), scope.clone(), ends.clone());
        tokio::spawn(async move {
            if let Err(error) = repo.unchanged(&scope, &ends).await {
                tracing::debug!(%error, "a list of changes is not remembered");
            }
        });
    }

    /// Changed files, tracked or not.
    async fn list(&self, scope: &DiffScope, ends: &Ends) -> Result<Vec<RawChange>, GitError> {
        let listing = self.list_tracked(scope, ends, None, &["--numstat"], &[]);
        let Some(worktree) = scope.worktree() else { return listing.await };
        let (mut changes, untracked) = tokio::try_join!(listing, worktree.list_untracked())?;
        let is_gone = |kind| matches!(kind, FileChangeKind::Deleted | FileChangeKind::Renamed);
        let any_gone = changes.iter().any(|raw| is_gone(raw.change.kind));
        if any_gone && !untracked.is_empty() {
            return self.list_as_added(scope, ends, worktree, &untracked).await;
        }
        changes.extend(untracked);
        Ok(changes)
    }

    /// As if the untracked files were added already: only then does git see that one is another renamed.
    async fn list_as_added(
        &self,
        scope: &DiffScope,
        ends: &Ends,
        worktree: &Worktree,
        untracked: &[RawChange],
    ) -> Result<Vec<RawChange>, GitError> {
        let index =
            PrivateIndex::copy_of(worktree).await?.unwrap_or_else(|| PrivateIndex::empty(self.common_dir()));
        let mut names = Vec::new();
        for file in untracked {
            names.extend_from_slice(bytes::of(&file.path));
            names.push(0);
        }
        let add = worktree.command(Kind::Write).env("GIT_LITERAL_PATHSPECS", "1");
        index
            .with(add)
            .args(["add", "--intent-to-add", "--pathspec-from-file=-", "--pathspec-file-nul"])
            .input(names)
            .ok()
            .await?;
        let mut changes = self.list_tracked(scope, ends, Some(&index), &["--numstat"], &[]).await?;
        let known: HashMap<&Path, &RawChange> =
            untracked.iter().map(|raw| (raw.path.as_path(), raw)).collect();
        for raw in &mut changes {
            if let Some(known) = known.get(raw.path.as_path()) {
                raw.change.untracked = true;
                raw.change.new_size = known.change.new_size;
            }
        }
        Ok(changes)
    }

    /// The change of one path, asked from git.
    pub(super) async fn find_change(
        &self,
        scope: &DiffScope,
        ends: &Ends,
        path: &str,
    ) -> Result<RawChange, GitError> {
        let (name, this) = ([path], [Path::new(path)]);
        let (narrow, generated) = tokio::try_join!(
            self.list_tracked(scope, ends, None, &[], &name),
            self.generated(scope, ends, &this)
        )?;
        let found = narrow.into_iter().find(|raw| raw.change.path == path);
        if let Some(mut found) = found.filter(|raw| raw.change.kind != FileChangeKind::Added) {
            found.change.generated = generated.first().copied().unwrap_or_default();
            return Ok(found);
        }
        // New, or not there for git: one path alone cannot tell whether it was renamed.
        let all = self.list_and_remember(scope, ends).await?;
        all.get(path).cloned().ok_or_else(|| GitError::NotInDiff { path: path.to_owned() })
    }

    async fn list_tracked(
        &self,
        scope: &DiffScope,
        ends: &Ends,
        index: Option<&PrivateIndex>,
        options: &[&str],
        paths: &[&str],
    ) -> Result<Vec<RawChange>, GitError> {
        let plain = scope.read(self);
        let command = match index {
            Some(index) => index.with(plain),
            None => plain,
        };
        let command = command
            .env("GIT_LITERAL_PATHSPECS", "1")
            // Each option here undoes a setting of the user's that would change what is listed or how.
            .args(["diff", "--raw", "-z", "--no-abbrev", "--find-renames", "--no-color", "--no-ext-diff"])
            .args(["--no-textconv", "--no-relative", "--ignore-submodules=dirty", "--submodule=short"])
            .args(["--diff-algorithm=default", "-O/dev/null"])
            .args(options)
            .arg("--end-of-options")
            .arg(&ends.base)
            .args(&ends.head)
            .arg("--")
            .args(paths);
        let args = command.shown();
        let output = command.ok().await?;
        parse(&output)
            .ok_or_else(|| GitError::Unexpected { args, what: "an inconsistent list of changes".to_owned() })
    }

    pub(super) fn add_sizes(&self, worktree: Option<&Worktree>, raw: &mut RawChange) {
        let stored = |oid: &Option<String>| oid.as_deref().and_then(|oid| self.inner.objects.size(oid));
        raw.change.old_size = raw.change.old_size.or_else(|| stored(&raw.change.old_blob));
        raw.change.new_size = raw.change.new_size.or_else(|| stored(&raw.change.new_blob)).or_else(|| {
            let found = worktree?.path().join(&raw.path).symlink_metadata().ok()?;
            found.is_file().then_some(found.len())
        });
    }
}

impl Worktree {
    /// The paths that differ between a commit and the worktree's files, untracked ones included, sorted. Of a
    /// renamed file both.
    pub async fn changed_paths(&self, base: &str) -> Result<Vec<String>, GitError> {
        let scope = DiffScope::Worktree { worktree: self.clone(), base: base.to_owned() };
        let ends = self.repo().ends(&scope).await?;
        let (changes, untracked) = tokio::try_join!(
            self.repo().list_tracked(&scope, &ends, None, &["--no-renames"], &[]),
            self.list_untracked()
        )?;
        let mut paths: Vec<String> =
            changes.into_iter().chain(untracked).map(|raw| raw.change.path).collect();
        paths.sort();
        Ok(paths)
    }

    async fn list_untracked(&self) -> Result<Vec<RawChange>, GitError> {
        let output =
            self.command(Kind::Read).args(["ls-files", "--others", "--exclude-standard", "-z"]).ok().await?;
        if output.is_empty() {
            return Ok(Vec::new());
        }
        let worktree = self.path().to_owned();
        tokio::task::spawn_blocking(move || {
            let root = Root::open(&worktree)?;
            let mut changes = Vec::new();
            for path in bytes::records(&output) {
                // A trailing slash is a repository inside this one, which is not ours to look into.
                if !path.ends_with(b"/") {
                    changes.extend(untracked(&root, bytes::path(path))?);
                }
            }
            Ok(changes)
        })
        .await?
    }
}

impl RawChange {
    pub(super) fn named(path: &str) -> RawChange {
        RawChange {
            change: FileChange {
                path: path.to_owned(),
                old_path: None,
                kind: FileChangeKind::Modified,
                old_mode: None,
                new_mode: None,
                added: 0,
                removed: 0,
                binary: false,
                generated: false,
                untracked: false,
                old_size: None,
                new_size: None,
                old_blob: None,
                new_blob: None,
            },
            path: PathBuf::from(path),
        }
    }
}

/// `None` for what a commit could not hold, or what is gone meanwhile.
fn untracked(root: &Root, path: &Path) -> Result<Option<RawChange>, GitError> {
    let Some(entry) = root.read(path, COUNT_CAP)? else { return Ok(None) };
    let mut raw = RawChange::named(&path.to_string_lossy());
    raw.path = path.to_owned();
    let change = &mut raw.change;
    change.kind = FileChangeKind::Added;
    change.untracked = true;
    let mode = |executable| Some(if executable { "100755" } else { "100644" }.to_owned());
    match entry {
        Entry::File { content, executable } => {
            change.new_mode = mode(executable);
            change.new_size = Some(content.len() as u64);
            change.binary = is_binary(&content);
            change.added = if change.binary { 0 } else { count_lines(&content) };
        }
        Entry::Large { size, executable } => {
            change.new_mode = mode(executable);
            change.new_size = Some(size);
        }
        Entry::Link(_) => {
            change.new_mode = Some("120000".to_owned());
            change.added = 1;
        }
        Entry::Directory | Entry::Special => return Ok(None),
    }
    Ok(Some(raw))
}

/// git's own rule.
pub(super) fn is_binary(content: &[u8]) -> bool {
    content[..content.len().min(BINARY_WINDOW)].contains(&0)
}

fn count_lines(content: &[u8]) -> u32 {
    let whole = content.iter().filter(|b| **b == b'\n').count();
    let rest = usize::from(content.last().is_some_and(|last| *last != b'\n'));
    u32::try_from(whole + rest).unwrap_or(u32::MAX)
}

/// `--raw -z`, followed by `--numstat -z` when that was asked for.
fn parse(output: &[u8]) -> Option<Vec<RawChange>> {
    let mut changes: Vec<RawChange> = Vec::new();
    let mut place: HashMap<&[u8], usize> = HashMap::new();
    let mut records = bytes::records(output).peekable();
    while let Some(header) = records.next_if(|record| record.starts_with(b":")) {
        let header = bytes::text(&header[1..]);
        let [old_mode, new_mode, old_oid, new_oid, status] = header.split(' ').collect::<Vec<_>>()[..] else {
            return None;
        };
        let letter = status.chars().next()?;
        let first = records.next()?;
        let two = matches!(letter, 'R' | 'C');
        let path = if two { records.next()? } else { first };
        if letter == 'U' {
            // Waits for a merge; its content is listed in an entry of its own.
            continue;
        }
        let mut raw = RawChange::named(&bytes::text(path));
        raw.path = bytes::path(path).to_owned();
        raw.change.old_blob = Some(old_oid).filter(|oid| !is_zero(oid)).map(str::to_owned);
        raw.change.new_blob = Some(new_oid).filter(|oid| !is_zero(oid)).map(str::to_owned);
        let change = &mut raw.change;
        change.old_path = two.then(|| bytes::text(first));
        change.old_mode = Some(old_mode).filter(|mode| !is_zero(mode)).map(str::to_owned);
        change.new_mode = Some(new_mode).filter(|mode| !is_zero(mode)).map(str::to_owned);
        change.kind = match letter {
            'A' => FileChangeKind::Added,
            'D' => FileChangeKind::Deleted,
            'M' => FileChangeKind::Modified,
            'T' => FileChangeKind::TypeChanged,
            'R' => FileChangeKind::Renamed,
            'C' => FileChangeKind::Copied,
            _ => return None,
        };
        if old_oid == new_oid && old_mode != new_mode && change.kind == FileChangeKind::Modified {
            change.kind = FileChangeKind::ModeChanged;
        }
        place.insert(path, changes.len());
        changes.push(raw);
    }
    while let Some(counts) = records.next() {
        let mut fields = counts.splitn(3, |b| *b == b'\t');
        let (added, removed, path) = (fields.next()?, fields.next()?, fields.next()?);
        let path = if path.is_empty() {
            records.next()?;
            records.next()?
        } else {
            path
        };
        let Some(raw) = place.get(path).and_then(|at| changes.get_mut(*at)) else { continue };
        count(&mut raw.change, added, removed)?;
    }
    Some(changes)
}

fn count(change: &mut FileChange, added: &[u8], removed: &[u8]) -> Option<()> {
    if added == b"-" {
        change.binary = true;
        return Some(());
    }
    change.added = bytes::text(added).parse().ok()?;
    change.removed = bytes::text(removed).parse().ok()?;
    // git does not name a work file's content, so only the counts tell that nothing but the mode changed.
    let nothing = change.added == 0 && change.removed == 0;
    let bits = change.old_mode != change.new_mode && change.new_mode.as_deref() != Some(SUBMODULE);
    if nothing && bits && change.kind == FileChangeKind::Modified {
        change.kind = FileChangeKind::ModeChanged;
    }
    Some(())
}

fn is_zero(name: &str) -> bool {
    name.bytes().all(|b| b == b'0')
}
