//! Programs that somebody who works in a worktree plants: none of them runs, whatever git is asked to do there.

use std::fs;
use std::path::{Path, PathBuf};

use crate::command::Kind;
use crate::diff::{DiffPage, DiffScope};
use crate::error::GitError;
use crate::merge::{MergeRequest, MergeStrategy};
use crate::push::{Push, PushError, RemoteWork};
use crate::repo::Repo;
use crate::testing::{Sandbox, pool_away, program_at, remove_away};
use crate::unfinished::Standing;
use crate::worktrees::NewWorktree;

/// A worktree on the branch `work`, in which somebody works, of a repository that a person accepted.
struct Given {
    sandbox: Sandbox,
    repo: Repo,
    tree: PathBuf,
    base: String,
    /// Whether git was left unfinished in the worktree.
    unfinished: bool,
}

/// Settings that have git run a program, with `EVIL` in its place.
const SETTINGS: &[(&str, &str)] = &[
    ("filter.evil.clean", "EVIL"),
    ("filter.evil.smudge", "EVIL"),
    ("filter.evil.process", "EVIL"),
    ("filter.evil.required", "true"),
    ("diff.evil.textconv", "EVIL"),
    ("diff.evil.command", "EVIL"),
    ("diff.external", "EVIL"),
    ("merge.evil.driver", "EVIL"),
    ("core.fsmonitor", "EVIL"),
    ("core.pager", "EVIL"),
    ("core.editor", "EVIL"),
    ("core.sshCommand", "EVIL"),
    ("core.askPass", "EVIL"),
    ("core.alternateRefsCommand", "EVIL"),
    ("core.gitProxy", "EVIL"),
    ("credential.helper", "!EVIL"),
    ("gpg.program", "EVIL"),
    ("alias.status", "!EVIL"),
    ("alias.add", "!EVIL"),
    ("alias.commit", "!EVIL"),
    ("uploadpack.packObjectsHook", "EVIL"),
    ("remote.evil.url", "."),
    ("remote.evil.promisor", "true"),
    ("remote.evil.uploadpack", "EVIL"),
    ("remote.evil.receivepack", "EVIL"),
    ("protocol.file.allow", "always"),
    ("extensions.worktreeConfig", "true"),
];
const HOOKS: &[&str] = &[
    "pre-commit",
    "prepare-commit-msg",
    "commit-msg",
    "post-commit",
    "post-checkout",
    "post-merge",
    "pre-merge-commit",
    "post-index-change",
    "post-rewrite",
    "pre-rebase",
    "reference-transaction",
    "pre-push",
];

impl Given {
    async fn new() -> Self {
        let sandbox = Sandbox::new().await;
        let bare = sandbox.dir().join("bare.git");
        sandbox.git_at(sandbox.dir(), &["init", "-q", "--bare", bare.to_str().unwrap()]);
        sandbox.git(&["remote", "add", "origin", bare.to_str().unwrap()]);
        let base = sandbox
            .commit("base", &[("b", "b\n"), (".gitattributes", "*.evil filter=evil diff=evil merge=evil\n")]);
        let repo = sandbox.repo().await;
        let tree = sandbox.dir().join("place/tree");
        let spec = NewWorktree { path: tree.clone(), branch: "work".into(), base: "main".into() };
        repo.create_worktree(&spec).await.unwrap();
        repo.accept(repo.fingerprint().await.unwrap());
        Self { sandbox, repo, tree, base, unfinished: false }
    }

    fn marker(&self) -> PathBuf {
        self.sandbox.dir().join("ran")
    }

    /// A program that leaves a mark when it runs.
    fn evil(&self) -> String {
        self.sandbox.script("evil", &format!("echo \"$0 $*\" >> {}; cat; exit 0", self.marker().display()))
    }

    /// Plants everything into a git directory.
    fn plant(&self, git_dir: &Path) {
        let evil = self.evil();
        let git_dir_text = git_dir.to_str().unwrap();
        for (name, value) in SETTINGS {
            let value = value.replace("EVIL", &evil);
            self.sandbox.git_at(self.sandbox.dir(), &["--git-dir", git_dir_text, "config", name, &value]);
        }
        let included = self.sandbox.dir().join("included");
        fs::write(&included, format!("[filter \"evil\"]\n\tclean = {evil}\n")).unwrap();
        for section in ["include.path", "includeIf.gitdir:/.path"] {
            self.sandbox.git_at(
                self.sandbox.dir(),
                &["--git-dir", git_dir_text, "config", section, included.to_str().unwrap()],
            );
        }
        let own = fs::read_to_string(git_dir.join("config")).unwrap();
        fs::write(git_dir.join("config.worktree"), &own).unwrap();
        for name in HOOKS {
            program_at(&git_dir.join("hooks").join(name), &format!("{evil} {name} </dev/null"));
        }
        fs::create_dir_all(git_dir.join("info")).unwrap();
        fs::write(git_dir.join("info/attributes"), "* filter=evil diff=evil merge=evil\n").unwrap();
        let elsewhere = self.sandbox.dir().join("elsewhere");
        fs::create_dir_all(&elsewhere).unwrap();
        fs::write(git_dir.join("objects/info/alternates"), format!("{}\n", elsewhere.display())).unwrap();
    }

