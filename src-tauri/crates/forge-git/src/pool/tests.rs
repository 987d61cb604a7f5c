use std::collections::BTreeMap;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt, symlink};

use super::*;
use crate::error::{ForeignReason, GitError};
use crate::testing::{Sandbox, pool_away, remove_away};

fn spec(sandbox: &Sandbox, name: &str) -> NewWorktree {
    NewWorktree {
        path: sandbox.dir().join("work").join(name).join("tree"),
        branch: format!("forge/{name}"),
        base: "main".to_owned(),
    }
}

fn pool(sandbox: &Sandbox) -> PathBuf {
    sandbox.dir().join("work/.pool")
}

async fn pooled(sandbox: &Sandbox, repo: &Repo, name: &str, dirty: impl FnOnce(&Path)) -> NewWorktree {
    let spec = spec(sandbox, name);
    repo.create_worktree(&spec).await.unwrap();
    dirty(&spec.path);
    assert!(pool_away(repo, &spec.path, &pool(sandbox), 10).await.unwrap());
    assert!(!spec.path.exists());
    spec
}

/// Everything in a directory but its `.git`: kind, permissions and content by path.
fn listing(root: &Path) -> BTreeMap<PathBuf, (u32, Vec<u8>)> {
    fn go(root: &Path, at: &Path, list: &mut BTreeMap<PathBuf, (u32, Vec<u8>)>) {
        for entry in fs::read_dir(root.join(at)).unwrap() {
            let path = at.join(entry.unwrap().file_name());
            if path == Path::new(".git") {
                continue;
            }
            let full = root.join(&path);
            let found = full.symlink_metadata().unwrap();
            let content = if found.is_symlink() {
                bytes::of(&full.read_link().unwrap()).to_vec()
            } else if found.is_file() {
                fs::read(&full).unwrap()
            } else {
                go(root, &path, list);
                Vec::new()
            };
            list.insert(path, (found.mode(), content));
        }
    }
    let mut list = BTreeMap::new();
    go(root, Path::new(""), &mut list);
    list
}

fn write(root: &Path, path: &str, content: &str) {
    let path = root.join(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, content).unwrap();
}

/// The worktree is what a new one would be.
async fn assert_fresh(sandbox: &Sandbox, repo: &Repo, taken: &NewWorktree) {
    let plain = NewWorktree {
        path: sandbox.dir().join("plain"),
        branch: "plain".to_owned(),
        base: repo.worktree_at(&taken.path).head().await.unwrap(),
    };
    repo.create_worktree(&plain).await.unwrap();
    assert_eq!(listing(&taken.path), listing(&plain.path));
    assert_eq!(sandbox.git_at(&taken.path, &["status", "--porcelain", "--ignored"]), "");
    assert_eq!(sandbox.git_at(&taken.path, &["symbolic-ref", "--short", "HEAD"]), taken.branch);
    let index = ["ls-files", "--stage", "-v"];
    assert_eq!(sandbox.git_at(&taken.path, &index), sandbox.git_at(&plain.path, &index));
    let settings = ["config", "--list", "--show-scope"];
    assert_eq!(sandbox.git_at(&taken.path, &settings), sandbox.git_at(&plain.path, &settings));
    remove_away(repo, &plain.path).await.unwrap().delete().await.unwrap();
    sandbox.git(&["branch", "-qD", "plain"]);
}

