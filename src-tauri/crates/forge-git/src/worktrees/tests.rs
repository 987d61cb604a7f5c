use std::fs;
use std::os::unix::fs::symlink;

use super::*;
use crate::testing::{Sandbox, remove_away};

fn spec(sandbox: &Sandbox, name: &str) -> NewWorktree {
    NewWorktree {
        path: sandbox.dir().join("work").join(name).join("tree"),
        branch: format!("forge/{name}"),
        base: "main".to_owned(),
    }
}

#[tokio::test]
async fn a_worktree_is_made_once_and_listed() {
    let sandbox = Sandbox::new().await;
    let repo = sandbox.repo().await;
    let spec = spec(&sandbox, "tâsk 1");
    repo.create_worktree(&spec).await.unwrap_err();
    let spec = NewWorktree { branch: "forge/1".to_owned(), ..spec };
    repo.create_worktree(&spec).await.unwrap();
    fs::write(spec.path.join("new"), "kept").unwrap();
    repo.create_worktree(&spec).await.unwrap();
    assert_eq!(fs::read_to_string(spec.path.join("new")).unwrap(), "kept");
    let list = repo.worktrees().await.unwrap();
    assert_eq!(list.len(), 2);
    assert_eq!((list[0].path.as_path(), list[0].branch.as_deref()), (repo.root(), Some("main")));
    assert_eq!((&list[1].path, list[1].branch.as_deref()), (&spec.path, Some("forge/1")));
    assert_eq!(list[1].head.as_deref(), Some(sandbox.head().as_str()));
    assert!(!list[1].prunable);
}

#[tokio::test]
async fn no_branch_of_a_remote_is_tracked_or_guessed() {
    let sandbox = Sandbox::new().await;
    let repo = sandbox.repo().await;
    sandbox.git(&["config", "branch.autoSetupMerge", "always"]);
    sandbox.git(&["config", "worktree.guessRemote", "true"]);
    repo.create_worktree(&spec(&sandbox, "1")).await.unwrap();
    let (found, _) = sandbox.try_git_at(&sandbox.path(""), &["config", "--get-regexp", "^branch\\.forge"]);
    assert!(!found);
}

#[tokio::test]
async fn an_existing_branch_is_attached_where_it_stands() {
    let sandbox = Sandbox::new().await;
    let repo = sandbox.repo().await;
    let spec = spec(&sandbox, "1");
    sandbox.git(&["branch", "forge/1"]);
    let tip = sandbox.head();
    sandbox.commit("later", &[("b", "b")]);
    repo.create_worktree(&spec).await.unwrap();
    assert_eq!(repo.worktree_at(&spec.path).head().await.unwrap(), tip);
}

/// Registers a worktree, deletes its branch as a person may at any time, and fills the worktree.
async fn fill_without_branch(sandbox: &Sandbox, spec: &NewWorktree) -> PathBuf {
    let repo = sandbox.repo().await;
    let tree = turn(&spec.path, Purpose::Tree).await;
    let list = turn(repo.common_dir(), Purpose::Worktrees).await;
    let prepared = repo.prepare_path(spec, &spec.path).await.unwrap().unwrap();
    let admin = repo.register(spec, &prepared.site, &prepared, &[&tree, &list]).await.unwrap();
    sandbox.git(&["update-ref", "-d", &format!("refs/heads/{}", spec.branch)]);
    let rules = repo.checkout_rules().await.unwrap();
    repo.fill(&prepared.site, &admin, &prepared.start, rules, &tree).await.unwrap();
    prepared.site
}

#[tokio::test]
async fn branch_deleted_while_its_worktree_is_filled_begins_again_with_all_files() {
    let sandbox = Sandbox::new().await;
    let repo = sandbox.repo().await;
    let new = fill_without_branch(&sandbox, &spec(&sandbox, "1")).await;
    assert_eq!(repo.worktree_at(&new).head().await.unwrap(), sandbox.head());
    assert!(repo.worktree_at(&new).status().await.unwrap().is_empty());
    assert!(new.join("a").is_file());
    let existing = spec(&sandbox, "2");
    sandbox.commit("work", &[("work", "work")]);
    let work = sandbox.head();
    sandbox.git(&["branch", "forge/2"]);
    sandbox.git(&["reset", "-q", "--hard", "HEAD~1"]);
    let existing = fill_without_branch(&sandbox, &existing).await;
    assert_eq!(repo.worktree_at(&existing).head().await.unwrap(), work);
    assert!(repo.worktree_at(&existing).status().await.unwrap().is_empty());
}

