//! Reads objects by libgit2, and by the git program what libgit2 cannot read.

use super::CommitInfo;
use crate::bytes;
use crate::error::GitError;
use crate::repo::Repo;

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
