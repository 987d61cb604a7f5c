//! Every text that was written in a history, and where it is stored now.
//!
//! Each text is written once, to a file of its own name, so its content is found by its blob wherever git stores
//! it, and by its name wherever a folder does.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use anyhow::{Context as _, Result, ensure};
use forge_testkit::HERMETIC_GIT;

/// Runs git in a folder and gives what it printed.
pub fn git(folder: &Path, args: &[&str]) -> Result<String> {
    let output = Command::new("git").args(args).current_dir(folder).envs(HERMETIC_GIT).output()?;
    ensure!(output.status.success(), "git {args:?}: {}", String::from_utf8_lossy(&output.stderr));
    Ok(String::from_utf8_lossy(&output.stdout).trim_end().to_owned())
}

/// The content of a text's file.
pub fn content(name: &str) -> String {
    format!("{name} was written by somebody\n")
}

/// Texts by their task.
pub struct Ledger {
    /// Texts of agents, which add the name after writing.
    file: PathBuf,
    /// Texts of people.
    by_people: Vec<(usize, String)>,
    /// Texts that people destroyed.
    given_up: BTreeSet<String>,
    /// The remotes of the submodule and of the one in it.
    libraries: [PathBuf; 2],
    scratch: PathBuf,
}

/// The places that hold texts.
pub struct HeldContent {
    /// Blobs reachable from refs or from the index of a worktree.
    blobs: BTreeSet<String>,
    /// Files in worktrees and kept folders.
    files: BTreeSet<String>,
    /// Repositories inside worktrees and kept folders, and those unpacked from bundles.
    repositories: Vec<PathBuf>,
}

impl Ledger {
    pub fn new(dir: &Path, libraries: [PathBuf; 2]) -> Result<Self> {
        let scratch = dir.join("scratch");
        std::fs::create_dir(&scratch)?;
        let file = dir.join("ledger");
        std::fs::write(&file, "")?;
        Ok(Self { file, by_people: Vec::new(), given_up: BTreeSet::new(), libraries, scratch })
    }

    /// A directive: the scripted agent writes a text into `folder`, runs `then`, and records the name.
    pub fn agent_writes(&self, name: &str, folder: &str, then: &str) -> String {
        let ledger = self.file.display();
        format!(
            "run printf '%s was written by somebody\\n' {name} >{folder}/{name} && {then} && echo {name} >>{ledger}"
        )
    }

    /// A directive: the scripted agent overwrites an existing file with a text.
    pub fn agent_overwrites(&self, name: &str, file: &str) -> String {
        let ledger = self.file.display();
        format!("run printf '%s was written by somebody\\n' {name} >{file} && echo {name} >>{ledger}")
    }

    pub fn person_wrote(&mut self, task: usize, name: &str) {
        self.by_people.push((task, name.to_owned()));
    }

    /// All texts that were written, with the number of their task.
    pub fn texts(&self) -> Result<Vec<(usize, String)>> {
        let mut all = self.by_people.clone();
        for name in std::fs::read_to_string(&self.file)?.lines() {
            let task = name.split('-').nth(1).and_then(|number| number.parse().ok());
            all.push((task.with_context(|| format!("no task in {name}"))?, name.to_owned()));
        }
        Ok(all)
    }

    /// A person destroyed something of a task: the texts that are nowhere now were theirs to destroy, unless `kept` has
    /// them.
    pub fn give_up(&mut self, task: usize, held: &HeldContent, kept: &BTreeSet<String>) -> Result<()> {
        let blobs = self.blobs()?;
        for (_, name) in self.texts()?.into_iter().filter(|(of, _)| *of == task) {
            // One that was written since is none that they destroyed.
            let Some(blob) = blobs.get(&name) else { continue };
            if !kept.contains(blob) && !held.holds(&name, blob)? {
                self.given_up.insert(name);
            }
        }
        Ok(())
    }

    /// The blob of each text.
    pub fn blobs(&self) -> Result<BTreeMap<String, String>> {
        let folder = self.scratch.join("texts");
        std::fs::create_dir_all(&folder)?;
        let texts = self.texts()?;
        if texts.is_empty() {
            return Ok(BTreeMap::new());
        }
        let mut args = vec!["hash-object", "--no-filters"];
        for (_, name) in &texts {
            std::fs::write(folder.join(name), content(name))?;
            args.push(name);
        }
        let blobs = git(&folder, &args)?;
        Ok(texts.iter().map(|(_, name)| name.clone()).zip(blobs.lines().map(str::to_owned)).collect())
    }

    /// The texts that are lost.
    pub fn lost(&self, held: &HeldContent) -> Result<Vec<String>> {
        let blobs = self.blobs()?;
        let mut lost = Vec::new();
        for (name, blob) in &blobs {
            if !self.given_up.contains(name) && !held.holds(name, blob)? {
                lost.push(name.clone());
            }
        }
        Ok(lost)
    }

