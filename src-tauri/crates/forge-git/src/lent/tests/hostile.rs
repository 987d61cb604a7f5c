//! What programs could leave in a lent directory to reach beyond it.

use std::os::unix::fs::symlink;

use super::*;
use crate::testing::program_at;

#[tokio::test]
async fn nothing_that_the_lent_directory_names_is_run_or_read() {
    let lent = Lent::new().await;
    lent.lend().await;
    lent.write("a", "work\n");
    lent.git(&["commit", "-qam", "work"]);
    let made = lent.git(&["rev-parse", "HEAD"]);
    let seen = lent.sandbox.dir().join("seen");
    let evil = lent.sandbox.script("evil", &format!("echo \"$0 $@\" >>{}; exit 1", seen.display()));
    for hook in
        ["reference-transaction", "post-index-change", "post-checkout", "pre-commit", "fsmonitor-watchman"]
    {
        program_at(&lent.folder.join("hooks").join(hook), &evil);
    }
    let settings = format!(
        "[core]\n\thooksPath = {0}/hooks\n\tfsmonitor = {evil}\n\talternateRefsCommand = {evil}\n\
         \tsshCommand = {evil}\n[filter \"evil\"]\n\tclean = {evil}\n\tsmudge = {evil}\n\
         [extensions]\n\tpartialClone = evil\n[remote \"evil\"]\n\turl = ext::{evil}\n\tpromisor = true\n",
        lent.folder.display()
    );
    fs::write(lent.folder.join("config"), settings).unwrap();
    fs::write(lent.folder.join("info/attributes"), "* filter=evil\n").unwrap();
    let back = lent.take_back().await;
    assert_eq!(back.head, Some(made));
    assert!(!seen.exists(), "{}", fs::read_to_string(&seen).unwrap_or_default());
}

#[tokio::test]
async fn objects_of_another_repository_do_not_come_by_alternates_or_links() {
    for by_link in [false, true] {
        let (lent, secret) = (Lent::new().await, Sandbox::new().await);
        let base = lent.sandbox.head();
        let foreign = secret.commit("secret", &[("secret", "secret\n")]);
        lent.lend().await;
        let store = secret.path(".git/objects");
        if by_link {
            fs::remove_dir_all(lent.folder.join("objects/pack")).unwrap();
            for name in ["pack", &foreign[..2]] {
                let place = lent.folder.join("objects").join(name);
                let _absent = fs::remove_dir_all(&place);
                symlink(store.join(name), place).unwrap();
            }
        } else {
            let alternates =
                format!("{}\n{}\n", lent.repo.common_dir().join("objects").display(), store.display());
            fs::write(lent.folder.join("objects/info/alternates"), alternates).unwrap();
            lent.git(&["reset", "-q", "--soft", &foreign]);
        }
        fs::write(lent.folder.join("refs/heads/forge").join("7"), format!("{foreign}\n"))
            .or_else(|_| {
                fs::create_dir_all(lent.folder.join("refs/heads/forge"))?;
                fs::write(lent.folder.join("refs/heads/forge/7"), format!("{foreign}\n"))
            })
            .unwrap();
        let failed = lent.worktree().take_back(&lent.folder, KEY).await;
        let Err(GitError::LentDamaged { kept, .. }) = failed else { panic!("{failed:?}") };
        assert!(kept.join("HEAD").exists());
        assert_eq!(lent.value("refs/heads/forge/7"), Some(base));
        assert!(!lent.sandbox.try_git_at(lent.repo.root(), &["cat-file", "-e", &foreign]).0);
        lent.assert_over();
    }
}

#[tokio::test]
async fn a_commit_with_a_missing_or_damaged_object_moves_nothing_and_is_kept() {
    for is_missing in [true, false] {
        let lent = Lent::new().await;
        let base = lent.sandbox.head();
        lent.lend().await;
        lent.write("a", "work\n");
        lent.git(&["commit", "-qam", "work"]);
        let blob = lent.git(&["rev-parse", "HEAD:a"]);
        let path = lent.folder.join("objects").join(&blob[..2]).join(&blob[2..]);
        fs::remove_file(&path).unwrap();
        if !is_missing {
            // A whole object of another name.
            lent.write("other", "evil\n");
            let other = lent.git(&["hash-object", "-w", "other"]);
            fs::rename(lent.folder.join("objects").join(&other[..2]).join(&other[2..]), &path).unwrap();
        }
        let failed = lent.worktree().take_back(&lent.folder, KEY).await;
        let Err(GitError::LentDamaged { kept, reason, .. }) = failed else { panic!("{failed:?}") };
        assert!(!reason.is_empty());
        assert!(kept.join("objects").exists());
        assert_eq!(lent.value("refs/heads/forge/7"), Some(base));
        lent.assert_over();
        lent.assert_whole();
        assert_eq!(lent.worktree().take_back(&lent.folder, KEY).await.unwrap(), TakenBack::default());
    }
}