    /// Work that every command has something to do with.
    fn work(&self) {
        fs::write(self.tree.join("b"), "changed\r\n").unwrap();
        fs::write(self.tree.join("new.evil"), "new\n").unwrap();
        fs::remove_file(self.tree.join("a")).unwrap();
    }

    /// Every command that Forge runs on a worktree, one after the other; what each came to.
    async fn run_all(&self) -> Vec<(&'static str, Option<GitError>)> {
        let (repo, tree, prefix) = (&self.repo, self.tree.as_path(), "refs/forge/backup/t");
        let mut ends = Vec::new();
        let mut note = |name, end: Result<(), GitError>| ends.push((name, end.err()));
        self.work();
        note("status", repo.worktree_at(tree).status().await.map(drop));
        note("tracked", repo.worktree_at(tree).tracked_changes().await.map(drop));
        match repo.worktree_at(tree).uncommitted().await {
            Ok(seen) => note(
                "embedded",
                repo.worktree_at(tree).embedded_repositories(&seen, &self.base).await.map(drop),
            ),
            Err(error) => note("embedded", Err(error)),
        }
        note("unpushed", repo.worktree_at(tree).unpushed_submodules(&self.base).await.map(drop));
        let scope = DiffScope::Worktree { base: self.base.clone(), worktree: repo.worktree_at(tree) };
        note("diff", repo.diff_files(&scope).await.map(drop));
        let page = DiffPage { start_line: 0, limit: 100, context: 3, force: true };
        note("file diff", repo.diff_file(&scope, "b", page).await.map(drop));
        note("changed", repo.worktree_at(tree).changed_paths(&self.base).await.map(drop));
        note("backup", repo.worktree_at(tree).back_up(prefix, "m").await.map(drop));
        if let Some(backup) = repo.backups(prefix).await.unwrap_or_default().first() {
            note("restore", repo.worktree_at(tree).restore_backup(&backup.commit).await);
        }
        note("snapshot", repo.worktree_at(tree).snapshot("m", None).await.map(drop));
        let standing = repo.worktree_at(tree).finish_operation("work", prefix, None).await;
        let ready = |standing| assert!(self.unfinished || matches!(standing, Standing::Ready { .. }));
        note("settle", standing.map(ready));
        note("commit", repo.worktree_at(tree).commit_all("work", None).await.map(drop));
        self.work_again();
        note("commit again", repo.worktree_at(tree).commit_all("more", None).await.map(drop));
        for strategy in [MergeStrategy::Merge, MergeStrategy::Squash, MergeStrategy::Rebase] {
            let request = MergeRequest {
                target_branch: "main".into(),
                source: "refs/heads/work".into(),
                strategy,
                message: "m".into(),
                author: None,
            };
            note("merge", repo.compute_merge(&request).await.map(drop));
        }
        note("begin merge", repo.worktree_at(tree).begin_merge("main", None).await.map(drop));
        fs::write(tree.join("b"), "to be discarded\n").unwrap();
        note(
            "discard",
            repo.worktree_at(tree).discard_changes("work", "refs/heads/work", &[], prefix).await.map(drop),
        );
        note("patch", repo.patch(&self.base, "refs/heads/work", 1 << 20).await.map(drop));
        if let Ok(head) = repo.worktree_at(tree).head().await {
            note("land", repo.land("main", &head, &self.base, "forge").await.map(drop));
        }
        if let Ok(Some(head)) = repo.resolve("refs/heads/work").await {
            let end =
                repo.move_branch(Some(&repo.worktree_at(tree)), "work", &head, &self.base, prefix).await;
            note("move", end);
            let push = Push { remote: "origin", branch: "work", commit: &head, left_at: &[] };
            note("push", git_error(repo.push(&push).await));
            let work = RemoteWork { remote: "origin", branch: "work", merged: None, head: None };
            let end = repo.is_contained_at(&work, &head).await;
            note("fetch", git_error(end.map(drop)));
        }
        let listed =
            repo.worktree_at(tree).command(Kind::Read).args(["log", "-p", "--max-count=2"]).run().await;
        note("log", listed.map(drop));
        let pool = self.sandbox.dir().join("pool");
        note("pool", pool_away(repo, tree, &pool, 1).await.map(drop));
        let spec = NewWorktree { path: tree.to_owned(), branch: "next".into(), base: "main".into() };
        note("slot", repo.take_slot(&pool, &spec, crate::pool::Keep::WithIgnored).await.map(drop));
        note("remove", remove_away(repo, tree).await.map(drop));
        ends
    }

