use std::path::PathBuf;

use super::*;
use crate::repo::Repo;
use crate::testing::Sandbox;
use crate::worktrees::NewWorktree;

const KEPT: &str = "refs/forge/backup/t";

/// A worktree `task` whose branch changes `a`, as `main` does.
struct Given {
    sandbox: Sandbox,
    repo: Repo,
    tree: PathBuf,
}

impl Given {
    async fn new() -> Given {
        let sandbox = Sandbox::new().await;
        let repo = sandbox.repo().await;
        let tree = sandbox.dir().join("task");
        let spec = NewWorktree { path: tree.clone(), branch: "task".to_owned(), base: sandbox.head() };
        repo.create_worktree(&spec).await.unwrap();
        let given = Given { sandbox, repo, tree };
        given.commit("a", "task\n");
        given.sandbox.commit("main", &[("a", "main\n")]);
        given
    }

    fn git(&self, args: &[&str]) -> bool {
        self.sandbox.try_git_at(&self.tree, args).0
    }

    fn write(&self, name: &str, content: &str) {
        std::fs::write(self.tree.join(name), content).unwrap();
    }

    fn commit(&self, name: &str, content: &str) -> String {
        self.write(name, content);
        assert!(self.git(&["add", "-A"]) && self.git(&["commit", "-qm", name]));
        self.tip("HEAD")
    }

    fn tip(&self, rev: &str) -> String {
        self.sandbox.try_git_at(&self.tree, &["rev-parse", rev]).1
    }

    async fn finish(&self) -> Standing {
        self.repo.worktree_at(&self.tree).finish_operation("task", KEPT, None).await.unwrap()
    }

    /// On its branch, in the middle of nothing, with all that was done.
    async fn assert_finished(&self, standing: Standing, finished: Option<Operation>, taken: bool) {
        assert_eq!(standing, Standing::Ready { finished, taken });
        assert_eq!(self.sandbox.try_git_at(&self.tree, &["symbolic-ref", "HEAD"]).1, "refs/heads/task");
        assert_eq!(self.repo.worktree_at(&self.tree).operation().await.unwrap(), None);
        assert_eq!(self.finish().await, Standing::Ready { finished: None, taken: false }, "once is enough");
    }
}

fn open(standing: Standing) -> UnfinishedOperation {
    match standing {
        Standing::Open(unfinished) => unfinished,
        ready @ Standing::Ready { .. } => panic!("{ready:?}"),
    }
}

#[tokio::test]
async fn a_resolved_rebase_is_finished_with_everything_that_follows() {
    let given = Given::new().await;
    given.commit("b", "later\n");
    assert!(!given.git(&["rebase", "-q", "main"]), "it conflicts");
    given.write("a", "both\n");
    given.write("new", "beside\n");
    let standing = given.finish().await;
    given.assert_finished(standing, Some(Operation::Rebase), false).await;
    for (file, content) in [("a", "both"), ("b", "later"), ("new", "beside")] {
        assert_eq!(given.sandbox.try_git_at(&given.tree, &["show", &format!("task:{file}")]).1, content);
    }
    assert!(given.repo.is_ancestor("main", "task").await.unwrap());
}

#[tokio::test]
async fn what_conflicts_still_is_left_as_it_stands() {
    for (begin, operation) in [
        (&["rebase", "-q", "main"][..], Operation::Rebase),
        (&["merge", "-q", "main"], Operation::Merge),
        (&["cherry-pick", "main"], Operation::CherryPick),
        (&["revert", "--no-edit", "HEAD~1"], Operation::Revert),
    ] {
        let given = Given::new().await;
        given.commit("a", "more\n");
        assert!(!given.git(begin));
        let (head, before) = (given.tip("HEAD"), std::fs::read(given.tree.join("a")).unwrap());
        let unfinished = open(given.finish().await);
        assert_eq!((unfinished.operation, unfinished.files), (Some(operation), vec!["a".to_owned()]));
        assert_eq!((given.tip("HEAD"), std::fs::read(given.tree.join("a")).unwrap()), (head.clone(), before));
        assert_eq!(given.repo.worktree_at(&given.tree).operation().await.unwrap(), Some(operation));
        // Of a rebase the commits it stands on are on no branch of the worktree.
        match unfinished.kept {
            Some(kept) => assert_eq!((operation, given.tip(&kept)), (Operation::Rebase, head)),
            None => assert_ne!(operation, Operation::Rebase),
        }
        let again = open(given.finish().await);
        assert_eq!(given.repo.backups(KEPT).await.unwrap().len(), usize::from(again.kept.is_some()));
    }
}

