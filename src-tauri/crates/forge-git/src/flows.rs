//! The way of a worktree, from creation to the next task's slot, in repositories with setups of their own.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use crate::testing::{Sandbox, pool_away, remove_away};
use crate::{DiffScope, GitError, Keep, NewWorktree, Repo, Trash};

const PREFIX: &str = "refs/forge/backup/1";

struct Flow {
    sandbox: Sandbox,
    repo: Repo,
}

impl Flow {
    async fn new(sandbox: Sandbox) -> Flow {
        let repo = sandbox.repo().await;
        Flow { sandbox, repo }
    }

    fn spec(&self, name: &str) -> NewWorktree {
        NewWorktree {
            path: self.sandbox.dir().join("work").join(name).join("tree"),
            branch: format!("forge/{name}"),
            base: "main".to_owned(),
        }
    }

    async fn create(&self, name: &str) -> PathBuf {
        let spec = self.spec(name);
        self.repo.create_worktree(&spec).await.unwrap();
        assert_eq!(self.repo.worktree_at(&spec.path).status().await.unwrap(), [], "a new worktree");
        spec.path
    }

    /// Works in a worktree, commits, changes more, backs that up and looks at both; then the worktree goes into the
    /// pool and comes out for the next task. `file` is tracked; its content is text.
    async fn walk(&self, file: &str) -> PathBuf {
        let Flow { repo, .. } = self;
        let tree = self.create("1").await;
        fs::write(tree.join(file), "changed\n").unwrap();
        fs::write(tree.join("new"), "new\n").unwrap();
        let base = repo.worktree_at(&tree).head().await.unwrap();
        repo.worktree_at(&tree).commit_all("work", None).await.unwrap().unwrap();
        fs::write(tree.join(file), "changed again\n").unwrap();
        let backup = repo.worktree_at(&tree).back_up(PREFIX, "before it goes").await.unwrap().unwrap();
        assert_eq!((backup.files, backup.skipped), (1, vec![]));
        let scope = DiffScope::Worktree { worktree: repo.worktree_at(&tree), base };
        let diff = repo.diff_files(&scope).await.unwrap();
        let mut paths: Vec<&str> = diff.files.iter().map(|f| f.path.as_str()).collect();
        paths.sort_unstable();
        let mut expected = [file, "new"];
        expected.sort_unstable();
        assert_eq!(paths, expected);
        let pool = self.sandbox.dir().join("work/.pool");
        assert!(pool_away(repo, &tree, &pool, 1).await.unwrap());
        let next = self.spec("2");
        assert!(repo.take_slot(&pool, &next, Keep::Tracked).await.unwrap());
        assert_eq!(self.sandbox.git_at(&next.path, &["status", "--porcelain", "--ignored"]), "", "a slot");
        assert!(!next.path.join("new").exists());
        assert_eq!(repo.worktrees().await.unwrap().len(), 2);
        next.path
    }

    async fn remove(&self, tree: &Path) {
        remove_away(&self.repo, tree).await.unwrap().delete().await.unwrap();
        assert!(!tree.exists());
        assert_eq!(Trash::left_in(tree.parent().unwrap()).unwrap(), []);
        assert_eq!(self.repo.worktrees().await.unwrap().len(), 1);
    }
}

fn script(path: &Path, body: &str) {
    fs::write(path, format!("#!/bin/sh\n{body}\n")).unwrap();
    fs::set_permissions(path, PermissionsExt::from_mode(0o755)).unwrap();
}

/// Keeps contents outside of git and pointers in it, as LFS does.
async fn with_large_files() -> Flow {
    let sandbox = Sandbox::new().await;
    let store = sandbox.dir().join("store");
    fs::create_dir(&store).unwrap();
    let at = store.display();
    script(
        &store.join("clean"),
        &format!(
            "cat >{at}/$$; n=$(git hash-object --no-filters {at}/$$); mv {at}/$$ {at}/$n; echo pointer $n"
        ),
    );
    script(&store.join("smudge"), &format!("read -r _ n && cat {at}/$n"));
    sandbox.git(&["config", "filter.big.clean", store.join("clean").to_str().unwrap()]);
    sandbox.git(&["config", "filter.big.smudge", store.join("smudge").to_str().unwrap()]);
    sandbox.git(&["config", "filter.big.required", "true"]);
    sandbox.commit("large", &[(".gitattributes", "*.big filter=big -text\n"), ("asset.big", "heavy\n")]);
    Flow::new(sandbox).await
}

