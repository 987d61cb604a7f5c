//! Submodules and embedded repositories: what is staged, what is told, what is kept.

use super::*;
use crate::testing::Sandbox;

/// Makes a repository with one commit in a folder.
fn make_repository(sandbox: &Sandbox, folder: &Path) -> String {
    fs::create_dir_all(folder).unwrap();
    let git = |args: &[&str]| sandbox.git_at(folder, args);
    git(&["init", "-q", "-b", "main"]);
    fs::write(folder.join("inner"), "inner\n").unwrap();
    git(&["add", "-A"]);
    git(&["commit", "-q", "-m", "inner history"]);
    git(&["rev-parse", "HEAD"])
}

async fn embedded_since(repo: &Repo, base: &str) -> Vec<NestedRepository> {
    let seen = repo.main_worktree().uncommitted().await.unwrap();
    repo.main_worktree().embedded_repositories(&seen, base).await.unwrap()
}

async fn embedded_in(repo: &Repo) -> Vec<String> {
    let found = embedded_since(repo, "HEAD~0").await;
    found.into_iter().map(|nested| nested.path).collect()
}

#[tokio::test]
async fn embedded_repositories_are_found_at_any_depth_and_never_staged() {
    let sandbox = Sandbox::new().await;
    let repo = sandbox.repo().await;
    make_repository(&sandbox, &sandbox.path("one"));
    make_repository(&sandbox, &sandbox.path("deep/down/two"));
    make_repository(&sandbox, &sandbox.path("ignored/three"));
    sandbox.git_at(sandbox.dir(), &["init", "-q", sandbox.path("without-commit").to_str().unwrap()]);
    sandbox.write(".gitignore", "ignored\n");
    sandbox.write("deep/file", "x");
    assert_eq!(embedded_in(&repo).await, ["deep/down/two", "one", "without-commit"]);
    repo.main_worktree().commit_all("work", None).await.unwrap().unwrap();
    assert_eq!(sandbox.git_out(&["ls-files"]), ".gitignore\na\ndeep/file");
    assert_eq!(repo.main_worktree().commit_all("again", None).await.unwrap(), None);
    let snapshot = repo.main_worktree().snapshot("now", None).await.unwrap();
    assert_eq!(snapshot, None);
}

#[tokio::test]
async fn link_that_an_agent_committed_is_an_embedded_repository() {
    let sandbox = Sandbox::new().await;
    let repo = sandbox.repo().await;
    let commit = make_repository(&sandbox, &sandbox.path("one"));
    sandbox.git(&["add", "-A"]);
    sandbox.git(&["commit", "-q", "-m", "a link"]);
    let found = embedded_since(&repo, "HEAD~1").await;
    assert_eq!(
        found,
        [NestedRepository { path: "one".into(), kind: NestedKind::Embedded, commit: Some(commit) }]
    );
    assert_eq!(embedded_in(&repo).await, Vec::<String>::new(), "a link that the base has is nobody's doing");
    sandbox.write("one/inner", "changed\n");
    assert_eq!(repo.main_worktree().tracked_changes().await.unwrap(), ["one"]);
}

#[tokio::test]
async fn absorbed_repository_leaves_its_files_and_a_bundle_of_its_history() {
    let sandbox = Sandbox::new().await;
    let repo = sandbox.repo().await;
    let commit = make_repository(&sandbox, &sandbox.path("sub/one"));
    make_repository(&sandbox, &sandbox.path("sub/one/two"));
    sandbox.git(&["add", "-A"]);
    let aside = sandbox.dir().join("aside");
    repo.main_worktree().absorb_embedded("sub/one", "refs/forge/backup/t", &aside).await.unwrap();
    assert_eq!(embedded_in(&repo).await, Vec::<String>::new());
    repo.main_worktree().commit_all("work", None).await.unwrap().unwrap();
    assert_eq!(sandbox.git_out(&["ls-files"]), "a\nsub/one/inner\nsub/one/two/inner");
    let bundle = sandbox.path("../history.bundle");
    let shown = ["cat-file", "blob", "refs/forge/backup/t/1:.forge/kept/sub/one.bundle"];
    let content =
        std::process::Command::new("git").args(shown).current_dir(sandbox.path("")).output().unwrap();
    fs::write(&bundle, content.stdout).unwrap();
    let heads = sandbox.git_at(sandbox.dir(), &["bundle", "list-heads", bundle.to_str().unwrap()]);
    assert!(heads.contains(&commit), "{heads}");
    assert_eq!(fs::read_dir(aside).unwrap().count(), 2);
}

