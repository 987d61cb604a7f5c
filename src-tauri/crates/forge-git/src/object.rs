//! Reading objects.
//!
//! libgit2 reads them without starting a program. It is given the object directory alone, not the
//! repository, because it refuses repositories with extensions it does not know. What it cannot read
//! (SHA-256 objects, those a partial clone has yet to fetch) the git program reads.

use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use git2::{ObjectType, Odb, Oid};

use crate::bytes;
use crate::error::GitError;
use crate::repo::Repo;

/// The object store, opened at first use.
pub(crate) struct Objects {
    dir: PathBuf,
    odb: Arc<OnceLock<Odb<'static>>>,
}

impl std::fmt::Debug for Objects {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Objects").field("dir", &self.dir).finish_non_exhaustive()
    }
}

impl Objects {
    pub(crate) fn new(dir: PathBuf) -> Self {
        Self { dir, odb: Arc::default() }
    }

    /// `None` when libgit2 cannot serve this store or object.
    fn read(&self, oid: &str, cap: u64) -> Option<Result<Vec<u8>, GitError>> {
        let odb = self.odb()?;
        let id = parse(oid)?;
        // Asked before reading, so that a huge object is never held.
        let (size, _) = odb.read_header(id).ok()?;
        let size = size as u64;
        if size > cap {
            return Some(Err(GitError::TooLarge { oid: oid.to_owned(), size, cap }));
        }
        Some(Ok(odb.read(id).ok()?.data().to_vec()))
    }

    pub(crate) fn size(&self, oid: &str) -> Option<u64> {
        let (size, _) = self.odb()?.read_header(parse(oid)?).ok()?;
        Some(size as u64)
    }

    pub(crate) fn is_commit(&self, oid: Oid) -> bool {
        let header = self.odb().and_then(|odb| odb.read_header(oid).ok());
        header.is_some_and(|(_, kind)| kind == ObjectType::Commit)
    }

    /// `None` for what is no commit, or cannot be read here.
    pub(crate) fn commit(&self, oid: Oid) -> Option<Commit> {
        let object = self.odb()?.read(oid).ok()?;
        (object.kind() == ObjectType::Commit).then(|| Commit::parse(object.data()))?
    }

    /// A tree as it is stored; `None` for what is none, or cannot be read here.
    pub(crate) fn tree(&self, oid: Oid) -> Option<Vec<u8>> {
        let object = self.odb()?.read(oid).ok()?;
        (object.kind() == ObjectType::Tree).then(|| object.data().to_vec())
    }

    fn odb(&self) -> Option<&Odb<'static>> {
        if let Some(open) = self.odb.get() {
            return Some(open);
        }
        let open = Odb::new().ok()?;
        open.add_disk_alternate(self.dir.to_str()?).ok()?;
        Some(self.odb.get_or_init(|| open))
    }
}

/// libgit2 pads short names with zeros; only full SHA-1 names are meant here.
fn parse(oid: &str) -> Option<Oid> {
    (oid.len() == 40).then(|| Oid::from_str(oid).ok()).flatten()
}

/// What a commit says about its place in history.
#[derive(Debug, Clone)]
pub(crate) struct Commit {
    pub(crate) tree: Oid,
    pub(crate) parents: Vec<Oid>,
    /// When it was committed, seconds since 1970.
    pub(crate) at: i64,
}

impl Commit {
    fn parse(data: &[u8]) -> Option<Commit> {
        // Names may be in any encoding; what is looked at here is ASCII.
        let mut lines = data.split(|b| *b == b'\n').map(String::from_utf8_lossy);
        let tree = Oid::from_str(lines.next()?.strip_prefix("tree ")?).ok()?;
        let mut parents = Vec::new();
        for line in lines.by_ref().take_while(|line| !line.is_empty()) {
            if let Some(parent) = line.strip_prefix("parent ") {
                parents.push(Oid::from_str(parent).ok()?);
            } else if line.starts_with("committer ") {
                let at = line.rsplit(' ').nth(1)?.parse().ok()?;
                return Some(Commit { tree, parents, at });
            }
        }
        None
    }
}

/// One commit of a log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommitInfo {
    /// Name (hex).
    pub oid: String,
    /// First paragraph of its message, on one line.
    pub subject: String,
    /// Author's name.
    pub author: String,
    /// When it was committed, milliseconds since 1970.
    pub at_ms: i64,
}

impl Repo {
    /// The first object that `commit` needs, beyond what `base` has, and that the repository lacks.
    pub async fn missing_object(&self, base: &str, commit: &str) -> Result<Option<String>, GitError> {
        let listed = self
            .read()
            .env("GIT_NO_LAZY_FETCH", "1")
            .args(["rev-list", "--objects", "--missing=print", commit, &format!("^{base}"), "--"])
            .run()
            .await?;
        Ok(bytes::text(&listed.stdout).lines().find_map(|line| line.strip_prefix('?').map(str::to_owned)))
    }