#[tokio::test]
async fn large_files_are_smudged_and_cleaned() {
    let flow = with_large_files().await;
    let kept = flow.sandbox.git_out(&["show", "main:asset.big"]);
    assert!(kept.starts_with("pointer "), "the test's own filter is not used: {kept}");
    let tree = flow.walk("asset.big").await;
    assert_eq!(fs::read_to_string(tree.join("asset.big")).unwrap(), "heavy\n");
    let committed = flow.sandbox.git_out(&["show", "forge/1:asset.big"]);
    assert!(committed.starts_with("pointer ") && committed != kept, "{committed}");
    // Byte for byte, past the filter.
    assert_eq!(flow.sandbox.git_out(&["show", &format!("{PREFIX}/1:asset.big")]), "changed again");
    flow.remove(&tree).await;
}

#[tokio::test]
async fn a_filter_that_fails_leaves_no_half_made_worktree() {
    let flow = with_large_files().await;
    let pool = flow.sandbox.dir().join("work/.pool");
    let first = flow.create("1").await;
    fs::remove_file(first.join("asset.big")).unwrap();
    assert!(pool_away(&flow.repo, &first, &pool, 1).await.unwrap());
    let smudge = flow.sandbox.dir().join("store/smudge");
    let works = fs::read(&smudge).unwrap();
    script(&smudge, "echo 'no network' >&2; exit 1");
    let spec = flow.spec("2");
    assert!(!flow.repo.take_slot(&pool, &spec, Keep::Tracked).await.unwrap());
    match flow.repo.create_worktree(&spec).await {
        Err(GitError::Failed { stderr, .. }) => assert!(stderr.contains("no network"), "{stderr}"),
        other => panic!("{other:?}"),
    }
    assert!(!spec.path.exists());
    assert_eq!(flow.repo.worktrees().await.unwrap().len(), 1);
    fs::write(&smudge, works).unwrap();
    assert_eq!(fs::read_to_string(flow.create("2").await.join("asset.big")).unwrap(), "heavy\n");
}

#[tokio::test]
async fn submodules_are_as_in_any_worktree() {
    let (library, sandbox) = (Sandbox::new().await, Sandbox::new().await);
    let url = library.path("");
    let url = url.to_str().unwrap().trim_end_matches('/');
    sandbox.git(&["-c", "protocol.file.allow=always", "submodule", "--quiet", "add", url, "lib"]);
    sandbox.commit("submodule", &[]);
    let flow = Flow::new(sandbox).await;
    // Fill it in the worktree that will be a slot: its part of the repository goes with the old task.
    let tree = flow.create("0").await;
    let update = ["-c", "protocol.file.allow=always", "submodule", "--quiet", "update", "--init"];
    flow.sandbox.git_at(&tree, &update);
    assert!(tree.join("lib/a").exists());
    fs::write(tree.join("lib/left"), "secret").unwrap();
    let pool = flow.sandbox.dir().join("work/.pool");
    for keep in [Keep::Tracked, Keep::WithIgnored] {
        let from = if keep == Keep::Tracked { tree.clone() } else { flow.spec("next").path };
        if keep == Keep::WithIgnored {
            flow.sandbox.git_at(&from, &update);
        }
        assert!(pool_away(&flow.repo, &from, &pool, 1).await.unwrap());
        let next = NewWorktree { branch: format!("forge/{keep:?}"), ..flow.spec("next") };
        assert!(flow.repo.take_slot(&pool, &next, keep).await.unwrap());
        assert_eq!(flow.repo.worktree_at(&next.path).status().await.unwrap(), []);
        assert_eq!(fs::read_dir(next.path.join("lib")).unwrap().count(), 0, "{keep:?}");
        // And it can be filled anew.
        flow.sandbox.git_at(&next.path, &update);
        assert_eq!(fs::read_to_string(next.path.join("lib/a")).unwrap(), "a\n");
        flow.sandbox.git_at(&next.path, &["submodule", "--quiet", "deinit", "--force", "--all"]);
    }
    flow.remove(&flow.spec("next").path).await;
    let tree = flow.walk("a").await;
    assert_eq!(fs::read_dir(tree.join("lib")).unwrap().count(), 0);
    flow.remove(&tree).await;
}

