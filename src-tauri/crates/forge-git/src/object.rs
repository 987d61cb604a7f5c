//! Reading objects.
//!
//! libgit2 reads them without starting a program. It is given the object directory alone, not the
//! repository, because it refuses repositories with extensions it does not know. What it cannot read
//! (SHA-256 objects, those a partial clone has yet to fetch) the git program reads.

use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use git2::{ObjectType, Odb, Oid};

use crate::error::GitError;

mod read;

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