#[tokio::test]
async fn ignored_repository_is_not_found_again() {
    let sandbox = Sandbox::new().await;
    let repo = sandbox.repo().await;
    make_repository(&sandbox, &sandbox.path("a [b] *c"));
    sandbox.git(&["add", "-A"]);
    repo.main_worktree().ignore_embedded("a [b] *c").await.unwrap();
    assert_eq!(embedded_in(&repo).await, Vec::<String>::new());
    assert_eq!(repo.main_worktree().commit_all("nothing", None).await.unwrap(), None);
    let made = repo.main_worktree().back_up("refs/forge/backup/t", "x").await.unwrap().unwrap();
    let files =
        sandbox.git_out(&["-c", "core.quotePath=false", "ls-tree", "-r", "--name-only", &made.commit]);
    assert_eq!(
        files.lines().collect::<Vec<_>>(),
        [".forge/kept/a [b] *c.bundle", "a", "a [b] *c/inner"],
        "what git overlooks is kept when the worktree goes"
    );
}

#[tokio::test]
async fn backup_has_the_content_of_embedded_repositories() {
    let sandbox = Sandbox::new().await;
    let repo = sandbox.repo().await;
    make_repository(&sandbox, &sandbox.path("deep/one"));
    sandbox.write("deep/one/new", "uncommitted");
    make_repository(&sandbox, &sandbox.path("deep/one/two"));
    let made = repo.main_worktree().back_up("refs/forge/backup/t", "x").await.unwrap().unwrap();
    assert_eq!(made.skipped, Vec::<String>::new());
    let files = sandbox.git_out(&["ls-tree", "-r", "--name-only", &made.commit]);
    assert_eq!(
        files.lines().collect::<Vec<_>>(),
        [
            ".forge/kept/deep/one.bundle",
            ".forge/kept/deep/one/two.bundle",
            "a",
            "deep/one/inner",
            "deep/one/new",
            "deep/one/two/inner"
        ]
    );
    fs::remove_dir_all(sandbox.path("deep")).unwrap();
    repo.main_worktree().restore_backup(&made.commit).await.unwrap();
    assert_eq!(sandbox.read("deep/one/new"), "uncommitted");
    let from = sandbox.path(".forge/kept/deep/one.bundle");
    let clone = sandbox.dir().join("clone");
    sandbox.git_at(sandbox.dir(), &["clone", "-q", from.to_str().unwrap(), clone.to_str().unwrap()]);
    assert_eq!(sandbox.git_at(&clone, &["log", "--format=%s"]), "inner history");
    let left: Vec<String> =
        repo.main_worktree().status().await.unwrap().into_iter().map(|it| it.path).collect();
    assert_eq!(left, ["deep/one/inner", "deep/one/new", "deep/one/two/inner"]);
}

/// A repository with a submodule `lib` of a repository beside it.
async fn with_submodule() -> (Sandbox, Repo) {
    let sandbox = Sandbox::new().await;
    make_repository(&sandbox, &sandbox.dir().join("origin"));
    let origin = sandbox.dir().join("origin");
    sandbox.git(&[
        "-c",
        "protocol.file.allow=always",
        "submodule",
        "--quiet",
        "add",
        origin.to_str().unwrap(),
        "lib",
    ]);
    sandbox.git(&["commit", "-q", "-m", "a submodule"]);
    let repo = sandbox.repo().await;
    (sandbox, repo)
}

#[tokio::test]
async fn submodule_is_staged_at_its_commit_and_told_while_no_remote_has_it() {
    let (sandbox, repo) = with_submodule().await;
    let base = sandbox.head();
    assert_eq!(embedded_since(&repo, &base).await, []);
    assert_eq!(repo.main_worktree().status().await.unwrap(), []);
    sandbox.write("lib/inner", "changed\n");
    let told = repo.main_worktree().status().await.unwrap();
    assert!(told.len() == 1 && told[0].submodule && told[0].path == "lib", "{told:?}");
    let lib = sandbox.path("lib");
    sandbox.git_at(&lib, &["commit", "-q", "-a", "-m", "of my own"]);
    let commit = sandbox.git_at(&lib, &["rev-parse", "HEAD"]);
    repo.main_worktree().commit_all("work", None).await.unwrap().unwrap();
    assert_eq!(sandbox.git_out(&["rev-parse", "HEAD:lib"]), commit);
    let unpushed = repo.main_worktree().unpushed_submodules(&base).await.unwrap();
    assert_eq!(unpushed.len(), 1);
    assert_eq!(unpushed[0].commit.as_deref(), Some(commit.as_str()));
    sandbox.git_at(&lib, &["push", "-q", "origin", "HEAD:refs/heads/side"]);
    assert_eq!(repo.main_worktree().unpushed_submodules(&base).await.unwrap(), []);
}