#[tokio::test]
async fn a_sparse_checkout_is_sparse_everywhere() {
    let sandbox = Sandbox::new().await;
    sandbox.commit("base", &[("in/file", "i"), ("out/file", "o"), ("out/deep/file", "o")]);
    sandbox.git(&["sparse-checkout", "set", "--cone", "in"]);
    let flow = Flow::new(sandbox).await;
    let sparse = |tree: &Path| {
        assert!(tree.join("in/file").exists() && !tree.join("out").exists(), "{}", tree.display());
        assert_eq!(flow.sandbox.git_at(tree, &["sparse-checkout", "list"]), "in");
    };
    sparse(&flow.create("0").await);
    flow.remove(&flow.spec("0").path).await;
    let tree = flow.walk("in/file").await;
    sparse(&tree);
    // An agent that looked elsewhere, and left something where nothing is to be.
    let pool = flow.sandbox.dir().join("work/.pool");
    flow.sandbox.git_at(&tree, &["sparse-checkout", "set", "--cone", "out"]);
    fs::write(tree.join("out/file"), "changed").unwrap();
    fs::create_dir_all(tree.join("in")).unwrap();
    fs::write(tree.join("in/file"), "other").unwrap();
    assert!(pool_away(&flow.repo, &tree, &pool, 1).await.unwrap());
    let next = flow.spec("3");
    assert!(flow.repo.take_slot(&pool, &next, Keep::Tracked).await.unwrap());
    sparse(&next.path);
    assert_eq!(fs::read_to_string(next.path.join("in/file")).unwrap(), "i");
    assert_eq!(flow.sandbox.git_at(&next.path, &["status", "--porcelain", "--ignored"]), "");
    flow.remove(&next.path).await;
    sparse(&flow.sandbox.path(""));
}

#[tokio::test]
async fn hooks_that_fail_are_heard_and_stop_only_what_they_may() {
    let sandbox = Sandbox::new().await;
    let flow = Flow::new(sandbox).await;
    let seen = flow.sandbox.dir().join("seen");
    let note = format!("pwd -P >>{0}; echo \"$@\" >>{0}; exit 1", seen.display());
    flow.sandbox.hook("post-checkout", &note);
    flow.sandbox.hook("post-commit", "exit 1");
    let tree = flow.create("0").await;
    let zero = "0".repeat(40);
    let called = |tree: &Path| format!("{}\n{zero} {} 1\n", tree.display(), flow.sandbox.head());
    assert_eq!(fs::read_to_string(&seen).unwrap(), called(&tree), "as `git worktree add` calls it");
    flow.repo.create_worktree(&flow.spec("0")).await.unwrap();
    flow.remove(&tree).await;
    fs::remove_file(&seen).unwrap();
    let next = flow.walk("a").await;
    assert_eq!(fs::read_to_string(&seen).unwrap(), called(&flow.spec("1").path) + &called(&next));
    flow.sandbox.hook("pre-commit", "echo 'lint failed' >&2; exit 1");
    fs::write(next.join("a"), "bad\n").unwrap();
    let refused = flow.repo.worktree_at(&next).commit_all("work", None).await;
    assert!(matches!(refused, Err(GitError::CommitRefused { output }) if output == "lint failed"));
    // What was refused is not lost.
    let backup = flow.repo.worktree_at(&next).back_up(PREFIX, "refused").await.unwrap().unwrap();
    assert_eq!(flow.sandbox.git_out(&["show", &format!("{}:a", backup.ref_name)]), "bad");
    flow.remove(&next).await;
}

#[tokio::test]
async fn a_lock_that_was_left_is_named_whichever_it_is() {
    let flow = Flow::new(Sandbox::new().await).await;
    let tree = flow.create("0").await;
    let admin = flow.repo.worktree_at(&tree).git_dir().await.unwrap();
    let common = flow.repo.common_dir();
    let discard = async || {
        let head = flow.sandbox.head();
        fs::write(tree.join("a"), "to be discarded\n").unwrap();
        flow.repo.worktree_at(&tree).discard_changes("forge/0", &head, &[], PREFIX).await.map(drop)
    };
    // git itself waits a while for refs: each of those is tried once.
    let us = Some(std::process::id());
    let cases: [(PathBuf, &str, &[Option<u32>]); 3] = [
        (admin.join("index.lock"), "discard", &[us, None]),
        (admin.join("HEAD.lock"), "discard", &[us]),
        (common.join("refs/heads/topic.lock"), "ref", &[None]),
    ];
    for (lock, operation, holders) in cases {
        let mut held = Some(fs::File::create(&lock).unwrap());
        for holder in holders {
            if holder.is_none() {
                // Closed but not removed: its program is gone.
                held = None;
            }
            let failed = if operation == "ref" {
                flow.repo.update_ref("refs/heads/topic", &flow.sandbox.head(), "", "test").await
            } else {
                discard().await
            };
            let Err(GitError::IndexLocked { path, holder: found }) = &failed else {
                panic!("{}: {failed:?}", lock.display())
            };
            assert_eq!((path, found.as_ref().map(|h| h.pid)), (&lock, *holder));
            let said = failed.unwrap_err().to_string();
            let expected = if holder.is_some() { "held by" } else { "no running process holds it open" };
            assert!(said.contains(expected) && said.contains(lock.to_str().unwrap()), "{said}");
        }
        drop(held);
        fs::remove_file(&lock).unwrap();
    }
}