#[tokio::test]
async fn a_finished_worktree_becomes_the_next_one() {
    let sandbox = Sandbox::new().await;
    let repo = sandbox.repo().await;
    sandbox.commit("base", &[("src/one", "1"), ("src/gone", "g"), (".gitignore", "ignored\n")]);
    let first = pooled(&sandbox, &repo, "1", |tree| {
        write(tree, "src/one", "changed");
        write(tree, "src/new", "n");
        sandbox.git_at(tree, &["add", "-A"]);
        sandbox.git_at(tree, &["commit", "-qm", "work"]);
        write(tree, "ignored", "secret");
    })
    .await;
    let tip = repo.resolve("refs/heads/forge/1").await.unwrap().unwrap();
    assert!(!repo.is_checked_out("forge/1").await.unwrap());
    repo.delete_branch("forge/1", &tip).await.unwrap();
    let slots = repo.slots(&pool(&sandbox)).await.unwrap();
    assert_eq!(slots.len(), 1);
    assert_eq!(repo.worktrees().await.unwrap()[1].path, slots[0]);
    sandbox.git(&["rm", "-q", "src/gone"]);
    sandbox.commit("later", &[("src/two", "2")]);

    let second = spec(&sandbox, "2");
    let untouched = sandbox.path("src/two");
    let inode = slots[0].join("a").metadata().unwrap().ino();
    assert!(repo.take_slot(&pool(&sandbox), &second, Keep::Tracked).await.unwrap());
    assert_eq!(second.path.join("a").metadata().unwrap().ino(), inode, "an unchanged file was made anew");
    assert!(untouched.exists() && !first.path.exists());
    assert_eq!(repo.worktree_at(&second.path).head().await.unwrap(), sandbox.head());
    assert_fresh(&sandbox, &repo, &second).await;
    assert_eq!(repo.slots(&pool(&sandbox)).await.unwrap(), Vec::<PathBuf>::new());
    assert_eq!(repo.worktrees().await.unwrap().len(), 2);
    assert_eq!(fs::read_dir(repo.common_dir().join("worktrees")).unwrap().count(), 1);
    // Again, as after a kill before the caller could write it down.
    assert!(!repo.take_slot(&pool(&sandbox), &second, Keep::Tracked).await.unwrap());
    pooled(&sandbox, &repo, "3", |_| {}).await;
    assert!(repo.take_slot(&pool(&sandbox), &second, Keep::Tracked).await.unwrap());
    assert_eq!(repo.slots(&pool(&sandbox)).await.unwrap().len(), 1);
    repo.create_worktree(&second).await.unwrap();
}

#[tokio::test]
async fn nothing_of_the_earlier_task_is_left() {
    let sandbox = Sandbox::new().await;
    let repo = sandbox.repo().await;
    let files = [
        ("src/assumed", "assumed"),
        ("src/skipped", "skipped"),
        ("src/same-size", "before"),
        ("src/deep/file", "f"),
        ("lib/file", "l"),
        ("mode", "m"),
        (".gitignore", "target/\n*.log\n"),
    ];
    sandbox.commit("base", &files);
    sandbox.git(&["config", "extensions.worktreeConfig", "true"]);
    pooled(&sandbox, &repo, "1", |tree| {
        let git = |args: &[&str]| sandbox.git_at(tree, args);
        git(&["update-index", "--assume-unchanged", "src/assumed"]);
        git(&["update-index", "--skip-worktree", "src/skipped"]);
        write(tree, "src/assumed", "ASSUMED");
        write(tree, "src/skipped", "SKIPPED");
        let times = tree.join("src/same-size").metadata().unwrap().modified().unwrap();
        write(tree, "src/same-size", "after!");
        let file = fs::File::options().write(true).open(tree.join("src/same-size")).unwrap();
        file.set_modified(times).unwrap();
        fs::set_permissions(tree.join("mode"), PermissionsExt::from_mode(0o777)).unwrap();
        fs::remove_dir_all(tree.join("lib")).unwrap();
        symlink(sandbox.dir(), tree.join("lib")).unwrap();
        fs::remove_file(tree.join("a")).unwrap();
        write(tree, "a/now-a-folder", "x");
        write(tree, "target/cache", "secret");
        write(tree, "src/deep/x.log", "secret");
        write(tree, "new/untracked", "secret");
        git(&["init", "-q", "new/inner"]);
        git(&["init", "-q", "src/deep"]);
        git(&["config", "--worktree", "user.name", "Mallory"]);
        git(&["config", "--worktree", "core.hooksPath", "/dev/null"]);
        git(&["update-ref", "refs/worktree/mine", "HEAD"]);
        git(&["bisect", "reset"]);
        git(&["add", "new/untracked"]);
    })
    .await;
    let second = spec(&sandbox, "2");
    assert!(repo.take_slot(&pool(&sandbox), &second, Keep::Tracked).await.unwrap());
    assert_fresh(&sandbox, &repo, &second).await;
    let (found, _) = sandbox.try_git_at(&second.path, &["rev-parse", "--verify", "-q", "refs/worktree/mine"]);
    assert!(!found, "a ref of the earlier task's own is still there");
    assert!(sandbox.dir().join("home").exists(), "went through a link");
}