#[tokio::test]
async fn a_lost_directory_is_made_again() {
    let sandbox = Sandbox::new().await;
    let repo = sandbox.repo().await;
    let spec = spec(&sandbox, "1");
    repo.create_worktree(&spec).await.unwrap();
    fs::write(spec.path.join("made"), "x").unwrap();
    let made = repo.worktree_at(&spec.path).commit_all("made", None).await.unwrap().unwrap();
    fs::remove_dir_all(&spec.path).unwrap();
    assert!(repo.worktrees().await.unwrap()[1].prunable);
    let elsewhere = NewWorktree { path: sandbox.dir().join("elsewhere"), ..spec.clone() };
    repo.create_worktree(&elsewhere).await.unwrap();
    assert_eq!(repo.worktree_at(&elsewhere.path).head().await.unwrap(), made);
    let taken = repo.create_worktree(&spec).await;
    assert!(matches!(taken, Err(GitError::BranchCheckedOut { worktree, .. }) if worktree == elsewhere.path));
}

#[tokio::test]
async fn what_a_killed_creation_left_is_repaired() {
    let sandbox = Sandbox::new().await;
    let repo = sandbox.repo().await;
    // Killed while checking out: registered, locked, no index.
    let spec = spec(&sandbox, "1");
    repo.create_worktree(&spec).await.unwrap();
    let admin = repo.admin_dir(&spec.path).unwrap();
    fs::write(admin.join("locked"), "initializing").unwrap();
    fs::remove_file(admin.join("index")).unwrap();
    fs::remove_file(spec.path.join("a")).unwrap();
    repo.create_worktree(&spec).await.unwrap();
    assert_eq!(fs::read_to_string(spec.path.join("a")).unwrap(), "a\n");
    assert_eq!(repo.worktree_at(&spec.path).status().await.unwrap(), []);
    // Killed before git could register it; with a file beside it, somebody works there.
    let admin = repo.admin_dir(&spec.path).unwrap();
    fs::remove_dir_all(admin).unwrap();
    let occupied = repo.create_worktree(&spec).await;
    assert!(matches!(occupied, Err(GitError::PathOccupied { .. })), "{occupied:?}");
    fs::remove_file(spec.path.join("a")).unwrap();
    repo.create_worktree(&spec).await.unwrap();
    assert_eq!(repo.worktree_at(&spec.path).status().await.unwrap(), []);
    let parent = spec.path.parent().unwrap();
    assert_eq!(Trash::left_in(parent).unwrap(), []);
}

#[tokio::test]
async fn one_comes_to_its_path_when_it_is_complete_and_what_is_written_there_stays() {
    let sandbox = Sandbox::new().await;
    sandbox.commit("rules", &[(".gitattributes", "f filter=look\n"), ("f", "x\n")]);
    let (repo, spec) = (sandbox.repo().await, spec(&sandbox, "1"));
    let seen = sandbox.path("seen");
    let smudge = format!("cat; ls -d '{}' >>'{}' 2>/dev/null", spec.path.display(), seen.display());
    sandbox.git(&["config", "filter.look.smudge", &sandbox.script("look", &smudge)]);
    repo.create_worktree(&spec).await.unwrap();
    assert_eq!(fs::read_to_string(&seen).unwrap(), "", "it was there before its files");
    assert_eq!(fs::read_to_string(spec.path.join("f")).unwrap(), "x\n");
    assert_eq!(fs::read_dir(spec.path.parent().unwrap()).unwrap().count(), 1);
    // Killed before it was set free; somebody works in it since.
    let admin = repo.admin_dir(&spec.path).unwrap();
    fs::write(admin.join("locked"), "initializing").unwrap();
    fs::write(spec.path.join("mine"), "x").unwrap();
    repo.create_worktree(&spec).await.unwrap();
    assert!(spec.path.join("mine").exists() && !admin.join("locked").exists());
    // Without an index nobody knows what is missing.
    fs::remove_file(admin.join("index")).unwrap();
    let occupied = repo.create_worktree(&spec).await;
    assert!(matches!(occupied, Err(GitError::PathOccupied { .. })), "{occupied:?}");
}

#[tokio::test]
async fn what_a_kill_left_where_it_was_made_is_cleared_whether_it_is_wanted_or_not() {
    let sandbox = Sandbox::new().await;
    let repo = sandbox.repo().await;
    for is_wanted in [true, false] {
        let spec = spec(&sandbox, if is_wanted { "1" } else { "2" });
        let site = site_of(&spec.path);
        sandbox.git(&["worktree", "add", "-q", "--lock", "-b", &spec.branch, site.to_str().unwrap()]);
        if is_wanted {
            repo.create_worktree(&spec).await.unwrap();
            assert_eq!(repo.worktree_at(&spec.path).status().await.unwrap(), []);
        } else {
            repo.forget_worktree(&spec.path).await.unwrap();
        }
        assert!(!site.parent().unwrap().exists());
    }
    assert_eq!(repo.worktrees().await.unwrap().len(), 2);
}

