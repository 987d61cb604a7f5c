//! A git repository of a test.

use std::{
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context as _, Result, ensure};

/// The environment that keeps a user's git configuration out.
pub const HERMETIC_GIT: [(&str, &str); 6] = [
    ("GIT_CONFIG_GLOBAL", "/dev/null"),
    ("GIT_CONFIG_NOSYSTEM", "1"),
    ("GIT_AUTHOR_NAME", "Tester"),
    ("GIT_AUTHOR_EMAIL", "tester@example.invalid"),
    ("GIT_COMMITTER_NAME", "Tester"),
    ("GIT_COMMITTER_EMAIL", "tester@example.invalid"),
];

/// A repository with one commit on `main`.
#[derive(Debug, Clone)]
pub struct Repository {
    path: PathBuf,
}

impl Repository {
    /// Makes one in `path` with these files.
    ///
    /// # Errors
    /// When git or the disk refuses.
    pub fn create(path: &Path, files: &[(&str, &str)]) -> Result<Self> {
        std::fs::create_dir_all(path)?;
        let repo = Self { path: path.to_owned() };
        repo.git(&["init", "--quiet", "--initial-branch", "main"])?;
        for (name, content) in files {
            repo.write(name, content)?;
        }
        repo.commit("first")?;
        Ok(repo)
    }

    /// The one that is in `path` already.
    #[must_use]
    pub fn open(path: &Path) -> Self {
        Self { path: path.to_owned() }
    }

    /// Its folder.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Runs git in it and gives what it printed.
    ///
    /// # Errors
    /// When git fails, with what it said.
    pub fn git(&self, args: &[&str]) -> Result<String> {
        let output = Command::new("git")
            .args(args)
            .current_dir(&self.path)
            .envs(HERMETIC_GIT)
            .output()
            .context("no git")?;
        ensure!(output.status.success(), "git {args:?}: {}", String::from_utf8_lossy(&output.stderr));
        Ok(String::from_utf8(output.stdout)?.trim_end().to_owned())
    }

    /// Writes a file.
    ///
    /// # Errors
    /// When the disk refuses.
    pub fn write(&self, name: &str, content: &str) -> Result<()> {
        let path = self.path.join(name);
        std::fs::create_dir_all(path.parent().context("no folder")?)?;
        Ok(std::fs::write(path, content)?)
    }

    /// Commits everything.
    ///
    /// # Errors
    /// When git refuses.
    pub fn commit(&self, message: &str) -> Result<String> {
        self.git(&["add", "--all"])?;
        self.git(&["commit", "--quiet", "--message", message])?;
        self.git(&["rev-parse", "HEAD"])
    }

    /// The content of a file on a branch; none when it is not there.
    #[must_use]
    pub fn show(&self, branch: &str, file: &str) -> Option<String> {
        self.git(&["show", &format!("{branch}:{file}")]).ok()
    }
}
