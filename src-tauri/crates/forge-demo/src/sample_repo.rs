//! The sample repository: a greeter in plain `sh`, with real tests and three commits on `main`.
//!
//! The same bytes and dates each time, so the commits have the same ids on every machine.

use std::{
    fs, io,
    path::{Path, PathBuf},
    time::Duration,
};

use forge_exec::{Caps, CollectError, Command, Exit, collect};

/// The check that the repository passes.
pub const CHECK: &str = "sh test.sh";

/// The branch that the commits are on.
pub const BRANCH: &str = "main";

/// Why the repository could not be made.
#[derive(Debug, thiserror::Error)]
pub enum SampleError {
    /// Something is there already; it is left alone.
    #[error("failed to make the sample repository in {}: the folder is not empty", dir.display())]
    NotEmpty {
        /// Where.
        dir: PathBuf,
    },
    /// A file or folder could not be written.
    #[error("failed to write {}", path.display())]
    Write {
        /// Which.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The git program did not come to its end.
    #[error("failed to make the sample repository: {source}")]
    NoGit {
        /// Why.
        source: CollectError,
    },
    /// The git program refused.
    #[error("failed to make the sample repository: git {command} said: {stderr}")]
    Git {
        /// Its subcommand.
        command: String,
        /// What it printed.
        stderr: String,
    },
}

struct Commit {
    message: &'static str,
    /// As git reads it.
    date: &'static str,
    files: &'static [(&'static str, &'static str)],
}

macro_rules! sample {
    ($($path:literal),+ $(,)?) => { &[$(($path, include_str!(concat!("sample/", $path)))),+] };
}

const COMMITS: [Commit; 3] = [
    Commit {
        message: "Greet people in two languages",
        date: "2024-03-01T09:00:00+0000",
        files: sample!["src/greet.sh", "src/greetings/en.txt", "src/greetings/de.txt"],
    },
    Commit {
        message: "Test what the greeter promises",
        date: "2024-03-01T10:30:00+0000",
        files: sample!["test.sh", "tests/greet.sh", "tests/lib/assert.sh"],
    },
    Commit {
        message: "Say what this is, and what it could become",
        date: "2024-03-02T08:15:00+0000",
        files: sample!["README.md", "docs/ideas.md"],
    },
];

/// How long git may take for one command, and how much it may print.
const PATIENCE: Duration = Duration::from_secs(60);
const CAPS: Caps = Caps { stdout: 64 << 10, stderr: 64 << 10 };

/// Variables by which git could be led to another repository, or to other settings.
const NOT_PASSED_ON: [&str; 6] = [
    "GIT_DIR",
    "GIT_WORK_TREE",
    "GIT_INDEX_FILE",
    "GIT_OBJECT_DIRECTORY",
    "GIT_TEMPLATE_DIR",
    "GIT_CEILING_DIRECTORIES",
];

/// Makes the repository in `dir`, which must be empty or not there, and returns its last commit.
///
/// # Errors
/// When something is there, files cannot be written, or git is missing or refuses.
pub async fn create(dir: &Path) -> Result<String, SampleError> {
    if fs::read_dir(dir).is_ok_and(|mut entries| entries.next().is_some()) {
        return Err(SampleError::NotEmpty { dir: dir.to_owned() });
    }
    fs::create_dir_all(dir).map_err(|source| SampleError::Write { path: dir.to_owned(), source })?;
    git(dir, None, &["init", "--quiet", "--initial-branch", BRANCH]).await?;
    for commit in &COMMITS {
        for (path, content) in commit.files {
            write(&dir.join(path), content)?;
        }
        git(dir, None, &["add", "--all"]).await?;
        let commit_now = ["commit", "--quiet", "--no-verify", "--message", commit.message];
        git(dir, Some(commit.date), &commit_now).await?;
    }
    git(dir, None, &["rev-parse", "HEAD"]).await
}

fn write(path: &Path, content: &str) -> Result<(), SampleError> {
    let folder = path.parent().unwrap_or(path);
    fs::create_dir_all(folder)
        .and_then(|()| fs::write(path, content))
        .map_err(|source| SampleError::Write { path: path.to_owned(), source })
}

/// Runs git with the settings that decide about bytes, hooks and signatures fixed.
async fn git(dir: &Path, date: Option<&str>, args: &[&str]) -> Result<String, SampleError> {
    let mut command = Command::tool("git", dir).timeout(PATIENCE);
    for setting in ["commit.gpgSign=false", "core.autocrlf=false", "core.hooksPath=/dev/null", "gc.auto=0"] {
        command = command.args(["-c", setting]);
    }
    command = command.args(args);
    for name in NOT_PASSED_ON {
        command = command.env_remove(name);
    }
    for who in ["AUTHOR", "COMMITTER"] {
        command = command.env(format!("GIT_{who}_NAME"), "Greeter Team");
        command = command.env(format!("GIT_{who}_EMAIL"), "greeter@localhost");
        if let Some(date) = date {
            command = command.env(format!("GIT_{who}_DATE"), date);
        }
    }
    let output = collect(command, CAPS).await.map_err(|source| SampleError::NoGit { source })?;
    if output.exit == Exit::Code(0) {
        return Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned());
    }
    Err(SampleError::Git {
        command: args.first().copied().unwrap_or_default().to_owned(),
        stderr: String::from_utf8_lossy(&output.stderr).trim().to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn makes_three_commits_that_pass_their_own_tests() {
        let dir = tempfile::tempdir().expect("a folder");
        let head = create(dir.path()).await.expect("a repository");
        let run = |program: &str, args: &[&str]| {
            let output = std::process::Command::new(program)
                .args(args)
                .current_dir(dir.path())
                .output()
                .expect("it runs");
            assert!(output.status.success(), "{program} {args:?}: {output:?}");
            String::from_utf8(output.stdout).expect("text")
        };
        let log = run("git", &["log", "--format=%H %cI %s", "main"]);
        assert_eq!(log.lines().count(), 3);
        assert!(log.starts_with(&format!("{head} 2024-03-02T08:15:00")), "{log}");
        assert_eq!(run("git", &["status", "--porcelain"]), "");
        assert_eq!(run("sh", &["-c", CHECK]), "ok    tests/greet.sh\n");
    }

    #[tokio::test]
    async fn is_the_same_each_time() {
        let (one, two) = (tempfile::tempdir().expect("a folder"), tempfile::tempdir().expect("a folder"));
        let below = two.path().join("not/there/yet");
        assert_eq!(create(one.path()).await.expect("one"), create(&below).await.expect("two"));
    }

    #[tokio::test]
    async fn leaves_a_folder_alone_that_is_not_empty() {
        let dir = tempfile::tempdir().expect("a folder");
        fs::write(dir.path().join("mine"), "x").expect("written");
        assert!(matches!(create(dir.path()).await, Err(SampleError::NotEmpty { .. })));
        assert!(!dir.path().join(".git").exists());
    }
}
