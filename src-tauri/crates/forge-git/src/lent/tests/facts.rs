//! What is lent, and what comes back.

use std::os::unix::fs::MetadataExt as _;

use sha2::{Digest as _, Sha256};

use super::*;

#[tokio::test]
async fn commits_of_programs_are_made_in_the_lent_directory_and_come_back() {
    let lent = Lent::new().await;
    let base = lent.sandbox.head();
    let readable = lent.lend().await;
    assert_eq!(readable, [lent.repo.common_dir()]);
    assert_eq!(lent.git(&["rev-parse", "--absolute-git-dir"]), lent.folder.to_str().unwrap());
    assert_eq!(lent.git(&["rev-parse", "--show-toplevel"]), lent.tree.to_str().unwrap());
    assert_eq!(lent.git(&["status", "--porcelain", "--branch"]), "## forge/7");
    lent.write("new", "new\n");
    lent.git(&["add", "-A"]);
    lent.git(&["commit", "-qm", "work"]);
    lent.write("staged", "staged\n");
    lent.git(&["add", "staged"]);
    let made = lent.git(&["rev-parse", "HEAD"]);
    assert_eq!(lent.value("refs/heads/forge/7"), Some(base), "the repository is untouched");
    let is_there = lent.sandbox.try_git_at(lent.repo.root(), &["cat-file", "-e", &made]).0;
    assert!(!is_there, "its objects, too");
    let back = lent.take_back().await;
    assert_eq!(back, TakenBack { was_lent: true, head: Some(made.clone()), ..TakenBack::default() });
    assert_eq!(lent.value("refs/heads/forge/7"), Some(made.clone()));
    assert_eq!(lent.git(&["status", "--porcelain", "--branch"]), "## forge/7\nA  staged");
    assert_eq!(lent.git(&["cat-file", "-p", ":staged"]), "staged");
    assert_eq!(lent.worktree().head().await.unwrap(), made);
    lent.assert_whole();
    assert_eq!(lent.worktree().take_back(&lent.folder, KEY).await.unwrap(), TakenBack::default());
}

#[tokio::test]
async fn lending_twice_changes_nothing_and_nothing_changed_is_nothing_taken() {
    let lent = Lent::new().await;
    lent.lend().await;
    lent.write("new", "new\n");
    lent.git(&["add", "new"]);
    lent.lend().await;
    assert_eq!(lent.git(&["status", "--porcelain"]), "A  new");
    lent.take_back().await;
    let index = |lent: &Lent| fs::metadata(lent.admin().join("index")).unwrap();
    let before = index(&lent);
    lent.lend().await;
    assert_eq!(lent.git(&["status", "--porcelain"]), "A  new");
    let back = lent.take_back().await;
    assert_eq!(back, TakenBack { was_lent: true, ..TakenBack::default() });
    assert_eq!((index(&lent).ino(), index(&lent).mtime_nsec()), (before.ino(), before.mtime_nsec()));
}

#[tokio::test]
async fn refs_are_lent_as_they_are_packed_or_not() {
    let lent = Lent::new().await;
    lent.sandbox.git(&["branch", "packed"]);
    lent.sandbox.git(&["tag", "-m", "annotated", "v1"]);
    lent.sandbox.git(&["pack-refs", "--all"]);
    lent.sandbox.commit("later", &[("later", "later\n")]);
    lent.sandbox.git(&["tag", "-m", "annotated", "v2"]);
    lent.sandbox.git(&["update-ref", "refs/remotes/origin/main", "main"]);
    lent.sandbox.git(&["symbolic-ref", "refs/remotes/origin/HEAD", "refs/remotes/origin/main"]);
    let shown = |dir: &Path| lent.sandbox.git_at(dir, &["show-ref", "--dereference"]);
    let before = shown(lent.repo.root());
    lent.lend().await;
    assert_eq!(shown(&lent.tree), before);
    assert_eq!(lent.git(&["describe", "main"]), "v2");
    assert_eq!(lent.git(&["symbolic-ref", "refs/remotes/origin/HEAD"]), "refs/remotes/origin/main");
    assert_eq!(lent.take_back().await, TakenBack { was_lent: true, ..TakenBack::default() });
    assert_eq!(shown(lent.repo.root()), before);
}

