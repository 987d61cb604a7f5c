//! The files of a repository that say which programs git runs, and whether they are as a person accepted them.
//!
//! Agents work in worktrees that share these files with every other worktree and with the user's own checkout: a
//! filter, a hook or a helper that one of them writes there would be run by Forge's git. So a [`Fingerprint`] of
//! them is taken before the first run of an agent, and once it is accepted no git command is started while they say
//! anything else ([`GitError::RepositoryChanged`]). What counts is what the files mean: comments in a configuration and
//! branches' upstreams are no change, and hooks that the user's own branch has are none.
//!
//! Looking costs a few `stat` calls before and after each command: the files are read again only when one of them was
//! touched. A look and git's own reading are two moments. What somebody writes between them, git reads: the second look
//! finds it and refuses the command's result, but a program that it named has run by then.

use std::collections::BTreeMap;
use std::fs;
use std::io::ErrorKind;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use git2::{DiffOptions, Patch};
use sha2::{Digest as _, Sha256};

use crate::bytes;
use crate::config_file::parse;
use crate::error::GitError;
use crate::repository_change::{ChangedFile, RepositoryChange};
use crate::stamp::{Moment, Print, Stamps};

mod accept;
mod hooks;

/// The private ignore list.
const EXCLUDE: &str = "info/exclude";

/// Files of the common directory, besides hooks. With a `commondir` git would read all others elsewhere.
const FILES: [&str; 6] =
    ["config", "config.worktree", "commondir", "info/attributes", EXCLUDE, "objects/info/alternates"];
/// Content beyond this is compared by its hash, and cannot be put back.
const CONTENT_CAP: usize = 1 << 20;
/// What of a difference is shown.
const SHOWN_CAP: usize = 16 << 10;
/// Files that include each other beyond this are not followed, as git does not.
const INCLUDE_DEPTH: usize = 10;
/// How often hooks in the user's checkout are looked at again before they count as changed, and how long apart.
const CHECKOUT_LOOKS: u32 = 5;
const CHECKOUT_LOOKS_EVERY: Duration = Duration::from_millis(60);
/// Settings of a branch that start nothing: `git push --set-upstream` and editors write them.
const BRANCH_SETTINGS: [&str; 6] =
    ["remote", "merge", "pushremote", "description", "vscode-merge-base", "gh-merge-base"];
/// Settings that sparse checkouts write for one worktree.
const WORKTREE_SETTINGS: [&str; 3] = ["core.sparsecheckout", "core.sparsecheckoutcone", "index.sparse"];

/// The files that say which programs git runs, as they were at one time.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Fingerprint {
    /// By path.
    pub files: Vec<FingerprintFile>,
}

/// One of these files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FingerprintFile {
    /// From the repository's common directory; absolute when it lies elsewhere.
    pub path: String,
    /// Whether its owner may execute it.
    pub executable: bool,
    /// The hash of its content, in hex.
    pub sha256: String,
    /// Its content, unless it is too large to be kept.
    pub content: Option<Vec<u8>>,
}

/// Looks before each command whether the files are as accepted.
#[derive(Debug)]
pub(crate) struct Guard {
    place: Place,
    state: Mutex<State>,
}

/// Where the files lie.
#[derive(Debug, Clone)]
struct Place {
    common_dir: PathBuf,
    root: PathBuf,
    home: Option<PathBuf>,
    /// Where hooks are by settings outside of the repository, as they were when it was opened.
    hooks: Option<PathBuf>,
}

#[derive(Debug)]
struct State {
    accepted: Arc<Fingerprint>,
    /// The paths that were looked at, and what their stamps came to, when all was as accepted.
    known: Option<(Arc<Vec<PathBuf>>, Print)>,
}

/// What a look at the files found.
#[derive(Debug, Default)]
struct Taken {
    files: BTreeMap<String, FingerprintFile>,
    /// Everything whose stamp says whether another look would find the same.
    paths: Vec<PathBuf>,
}

impl Fingerprint {
    /// Names the state by what the files mean.
    #[must_use]
    pub fn digest(&self) -> String {
        let mut hash = Sha256::new();
        for file in &self.files {
            for line in meaning(file) {
                hash.update(file.path.as_bytes());
                hash.update([0]);
                hash.update(line.as_bytes());
                hash.update([0]);
            }
        }
        hex(&hash.finalize())
    }

