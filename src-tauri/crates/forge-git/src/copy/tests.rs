use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt, symlink};
use std::path::Path;
use std::sync::Mutex;

use super::*;
use crate::guard::GuardError;
use crate::repo::Repo;
use crate::testing::Sandbox;
use crate::worktrees::NewWorktree;

struct Place {
    sandbox: Sandbox,
    repo: Repo,
    tree: PathBuf,
}

impl Place {
    async fn new(ignored: &str, files: &[(&str, &str)]) -> Place {
        let sandbox = Sandbox::new().await;
        sandbox.commit("base", &[(".gitignore", ignored)]);
        let repo = sandbox.repo().await;
        let tree = sandbox.dir().join("tree");
        let spec = NewWorktree { path: tree.clone(), branch: "task".to_owned(), base: "main".to_owned() };
        repo.create_worktree(&spec).await.unwrap();
        for (path, content) in files {
            sandbox.write(path, content);
        }
        Place { sandbox, repo, tree }
    }

    async fn copy(&self, rules: &[(&str, CopyMode)]) -> Result<CopyReport, GitError> {
        let rules: Vec<CopyRule> = rules
            .iter()
            .map(|(pattern, mode)| CopyRule { pattern: (*pattern).to_owned(), mode: *mode })
            .collect();
        self.repo.worktree_at(&self.tree).copy_files(&rules, &|_| {}, &CancellationToken::new()).await
    }

    fn read(&self, path: &str) -> Option<String> {
        fs::read_to_string(self.tree.join(path)).ok()
    }
}

fn skipped(path: &str, why: SkippedWhy) -> Skipped {
    Skipped { path: path.to_owned(), why }
}

#[tokio::test]
async fn what_is_not_tracked_comes_with_its_permissions_and_links() {
    let files = [(".env", "A=1"), ("packages/a/.env", "A=2"), ("notes/todo", "n"), ("deps/bin/tool", "#!")];
    let place = Place::new(".env\ndeps/\n", &files).await;
    let own = |path: &str| place.sandbox.path(path);
    fs::set_permissions(own(".env"), PermissionsExt::from_mode(0o600)).unwrap();
    fs::set_permissions(own("deps/bin/tool"), PermissionsExt::from_mode(0o755)).unwrap();
    symlink("bin/tool", own("deps/link")).unwrap();
    symlink(own("a"), own("deps/absolute")).unwrap();
    fs::create_dir(own("deps/empty")).unwrap();
    fs::set_permissions(own("deps/bin"), PermissionsExt::from_mode(0o555)).unwrap();
    let told = Mutex::new(Vec::new());
    let rules = [".env", "deps", "/notes/"].map(|p| CopyRule { pattern: p.to_owned(), mode: CopyMode::Copy });
    let tell = |step: CopyProgress| told.lock().unwrap().push(step.path);
    let report = place
        .repo
        .worktree_at(&place.tree)
        .copy_files(&rules, &tell, &CancellationToken::new())
        .await
        .unwrap();
    assert_eq!((report.files, report.reflinked + report.copied, report.links_kept), (6, 4, 2));
    assert_eq!((report.bytes, report.skipped), (9, vec![]));
    assert_eq!(place.read(".env").as_deref(), Some("A=1"));
    assert_eq!(place.read("packages/a/.env").as_deref(), Some("A=2"));
    assert_eq!(place.read("notes/todo").as_deref(), Some("n"));
    let found = |path: &str| place.tree.join(path).symlink_metadata().unwrap();
    assert_eq!(found(".env").mode() & 0o777, 0o600);
    assert_eq!(found("deps/bin/tool").mode() & 0o777, 0o755);
    assert_eq!(found("deps/bin").mode() & 0o777, 0o555);
    assert_eq!(found(".env").mtime(), own(".env").metadata().unwrap().mtime());
    assert!(found("deps/empty").is_dir());
    assert_eq!(place.tree.join("deps/link").read_link().unwrap(), Path::new("bin/tool"));
    assert_eq!(place.tree.join("deps/absolute").read_link().unwrap(), own("a"));
    assert_eq!(*told.lock().unwrap(), [".env", "deps", "notes/todo", "packages/a/.env"]);
    for dir in [own("deps/bin"), place.tree.join("deps/bin")] {
        fs::set_permissions(dir, PermissionsExt::from_mode(0o755)).unwrap();
    }
}