    /// Content of an object, at most `cap` bytes ([`GitError::TooLarge`] beyond).
    pub async fn blob(&self, oid: &str, cap: u64) -> Result<Vec<u8>, GitError> {
        let (repo, name) = (self.clone(), oid.to_owned());
        let read = tokio::task::spawn_blocking(move || repo.inner.objects.read(&name, cap)).await?;
        if let Some(read) = read {
            return read;
        }
        let size = self.read().args(["cat-file", "-s", oid]).text().await?;
        let size: u64 = size.parse().map_err(|_| GitError::Unexpected {
            args: format!("cat-file -s {oid}"),
            what: format!("no number: {size:?}"),
        })?;
        if size > cap {
            return Err(GitError::TooLarge { oid: oid.to_owned(), size, cap });
        }
        let room = usize::try_from(size).unwrap_or(usize::MAX);
        self.read().args(["cat-file", "blob", oid]).cap(room).ok().await
    }

    /// Content of a file as a commit has it, at most `cap` bytes; none when it is not a file there.
    pub async fn file_at(&self, commit: &str, path: &str, cap: u64) -> Result<Option<Vec<u8>>, GitError> {
        let listed = self.read().args(["ls-tree", "-z", "--full-tree", commit, "--", path]).text().await?;
        // `<mode> blob <oid>\t<path>`; a folder or a submodule has another type.
        let blob = listed.split('\0').find_map(|line| {
            let (facts, name) = line.split_once('\t')?;
            let mut facts = facts.split(' ').skip(1);
            (name == path && facts.next() == Some("blob")).then(|| facts.next()).flatten()
        });
        match blob {
            Some(oid) => Ok(Some(self.blob(oid, cap).await?)),
            None => Ok(None),
        }
    }

    /// Commits in `base..head`, newest first.
    pub async fn log(&self, base: &str, head: &str, limit: u32) -> Result<Vec<CommitInfo>, GitError> {
        let command = self
            .read()
            // Signatures would be checked and printed between the records.
            .config("log.showSignature=false")
            .args(["log", "-z", "--no-color", "--no-show-signature", "--format=%H%n%an%n%ct%n%s"])
            .arg(format!("--max-count={limit}"))
            .args(["--end-of-options", &format!("{base}..{head}")]);
        let args = command.shown();
        let output = command.ok().await?;
        bytes::records(&output)
            .map(|record| {
                let record = bytes::text(record);
                let mut lines = record.splitn(4, '\n');
                let (oid, author, at) = (lines.next()?, lines.next()?, lines.next()?.parse::<i64>().ok()?);
                Some(CommitInfo {
                    oid: oid.to_owned(),
                    author: author.to_owned(),
                    at_ms: at.checked_mul(1000)?,
                    subject: lines.next().unwrap_or_default().trim_end().to_owned(),
                })
            })
            .collect::<Option<_>>()
            .ok_or_else(|| GitError::Unexpected { args, what: "a record without its fields".to_owned() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Sandbox;

    #[tokio::test]
    async fn blobs_are_read_up_to_a_cap() {
        let sandbox = Sandbox::new().await;
        let repo = sandbox.repo().await;
        sandbox.commit("big", &[("big", &"x".repeat(5000))]);
        let oid = sandbox.git_out(&["rev-parse", "HEAD:big"]);
        assert_eq!(repo.blob(&oid, 5000).await.unwrap().len(), 5000);
        let refused = repo.blob(&oid, 4999).await;
        assert!(matches!(refused, Err(GitError::TooLarge { size: 5000, .. })));
        sandbox.git(&["repack", "-adq"]);
        assert_eq!(repo.blob(&oid, 5000).await.unwrap().len(), 5000);
        let missing = repo.blob(&"1".repeat(40), 10).await;
        assert!(matches!(missing, Err(GitError::Failed { .. })));
    }

    #[tokio::test]
    async fn sha256_repositories_are_read_by_the_program() {
        let sandbox = Sandbox::with_init(&["--object-format=sha256"]).await;
        let repo = sandbox.repo().await;
        let oid = sandbox.git_out(&["rev-parse", "HEAD:a"]);
        assert_eq!(oid.len(), 64);
        assert_eq!(repo.blob(&oid, 100).await.unwrap(), b"a\n");
        assert!(matches!(repo.blob(&oid, 1).await, Err(GitError::TooLarge { size: 2, .. })));
    }

    #[tokio::test]
    async fn log_is_newest_first_and_bounded() {
        let sandbox = Sandbox::new().await;
        let repo = sandbox.repo().await;
        let base = sandbox.head();
        let one = sandbox.commit("one\nand a half", &[("b", "1")]);
        let two = sandbox.commit("two: ü\n\nbody", &[("b", "2")]);
        let log = repo.log(&base, "HEAD", 10).await.unwrap();
        let shown: Vec<_> = log.iter().map(|c| (c.oid.as_str(), c.subject.as_str())).collect();
        assert_eq!(shown, [(two.as_str(), "two: ü"), (one.as_str(), "one and a half")]);
        assert_eq!(log[0].author, "Tester");
        assert_eq!(log[0].at_ms, 1_700_000_000_000);
        assert_eq!(repo.log(&base, "HEAD", 1).await.unwrap().len(), 1);
        assert_eq!(repo.log("HEAD", &base, 10).await.unwrap(), []);
    }
}