#[tokio::test]
async fn settings_hooks_and_ignored_files_are_those_of_the_repository() {
    let lent = Lent::new().await;
    lent.sandbox.git(&["config", "user.name", "Configured"]);
    lent.sandbox.write(".git/info/exclude", "ignored\n");
    let seen = lent.sandbox.dir().join("seen");
    lent.sandbox.hook("pre-commit", &format!("pwd -P >{}", seen.display()));
    lent.lend().await;
    lent.write("ignored", "x");
    assert_eq!(lent.git(&["config", "user.name"]), "Configured");
    assert_eq!(lent.git(&["status", "--porcelain"]), "");
    lent.git(&["commit", "-q", "--allow-empty", "-m", "hooked"]);
    assert_eq!(fs::read_to_string(&seen).unwrap().trim_end(), lent.tree.to_str().unwrap());
    lent.take_back().await;
}

#[tokio::test]
async fn settings_that_depend_on_the_place_of_the_git_directory_still_count() {
    let sandbox = Sandbox::new().await;
    let conditional = sandbox.dir().join("work-settings");
    fs::write(&conditional, "[forge]\n\tplace = work\n").unwrap();
    let condition =
        format!("includeIf.gitdir:{}/.path", sandbox.path("").display().to_string().trim_end_matches('/'));
    sandbox.git(&["config", &condition, conditional.to_str().unwrap()]);
    let lent = Lent::of(sandbox).await;
    assert_eq!(lent.git(&["config", "forge.place"]), "work", "the test's own condition");
    lent.lend().await;
    assert_eq!(lent.git(&["config", "forge.place"]), "work");
    lent.take_back().await;
}

#[tokio::test]
async fn a_repository_with_extensions_is_lent_with_them() {
    let lent = Lent::of(Sandbox::with_init(&["--object-format=sha256"]).await).await;
    lent.sandbox.git(&["config", "extensions.worktreeConfig", "true"]);
    lent.git(&["config", "--worktree", "forge.own", "yes"]);
    lent.lend().await;
    assert_eq!(lent.git(&["config", "forge.own"]), "yes");
    lent.write("a", "changed\n");
    lent.git(&["commit", "-qam", "work"]);
    let made = lent.git(&["rev-parse", "HEAD"]);
    assert_eq!(made.len(), 64);
    assert_eq!(lent.take_back().await.head, Some(made.clone()));
    assert_eq!(lent.value("refs/heads/forge/7"), Some(made));
    lent.assert_whole();
}

#[tokio::test]
async fn many_objects_and_repacked_ones_come_back() {
    let lent = Lent::new().await;
    lent.lend().await;
    for number in 0..150 {
        lent.write(&format!("many/{number}"), &format!("content {number}\n"));
    }
    lent.git(&["add", "-A"]);
    lent.git(&["commit", "-qm", "many"]);
    lent.git(&["gc", "-q"]);
    lent.write("a", "more\n");
    lent.git(&["commit", "-qam", "more"]);
    let made = lent.git(&["rev-parse", "HEAD"]);
    assert_eq!(lent.take_back().await.head, Some(made));
    assert_eq!(lent.git(&["status", "--porcelain"]), "");
    lent.assert_whole();
}

#[tokio::test]
async fn branches_tags_and_stashes_of_programs_are_kept_under_the_task() {
    let lent = Lent::new().await;
    lent.sandbox.write("a", "the user's\n");
    lent.sandbox.git(&["stash", "-q"]);
    let users = lent.value("refs/stash");
    lent.lend().await;
    assert_eq!(lent.git(&["stash", "list"]), "");
    lent.git(&["commit", "-q", "--allow-empty", "-m", "on a branch"]);
    lent.git(&["branch", "side/one"]);
    lent.git(&["tag", "-m", "annotated", "v9"]);
    let tag = lent.git(&["rev-parse", "v9"]);
    let mut stashed = Vec::new();
    for content in ["first\n", "second\n"] {
        lent.write("a", content);
        lent.git(&["stash", "-q"]);
        stashed.push(lent.git(&["rev-parse", "stash"]));
    }
    let back = lent.take_back().await;
    let kept = ["heads/side/one", "tags/v9", "stash/1", "stash/2"].map(|name| format!("{PREFIX}/{name}"));
    assert_eq!(back.kept_refs, kept);
    assert_eq!((back.refused_refs, back.left_out), (vec![], vec![]));
    assert_eq!(lent.value(&kept[1]), Some(tag));
    assert_eq!(
        [lent.value(&kept[2]), lent.value(&kept[3])],
        [Some(stashed[0].clone()), Some(stashed[1].clone())]
    );
    assert_eq!(lent.value("refs/stash"), users);
    for name in ["refs/heads/side/one", "refs/tags/v9"] {
        assert_eq!(lent.value(name), None);
    }
    lent.assert_whole();
    lent.repo.forget_sandbox_refs(KEY).await.unwrap();
    assert_eq!(lent.sandbox.git_out(&["for-each-ref", PREFIX]), "");
    lent.repo.forget_sandbox_refs(KEY).await.unwrap();
}