#[tokio::test]
async fn repeating_it_adds_what_is_missing_and_overwrites_nothing() {
    let place =
        Place::new(".env\ndeps/\n", &[(".env", "theirs"), ("deps/one", "1"), ("deps/two", "2")]).await;
    fs::write(place.tree.join(".env"), "mine").unwrap();
    let rules = [(".env", CopyMode::Copy), ("deps/", CopyMode::Copy)];
    let report = place.copy(&rules).await.unwrap();
    assert_eq!(report.skipped, [skipped(".env", SkippedWhy::Exists)]);
    assert_eq!(place.read(".env").as_deref(), Some("mine"));
    fs::remove_file(place.tree.join("deps/one")).unwrap();
    fs::write(place.tree.join("deps/two"), "mine").unwrap();
    let report = place.copy(&rules).await.unwrap();
    assert_eq!((report.files, report.already_there), (1, 1));
    assert_eq!(place.read("deps/one").as_deref(), Some("1"));
    assert_eq!(place.read("deps/two").as_deref(), Some("mine"));
    let files = fs::read_dir(place.tree.join("deps")).unwrap().count();
    assert_eq!(files, 2, "something temporary was left");
    // A file where the folder would be, and a link that is somebody's.
    fs::remove_dir_all(place.tree.join("deps")).unwrap();
    for occupied in [true, false] {
        if occupied {
            fs::write(place.tree.join("deps"), "mine").unwrap();
        } else {
            fs::remove_file(place.tree.join("deps")).unwrap();
            symlink(place.sandbox.dir().join("home"), place.tree.join("deps")).unwrap();
        }
        let report = place.copy(&[("deps/", CopyMode::Copy)]).await.unwrap();
        assert_eq!(report.skipped, [skipped("deps", SkippedWhy::InTheWay)]);
    }
    assert_eq!(fs::read_dir(place.sandbox.dir().join("home")).unwrap().count(), 0);
}

#[tokio::test]
async fn what_git_tracks_is_never_touched() {
    let place = Place::new("local/\n", &[("local/kept", "ignored"), ("local/tracked", "theirs")]).await;
    // In the task's branch these are tracked, and deleted just now.
    fs::create_dir(place.tree.join("local")).unwrap();
    fs::write(place.tree.join("local/tracked"), "ours").unwrap();
    place.sandbox.git_at(&place.tree, &["add", "-f", "local/tracked"]);
    place.sandbox.git_at(&place.tree, &["commit", "-qm", "tracked"]);
    fs::remove_dir_all(place.tree.join("local")).unwrap();
    let linked = place.copy(&[("local/", CopyMode::Symlink)]).await.unwrap();
    assert_eq!(linked.skipped, [skipped("local", SkippedWhy::Tracked)]);
    let report = place.copy(&[("local/", CopyMode::Copy), ("a", CopyMode::Copy)]).await.unwrap();
    assert_eq!(report.skipped, [skipped("local/tracked", SkippedWhy::Tracked)]);
    assert_eq!((place.read("local/kept").as_deref(), place.read("local/tracked")), (Some("ignored"), None));
}

#[tokio::test]
async fn files_are_linked_as_asked_and_links_do_not_get_committed() {
    let files = [("node_modules/x/index.js", "js"), ("cache/big", "b"), ("node_modules/.bin/x", "x")];
    let place = Place::new("node_modules/\ncache/\n", &files).await;
    let rules = [("node_modules/", CopyMode::Symlink), ("cache/", CopyMode::Hardlink)];
    let report = place.copy(&rules).await.unwrap();
    assert_eq!((report.symlinked, report.hardlinked, report.files), (1, 1, 2));
    assert_eq!(report.hidden, ["node_modules"]);
    assert_eq!(place.tree.join("node_modules").read_link().unwrap(), place.sandbox.path("node_modules"));
    let inode = |path: &Path| path.metadata().unwrap().ino();
    assert_eq!(inode(&place.tree.join("cache/big")), inode(&place.sandbox.path("cache/big")));
    assert_eq!(place.repo.worktree_at(&place.tree).commit_all("all", None).await.unwrap(), None);
    let again = place.copy(&rules).await.unwrap();
    assert_eq!((again.files, again.already_there), (0, 1));
    assert_eq!(again.skipped, [skipped("node_modules", SkippedWhy::Exists)]);
}

