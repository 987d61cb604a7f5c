//! What counts as a change of a repository's configuration, and what follows from one.

use super::*;
use crate::repo::Repo;
use crate::testing::Sandbox;

async fn accepted() -> (Sandbox, Repo) {
    let sandbox = Sandbox::new().await;
    let repo = sandbox.repo().await;
    repo.accept(repo.fingerprint().await.unwrap());
    repo.main_worktree().status().await.unwrap();
    (sandbox, repo)
}

async fn changed(repo: &Repo) -> Vec<String> {
    let change = repo.changed_since_accepted().await.unwrap();
    change.map(|change| change.files.into_iter().map(|file| file.path).collect()).unwrap_or_default()
}

#[tokio::test]
async fn each_file_that_names_programs_stops_git_until_it_is_accepted_or_undone() {
    for path in [
        "config",
        "hooks/pre-commit",
        "info/attributes",
        "info/exclude",
        "objects/info/alternates",
        "commondir",
    ] {
        let (sandbox, repo) = accepted().await;
        let at = repo.common_dir().join(path);
        let before = fs::read(&at).ok();
        let line = if path == "config" { "\n[filter \"x\"]\n\tclean = evil\n" } else { "/planted\n" };
        if path.starts_with("hooks/") {
            sandbox.hook("pre-commit", "evil");
        } else {
            fs::write(&at, [before.clone().unwrap_or_default(), line.into()].concat()).unwrap();
        }
        assert_eq!(changed(&repo).await, [path]);
        let stopped = repo.main_worktree().status().await;
        assert!(matches!(&stopped, Err(GitError::RepositoryChanged { .. })), "{path}: {stopped:?}");
        let aside = sandbox.dir().join("aside");
        repo.undo_changes(&aside).await.unwrap();
        assert_eq!(fs::read(&at).ok(), before, "{path}");
        assert!(aside.join(path).is_file(), "{path}");
        repo.main_worktree().status().await.unwrap();
    }
}

#[tokio::test]
async fn accepted_change_is_the_one_that_was_shown() {
    let (sandbox, repo) = accepted().await;
    sandbox.git(&["config", "alias.x", "!evil"]);
    let shown = repo.changed_since_accepted().await.unwrap().unwrap();
    assert!(shown.files[0].diff.ends_with("\n+alias.x=!evil\n"), "{shown:?}");
    let now = repo.fingerprint().await.unwrap();
    assert_eq!(now.digest(), shown.digest);
    repo.accept(now);
    repo.main_worktree().status().await.unwrap();
    sandbox.git(&["config", "alias.x", "!worse"]);
    assert_ne!(repo.changed_since_accepted().await.unwrap().unwrap().digest, shown.digest);
}

#[tokio::test]
async fn what_starts_nothing_is_no_change() {
    let (sandbox, repo) = accepted().await;
    sandbox.git(&["config", "branch.main.remote", "origin"]);
    sandbox.git(&["config", "branch.main.merge", "refs/heads/main"]);
    let config = fs::read_to_string(sandbox.path(".git/config")).unwrap();
    sandbox.write(".git/config", format!("# a remark\n{config}"));
    sandbox.hook("pre-push.sample", "x");
    sandbox.write(".git/info/attributes", "# nothing\n");
    assert_eq!(changed(&repo).await, Vec::<String>::new());
    repo.exclude(&["/mine"]).await.unwrap();
    assert_eq!(changed(&repo).await, Vec::<String>::new(), "Forge wrote it");
}

#[tokio::test]
async fn included_files_and_hooks_elsewhere_count() {
    let (sandbox, repo) = accepted().await;
    let included = sandbox.dir().join("included");
    fs::write(&included, "[core]\n").unwrap();
    sandbox.script("hooks/pre-commit", "exit 0");
    let section = format!("includeIf.gitdir:{}/.path", sandbox.dir().display());
    sandbox.git(&["config", &section, included.to_str().unwrap()]);
    sandbox.git(&["config", "core.hooksPath", sandbox.dir().join("hooks").to_str().unwrap()]);
    repo.accept(repo.fingerprint().await.unwrap());
    assert_eq!(changed(&repo).await, Vec::<String>::new());
    fs::write(&included, "[core]\n\tpager = evil\n").unwrap();
    assert_eq!(changed(&repo).await, [included.to_str().unwrap()]);
    fs::write(&included, "[core]\n").unwrap();
    sandbox.script("hooks/pre-commit", "exit 1");
    assert_eq!(changed(&repo).await, [sandbox.dir().join("hooks/pre-commit").to_str().unwrap()]);
}

#[tokio::test]
async fn settings_of_one_worktree_count_where_git_reads_them() {
    let (sandbox, repo) = accepted().await;
    sandbox.git(&["config", "extensions.worktreeConfig", "true"]);
    let linked = sandbox.dir().join("linked");
    sandbox.git(&["worktree", "add", "-q", linked.to_str().unwrap()]);
    repo.accept(repo.fingerprint().await.unwrap());
    sandbox.git_at(&linked, &["config", "--worktree", "core.sparseCheckout", "true"]);
    assert_eq!(changed(&repo).await, Vec::<String>::new());
    sandbox.git_at(&linked, &["config", "--worktree", "filter.x.clean", "evil"]);
    assert_eq!(changed(&repo).await, ["worktrees/linked/config.worktree"]);
}