    fn work_again(&self) {
        fs::write(self.tree.join("b"), "once more\n").unwrap();
    }

    fn ran(&self) -> String {
        fs::read_to_string(self.marker()).unwrap_or_default()
    }
}

/// Only git's own errors count: what a remote says is told otherwise.
fn git_error(end: Result<(), PushError>) -> Result<(), GitError> {
    match end {
        Err(PushError::Git(error)) => Err(error),
        Err(_) | Ok(()) => Ok(()),
    }
}

#[tokio::test]
async fn programs_planted_in_the_repository_stop_git_before_it_starts() {
    let given = Given::new().await;
    given.plant(given.repo.common_dir());
    // What planting itself ran is not meant.
    let _none = fs::remove_file(given.marker());
    let mut stopped = Vec::new();
    for (name, end) in given.run_all().await {
        match end {
            Some(GitError::RepositoryChanged { .. }) => stopped.push(name),
            // What is read without git's help goes on.
            None => {}
            Some(other) => panic!("{name}: {other:?}"),
        }
    }
    for name in ["status", "diff", "backup", "commit", "discard", "log", "pool", "remove"] {
        assert!(stopped.contains(&name), "{name} is not among {stopped:?}");
    }
    assert_eq!(given.ran(), "");
}

#[tokio::test]
async fn programs_of_a_repository_in_place_of_dot_git_do_not_run() {
    let given = Given::new().await;
    fs::remove_file(given.tree.join(".git")).unwrap();
    given.sandbox.git_at(&given.tree, &["init", "-q"]);
    given.plant(&given.tree.join(".git"));
    let _none = fs::remove_file(given.marker());
    let aside = given.sandbox.dir().join("aside");
    for (name, end) in given.run_all().await {
        // Only what renames a worktree wants its `.git` to lead here.
        let renames = ["discard", "move", "pool", "slot", "remove"].contains(&name);
        assert!(renames || end.is_none(), "{name}: {end:?}");
    }
    given.repo.worktree_at(&given.tree).rewrite_dot_git("work", &aside).await.unwrap();
    remove_away(&given.repo, &given.tree).await.unwrap().delete().await.unwrap();
    assert_eq!(given.ran(), "");
}

#[tokio::test]
async fn programs_of_embedded_repositories_do_not_run() {
    let given = Given::new().await;
    for place in ["one", "deep/down/two", "linked"] {
        let folder = given.tree.join(place);
        fs::create_dir_all(&folder).unwrap();
        given.sandbox.git_at(&folder, &["init", "-q"]);
        fs::write(folder.join("file.evil"), "x\n").unwrap();
        given.sandbox.git_at(&folder, &["add", "-A"]);
        given.sandbox.git_at(&folder, &["commit", "-q", "-m", "x"]);
    }
    // As an agent's own `git add -A` leaves it.
    given.sandbox.git_at(&given.tree, &["add", "linked"]);
    given.sandbox.git_at(&given.tree, &["commit", "-q", "-m", "a link"]);
    for place in ["one", "deep/down/two", "linked"] {
        given.plant(&given.tree.join(place).join(".git"));
        // As long as before: git has to read it to see that it changed.
        fs::write(given.tree.join(place).join("file.evil"), "y\n").unwrap();
    }
    let _none = fs::remove_file(given.marker());
    for (name, end) in given.run_all().await {
        assert!(end.is_none(), "{name}: {end:?}");
    }
    assert_eq!(given.ran(), "");
}

#[tokio::test]
async fn programs_of_an_embedded_repository_do_not_run_when_its_files_are_added() {
    let given = Given::new().await;
    let folder = given.tree.join("one");
    fs::create_dir_all(&folder).unwrap();
    given.sandbox.git_at(&folder, &["init", "-q"]);
    fs::write(folder.join("file.evil"), "x\n").unwrap();
    given.sandbox.git_at(&folder, &["add", "-A"]);
    given.sandbox.git_at(&folder, &["commit", "-q", "-m", "x"]);
    given.plant(&folder.join(".git"));
    let _none = fs::remove_file(given.marker());
    let aside = given.sandbox.dir().join("aside");
    given.repo.worktree_at(&given.tree).absorb_embedded("one", "refs/forge/backup/t", &aside).await.unwrap();
    given.repo.worktree_at(&given.tree).commit_all("its files", None).await.unwrap().unwrap();
    assert_eq!(given.ran(), "");
}

