use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt, symlink};
use std::path::PathBuf;

use super::*;
use crate::lock::{Purpose, turn};
use crate::testing::Sandbox;

/// Checks out `main` by ourselves and by git; both directories.
async fn both(sandbox: &Sandbox, repo: &Repo) -> (Result<(), NotPlain>, PathBuf, PathBuf) {
    let places = ["ours", "gits"].map(|name| sandbox.dir().join(name));
    for place in &places {
        sandbox.git(&["worktree", "add", "-q", "--detach", "--no-checkout", place.to_str().unwrap(), "main"]);
    }
    let [ours, gits] = places;
    sandbox.git_at(&gits, &["reset", "-q", "--hard"]);
    let turn = turn(&ours, Purpose::Tree).await;
    let done = repo.check_out_plain(&ours, &repo.admin_dir(&ours).unwrap(), &turn).await;
    assert_eq!(Arc::strong_count(&turn), 1, "something may still write");
    (done, ours, gits)
}

fn listing(root: &Path) -> BTreeMap<PathBuf, (u32, Vec<u8>)> {
    let mut list = BTreeMap::new();
    let mut ahead = vec![root.to_owned()];
    while let Some(dir) = ahead.pop() {
        for entry in fs::read_dir(dir).unwrap() {
            let path = entry.unwrap().path();
            let found = path.symlink_metadata().unwrap();
            let content = if found.is_symlink() {
                bytes::of(&path.read_link().unwrap()).to_vec()
            } else if found.is_dir() {
                ahead.push(path.clone());
                Vec::new()
            } else {
                fs::read(&path).unwrap()
            };
            list.insert(path.strip_prefix(root).unwrap().to_owned(), (found.permissions().mode(), content));
        }
    }
    list.remove(Path::new(".git"));
    list
}

/// The result is what git makes of it, in every respect that git looks at.
fn assert_same(sandbox: &Sandbox, repo_tree: &str, ours: &Path, gits: &Path) {
    assert_eq!(listing(ours), listing(gits));
    let index = |place: &Path, args: &[&str]| sandbox.git_at(place, args);
    assert_eq!(index(ours, &["ls-files", "--stage", "-v"]), index(gits, &["ls-files", "--stage", "-v"]));
    // Every recorded fact is the file's: git finds nothing to refresh, and takes the trees' names as they are.
    let facts = index(ours, &["ls-files", "--debug"]);
    sandbox.git_at(ours, &["update-index", "--really-refresh"]);
    assert_eq!(facts, index(ours, &["ls-files", "--debug"]));
    assert_eq!(index(ours, &["status", "--porcelain", "--ignored"]), "");
    assert_eq!(index(ours, &["write-tree"]), repo_tree);
    index(ours, &["fsck", "--cache", "--no-dangling"]);
}

#[tokio::test]
async fn files_and_index_are_those_of_git() {
    let sandbox = Sandbox::new().await;
    let repo = sandbox.repo().await;
    let long = format!("{}/{}", "d".repeat(200), "n".repeat(255));
    // Shares of several readers, and folders that lie in more than one.
    let many: Vec<String> = (0..1200).map(|n| format!("many/{n}")).collect();
    let odd = ["x.y", "x/y", "x-y", "x.d/z", "ünï/☃ \"q\"", ".gitignore", ".github/a", "a b", &long];
    for path in many.iter().map(String::as_str).chain(odd) {
        sandbox.write(path, format!("{path}\r\n"));
    }
    sandbox.write("dir/empty", "");
    sandbox.write("no end of line", "x");
    sandbox.write("looks like a header", format!("{} blob 3\nabc\n", "0".repeat(40)));
    sandbox.write("run", "#!/bin/sh\n");
    fs::set_permissions(sandbox.path("run"), PermissionsExt::from_mode(0o755)).unwrap();
    let large: Vec<u8> = (0..1_000_000_u32).flat_map(|n| (n % 251).to_le_bytes()).take(3 << 20).collect();
    sandbox.write("many/large", &large[..(3 << 20) - 1]);
    sandbox.write("one piece", &large[..PIECE]);
    symlink("x/y", sandbox.path("link")).unwrap();
    symlink("/nowhere/at/all", sandbox.path("x/gone")).unwrap();
    sandbox.write(&format!("deep{}/file", "/deeper".repeat(20)), "d");
    sandbox.commit("all", &[]);
    let (done, ours, gits) = both(&sandbox, &repo).await;
    done.unwrap();
    assert_same(&sandbox, &repo.tree_of("main").await.unwrap(), &ours, &gits);
    // Packed objects, deltas among them, and an index that is trusted without reading files.
    sandbox.git(&["worktree", "remove", "--force", ours.to_str().unwrap()]);
    sandbox.git(&["worktree", "remove", "--force", gits.to_str().unwrap()]);
    sandbox.git(&["repack", "-adq"]);
    let (done, ours, gits) = both(&sandbox, &repo).await;
    done.unwrap();
    assert_same(&sandbox, &repo.tree_of("main").await.unwrap(), &ours, &gits);
}

