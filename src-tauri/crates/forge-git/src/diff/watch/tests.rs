use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};

use forge_model::diff::DiffSummary;
use proptest::prelude::*;

use super::*;
use crate::diff::scope::DiffScope;
use crate::repo::Repo;
use crate::testing::Sandbox;

async fn is_known(repo: &Repo, scope: &DiffScope) -> bool {
    let ends = repo.ends(scope).await.unwrap();
    repo.unchanged(scope, &ends).await.unwrap().is_some()
}

/// Lists until the list would be shown again: what was changed just now must have become old, which the next of
/// git's own lists finds or the one after it. When none ever does, the runner's limit ends the test.
async fn settled(repo: &Repo, scope: &DiffScope) -> DiffSummary {
    loop {
        let listed = repo.diff_files(scope).await.unwrap();
        if is_known(repo, scope).await {
            return listed;
        }
    }
}

/// What somebody lists who remembers nothing.
async fn anew(sandbox: &Sandbox, scope: &DiffScope) -> DiffSummary {
    sandbox.repo().await.diff_files(scope).await.unwrap()
}

async fn sandbox() -> Sandbox {
    let sandbox = Sandbox::new().await;
    sandbox.write("../excludes", "");
    sandbox.write("../attributes", "");
    let home = sandbox.path("../home/more");
    sandbox.git(&["config", "include.path", home.to_str().unwrap()]);
    sandbox.commit(
        "base",
        &[
            (".gitignore", "*.log\nbuilt/\n"),
            ("kept", "0\n"),
            ("dir/a", "1\n"),
            ("dir/deep/b", "1\n"),
            ("run", "r\n"),
            ("own", "o\n"),
        ],
    );
    sandbox.git(&["checkout", "-q", "-b", "other"]);
    sandbox.commit("other", &[("dir/a", "other\n")]);
    sandbox.git(&["checkout", "-q", "main"]);
    symlink("kept", sandbox.path("link")).unwrap();
    sandbox.write("kept", "1\n");
    sandbox.write("new/old", "1\n");
    sandbox.write("new/.gitignore", ".gitignore\n*.tmp\n");
    sandbox.write("new/x.tmp", "x\n");
    sandbox.write("new/x.log", "x\n");
    sandbox.write("built/x", "x\n");
    fs::create_dir_all(sandbox.path("new/empty/below")).unwrap();
    sandbox
}