#[tokio::test]
async fn programs_in_the_state_of_a_rebase_do_not_run() {
    for (begin, file, planted) in [
        (&["rebase", "-q", "main"][..], "rebase-merge/git-rebase-todo", "exec EVIL\n"),
        (&["rebase", "-q", "-x", "EVIL", "main"], "rebase-merge/quiet", "\n"),
        (&["rebase", "-q", "main"], "rebase-merge/strategy", "EVIL\n"),
        (&["rebase", "-q", "--apply", "main"], "rebase-apply/gpg_sign_opt", "--exec=EVIL\n"),
        (&["cherry-pick", "main"], "sequencer/opts", "[options]\n\tstrategy = EVIL\n"),
    ] {
        let mut given = Given::new().await;
        given.unfinished = true;
        let evil = given.evil();
        fs::write(given.tree.join("b"), "agent\n").unwrap();
        given.sandbox.git_at(&given.tree, &["commit", "-qam", "agent"]);
        given.sandbox.commit("main", &[("b", "main\n")]);
        let begin: Vec<String> = begin.iter().map(|word| word.replace("EVIL", &evil)).collect();
        let begin: Vec<&str> = begin.iter().map(String::as_str).collect();
        assert!(!given.sandbox.try_git_at(&given.tree, &begin).0, "it conflicts");
        let state = given.repo.worktree_at(&given.tree).git_dir().await.unwrap().join(file);
        fs::create_dir_all(state.parent().unwrap()).unwrap();
        fs::write(state, planted.replace("EVIL", &evil)).unwrap();
        let _none = fs::remove_file(given.marker());
        given.run_all().await;
        assert_eq!(given.ran(), "", "{file}");
    }
}

#[tokio::test]
async fn adding_a_repository_with_planted_programs_runs_none() {
    let given = Given::new().await;
    given.plant(given.repo.common_dir());
    let _none = fs::remove_file(given.marker());
    let repo = Repo::open(given.repo.git(), given.repo.root()).await.unwrap();
    repo.default_branch().await.unwrap();
    repo.resolve("refs/heads/main").await.unwrap();
    repo.root_files("refs/heads/main").await.unwrap();
    repo.startup_files_at(&given.base).await.unwrap();
    repo.fingerprint().await.unwrap();
    assert_eq!(given.ran(), "");
}

#[tokio::test]
async fn programs_of_a_submodule_do_not_run() {
    let given = Given::new().await;
    let origin = given.sandbox.dir().join("origin");
    fs::create_dir(&origin).unwrap();
    given.sandbox.git_at(&origin, &["init", "-q"]);
    fs::write(origin.join("file.evil"), "x\n").unwrap();
    given.sandbox.git_at(&origin, &["add", "-A"]);
    given.sandbox.git_at(&origin, &["commit", "-q", "-m", "x"]);
    let add =
        ["-c", "protocol.file.allow=always", "submodule", "--quiet", "add", origin.to_str().unwrap(), "lib"];
    given.sandbox.git_at(&given.tree, &add);
    // `submodule add` writes it into the settings of all worktrees.
    given.repo.accept(given.repo.fingerprint().await.unwrap());
    let lib = given.tree.join("lib");
    let git_dir = PathBuf::from(given.sandbox.git_at(&lib, &["rev-parse", "--absolute-git-dir"]));
    given.plant(&git_dir);
    fs::write(lib.join("file.evil"), "y\n").unwrap();
    let _none = fs::remove_file(given.marker());
    for (name, end) in given.run_all().await {
        assert!(end.is_none(), "{name}: {end:?}");
    }
    assert_eq!(given.ran(), "");
}

#[tokio::test]
async fn hooks_in_the_worktree_are_those_of_the_users_checkout() {
    let sandbox = Sandbox::new().await;
    sandbox.git(&["config", "core.hooksPath", ".husky"]);
    program_at(&sandbox.path(".husky/pre-commit"), &format!("echo mine >> {}/ran", sandbox.dir().display()));
    sandbox.git(&["add", "-A"]);
    sandbox.git(&["commit", "-q", "--no-verify", "-m", "hooks"]);
    let repo = sandbox.repo().await;
    let tree = sandbox.dir().join("tree");
    let spec = NewWorktree { path: tree.clone(), branch: "work".into(), base: "main".into() };
    repo.create_worktree(&spec).await.unwrap();
    program_at(&tree.join(".husky/pre-commit"), &format!("echo planted >> {}/ran", sandbox.dir().display()));
    repo.worktree_at(&tree).commit_all("work", None).await.unwrap().unwrap();
    assert_eq!(fs::read_to_string(sandbox.dir().join("ran")).unwrap(), "mine\n");
}
