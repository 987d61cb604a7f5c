//! What a tree holds as a commit of its store, for whoever keeps it in a repository.

use std::fs;

use crate::{Fault, Snapshot, Store};

/// The ref of the store that the commit is under.
pub const KEPT: &str = "refs/heads/kept";

/// Who made it.
const COMMITTER: [(&str, &str); 4] = [
    ("GIT_AUTHOR_NAME", "Forge"),
    ("GIT_AUTHOR_EMAIL", "forge@localhost"),
    ("GIT_COMMITTER_NAME", "Forge"),
    ("GIT_COMMITTER_EMAIL", "forge@localhost"),
];

impl Store {
    /// Makes a commit of the worktree's files as a snapshot that was just taken has them, on top of what its `HEAD` leads
    /// to, and has [`KEPT`] name it.
    ///
    /// # Errors
    /// When git or the system fails.
    pub async fn keep(&self, snapshot: &Snapshot, message: &str) -> Result<String, Fault> {
        let (state, _) = self.read_git_dir().await?;
        let packed = fs::read(self.path("scratch/packed-refs")).unwrap_or_default();
        let parent = crate::snapshot::head(&state, &packed);
        let parent = self.existing(parent.into_iter().collect()).await?.into_iter().next();
        let files = format!("{}:files", snapshot.id);
        let mut command = self.git(&["commit-tree", "-m", message]);
        if let Some((parent, _)) = parent.filter(|(_, kind)| kind == "commit") {
            command = command.arg("-p").arg(parent);
        }
        for (name, value) in COMMITTER {
            command = command.env(name, value);
        }
        let commit = command.arg(files).line().await?;
        self.git(&["update-ref", KEPT]).arg(&commit).ok().await?;
        Ok(commit)
    }
}
