use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};

use super::*;
use crate::command::Kind;
use crate::repo::Repo;
use crate::testing::Sandbox;

/// Checks out `main` by ourselves and by git; both directories.
async fn both(
    sandbox: &Sandbox,
    repo: &Repo,
) -> (Result<(), NotPlain>, std::path::PathBuf, std::path::PathBuf) {
    let places = ["ours", "gits"].map(|name| sandbox.dir().join(name));
    for place in &places {
        sandbox.git(&["worktree", "add", "-q", "--detach", "--no-checkout", place.to_str().unwrap(), "main"]);
    }
    let [ours, gits] = places;
    sandbox.git_at(&gits, &["reset", "-q", "--hard"]);
    let (root, admin) = (ours.clone(), repo.admin_dir(&ours).unwrap());
    let tree = Oid::from_str(&repo.tree_of("main").await.unwrap()).unwrap();
    let shared = repo.clone();
    let done = tokio::task::spawn_blocking(move || {
        let objects = shared.inner.objects.odb().unwrap();
        check_out(objects, tree, &root, &admin, &CancellationToken::new())
    });
    (done.await.unwrap(), ours, gits)
}

fn listing(root: &Path) -> BTreeMap<std::path::PathBuf, (u32, Vec<u8>)> {
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

#[tokio::test]
async fn files_and_index_are_those_of_git() {
    let sandbox = Sandbox::new().await;
    let repo = sandbox.repo().await;
    let long = format!("{}/{}", "d".repeat(200), "n".repeat(255));
    let many: Vec<String> = (0..900).map(|n| format!("many/{n}")).collect();
    for path in many.iter().map(String::as_str).chain([
        "x.y",
        "x/y",
        "x-y",
        "ünï/☃ \"q\"",
        ".gitignore",
        "dir/empty",
        &long,
    ]) {
        sandbox.write(path, format!("{path}\r\n"));
    }
    sandbox.write("dir/empty", "");
    sandbox.write("run", "#!/bin/sh\n");
    fs::set_permissions(sandbox.path("run"), PermissionsExt::from_mode(0o755)).unwrap();
    symlink("x/y", sandbox.path("link")).unwrap();
    symlink("/nowhere/at/all", sandbox.path("x/gone")).unwrap();
    let mut deep = "deep".to_owned();
    for _ in 0..20 {
        deep.push_str("/deeper");
    }
    sandbox.write(&format!("{deep}/file"), "d");
    sandbox.commit("all", &[]);
    let (done, ours, gits) = both(&sandbox, &repo).await;
    done.unwrap();
    assert_eq!(listing(&ours), listing(&gits));
    let index = |place: &Path, args: &[&str]| sandbox.git_at(place, args);
    assert_eq!(index(&ours, &["ls-files", "--stage", "-v"]), index(&gits, &["ls-files", "--stage", "-v"]));
    assert_eq!(index(&ours, &["status", "--porcelain", "--ignored"]), "");
    // Every recorded fact is the file's: git finds nothing to refresh, and takes the trees' names as they are.
    let facts = index(&ours, &["ls-files", "--debug"]);
    sandbox.git_at(&ours, &["update-index", "--really-refresh"]);
    assert_eq!(facts, index(&ours, &["ls-files", "--debug"]));
    assert_eq!(index(&ours, &["write-tree"]), repo.tree_of("main").await.unwrap());
    index(&ours, &["fsck", "--cache", "--no-dangling"]);
}

#[tokio::test]
async fn what_needs_gits_rules_is_left_to_git() {
    let sandbox = Sandbox::new().await;
    let repo = sandbox.repo().await;
    for (number, path) in ["sub/.gitattributes", "a\\b", "c:d"].into_iter().enumerate() {
        sandbox.commit("odd", &[(path, "x")]);
        let (done, ours, gits) = both(&sandbox, &repo).await;
        assert!(matches!(done, Err(NotPlain::Tree(_))), "{path}: {done:?}");
        assert_eq!(fs::read_dir(&ours).unwrap().count(), 1, "something was written");
        for place in [ours, gits] {
            sandbox.git(&["worktree", "remove", "--force", place.to_str().unwrap()]);
        }
        sandbox.git(&["rm", "-q", path]);
        sandbox.git(&["commit", "-qm", &number.to_string()]);
    }
    for name in [".git", ".GIT", ".git ", ".git.", ".g\u{200c}it", "git~1", "..", "a/b", "a\nb", ""] {
        assert!(!is_plain_name(name.as_bytes()), "{name:?}");
    }
    for name in [".gitignore", ".github", "..a", "gitx", ".gi", "ünï", "☃", " "] {
        assert!(is_plain_name(name.as_bytes()), "{name:?}");
    }
}

#[tokio::test]
async fn something_in_the_way_or_missing_is_left_to_git() {
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
    assert_eq!(repo.status(&spec.path).await.unwrap(), []);
}

#[tokio::test]
async fn settings_that_matter_are_seen() {
    let sandbox = Sandbox::new().await;
    let repo = sandbox.repo().await;
    let settings = async || repo.checkout_settings().await.unwrap();
    assert_eq!(settings().await, Settings { plain: true, hooks_elsewhere: false });
    let cases = [
        ("core.autocrlf", "input", "false"),
        ("core.sparseCheckout", "true", "false"),
        ("core.symlinks", "false", "true"),
        ("index.version", "4", "2"),
        ("feature.manyFiles", "1", "no"),
        ("core.sharedRepository", "group", ""),
        ("core.attributesFile", "/dev/null", ""),
    ];
    for (name, matters, harmless) in cases {
        sandbox.git(&["config", name, matters]);
        assert!(!settings().await.plain, "{name}={matters}");
        if !harmless.is_empty() {
            sandbox.git(&["config", name, harmless]);
            assert!(settings().await.plain, "{name}={harmless}");
        }
        sandbox.git(&["config", "--unset", name]);
    }
    sandbox.git(&["config", "core.hooksPath", "hooks"]);
    assert!(settings().await.hooks_elsewhere);
    fs::create_dir_all(repo.common_dir().join("info")).unwrap();
    fs::write(repo.common_dir().join("info/attributes"), "* text\n").unwrap();
    assert!(!settings().await.plain);
    // And git is asked then.
    let listed = repo.at(repo.root(), Kind::Read).args(["config", "--list", "-z"]).ok().await.unwrap();
    assert!(Settings::parse(&listed).plain);
}