    fn get(&self, path: &str) -> Option<&FingerprintFile> {
        self.files.iter().find(|file| file.path == path)
    }

    /// How `now` differs from this, in what the files mean.
    fn changes(&self, now: &Fingerprint) -> Vec<ChangedFile> {
        let mut paths: Vec<&str> =
            self.files.iter().chain(&now.files).map(|file| file.path.as_str()).collect();
        paths.sort_unstable();
        paths.dedup();
        let lines = |file: Option<&FingerprintFile>| file.map(meaning).unwrap_or_default();
        paths
            .into_iter()
            .map(|path| (path, lines(self.get(path)), lines(now.get(path))))
            .filter(|(_, before, after)| before != after)
            .map(|(path, before, after)| ChangedFile { path: path.to_owned(), diff: diff(&before, &after) })
            .collect()
    }
}

impl Guard {
    fn new(place: Place, accepted: Fingerprint) -> Self {
        Self { place, state: Mutex::new(State { accepted: Arc::new(accepted), known: None }) }
    }

    /// Refuses while the files are not as accepted.
    pub(crate) async fn check(self: Arc<Self>) -> Result<(), GitError> {
        if self.is_untouched() {
            return Ok(());
        }
        let guard = Arc::clone(&self);
        tokio::task::spawn_blocking(move || guard.look()).await?
    }

    fn is_untouched(&self) -> bool {
        let known = self.locked().known.clone();
        known.is_some_and(|(paths, print)| stamp(&paths, None) == Some(print))
    }

    fn look(&self) -> Result<(), GitError> {
        let mut looks = 0;
        let (begun, paths) = loop {
            let begun = Moment::now();
            let (now, mut paths) = self.place.take()?;
            let accepted = Arc::clone(&self.locked().accepted);
            let (files, by_head) = self.place.uncommitted(accepted.changes(&now), &now)?;
            if files.is_empty() {
                if by_head {
                    paths.extend(self.place.head_paths());
                }
                break (begun, paths);
            }
            looks += 1;
            // A checkout that is under way writes files before it moves `HEAD`.
            let passes = files.iter().all(|file| self.place.in_checkout(&file.path).is_some());
            if !passes || looks > CHECKOUT_LOOKS {
                let change = RepositoryChange { digest: now.digest(), files };
                let path = self.place.root.clone();
                return Err(GitError::RepositoryChanged { path, change: Box::new(change) });
            }
            std::thread::sleep(CHECKOUT_LOOKS_EVERY);
        };
        // What changed a moment ago may change again without looking younger: then the next command reads again.
        let print = stamp(&paths, Some(begun));
        self.locked().known = print.map(|print| (Arc::new(paths), print));
        Ok(())
    }

    /// Takes one file as it is now for accepted: Forge itself wrote it.
    fn accept_own(&self, path: &str) -> Result<(), GitError> {
        let mut taken = Taken::default();
        taken.file(path.to_owned(), &self.place.common_dir.join(path))?;
        let mut state = self.locked();
        let mut accepted = Fingerprint::clone(&state.accepted);
        accepted.files.retain(|file| file.path != path);
        accepted.files.extend(taken.files.into_values());
        accepted.files.sort_by(|a, b| a.path.cmp(&b.path));
        state.accepted = Arc::new(accepted);
        state.known = None;
        Ok(())
    }