#[tokio::test]
async fn backup_has_what_only_a_submodule_holds() {
    let (sandbox, repo) = with_submodule().await;
    assert_eq!(repo.main_worktree().back_up("refs/forge/backup/t", "x").await.unwrap(), None);
    let lib = sandbox.path("lib");
    sandbox.write("lib/inner", "committed\n");
    sandbox.git_at(&lib, &["commit", "-q", "-a", "-m", "of my own"]);
    let commit = sandbox.git_at(&lib, &["rev-parse", "HEAD"]);
    sandbox.write("lib/inner", "uncommitted\n");
    sandbox.write("lib/new", "new\n");
    repo.main_worktree().commit_all("work", None).await.unwrap().unwrap();
    let made = repo.main_worktree().back_up("refs/forge/backup/t", "x").await.unwrap().unwrap();
    assert_eq!(made.skipped, Vec::<String>::new());
    repo.main_worktree().restore_backup(&made.commit).await.unwrap();
    assert_eq!(sandbox.read(".forge/kept/lib/inner"), "uncommitted\n");
    assert_eq!(sandbox.read(".forge/kept/lib/new"), "new\n");
    let heads = sandbox.git_out(&["bundle", "list-heads", ".forge/kept/lib.bundle"]);
    assert!(heads.contains(&commit), "{heads}");
}

#[tokio::test]
async fn repository_inside_a_worktree_reaches_no_remote_whatever_its_settings_allow() {
    let sandbox = Sandbox::new().await;
    let repo = sandbox.repo().await;
    let folder = sandbox.path("inner");
    fs::create_dir(&folder).unwrap();
    sandbox.git_at(&folder, &["init", "-q"]);
    let ran = sandbox.dir().join("ran");
    let evil = sandbox.script("evil", &format!("echo ran >> {}", ran.display()));
    for (name, value) in [
        ("protocol.allow", "always"),
        ("protocol.file.allow", "always"),
        ("protocol.ext.allow", "always"),
        ("remote.origin.url", sandbox.dir().to_str().unwrap()),
        ("remote.origin.promisor", "true"),
        ("remote.origin.uploadpack", &evil),
        ("remote.other.url", &format!("ext::{evil}")),
    ] {
        sandbox.git_at(&folder, &["config", name, value]);
    }
    let git_dir = git_dir_of(&folder).unwrap();
    for remote in ["origin", "other"] {
        let reached = repo.inside(&folder, &git_dir).args(["ls-remote", remote]).run().await.unwrap();
        assert_ne!(reached.exit, Some(0), "{remote}");
    }
    // What an older git would fetch although it was told not to.
    let missing = "0123456789012345678901234567890123456789";
    let asked = repo.inside(&folder, &git_dir).env("GIT_NO_LAZY_FETCH", "0");
    asked.args(["cat-file", "-e", missing]).run().await.unwrap();
    assert!(!ran.exists());
}

/// A blob of a backup, written to a file beside the repository.
fn kept_file(sandbox: &Sandbox, commit: &str, path: &str) -> PathBuf {
    let shown = format!("{commit}:{path}");
    let output = std::process::Command::new("git")
        .args(["cat-file", "blob", &shown])
        .current_dir(sandbox.path(""))
        .output()
        .unwrap();
    assert!(output.status.success(), "{shown}");
    let place = sandbox.dir().join(path.replace('/', "-"));
    fs::write(&place, output.stdout).unwrap();
    place
}

/// The subjects of all commits that a bundle brings to a clone of `origin`.
fn subjects(sandbox: &Sandbox, origin: &Path, bundle: &Path) -> Vec<String> {
    let clone = tempfile::tempdir().unwrap();
    let git = |args: &[&str]| sandbox.git_at(clone.path(), args);
    git(&["clone", "-q", "--bare", origin.to_str().unwrap(), "."]);
    git(&["bundle", "unbundle", bundle.to_str().unwrap()]);
    let found = git(&["cat-file", "--batch-all-objects", "--batch-check=%(objecttype) %(objectname)"]);
    let commits = found.lines().filter_map(|line| line.strip_prefix("commit "));
    commits.map(|commit| git(&["show", "-s", "--format=%s", commit])).collect()
}