#[tokio::test]
async fn a_resolved_pick_or_revert_is_finished() {
    for (begin, operation) in [
        (&["cherry-pick", "main"][..], Operation::CherryPick),
        (&["revert", "--no-edit", "HEAD~1"], Operation::Revert),
    ] {
        for content in ["both\n", "more\n"] {
            let given = Given::new().await;
            given.commit("a", "more\n");
            assert!(!given.git(begin));
            // The second leaves nothing of it: it is skipped.
            given.write("a", content);
            let standing = given.finish().await;
            given.assert_finished(standing, Some(operation), false).await;
            assert_eq!(std::fs::read_to_string(given.tree.join("a")).unwrap(), content);
        }
    }
}

#[tokio::test]
async fn a_merge_that_is_resolved_waits_for_its_commit() {
    let given = Given::new().await;
    assert!(!given.git(&["merge", "-q", "main"]));
    given.write("a", "both\n");
    assert_eq!(given.finish().await, Standing::Ready { finished: None, taken: false });
    given.repo.worktree_at(&given.tree).commit_all("merged", None).await.unwrap().unwrap();
    assert!(given.repo.is_ancestor("main", "task").await.unwrap());
}

#[tokio::test]
async fn a_side_that_must_be_chosen_is_nobodys_to_guess() {
    let given = Given::new().await;
    given.sandbox.commit("gone", &[("b", "x\n")]);
    assert!(given.git(&["checkout", "-q", "-B", "task", "main"]));
    given.commit("b", "changed\n");
    given.sandbox.remove("b");
    given.sandbox.git(&["commit", "-qam", "removed"]);
    assert!(!given.git(&["rebase", "-q", "main"]));
    assert_eq!(open(given.finish().await).files, ["b"]);
    assert!(given.git(&["add", "b"]));
    let standing = given.finish().await;
    given.assert_finished(standing, Some(Operation::Rebase), false).await;
}

#[tokio::test]
async fn commits_beside_the_branch_are_taken_when_they_follow_from_it() {
    for away in [&["checkout", "-q", "--detach"][..], &["checkout", "-q", "-b", "other"]] {
        let given = Given::new().await;
        assert!(given.git(away));
        let made = given.commit("b", "made\n");
        given.write("c", "not committed\n");
        let standing = given.finish().await;
        given.assert_finished(standing, None, true).await;
        assert_eq!(given.tip("task"), made);
        assert_eq!(std::fs::read_to_string(given.tree.join("c")).unwrap(), "not committed\n");
    }
}

#[tokio::test]
async fn commits_that_do_not_follow_are_kept_and_told() {
    let given = Given::new().await;
    let tip = given.tip("task");
    assert!(given.git(&["checkout", "-q", "--detach", "HEAD~1"]));
    let made = given.commit("b", "elsewhere\n");
    let unfinished = open(given.finish().await);
    assert_eq!((unfinished.operation, unfinished.files.len()), (None, 0));
    assert_eq!(given.tip(&unfinished.kept.unwrap()), made);
    assert_eq!((given.tip("task"), given.tip("HEAD")), (tip, made));
}