#[tokio::test]
async fn git_trusts_the_index_at_once() {
    let sandbox = Sandbox::new().await;
    let repo = sandbox.repo().await;
    symlink("a", sandbox.path("link")).unwrap();
    sandbox.commit("link", &[]);
    let (done, ours, _) = both(&sandbox, &repo).await;
    done.unwrap();
    let index = repo.admin_dir(&ours).unwrap().join("index").metadata().unwrap();
    for name in ["a", "link"] {
        let made = ours.join(name).symlink_metadata().unwrap();
        assert!(made.mtime() < index.mtime(), "{name}");
    }
    // A change of the same length is seen.
    fs::write(ours.join("a"), "b\n").unwrap();
    assert_eq!(sandbox.git_at(&ours, &["status", "--porcelain"]), " M a");
}

#[tokio::test]
async fn an_empty_tree_is_checked_out() {
    let sandbox = Sandbox::new().await;
    let repo = sandbox.repo().await;
    sandbox.git(&["rm", "-q", "a"]);
    sandbox.git(&["commit", "-q", "-m", "nothing"]);
    let (done, ours, gits) = both(&sandbox, &repo).await;
    done.unwrap();
    assert_same(&sandbox, &repo.tree_of("main").await.unwrap(), &ours, &gits);
}

#[tokio::test]
async fn what_needs_gits_rules_is_left_to_git() {
    let sandbox = Sandbox::new().await;
    let repo = sandbox.repo().await;
    let head = sandbox.head();
    for (number, path) in ["sub/.gitattributes", "a\\b", "c:d", "module"].into_iter().enumerate() {
        if path == "module" {
            sandbox.git(&["update-index", "--add", "--cacheinfo", &format!("160000,{head},module")]);
            sandbox.git(&["commit", "-q", "-m", "module"]);
        } else {
            sandbox.commit("odd", &[(path, "x")]);
        }
        let (done, ours, gits) = both(&sandbox, &repo).await;
        assert!(matches!(done, Err(NotPlain::Tree(_))), "{path}: {done:?}");
        assert_eq!(fs::read_dir(&ours).unwrap().count(), 1, "something was written");
        for place in [ours, gits] {
            sandbox.git(&["worktree", "remove", "--force", place.to_str().unwrap()]);
        }
        sandbox.git(&["rm", "-q", "--cached", path]);
        sandbox.git(&["commit", "-qm", &number.to_string()]);
        let _a_module_has_no_file = fs::remove_file(sandbox.path(path));
    }
    for name in [".git", ".GIT", ".git ", ".git.", ".g\u{200c}it", "git~1", "..", "a\nb", ""] {
        assert!(!is_plain_name(name.as_bytes()), "{name:?}");
    }
    for name in [".gitignore", ".github", "..a", "gitx", ".gi", "ünï", "☃", " "] {
        assert!(is_plain_name(name.as_bytes()), "{name:?}");
    }
}

#[tokio::test]
async fn objects_with_longer_names_are_left_to_git() {
    let sandbox = Sandbox::with_init(&["--object-format=sha256"]).await;
    let repo = sandbox.repo().await;
    assert!(!repo.checkout_rules().await.unwrap().plain);
    let (done, ours, _) = both(&sandbox, &repo).await;
    assert!(matches!(done, Err(NotPlain::Tree(_))), "{done:?}");
    assert!(!ours.join("a").exists());
}

/// `None` for a tree that cannot be.
fn parsed(entries: &[&str]) -> Option<Plan> {
    let oid = "1".repeat(40);
    let listed: String = entries.iter().map(|entry| entry.replace("OID", &oid) + "\0").collect();
    Plan::parse(&oid, listed.as_bytes()).ok()
}