#[tokio::test]
async fn repository_beside_tracked_files_is_found_and_kept() {
    let sandbox = Sandbox::new().await;
    let repo = sandbox.repo().await;
    sandbox.commit("files", &[("src/deep/f", "f\n")]);
    make_repository(&sandbox, &sandbox.path("src"));
    assert_eq!(embedded_in(&repo).await, ["src"]);
    repo.main_worktree().commit_all("work", None).await.unwrap().unwrap();
    make_repository(&sandbox, &sandbox.path("src/deep"));
    repo.main_worktree().commit_all("more work", None).await.unwrap().unwrap();
    assert_eq!(repo.main_worktree().status().await.unwrap(), [], "git does not tell of it");
    assert_eq!(embedded_in(&repo).await, ["src", "src/deep"]);
    let made = repo.main_worktree().back_up("refs/forge/backup/t", "x").await.unwrap().unwrap();
    for path in ["src", "src/deep"] {
        let bundle = kept_file(&sandbox, &made.commit, &format!(".forge/kept/{path}.bundle"));
        let heads = sandbox.git_out(&["bundle", "list-heads", bundle.to_str().unwrap()]);
        assert!(heads.contains("HEAD"), "{heads}");
    }
    repo.main_worktree().ignore_embedded("src").await.unwrap();
    assert_eq!(embedded_in(&repo).await, ["src/deep"]);
    sandbox.write("src/new", "comes to the task\n");
    let status = repo.main_worktree().status().await.unwrap();
    assert_eq!(status.iter().map(|it| it.path.as_str()).collect::<Vec<_>>(), ["src/new"]);
    let aside = sandbox.dir().join("aside");
    repo.main_worktree().absorb_embedded("src/deep", "refs/forge/backup/t", &aside).await.unwrap();
    assert_eq!(embedded_in(&repo).await, Vec::<String>::new());
    assert!(!sandbox.path("src/deep/.git").exists() && sandbox.path("src/deep/f").exists());
}

#[tokio::test]
async fn git_folder_that_is_no_repository_is_kept_as_it_is() {
    let sandbox = Sandbox::new().await;
    let repo = sandbox.repo().await;
    sandbox.write("broken/.git/objects/12/34", "object\n");
    sandbox.write("linked/.git", "gitdir: nowhere\n");
    assert_eq!(embedded_in(&repo).await, Vec::<String>::new());
    let made = repo.main_worktree().back_up("refs/forge/backup/t", "x").await.unwrap().unwrap();
    let files = sandbox.git_out(&["diff-tree", "-r", "--name-only", "--no-commit-id", &made.commit]);
    assert_eq!(
        files.lines().collect::<Vec<_>>(),
        [".forge/kept/broken.dot-git/objects/12/34", ".forge/kept/linked.dot-git"]
    );
}

#[tokio::test]
async fn backup_has_what_is_put_away_staged_or_left_in_a_submodule() {
    let (sandbox, repo) = with_submodule().await;
    let lib = sandbox.path("lib");
    let git = |args: &[&str]| sandbox.git_at(&lib, args);
    for text in ["first", "second"] {
        sandbox.write("lib/inner", format!("{text} stash\n"));
        git(&["stash", "push", "-q", "-m", text]);
    }
    git(&["checkout", "-q", "--detach"]);
    sandbox.write("lib/inner", "left\n");
    git(&["commit", "-q", "-a", "-m", "left"]);
    git(&["checkout", "-q", "main"]);
    sandbox.write("lib/inner", "staged\n");
    git(&["add", "inner"]);
    sandbox.write("lib/inner", "changed\n");
    sandbox.write("lib/hidden", "x\n");
    git(&["add", "hidden"]);
    git(&["commit", "-q", "-m", "hidden", "hidden"]);
    git(&["update-index", "--assume-unchanged", "hidden"]);
    sandbox.write("lib/hidden", "hidden\n");
    let made = repo.main_worktree().back_up("refs/forge/backup/t", "x").await.unwrap().unwrap();
    let shown = |path: &str| sandbox.git_out(&["show", &format!("{}:.forge/kept/{path}", made.commit)]);
    assert_eq!((shown("lib.staged/inner"), shown("lib/inner")), ("staged".into(), "changed".into()));
    assert_eq!(shown("lib/hidden"), "hidden");
    let bundle = kept_file(&sandbox, &made.commit, ".forge/kept/lib.bundle");
    let found = subjects(&sandbox, &sandbox.dir().join("origin"), &bundle);
    for subject in ["On main: first", "On main: second", "left", "hidden"] {
        assert!(found.iter().any(|it| it == subject), "{subject}: {found:?}");
    }
}

