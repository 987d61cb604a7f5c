//! What differs in a worktree from its last commit.

use std::path::PathBuf;

use crate::bytes;
use crate::command::Kind;
use crate::error::GitError;
use crate::worktree::Worktree;

/// One path that is not as committed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StatusEntry {
    /// The path, lossily as text.
    pub path: String,
    /// State of the index, one of git's letters (`.` unchanged, `M`, `T`, `A`, `D`, `U`, `?`).
    pub index: char,
    /// State of the file, likewise.
    pub worktree: char,
    /// git does not know the path. A trailing `/` marks a repository inside this one.
    pub untracked: bool,
    /// It waits for a merge to be resolved.
    pub unmerged: bool,
    /// It is a submodule.
    pub submodule: bool,
    /// It is a submodule on its commit, with files that are not committed there.
    pub dirty_inside: bool,
}

impl StatusEntry {
    /// Whether the index holds content that is neither committed nor in the file.
    pub(crate) fn is_staged_and_changed(&self) -> bool {
        matches!(self.index, 'M' | 'T' | 'A') && self.worktree != '.'
    }
}

/// An entry with the path as it is.
#[derive(Debug, Clone)]
pub(crate) struct RawEntry {
    pub(crate) path: PathBuf,
    pub(crate) entry: StatusEntry,
}

impl RawEntry {
    /// An untracked repository inside this one.
    pub(crate) fn is_nested_repository(&self) -> bool {
        self.entry.untracked && bytes::of(&self.path).ends_with(b"/")
    }
}

/// What was uncommitted in a worktree when it was looked at.
#[derive(Debug, Clone, Default)]
pub struct Uncommitted {
    pub(crate) changes: Vec<RawEntry>,
    /// Submodules and embedded repositories that the index names and that lie there.
    pub(crate) checked_out: Vec<PathBuf>,
}

impl Uncommitted {
    /// Whether the worktree held nothing but its commit.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.changes.is_empty()
    }

    /// The submodules on their commits that held files which are not committed there.
    pub fn dirty_submodules(&self) -> impl Iterator<Item = &str> {
        self.changes.iter().filter(|raw| raw.entry.dirty_inside).map(|raw| raw.entry.path.as_str())
    }
}

impl Worktree {
    /// Looks at the worktree once for several questions, so that each has the same answer. What git was told to overlook is
    /// seen again from then on.
    pub async fn uncommitted(&self) -> Result<Uncommitted, GitError> {
        self.reveal_hidden().await?;
        let checked_out = self.checked_out_links().await?;
        let changes = self.status_beside(true, &checked_out).await?;
        Ok(Uncommitted { changes, checked_out })
    }

    /// Everything in the worktree that is not as committed; ignored files do not count.
    pub async fn status(&self) -> Result<Vec<StatusEntry>, GitError> {
        Ok(self.raw_status(true).await?.into_iter().map(|raw| raw.entry).collect())
    }

    /// Tracked paths that are not as committed.
    pub async fn tracked_changes(&self) -> Result<Vec<String>, GitError> {
        Ok(self.raw_status(false).await?.into_iter().map(|raw| raw.entry.path).collect())
    }

    pub(crate) async fn raw_status(&self, untracked: bool) -> Result<Vec<RawEntry>, GitError> {
        let checked_out = self.checked_out_links().await?;
        self.status_beside(untracked, &checked_out).await
    }

    /// The same for a caller that knows which submodules and embedded repositories lie in the worktree.
    pub(crate) async fn status_beside(
        &self,
        untracked: bool,
        checked_out: &[PathBuf],
    ) -> Result<Vec<RawEntry>, GitError> {
        let command = self.command(Kind::Read).args([
            "status",
            "--porcelain=v2",
            "-z",
            // A rename would hide that the old path is gone.
            "--no-renames",
            // Configuration may hide submodules. What is uncommitted in them is looked for below: git would do it
            // by a command in them, which runs the filters that their own configuration names.
            "--ignore-submodules=dirty",
            if untracked { "--untracked-files=all" } else { "--untracked-files=no" },
        ]);
        let args = command.shown();
        let output = command.ok().await?;
        let mut entries: Vec<RawEntry> =
            parse_all(&output).map_err(|what| GitError::Unexpected { args, what })?;
        for path in checked_out {
            if entries.iter().all(|raw| raw.path != *path)
                && !self.repo().uncommitted_inside(&self.path().join(path)).await?.is_empty()
            {
                let entry = StatusEntry {
                    path: path.to_string_lossy().into_owned(),
                    index: '.',
                    worktree: 'M',
                    untracked: false,
                    unmerged: false,
                    submodule: true,
                    dirty_inside: true,
                };
                let at = entries.iter().position(|raw| raw.entry.untracked || raw.path > *path);
                entries.insert(at.unwrap_or(entries.len()), RawEntry { path: path.clone(), entry });
            }
        }
        Ok(entries)
    }
}