#[tokio::test]
async fn other_refs_do_not_move_and_what_programs_made_of_them_is_kept() {
    let lent = Lent::new().await;
    lent.sandbox.git(&["branch", "other"]);
    lent.sandbox.git(&["branch", "doomed"]);
    let base = lent.sandbox.head();
    lent.lend().await;
    lent.git(&["switch", "-q", "other"]);
    lent.git(&["commit", "-q", "--allow-empty", "-m", "on other"]);
    let moved = lent.git(&["rev-parse", "other"]);
    lent.git(&["branch", "-f", "main", "other"]);
    lent.git(&["branch", "-D", "doomed"]);
    let back = lent.take_back().await;
    let mut refused = back.refused_refs.clone();
    refused.sort();
    assert_eq!(refused, ["refs/heads/doomed", "refs/heads/main", "refs/heads/other"]);
    for name in ["refs/heads/doomed", "refs/heads/main", "refs/heads/other", "refs/heads/forge/7"] {
        assert_eq!(lent.value(name).as_ref(), Some(&base), "{name}");
    }
    assert_eq!(back.kept_refs.len(), 1);
    assert_eq!(lent.value(&back.kept_refs[0]), Some(moved.clone()));
    // Not on `other`, which is elsewhere in the repository.
    assert_eq!(lent.git(&["rev-parse", "HEAD"]), moved);
    assert!(!lent.sandbox.try_git_at(&lent.tree, &["symbolic-ref", "-q", "HEAD"]).0);
}

#[tokio::test]
async fn a_branch_that_programs_made_and_are_on_is_made_in_the_repository() {
    let lent = Lent::new().await;
    lent.lend().await;
    lent.git(&["switch", "-qc", "feature"]);
    lent.git(&["commit", "-q", "--allow-empty", "-m", "on feature"]);
    let made = lent.git(&["rev-parse", "HEAD"]);
    let back = lent.take_back().await;
    assert_eq!((back.head, back.kept_refs, back.refused_refs), (Some(made.clone()), vec![], vec![]));
    assert_eq!(lent.git(&["symbolic-ref", "HEAD"]), "refs/heads/feature");
    assert_eq!(lent.value("refs/heads/feature"), Some(made));
}

#[tokio::test]
async fn one_that_programs_are_on_and_that_another_worktree_has_is_left_for_its_commit() {
    let lent = Lent::new().await;
    lent.lend().await;
    lent.git(&["switch", "-q", "main"]);
    let back = lent.take_back().await;
    assert_eq!((back.refused_refs, back.left_out), (vec![], vec![]));
    assert!(!lent.sandbox.try_git_at(&lent.tree, &["symbolic-ref", "-q", "HEAD"]).0);
    assert_eq!(lent.git(&["rev-parse", "HEAD"]), lent.sandbox.head());
}

#[tokio::test]
async fn a_branch_that_moved_in_the_repository_meanwhile_stays_and_the_programs_commits_are_kept() {
    let lent = Lent::new().await;
    lent.lend().await;
    lent.write("a", "theirs\n");
    lent.git(&["commit", "-qam", "theirs"]);
    let theirs = lent.git(&["rev-parse", "HEAD"]);
    let ours = lent.sandbox.commit("ours", &[("b", "ours\n")]);
    lent.sandbox.git(&["update-ref", "refs/heads/forge/7", &ours]);
    let back = lent.take_back().await;
    assert_eq!(back.refused_refs, ["refs/heads/forge/7"]);
    assert_eq!(back.kept_refs, [format!("{PREFIX}/1")]);
    assert_eq!(lent.value(&format!("{PREFIX}/1")), Some(theirs));
    assert_eq!(lent.value("refs/heads/forge/7"), Some(ours));
    assert_eq!(fs::read_to_string(lent.tree.join("a")).unwrap(), "theirs\n");
}