#[tokio::test]
async fn other_things_in_the_place_are_left_alone() {
    let sandbox = Sandbox::new().await;
    let repo = sandbox.repo().await;
    let spec = spec(&sandbox, "1");
    fs::create_dir_all(&spec.path).unwrap();
    fs::write(spec.path.join("mine"), "x").unwrap();
    let occupied = repo.create_worktree(&spec).await;
    assert!(matches!(occupied, Err(GitError::PathOccupied { .. })), "{occupied:?}");
    fs::remove_file(spec.path.join("mine")).unwrap();
    repo.create_worktree(&spec).await.unwrap();
    let other = NewWorktree { branch: "forge/2".to_owned(), ..spec.clone() };
    let occupied = repo.create_worktree(&other).await;
    assert!(matches!(occupied, Err(GitError::PathOccupied { .. })), "{occupied:?}");
    let unknown =
        NewWorktree { base: "nothing".to_owned(), path: sandbox.dir().join("x"), branch: "y".to_owned() };
    let refused = repo.create_worktree(&unknown).await;
    assert!(matches!(refused, Err(GitError::UnknownRevision { .. })), "{refused:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn thirty_at_once_all_succeed() {
    let sandbox = Sandbox::new().await;
    let repo = sandbox.repo().await;
    let mut running = tokio::task::JoinSet::new();
    for number in 0..30 {
        // The same last part: git has to tell their administrative directories apart.
        let spec = spec(&sandbox, &number.to_string());
        let repo = Repo::open(&sandbox.git, repo.root()).await.unwrap();
        running.spawn(async move { repo.create_worktree(&spec).await.map(|()| spec) });
    }
    while let Some(made) = running.join_next().await {
        let spec = made.unwrap().unwrap();
        assert_eq!(fs::read_to_string(spec.path.join("a")).unwrap(), "a\n");
    }
    assert_eq!(repo.worktrees().await.unwrap().len(), 31);
}

#[tokio::test]
async fn removal_frees_the_path_at_once_and_deletes_later() {
    let sandbox = Sandbox::new().await;
    let repo = sandbox.repo().await;
    let (one, two) = (spec(&sandbox, "1"), spec(&sandbox, "2"));
    repo.create_worktree(&one).await.unwrap();
    repo.create_worktree(&two).await.unwrap();
    fs::remove_dir_all(&two.path).unwrap();
    let trash = remove_away(&repo, &one.path).await.unwrap();
    assert!(!one.path.exists());
    let list = repo.worktrees().await.unwrap();
    assert_eq!(list.len(), 2, "another lost worktree was forgotten: {list:?}");
    let aside = trash.path().unwrap().to_owned();
    assert!(aside.join("a").exists());
    repo.create_worktree(&one).await.unwrap();
    trash.delete().await.unwrap();
    assert!(!aside.exists() && one.path.join("a").exists());
    remove_away(&repo, &two.path).await.unwrap().delete().await.unwrap();
    remove_away(&repo, &one.path).await.unwrap().delete().await.unwrap();
    assert_eq!(repo.worktrees().await.unwrap().len(), 1);
    assert!(!repo.common_dir().join("worktrees").exists());
}

#[tokio::test]
async fn nothing_foreign_is_removed() {
    let sandbox = Sandbox::new().await;
    let other = Sandbox::new().await;
    let (repo, foreign) = (sandbox.repo().await, other.repo().await);
    let (ours, theirs) = (spec(&sandbox, "1"), spec(&other, "1"));
    repo.create_worktree(&ours).await.unwrap();
    foreign.create_worktree(&theirs).await.unwrap();
    let refused = async |path: &Path| match remove_away(&repo, path).await {
        Err(GitError::NotOurWorktree { reason, .. }) => reason,
        other => panic!("{}: {other:?}", path.display()),
    };
    assert_eq!(refused(repo.root()).await, ForeignReason::MainWorktree);
    assert_eq!(refused(&theirs.path).await, ForeignReason::NotRegistered);
    assert_eq!(refused(&sandbox.dir().join("home")).await, ForeignReason::NotRegistered);
    assert_eq!(refused(&sandbox.dir().join("nowhere")).await, ForeignReason::NotRegistered);
    sandbox.git(&["worktree", "lock", "--reason", "travels", ours.path.to_str().unwrap()]);
    assert_eq!(refused(&ours.path).await, ForeignReason::Locked { reason: "travels".to_owned() });
    sandbox.git(&["worktree", "unlock", ours.path.to_str().unwrap()]);
    // Its place was taken by something that belongs to another repository.
    fs::copy(theirs.path.join(".git"), ours.path.join(".git")).unwrap();
    assert_eq!(refused(&ours.path).await, ForeignReason::ForeignDotGit);
    fs::remove_file(ours.path.join(".git")).unwrap();
    symlink(theirs.path.join(".git"), ours.path.join(".git")).unwrap();
    assert_eq!(refused(&ours.path).await, ForeignReason::ForeignDotGit);
    fs::remove_dir_all(&ours.path).unwrap();
    symlink(&theirs.path, &ours.path).unwrap();
    assert_eq!(refused(&ours.path).await, ForeignReason::ForeignDotGit);
    assert!(theirs.path.join("a").exists());
}

#[tokio::test]
async fn one_lost_worktree_is_forgotten_and_those_beside_it_are_not() {
    let sandbox = Sandbox::new().await;
    let repo = sandbox.repo().await;
    let [gone, locked, away] = ["1", "2", "3"].map(|number| spec(&sandbox, number));
    for spec in [&gone, &locked, &away] {
        repo.create_worktree(spec).await.unwrap();
    }
    sandbox.git(&["worktree", "lock", locked.path.to_str().unwrap()]);
    for spec in [&gone, &locked] {
        fs::remove_dir_all(&spec.path).unwrap();
        repo.forget_worktree(&spec.path).await.unwrap();
    }
    // On a disk that is not there just now.
    fs::rename(&away.path, sandbox.path("elsewhere")).unwrap();
    repo.forget_worktree(&gone.path).await.unwrap();
    let list = repo.worktrees().await.unwrap();
    let paths: Vec<&Path> = list.iter().map(|entry| entry.path.as_path()).collect();
    assert_eq!(paths, [repo.root(), locked.path.as_path(), away.path.as_path()]);
}

#[tokio::test]
async fn a_lock_of_its_own_branch_that_nobody_holds_is_removed() {
    let sandbox = Sandbox::new().await;
    let repo = sandbox.repo().await;
    let (left, held) = (spec(&sandbox, "1"), spec(&sandbox, "2"));
    fs::create_dir_all(repo.common_dir().join("refs/heads/forge")).unwrap();
    fs::write(repo.common_dir().join("refs/heads/forge/1.lock"), "").unwrap();
    repo.create_worktree(&left).await.unwrap();
    let lock = fs::File::create(repo.common_dir().join("refs/heads/forge/2.lock")).unwrap();
    let refused = repo.create_worktree(&held).await;
    assert!(matches!(refused, Err(GitError::IndexLocked { holder: Some(_), .. })), "{refused:?}");
    drop(lock);
    repo.create_worktree(&held).await.unwrap();
}

#[tokio::test]
async fn a_left_behind_lock_is_reported() {
    let sandbox = Sandbox::new().await;
    let repo = sandbox.repo().await;
    let lock = repo.common_dir().join("packed-refs.lock");
    // A ref that is a directory of refs: git cannot make the branch, with a lock lying there.
    sandbox.git(&["branch", "forge"]);
    fs::write(&lock, "").unwrap();
    let refused = repo.create_worktree(&spec(&sandbox, "1")).await;
    assert!(matches!(refused, Err(GitError::IndexLocked { path, holder: None }) if path == lock));
}

#[tokio::test]
async fn private_ignore_lines_are_added_once() {
    let sandbox = Sandbox::new().await;
    let repo = sandbox.repo().await;
    let path = repo.common_dir().join("info/exclude");
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(&path, "theirs").unwrap();
    repo.exclude(&[".forge/", "*.tmp"]).await.unwrap();
    repo.exclude(&["*.tmp", ".forge/", "more"]).await.unwrap();
    assert_eq!(fs::read_to_string(&path).unwrap(), "theirs\n.forge/\n*.tmp\nmore\n");
    fs::remove_dir_all(path.parent().unwrap()).unwrap();
    repo.exclude(&["x"]).await.unwrap();
    sandbox.write("x", "");
    assert_eq!(repo.main_worktree().status().await.unwrap(), []);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_creation_given_up_at_any_time_can_be_repeated() {
    let sandbox = Sandbox::new().await;
    let files: Vec<String> = (0..400).map(|n| format!("dir/{n}")).collect();
    let files: Vec<(&str, &str)> = files.iter().map(|f| (f.as_str(), "x\n")).collect();
    sandbox.commit("many", &files);
    let repo = sandbox.repo().await;
    for pause in [0, 1, 3, 6, 10, 15] {
        let spec = spec(&sandbox, &pause.to_string());
        let (given_up, wanted) = (repo.clone(), spec.clone());
        let running = tokio::spawn(async move { given_up.create_worktree(&wanted).await });
        tokio::time::sleep(Duration::from_millis(pause)).await;
        running.abort();
        let _aborted = running.await;
        repo.create_worktree(&spec).await.unwrap();
        assert_eq!(repo.worktree_at(&spec.path).status().await.unwrap(), [], "after {pause} ms");
        assert_eq!(Trash::left_in(spec.path.parent().unwrap()).unwrap(), []);
    }
    assert_eq!(repo.worktrees().await.unwrap().len(), 7);
}