#[tokio::test]
async fn a_repository_that_was_moved_away_is_missing_and_not_changed() {
    let (sandbox, repo) = accepted().await;
    let at = sandbox.dir().join("elsewhere");
    fs::rename(repo.root(), &at).unwrap();
    let is_missing =
        |error: GitError| matches!(error, GitError::NotARepository { path } if path == repo.root());
    assert!(is_missing(repo.changed_since_accepted().await.unwrap_err()));
    assert!(is_missing(repo.undo_changes(&sandbox.dir().join("aside")).await.unwrap_err()));
    assert!(is_missing(repo.fingerprint().await.unwrap_err()));
    assert!(!repo.root().exists());
    fs::rename(at, repo.root()).unwrap();
    assert_eq!(changed(&repo).await, Vec::<String>::new());
}

#[tokio::test]
async fn every_file_of_a_folder_of_hooks_counts_executable_or_not_at_any_depth() {
    for path in ["hooks/lib.sh", "hooks/pre-commit.d/10-test", "hooks/deep/down/x"] {
        let (sandbox, repo) = accepted().await;
        sandbox.write(&format!(".git/{path}"), "evil\n");
        assert_eq!(changed(&repo).await, [path]);
        repo.accept(repo.fingerprint().await.unwrap());
        let mode = fs::Permissions::from_mode(0o755);
        fs::set_permissions(repo.common_dir().join(path), mode).unwrap();
        assert_eq!(changed(&repo).await, [path], "it can be executed now");
    }
}

#[tokio::test]
async fn hooks_path_below_the_checkout_counts_but_for_what_head_has() {
    for folder in [".husky", ".git/hooks2"] {
        let sandbox = Sandbox::new().await;
        sandbox.git(&["config", "core.hooksPath", folder]);
        sandbox.script(&format!("repo/{folder}/pre-commit"), "exit 0");
        if folder == ".husky" {
            sandbox.git(&["add", "-A"]);
            sandbox.git(&["commit", "-q", "--no-verify", "-m", "hooks"]);
        }
        let repo = sandbox.repo().await;
        repo.accept(repo.fingerprint().await.unwrap());
        assert_eq!(changed(&repo).await, Vec::<String>::new(), "{folder}");
        let hook = sandbox.path(&format!("{folder}/pre-commit"));
        sandbox.script(&format!("repo/{folder}/pre-commit"), "exit 1");
        sandbox.write(&format!("{folder}/lib/more.sh"), "evil\n");
        let paths =
            [hook.to_str().unwrap().to_owned(), format!("{}/lib/more.sh", hook.parent().unwrap().display())];
        let mut found = changed(&repo).await;
        found.sort_unstable_by_key(String::len);
        assert_eq!(found, paths, "{folder}");
        let stopped = repo.main_worktree().status().await;
        assert!(matches!(&stopped, Err(GitError::RepositoryChanged { .. })), "{folder}: {stopped:?}");
        if folder == ".husky" {
            sandbox.git(&["add", "-A"]);
            sandbox.git(&["commit", "-q", "--no-verify", "-m", "other hooks"]);
            assert_eq!(changed(&repo).await, Vec::<String>::new(), "the user's own branch has them");
            sandbox.script(&format!("repo/{folder}/pre-commit"), "exit 2");
        }
        repo.undo_changes(&sandbox.dir().join("aside")).await.unwrap();
        let left = fs::read_to_string(&hook).unwrap();
        let expected = if folder == ".husky" { "exit 1" } else { "exit 0" };
        assert_eq!(left, format!("#!/bin/sh\n{expected}\n"), "{folder}");
        assert_eq!(changed(&repo).await, Vec::<String>::new(), "{folder}");
    }
}

#[tokio::test]
async fn hooks_beside_huskys_own_folder_count() {
    let sandbox = Sandbox::new().await;
    sandbox.git(&["config", "core.hooksPath", ".husky/_"]);
    sandbox.script("repo/.husky/_/pre-commit", ". \"$(dirname \"$0\")/h\"");
    let repo = sandbox.repo().await;
    repo.accept(repo.fingerprint().await.unwrap());
    sandbox.write(".husky/pre-commit", "npm test\n");
    assert_eq!(changed(&repo).await, [sandbox.path(".husky/pre-commit").to_str().unwrap()]);
}

#[tokio::test]
async fn configuration_that_changes_while_a_command_runs_takes_its_result() {
    let (sandbox, repo) = accepted().await;
    let config = sandbox.path(".git/config");
    // As an agent at work elsewhere, which hits the moment between the look and git's own.
    let writes = format!("!printf '[alias]\\n\\tx = y\\n' >> {}", config.display());
    let command =
        repo.main_worktree().command(crate::command::Kind::Read).config(format!("alias.meanwhile={writes}"));
    let ended = command.arg("meanwhile").run().await;
    assert!(matches!(&ended, Err(GitError::RepositoryChanged { .. })), "{ended:?}");
}