#[tokio::test]
async fn what_forge_did_meanwhile_stays_where_programs_changed_nothing() {
    let lent = Lent::new().await;
    lent.lend().await;
    let moved = lent.sandbox.commit("ours", &[("b", "ours\n")]);
    lent.sandbox.git(&["update-ref", "refs/heads/forge/7", &moved]);
    let back = lent.take_back().await;
    assert_eq!(back, TakenBack { was_lent: true, ..TakenBack::default() });
    assert_eq!(lent.value("refs/heads/forge/7"), Some(moved));
}

#[tokio::test]
async fn commits_that_were_amended_away_stay_reachable_by_the_log() {
    let lent = Lent::new().await;
    lent.lend().await;
    lent.write("a", "first try\n");
    lent.git(&["commit", "-qam", "first try"]);
    let away = lent.git(&["rev-parse", "HEAD"]);
    lent.write("a", "second try\n");
    lent.git(&["commit", "-qa", "--amend", "-m", "second try"]);
    lent.take_back().await;
    assert_eq!(lent.git(&["rev-parse", "HEAD@{1}"]), away);
    let kept = lent.worktree().back_up("refs/forge/backup/7", "kept").await.unwrap();
    assert_eq!(kept, None, "the amended commit alone is kept");
    assert_eq!(lent.value("refs/forge/backup/7/1"), Some(away));
}

#[tokio::test]
async fn an_unfinished_rebase_goes_there_and_back() {
    let lent = Lent::new().await;
    lent.sandbox.commit("theirs", &[("a", "theirs\n")]);
    lent.write("a", "ours\n");
    lent.git(&["commit", "-qam", "ours"]);
    assert!(!lent.sandbox.try_git_at(&lent.tree, &["rebase", "-q", "main"]).0);
    let status = lent.git(&["status"]);
    lent.lend().await;
    assert_eq!(lent.git(&["status"]), status);
    let back = lent.take_back().await;
    assert_eq!(back, TakenBack { was_lent: true, ..TakenBack::default() });
    lent.lend().await;
    lent.write("a", "both\n");
    lent.git(&["add", "a"]);
    lent.git(&["-c", "core.editor=true", "rebase", "--continue"]);
    let back = lent.take_back().await;
    assert_eq!((back.left_out, back.refused_refs), (vec![], vec![]));
    assert_eq!(lent.git(&["status", "--porcelain", "--branch"]), "## forge/7");
    assert_eq!(lent.worktree().operation().await.unwrap(), None);
    assert_eq!(lent.git(&["rev-parse", "forge/7~1"]), lent.sandbox.head());
}

#[tokio::test]
async fn large_files_come_into_the_repositorys_store() {
    let lent = Lent::new().await;
    lent.lend().await;
    let sum: String = Sha256::digest(b"large\n").iter().map(|byte| format!("{byte:02x}")).collect();
    let at = |name: &str| format!("lfs/objects/{}/{}/{name}", &name[..2], &name[2..4]);
    let false_name = "1".repeat(64);
    for name in [&sum, &false_name] {
        let path = lent.folder.join(at(name));
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, "large\n").unwrap();
    }
    lent.take_back().await;
    let common = lent.repo.common_dir();
    assert_eq!(fs::read_to_string(common.join(at(&sum))).unwrap(), "large\n");
    assert!(!common.join(at(&false_name)).exists());
}

#[tokio::test]
async fn submodules_and_tables_of_refs_are_not_lent() {
    let lent = Lent::new().await;
    fs::create_dir_all(lent.admin().join("modules/lib")).unwrap();
    let lending = lent.worktree().lend(&lent.folder).await.unwrap();
    let Lending::Direct { writable, reason: DirectReason::Submodules } = lending else {
        panic!("{lending:?}")
    };
    assert!(writable.contains(&lent.admin()) && writable.contains(&lent.repo.common_dir().join("objects")));
    assert!(!writable.contains(&lent.repo.common_dir().to_owned()), "settings and hooks stay out of reach");
    assert!(!lent.folder.exists());
    let lent = Lent::of(Sandbox::with_init(&["--ref-format=reftable"]).await).await;
    let lending = lent.worktree().lend(&lent.folder).await.unwrap();
    assert!(matches!(lending, Lending::Direct { reason: DirectReason::Reftable, .. }), "{lending:?}");
}