#[test]
fn trees_that_git_would_not_write_are_not_taken_apart() {
    let plan = parsed(&["040000 tree OID\td", "100644 blob OID\td/a", "120000 blob OID\te"]).unwrap();
    assert_eq!((plan.folders.len(), plan.leaves.len()), (2, 2));
    assert_eq!((plan.folders[0].files, plan.folders[0].subfolders, plan.folders[1].files), (2, 1, 1));
    for entries in [
        ["100644 blob OID\td/a", "100644 blob OID\tb"],
        ["120000 blob OID\td", "100644 blob OID\td/a"],
        ["040000 tree OID\td", "100644 blob OID\td/../../a"],
        ["100664 blob OID\ta", "100644 blob OID\tb"],
        ["160000 commit OID\ta", "100644 blob OID\tb"],
        ["100644 blob 11\ta", "100644 blob OID\tb"],
        ["100644 blob OID a", "100644 blob OID\tb"],
    ] {
        assert!(parsed(&entries).is_none(), "{entries:?}");
    }
}

#[tokio::test]
async fn git_finishes_what_failed_half_way() {
    let sandbox = Sandbox::new().await;
    let repo = sandbox.repo().await;
    sandbox.commit("files", &[("dir/one", "1"), ("dir/two", "2"), ("z", "3")]);
    let path = sandbox.dir().join("tree");
    sandbox.git(&["worktree", "add", "-q", "--detach", "--no-checkout", path.to_str().unwrap(), "main"]);
    let admin = repo.admin_dir(&path).unwrap();
    let turn = turn(&path, Purpose::Tree).await;
    // Something is in the way after the first files were written.
    fs::create_dir(path.join("dir")).unwrap();
    assert!(matches!(repo.check_out_plain(&path, &admin, &turn).await, Err(NotPlain::Io(_))));
    fs::remove_dir(path.join("dir")).unwrap();
    fs::write(path.join("z"), "in the way").unwrap();
    let rules = repo.checkout_rules().await.unwrap();
    assert!(rules.plain);
    repo.fill(&path, &admin, &sandbox.head(), rules, &turn).await.unwrap();
    assert_eq!(fs::read_to_string(path.join("dir/two")).unwrap(), "2");
    assert_eq!(fs::read_to_string(path.join("z")).unwrap(), "3");
    assert_eq!(repo.worktree_at(&path).status().await.unwrap(), []);
}

#[tokio::test]
async fn a_missing_object_fails_as_with_git_and_leaves_nothing() {
    let sandbox = Sandbox::new().await;
    let repo = sandbox.repo().await;
    sandbox.commit("files", &[("dir/file", "content")]);
    let blob = sandbox.git_out(&["rev-parse", "main:dir/file"]);
    let object = repo.common_dir().join("objects").join(&blob[..2]).join(&blob[2..]);
    let aside = sandbox.dir().join("aside");
    let spec = crate::NewWorktree {
        path: sandbox.dir().join("tree"),
        branch: "task".to_owned(),
        base: "main".to_owned(),
    };
    fs::rename(&object, &aside).unwrap();
    assert!(repo.create_worktree(&spec).await.is_err());
    assert!(!spec.path.exists());
    fs::rename(&aside, &object).unwrap();
    repo.create_worktree(&spec).await.unwrap();
    assert_eq!(fs::read_to_string(spec.path.join("dir/file")).unwrap(), "content");
    assert_eq!(repo.worktree_at(&spec.path).status().await.unwrap(), []);
}

#[tokio::test]
async fn who_comes_after_one_that_was_given_up_finds_nobody_writing() {
    let sandbox = Sandbox::new().await;
    let repo = sandbox.repo().await;
    for n in 0..1500 {
        sandbox.write(&format!("d/{n}"), n.to_string());
    }
    sandbox.commit("many", &[]);
    let spec = crate::NewWorktree {
        path: sandbox.dir().join("tree"),
        branch: "task".to_owned(),
        base: "main".to_owned(),
    };
    let begun = async {
        // Looked for as soon as the future above this one waits.
        while !spec.path.with_file_name(".making").join("tree/d").exists() {
            tokio::task::yield_now().await;
        }
    };
    tokio::select! {
        biased;
        () = begun => {}
        made = repo.create_worktree(&spec) => panic!("nothing was seen of it: {made:?}"),
    }
    repo.create_worktree(&spec).await.unwrap();
    assert_eq!(fs::read_dir(spec.path.join("d")).unwrap().count(), 1500);
    assert_eq!(repo.worktree_at(&spec.path).status().await.unwrap(), []);
}