#[tokio::test]
async fn ignored_files_stay_when_wanted_and_nothing_else() {
    let sandbox = Sandbox::new().await;
    let repo = sandbox.repo().await;
    sandbox.commit("base", &[("src/deep/file", "f"), (".gitignore", "target/\n*.log\n")]);
    pooled(&sandbox, &repo, "1", |tree| {
        write(tree, "target/cache", "warm");
        sandbox.git_at(tree, &["init", "-q", "target/checkouts/inner"]);
        write(tree, "src/x.log", "log");
        write(tree, "new/file", "secret");
        write(tree, "new/x.log", "log");
        sandbox.git_at(tree, &["init", "-q", "inner"]);
        write(tree, "inner/file", "secret");
        sandbox.git_at(tree, &["init", "-q", "src/deep"]);
        write(tree, "src/deep/file", "changed");
    })
    .await;
    let second = spec(&sandbox, "2");
    assert!(repo.take_slot(&pool(&sandbox), &second, Keep::WithIgnored).await.unwrap());
    assert_eq!(sandbox.git_at(&second.path, &["status", "--porcelain"]), "");
    let read = |path: &str| fs::read_to_string(second.path.join(path)).ok();
    assert_eq!(read("target/cache").as_deref(), Some("warm"));
    assert!(second.path.join("target/checkouts/inner/.git").exists());
    assert_eq!(read("src/x.log").as_deref(), Some("log"));
    assert_eq!(read("new/x.log").as_deref(), Some("log"));
    assert_eq!(read("src/deep/file").as_deref(), Some("f"));
    for gone in ["new/file", "inner", "src/deep/.git"] {
        assert!(!second.path.join(gone).exists(), "{gone}");
    }
}

#[tokio::test]
async fn what_is_no_good_as_a_slot_is_left_to_be_removed() {
    let sandbox = Sandbox::new().await;
    let repo = sandbox.repo().await;
    let pool = pool(&sandbox);
    pooled(&sandbox, &repo, "1", |_| {}).await;
    let two = spec(&sandbox, "2");
    repo.create_worktree(&two).await.unwrap();
    assert!(!pool_away(&repo, &two.path, &pool, 1).await.unwrap(), "the pool was full");
    assert!(two.path.join("a").exists());
    sandbox.commit("theirs", &[("a", "theirs\n")]);
    write(&two.path, "a", "ours\n");
    sandbox.git_at(&two.path, &["commit", "-qam", "ours"]);
    assert!(!sandbox.try_git_at(&two.path, &["rebase", "-q", "main"]).0);
    assert!(!pool_away(&repo, &two.path, &pool, 9).await.unwrap(), "in the middle of a rebase");
    sandbox.git_at(&two.path, &["rebase", "--abort"]);
    sandbox.git_at(&two.path, &["bisect", "start"]);
    assert!(!pool_away(&repo, &two.path, &pool, 9).await.unwrap(), "in the middle of a search");
    sandbox.git_at(&two.path, &["bisect", "reset"]);
    sandbox.git(&["worktree", "lock", two.path.to_str().unwrap()]);
    let refused = async |path: &Path| match pool_away(&repo, path, &pool, 9).await {
        Err(GitError::NotOurWorktree { reason, .. }) => reason,
        other => panic!("{other:?}"),
    };
    assert_eq!(refused(&two.path).await, ForeignReason::Locked { reason: String::new() });
    sandbox.git(&["worktree", "unlock", two.path.to_str().unwrap()]);
    assert_eq!(refused(repo.root()).await, ForeignReason::MainWorktree);
    assert_eq!(refused(sandbox.dir()).await, ForeignReason::NotRegistered);
    assert!(pool_away(&repo, &two.path, &pool, 9).await.unwrap());
    let three = spec(&sandbox, "3");
    repo.create_worktree(&three).await.unwrap();
    fs::remove_dir_all(&three.path).unwrap();
    assert!(!pool_away(&repo, &three.path, &pool, 9).await.unwrap(), "its directory was gone");
    assert_eq!(repo.slots(&pool).await.unwrap().len(), 2);
}