#[tokio::test]
async fn links_that_lead_out_are_refused() {
    let cases: [(&str, &str, &str); 4] = [
        (".env", "../outside", ".env"),
        (".env", "/etc/passwd", ".env"),
        ("deps/link", "../../outside", "deps/"),
        // Out and back in by the checkout's name: from the worktree it leads elsewhere.
        ("deps/link", "../../repo/a", "deps/"),
    ];
    for (path, target, pattern) in cases {
        let place = Place::new(".env\ndeps/\n", &[("deps/file", "x")]).await;
        fs::write(place.sandbox.dir().join("outside"), "secret").unwrap();
        symlink(target, place.sandbox.path(path)).unwrap();
        let refused = place.copy(&[(pattern, CopyMode::Copy)]).await;
        let escape = matches!(refused, Err(GitError::PathEscape(GuardError::Escape { .. })));
        assert!(escape, "{path} -> {target}: {refused:?}");
        assert!(place.tree.join(path).symlink_metadata().is_err(), "{path} -> {target}");
    }
    // A link to a program of the machine, inside a folder of dependencies, is brought as a link.
    let place = Place::new("deps/\n", &[("deps/file", "x")]).await;
    symlink("/etc", place.sandbox.path("deps/link")).unwrap();
    let report = place.copy(&[("deps/", CopyMode::Copy)]).await.unwrap();
    assert_eq!((report.files, report.links_kept), (2, 1), "the folder it leads to is not entered");
    assert_eq!(fs::read_link(place.tree.join("deps/link")).unwrap(), Path::new("/etc"));
    // A folder of the worktree that leads out is refused as well.
    let place = Place::new("deps/\n*.local\n", &[("conf/x.local", "x")]).await;
    symlink(place.sandbox.dir().join("home"), place.tree.join("conf")).unwrap();
    let refused = place.copy(&[("*.local", CopyMode::Copy)]).await;
    assert!(matches!(refused, Err(GitError::PathEscape(GuardError::Escape { .. }))), "{refused:?}");
    assert_eq!(fs::read_dir(place.sandbox.dir().join("home")).unwrap().count(), 0);
}

#[tokio::test]
async fn repositories_inside_come_without_their_git_directory() {
    let place = Place::new("vendor/\n", &[("vendor/lib/file", "x")]).await;
    place.sandbox.git(&["init", "-q", "vendor/lib"]);
    place.sandbox.git(&["init", "-q", "inner"]);
    place.sandbox.write("inner/file", "i");
    let report = place.copy(&[("vendor/", CopyMode::Copy), ("inner/", CopyMode::Copy)]).await.unwrap();
    let git = [
        skipped("inner/.git", SkippedWhy::GitDirectory),
        skipped("vendor/lib/.git", SkippedWhy::GitDirectory),
    ];
    assert_eq!(report.skipped, git);
    assert_eq!(place.read("vendor/lib/file").as_deref(), Some("x"));
    assert!(!place.tree.join("vendor/lib/.git").exists() && !place.tree.join("inner/.git").exists());
    let none = place.copy(&[(".git", CopyMode::Copy), ("**/config", CopyMode::Copy)]).await.unwrap();
    assert_eq!((none.files, none.skipped), (0, vec![]));
}

#[tokio::test]
async fn the_last_rule_decides_and_unnamed_ignored_folders_are_not_entered() {
    let files = [
        (".env", "1"),
        (".env.test", "2"),
        ("node_modules/pkg/.env", "3"),
        ("node_modules/.cache/x", "4"),
        ("ünï/☃.local", "5"),
    ];
    let place = Place::new(".env*\nnode_modules/\n*.local\n", &files).await;
    let rules = [
        (".env*", CopyMode::Copy),
        ("!.env.test", CopyMode::Copy),
        ("node_modules/.cache/", CopyMode::Copy),
        ("*.local", CopyMode::Copy),
    ];
    let report = place.copy(&rules).await.unwrap();
    assert_eq!(report.files, 3);
    for (path, there) in [
        (".env", true),
        (".env.test", false),
        ("node_modules/pkg", false),
        ("node_modules/.cache/x", true),
        ("ünï/☃.local", true),
    ] {
        assert_eq!(place.tree.join(path).exists(), there, "{path}");
    }
}

#[tokio::test]
async fn cancelling_stops_it_and_leaves_nothing_half_made() {
    let files: Vec<String> = (0..500).map(|n| format!("deps/{n}")).collect();
    let files: Vec<(&str, &str)> = files.iter().map(|path| (path.as_str(), "content")).collect();
    let place = Place::new("deps/\n", &files).await;
    let cancel = CancellationToken::new();
    cancel.cancel();
    let rules = [CopyRule { pattern: "deps/".to_owned(), mode: CopyMode::Copy }];
    let stopped = place.repo.worktree_at(&place.tree).copy_files(&rules, &|_| {}, &cancel).await;
    assert!(matches!(stopped, Err(GitError::Cancelled { .. })), "{stopped:?}");
    assert!(!place.tree.join("deps").exists());
    let report = place.copy(&[("deps/", CopyMode::Copy)]).await.unwrap();
    assert_eq!(report.files, 500);
    let whole = fs::read_dir(place.tree.join("deps")).unwrap().flatten();
    assert!(whole.into_iter().all(|file| fs::read_to_string(file.path()).unwrap() == "content"));
}

#[tokio::test]
async fn pipes_and_the_like_are_left_out() {
    let place = Place::new("deps/\n", &[("deps/file", "x")]).await;
    nix::unistd::mkfifo(&place.sandbox.path("deps/pipe"), nix::sys::stat::Mode::S_IRWXU).unwrap();
    let report = place.copy(&[("deps/", CopyMode::Copy)]).await.unwrap();
    assert_eq!(report.skipped, [skipped("deps/pipe", SkippedWhy::Special)]);
    assert_eq!(report.files, 1);
}