    fn locked(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Place {
    fn take(&self) -> Result<(Fingerprint, Vec<PathBuf>), GitError> {
        let mut taken = Taken::default();
        for name in FILES {
            taken.file(name.to_owned(), &self.common_dir.join(name))?;
        }
        let mut settings = Vec::new();
        for name in ["config", "config.worktree"] {
            self.follow(&mut taken, name, &self.common_dir.join(name), &mut settings, 0)?;
        }
        self.hooks(&mut taken, "hooks", &self.common_dir.join("hooks"))?;
        let last =
            |name: &str| settings.iter().rev().find(|(known, _)| known == name).map(|(_, value)| value);
        // A relative one leads into the user's own checkout, see `Repo::with_hooks`.
        let elsewhere =
            last("core.hookspath").and_then(|path| expanded(path, &self.root, self.home.as_deref()));
        if let Some(folder) = self.hooks_folder(elsewhere) {
            self.hooks(&mut taken, &folder.to_string_lossy(), &folder)?;
        }
        if last("extensions.worktreeconfig").is_some_and(|value| is_true(value)) {
            self.worktree_settings(&mut taken)?;
        }
        // Without the repository, which may have been moved away meanwhile, the files say nothing.
        self.require_repository()?;
        let files = taken.files.into_values().collect();
        Ok((Fingerprint { files }, taken.paths))
    }

    fn require_repository(&self) -> Result<(), GitError> {
        let is_there = self.common_dir.join("HEAD").symlink_metadata().is_ok();
        is_there.then_some(()).ok_or_else(|| GitError::NotARepository { path: self.root.clone() })
    }

    /// Adds what a file of settings says, and the files that it includes.
    fn follow(
        &self,
        taken: &mut Taken,
        name: &str,
        path: &Path,
        settings: &mut Vec<(String, String)>,
        depth: usize,
    ) -> Result<(), GitError> {
        if depth > 0 {
            if taken.files.contains_key(name) {
                return Ok(());
            }
            taken.file(name.to_owned(), path)?;
        }
        let content = taken.files.get(name).and_then(|file| file.content.as_deref());
        let Some(said) = content.and_then(parse) else { return Ok(()) };
        for (key, value) in said {
            let includes = key == "include.path" || key.starts_with("includeif.") && key.ends_with(".path");
            // Whatever the condition: who writes the file decides when it counts.
            if includes && depth < INCLUDE_DEPTH {
                let beside = path.parent().unwrap_or(&self.common_dir);
                if let Some(included) = expanded(&value, beside, self.home.as_deref()) {
                    let name = included.to_string_lossy().into_owned();
                    self.follow(taken, &name, &included, settings, depth + 1)?;
                }
            }
            settings.push((key, value));
        }
        Ok(())
    }

    /// Settings that a linked worktree has for itself.
    fn worktree_settings(&self, taken: &mut Taken) -> Result<(), GitError> {
        let folder = self.common_dir.join("worktrees");
        taken.paths.push(folder.clone());
        let entries = match fs::read_dir(&folder) {
            Err(e) if e.kind() == ErrorKind::NotFound => return Ok(()),
            other => other.map_err(GitError::io("list", &folder))?,
        };
        for entry in entries {
            let entry = entry.map_err(GitError::io("list", &folder))?;
            let name = format!("worktrees/{}/config.worktree", entry.file_name().to_string_lossy());
            let path = entry.path().join("config.worktree");
            taken.file(name.clone(), &path)?;
            let shared = taken.files.get("config.worktree").and_then(|file| parse(file.content.as_deref()?));
            let said = taken.files.get(&name).and_then(|file| parse(file.content.as_deref()?));
            // git copies the main worktree's settings into a new one.
            let plain = said.is_some_and(|said| {
                said.iter().all(|entry| {
                    WORKTREE_SETTINGS.contains(&entry.0.as_str())
                        || shared.as_ref().is_some_and(|shared| shared.contains(entry))
                })
            });
            if plain {
                taken.files.remove(&name);
            }
        }
        Ok(())
    }
}

/// The private ignore list without the lines that Forge adds itself to keep `.forge/` out of git: an engine that is
/// killed right after it wrote them must not take them for somebody else's at the next start.
fn without_own_lines(content: &[u8]) -> Vec<u8> {
    let is_own = |line: &[u8]| line.starts_with(b"/.forge/") || line.starts_with(b"!/.forge/");
    content.split_inclusive(|byte| *byte == b'\n').filter(|line| !is_own(line)).flatten().copied().collect()
}

impl Taken {
    /// Takes a file; one that is not there is nothing.
    fn file(&mut self, name: String, path: &Path) -> Result<(), GitError> {
        self.paths.push(path.to_owned());
        let read = fs::metadata(path).map(|found| (found.is_file(), found.permissions().mode()));
        let (is_file, mode) = match read {
            Err(e) if is_missing(&e) => return Ok(()),
            other => other.map_err(GitError::io("look at", path))?,
        };
        // A pipe would be waited for; git runs and reads none of these kinds in the place of a file of settings.
        if !is_file {
            return Ok(());
        }
        let mut content = fs::read(path).map_err(GitError::io("read", path))?;
        if name == EXCLUDE {
            content = without_own_lines(&content);
            if content.is_empty() {
                return Ok(());
            }
        }
        let sha256 = hex_of(&content);
        let content = (content.len() <= CONTENT_CAP).then_some(content);
        let file = FingerprintFile { path: name.clone(), executable: mode & 0o111 != 0, sha256, content };
        self.files.insert(name, file);
        Ok(())
    }
}

fn stamp(paths: &[PathBuf], begun: Option<Moment>) -> Option<Print> {
    let bound = match begun {
        Some(begun) => Some(begun.bound()?),
        None => None,
    };
    let mut stamps = Stamps::new(bound, Path::new("/"));
    paths.iter().try_for_each(|path| stamps.of(path).map(drop)).ok()?;
    stamps.print().ok()
}

/// What a file says, line by line; what git does not read or run says nothing.
fn meaning(file: &FingerprintFile) -> Vec<String> {
    let Some(content) = &file.content else { return vec![format!("sha256 {}", file.sha256)] };
    let raw = || bytes::text(content).lines().map(str::to_owned).collect::<Vec<_>>();
    let is_lines =
        ["info/attributes", "info/exclude", "objects/info/alternates"].contains(&file.path.as_str());
    if is_lines {
        return raw().into_iter().filter(|line| !line.trim().is_empty() && !line.starts_with('#')).collect();
    }
    if file.path == "commondir" {
        return raw();
    }
    let is_settings = file.path == "config" || file.path.ends_with("config.worktree");
    if is_settings {
        return match parse(content) {
            Some(said) => {
                said.into_iter().filter(counts).map(|(key, value)| format!("{key}={value}")).collect()
            }
            None => raw(),
        };
    }
    // Hooks, what they may read, and what settings include.
    let executable = file.executable.then(|| "(executable)".to_owned());
    executable.into_iter().chain(raw()).collect()
}

/// Whether a setting can make a difference to what git does for Forge.
fn counts((key, _): &(String, String)) -> bool {
    let branch = key.strip_prefix("branch.").and_then(|rest| rest.rsplit_once('.'));
    !branch.is_some_and(|(_, setting)| BRANCH_SETTINGS.contains(&setting))
}

fn is_true(value: &str) -> bool {
    matches!(value.to_ascii_lowercase().as_str(), "true" | "yes" | "on" | "1")
}

/// Where a path in a setting leads.
fn expanded(value: &str, beside: &Path, home: Option<&Path>) -> Option<PathBuf> {
    match value.strip_prefix("~/") {
        Some(rest) => Some(home?.join(rest)),
        // `%(prefix)/` and other people's homes: where git finds those is not for a repository to say.
        None if value.starts_with(['~', '%']) || value.is_empty() => None,
        None => Some(beside.join(value)),
    }
}

fn diff(before: &[String], after: &[String]) -> String {
    let joined = |lines: &[String]| lines.iter().flat_map(|line| [line.as_str(), "\n"]).collect::<String>();
    let (before, after) = (joined(before), joined(after));
    let mut options = DiffOptions::new();
    options.context_lines(1).force_text(true);
    let made = Patch::from_buffers(before.as_bytes(), None, after.as_bytes(), None, Some(&mut options));
    let text = made.and_then(|mut patch| patch.to_buf().map(|buffer| bytes::text(&buffer))).unwrap_or(after);
    let lines =
        text.lines().skip_while(|line| !line.starts_with("@@")).filter(|line| !line.starts_with("@@"));
    let mut shown = String::new();
    for line in lines {
        if shown.len() + line.len() > SHOWN_CAP {
            shown.push_str("...\n");
            break;
        }
        shown.push_str(line);
        shown.push('\n');
    }
    shown
}

/// The hash of a content, in hex.
fn hex_of(content: &[u8]) -> String {
    hex(&Sha256::digest(content))
}

fn is_missing(error: &std::io::Error) -> bool {
    matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory)
}

fn hex(hash: &[u8]) -> String {
    hash.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests;
