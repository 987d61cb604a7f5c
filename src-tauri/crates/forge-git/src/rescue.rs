//! Keeping what the copy of a worktree holds that nobody works in any more.

use std::ffi::OsStr;
use std::path::Path;
use std::sync::Arc;

use forge_transfer::{KEPT, Manner, Side, Tree};

use crate::bytes;
use crate::command::{Kind, REPOSITORY_VARIABLES};
use crate::error::GitError;
use crate::repo::Repo;

/// How long the name of a SHA-256 object is.
const SHA256_NAME: usize = 64;

/// How many commits say what a repository has.
const MOST_TIPS: u32 = 512;

/// Where what comes lies until it has its number.
const INCOMING: &str = "refs/forge/incoming";

impl Repo {
    /// A copy of a worktree in a folder of its own, to be fetched from another machine.
    ///
    /// # Errors
    /// When git fails.
    pub async fn copy_in(&self, folder: &Path) -> Result<Tree, GitError> {
        let git = self.git();
        let is_sha256 = self.name_len().await? == SHA256_NAME;
        let mut environment = (*git.variables(false)).clone();
        environment.extend(git.env().iter().cloned());
        environment.retain(|name, _| !REPOSITORY_VARIABLES.iter().any(|known| name == OsStr::new(known)));
        Ok(Tree {
            worktree: folder.join("tree"),
            git_dir: folder.join("tree/.git"),
            store: folder.join("store"),
            objects: vec![self.common_dir().join("objects")],
            program: git.program().into(),
            environment: Arc::new(environment),
            manner: Some(Manner { is_sha256, ..Manner::default() }),
            side: Side::Far { mirror: folder.join("mirror.git") },
        })
    }

    /// The newest commits that branches and Forge's refs name, for whoever sends something of this repository.
    ///
    /// # Errors
    /// When git fails.
    pub async fn newest_tips(&self) -> Result<Vec<String>, GitError> {
        let count = format!("--count={MOST_TIPS}");
        let format = "--format=%(objectname)";
        let refs = ["for-each-ref", "--sort=-committerdate", &count, format, "refs/heads/", "refs/forge/"];
        let listed = self.read().args(refs).ok().await?;
        Ok(String::from_utf8_lossy(&listed).lines().map(str::to_owned).collect())
    }

    /// Has the next free number under `ref_prefix` keep what a copy of a worktree holds: its files, on top of what its
    /// `HEAD` leads to. Nothing is kept, and none is answered, when that is a commit that a branch or a backup under the
    /// prefix has already, with nothing on top.
    ///
    /// # Errors
    /// When git or the system fails, and when what came is damaged.
    pub async fn keep_copy(
        &self,
        copy: &Tree,
        ref_prefix: &str,
        message: &str,
    ) -> Result<Option<String>, GitError> {
        let damaged = |fault: forge_transfer::Fault| GitError::Unexpected {
            args: copy.worktree.display().to_string(),
            what: fault.to_string(),
        };
        let store = copy.open().await.map_err(damaged)?;
        let snapshot = store.snapshot().await.map_err(damaged)?;
        let commit = store.keep(&snapshot, message).await.map_err(damaged)?;
        let incoming = format!("{INCOMING}/{}", uuid::Uuid::now_v7().simple());
        self.bare(Kind::Write)
            .config("fetch.fsckObjects=true")
            .args(["fetch", "--quiet", "--no-tags", "--no-write-fetch-head", "--no-auto-maintenance"])
            .args(["--no-recurse-submodules", "--refmap=", "--"])
            .arg(&copy.store)
            .arg(format!("{KEPT}:{incoming}"))
            .ok()
            .await?;
        let kept = self.number_unless_known(&commit, ref_prefix).await;
        self.delete_ref(&incoming, &commit).await?;
        kept
    }

    async fn number_unless_known(&self, commit: &str, ref_prefix: &str) -> Result<Option<String>, GitError> {
        let changed = self
            .read()
            .args(["diff-tree", "--quiet", "-r", &format!("{commit}^"), commit, "--"])
            .run()
            .await?;
        if changed.exit == Some(0) {
            let parent = format!("{commit}^");
            let prefix = ref_prefix.trim_end_matches('/');
            let holders = self
                .read()
                .args(["for-each-ref", "--count=1", "--format=%(refname)", "--contains"])
                .args([parent.as_str(), "refs/heads/", &format!("{prefix}/")])
                .ok()
                .await?;
            if !bytes::line(&holders).is_empty() {
                return Ok(None);
            }
        }
        self.next_number(ref_prefix, commit).await.map(Some)
    }
}
