//! git, run in a store: its environment, and what its failures mean.

use std::{ffi::OsStr, path::Path, sync::Arc, time::Duration};

use forge_exec::{Caps, Collected, Command, Exit, Piped, Pipes, Stdin, Unmarked, collect, start_piped};

use crate::{Fault, Tree};

/// The oldest git that has what is used here.
pub(crate) const OLDEST: &str = "2.30";
const OLDEST_PARTS: (u32, u32) = (2, 30);
/// Time for one command: checking out a large tree on a slow disk may take long.
const TIME: Duration = Duration::from_secs(30 * 60);
const CAPS: Caps = Caps { stdout: 1 << 30, stderr: 64 << 10 };

/// A git command in a store.
#[derive(Debug)]
pub(crate) struct Git {
    name: String,
    store: std::path::PathBuf,
    command: Command<Unmarked>,
}

impl Git {
    /// A command with no worktree in reach.
    pub(crate) fn new(tree: &Tree, args: &[&str]) -> Self {
        let mut base = (*tree.environment).clone();
        base.retain(|name, _| !name.as_encoded_bytes().starts_with(b"GIT_"));
        let store = &tree.store;
        let command = Command::tool(&tree.program, store)
            .base(Arc::new(base))
            .args(args)
            .env("GIT_DIR", store)
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("GIT_CONFIG_SYSTEM", "/dev/null")
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .env("GIT_ATTR_NOSYSTEM", "1")
            .env("GIT_NO_LAZY_FETCH", "1")
            .env("GIT_NO_REPLACE_OBJECTS", "1")
            .env("GIT_TERMINAL_PROMPT", "0")
            .env("LC_ALL", "C")
            // A git that does not know the other variables looks for its user's settings there.
            .env("HOME", store)
            .env("XDG_CONFIG_HOME", store)
            .without_terminal()
            .timeout(TIME);
        Self { name: args.first().copied().unwrap_or_default().to_owned(), store: store.clone(), command }
    }

    pub(crate) fn arg(mut self, arg: impl AsRef<OsStr>) -> Self {
        self.command = self.command.arg(arg.as_ref());
        self
    }

    pub(crate) fn env(mut self, name: &str, value: impl AsRef<OsStr>) -> Self {
        self.command = self.command.env(name, value.as_ref());
        self
    }

    /// In the worktree.
    pub(crate) fn in_worktree(mut self, worktree: &Path) -> Self {
        self.command = self.command.env("GIT_WORK_TREE", worktree);
        worktree.clone_into(&mut self.command.cwd);
        self
    }

    pub(crate) fn input(mut self, input: Vec<u8>) -> Self {
        self.command = self.command.stdin(Stdin::Bytes(input));
        self
    }

    /// Runs it; any exit is an answer.
    pub(crate) async fn run(self) -> Result<Collected, Fault> {
        collect(self.command, CAPS).await.map_err(|error| Fault::collect(&self.name, &error))
    }

    /// What it prints; failing is an error.
    pub(crate) async fn ok(self) -> Result<Vec<u8>, Fault> {
        let (name, store) = (self.name.clone(), self.store.clone());
        let done = self.run().await?;
        if done.exit != Exit::Code(0) {
            return Err(Fault::git(&name, &done.stderr, &store));
        }
        Ok(done.stdout)
    }

    /// The first line that it prints.
    pub(crate) async fn line(self) -> Result<String, Fault> {
        let printed = self.ok().await?;
        let text = String::from_utf8_lossy(&printed);
        Ok(text.lines().next().unwrap_or_default().trim().to_owned())
    }

    /// Starts it with pipes.
    pub(crate) async fn piped(mut self) -> Result<(Piped, Pipes), Fault> {
        self.command.timeout = None;
        start_piped(self.command).await.map_err(|error| Fault::exec(&self.name, &error))
    }
}

/// Checks that git is there and not too old.
pub(crate) async fn check(tree: &Tree) -> Result<(), Fault> {
    let found = Git::new(tree, &["--version"]).line().await?;
    let number = found.split_whitespace().find(|word| word.starts_with(|c: char| c.is_ascii_digit()));
    let mut parts = number.unwrap_or_default().split('.').map(|part| part.parse::<u32>().unwrap_or(0));
    let version = (parts.next().unwrap_or(0), parts.next().unwrap_or(0));
    if version < OLDEST_PARTS { Err(Fault::OldGit { found }) } else { Ok(()) }
}

/// The records of what git prints with `-z`.
pub(crate) fn records(printed: &[u8]) -> impl Iterator<Item = &[u8]> {
    printed.split(|byte| *byte == 0).filter(|record| !record.is_empty())
}

/// Records as git reads them with `-z`.
pub(crate) fn joined<'p>(records: impl IntoIterator<Item = &'p [u8]>) -> Vec<u8> {
    records.into_iter().flat_map(|record| [record, b"\0"].concat()).collect()
}