#[tokio::test]
async fn a_slot_is_refused_where_a_creation_would_be() {
    let sandbox = Sandbox::new().await;
    let repo = sandbox.repo().await;
    let pool = pool(&sandbox);
    pooled(&sandbox, &repo, "1", |_| {}).await;
    let two = spec(&sandbox, "2");
    write(&two.path, "mine", "x");
    let occupied = repo.take_slot(&pool, &two, Keep::Tracked).await;
    assert!(matches!(occupied, Err(GitError::PathOccupied { .. })), "{occupied:?}");
    fs::remove_dir_all(&two.path).unwrap();
    let unknown = NewWorktree { base: "nothing".to_owned(), ..two.clone() };
    let refused = repo.take_slot(&pool, &unknown, Keep::Tracked).await;
    assert!(matches!(refused, Err(GitError::UnknownRevision { .. })), "{refused:?}");
    let in_use = NewWorktree { branch: "main".to_owned(), ..two.clone() };
    let refused = repo.take_slot(&pool, &in_use, Keep::Tracked).await;
    assert!(matches!(refused, Err(GitError::BranchCheckedOut { .. })), "{refused:?}");
    assert_eq!(repo.slots(&pool).await.unwrap().len(), 1, "a slot was lost");
    // A branch that is there is attached as it stands.
    sandbox.git(&["branch", "forge/2"]);
    let tip = sandbox.head();
    sandbox.commit("later", &[("b", "b")]);
    assert!(repo.take_slot(&pool, &two, Keep::Tracked).await.unwrap());
    assert_eq!(repo.worktree_at(&two.path).head().await.unwrap(), tip);
    assert_fresh(&sandbox, &repo, &two).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn two_callers_never_get_the_same_slot() {
    let sandbox = Sandbox::new().await;
    let repo = sandbox.repo().await;
    for number in 0..3 {
        pooled(&sandbox, &repo, &number.to_string(), |_| {}).await;
    }
    let mut running = tokio::task::JoinSet::new();
    for number in 10..16 {
        let (repo, pool, spec) = (repo.clone(), pool(&sandbox), spec(&sandbox, &number.to_string()));
        running.spawn(async move { (repo.take_slot(&pool, &spec, Keep::Tracked).await.unwrap(), spec) });
    }
    let mut taken = Vec::new();
    while let Some(done) = running.join_next().await {
        let (got, spec) = done.unwrap();
        assert_eq!(got, spec.path.exists());
        taken.extend(got.then_some(spec));
    }
    assert_eq!(taken.len(), 3);
    for spec in &taken {
        assert_fresh(&sandbox, &repo, spec).await;
    }
}

#[tokio::test]
async fn a_broken_slot_is_dropped_and_the_next_one_taken() {
    let sandbox = Sandbox::new().await;
    let repo = sandbox.repo().await;
    let pool = pool(&sandbox);
    for name in ["good", "torn", "lost", "headless"] {
        pooled(&sandbox, &repo, name, |_| {}).await;
    }
    // The newest is taken first.
    let slots = repo.slots(&pool).await.unwrap();
    fs::write(repo.admin_dir(&slots[1]).unwrap().join("index"), "nonsense").unwrap();
    fs::remove_file(repo.admin_dir(&slots[2]).unwrap().join("index")).unwrap();
    fs::remove_file(slots[3].join(".git")).unwrap();
    let two = spec(&sandbox, "2");
    assert!(repo.take_slot(&pool, &two, Keep::Tracked).await.unwrap());
    assert_fresh(&sandbox, &repo, &two).await;
    assert_eq!(repo.slots(&pool).await.unwrap(), Vec::<PathBuf>::new());
    repo.drop_slots(&pool, 0).await.unwrap();
    assert_eq!(fs::read_dir(&pool).unwrap().count(), 0);
    assert_eq!(repo.worktrees().await.unwrap().len(), 2);
    // Nothing but a broken one: whoever asks creates, with the same branch.
    pooled(&sandbox, &repo, "torn-too", |_| {}).await;
    let slots = repo.slots(&pool).await.unwrap();
    fs::write(repo.admin_dir(&slots[0]).unwrap().join("index"), "nonsense").unwrap();
    let three = spec(&sandbox, "3");
    assert!(!repo.take_slot(&pool, &three, Keep::Tracked).await.unwrap());
    assert!(!three.path.exists());
    repo.create_worktree(&three).await.unwrap();
    assert_fresh(&sandbox, &repo, &three).await;
}

#[tokio::test]
async fn the_oldest_slots_and_what_kills_left_are_dropped() {
    let sandbox = Sandbox::new().await;
    let repo = sandbox.repo().await;
    let pool = pool(&sandbox);
    repo.drop_slots(&pool, 0).await.unwrap();
    for number in 0..4 {
        pooled(&sandbox, &repo, &number.to_string(), |_| {}).await;
    }
    write(&pool, "taken-x/file", "half");
    write(&pool, ".trash-x/file", "half");
    write(&pool, "README", "a person's");
    let slots = repo.slots(&pool).await.unwrap();
    repo.drop_slots(&pool, 2).await.unwrap();
    assert_eq!(repo.slots(&pool).await.unwrap(), slots[2..]);
    assert_eq!(fs::read_dir(&pool).unwrap().count(), 3);
    assert_eq!(repo.worktrees().await.unwrap().len(), 3);
    repo.drop_slots(&pool, 0).await.unwrap();
    assert_eq!(fs::read_dir(&pool).unwrap().count(), 1);
}

/// What `take_slot` does up to the point where the files are in their place, stopped after some steps.
async fn killed_after(repo: &Repo, pool: &Path, spec: &NewWorktree, steps: u32) {
    let path = real_path(&spec.path).unwrap();
    let prepared = repo.prepare_path(spec, &path).await.unwrap().unwrap();
    let claimed = repo.claim(&real_path(pool).unwrap()).unwrap().unwrap();
    if steps == 0 {
        return;
    }
    let site = prepared.site.clone();
    let admin = repo.register(spec, &site, &prepared, &[]).await.unwrap();
    let moves = [
        (claimed.admin.join("index"), admin.join("index")),
        (site.join(".git"), claimed.now.join(".git")),
        (claimed.now.clone(), site.clone()),
    ];
    for (place, (from, to)) in moves.into_iter().enumerate() {
        if place as u32 + 1 == steps {
            return;
        }
        if to == site {
            fs::remove_dir(&site).unwrap();
        }
        fs::rename(from, to).unwrap();
    }
}

#[tokio::test]
async fn a_taking_killed_at_any_step_can_be_repeated() {
    let sandbox = Sandbox::new().await;
    let repo = sandbox.repo().await;
    let pool = pool(&sandbox);
    for steps in 0..=4 {
        for retry_by_creation in [true, false] {
            for number in 0..2 {
                let name = format!("{steps}-{retry_by_creation}-{number}");
                pooled(&sandbox, &repo, &name, |tree| write(tree, "left", "secret")).await;
            }
            let spec = spec(&sandbox, &format!("{steps}-{retry_by_creation}"));
            killed_after(&repo, &pool, &spec, steps).await;
            if retry_by_creation {
                repo.create_worktree(&spec).await.unwrap();
            } else {
                assert!(repo.take_slot(&pool, &spec, Keep::WithIgnored).await.unwrap());
            }
            assert_fresh(&sandbox, &repo, &spec).await;
            remove_away(&repo, &spec.path).await.unwrap().delete().await.unwrap();
            repo.drop_slots(&pool, 0).await.unwrap();
            assert_eq!(fs::read_dir(&pool).unwrap().count(), 0, "after {steps} steps");
            assert_eq!(repo.worktrees().await.unwrap().len(), 1, "after {steps} steps");
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_taking_given_up_at_any_time_can_be_repeated() {
    let sandbox = Sandbox::new().await;
    let files: Vec<String> = (0..300).map(|n| format!("dir/{n}")).collect();
    let files: Vec<(&str, &str)> = files.iter().map(|f| (f.as_str(), "x\n")).collect();
    sandbox.commit("many", &files);
    let repo = sandbox.repo().await;
    for pause in [0, 2, 5, 8, 12, 18, 30] {
        pooled(&sandbox, &repo, &format!("old-{pause}"), |tree| {
            fs::remove_dir_all(tree.join("dir")).unwrap();
            write(tree, "left", "secret");
        })
        .await;
        let spec = spec(&sandbox, &pause.to_string());
        let (given_up, wanted, pool) = (repo.clone(), spec.clone(), pool(&sandbox));
        let running = tokio::spawn(async move { given_up.take_slot(&pool, &wanted, Keep::Tracked).await });
        tokio::time::sleep(std::time::Duration::from_millis(pause)).await;
        running.abort();
        let _aborted = running.await;
        repo.create_worktree(&spec).await.unwrap();
        assert_fresh(&sandbox, &repo, &spec).await;
        repo.drop_slots(&self::pool(&sandbox), 0).await.unwrap();
    }
    assert_eq!(repo.worktrees().await.unwrap().len(), 8);
}
