//! Startup files: what of a repository runs code as soon as a program starts in it.
//!
//! They are read from a commit's objects, so that nothing has to be checked out to know them, and from a worktree, in
//! which somebody may have written others. A symbolic link counts by its target's name and by the content that it leads
//! to inside the repository; what it leads to elsewhere is not read.

use std::collections::BTreeMap;
use std::fs;
use std::io::ErrorKind;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;
use std::sync::{Arc, MutexGuard, PoisonError};

use forge_model::trust::{DIRENV, FOLDERS, ROOT_FILES, is_startup_file};
use git2::{DiffOptions, Patch};

use crate::bytes;
use crate::command::Kind;
use crate::error::GitError;
use crate::repo::Repo;
use crate::startup_file::{StartupFile, StartupMemory};
use crate::worktree::Worktree;

/// A larger startup file is refused.
const CONTENT_CAP: u64 = 16 << 20;
/// Links that lead on to links beyond this lead nowhere, as for the kernel.
const MOST_LINKS: usize = 40;
/// What of a difference is shown.
const SHOWN_CAP: usize = 16 << 10;
/// So many commits are remembered.
const REMEMBERED: usize = 64;
/// What package managers install beside startup files when a program starts.
const INSTALLED: &str = "node_modules";

/// What is at a path.
enum Node {
    File,
    Folder,
    /// A link, with its target's name.
    Link(Vec<u8>),
}