#[tokio::test]
async fn a_lent_worktree_is_known_and_not_withdrawn() {
    let lent = Lent::new().await;
    lent.lend().await;
    let refused = lent.repo.withdraw_worktree(&lent.tree).await;
    let Err(GitError::NotOurWorktree { reason, .. }) = refused else { panic!("{refused:?}") };
    assert_eq!(reason, ForeignReason::Lent);
    let aside = lent.sandbox.dir().join("aside");
    assert_eq!(lent.worktree().rewrite_dot_git("forge/7", &aside).await.unwrap(), None);
    let spec = NewWorktree { path: lent.tree.clone(), branch: "forge/7".into(), base: "main".into() };
    lent.repo.create_worktree(&spec).await.unwrap();
    assert!(lent.repo.folder_facts(&lent.tree, "main").await.unwrap().registered);
    let other = lent.sandbox.dir().join("lent/other");
    let refused = lent.worktree().lend(&other).await;
    assert!(
        matches!(refused, Err(GitError::NotOurWorktree { reason: ForeignReason::Lent, .. })),
        "{refused:?}"
    );
    let main = lent.repo.main_worktree().lend(&other).await;
    assert!(
        matches!(main, Err(GitError::NotOurWorktree { reason: ForeignReason::MainWorktree, .. })),
        "{main:?}"
    );
    // Forge's own commands go on by the repository's record.
    lent.write("by-forge", "x\n");
    assert_eq!(lent.worktree().status().await.unwrap().len(), 1);
    lent.take_back().await;
    drop(lent.repo.withdraw_worktree(&lent.tree).await.unwrap());
}

#[tokio::test]
async fn a_dot_git_that_programs_replaced_is_left_and_their_commits_come_back() {
    let lent = Lent::new().await;
    lent.lend().await;
    lent.git(&["commit", "-q", "--allow-empty", "-m", "work"]);
    let made = lent.git(&["rev-parse", "HEAD"]);
    fs::remove_file(lent.tree.join(".git")).unwrap();
    lent.git(&["init", "-q"]);
    let back = lent.worktree().take_back(&lent.folder, KEY).await.unwrap();
    assert_eq!(back.head, Some(made.clone()));
    assert_eq!(lent.value("refs/heads/forge/7"), Some(made));
    let aside = lent.sandbox.dir().join("aside");
    assert!(lent.worktree().rewrite_dot_git("forge/7", &aside).await.unwrap().unwrap().kept.is_some());
    lent.assert_over();
}

#[tokio::test]
async fn submodules_that_programs_add_go_on_in_the_worktrees_own_git_directory() {
    let (lent, library) = (Lent::new().await, Sandbox::new().await);
    lent.lend().await;
    let url = library.path("");
    let url = url.to_str().unwrap().trim_end_matches('/');
    lent.git(&["-c", "protocol.file.allow=always", "submodule", "--quiet", "add", url, "deep/lib"]);
    lent.git(&["commit", "-qm", "submodule"]);
    let inner = lent.tree.join("deep/lib");
    lent.sandbox.git_at(&inner, &["commit", "-q", "--allow-empty", "-m", "inside"]);
    let made = lent.sandbox.git_at(&inner, &["rev-parse", "HEAD"]);
    let back = lent.take_back().await;
    assert_eq!(back.left_out, []);
    let git_dir = lent.admin().join("modules/deep/lib");
    assert_eq!(lent.sandbox.git_at(&inner, &["rev-parse", "--absolute-git-dir"]), git_dir.to_str().unwrap());
    assert_eq!(lent.sandbox.git_at(&inner, &["rev-parse", "HEAD"]), made);
    assert_eq!(lent.sandbox.git_at(&inner, &["status", "--porcelain"]), "");
    assert_eq!(lent.git(&["status", "--porcelain"]), " M deep/lib");
    let lending = lent.worktree().lend(&lent.folder).await.unwrap();
    assert!(matches!(lending, Lending::Direct { reason: DirectReason::Submodules, .. }), "{lending:?}");
}