#[tokio::test]
async fn commit_that_only_the_log_of_a_submodule_names_is_kept() {
    let (sandbox, repo) = with_submodule().await;
    let lib = sandbox.path("lib");
    sandbox.git_at(&lib, &["checkout", "-q", "--detach"]);
    sandbox.write("lib/inner", "left\n");
    sandbox.git_at(&lib, &["commit", "-q", "-a", "-m", "left"]);
    sandbox.git_at(&lib, &["checkout", "-q", "main"]);
    let made = repo.main_worktree().back_up("refs/forge/backup/t", "x").await.unwrap().unwrap();
    let bundle = kept_file(&sandbox, &made.commit, ".forge/kept/lib.bundle");
    let found = subjects(&sandbox, &sandbox.dir().join("origin"), &bundle);
    assert!(found.contains(&"left".to_owned()), "{found:?}");
}

#[tokio::test]
async fn repositories_in_a_submodule_keep_their_own_commits() {
    let (sandbox, repo) = with_submodule().await;
    let origin = sandbox.dir().join("origin");
    let lib = sandbox.path("lib");
    let add =
        ["-c", "protocol.file.allow=always", "submodule", "--quiet", "add", origin.to_str().unwrap(), "sub"];
    sandbox.git_at(&lib, &add);
    sandbox.git_at(&lib, &["commit", "-q", "-m", "a submodule in a submodule"]);
    sandbox.write("lib/sub/inner", "of the inner one\n");
    sandbox.git_at(&lib.join("sub"), &["commit", "-q", "-a", "-m", "of the inner one"]);
    sandbox.write("lib/sub/new", "new\n");
    make_repository(&sandbox, &lib.join("made"));
    make_repository(&sandbox, &lib.join("made/again"));
    let made = repo.main_worktree().back_up("refs/forge/backup/t", "x").await.unwrap().unwrap();
    let shown = |path: &str| sandbox.git_out(&["show", &format!("{}:.forge/kept/{path}", made.commit)]);
    assert_eq!(shown("lib/sub/new"), "new");
    assert_eq!(shown("lib/made/again/inner"), "inner");
    for (path, subject) in [
        ("lib", "a submodule in a submodule"),
        ("lib/sub", "of the inner one"),
        ("lib/made", "inner history"),
        ("lib/made/again", "inner history"),
    ] {
        let bundle = kept_file(&sandbox, &made.commit, &format!(".forge/kept/{path}.bundle"));
        let found = subjects(&sandbox, &origin, &bundle);
        assert!(found.iter().any(|it| it == subject), "{path}: {found:?}");
    }
}

#[tokio::test]
async fn submodule_whose_git_is_broken_keeps_its_files_and_what_is_left_of_it() {
    let (sandbox, repo) = with_submodule().await;
    sandbox.write("lib/inner", "changed\n");
    sandbox.write("lib/.git", "gitdir: nowhere\n");
    let made = repo.main_worktree().back_up("refs/forge/backup/t", "x").await.unwrap().unwrap();
    let shown = |path: &str| sandbox.git_out(&["show", &format!("{}:.forge/kept/{path}", made.commit)]);
    assert_eq!((shown("lib/inner"), shown("lib.dot-git")), ("changed".into(), "gitdir: nowhere".into()));
}

#[tokio::test]
async fn submodule_that_lost_its_git_file_keeps_its_files() {
    let (sandbox, repo) = with_submodule().await;
    sandbox.remove("lib/.git");
    sandbox.write("lib/new", "new\n");
    let made = repo.main_worktree().back_up("refs/forge/backup/t", "x").await.unwrap().unwrap();
    let shown = |path: &str| sandbox.git_out(&["show", &format!("{}:.forge/kept/{path}", made.commit)]);
    assert_eq!((shown("lib/new"), shown("lib/inner")), ("new".into(), "inner".into()));
}