/// What `status --porcelain=v2 -z` prints.
pub(crate) fn parse_all(output: &[u8]) -> Result<Vec<RawEntry>, String> {
    bytes::records(output).filter_map(|record| parse(record).transpose()).collect()
}

/// One record of porcelain v2 with renames off; `None` for headers.
fn parse(record: &[u8]) -> Result<Option<RawEntry>, String> {
    let odd = || format!("unknown record {:?}", bytes::text(record));
    // Fields before the path: `1 XY sub mH mI mW hH hI path`, `u XY sub m1 m2 m3 mW h1 h2 h3 path`.
    let fields = match record.first() {
        Some(b'#') => return Ok(None),
        Some(b'1') => 8,
        Some(b'u') => 10,
        Some(b'?') => 1,
        _ => return Err(odd()),
    };
    let mut parts = record.splitn(fields + 1, |b| *b == b' ');
    let kind = parts.next();
    let untracked = kind == Some(b"?");
    let (xy, sub) = if untracked { (Some(&b"??"[..]), None) } else { (parts.next(), parts.next()) };
    let path = parts.next_back_path(fields, untracked).ok_or_else(odd)?;
    let [x, y] = xy.ok_or_else(odd)? else { return Err(odd()) };
    let entry = StatusEntry {
        path: bytes::text(path),
        index: char::from(*x),
        worktree: char::from(*y),
        untracked,
        unmerged: kind == Some(b"u"),
        submodule: sub.is_some_and(|sub| sub.starts_with(b"S")),
        dirty_inside: false,
    };
    Ok(Some(RawEntry { path: bytes::path(path).to_owned(), entry }))
}

trait LastField<'a> {
    fn next_back_path(&mut self, fields: usize, untracked: bool) -> Option<&'a [u8]>;
}

impl<'a, I: Iterator<Item = &'a [u8]>> LastField<'a> for I {
    fn next_back_path(&mut self, fields: usize, untracked: bool) -> Option<&'a [u8]> {
        // Kind, XY and sub are taken already; of an untracked path only the kind is.
        self.nth(if untracked { 0 } else { fields - 3 })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Sandbox;

    #[test]
    fn records() {
        let parsed = |s: &str| parse(s.as_bytes()).unwrap().map(|raw| raw.entry);
        let changed = parsed("1 .M N... 100644 100644 100644 aaa bbb a file").unwrap();
        assert_eq!((changed.path.as_str(), changed.index, changed.worktree), ("a file", '.', 'M'));
        let unmerged = parsed("u UU N... 100644 100644 100644 100644 a b c dir/x y").unwrap();
        assert!(unmerged.unmerged && unmerged.path == "dir/x y");
        let untracked = parsed("? new file").unwrap();
        assert!(untracked.untracked && untracked.path == "new file");
        let submodule = parsed("1 .M SCMU 160000 160000 160000 a b lib").unwrap();
        assert!(submodule.submodule);
        assert_eq!(parsed("# branch.oid 1"), None);
        assert!(parse(b"9 what").is_err());
        assert!(parse(b"1 .M").is_err());
    }

    #[tokio::test]
    async fn status_of_a_worktree() {
        let sandbox = Sandbox::new().await;
        let repo = sandbox.repo().await;
        sandbox.commit("more", &[("gone", "1"), ("ünï", "1"), (".gitignore", "ignored\n")]);
        assert_eq!(repo.main_worktree().status().await.unwrap(), []);
        sandbox.remove("gone");
        sandbox.write("ünï", "2");
        sandbox.write("ignored", "x");
        sandbox.write("dir/new", "x");
        let shown: Vec<String> = repo
            .main_worktree()
            .status()
            .await
            .unwrap()
            .iter()
            .map(|e| format!("{}{} {}", e.index, e.worktree, e.path))
            .collect();
        assert_eq!(shown, [".D gone", ".M ünï", "?? dir/new"]);
        assert_eq!(repo.main_worktree().tracked_changes().await.unwrap(), ["gone", "ünï"]);
    }
}