    /// Searches the repository's refs, the indexes and logs of its worktrees, and folders.
    pub fn look(&self, repository: &Path, folders: &[PathBuf]) -> Result<HeldContent> {
        let mut from = ["--all", "--indexed-objects", "--ignore-missing"].map(str::to_owned).to_vec();
        from.extend(checked_out_commits(repository));
        self.look_by(&from, repository, folders)
    }

    /// The same without indexes and logs, whose content is destroyed with a worktree.
    pub fn look_without_indexes(&self, repository: &Path, folders: &[PathBuf]) -> Result<HeldContent> {
        self.look_by(&["--all".to_owned()], repository, folders)
    }

    fn look_by(&self, from: &[String], repository: &Path, folders: &[PathBuf]) -> Result<HeldContent> {
        let listed = list_objects(repository, from)?;
        let mut held =
            HeldContent { blobs: BTreeSet::new(), files: BTreeSet::new(), repositories: Vec::new() };
        let mut bundles = Vec::new();
        for line in listed.lines() {
            let (object, path) = line.split_once(' ').unwrap_or((line, ""));
            held.blobs.insert(object.to_owned());
            if path.ends_with(".bundle") {
                bundles.push(object.to_owned());
            }
        }
        for folder in folders {
            held.walk(folder);
        }
        for bundle in bundles {
            held.repositories.push(self.unbundled(repository, &bundle)?);
        }
        Ok(held)
    }

    /// A repository with the content of a bundle.
    fn unbundled(&self, repository: &Path, blob: &str) -> Result<PathBuf> {
        let into = self.scratch.join(blob);
        if into.exists() {
            return Ok(into);
        }
        let file = self.scratch.join(format!("{blob}.bundle"));
        let out = std::fs::File::create(&file)?;
        let status = Command::new("git")
            .args(["cat-file", "blob", blob])
            .current_dir(repository)
            .envs(HERMETIC_GIT)
            .stdout(Stdio::from(out))
            .status()?;
        ensure!(status.success(), "the bundle {blob} cannot be read");
        // The bundle of a submodule holds what its remote does not have.
        let [library, core] = self.libraries.each_ref().map(|path| path.display().to_string());
        git(&self.scratch, &["clone", "--quiet", "--bare", &library, &into.display().to_string()])?;
        git(&into, &["fetch", "--quiet", &core, "main:refs/core"])?;
        git(&into, &["bundle", "unbundle", &file.display().to_string()])?;
        Ok(into)
    }
}

/// The commits that the worktrees of a repository had checked out, by their reflogs.
fn checked_out_commits(repository: &Path) -> BTreeSet<String> {
    let worktrees = std::fs::read_dir(repository.join(".git/worktrees"));
    let logs = worktrees.into_iter().flatten().flatten();
    let logs = logs.filter_map(|worktree| std::fs::read_to_string(worktree.path().join("logs/HEAD")).ok());
    let is_commit = |name: &String| name.bytes().any(|byte| byte != b'0');
    let names = |log: String| {
        log.lines().flat_map(|line| line.split(' ').take(2)).map(str::to_owned).collect::<Vec<_>>()
    };
    logs.flat_map(names).filter(is_commit).collect()
}

/// The objects reachable from refs and further commits.
fn list_objects(repository: &Path, from: &[String]) -> Result<String> {
    let from: Vec<&str> = from.iter().map(String::as_str).collect();
    let list = || git(repository, &[&["rev-list", "--objects"], from.as_slice()].concat());
    // git fails on a worktree that is being registered in this moment.
    for _ in 0..5 {
        if let Ok(listed) = list() {
            return Ok(listed);
        }
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
    list()
}

impl HeldContent {
    fn walk(&mut self, folder: &Path) {
        for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
            let path = entry.path();
            if !entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                let text = std::fs::read_to_string(&path).unwrap_or_default();
                let name = text.split(' ').next().unwrap_or_default();
                if text == content(name) {
                    self.files.insert(name.to_owned());
                }
                continue;
            }
            if path.join("objects").is_dir() && path.join("HEAD").is_file() {
                self.repositories.push(path.clone());
            }
            self.walk(&path);
        }
    }

    fn holds(&self, name: &str, blob: &str) -> Result<bool> {
        if self.blobs.contains(blob) || self.files.contains(name) {
            return Ok(true);
        }
        for repository in &self.repositories {
            let mut git = Command::new("git");
            git.arg("--git-dir").arg(repository).args(["cat-file", "-e", blob]).envs(HERMETIC_GIT);
            if git.stderr(Stdio::null()).status()?.success() {
                return Ok(true);
            }
        }
        Ok(false)
    }
}