#[tokio::test]
async fn a_damaged_index_is_left_out_and_told() {
    for damage in ["cut", "missing object", "link"] {
        let lent = Lent::new().await;
        lent.lend().await;
        lent.write("a", "work\n");
        lent.git(&["commit", "-qam", "work"]);
        lent.write("b", "staged\n");
        lent.git(&["add", "b"]);
        let made = lent.git(&["rev-parse", "HEAD"]);
        let index = lent.folder.join("index");
        match damage {
            "cut" => {
                let content = fs::read(&index).unwrap();
                fs::write(&index, &content[..content.len() - 7]).unwrap();
            }
            "missing object" => {
                let blob = lent.git(&["rev-parse", ":b"]);
                fs::remove_file(lent.folder.join("objects").join(&blob[..2]).join(&blob[2..])).unwrap();
            }
            _ => {
                let elsewhere = lent.sandbox.dir().join("elsewhere");
                fs::rename(&index, &elsewhere).unwrap();
                symlink(&elsewhere, &index).unwrap();
            }
        }
        let back = lent.take_back().await;
        assert_eq!(
            (back.head.as_ref(), back.left_out.as_slice()),
            (Some(&made), &[LeftOut::Index][..]),
            "{damage}"
        );
        assert!(back.rescue.unwrap().join("objects").exists(), "{damage}");
        assert_eq!(lent.value("refs/heads/forge/7"), Some(made), "{damage}");
        lent.worktree().commit_all("rest", None).await.unwrap().unwrap();
        assert_eq!(lent.git(&["show", "HEAD:b"]), "staged", "{damage}");
        lent.assert_whole();
    }
}

#[tokio::test]
async fn another_ref_with_missing_objects_does_not_hold_up_the_branch() {
    let lent = Lent::new().await;
    lent.lend().await;
    lent.write("a", "work\n");
    lent.git(&["commit", "-qam", "work"]);
    let made = lent.git(&["rev-parse", "HEAD"]);
    let lost = "1234567890".repeat(4);
    fs::write(lent.folder.join("refs/heads/lost"), format!("{lost}\n")).unwrap();
    fs::write(lent.folder.join("refs/heads/..evil~"), format!("{made}\n")).unwrap();
    let back = lent.take_back().await;
    assert_eq!(back.head, Some(made.clone()));
    assert_eq!(back.left_out, [LeftOut::Refs]);
    assert!(back.refused_refs.contains(&"refs/heads/lost".to_owned()), "{:?}", back.refused_refs);
    assert_eq!(lent.value("refs/heads/forge/7"), Some(made));
}

#[tokio::test]
async fn an_operations_links_and_strangers_are_left_out() {
    let lent = Lent::new().await;
    lent.lend().await;
    lent.git(&["commit", "-q", "--allow-empty", "-m", "work"]);
    let secret = lent.sandbox.dir().join("secret");
    fs::write(&secret, "secret\n").unwrap();
    symlink(&secret, lent.folder.join("MERGE_MSG")).unwrap();
    fs::create_dir(lent.folder.join("rebase-merge")).unwrap();
    symlink(&secret, lent.folder.join("rebase-merge/git-rebase-todo")).unwrap();
    nix::unistd::mkfifo(&lent.folder.join("MERGE_MODE"), nix::sys::stat::Mode::S_IRWXU).unwrap();
    nix::unistd::mkfifo(&lent.folder.join("refs/heads/pipe"), nix::sys::stat::Mode::S_IRWXU).unwrap();
    symlink("/", lent.folder.join("refs/heads/link")).unwrap();
    let back = lent.take_back().await;
    assert_eq!(back.left_out, [LeftOut::Operation]);
    let admin = lent.admin();
    for name in ["MERGE_MSG", "MERGE_MODE", "rebase-merge/git-rebase-todo"] {
        assert!(admin.join(name).symlink_metadata().is_err(), "{name}");
    }
}

#[tokio::test]
async fn a_head_that_names_no_branch_is_left_out() {
    for said in ["ref: refs/heads/../../evil\n", "ref: refs/tags/x\n", "garbage\n", ""] {
        let lent = Lent::new().await;
        lent.lend().await;
        fs::write(lent.folder.join("HEAD"), said).unwrap();
        let back = lent.take_back().await;
        assert_eq!(back.left_out, [LeftOut::Head], "{said:?}");
        assert_eq!(lent.git(&["symbolic-ref", "HEAD"]), "refs/heads/forge/7");
    }
}