#[tokio::test]
async fn who_only_looked_at_an_earlier_commit_comes_back() {
    let given = Given::new().await;
    assert!(given.git(&["checkout", "-q", "--detach", "HEAD~1"]));
    given.write("c", "written there\n");
    let standing = given.finish().await;
    given.assert_finished(standing, None, false).await;
    assert_eq!(std::fs::read_to_string(given.tree.join("a")).unwrap(), "task\n");
    assert_eq!(std::fs::read_to_string(given.tree.join("c")).unwrap(), "written there\n");
    // What cannot be carried along stays where it is.
    assert!(given.git(&["checkout", "-q", "--detach", "HEAD~1"]));
    given.write("a", "changed there\n");
    let unfinished = open(given.finish().await);
    assert!(unfinished.said.contains('a') && unfinished.kept.is_none(), "{unfinished:?}");
    assert_eq!(std::fs::read_to_string(given.tree.join("a")).unwrap(), "changed there\n");
}

#[tokio::test]
async fn a_merge_is_begun_for_who_edits_the_files_alone() {
    let given = Given::new().await;
    let before = given.tip("HEAD");
    assert!(given.repo.worktree_at(&given.tree).begin_merge("main", None).await.unwrap());
    assert!(std::fs::read_to_string(given.tree.join("a")).unwrap().contains("<<<<<<<"));
    assert_eq!(open(given.finish().await).operation, Some(Operation::Merge), "nobody resolved it");
    given.write("a", "both\n");
    assert!(
        given.repo.worktree_at(&given.tree).begin_merge("main", None).await.unwrap(),
        "it goes on with the one begun"
    );
    assert_eq!(std::fs::read_to_string(given.tree.join("a")).unwrap(), "both\n", "what was edited stays");
    assert_eq!(given.finish().await, Standing::Ready { finished: None, taken: false });
    given.repo.worktree_at(&given.tree).commit_all("Do it", None).await.unwrap();
    let parents = given.sandbox.try_git_at(&given.tree, &["rev-list", "--parents", "-1", "HEAD"]).1;
    assert_eq!(parents, format!("{} {before} {}", given.tip("HEAD"), given.tip("main")));
    assert!(
        !given.repo.worktree_at(&given.tree).begin_merge("main", None).await.unwrap(),
        "the branch holds it already"
    );
}

#[tokio::test]
async fn no_merge_is_begun_over_changes() {
    let given = Given::new().await;
    given.write("a", "not committed\n");
    assert!(!given.repo.worktree_at(&given.tree).begin_merge("main", None).await.unwrap());
    assert_eq!(std::fs::read_to_string(given.tree.join("a")).unwrap(), "not committed\n");
}

#[tokio::test]
async fn rebase_that_would_run_programs_is_told_and_not_continued() {
    for planted in ["a line of the list", "the strategy", "a rebase with --exec", "a rebase by patches"] {
        let given = Given::new().await;
        let marker = given.sandbox.dir().join("ran");
        let exec = format!("touch {}", marker.display());
        let admin = given.repo.worktree_at(&given.tree).git_dir().await.unwrap();
        let begin: &[&str] = match planted {
            "a rebase with --exec" => &["rebase", "-q", "-x", &exec, "main"],
            "a rebase by patches" => &["rebase", "-q", "--apply", "main"],
            _ => &["rebase", "-q", "main"],
        };
        assert!(!given.git(begin), "it conflicts");
        let state = admin.join("rebase-merge");
        match planted {
            "a line of the list" => {
                std::fs::write(state.join("git-rebase-todo"), format!("exec {exec}\n")).unwrap();
            }
            "the strategy" => std::fs::write(state.join("strategy"), "evil\n").unwrap(),
            "a rebase by patches" => {
                std::fs::write(admin.join("rebase-apply/gpg_sign_opt"), format!("--exec={exec}")).unwrap();
            }
            _ => {}
        }
        given.write("a", "both\n");
        let unfinished = open(given.finish().await);
        assert_eq!(unfinished.operation, Some(Operation::Rebase), "{planted}");
        assert!(unfinished.refused.is_some(), "{planted}: {unfinished:?}");
        assert!(!marker.exists(), "{planted}");
        assert!(given.git(&["rebase", "--abort"]), "{planted}");
        given.assert_finished(Standing::Ready { finished: None, taken: false }, None, false).await;
    }
}