type Edit = (&'static str, fn(&Sandbox));

const EDITS: [Edit; 28] = [
    ("same size", |s| s.write("kept", "0\n")),
    ("same size, time set back", |s| {
        let file = s.path("kept");
        let time = file.metadata().unwrap().modified().unwrap();
        s.write("kept", "33\n4\n");
        File::options().write(true).open(file).unwrap().set_modified(time).unwrap();
    }),
    ("executable", |s| fs::set_permissions(s.path("run"), PermissionsExt::from_mode(0o755)).unwrap()),
    ("renamed", |s| fs::rename(s.path("own"), s.path("owned")).unwrap()),
    ("deleted", |s| s.remove("dir/a")),
    ("new in an old folder", |s| s.write("dir/deep/c", "x\n")),
    ("new in an empty folder", |s| s.write("new/empty/below/x", "x\n")),
    ("edited in an untracked folder", |s| s.write("new/empty/below/x", "x\ny\n")),
    ("untracked, gone", |s| s.remove("new/empty/below/x")),
    ("other link", |s| {
        s.remove("link");
        symlink("run", s.path("link")).unwrap();
    }),
    ("a file in the place of a link", |s| {
        s.remove("link");
        s.write("link", "1\n2\n");
    }),
    ("added", |s| s.git(&["add", "link"])),
    ("forgotten", |s| s.git(&["rm", "-q", "--cached", "link"])),
    ("no longer looked at", |s| s.git(&["update-index", "--assume-unchanged", "kept"])),
    ("looked at again", |s| s.git(&["update-index", "--no-assume-unchanged", "kept"])),
    ("rules that are ignored themselves", |s| s.write("new/.gitignore", ".gitignore\n")),
    ("tracked rules", |s| s.write(".gitignore", "built/\n")),
    ("rules, and a folder is not ignored", |s| s.write(".gitignore", "\n")),
    ("new where it was ignored", |s| s.write("built/y", "y\n")),
    ("excludes of the repository", |s| s.write(".git/info/exclude", "built\n")),
    ("setting", |s| {
        let file = s.path("../excludes");
        s.git(&["config", "core.excludesFile", file.to_str().unwrap()]);
        s.write("../excludes", "x.tmp\n");
    }),
    ("excludes of the user", |s| s.write("../excludes", "x.log\n")),
    ("new attributes", |s| s.write("new/.gitattributes", "old linguist-generated\n")),
    ("edited attributes", |s| {
        s.write("new/.gitattributes", "old -linguist-generated\nx* linguist-generated\n");
    }),
    ("attributes of the repository", |s| s.write(".git/info/attributes", "kept -diff\n")),
    ("a file of settings that was not there", |s| {
        let file = s.path("../attributes");
        s.write("../attributes", "dir/** -diff linguist-generated\n");
        s.write("../home/more", format!("[core]\n\tattributesFile = {}\n", file.display()));
    }),
    ("committed", |s| {
        s.commit("all", &[]);
    }),
    ("a folder elsewhere", |s| {
        fs::rename(s.path("dir/deep"), s.dir().join("deep")).unwrap();
        symlink(s.dir().join("deep"), s.path("dir/deep")).unwrap();
    }),
];

#[tokio::test]
async fn after_each_edit_the_list_is_new() {
    let sandbox = sandbox().await;
    let repo = sandbox.repo().await;
    let scope = DiffScope::Worktree { worktree: repo.main_worktree(), base: sandbox.head() };
    for (what, edit) in EDITS {
        let before = settled(&repo, &scope).await;
        assert_eq!(before, anew(&sandbox, &scope).await, "before: {what}");
        edit(&sandbox);
        assert!(!is_known(&repo, &scope).await, "{what}: not noticed");
        let after = repo.diff_files(&scope).await.unwrap();
        assert_eq!(after, anew(&sandbox, &scope).await, "{what}");
    }
}

#[tokio::test]
async fn another_branch_is_another_list() {
    let sandbox = sandbox().await;
    let repo = sandbox.repo().await;
    for scope in [
        DiffScope::Uncommitted { worktree: repo.main_worktree() },
        DiffScope::Worktree { worktree: repo.main_worktree(), base: sandbox.head() },
    ] {
        settled(&repo, &scope).await;
        sandbox.git(&["checkout", "-q", "other"]);
        assert_eq!(repo.diff_files(&scope).await.unwrap(), anew(&sandbox, &scope).await);
        sandbox.git(&["checkout", "-q", "main"]);
    }
}

#[tokio::test]
async fn what_is_ignored_and_what_was_shown_do_not_disturb() {
    let sandbox = sandbox().await;
    let repo = sandbox.repo().await;
    let scope = DiffScope::Uncommitted { worktree: repo.main_worktree() };
    let listed = settled(&repo, &scope).await;
    sandbox.write("built/y", "y\n");
    sandbox.write("built/more/z", "z\n");
    sandbox.write("new/x.tmp", "changed\n");
    assert!(is_known(&repo, &scope).await);
    assert_eq!(repo.diff_files(&scope).await.unwrap(), listed);
    repo.diff_file(&scope, "kept", super::super::DiffPage::default()).await.unwrap();
    assert!(is_known(&repo, &scope).await, "opening a file made the list old");
}

#[tokio::test]
async fn a_list_between_commits_holds_while_attributes_do() {
    let sandbox = sandbox().await;
    let repo = sandbox.repo().await;
    let base = sandbox.head();
    let scope = DiffScope::Commits { base, head: "refs/heads/other".to_owned() };
    let edits: [Edit; 4] = [
        ("attributes in the main work tree", |s| s.write("dir/.gitattributes", "a -diff\n")),
        ("other ones", |s| s.write("dir/.gitattributes", "a diff\n")),
        ("of the repository", |s| s.write(".git/info/attributes", "a linguist-generated\n")),
        ("the branch went on", |s| {
            s.git(&["checkout", "-q", "other"]);
            s.commit("more", &[("more", "1\n")]);
        }),
    ];
    for (what, edit) in edits {
        let before = settled(&repo, &scope).await;
        sandbox.write("kept", format!("{what}\n"));
        assert!(is_known(&repo, &scope).await, "what is not committed counts for nothing: {what}");
        edit(&sandbox);
        let after = repo.diff_files(&scope).await.unwrap();
        assert_eq!(after, anew(&sandbox, &scope).await, "{what}");
        assert_ne!(after, before, "{what}: the edit changes nothing");
    }
}

/// Where a submodule or another repository stands cannot be told from outside.
#[tokio::test]
async fn repositories_inside_are_left_to_git() {
    let (with, without) = (sandbox().await, sandbox().await);
    with.git(&["clone", "-q", ".", "inner"]);
    let (repo, other) = (with.repo().await, without.repo().await);
    let scope = DiffScope::Uncommitted { worktree: repo.main_worktree() };
    repo.diff_files(&scope).await.unwrap();
    // What settles later says that this one could have.
    settled(&other, &DiffScope::Uncommitted { worktree: other.main_worktree() }).await;
    assert!(!is_known(&repo, &scope).await);
    with.git(&["add", "inner"]);
    repo.diff_files(&scope).await.unwrap();
    settled(&other, &DiffScope::Uncommitted { worktree: other.main_worktree() }).await;
    assert!(!is_known(&repo, &scope).await);
}

#[tokio::test]
async fn memory_is_bounded() {
    let sandbox = sandbox().await;
    let repo = sandbox.repo().await;
    let scope = |n: u32| DiffScope::Commits { base: format!("{n:040}"), head: sandbox.head() };
    let raw = RawChange::named("x");
    let many: Changes = (0..10_000).map(|n| (n.to_string(), raw.clone())).collect();
    for n in 0..100 {
        let ends = repo.ends(&scope(n)).await.unwrap();
        repo.inner.lists.remember(scope(n).key(), &ends, many.clone(), None);
    }
    let mut kept = 0;
    for n in 0..100 {
        let ends = repo.ends(&scope(n)).await.unwrap();
        kept += usize::from(repo.inner.lists.recall(&scope(n).key(), &ends).is_some());
    }
    assert_eq!(kept, 5);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4, failure_persistence: None, ..ProptestConfig::default() })]
    /// Also right after one another, when the file system takes two changes for one.
    #[test]
    fn no_list_is_ever_old(edits in prop::collection::vec((0..4u8, 0..10u8, any::<bool>()), 8)) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let sandbox = sandbox().await;
            let repo = sandbox.repo().await;
            let scope = DiffScope::Uncommitted { worktree: repo.main_worktree() };
            for (place, content, wait) in edits {
                let path = ["kept", "dir/a", "new/old", "new/empty/x"][usize::from(place)];
                if wait {
                    settled(&repo, &scope).await;
                }
                if content == 0 && sandbox.path(path).exists() {
                    sandbox.remove(path);
                } else {
                    // Lines differ in number, sizes do not.
                    sandbox.write(path, (0..8).map(|n| if n < content { '\n' } else { 'x' }).collect::<String>());
                }
                assert_eq!(repo.diff_files(&scope).await.unwrap(), anew(&sandbox, &scope).await);
            }
        });
    }
}
