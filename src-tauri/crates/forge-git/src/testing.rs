//! A repository in a temporary directory, out of reach of the machine's configuration.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use tempfile::TempDir;

use crate::error::GitError;
use crate::program::Git;
use crate::repo::Repo;
use crate::trash::Trash;

/// Withdraws a worktree and pools it.
pub(crate) async fn pool_away(repo: &Repo, path: &Path, pool: &Path, most: usize) -> Result<bool, GitError> {
    let mut withdrawn = repo.withdraw_worktree(path).await?;
    repo.pool_worktree(&mut withdrawn, pool, most).await
}

/// Withdraws a worktree and removes it.
pub(crate) async fn remove_away(repo: &Repo, path: &Path) -> Result<Trash, GitError> {
    repo.remove_worktree(repo.withdraw_worktree(path).await?).await
}

/// A repository `repo` on branch `main` with one commit (file `a`: "a\n"), and a home of its own.
pub(crate) struct Sandbox {
    pub(crate) git: Git,
    temp: TempDir,
    root: PathBuf,
    env: Vec<(String, String)>,
}

const IDENTITY: [(&str, &str); 4] = [
    ("GIT_AUTHOR_NAME", "Tester"),
    ("GIT_AUTHOR_EMAIL", "tester@example.com"),
    ("GIT_COMMITTER_NAME", "Tester"),
    ("GIT_COMMITTER_EMAIL", "tester@example.com"),
];

impl Sandbox {
    pub(crate) async fn new() -> Sandbox {
        Self::with_init(&[]).await
    }

    pub(crate) async fn with_init(options: &[&str]) -> Sandbox {
        Self::make(options, &IDENTITY).await
    }

    /// Without anybody's name and address.
    pub(crate) async fn anonymous() -> Sandbox {
        Self::make(&[], &[]).await
    }

    async fn make(options: &[&str], identity: &[(&str, &str)]) -> Sandbox {
        let temp = tempfile::tempdir().unwrap();
        let base = temp.path().canonicalize().unwrap();
        let root = base.join("repo");
        let home = base.join("home");
        fs::create_dir(&home).unwrap();
        let home = home.to_str().unwrap();
        let mut env: Vec<(String, String)> = [
            ("HOME", home),
            ("XDG_CONFIG_HOME", home),
            ("GIT_CONFIG_GLOBAL", "/dev/null"),
            ("GIT_CONFIG_NOSYSTEM", "1"),
        ]
        .iter()
        .chain(identity)
        .map(|(k, v)| ((*k).to_owned(), (*v).to_owned()))
        .collect();
        let program = std::env::var_os("FORGE_TEST_GIT").map(PathBuf::from);
        let mut git = Git::discover(program, Arc::new(std::env::vars_os().collect()), &std::env::temp_dir())
            .await
            .unwrap();
        for (key, value) in &env {
            git = git.with_env(key, value);
        }
        env.push(("GIT_COMMITTER_DATE".into(), "1700000000 +0000".into()));
        env.push(("GIT_AUTHOR_DATE".into(), "1700000000 +0000".into()));
        let sandbox = Sandbox { git, temp, root, env };
        let init = ["init", "-q", "-b", "main"].iter().chain(options).copied();
        let root = sandbox.root.clone();
        sandbox.git_at(sandbox.temp.path(), &init.chain([root.to_str().unwrap()]).collect::<Vec<_>>());
        sandbox.write("a", "a\n");
        sandbox.git(&["add", "-A"]);
        let mut first = vec!["-c", "user.name=First", "-c", "user.email=first@example.com"];
        first.extend(["commit", "-q", "-m", "first"]);
        sandbox.git(&first);
        sandbox
    }

    pub(crate) async fn repo(&self) -> Repo {
        Repo::open(&self.git, &self.root).await.unwrap()
    }

    /// The temporary directory, outside of the repository.
    pub(crate) fn dir(&self) -> &Path {
        self.root.parent().unwrap()
    }

    pub(crate) fn git(&self, args: &[&str]) {
        self.git_at(&self.root, args);
    }

    pub(crate) fn git_out(&self, args: &[&str]) -> String {
        self.git_at(&self.root, args)
    }

    /// Runs git; what it prints, trimmed at the end.
    pub(crate) fn git_at(&self, dir: &Path, args: &[&str]) -> String {
        let (ok, out) = self.try_git_at(dir, args);
        assert!(ok, "git {args:?}: {out}");
        out
    }

    pub(crate) fn try_git_at(&self, dir: &Path, args: &[&str]) -> (bool, String) {
        let output = Command::new(self.git.program())
            .args(args)
            .current_dir(dir)
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap())
            .envs(self.env.iter().map(|(k, v)| (k, v)))
            .output()
            .unwrap();
        let mut out = String::from_utf8_lossy(&output.stdout).trim_end().to_owned();
        if !output.status.success() {
            out.push_str(&String::from_utf8_lossy(&output.stderr));
        }
        (output.status.success(), out)
    }

    pub(crate) fn head(&self) -> String {
        self.git_out(&["rev-parse", "HEAD"])
    }

    /// Writes the files and commits everything; the commit.
    pub(crate) fn commit(&self, message: &str, files: &[(&str, &str)]) -> String {
        for (path, content) in files {
            self.write(path, content);
        }
        self.git(&["add", "-A"]);
        self.git(&["commit", "-q", "--allow-empty", "-m", message]);
        self.head()
    }

    pub(crate) fn path(&self, path: &str) -> PathBuf {
        self.root.join(path)
    }

    pub(crate) fn write(&self, path: &str, content: impl AsRef<[u8]>) {
        let path = self.root.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }

    pub(crate) fn read(&self, path: &str) -> String {
        fs::read_to_string(self.root.join(path)).unwrap()
    }

    pub(crate) fn remove(&self, path: &str) {
        fs::remove_file(self.root.join(path)).unwrap();
    }

    pub(crate) fn hook(&self, name: &str, script: &str) {
        program_at(&self.root.join(".git/hooks").join(name), script);
    }

    /// A program outside of the repository; its path.
    pub(crate) fn script(&self, name: &str, script: &str) -> String {
        let path = self.dir().join(name);
        program_at(&path, script);
        path.to_str().unwrap().to_owned()
    }
}

/// Writes a shell script that can be run.
pub(crate) fn program_at(path: &Path, script: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, format!("#!/bin/sh\n{script}\n")).unwrap();
    fs::set_permissions(path, PermissionsExt::from_mode(0o755)).unwrap();
}