/// Where startup files are looked for.
enum Place<'a> {
    /// The tree of a commit: mode and object by path.
    Commit { repo: &'a Repo, entries: BTreeMap<String, (Mode, String)> },
    /// A folder.
    Worktree(&'a Path),
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Mode {
    File,
    Link,
}

impl Repo {
    /// The startup files of a commit, by path.
    pub async fn startup_files_at(&self, commit: &str) -> Result<Arc<Vec<StartupFile>>, GitError> {
        let known = self.startup_memory().get(commit).cloned();
        if let Some(known) = known {
            return Ok(known);
        }
        let found = Arc::new(self.list_startup_files(commit).await?);
        let mut memory = self.startup_memory();
        if memory.len() >= REMEMBERED {
            memory.clear();
        }
        memory.insert(commit.to_owned(), Arc::clone(&found));
        Ok(found)
    }

    async fn list_startup_files(&self, commit: &str) -> Result<Vec<StartupFile>, GitError> {
        let command = self.read().args(["ls-tree", "-r", "-z", "--full-tree", commit]);
        let mut entries = BTreeMap::new();
        for record in bytes::records(&command.ok().await?) {
            // `<mode> <type> <oid>\t<path>`; what is no UTF-8 is none of the names looked for.
            let Ok(record) = std::str::from_utf8(record) else { continue };
            let Some((facts, path)) = record.split_once('\t') else { continue };
            let mode = match facts.get(..3) {
                Some("100") => Mode::File,
                Some("120") => Mode::Link,
                _ => continue,
            };
            let oid = facts.rsplit(' ').next().unwrap_or_default().to_owned();
            entries.insert(path.to_owned(), (mode, oid));
        }
        let nested = entries.keys().filter(|path| is_nested_direnv(path)).cloned().collect();
        Place::Commit { repo: self, entries }.startup_files(nested).await
    }

    fn startup_memory(&self) -> MutexGuard<'_, StartupMemory> {
        self.inner.startup_files.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Worktree {
    /// The startup files that lie in the worktree, committed or not, by path. Of those in subfolders, ignored ones are
    /// left out.
    pub async fn startup_files(&self) -> Result<Vec<StartupFile>, GitError> {
        let pattern = format!(":(glob)**/{DIRENV}");
        let list = |rules: &[&str]| {
            let command = self.command(Kind::Read).args(["ls-files", "-z", "--cached", "--others"]);
            command.args(rules).args(["--", &pattern])
        };
        let listed = match list(&["--exclude-standard"]).run().await? {
            listed if listed.exit == Some(0) => listed.stdout,
            // Rules that git cannot read hide nothing.
            _ => list(&[]).ok().await?,
        };
        let mut nested: Vec<String> = bytes::records(&listed)
            .filter_map(|path| std::str::from_utf8(path).ok())
            .filter(|path| is_nested_direnv(path))
            .map(str::to_owned)
            .collect();
        nested.dedup();
        Place::Worktree(self.path()).startup_files(nested).await
    }
}

/// Lines that went and came between two contents, bounded; empty when one of them is no text.
#[must_use]
pub fn changed_lines(before: &[u8], after: &[u8]) -> String {
    if std::str::from_utf8(before).is_err() || std::str::from_utf8(after).is_err() {
        return String::new();
    }
    let mut options = DiffOptions::new();
    options.context_lines(3).force_text(true);
    let made = Patch::from_buffers(before, None, after, None, Some(&mut options));
    let text = made.and_then(|mut patch| patch.to_buf().map(|buffer| bytes::text(&buffer)));
    let text = text.unwrap_or_default();
    let mut shown = String::new();
    for line in text.lines().skip_while(|line| !line.starts_with("@@")) {
        if shown.len() + line.len() > SHOWN_CAP {
            shown.push_str("...\n");
            break;
        }
        shown.push_str(line);
        shown.push('\n');
    }
    shown
}

fn is_nested_direnv(path: &str) -> bool {
    path.rsplit_once('/').is_some_and(|(_, name)| name == DIRENV)
}

impl Place<'_> {
    /// All startup files of the place; `nested` are those of direnv in subfolders.
    async fn startup_files(&self, nested: Vec<String>) -> Result<Vec<StartupFile>, GitError> {
        let mut found = BTreeMap::new();
        for path in ROOT_FILES.iter().map(|name| (*name).to_owned()).chain(nested) {
            if let Some(content) = self.content_of(&path).await? {
                found.insert(path, content);
            }
        }
        for folder in FOLDERS {
            self.add_folder(folder, &mut found).await?;
        }
        Ok(found.into_iter().map(|(path, content)| StartupFile::new(path, content)).collect())
    }

    /// The startup files of a folder of the root. One that is a link is one itself, and leads to others.
    async fn add_folder(&self, folder: &str, found: &mut BTreeMap<String, Vec<u8>>) -> Result<(), GitError> {
        let real = match self.node(folder).await? {
            Some(Node::Folder) => folder.to_owned(),
            Some(Node::Link(target)) => {
                found.insert(folder.to_owned(), link(&target));
                match self.resolve(folder).await? {
                    Some((real, Node::Folder)) => real,
                    Some(_) | None => return Ok(()),
                }
            }
            Some(Node::File) | None => return Ok(()),
        };
        for below in self.files_under(&real)? {
            let shown = format!("{folder}/{below}");
            if is_startup_file(&shown)
                && let Some(content) = self.content_of(&format!("{real}/{below}")).await?
            {
                found.insert(shown, content);
            }
        }
        Ok(())
    }

    /// The content of a file, or what a link comes to; nothing for what is neither.
    async fn content_of(&self, path: &str) -> Result<Option<Vec<u8>>, GitError> {
        Ok(match self.node(path).await? {
            Some(Node::File) => self.read(path).await?,
            Some(Node::Link(target)) => {
                let mut content = link(&target);
                if let Some((real, Node::File)) = self.resolve(path).await? {
                    content.extend(self.read(&real).await?.unwrap_or_default());
                }
                Some(content)
            }
            Some(Node::Folder) | None => None,
        })
    }

    /// Where a path ends up once its links are followed inside the root; nothing when it leads nowhere, or out.
    async fn resolve(&self, path: &str) -> Result<Option<(String, Node)>, GitError> {
        let mut left: Vec<String> = path.split('/').rev().map(str::to_owned).collect();
        let mut real: Vec<String> = Vec::new();
        let mut links = 0;
        let mut last = Node::Folder;
        while let Some(part) = left.pop() {
            match part.as_str() {
                "" | "." => continue,
                ".." if real.pop().is_none() => return Ok(None),
                ".." => {
                    last = Node::Folder;
                    continue;
                }
                _ => {}
            }
            real.push(part);
            match self.node(&real.join("/")).await? {
                None => return Ok(None),
                Some(Node::Link(target)) => {
                    links += 1;
                    let Ok(target) = String::from_utf8(target) else { return Ok(None) };
                    if links > MOST_LINKS || target.starts_with('/') {
                        return Ok(None);
                    }
                    real.pop();
                    left.extend(target.split('/').rev().map(str::to_owned));
                }
                Some(node) => last = node,
            }
        }
        Ok((!real.is_empty()).then(|| (real.join("/"), last)))
    }

    async fn node(&self, path: &str) -> Result<Option<Node>, GitError> {
        match self {
            Self::Commit { repo, entries } => match entries.get(path) {
                Some((Mode::File, _)) => Ok(Some(Node::File)),
                Some((Mode::Link, oid)) => Ok(Some(Node::Link(repo.blob(oid, CONTENT_CAP).await?))),
                None => {
                    let folder = format!("{path}/");
                    let next = entries.range(folder.clone()..).next();
                    Ok(next.is_some_and(|(below, _)| below.starts_with(&folder)).then_some(Node::Folder))
                }
            },
            Self::Worktree(root) => {
                let full = root.join(path);
                let kind = match fs::symlink_metadata(&full) {
                    Err(e) if matches!(e.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
                        return Ok(None);
                    }
                    other => other.map_err(GitError::io("look at", &full))?.file_type(),
                };
                if kind.is_symlink() {
                    let target = fs::read_link(&full).map_err(GitError::io("read", &full))?;
                    return Ok(Some(Node::Link(target.as_os_str().as_bytes().to_owned())));
                }
                // A pipe would be waited for; no program takes its settings from one.
                Ok(match (kind.is_dir(), kind.is_file()) {
                    (true, _) => Some(Node::Folder),
                    (_, true) => Some(Node::File),
                    _ => None,
                })
            }
        }
    }

    /// The content of a file; nothing when it went meanwhile.
    async fn read(&self, path: &str) -> Result<Option<Vec<u8>>, GitError> {
        match self {
            Self::Commit { repo, entries } => match entries.get(path) {
                Some((_, oid)) => repo.blob(oid, CONTENT_CAP).await.map(Some),
                None => Ok(None),
            },
            Self::Worktree(root) => {
                let full = root.join(path);
                let size = fs::symlink_metadata(&full).map_or(0, |found| found.len());
                if size > CONTENT_CAP {
                    return Err(GitError::TooLarge { oid: path.to_owned(), size, cap: CONTENT_CAP });
                }
                match fs::read(&full) {
                    Err(e) if e.kind() == ErrorKind::NotFound => Ok(None),
                    other => other.map(Some).map_err(GitError::io("read", &full)),
                }
            }
        }
    }

    /// The files and links below a folder, from there; links are not followed.
    fn files_under(&self, folder: &str) -> Result<Vec<String>, GitError> {
        let inside = format!("{folder}/");
        match self {
            Self::Commit { entries, .. } => {
                let range = entries.range(inside.clone()..).map(|(path, _)| path);
                let below = range.map_while(|path| path.strip_prefix(&inside));
                Ok(below.map(str::to_owned).collect())
            }
            Self::Worktree(root) => {
                let mut found = Vec::new();
                let mut folders = vec![String::new()];
                while let Some(below) = folders.pop() {
                    let full = root.join(&inside).join(&below);
                    let entries = match fs::read_dir(&full) {
                        Err(e) if e.kind() == ErrorKind::NotFound => continue,
                        other => other.map_err(GitError::io("list", &full))?,
                    };
                    for entry in entries {
                        let entry = entry.map_err(GitError::io("list", &full))?;
                        let Ok(name) = entry.file_name().into_string() else { continue };
                        let kind = entry.file_type().map_err(GitError::io("look at", &entry.path()))?;
                        let path = if below.is_empty() { name.clone() } else { format!("{below}/{name}") };
                        match kind.is_dir() {
                            true if name == INSTALLED => {}
                            true => folders.push(path),
                            false => found.push(path),
                        }
                    }
                }
                found.sort();
                Ok(found)
            }
        }
    }
}

/// What a link counts as, before what it leads to.
fn link(target: &[u8]) -> Vec<u8> {
    [b"symbolic link to ", target, b"\n"].concat()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;
    use crate::testing::Sandbox;

    fn shown(files: &[StartupFile]) -> Vec<(&str, String)> {
        files.iter().map(|file| (file.path.as_str(), bytes::text(&file.content))).collect()
    }

    #[tokio::test]
    async fn startup_files_of_a_commit_and_of_a_worktree_are_the_same_until_somebody_writes() {
        let sandbox = Sandbox::new().await;
        let files = [
            (".mcp.json", "{}\n"),
            (".claude/settings.json", "1\n"),
            (".claude/notes.md", "no\n"),
            ("deep/down/.envrc", "echo\n"),
            (".cursor/a/b.json", "2\n"),
        ];
        let commit = sandbox.commit("files", &files);
        let repo = sandbox.repo().await;
        let at = repo.startup_files_at(&commit).await.unwrap();
        let paths: Vec<&str> = at.iter().map(|file| file.path.as_str()).collect();
        assert_eq!(paths, [".claude/settings.json", ".cursor/a/b.json", ".mcp.json", "deep/down/.envrc"]);
        assert_eq!(at[2].sha256, "ca3d163bab055381827226140568f3bef7eaac187cebd76878e0b63e9e442356");
        assert_eq!(repo.main_worktree().startup_files().await.unwrap(), *at);

        sandbox.write(".gitignore", ".mcp.json\n.opencode\n");
        sandbox.write(".mcp.json", "changed\n");
        sandbox.write(".opencode/plugin.ts", "3\n");
        sandbox.write(".opencode/node_modules/x/index.js", "installed\n");
        sandbox.write("new/.envrc", "4\n");
        let now = repo.main_worktree().startup_files().await.unwrap();
        let now = shown(&now);
        for file in [(".mcp.json", "changed\n"), (".opencode/plugin.ts", "3\n"), ("new/.envrc", "4\n")] {
            assert!(now.contains(&(file.0, file.1.to_owned())), "{now:?}");
        }
        assert_eq!(now.len(), 6, "{now:?}");
        assert_eq!(repo.startup_files_at(&commit).await.unwrap(), at, "a commit does not change");
    }

    #[tokio::test]
    async fn links_count_by_their_target_and_by_what_they_lead_to_inside() {
        let sandbox = Sandbox::new().await;
        sandbox.write("real/settings.json", "settings\n");
        sandbox.write("real/other.txt", "no\n");
        sandbox.write("mcp.json", "servers\n");
        for (target, path) in [
            ("real", ".claude"),
            ("mcp.json", ".mcp.json"),
            ("../outside", ".envrc"),
            ("/etc/hostname", "opencode.json"),
            ("ring", "ring"),
            ("ring", ".forge.json"),
        ] {
            symlink(target, sandbox.path(path)).unwrap();
        }
        sandbox.git(&["add", "-A"]);
        sandbox.git(&["commit", "-q", "-m", "links"]);
        let repo = sandbox.repo().await;
        let head = repo.main_worktree().head().await.unwrap();
        let at = repo.startup_files_at(&head).await.unwrap();
        assert_eq!(
            shown(&at),
            [
                (".claude", "symbolic link to real\n".to_owned()),
                (".claude/settings.json", "settings\n".to_owned()),
                (".envrc", "symbolic link to ../outside\n".to_owned()),
                (".forge.json", "symbolic link to ring\n".to_owned()),
                (".mcp.json", "symbolic link to mcp.json\nservers\n".to_owned()),
                ("opencode.json", "symbolic link to /etc/hostname\n".to_owned()),
            ]
        );
        assert_eq!(repo.main_worktree().startup_files().await.unwrap(), *at);
        // What a link leads to counts, whatever the link itself says.
        sandbox.write("mcp.json", "others\n");
        let now = repo.main_worktree().startup_files().await.unwrap();
        assert_eq!(shown(&now)[4].1, "symbolic link to mcp.json\nothers\n");
    }

    #[test]
    fn differences_are_shown_by_lines_and_not_for_what_is_no_text() {
        assert_eq!(changed_lines(b"a\nb\n", b"a\nc\n"), "@@ -1,2 +1,2 @@\n a\n-b\n+c\n");
        assert_eq!(changed_lines(b"a\n", b"\xff\n"), "");
        assert!(changed_lines(b"", "line\n".repeat(10_000).as_bytes()).len() < 2 * SHOWN_CAP);
    }
}
